//! Rows: which tokens may come, as they are kept and as they are lent. For example, ten tokens are
//! kept as a run, and lent as a mask of one bit a token.

mod buffer;
mod delta;
mod end_tokens;
mod lexemes;
mod logits;
mod mask;
mod part;
mod row;
mod specials;

pub use buffer::MaskBuffer;
pub(crate) use delta::{Changes, RowDelta};
pub(crate) use end_tokens::EndTokens;
pub(crate) use lexemes::{
    FreeBelow, LexemeAsk, LexemeEnd, LexemePart, RestGroup, Rests, Size, TextRests, number_of_node,
};
pub use logits::Logit;
#[cfg(feature = "file")]
pub(crate) use mask::FileWords;
pub use mask::{Iter, TokenMask};
pub(crate) use part::{HalfOnTop, Open, OpenRest, Part};
pub(crate) use row::{Row, RowPool, RowView};
pub(crate) use specials::{SpecialSet, Specials};
