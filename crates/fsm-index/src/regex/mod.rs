//! Regular expressions: from a pattern to a table over bytes. For example, `[0-9]+` becomes a table
//! of two states over the classes of digits and of everything else.

mod byte_dfa;
mod decoder;
#[cfg(feature = "regex")]
mod dfa;
mod distances;
mod short_texts;
mod symbol_table;

pub use byte_dfa::ByteDfa;
#[cfg(feature = "file")]
pub(crate) use decoder::Decoder;
#[cfg(feature = "regex")]
pub use dfa::{Alphabet, Config, Dfa, Step, Symbols, Trace};
