//! Shortcuts for masks: where text may come whatever it is, which characters are alike, what rows
//! are remembered by, and lexemes without their stacks.
//!
//! For example, inside of a comment every letter leads back, so that one mask holds for all of it.

mod characters;
mod counted;
mod finder;
mod free;
pub(crate) mod keys;
mod known;
mod leading;
mod letters;
mod lexemes;
mod questions;
pub(crate) mod text;
pub(crate) mod values;
mod words;

pub(crate) use self::known::Known;
pub(crate) use self::lexemes::{Lexemes, tell_masks};
