//! The tokens that must come next, whatever the model would choose. For example, under `abc|abd`
//! the bytes `ab` must come.

use crate::automaton::Parts;
use crate::plan::Work;
use crate::tokens::NO_TOKEN;
use crate::{ByteAutomaton, Guide, TokenId};

impl<A: ByteAutomaton> Guide<A> {
    /// The longest run of bytes that must come next, whatever is chosen. It
    /// stops where the text may end, and before special tokens.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use fsm_index::{Guide, Index, TokenId, Vocabulary};
    ///
    /// # let tokens = ["a", "b", "c"];
    /// # let tokens = tokens.iter().zip(0..).map(|(s, id)| (s.as_bytes(), TokenId::new(id)));
    /// # let vocabulary = Vocabulary::new(tokens, [TokenId::new(3)])?;
    /// let guide = Guide::new(Arc::new(Index::new("ab(c|a)", &vocabulary)?));
    /// assert_eq!(guide.forced_bytes(), b"ab");
    /// # Ok::<(), fsm_index::Error>(())
    /// ```
    pub fn forced_bytes(&self) -> Vec<u8> {
        self.forced().0
    }

    /// The tokens for the bytes that must come next, as the tokenizer itself
    /// would cut them.
    ///
    /// `encode` is the tokenizer: it gets the forced bytes and returns their
    /// tokens. Tokens are kept only up to where no allowed token could span
    /// the end of the forced run (as it would if the text that follows merged
    /// with it), and only if they spell the forced bytes; otherwise nothing is
    /// forced. The tokens are not taken yet: pass them to [`Guide::advance`].
    ///
    /// The forced *bytes* are certain. A model may have cut them into other
    /// tokens, so texts generated with and without forced tokens can differ
    /// after them.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use fsm_index::{Guide, Index, TokenId, Vocabulary};
    ///
    /// # let tokens = ["a", "b", "c", "ab"];
    /// # let tokens = tokens.iter().zip(0..).map(|(s, id)| (s.as_bytes(), TokenId::new(id)));
    /// # let vocabulary = Vocabulary::new(tokens, [TokenId::new(4)])?;
    /// let guide = Guide::new(Arc::new(Index::new("ab(c|a)", &vocabulary)?));
    /// // The tokenizer says how it cuts the bytes.
    /// let forced = guide.forced_tokens(|bytes| match bytes {
    ///     b"ab" => vec![TokenId::new(3)],
    ///     _ => Vec::new(),
    /// });
    /// assert!(forced.iter().all(|token| *token == TokenId::new(3)));
    /// # Ok::<(), fsm_index::Error>(())
    /// ```
    pub fn forced_tokens(&self, encode: impl FnOnce(&[u8]) -> Vec<TokenId>) -> Vec<TokenId> {
        let (bytes, states) = self.forced();
        let Some(last) = states.last().filter(|_| !bytes.is_empty()) else {
            return Vec::new();
        };
        let safe = self.unspanned(&bytes, last);
        if safe == 0 {
            return Vec::new();
        }
        let mut tokens = encode(&bytes);
        let index = self.index();
        let mut work = Work::new(index.automaton());
        let mut at = 0;
        let mut keep = 0;
        for (i, &token) in tokens.iter().enumerate() {
            match index.vocabulary().token_bytes(token) {
                Some(text) if !text.is_empty() && bytes[at..].starts_with(text) => at += text.len(),
                _ => return Vec::new(),
            }
            if !index.is_spellable(&states[at], &mut work) {
                break;
            }
            if at <= safe {
                keep = i + 1;
            }
        }
        tokens.truncate(keep);
        tokens
    }

    /// The forced bytes and the states before, between and after them.
    fn forced(&self) -> (Vec<u8>, Vec<A::State>) {
        let mut bytes = Vec::new();
        let mut states = vec![self.state().clone()];
        if self.has_ended() {
            return (bytes, states);
        }
        let automaton = self.index().automaton();
        let mut scratch = automaton.scratch();
        let mut state = self.state().clone();
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
        (bytes, states)
    }

    /// Returns the number of forced bytes that no allowed token reaches across: from the
    /// first place where a token could begin that ends behind the run, the tokenizer's cut depends
    /// on what follows.
    fn unspanned(&self, bytes: &[u8], after: &A::State) -> usize {
        let trie = self.index().vocabulary().trie();
        let automaton = self.index().automaton();
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
}
