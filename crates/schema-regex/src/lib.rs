#![doc = include_str!("../README.md")]

#[cfg(feature = "automaton")]
pub mod automaton;
mod budget;
mod decimal;
mod documents;
mod error;
mod ir;
mod json_text;
mod language;
pub mod ledger;
mod normal;
mod options;
mod read;
mod regex;
mod settings;
mod uri;
mod validate;
mod values;

pub use crate::documents::{Documents, file_uri};
pub use crate::error::{Error, ErrorKind, in_words_of};
pub use crate::ir::Schema;
pub use crate::options::Draft;
pub use crate::options::{
    AdditionalMembers, AnyValue, Caps, Escapes, Formats, IntegerSpelling, OneOf, Options,
    ParseOptions, PropertyOrder, Recursion, Rounded, Settings, UnknownKeywords, Whitespace,
};
pub use crate::read::schema::{parse, parse_str, parse_str_with, parse_with};
pub use crate::regex::to_regex;
