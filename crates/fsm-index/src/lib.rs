#![doc = include_str!("../README.md")]

mod automaton;
mod byte_dfa;
#[cfg(feature = "regex")]
mod dfa;
mod error;
mod file;
mod guide;
mod index;
mod mask;
#[cfg(feature = "regex")]
mod nfa;
mod row;
mod run_rows;
mod token;
mod vocabulary;
mod walk;

pub use automaton::{ByteAutomaton, ClassId, Cursor, DenseTable, TextLoop};
pub use byte_dfa::ByteDfa;
#[cfg(feature = "regex")]
pub use dfa::{Alphabet, Config, Dfa, Step, Symbols, Trace};
pub use error::{Error, ErrorKind};
pub use guide::Guide;
pub use index::{Fill, Index, IndexConfig, IndexStats};
pub use mask::{Iter, TokenMask};
pub use token::{SpecialId, TokenId};
pub use vocabulary::{
    AddedTokens, MAX_TOKEN_BYTES, MAX_WIDTH, TextRuns, TokenKind, Vocabulary, VocabularyBuilder,
};
pub use walk::brute_force_mask;
