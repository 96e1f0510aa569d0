//! The tokens that must come next, whatever the model would choose. For example, under `abc|abd`
//! the bytes `ab` must come.

use crate::automaton::AskParts;
use crate::plan::Work;
use crate::tokens::NO_TOKEN;
use crate::{ByteAutomaton, Index, TokenId};

/// The longest run of bytes that must come at a state.
pub(super) struct Forced<A: ByteAutomaton> {
    bytes: Vec<u8>,
    /// The states before, between and after the bytes.
    states: Vec<A::State>,
}

impl<A: ByteAutomaton> Forced<A> {
    /// Returns the run at a state. It stops where the text may end, and before special tokens.
    pub(super) fn new(automaton: &A, state: &A::State) -> Forced<A> {
        let mut bytes = Vec::new();
        let mut states = vec![state.clone()];
        let mut scratch = automaton.scratch();
        let mut state = state.clone();
        let mut specials = Vec::new();
        // Every state can reach acceptance and acceptance stops the loop, so
        // it cannot go round in a circle.
        while !automaton.is_accepting(&state) {
            automaton.allowed_specials(&state, &mut specials);
            let cursor = automaton.enter(&state, &mut scratch);
            let mut alive =
                (0..=255u8).filter(|&byte| !automaton.step(cursor, byte, &mut scratch).is_dead());
            let (Some(byte), None, true) = (alive.next(), alive.next(), specials.is_empty()) else {
                break;
            };
            if automaton
                .advance(&mut state, &[byte], &mut scratch)
                .is_err()
            {
                break;
            }
            bytes.push(byte);
            states.push(state.clone());
        }
        Forced { bytes, states }
    }

    /// Returns the bytes of the run.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Returns the tokens of the run, as `encode` cuts its bytes, up to where the tokenizer's cut
    /// depends on what follows.
    pub(super) fn tokens(
        &self,
        index: &Index<A>,
        encode: impl FnOnce(&[u8]) -> Vec<TokenId>,
    ) -> Vec<TokenId> {
        let bytes = &self.bytes;
        let Some(last) = self.states.last().filter(|_| !bytes.is_empty()) else {
            return Vec::new();
        };
        let safe = unspanned(index, bytes, last);
        if safe == 0 {
            return Vec::new();
        }
        let mut tokens = encode(bytes);
        let mut work = Work::new(index.automaton());
        let mut at = 0;
        let mut keep = 0;
        for (i, &token) in tokens.iter().enumerate() {
            match index.vocabulary().token_bytes(token) {
                Some(text) if !text.is_empty() && bytes[at..].starts_with(text) => at += text.len(),
                _ => return Vec::new(),
            }
            if !index.is_spellable(&self.states[at], &mut work) {
                break;
            }
            if at <= safe {
                keep = i + 1;
            }
        }
        tokens.truncate(keep);
        tokens
    }
}

/// Returns the number of forced bytes that no allowed token reaches across: from the
/// first place where a token could begin that ends behind the run, the tokenizer's cut depends
/// on what follows.
fn unspanned<A: ByteAutomaton>(index: &Index<A>, bytes: &[u8], after: &A::State) -> usize {
    let trie = index.vocabulary().trie();
    let automaton = index.automaton();
    let mut scratch = automaton.scratch();
    let after = automaton.enter(after, &mut scratch);
    let longest = trie.max_depth();
    let mut spans = |from: usize| {
        let Some(node) = trie.find(&bytes[from..]) else {
            return false;
        };
        let children = trie.children(Some(node));
        let mut open: Vec<_> = children.map(|child| (child, after)).collect();
        while let Some((node, cursor)) = open.pop() {
            let to = automaton.step(cursor, trie.nodes()[node].byte, &mut scratch);
            if to.is_dead() {
                continue;
            }
            if trie.nodes()[node].token != NO_TOKEN {
                return true;
            }
            open.extend(trie.children(Some(node)).map(|child| (child, to)));
        }
        false
    };
    let first = bytes.len().saturating_sub(longest);
    (first..bytes.len())
        .find(|&from| spans(from))
        .unwrap_or(bytes.len())
}
