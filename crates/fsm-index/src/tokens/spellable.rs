//! Which characters the tokens spell, where some bytes are no tokens by themselves. For example,
//! without a token of the byte 0xF1 the characters that begin with it are spelt only if another
//! token has it.

use super::trie::NO_TOKEN;
use super::trie::Trie;

/// The characters that tokens cannot spell.
#[derive(Debug)]
pub(crate) struct Spellable {
    /// The code points that no tokens spell, one after another: inclusive ranges,
    /// ascending, without surrogates.
    unspellable: Box<[(u32, u32)]>,
    /// The tokens that may end inside a character of which perhaps no token is the rest,
    /// ascending.
    cut_short: Box<[u32]>,
}

impl Spellable {
    /// Everything: for vocabularies with a token for each byte.
    pub(super) fn everything() -> Spellable {
        Spellable {
            unspellable: Box::default(),
            cut_short: Box::default(),
        }
    }

    /// O(bytes of the vocabulary), and at most some steps for each code point.
    pub(super) fn new<'a>(
        trie: &Trie,
        single_bytes: &[bool; 256],
        tokens: impl Iterator<Item = (u32, &'a [u8])>,
    ) -> Spellable {
        let continues = (0x80..=0xBF).all(|byte: usize| single_bytes[byte]);
        let mut search = CharSearch {
            trie,
            continues,
            out: Vec::new(),
        };
        for lead in 0..=0xF4u8 {
            if let Some((length, bits)) = lead_byte(lead) {
                search.visit(&mut vec![lead], length, u32::from(bits));
            }
        }
        let cut_short = match continues {
            true => Box::default(),
            false => tokens
                .filter(|(_, bytes)| may_end_inside(bytes))
                .map(|(token, _)| token)
                .collect(),
        };
        Spellable {
            unspellable: search.out.into(),
            cut_short,
        }
    }

    pub(crate) fn unspellable(&self) -> &[(u32, u32)] {
        &self.unspellable
    }

    pub(crate) fn cut_short(&self) -> &[u32] {
        &self.cut_short
    }
}

/// Returns the number of bytes that a character has that begins with a byte, and the bits that this
/// byte tells (RFC 3629).
pub(crate) fn lead_byte(byte: u8) -> Option<(usize, u8)> {
    Some(match byte {
        0x00..=0x7F => (1, byte),
        0xC2..=0xDF => (2, byte & 0x1F),
        0xE0..=0xEF => (3, byte & 0x0F),
        0xF0..=0xF4 => (4, byte & 0x07),
        _ => return None,
    })
}

/// Tells whether a text that ends with a token can end inside a character.
fn may_end_inside(token: &[u8]) -> bool {
    let behind = token
        .iter()
        .rev()
        .take_while(|byte| matches!(byte, 0x80..=0xBF))
        .count();
    match token.len().checked_sub(behind + 1) {
        Some(lead) => lead_byte(token[lead]).is_some_and(|(length, _)| behind + 1 < length),
        // It is the middle of a character, which may have begun before it.
        None => behind < 3,
    }
}

/// The least code point with a given number of bytes, because smaller ones are spelt with fewer
/// (RFC 3629).
const LEAST: [u32; 5] = [0, 0, 0x80, 0x800, 0x1_0000];

struct CharSearch<'t> {
    trie: &'t Trie,
    /// True if each byte that goes on a character is a token.
    continues: bool,
    out: Vec<(u32, u32)>,
}

impl CharSearch<'_> {
    /// Removes those characters of `length` bytes that begin with `bytes`, which say `bits`, that
    /// no tokens spell.
    fn visit(&mut self, bytes: &mut Vec<u8>, length: usize, bits: u32) {
        let left = 6 * (length - bytes.len());
        let (from, to) = (bits << left, bits << left | ((1 << left) - 1));
        let (from, to) = (from.max(LEAST[length]), to.min(0x10_FFFF));
        if from > to {
            return;
        }
        let ends = segment_ends(self.trie, bytes);
        let is_whole = ends.last() == Some(&true);
        if bytes.len() == length {
            if !is_whole {
                self.put(from, to);
            }
            return;
        }
        if is_whole && self.continues {
            return;
        }
        let goes_on = |at: usize| at == bytes.len() || self.trie.find(&bytes[at..]).is_some();
        if !(0..=bytes.len()).any(|at| ends[at] && goes_on(at)) {
            self.put(from, to);
            return;
        }
        for byte in 0x80..=0xBFu8 {
            bytes.push(byte);
            self.visit(bytes, length, bits << 6 | u32::from(byte & 0x3F));
            bytes.pop();
        }
    }

    /// Adds a range, without surrogates.
    fn put(&mut self, from: u32, to: u32) {
        for (from, to) in [(from, to.min(0xD7FF)), (from.max(0xE000), to)] {
            if from > to {
                continue;
            }
            match self.out.last_mut() {
                Some(last) if last.1 + 1 == from => last.1 = to,
                _ => self.out.push((from, to)),
            }
        }
    }
}

/// At which places of a text whole tokens can end, from 0 (which always is one) up to its
/// length. O(bytes x longest token).
pub(crate) fn segment_ends(trie: &Trie, text: &[u8]) -> Vec<bool> {
    let mut ends = vec![false; text.len() + 1];
    ends[0] = true;
    let siblings = trie.siblings();
    for from in 0..text.len() {
        if !ends[from] {
            continue;
        }
        let mut node = None;
        for (at, &byte) in text.iter().enumerate().skip(from) {
            let Some(child) = siblings.find(siblings.of(node), byte) else {
                break;
            };
            node = Some(child.node as usize);
            if trie.nodes()[child.node as usize].token != NO_TOKEN {
                ends[at + 1] = true;
            }
        }
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TokenId;

    fn of(tokens: &[&[u8]]) -> (Spellable, Trie) {
        let ids = (0..).map(TokenId::new);
        let trie = Trie::new(ids.zip(tokens.iter().copied()));
        let mut single = [false; 256];
        for token in tokens {
            if let [byte] = token {
                single[usize::from(*byte)] = true;
            }
        }
        let numbered = (0..).zip(tokens.iter().copied());
        let spellable = Spellable::new(&trie, &single, numbered);
        (spellable, trie)
    }

    /// What is said of ranges is said of each character by itself, by the tokens alone.
    #[test]
    fn unspellable_characters_are_those_without_segments() {
        let lists: [&[&[u8]]; 4] = [
            &[b"a", "é".as_bytes(), b"\xE4", "\u{10FFFF}".as_bytes()],
            &[b"\xE4", b"\xB8", b"\xAD\xE6", b"\x96\x87", b"\xAD"],
            &[b"\xF0\x9F", b"\x98\x80", b"\x98", b"x"],
            &[],
        ];
        for list in lists {
            let (spellable, trie) = of(list);
            for c in (0..=0x10_FFFF).filter_map(char::from_u32) {
                let mut bytes = [0; 4];
                let bytes = c.encode_utf8(&mut bytes).as_bytes();
                let spelt = segment_ends(&trie, bytes).last() == Some(&true);
                let c = u32::from(c);
                let said = spellable.unspellable().iter();
                let said = said.clone().any(|(from, to)| (*from..=*to).contains(&c));
                assert_eq!(said, !spelt, "{c:x} of {list:?}");
            }
        }
    }

    #[test]
    fn tokens_that_end_inside_a_character() {
        let yes: [&[u8]; 6] = [
            b"\xC3",
            b"a\xE4",
            b"\xE4\xB8",
            b"\xB8",
            b"\x98\x80",
            b"\xF0\x9F\x98",
        ];
        let no: [&[u8]; 5] = [
            b"a",
            "é".as_bytes(),
            b"\xC3\xA9\xA9",
            b"\xFF",
            b"\x80\x80\x80",
        ];
        assert!(yes.iter().all(|token| may_end_inside(token)));
        assert!(!no.iter().any(|token| may_end_inside(token)));
    }
}
