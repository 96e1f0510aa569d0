//! Texts in a grammar: numbers for what they have become, and steps between these.
//!
//! For example, behind `(` of `root ::= "(" root ")" | "x"` a configuration has one front, whose
//! topmost states await `(` and `x`.

pub(crate) mod budgets;
mod by_hash;
pub(crate) mod caches;
pub(crate) mod configs;
mod fronts;
pub(crate) mod json;
pub(crate) mod lexes;
mod lists;
mod nodes;
pub(crate) mod saved;
mod saver;
mod splits;
pub(crate) mod stacks;
pub(crate) mod step;
pub(crate) mod work;
