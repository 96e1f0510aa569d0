//! Terminals: the regular language of each, and its table over bytes.
//!
//! For example, `NAME: /[a-z]+/ & ~"if"` is a difference of two languages, of which one table is made.

pub(crate) mod around;
pub(crate) mod byte_classes;
mod context;
pub(crate) mod edges;
mod lexeme;
mod parts;
mod product;
pub(crate) mod regular;
mod symbols;
pub(crate) mod table;
