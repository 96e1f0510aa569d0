#![doc = include_str!("../README.md")]
// The parts that only saved files or regular expressions need are not worth a condition at each
// item.
#![cfg_attr(not(all(feature = "file", feature = "regex")), allow(dead_code))]

mod automaton;
mod bits;
mod budget;
mod bytes;
mod cache;
pub mod contract;
mod error;
mod guide;
mod index;
mod nested;
mod plan;
mod regex;
mod report;
mod rows;
mod spelling;
mod tokens;
mod vocabulary;
mod walk;

pub use automaton::{
    Behind, ByteAutomaton, ClassId, Completed, Cursor, Description, EachException, Ending,
    Exception, FreeText, Growth, KeyLanguage, Lexeme, LexemeBehind, LexemePlace, Lexemes, Lexicon,
    MAX_COMPLETION, Nearer, Overlay, Parts, PlainText, ReadText, Scope, SpecialNames,
    SpecialTokens, Spot, Stack, Standing, TextAt, TextBounds, TextLoop, TextPlace, TextReader,
    TextStep, Texts, finite_can_do_without, is_match,
};
pub use budget::Budget;
pub use bytes::ByteSet;
pub use cache::{SharedRows, SharedStats};
pub use error::{Error, ErrorKind};
pub use guide::{
    AfterEnd, AnyGuide, AnyIndex, Distribution, Guide, Landing, MaskWord, ProbabilityLimits,
    ValueProbability, mask_batch, probabilities,
};
pub use index::{BuildProgress, Fill, Index, IndexConfig, IndexStats, PackedRow, Tables};
pub use nested::{Leaf, Met, Nested, Outer, Slots};

pub use regex::ByteDfa;
#[cfg(feature = "regex")]
pub use regex::{Alphabet, Config, Dfa, Step, Symbols, Trace};
pub use report::{Place, Report};
pub use rows::{Iter, Logit, MaskBuffer, TokenMask};
pub use tokens::{
    Horizon, MAX_TOKEN_BYTES, MAX_WIDTH, NameMarks, Reach, SpecialId, TextRuns, TokenId, TokenKind,
    TokenTable,
};
pub use vocabulary::{AddedTokens, JSON_TEXT, Vocabulary, VocabularyBuilder};
pub use walk::brute_force_mask;
