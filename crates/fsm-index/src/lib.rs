#![doc = include_str!("../README.md")]
// What only saved files or regular expressions need is not worth a condition
// at each item.
#![cfg_attr(not(all(feature = "file", feature = "regex")), allow(dead_code))]

mod automaton;
mod budget;
mod buffer;
mod built;
mod byte_dfa;
mod cache;
mod changed;
mod completion;
pub mod contract;
mod decoder;
#[cfg(feature = "regex")]
mod dfa;
mod error;
#[cfg(feature = "file")]
mod file;
mod forced;
mod guide;
mod history;
mod horizon;
mod index;
mod key;
mod landings;
mod levels;
mod mask;
mod masks;
mod memo;
#[cfg(feature = "regex")]
mod nfa;
mod part;
mod reading;
mod row;
mod shared_rows;
mod specials;
mod spelling;
mod suffixes;
mod tables;
mod token;
mod unstepped;
mod vocabulary;
mod walk;
mod walk_on_top;

pub use automaton::{
    Behind, ByteAutomaton, ByteSet, ClassId, Cursor, Description, Exception, FreeText, Horizon,
    KeyLanguage, Lexicon, NameMarks, Overlay, Place, PlainText, Reach, ReadText, Scope, Stack,
    TextAt, TextLoop, TextStep, Texts, TopText,
};
pub use budget::Budget;
pub use buffer::MaskBuffer;
pub use byte_dfa::ByteDfa;
pub use completion::MAX_COMPLETION;
#[cfg(feature = "regex")]
pub use dfa::{Alphabet, Config, Dfa, Step, Symbols, Trace};
pub use error::{Error, ErrorKind};
pub use guide::{AfterEnd, Guide, MaskWord, mask_batch};
pub use index::{Fill, Index, IndexConfig, IndexStats};
pub use mask::{Iter, TokenMask};
pub use shared_rows::{SharedRows, SharedStats};
pub use specials::SpecialTokens;
pub use tables::{PackedRow, Tables};
pub use token::{SpecialId, TokenId};
pub use vocabulary::{
    AddedTokens, JSON_TEXT, MAX_TOKEN_BYTES, MAX_WIDTH, TextRuns, TokenKind, Vocabulary,
    VocabularyBuilder,
};
pub use walk::brute_force_mask;
