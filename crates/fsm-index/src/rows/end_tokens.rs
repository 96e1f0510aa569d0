//! The tokens that no walk meets: those that end a text, and those with the bytes of another one.
//!
//! For example, where a text is whole, `</s>` may come beside what may go on.

use crate::{ByteAutomaton, TokenTable};

/// Says whether the end tokens may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum EndTokens {
    Allowed,
    Refused,
}

impl EndTokens {
    /// At a state they may come where the text is whole.
    pub(crate) fn at<A: ByteAutomaton>(automaton: &A, state: &A::State) -> EndTokens {
        match automaton.is_accepting(state) {
            true => EndTokens::Allowed,
            false => EndTokens::Refused,
        }
    }
}

/// Settles the tokens that a walk does not meet: those with the bytes of
/// another one, and the ends.
pub(super) fn finish(end_tokens: EndTokens, vocabulary: &TokenTable, words: &mut [u32]) {
    let put = |words: &mut [u32], token: u32, bit: u32| {
        let word = &mut words[token as usize / 32];
        *word = *word & !(1 << (token % 32)) | bit << (token % 32);
    };
    for &(first, other) in vocabulary.trie().duplicates() {
        put(words, other, words[first as usize / 32] >> (first % 32) & 1);
    }
    for end in vocabulary.ends() {
        put(
            words,
            end.get(),
            u32::from(end_tokens == EndTokens::Allowed),
        );
    }
}
