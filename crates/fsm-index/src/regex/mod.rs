//! Regular expressions: from a pattern to a table over bytes.

mod byte_dfa;
mod decoder;
#[cfg(feature = "regex")]
mod dfa;
mod short_texts;

pub use byte_dfa::ByteDfa;
#[cfg(feature = "file")]
pub(crate) use decoder::Decoder;
#[cfg(feature = "regex")]
pub use dfa::{Alphabet, Config, Dfa, Step, Symbols, Trace};
