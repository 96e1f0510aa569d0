#![doc = include_str!("../README.md")]

#[cfg(feature = "automaton")]
pub mod automaton;
pub mod ledger;
mod regex;
mod schema;

pub use crate::regex::print::to_regex;
pub use crate::schema::{Schema, parse, parse_str, parse_str_with, parse_with};
pub use schema_normal::options::{
    AdditionalMembers, AnyValue, Caps, Draft, Escapes, Formats, IntegerSpelling, OneOf, Options,
    PropertyOrder, Recursion, UnknownKeywords, Whitespace,
};
pub use schema_normal::{
    Documents, Error, ErrorKind, ParseOptions, Rounded, Settings, file_uri, in_words_of,
};
