//! Ways to the end of a text, and whether there is one.
//!
//! For example, the way behind `((` of `root ::= "(" root ")" | "x"` is `x))`.

pub(crate) mod live;
pub(crate) mod ways;
