//! The assertions about a place. For example, `\b` holds between the `a` and the dot of `a.`.

use super::program::Program;
use crate::pyre::syntax::class::CharSet;
use crate::pyre::syntax::tree::Assertion;

impl Program {
    /// Tells whether an anchor holds at `at`.
    #[inline]
    pub(super) fn holds(&self, anchor: Assertion, text: &str, at: usize) -> bool {
        let bytes = text.as_bytes();
        let word = |ascii| if ascii { &self.ascii_word } else { &self.word };
        match anchor {
            Assertion::Start => at == 0,
            Assertion::End => at == bytes.len(),
            Assertion::EndOrFinalNewline => {
                at == bytes.len() || at + 1 == bytes.len() && bytes[at] == b'\n'
            }
            Assertion::LineStart => at == 0 || bytes[at - 1] == b'\n',
            Assertion::LineEnd => at == bytes.len() || bytes[at] == b'\n',
            // In an empty text neither holds, as in CPython.
            Assertion::Word { ascii } => !bytes.is_empty() && at_edge(word(ascii), text, at),
            Assertion::NotWord { .. } if bytes.is_empty() => self.empty_is_no_edge,
            Assertion::NotWord { ascii } => !at_edge(word(ascii), text, at),
        }
    }
}

fn at_edge(word: &CharSet, text: &str, at: usize) -> bool {
    let before = text[..at]
        .chars()
        .next_back()
        .is_some_and(|c| word.contains(c));
    let after = text[at..].chars().next().is_some_and(|c| word.contains(c));
    before != after
}

/// Tells whether an anchor's answer at `at` may change when text is added to the end.
#[inline]
pub(in crate::pyre) fn depends_on_end(anchor: Assertion, bytes: &[u8], at: usize) -> bool {
    let left = bytes.len() - at;
    match anchor {
        Assertion::Start | Assertion::LineStart => false,
        Assertion::End
        | Assertion::LineEnd
        | Assertion::Word { .. }
        | Assertion::NotWord { .. } => left == 0,
        Assertion::EndOrFinalNewline => left == 0 || left == 1 && bytes[at] == b'\n',
    }
}
