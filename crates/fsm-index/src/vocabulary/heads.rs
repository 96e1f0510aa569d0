//! How far tokens reach into a name of an object that they begin, or in which they end a
//! member.

use crate::ByteSet;

/// The bytes that come in some token behind a comma or a brace, white space and a quotation
/// mark.
#[derive(Debug)]
pub(super) struct NameHeads {
    heads: ByteSet,
    /// Whether no token goes on, behind that, to the end of a name and a colon.
    ends_none: bool,
}

impl Default for NameHeads {
    fn default() -> Self {
        NameHeads {
            heads: ByteSet::NONE,
            ends_none: true,
        }
    }
}

impl NameHeads {
    /// Sees to a token. O(bytes).
    pub(super) fn note(&mut self, token: &[u8]) {
        // Of the next byte that is no white space: itself, the one behind it, and whether
        // a quotation mark with a colon comes behind it.
        let mut next: Option<(u8, Option<u8>, bool)> = None;
        let mut ends = false;
        for (at, &byte) in token.iter().enumerate().rev() {
            if byte.is_ascii_whitespace() {
                continue;
            }
            if let (b',' | b'{', Some((b'"', head, ends))) = (byte, next) {
                let head = head.map_or(ByteSet::NONE, |head| ByteSet::of(&[head]));
                self.heads = self.heads.or(head);
                // Which quotation mark ends the name does not matter: few have a colon
                // behind any.
                self.ends_none &= !ends;
            }
            let is_end = byte == b'"' && matches!(next, Some((b':', ..)));
            next = Some((byte, token.get(at + 1).copied(), ends));
            ends |= is_end;
        }
    }

    /// The bytes, if that is as far as tokens reach.
    pub(super) fn get(&self) -> Option<&ByteSet> {
        self.ends_none.then_some(&self.heads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heads(tokens: &[&str]) -> Option<Vec<u8>> {
        let mut all = NameHeads::default();
        tokens.iter().for_each(|token| all.note(token.as_bytes()));
        let heads = *all.get()?;
        Some((0..=u8::MAX).filter(|byte| heads.has(*byte)).collect())
    }

    #[test]
    fn only_what_begins_a_name_counts() {
        assert_eq!(heads(&[]), Some(vec![]));
        assert_eq!(heads(&["a,b", "\"x", ",x\"y", "[\"z"]), Some(vec![]));
        assert_eq!(heads(&["\",\"", ",\"", ","]), Some(vec![]));
        assert_eq!(
            heads(&["\",\"a", ", \n\"b", ",\"c,\"d"]),
            Some(b"abcd".to_vec())
        );
        assert_eq!(heads(&["{ \"\"", ",,\"é"]), Some(vec![b'"', 0xC3]));
    }

    #[test]
    fn a_token_that_ends_the_name_and_goes_on_tells_more() {
        assert_eq!(heads(&[",\"a\":"]), None);
        assert_eq!(heads(&["1, \"\" : 2"]), None);
        assert_eq!(heads(&["{\"\\\":"]), None);
        assert_eq!(heads(&[",\"\":"]), None);
        assert_eq!(heads(&["\":", ",\"a\"", ",\":x"]), Some(b":a".to_vec()));
    }
}
