//! Languages of decoded strings (and of number spellings): expressions over
//! code points, automata for what must be intersected or complemented, and the
//! spelling of both inside JSON.
//!
//! For example, `pattern: "a"` is the expression of all texts with an `a`, and in JSON the same
//! with `\u0061` if escapes are allowed.

pub mod char_dfa;
pub mod escapes;
pub mod formats;
pub mod numbers;
pub mod pattern;
pub mod re;
pub mod white_space;
