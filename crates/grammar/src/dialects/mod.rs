//! Readers of the notations, each into the same tree: for example, of GBNF's `root ::= "x"`.

pub(crate) mod abnf;
pub(crate) mod ast;
pub(crate) mod common;
pub(crate) mod ebnf;
pub(crate) mod instances;
pub(crate) mod lark;
pub(crate) mod macros;
pub(crate) mod numbers;
pub(crate) mod reader;
pub(crate) mod shown;
pub(crate) mod w3c;
