//! The tokens that a walk meets. For example, a walk over digits meets 1,110 tokens, which are a
//! list; one inside of a string meets most of the vocabulary, which is a mask.

use super::clear;
use crate::bits::Bits;
use crate::rows::Part;

/// A list while they are few, and a mask from then on.
pub(super) struct TokenSink<'a> {
    tokens: &'a mut Vec<u32>,
    words: &'a mut Vec<u32>,
    width: usize,
    /// So many are few.
    few: usize,
    are_many: bool,
}

impl<'a> TokenSink<'a> {
    /// None yet, of a vocabulary of such a width. The lists may hold tokens of a walk before: they
    /// are emptied.
    pub(super) fn none(
        tokens: &'a mut Vec<u32>,
        words: &'a mut Vec<u32>,
        width: usize,
        few: usize,
    ) -> Self {
        tokens.clear();
        TokenSink {
            tokens,
            words,
            width,
            few,
            are_many: false,
        }
    }

    /// Begins with the tokens of a mask, which are many.
    pub(super) fn with(self, mask: &[u32]) -> Self {
        self.words.clear();
        self.words.extend_from_slice(mask);
        TokenSink {
            are_many: true,
            ..self
        }
    }

    #[inline]
    pub(super) fn put(&mut self, token: u32) {
        if self.are_many {
            self.words.allow(token);
        } else if self.tokens.len() < self.few {
            self.tokens.push(token);
        } else {
            self.become_many();
            self.words.allow(token);
        }
    }

    /// Adds the tokens of a mask.
    pub(super) fn put_mask(&mut self, mask: &[u32]) {
        if !self.are_many {
            self.become_many();
        }
        let words = self.words.iter_mut().zip(mask);
        words.for_each(|(word, more)| *word |= more);
    }

    /// Adds the tokens that may come for sure in a part.
    pub(super) fn put_part(&mut self, part: &Part) {
        match part.few() {
            Some(tokens) => tokens.iter().for_each(|&token| self.put(token)),
            None => {
                if !self.are_many {
                    self.become_many();
                }
                part.add_to(self.words);
            }
        }
    }

    #[cold]
    fn become_many(&mut self) {
        self.are_many = true;
        clear(self.words, self.width);
        for token in self.tokens.iter() {
            self.words.allow(*token);
        }
    }

    pub(super) fn all(self) -> MetTokens<'a> {
        match self.are_many {
            true => MetTokens::Many(self.words),
            false => MetTokens::Few(self.tokens),
        }
    }
}

/// All tokens that were met.
pub(super) enum MetTokens<'a> {
    /// In the order in which they were met.
    Few(&'a mut [u32]),
    /// As the words of a mask.
    Many(&'a [u32]),
}
