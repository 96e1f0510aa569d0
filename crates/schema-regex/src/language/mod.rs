//! Languages of decoded strings (and of number spellings): expressions over
//! code points, automata for what must be intersected or complemented, and the
//! spelling of both inside JSON.
//!
//! For example, `pattern: "a"` is the expression of all texts with an `a`, and in JSON the same
//! with `\u0061` if escapes are allowed.

#[cfg(feature = "automaton")]
pub(crate) mod char_dfa;
#[cfg(feature = "automaton")]
pub(crate) mod counted;
pub(crate) mod escapes;
pub(crate) mod formats;
#[cfg(feature = "automaton")]
pub(crate) mod length_bounds;
#[cfg(feature = "automaton")]
pub(crate) mod number_counts;
#[cfg(feature = "automaton")]
pub(crate) mod number_dfa;
#[cfg(feature = "automaton")]
pub(crate) mod number_exponents;
pub(crate) mod number_expressions;
#[cfg(feature = "automaton")]
pub(crate) mod number_multiples;
#[cfg(feature = "automaton")]
pub(crate) mod number_ranges;
#[cfg(feature = "automaton")]
pub(crate) mod number_words;
pub(crate) mod pattern;
pub(crate) mod re;
pub(crate) mod white_space;
