use std::sync::Arc;

use crate::row::Row;
use crate::vocabulary::NO_TOKEN;
use crate::{ByteAutomaton, Cursor, Error, ErrorKind, Index, TokenId, TokenKind, TokenMask};

/// Leads one text through an [`Index`], token by token.
///
/// Small and cheap to clone (a clone is a fork: both go on independently);
/// it remembers a few bytes for each token taken, so that it can go back.
#[derive(Clone, Debug)]
pub struct Guide {
    index: Arc<Index>,
    state: Cursor,
    /// The state before each token taken.
    history: Vec<Cursor>,
    /// Whether the last token taken was an end token.
    ended: bool,
    /// The row of the state it was asked for.
    row: Option<(Cursor, Arc<Row>)>,
    /// A sparse row, laid out.
    laid_out: TokenMask,
}

impl Guide {
    /// A guide at the start of a text.
    pub fn new(index: Arc<Index>) -> Guide {
        Guide {
            state: index.automaton().start(),
            history: Vec::new(),
            ended: false,
            row: None,
            laid_out: TokenMask::none(index.vocabulary().width()),
            index,
        }
    }

    /// The index.
    pub fn index(&self) -> &Arc<Index> {
        &self.index
    }

    /// The state of the automaton, as a number from 1 to
    /// [`IndexStats::states`](crate::IndexStats::states).
    pub fn state(&self) -> usize {
        self.index.automaton().number(self.state)
    }

    /// Which tokens may come next. O(1) for a known row that is dense,
    /// O(width / 32) for a sparse one; a lazy index may have to walk first.
    ///
    /// After an end token nothing may come. The mask is empty only then, or
    /// where the text is complete and the vocabulary has no end token.
    pub fn mask(&mut self) -> &TokenMask {
        if self.ended {
            self.row = None;
            self.laid_out.clear();
            return &self.laid_out;
        }
        let known = self.row.as_ref().is_some_and(|(s, _)| *s == self.state);
        if !known {
            let row = self.index.row(self.state);
            if let Row::Sparse(tokens) = row.as_ref() {
                self.laid_out.clear();
                for &token in tokens {
                    self.laid_out.allow(token);
                }
            }
            self.row = Some((self.state, row));
        }
        match self.row.as_ref().map(|(_, row)| row.as_ref()) {
            Some(Row::Dense(mask)) => mask,
            _ => &self.laid_out,
        }
    }

    /// The tokens that may come next, in ascending order.
    pub fn allowed_tokens(&self) -> Vec<TokenId> {
        if self.ended {
            return Vec::new();
        }
        match self.index.row(self.state).as_ref() {
            Row::Dense(mask) => mask.iter().collect(),
            Row::Sparse(tokens) => tokens.to_vec(),
        }
    }

    /// The bytes that may come next, in ascending order.
    pub fn allowed_bytes(&self) -> Vec<u8> {
        if self.ended {
            return Vec::new();
        }
        let automaton = self.index.automaton();
        (0..=255u8)
            .filter(|&b| !automaton.step(self.state, b, &mut ()).is_dead())
            .collect()
    }

    /// Takes a token. O(bytes of the token).
    ///
    /// # Errors
    ///
    /// The token may not come here; the message and
    /// [`Error::offset`] say at which of its bytes it leaves the language. The
    /// guide is unchanged.
    pub fn advance(&mut self, token: TokenId) -> Result<(), Error> {
        let vocabulary = self.index.vocabulary();
        if self.ended {
            return Err(Error::new(
                ErrorKind::GuideState,
                format!("token {token} comes after the end token; start a new guide or roll back"),
            ));
        }
        match vocabulary.kind(token) {
            TokenKind::Text => {
                let bytes = vocabulary.token_bytes(token).unwrap_or_default();
                if bytes.is_empty() {
                    return Err(refused(token, 0, "has no bytes and is never allowed"));
                }
                let mut state = self.state;
                let automaton = self.index.automaton();
                automaton
                    .advance(&mut state, bytes, &mut ())
                    .map_err(|offset| self.refused_byte(token, bytes, offset))?;
                if !self.index.is_spellable(state) {
                    return Err(refused(
                        token,
                        bytes.len(),
                        "leads to where the vocabulary cannot spell any way on",
                    ));
                }
                self.history.push(self.state);
                self.state = state;
                Ok(())
            }
            TokenKind::End if self.is_accepting() => {
                self.history.push(self.state);
                self.ended = true;
                Ok(())
            }
            TokenKind::End => Err(refused(
                token,
                0,
                "ends the text, which is not complete yet",
            )),
            TokenKind::Special => Err(refused(token, 0, "is structure, not text")),
            TokenKind::Absent => Err(refused(token, 0, "is not in the vocabulary")),
        }
    }

    /// Takes back the last `n` tokens.
    ///
    /// # Errors
    ///
    /// Fewer than `n` tokens were taken; the guide is unchanged.
    pub fn rollback(&mut self, n: usize) -> Result<(), Error> {
        let taken = self.history.len();
        if n > taken {
            return Err(Error::new(
                ErrorKind::GuideState,
                format!("cannot take back {n} tokens: only {taken} were taken"),
            ));
        }
        if n > 0 {
            self.state = self.history[taken - n];
            self.history.truncate(taken - n);
            self.ended = false;
        }
        Ok(())
    }

    /// How many tokens were taken.
    pub fn len(&self) -> usize {
        self.history.len()
    }

    /// Whether no token was taken yet.
    pub fn is_empty(&self) -> bool {
        self.history.is_empty()
    }

    /// Whether the text may end here.
    pub fn is_accepting(&self) -> bool {
        self.index.automaton().is_accepting(&self.state)
    }

    /// Whether nothing can follow but an end token, or one was taken: the
    /// caller may stop without asking the model again.
    pub fn is_finished(&self) -> bool {
        self.ended || (self.is_accepting() && self.allowed_bytes().is_empty())
    }

    /// The longest run of bytes that must come next, whatever is chosen. It
    /// stops where the text may end.
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
    pub fn forced_tokens(&self, encode: impl FnOnce(&[u8]) -> Vec<TokenId>) -> Vec<TokenId> {
        let (bytes, states) = self.forced();
        if bytes.is_empty() {
            return Vec::new();
        }
        let safe = self.unspanned(&bytes, &states);
        if safe == 0 {
            return Vec::new();
        }
        let mut tokens = encode(&bytes);
        let mut at = 0;
        let mut keep = 0;
        for (i, &token) in tokens.iter().enumerate() {
            match self.index.vocabulary().token_bytes(token) {
                Some(text) if !text.is_empty() && bytes[at..].starts_with(text) => at += text.len(),
                _ => return Vec::new(),
            }
            if !self.index.is_spellable(states[at]) {
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
    fn forced(&self) -> (Vec<u8>, Vec<Cursor>) {
        let mut bytes = Vec::new();
        let mut states = vec![self.state];
        if self.ended {
            return (bytes, states);
        }
        let automaton = self.index.automaton();
        let mut state = self.state;
        // Every state can reach acceptance and acceptance stops the loop, so
        // it cannot go round in a circle.
        while !automaton.is_accepting(&state) {
            let mut only = None;
            for byte in 0..=255u8 {
                let next = automaton.step(state, byte, &mut ());
                if next.is_dead() {
                    continue;
                }
                if only.is_some() {
                    return (bytes, states);
                }
                only = Some((byte, next));
            }
            let Some((byte, next)) = only else {
                break;
            };
            bytes.push(byte);
            states.push(next);
            state = next;
        }
        (bytes, states)
    }

    /// How many of the forced bytes no allowed token reaches across: from the
    /// first place where a token could begin that ends behind the run, the
    /// tokenizer's cut depends on what follows.
    fn unspanned(&self, bytes: &[u8], states: &[Cursor]) -> usize {
        let trie = self.index.vocabulary().trie();
        let automaton = self.index.automaton();
        let after = states[bytes.len()];
        let longest = trie.max_depth();
        let spans = |from: usize| {
            let Some(node) = trie.find(&bytes[from..]) else {
                return false;
            };
            let mut stack: Vec<(usize, Cursor)> =
                trie.children(Some(node)).map(|c| (c, after)).collect();
            while let Some((node, state)) = stack.pop() {
                let to = automaton.step(state, trie.nodes()[node].byte, &mut ());
                if to.is_dead() {
                    continue;
                }
                if trie.nodes()[node].token != NO_TOKEN {
                    return true;
                }
                stack.extend(trie.children(Some(node)).map(|c| (c, to)));
            }
            false
        };
        let first = bytes.len().saturating_sub(longest);
        (first..bytes.len())
            .find(|&from| spans(from))
            .unwrap_or(bytes.len())
    }

    #[cold]
    fn refused_byte(&self, token: TokenId, bytes: &[u8], offset: usize) -> Error {
        let mut state = self.state;
        let automaton = self.index.automaton();
        let _ = automaton.advance(&mut state, &bytes[..offset], &mut ());
        let expected: Vec<u8> = (0..=255u8)
            .filter(|&b| !automaton.step(state, b, &mut ()).is_dead())
            .collect();
        refused(
            token,
            offset,
            &format!(
                "({:?}) leaves the language at its byte {offset}, {}; expected {}",
                String::from_utf8_lossy(bytes),
                show_bytes(&bytes[offset..=offset]),
                if expected.is_empty() {
                    "the end of the text".to_owned()
                } else {
                    show_bytes(&expected)
                }
            ),
        )
    }
}

#[cold]
fn refused(token: TokenId, offset: usize, why: &str) -> Error {
    Error::at(
        ErrorKind::TokenRefused,
        offset,
        format!("token {token} {why}"),
    )
}

/// Bytes as people write them, runs joined: `"0"-"9", "-"`.
pub(crate) fn show_bytes(bytes: &[u8]) -> String {
    let one = |b: u8| match b {
        b'"' => "`\"`".to_owned(),
        b' '..=b'~' => format!("`{}`", b as char),
        _ => format!("0x{b:02X}"),
    };
    let mut runs: Vec<(u8, u8)> = Vec::new();
    for &byte in bytes {
        match runs.last_mut() {
            Some(run) if run.1.checked_add(1) == Some(byte) => run.1 = byte,
            _ => runs.push((byte, byte)),
        }
    }
    let mut parts: Vec<String> = runs
        .iter()
        .take(8)
        .map(|&(a, b)| {
            if a == b {
                one(a)
            } else {
                format!("{}-{}", one(a), one(b))
            }
        })
        .collect();
    if runs.len() > parts.len() {
        parts.push("..".to_owned());
    }
    parts.join(", ")
}
