//! Ending in time: a *witness*, a way to complete the text in the tokens that
//! are left, is there at every step.
//!
//! The witness of a state is a shortest text (in bytes) that completes it, as
//! the tokenizer cuts it by itself, or byte by byte where that does not spell
//! it. Where the room is within [`BUDGET_MARGIN`] of what that takes, the
//! mask is narrowed to exactly the tokens after which the state's witness fits
//! (where completions are very long, to some of them), and the next token of the witness at hand, so that there is always a way
//! on. Elsewhere the mask is as the constraint gives it.

use std::cell::RefCell;
use std::collections::HashMap;

use fsm_index::{TokenId, TokenKind};

use crate::Error;
use crate::constraint::Constraint;
use crate::tokenizer::Tokenizer;

/// Under [`TokenBudget::Complete`](super::TokenBudget::Complete) the mask is
/// narrowed once fewer tokens are left than a shortest completion has and this many
/// more: tokens as the tokenizer cuts it, or one for each byte where it cannot. No
/// token whose own completion is longer than that is drawn
/// before either: such a token is looked at when it was drawn.
pub const BUDGET_MARGIN: usize = 32;

/// Most bytes of completions that are looked at to narrow one mask. A place in
/// the vocabulary's trie costs a completion, so that long completions of many
/// places would take seconds; the places that most tokens lead to come first, and
/// tokens behind the bound are left out, the witness's next one aside.
const MOST_COMPLETED: usize = 1 << 17;

/// Finds witnesses over one vocabulary.
pub(super) struct Witnesses<'t> {
    tokenizer: &'t Tokenizer,
    /// A token for each byte alone.
    bytes: [Option<u32>; 256],
    /// The most bytes of a token.
    longest: usize,
    /// Completions that were cut before: one step's are mostly the next one's.
    cuts: RefCell<Cuts>,
}

/// How completions are cut, by what stands before them and their bytes.
#[derive(Default)]
struct Cuts {
    known: HashMap<(&'static str, Vec<u8>), Vec<u32>>,
    /// Bytes of the completions.
    size: usize,
}

/// Most bytes of completions that are remembered; their tokens take up to four
/// times as many again.
const MOST_REMEMBERED: usize = 1 << 20;

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

impl<'t> Witnesses<'t> {
    /// O(vocabulary).
    pub(super) fn new(tokenizer: &'t Tokenizer) -> Self {
        let vocabulary = tokenizer.vocabulary();
        let mut bytes = [None; 256];
        let mut longest = 0;
        for id in (0..vocabulary.width()).rev() {
            let Ok(id) = u32::try_from(id) else { continue };
            let token = TokenId::new(id);
            longest = longest.max(vocabulary.token_bytes(token).map_or(0, <[u8]>::len));
            if vocabulary.kind(token) != TokenKind::Text {
                continue;
            }
            if let Some([byte]) = vocabulary.token_bytes(token) {
                bytes[usize::from(*byte)] = Some(id);
            }
        }
        Self {
            tokenizer,
            bytes,
            longest,
            cuts: RefCell::default(),
        }
    }

    /// What fits into so many tokens has no more bytes.
    pub(super) fn most_bytes(&self, tokens: usize) -> usize {
        tokens.saturating_mul(self.longest)
    }

    /// The tokens of bytes that follow `left`, as the tokenizer cuts them.
    fn encode_after(&self, left: &'static str, bytes: &[u8]) -> Vec<u32> {
        let key = (left, bytes.to_vec());
        let cuts = &mut *self.cuts.borrow_mut();
        if let Some(cut) = cuts.known.get(&key) {
            return cut.clone();
        }
        let cut = self.tokenizer.encode_after(left, bytes);
        cuts.size += bytes.len();
        if cuts.size > MOST_REMEMBERED {
            cuts.known.clear();
            cuts.size = bytes.len();
        }
        cuts.known.insert(key, cut.clone());
        cut
    }

    /// Whether so little room is left that not every token may leave enough:
    /// [`BUDGET_MARGIN`] more than a shortest completion takes.
    pub(super) fn is_near(&self, constraint: &mut dyn Constraint, room: usize) -> bool {
        let Some(bytes) = constraint.completion_within(self.most_bytes(room)) else {
            return true;
        };
        // Tokens are no more than bytes; mostly that settles it.
        room < bytes.len() + BUDGET_MARGIN
            && self
                .tokens(constraint, &bytes)
                .is_none_or(|tokens| room < tokens.len() + BUDGET_MARGIN)
    }

    /// A completion of the constraint's state in at most `room` tokens; none
    /// if the shortest is longer.
    pub(super) fn within(
        &self,
        constraint: &mut dyn Constraint,
        room: usize,
    ) -> Option<Completion> {
        let bytes = constraint.completion_within(self.most_bytes(room))?;
        self.of_bytes_within(constraint, bytes, room)
    }

    /// The same of a completion that is known.
    fn of_bytes_within(
        &self,
        constraint: &mut dyn Constraint,
        bytes: Vec<u8>,
        room: usize,
    ) -> Option<Completion> {
        if bytes.len() <= room && self.spelled(&bytes).is_some() {
            return Some(Completion::Bytes(bytes));
        }
        let tokens = self.tokens(constraint, &bytes)?;
        (tokens.len() <= room).then_some(Completion::Tokens(tokens))
    }

    /// The tokens of a completion.
    pub(super) fn cut(
        &self,
        constraint: &mut dyn Constraint,
        completion: &Completion,
    ) -> Option<Vec<u32>> {
        match completion {
            Completion::Tokens(tokens) => Some(tokens.clone()),
            Completion::Bytes(bytes) => self.tokens(constraint, bytes),
        }
    }

    /// The tokens of bytes that complete the text: as the tokenizer cuts them,
    /// or one by one.
    pub(super) fn tokens(&self, constraint: &mut dyn Constraint, bytes: &[u8]) -> Option<Vec<u32>> {
        if bytes.is_empty() {
            return Some(Vec::new());
        }
        // Some tokenizers put a blank before a text, which no text must have
        // that follows another.
        for left in ["", "\n"] {
            let cut = self.encode_after(left, bytes);
            if !cut.is_empty() && completes(constraint, &cut) {
                return Some(cut);
            }
        }
        self.single(constraint, bytes)
    }

    /// The tokens of bytes one by one.
    pub(super) fn single(&self, constraint: &mut dyn Constraint, bytes: &[u8]) -> Option<Vec<u32>> {
        let single = self.spelled(bytes)?;
        completes(constraint, &single).then_some(single)
    }

    fn spelled(&self, bytes: &[u8]) -> Option<Vec<u32>> {
        bytes
            .iter()
            .map(|byte| self.bytes[usize::from(*byte)])
            .collect()
    }

    /// The tokens of the mask after which the constraint can be completed in
    /// `left` tokens, as a mask, up to [`MOST_COMPLETED`]. One completion for each group of
    /// [`Constraint::landings`].
    pub(super) fn narrowed(
        &self,
        constraint: &mut dyn Constraint,
        left: usize,
    ) -> Result<Vec<u32>, Error> {
        let mut words = vec![0u32; constraint.width().div_ceil(32)];
        // Many places are completed by the same text.
        let mut known: HashMap<Vec<u8>, bool> = HashMap::new();
        let mut groups = constraint.landings()?;
        groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
        let mut completed = 0;
        for group in groups {
            if completed > MOST_COMPLETED {
                break;
            }
            let Some(&first) = group.first() else {
                continue;
            };
            if constraint.advance(first).is_err() {
                continue;
            }
            let fits = match constraint.completion_within(self.most_bytes(left)) {
                Some(bytes) => match known.get(&bytes) {
                    Some(fits) => {
                        completed += bytes.len();
                        *fits
                    }
                    None => {
                        completed += bytes.len();
                        let completion = self.of_bytes_within(constraint, bytes.clone(), left);
                        let fits = completion.is_some();
                        known.insert(bytes, fits);
                        fits
                    }
                },
                // It was found to be too long, mostly without being written.
                None => {
                    completed += BUDGET_MARGIN;
                    false
                }
            };
            constraint.rollback(1)?;
            if fits {
                for token in group {
                    words[token as usize / 32] |= 1 << (token % 32);
                }
            }
        }
        Ok(words)
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
