//! The interface of automata: how they read bytes, and what they know that makes masks fast. For
//! example, a table over bytes ([`ByteDfa`](crate::ByteDfa)) implements it with [`PlainText`] and
//! [`Ending`], and a parser with [`Lexemes`] too.
//!
//! [`ByteAutomaton`] is all that must be written. The rest is in parts, because few automata have
//! it: [`SpecialTokens`], [`Overlay`] for what was said before, [`Stack`] for what nests,
//! [`PlainText`] for strings, [`Lexemes`] for what parsers read. An automaton that has others
//! inside of it uses [`Nested`](crate::Nested).

mod completion;
mod core;
mod describe;
mod ending;
mod finite;
mod lexemes;
mod overlay;
mod parts;
mod special_tokens;
mod stack;
mod text;

pub use completion::MAX_COMPLETION;
pub(crate) use completion::{Piece, pieces};
pub use core::{ByteAutomaton, Cursor, Parts, is_match};
pub use describe::{Description, KeyLanguage, Scope, TextLoop, Texts};
pub use ending::{Ending, Growth, Nearer, Standing};
pub use finite::finite_can_do_without;
pub use lexemes::{Lexeme, LexemeBehind, LexemePlace, Lexemes};
pub use overlay::{EachException, Exception, Overlay};
pub(crate) use parts::AskParts;
pub use special_tokens::{Completed, SpecialNames, SpecialTokens};
pub use stack::Stack;
pub use text::{
    Behind, ClassId, FreeText, Lexicon, PlainText, ReadText, Spot, TextAt, TextBounds, TextPlace,
    TextReader, TextStep,
};
