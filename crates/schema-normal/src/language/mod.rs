//! Languages of decoded strings (and of number spellings): expressions over
//! code points, automata for what must be intersected or complemented, and the
//! spelling of both inside JSON.
//!
//! For example, `pattern: "a"` is the expression of all texts with an `a`, and in JSON the same
//! with `\u0061` if escapes are allowed.

pub mod char_dfa;
pub mod counted;
pub mod escapes;
pub mod formats;
pub mod length_bounds;
pub mod number_counts;
pub mod number_dfa;
pub mod number_exponents;
pub mod number_expressions;
pub mod number_multiples;
pub mod number_ranges;
pub mod number_words;
pub mod pattern;
pub mod re;
pub mod white_space;
