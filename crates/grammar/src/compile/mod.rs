//! From the tree to tables: productions over terminals, an automaton a terminal, and what a stack's
//! topmost state says.
//!
//! For example, `root ::= "(" root ")" | "x"` has two productions over three terminals.

pub(crate) mod captured;
pub(crate) mod cfg;
pub(crate) mod class_set;
mod fewer_ways;
pub(crate) mod json;
pub(crate) mod lexer;
pub(crate) mod lower;
pub(crate) mod lr;
mod unite;
