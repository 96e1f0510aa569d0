//! How a text being generated is kept within its token budget.

use super::Finish;
use super::budget::Completion;
use super::run::Run;
use crate::model::Model;
use crate::{Error, ErrorKind};

impl<M: Model + ?Sized> Run<'_, '_, '_, '_, M> {
    /// Refuses a budget that even a shortest text does not fit.
    pub(super) fn check_budget(&mut self) -> Result<(), Error> {
        let (room, limit) = self.room();
        let Some(witnesses) = &self.witnesses else {
            return Ok(());
        };
        let Some(constraint) = &mut self.constraint else {
            return Ok(());
        };
        let Some(shortest) = constraint.completion_within(witnesses.most_bytes(room)) else {
            return Err(Error::new(
                ErrorKind::TokenBudget,
                format!(
                    "no text that the constraint accepts is known to fit into {room} tokens, so \
                     that none can be promised to be complete in time; allow more, or use \
                     `TokenBudget::Cut`"
                ),
            ));
        };
        let tokens = witnesses.tokens(*constraint, &shortest);
        match tokens {
            Some(tokens) if tokens.len() <= room => {
                self.witness = Some(Completion::Tokens(tokens));
                Ok(())
            }
            Some(tokens) => {
                let what = match limit {
                    Finish::Context => "what the context has room for",
                    _ => "`max_tokens`",
                };
                let shortest: String = String::from_utf8_lossy(&shortest)
                    .chars()
                    .take(120)
                    .collect();
                Err(Error::new(
                    ErrorKind::TokenBudget,
                    format!(
                        "a shortest text that the constraint accepts has {} tokens, and {what} is \
                         {room}; the text is {shortest}",
                        tokens.len()
                    ),
                ))
            }
            None => Err(Error::new(
                ErrorKind::TokenBudget,
                "the vocabulary cannot spell a shortest text that the constraint accepts; use \
                 `TokenBudget::Cut`",
            )),
        }
    }

    /// Whether the room is so little that not every token may leave enough.
    pub(super) fn is_near_its_end(&mut self, room: usize) -> bool {
        match (&self.witnesses, &mut self.constraint) {
            (Some(witnesses), Some(constraint)) => witnesses.is_near(*constraint, room),
            _ => false,
        }
    }

    /// The tokens that leave enough room, the witness's first among them.
    pub(super) fn narrowed(&mut self, room: usize) -> Result<Vec<u32>, Error> {
        let mut words = Vec::new();
        if let (Some(witnesses), Some(constraint)) = (&self.witnesses, &mut self.constraint) {
            words = witnesses.narrowed(*constraint, room - 1)?;
        }
        if self.witness.as_ref().is_some_and(|w| w.len() > 0) {
            let first = self.first_of_witness(room)?;
            if let Some(word) = words.get_mut(first as usize / 32) {
                *word |= 1 << (first % 32);
            }
        }
        Ok(words)
    }

    /// Whether the text can be completed in `left` tokens after `token`, if
    /// that is asked for. Keeps how.
    pub(super) fn fits(&mut self, token: Option<u32>, left: usize) -> bool {
        let (Some(witnesses), Some(constraint)) = (&self.witnesses, &mut self.constraint) else {
            return true;
        };
        // What is left of the witness after its own first token needs no proof.
        let rest = match (&self.witness, token) {
            (Some(Completion::Tokens(tokens)), Some(token)) => tokens
                .split_first()
                .filter(|(first, _)| **first == token)
                .map(|(_, rest)| Completion::Tokens(rest.to_vec())),
            _ => None,
        };
        let found = witnesses.within(*constraint, left);
        let found = found.or(rest.filter(|rest| rest.len() <= left));
        let fits = found.is_some();
        if fits {
            self.witness = found;
        }
        fits
    }

    /// The first token of the witness at hand.
    pub(super) fn first_of_witness(&mut self, room: usize) -> Result<u32, Error> {
        let lost = || {
            Error::new(
                ErrorKind::Sampling,
                "no allowed token leads to an end in time",
            )
        };
        let (Some(witnesses), Some(constraint)) = (&self.witnesses, &mut self.constraint) else {
            return Err(lost());
        };
        let witness = self.witness.as_ref().ok_or_else(lost)?;
        let cut = witnesses.cut(*constraint, witness);
        // Bytes fit one by one, even if the tokenizer cuts them worse.
        let cut = cut.filter(|tokens| tokens.len() <= room);
        let tokens = cut.or_else(|| match witness {
            Completion::Bytes(bytes) => witnesses.single(*constraint, bytes),
            Completion::Tokens(_) => None,
        });
        let tokens = tokens.ok_or_else(lost)?;
        let first = tokens.first().copied().ok_or_else(lost)?;
        self.witness = Some(Completion::Tokens(tokens));
        Ok(first)
    }
}
