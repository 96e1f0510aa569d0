#![doc = include_str!("../README.md")]

pub mod budget;
pub mod decimal;
mod error;
pub mod ir;
pub mod language;
pub mod ledger;
pub mod normal;
pub mod options;
pub mod read;
mod settings;
mod text_options;
pub mod validate;
pub mod values;

pub use crate::error::{Error, ErrorKind, in_words_of};
pub use crate::ir::Schema;
pub use crate::read::documents::{Documents, file_uri};
pub use crate::read::parse_options::{ParseOptions, Rounded, Settings};
pub use crate::read::schema::{parse_str_with, parse_with};
