//! The reach of tokens into a name of an object that they begin, or in which they end a member. For
//! example, `,"c` begins a name whose first byte is `c`.

use crate::ByteSet;

/// The marks with which the name of an object's member is written. White space may be between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NameMarks {
    /// One of these bytes comes before it.
    pub before: &'static [u8],
    /// It begins and ends with this one.
    pub quote: u8,
    /// This one comes behind it.
    pub behind: u8,
}

/// The bytes that come in some token behind a mark before a name, white space and the
/// quotation mark of the name.
#[derive(Debug)]
pub(super) struct NameHeads {
    heads: ByteSet,
    /// True if no token goes on, behind that, to the end of a name and a colon.
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
    pub(super) fn note(&mut self, token: &[u8], marks: &NameMarks) {
        // The next byte that is no white space, the one behind it, and `true` if a quotation mark
        // with the mark behind a name comes behind it.
        let mut next: Option<(u8, Option<u8>, bool)> = None;
        let mut ends = false;
        for (at, &byte) in token.iter().enumerate().rev() {
            if byte.is_ascii_whitespace() {
                continue;
            }
            if let Some((_, head, ends)) = next.filter(|next| next.0 == marks.quote)
                && marks.before.contains(&byte)
            {
                let head = head.map_or(ByteSet::NONE, |head| ByteSet::of(&[head]));
                self.heads = self.heads.or(head);
                // Which quotation mark ends the name does not matter: few have that mark
                // behind any.
                self.ends_none &= !ends;
            }
            let is_end = byte == marks.quote && next.is_some_and(|next| next.0 == marks.behind);
            next = Some((byte, token.get(at + 1).copied(), ends));
            ends |= is_end;
        }
    }

    /// The bytes, if that is as far as tokens reach.
    pub(super) fn get(&self) -> Option<ByteSet> {
        self.ends_none.then_some(self.heads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARKS: NameMarks = NameMarks {
        before: b",{",
        quote: 0x22,
        behind: b':',
    };

    fn heads(tokens: &[&str]) -> Option<Vec<u8>> {
        let mut all = NameHeads::default();
        for token in tokens {
            all.note(token.as_bytes(), &MARKS);
        }
        let heads = all.get()?;
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
        assert_eq!(heads(&["{ \"\"", ",,\"é"]), Some(vec![0x22, 0xC3]));
    }

    #[test]
    fn marks_are_data() {
        let marks = NameMarks {
            before: b"<",
            quote: b'\'',
            behind: b'=',
        };
        let mut all = NameHeads::default();
        for token in ["{\"a\":", "< 'b", "x<'c'"] {
            all.note(token.as_bytes(), &marks);
        }
        assert_eq!(all.get(), Some(ByteSet::of(b"bc")));
        all.note(b"<'d' =", &marks);
        assert_eq!(all.get(), None);
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
