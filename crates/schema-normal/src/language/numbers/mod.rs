//! Languages of number spellings: which texts are the numbers of a range, of a list, or the
//! multiples of a step.
//!
//! - [`conditions`]: the conditions that numbers satisfy. Two things are made from them:
//! - [`admitted`]: a regular expression, for the printer, from those of ranges and multiples
//!   ([`expressions`]).
//! - [`automata`]: an automaton over the fifteen characters of numbers ([`dfa`], with its
//!   [`counts`]), from those of `ranges`, of scientific notation (`exponents`), of `multiples` and
//!   of lists (`words`).
//! - `places`: decimals by the places of their digits, for both.
//!
//! For example, the integers from 7 to 23 are `[7-9]|1[0-9]|2[0-3]`, or six states.

pub mod admitted;
mod amounts;
pub mod automata;
pub mod conditions;
pub mod counts;
pub mod dfa;
mod exponents;
#[cfg(test)]
mod expression_tests;
pub mod expressions;
mod multiple_expressions;
mod multiples;
mod places;
mod ranges;
mod words;
