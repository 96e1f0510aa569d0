//! Ending in time: a *witness*, a way to complete the text in the tokens that
//! are left, is there at every step.
//!
//! The witness of a state is a shortest text (in bytes) that completes it, as
//! the tokenizer cuts it, or byte by byte where that does not spell it. A
//! drawn token counts only if the state after it has a witness that fits;
//! otherwise it is drawn again. The first token of the witness at hand is
//! always good, so there is always a way on, and where room is plenty nothing
//! is changed: a completion whose bytes fit, fits.

use fsm_index::{TokenKind, Vocabulary};

use crate::constraint::Constraint;

/// Finds witnesses over one vocabulary.
pub(super) struct Witnesses {
    /// A token for each byte alone.
    bytes: [Option<u32>; 256],
}

/// How a text can be completed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Completion {
    /// In these bytes, each of which is a token, so in no more tokens.
    Bytes(Vec<u8>),
    /// In these tokens.
    Tokens(Vec<u32>),
}

impl Completion {
    /// Most tokens that it takes.
    pub(super) fn len(&self) -> usize {
        match self {
            Completion::Bytes(bytes) => bytes.len(),
            Completion::Tokens(tokens) => tokens.len(),
        }
    }
}

/// Cuts bytes that come next into tokens.
pub(super) type Encode<'e> = &'e dyn Fn(&[u8]) -> Vec<u32>;

impl Witnesses {
    /// O(vocabulary).
    pub(super) fn new(vocabulary: &Vocabulary) -> Self {
        let mut bytes = [None; 256];
        for id in (0..vocabulary.width()).rev() {
            let Ok(id) = u32::try_from(id) else { continue };
            let token = fsm_index::TokenId::new(id);
            if vocabulary.kind(token) != TokenKind::Text {
                continue;
            }
            if let Some([byte]) = vocabulary.token_bytes(token) {
                bytes[usize::from(*byte)] = Some(id);
            }
        }
        Self { bytes }
    }

    /// A completion of the constraint's state in at most `room` tokens; none
    /// if the shortest is longer.
    pub(super) fn within(
        &self,
        constraint: &mut dyn Constraint,
        room: usize,
        encode: Encode<'_>,
    ) -> Option<Completion> {
        let bytes = constraint.completion()?;
        if bytes.len() <= room && self.spelled(&bytes).is_some() {
            return Some(Completion::Bytes(bytes));
        }
        let tokens = self.tokens(constraint, &bytes, encode)?;
        (tokens.len() <= room).then_some(Completion::Tokens(tokens))
    }

    /// The tokens of a completion.
    pub(super) fn cut(
        &self,
        constraint: &mut dyn Constraint,
        completion: &Completion,
        encode: Encode<'_>,
    ) -> Option<Vec<u32>> {
        match completion {
            Completion::Tokens(tokens) => Some(tokens.clone()),
            Completion::Bytes(bytes) => self.tokens(constraint, bytes, encode),
        }
    }

    /// The tokens of bytes that complete the text: as the tokenizer cuts them,
    /// or one by one.
    pub(super) fn tokens(
        &self,
        constraint: &mut dyn Constraint,
        bytes: &[u8],
        encode: Encode<'_>,
    ) -> Option<Vec<u32>> {
        if bytes.is_empty() {
            return Some(Vec::new());
        }
        let cut = encode(bytes);
        if !cut.is_empty() && completes(constraint, &cut) {
            return Some(cut);
        }
        let single = self.spelled(bytes)?;
        completes(constraint, &single).then_some(single)
    }

    fn spelled(&self, bytes: &[u8]) -> Option<Vec<u32>> {
        bytes
            .iter()
            .map(|byte| self.bytes[usize::from(*byte)])
            .collect()
    }
}

/// Whether tokens lead to where the text may end. The constraint is left as it
/// was.
fn completes(constraint: &mut dyn Constraint, tokens: &[u32]) -> bool {
    let taken = tokens
        .iter()
        .take_while(|token| constraint.advance(**token).is_ok())
        .count();
    let complete = taken == tokens.len() && constraint.is_accepting();
    let restored = constraint.rollback(taken).is_ok();
    complete && restored
}
