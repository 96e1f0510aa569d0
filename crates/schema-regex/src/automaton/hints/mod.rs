//! The hints that make masks fast: descriptions, next bytes, readers of text.
//!
//! For example, inside of a free string a token of plain letters may come: no walk reads it.

pub(crate) mod describe;
mod free_texts;
pub(crate) mod next_bytes;
pub(crate) mod text_reader;
pub(crate) mod without_characters;
