//! Languages of decoded strings (and of number spellings): expressions over
//! code points, automata for what must be intersected or complemented, and the
//! spelling of both inside JSON.

pub(crate) mod automaton;
mod encodings;
pub(crate) mod formats;
mod international;
pub(crate) mod lengths;
mod nfa;
pub(crate) mod number_formats;
pub(crate) mod numbers;
pub(crate) mod pairs;
pub(crate) mod pattern;
pub(crate) mod product;
pub(crate) mod re;
pub(crate) mod spell;
