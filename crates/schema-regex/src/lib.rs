#![doc = include_str!("../README.md")]

#[cfg(feature = "automaton")]
pub mod automaton;
mod budget;
mod conjunction;
mod decimal;
mod error;
mod exact;
mod hash;
mod ir;
pub mod ledger;
mod named;
mod options;
mod parse;
mod pointer;
mod print;
mod refs;
mod settings;
mod shape;
mod strings;
mod survey;
mod text;
mod validate;

pub use error::{Error, ErrorKind};
pub use ir::Schema;
pub use options::{
    AnyValue, Caps, Escapes, Formats, IntegerSpelling, OpenObjects, Options, ParseOptions,
    PropertyOrder, Recursion, Rounded, Settings, Whitespace,
};
pub use parse::{Draft, parse, parse_str, parse_str_with, parse_with};
pub use print::to_regex;
