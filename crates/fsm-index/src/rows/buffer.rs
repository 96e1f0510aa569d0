//! A mask that is written over and over: what is in it is remembered, so that only what changes is
//! written. For example, if two rows with a part in common differ in three tokens, three words at
//! most are written.

use std::sync::Arc;

use super::SpecialSet;
use crate::bits::Bits;
use crate::rows::{Row, RowView};
use crate::{TokenMask, TokenTable};

/// A buffer into which [`Guide::write_mask`](crate::Guide::write_mask) writes masks, one after
/// another.
///
/// It remembers the row that it holds: where the next one is the same, as inside
/// most strings, nothing is written, and where both differ from a part that they
/// share, only the words in which they differ are. One buffer may serve any guides
/// whose vocabularies are equally wide; it is resized for others.
///
/// ```
/// use fsm_index::MaskBuffer;
///
/// let buffer = MaskBuffer::new(100);
/// assert_eq!(buffer.words().len(), 4);
/// assert!(buffer.mask().is_empty());
/// ```
#[derive(Clone, Debug)]
pub struct MaskBuffer {
    mask: TokenMask,
    held: Held,
    /// The tokens that [`Held`] speaks of.
    singles: Vec<u32>,
    /// The special tokens that are allowed beside the row.
    specials: Option<Arc<SpecialSet>>,
}

/// The meaning of the bits of a buffer.
#[derive(Clone, Debug)]
enum Held {
    /// The bits are of some of the single tokens, and no others.
    Few,
    /// The bits are of a row, but for the single tokens.
    Row(Arc<Row>),
    /// Any.
    Anything,
}

impl MaskBuffer {
    /// A buffer for masks over `width` tokens; none is allowed yet.
    pub fn new(width: usize) -> MaskBuffer {
        MaskBuffer {
            mask: TokenMask::none(width),
            held: Held::Few,
            singles: Vec::new(),
            specials: None,
        }
    }

    /// The mask that was written last.
    pub fn mask(&self) -> &TokenMask {
        &self.mask
    }

    /// The words of the mask: bit `t % 32` of word `t / 32` is token `t`'s.
    pub fn words(&self) -> &[u32] {
        self.mask.words()
    }

    /// The words, to be written by somebody else: what they hold is forgotten, and
    /// the next mask written as a whole. Bits behind the width should be zero.
    pub fn words_mut(&mut self) -> &mut [u32] {
        self.held = Held::Anything;
        self.mask.words_mut()
    }

    /// Allows nothing. O(width / 32), or O(tokens) where few are allowed.
    pub fn clear(&mut self) {
        self.lift();
        let words = self.mask.words_mut();
        match self.held {
            Held::Few => self.singles.iter().for_each(|&token| {
                words[token as usize / 32] = 0;
            }),
            Held::Row(_) | Held::Anything => words.fill(0),
        }
        self.held = Held::Few;
        self.singles.clear();
    }

    /// Makes it as wide as a vocabulary; the mask is lost where it was not.
    pub(crate) fn fit(&mut self, width: usize) {
        if self.mask.width() != width {
            *self = MaskBuffer::new(width);
        }
    }

    /// Writes a row of a vocabulary that it fits, which is `kept` if it is remembered.
    /// [`lay`](MaskBuffer::lay) follows, behind single tokens.
    pub(crate) fn put(
        &mut self,
        row: RowView<'_>,
        kept: Option<&Arc<Row>>,
        vocabulary: &TokenTable,
    ) {
        if let (Held::Row(held), Some(kept)) = (&self.held, kept)
            && self.singles.is_empty()
            && Arc::ptr_eq(held, kept)
        {
            return;
        }
        self.lift();
        match row {
            RowView::Packed(packed) => {
                self.clear();
                let words = self.mask.words_mut();
                RowView::for_each(packed, vocabulary, |token| {
                    words.allow(token);
                    self.singles.push(token);
                });
                return;
            }
            RowView::Dense(mask) => self.mask.words_mut().copy_from_slice(mask.words()),
            RowView::Delta(changed) => {
                let words = self.mask.words_mut();
                let over = match &self.held {
                    Held::Row(before) => match &**before {
                        Row::Delta(before) => {
                            changed.lay_over(before, &self.singles, vocabulary, words)
                        }
                        Row::Dense(_) | Row::Packed(_) => false,
                    },
                    Held::Few | Held::Anything => false,
                };
                if !over {
                    changed.lay_out(vocabulary, words);
                }
            }
        }
        self.singles.clear();
        match (kept, &mut self.held) {
            (Some(kept), Held::Row(row)) => row.clone_from(kept),
            (Some(kept), held) => *held = Held::Row(kept.clone()),
            (None, held) => *held = Held::Anything,
        }
    }

    /// Allows special tokens beside the row that was put, and no others of those that no row
    /// speaks of.
    pub(crate) fn lay(&mut self, specials: Option<&Arc<SpecialSet>>) {
        self.lift();
        if let Some(specials) = specials {
            specials.lay(self.mask.words_mut());
            self.specials = Some(specials.clone());
        }
    }

    /// Takes the special tokens away.
    fn lift(&mut self) {
        if let Some(specials) = self.specials.take() {
            specials.lift(self.mask.words_mut());
        }
    }

    /// Forbids a token of the row that was put.
    pub(crate) fn forbid(&mut self, token: u32) {
        self.mask.words_mut().forbid(token);
        self.singles.push(token);
    }

    /// Allows a token beside the row that was put.
    pub(crate) fn allow(&mut self, token: u32) {
        self.mask.words_mut().allow(token);
        self.singles.push(token);
    }
}
