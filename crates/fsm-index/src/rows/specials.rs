//! The special tokens that may come, laid beside a row. For example, `<|call|>` may come behind the
//! arguments of a call, beside the tokens of blanks.

use std::sync::Arc;

use crate::automaton::AskParts;
use crate::{ByteAutomaton, Cursor, SpecialId, TokenId, TokenKind, TokenTable};

/// Special tokens that may come, as words of a mask: many of them lie side by side.
#[derive(Debug, Default)]
pub(crate) struct SpecialSet {
    /// Words of a mask, and their bits: of tokens that no row speaks of.
    words: Box<[(u32, u32)]>,
    /// The special tokens that end the text too, as rows say of them where it may end.
    ends: Box<[u32]>,
}

impl SpecialSet {
    /// The set of what an automaton names, whose symbols are these tokens.
    pub(crate) fn new(
        allowed: &[SpecialId],
        symbols: &[TokenId],
        vocabulary: &TokenTable,
    ) -> SpecialSet {
        let mut words: Vec<(u32, u32)> = Vec::new();
        let mut ends = Vec::new();
        let tokens = allowed.iter().filter_map(|s| symbols.get(s.0 as usize));
        for token in tokens {
            if vocabulary.kind(*token) == TokenKind::End {
                ends.push(token.get());
                continue;
            }
            let (word, bit) = (token.get() / 32, 1 << (token.get() % 32));
            match words.last_mut() {
                Some(last) if last.0 == word => last.1 |= bit,
                _ => words.push((word, bit)),
            }
        }
        SpecialSet {
            words: words.into(),
            ends: ends.into(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.words.is_empty() && self.ends.is_empty()
    }

    /// The tokens of which rows speak too.
    pub(crate) fn ends(&self) -> &[u32] {
        &self.ends
    }

    /// Allows those of which no row speaks.
    pub(crate) fn lay(&self, words: &mut [u32]) {
        for &(word, bits) in &self.words {
            words[word as usize] |= bits;
        }
    }

    /// Forbids them again.
    pub(crate) fn lift(&self, words: &mut [u32]) {
        for &(word, bits) in &self.words {
            words[word as usize] &= !bits;
        }
    }
}

/// The special tokens that may come at a guide's state, and those of a list that came before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Specials {
    /// The special tokens of the state, once they were found.
    here: Option<Arc<SpecialSet>>,
    /// By the number of the list: see [`SpecialTokens::allowed`](crate::SpecialTokens::allowed).
    known: Option<(u32, Option<Arc<SpecialSet>>)>,
    list: Vec<SpecialId>,
}

impl Specials {
    /// The state is another one.
    pub(crate) fn forget(&mut self) {
        self.here = None;
    }

    /// Returns the special tokens that may come, if any, as they were found.
    pub(crate) fn here(&self) -> Option<&Arc<SpecialSet>> {
        self.here.as_ref()
    }

    /// Finds those that may come at a state and behind which something leads on.
    pub(crate) fn find_leading<A: ByteAutomaton>(
        &mut self,
        automaton: &A,
        vocabulary: &TokenTable,
        symbols: &[TokenId],
        state: &A::State,
        leads_on: impl FnMut(&SpecialId) -> bool,
    ) {
        let list = &mut self.list;
        list.clear();
        automaton.allowed_specials(state, list);
        list.retain(leads_on);
        let set = SpecialSet::new(list, symbols, vocabulary);
        self.here = (!set.is_empty()).then(|| Arc::new(set));
    }

    /// Finds those that may come at a state, which the scratch has entered at `cursor`.
    pub(crate) fn find<A: ByteAutomaton>(
        &mut self,
        automaton: &A,
        vocabulary: &TokenTable,
        symbols: &[TokenId],
        state: &A::State,
        cursor: Cursor,
        scratch: &mut A::Scratch,
    ) {
        let list = &mut self.list;
        let made = |list: &[SpecialId]| {
            let set = SpecialSet::new(list, symbols, vocabulary);
            (!set.is_empty()).then(|| Arc::new(set))
        };
        list.clear();
        let Some(reader) = automaton.parts().specials else {
            self.here = None;
            return;
        };
        let number = reader.allowed(state, Some((cursor, scratch)), list);
        self.here = match (number, &self.known) {
            (None, _) => made(list),
            (Some(number), Some((known, set))) if *known == number => set.clone(),
            (Some(number), _) => {
                reader.allowed(state, None, list);
                let set = made(list);
                // None are known at once.
                if set.is_some() {
                    self.known = Some((number, set.clone()));
                }
                set
            }
        };
    }
}
