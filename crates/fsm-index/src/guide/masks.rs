//! The masks of a guide: the row of its state, with what is not in any row. For example, the row of
//! a state in a string, without the tokens that would repeat an item.

use super::landings::landings;
use super::limit::Narrowing;
use super::{Guide, MaskWord};
use crate::automaton::AskParts;
use crate::budget::Budget;
use crate::index::Lent;
use crate::plan::Work;
use crate::rows::{RowView, Specials};
use crate::tokens::Having;
use crate::{ByteAutomaton, Error, ErrorKind, Exception, Index, MaskBuffer, TokenId, TokenMask};

impl<A: ByteAutomaton> Guide<A> {
    /// Which tokens may come next. O(1) for a known row that is dense, O(its
    /// tokens) for a packed one; a lazy index may have to compute it first.
    ///
    /// After an end token nothing may come. The mask is empty only then, or
    /// where the text is complete and there is no end token.
    ///
    /// # Errors
    ///
    /// It costs more than [`IndexConfig::mask_budget`](crate::IndexConfig::mask_budget)
    /// ([`ErrorKind::LimitExceeded`]); the guide is unchanged. An index with all its rows
    /// computes none and has no errors here.
    pub fn mask(&mut self) -> Result<&TokenMask, Error> {
        self.find(None)?;
        Ok(self.show())
    }

    /// As [`Guide::mask`], if that costs no more than `budget`.
    ///
    /// # Errors
    ///
    /// The budget is spent ([`ErrorKind::LimitExceeded`]) or the computation
    /// was called off ([`ErrorKind::Cancelled`]). The guide is unchanged.
    pub fn mask_within(&mut self, budget: &Budget) -> Result<&TokenMask, Error> {
        self.find(Some(budget))?;
        Ok(self.show())
    }

    /// Writes [`Guide::mask`] into a buffer that the caller keeps from mask to mask:
    /// only what differs from the mask that it holds is written, where that can be
    /// told. The quickest way to one mask after another; how many bits change is
    /// all that it costs beside finding the row.
    ///
    /// # Errors
    ///
    /// As [`Guide::mask`]; then the buffer is unchanged, too.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use fsm_index::{Guide, Index, MaskBuffer, TokenId, Vocabulary};
    ///
    /// # let tokens = ["a", "b", "c"];
    /// # let tokens = tokens.iter().zip(0..).map(|(s, id)| (s.as_bytes(), TokenId::new(id)));
    /// # let vocabulary = Vocabulary::new(tokens, [TokenId::new(3)])?;
    /// let mut guide = Guide::new(Arc::new(Index::new("a[bc]", &vocabulary)?));
    /// let mut buffer = MaskBuffer::new(vocabulary.width());
    /// guide.write_mask(&mut buffer)?;
    /// assert_eq!(buffer.words(), [0b001]);
    /// guide.advance(TokenId::new(0))?;
    /// guide.write_mask(&mut buffer)?;
    /// assert_eq!(buffer.words(), [0b110]);
    /// # Ok::<(), fsm_index::Error>(())
    /// ```
    pub fn write_mask(&mut self, buffer: &mut MaskBuffer) -> Result<(), Error> {
        self.find(None)?;
        self.fill(buffer);
        Ok(())
    }

    /// As [`Guide::write_mask`], if that costs no more than `budget`.
    ///
    /// # Errors
    ///
    /// As [`Guide::mask_within`]; then the buffer is unchanged, too.
    pub fn write_mask_within(
        &mut self,
        buffer: &mut MaskBuffer,
        budget: &Budget,
    ) -> Result<(), Error> {
        self.find(Some(budget))?;
        self.fill(buffer);
        Ok(())
    }

    /// Writes [`Guide::mask`] into the caller's words, `u32` or `i32`, and
    /// zeroes behind it, for padded logits. A [`MaskBuffer`] spares the copy.
    ///
    /// # Errors
    ///
    /// There are fewer words than the mask has, or as [`Guide::mask`].
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use fsm_index::{Guide, Index, TokenId, Vocabulary};
    ///
    /// # let tokens = ["a", "b"];
    /// # let tokens = tokens.iter().zip(0..).map(|(s, id)| (s.as_bytes(), TokenId::new(id)));
    /// # let vocabulary = Vocabulary::new(tokens, [TokenId::new(2)])?;
    /// let mut guide = Guide::new(Arc::new(Index::new("b", &vocabulary)?));
    /// let mut row = [0_i32; 1];
    /// guide.mask_into(&mut row)?;
    /// assert_eq!(row, [0b10]);
    /// # Ok::<(), fsm_index::Error>(())
    /// ```
    pub fn mask_into<W: MaskWord>(&mut self, out: &mut [W]) -> Result<(), Error> {
        let words = self.mask()?.words();
        let given = out.len();
        let Some((to, padding)) = out.split_at_mut_checked(words.len()) else {
            return Err(Error::new(
                ErrorKind::BufferSize,
                format!(
                    "a buffer of {given} words is too small for a mask of {}; give it \
                     width / 32 words, rounded up",
                    words.len()
                ),
            ));
        };
        W::copy(words, to);
        padding.fill(W::ZERO);
        Ok(())
    }

    /// The tokens that may come next, in ascending order.
    ///
    /// # Errors
    ///
    /// As [`Guide::mask`].
    pub fn allowed_tokens(&self) -> Result<Vec<TokenId>, Error> {
        Ok(self.clone().mask()?.iter().collect())
    }

    /// The tokens of [`Guide::mask`] in groups: after any two tokens of a group
    /// a walk cannot tell the automaton's cursors apart, so that the same texts
    /// may follow, but for what [`Overlay::exceptions`](crate::Overlay::exceptions) tells aside. End
    /// tokens and special tokens are groups of their own. Each token is in one
    /// group.
    ///
    /// For who has to judge every token by where it leads, as a token budget
    /// must: there are few places. O(nodes of the vocabulary visited), as a mask
    /// that is not remembered.
    ///
    /// # Errors
    ///
    /// As [`Guide::mask`].
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use fsm_index::{Guide, Index, TokenId, Vocabulary};
    ///
    /// # let tokens = ["0", "1", "x"];
    /// # let tokens = tokens.iter().zip(0..).map(|(s, id)| (s.as_bytes(), TokenId::new(id)));
    /// # let vocabulary = Vocabulary::new(tokens, [TokenId::new(3)])?;
    /// let mut guide = Guide::new(Arc::new(Index::new("[01]y?|x{2}|[01]", &Vocabulary::new(
    ///     [(b"0", TokenId::new(0)), (b"1", TokenId::new(1)), (b"x", TokenId::new(2))],
    ///     [TokenId::new(3)],
    /// )?)?));
    /// // After `0` and `1` the same may come, after `x` something else.
    /// assert_eq!(guide.landings()?.len(), 2);
    /// # Ok::<(), fsm_index::Error>(())
    /// ```
    pub fn landings(&mut self) -> Result<Vec<Vec<TokenId>>, Error> {
        if self.has_ended() {
            return Ok(Vec::new());
        }
        let mask = self.mask()?.clone();
        Ok(landings(&self.index, &self.state, &mask))
    }

    /// Sees to it that the row of this state is lent, within a budget or else that of the
    /// index.
    fn find(&mut self, budget: Option<&Budget>) -> Result<(), Error> {
        if self.has_ended() || self.current.row.is_some() {
            return Ok(());
        }
        let budget = budget.unwrap_or(self.index.mask_budget());
        let generation = &mut self.generation;
        let (state, specials) = (&self.state, &mut self.current.specials);
        let row = self
            .index
            .lend(state, specials, &mut self.work, generation, budget)?;
        self.current.row = Some(row);
        Ok(())
    }

    /// Writes the mask of the row that was found, within the budget of the text.
    fn fill(&mut self, buffer: &mut MaskBuffer) {
        let narrowing = self.narrowing();
        self.fill_narrowed(buffer, narrowing.as_ref());
    }

    /// Writes the mask of the row that was found, less what the budget of the text forbids.
    fn fill_narrowed(&mut self, buffer: &mut MaskBuffer, narrowing: Option<&Narrowing>) {
        self.fill_all(buffer);
        let Some(narrowing) = narrowing else { return };
        let ends = match self.is_accepting() {
            true => self.ends.tokens(self.index.vocabulary()),
            false => &[],
        };
        narrowing.narrow(&self.index, ends, buffer.words_mut());
    }

    /// Writes the mask of the row that was found, whatever the budget.
    pub(super) fn fill_all(&mut self, buffer: &mut MaskBuffer) {
        let vocabulary = self.index.vocabulary();
        buffer.fit(vocabulary.width());
        let Some(row) = self.current.row.as_ref().filter(|_| !self.has_ended()) else {
            buffer.clear();
            return;
        };
        let kept = match row {
            Lent::Kept(row) => Some(row),
            Lent::Built(_) => None,
        };
        buffer.put(self.index.view(row), kept, vocabulary);
        let refused = refused_tokens(&self.index, &self.state, buffer.mask(), &mut self.work);
        refused.iter().for_each(|&token| buffer.forbid(token));
        for (token, may_come) in self.index.try_unsure(&self.state, &mut self.work) {
            match may_come {
                true => buffer.allow(token),
                false => buffer.forbid(token),
            }
        }
        if self.ends.are_own() {
            let usual = vocabulary.ends().iter();
            usual.for_each(|end| buffer.forbid(end.get()));
            if self.is_accepting() {
                let own = self.ends.tokens(vocabulary).iter();
                own.for_each(|end| buffer.allow(end.get()));
            }
        }
        let specials = self.current.specials.here();
        if let Some(specials) = specials {
            specials.ends().iter().for_each(|&end| buffer.allow(end));
        }
        buffer.lay(specials);
    }

    /// The mask of the row that was found: the row itself, if that is it.
    fn show(&mut self) -> &TokenMask {
        if self.current.shown.is_none() {
            let narrowing = self.narrowing();
            let row = self.current.row.as_ref().filter(|_| !self.has_ended());
            let is_row = match row.map(|row| self.index.view(row)) {
                Some(RowView::Dense(mask)) if narrowing.is_none() => {
                    !self.ends.are_own()
                        && !has_exceptions(&self.index, &self.state, mask, &mut self.work)
                        && self.current.specials.here().is_none()
                }
                _ => false,
            };
            self.current.shown = Some(match is_row {
                true => Shown::Row,
                false => {
                    let mut buffer = std::mem::replace(&mut self.buffer, MaskBuffer::new(0));
                    self.fill_narrowed(&mut buffer, narrowing.as_ref());
                    self.buffer = buffer;
                    Shown::Buffer
                }
            });
        }
        match (&self.current.row, self.current.shown) {
            (Some(row), Some(Shown::Row)) => match self.index.view(row) {
                RowView::Dense(mask) => mask,
                RowView::Packed(_) | RowView::Delta(_) => self.buffer.mask(),
            },
            _ => self.buffer.mask(),
        }
    }
}

/// The mask of a guide's state, as far as it was asked for.
#[derive(Default)]
pub(super) struct Current {
    row: Option<Lent>,
    /// The place of the mask.
    shown: Option<Shown>,
    /// The special tokens that may come, beside those of which the row speaks.
    specials: Specials,
}

impl Current {
    /// Forgets everything, because the state is another one.
    pub(super) fn forget(&mut self) {
        self.hide();
        self.row = None;
        self.specials.forget();
    }

    /// Forgets the mask and not its row, because another budget or another end holds.
    pub(super) fn hide(&mut self) {
        self.shown = None;
    }

    /// Returns the knowledge that a clone of the guide begins with: the row is lent again.
    pub(super) fn of_clone(&self) -> Current {
        Current {
            row: None,
            shown: None,
            specials: self.specials.clone(),
        }
    }
}

/// The place of the mask of a guide's state.
#[derive(Clone, Copy)]
enum Shown {
    /// The row itself is lent.
    Row,
    /// In [`Guide::buffer`].
    Buffer,
}

/// Tells whether the mask at a state may be another one than its row.
fn has_exceptions<A: ByteAutomaton>(
    index: &Index<A>,
    state: &A::State,
    row: &TokenMask,
    work: &mut Work<A>,
) -> bool {
    !index.unsure().is_empty() || !refused_tokens(index, state, row, work).is_empty()
}

/// The tokens that a row allows and the state's exceptions do not.
fn refused_tokens<A: ByteAutomaton>(
    index: &Index<A>,
    state: &A::State,
    mask: &TokenMask,
    work: &mut Work<A>,
) -> Vec<u32> {
    let vocabulary = index.vocabulary();
    let automaton = index.automaton();
    let mut refused = Vec::new();
    let mut suspects: Vec<u32> = Vec::new();
    let mut lists = 0;
    automaton.exceptions(state, &mut |exception, can_be_refused| {
        let what = match exception {
            Exception::Begins(text) => {
                refused.extend(vocabulary.beginning(text));
                return;
            }
            Exception::Contains(text) => Having::Text(text.into()),
            Exception::InOrder(order) => Having::InOrder(order.into()),
            Exception::Often { byte, times } => Having::Often(byte, times),
        };
        lists += 1;
        let having = vocabulary.shared_rows().having(vocabulary, what);
        suspects.extend(having.iter().filter(|&&token| {
            let bytes = || vocabulary.token_bytes(TokenId::new(token));
            mask.allows(TokenId::new(token)) && can_be_refused(bytes().unwrap_or_default())
        }));
    });
    if lists > 1 {
        suspects.sort_unstable();
        suspects.dedup();
    }
    for token in suspects {
        let bytes = vocabulary
            .token_bytes(TokenId::new(token))
            .unwrap_or_default();
        let mut after = state.clone();
        if automaton
            .advance(&mut after, bytes, &mut work.scratch)
            .is_err()
        {
            refused.push(token);
        }
    }
    refused
}
