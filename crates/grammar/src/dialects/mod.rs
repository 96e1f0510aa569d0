//! What is written: each dialect is read into one tree.

pub(crate) mod ast;
pub(crate) mod common;
pub(crate) mod ebnf;
pub(crate) mod lark;
pub(crate) mod macros;
pub(crate) mod reader;
