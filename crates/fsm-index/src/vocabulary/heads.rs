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
    /// Sees to a token.
    pub(super) fn note(&mut self, token: &[u8]) {
        let begins = |(_, byte): &(usize, &u8)| matches!(byte, b',' | b'{');
        for (at, _) in token.iter().enumerate().filter(begins) {
            let Some([b'"', name @ ..]) = token.get(at + 1..).map(<[u8]>::trim_ascii_start) else {
                continue;
            };
            if let [head, ..] = name {
                self.heads = self.heads.or(ByteSet::of(&[*head]));
            }
            // Which quotation mark ends the name does not matter: few have a colon behind
            // any.
            let ends = |(at, byte): (usize, &u8)| {
                *byte == b'"' && name[at + 1..].trim_ascii_start().first() == Some(&b':')
            };
            self.ends_none &= !name.iter().enumerate().any(ends);
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
