//! The kind and the bytes of each token. For example, `ab` lies in its slot, and a longer token in
//! a list behind it.

use super::{TokenKind, limit};
use crate::Error;

/// Kinds and bytes of tokens by number.
///
/// A guide asks for one token of a hundred thousand after a mask has filled the caches
/// with other things. So a token's kind and, if they are few, its bytes lie in one line of
/// a cache.
pub(super) struct Tokens {
    slots: Box<[TokenSlot]>,
    /// The bytes of tokens that have more of them.
    long: Box<[u8]>,
}

#[derive(Clone, Copy)]
struct TokenSlot {
    kind: TokenKind,
    /// The number of bytes ; [`LONG`] where `bytes` says at which place of the long ones they begin
    /// and how many they are.
    len: u8,
    bytes: [u8; SHORT],
}

/// The most bytes of a token that its slot has room for: a slot is 16 bytes.
const SHORT: usize = 14;

/// The length of tokens that lie elsewhere: the largest number, because short ones have few bytes.
const LONG: u8 = u8::MAX;

impl Tokens {
    /// # Errors
    ///
    /// The tokens have more than 4 GiB of bytes.
    pub(super) fn new<'t>(
        tokens: impl Iterator<Item = (TokenKind, &'t [u8])>,
    ) -> Result<Tokens, Error> {
        let mut long: Vec<u8> = Vec::new();
        let mut slots = Vec::with_capacity(tokens.size_hint().0);
        for (kind, bytes) in tokens {
            let mut slot = TokenSlot {
                kind,
                len: LONG,
                bytes: [0; SHORT],
            };
            match slot.bytes.get_mut(..bytes.len()) {
                Some(short) => {
                    short.copy_from_slice(bytes);
                    slot.len = bytes.len() as u8;
                }
                None => {
                    let place = u32::try_from(long.len()).ok();
                    let count = u32::try_from(bytes.len()).ok();
                    let (Some(place), Some(count)) = (place, count) else {
                        return Err(limit("4 GiB of token bytes"));
                    };
                    slot.bytes[..4].copy_from_slice(&place.to_le_bytes());
                    slot.bytes[4..8].copy_from_slice(&count.to_le_bytes());
                    long.extend_from_slice(bytes);
                }
            }
            slots.push(slot);
        }
        Ok(Tokens {
            slots: slots.into(),
            long: long.into(),
        })
    }

    /// One more than the largest number.
    pub(super) fn width(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn kind(&self, token: usize) -> TokenKind {
        self.slots
            .get(token)
            .map_or(TokenKind::Absent, |slot| slot.kind)
    }

    /// The bytes of a token, or its name if it is no text; nothing where there is no such
    /// token.
    pub(super) fn bytes(&self, token: usize) -> &[u8] {
        let Some(slot) = self.slots.get(token) else {
            return &[];
        };
        match slot.bytes.get(..slot.len.into()) {
            Some(short) => short,
            None => self.long_bytes(&slot.bytes),
        }
    }

    #[cold]
    fn long_bytes(&self, [a, b, c, d, e, f, g, h, ..]: &[u8; SHORT]) -> &[u8] {
        let place = u32::from_le_bytes([*a, *b, *c, *d]) as usize;
        let count = u32::from_le_bytes([*e, *f, *g, *h]) as usize;
        &self.long[place..place + count]
    }

    /// Bytes of memory.
    pub(super) fn memory(&self) -> usize {
        std::mem::size_of_val(&*self.slots) + self.long.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_all_lengths_are_kept() {
        let all: Vec<Vec<u8>> = (0..=300).map(|n| vec![n as u8; n]).collect();
        let kind = |n: usize| match n % 3 {
            0 => TokenKind::Text,
            1 => TokenKind::Special,
            _ => TokenKind::Absent,
        };
        let both = all.iter().enumerate().map(|(n, t)| (kind(n), t.as_slice()));
        let tokens = Tokens::new(both).unwrap();
        assert_eq!(tokens.width(), 301);
        for (n, bytes) in all.iter().enumerate() {
            assert_eq!((tokens.kind(n), tokens.bytes(n)), (kind(n), &bytes[..]));
        }
        assert_eq!(
            (tokens.kind(301), tokens.bytes(301)),
            (TokenKind::Absent, &[][..])
        );
        assert_eq!(size_of::<TokenSlot>(), 16);
    }
}
