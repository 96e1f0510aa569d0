//! Languages of number spellings: which texts are the numbers of a range, of a list, or the
//! multiples of a step.
//!
//! - [`expressions`]: as regular expressions, for the printer.
//! - [`dfa`]: as automata over the fifteen characters of numbers, with their [`counts`]; those of
//!   [`ranges`], of scientific notation ([`exponents`]), of [`multiples`] and of lists ([`words`]).
//! - `places`: decimals by the places of their digits, for both.
//!
//! For example, the integers from 7 to 23 are `[7-9]|1[0-9]|2[0-3]`, or six states.

mod amounts;
pub mod counts;
pub mod dfa;
pub mod exponents;
pub mod expressions;
mod multiple_expressions;
pub mod multiples;
mod places;
pub mod ranges;
pub mod words;
