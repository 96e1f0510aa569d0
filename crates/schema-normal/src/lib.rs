#![doc = include_str!("../README.md")]

pub mod budget;
pub mod decimal;
mod documents;
mod draft;
mod error;
pub mod ir;
pub mod json_text;
pub mod language;
pub mod ledger;
pub mod normal;
pub mod options;
pub mod read;
mod settings;
mod text_options;
mod uri;
pub mod validate;
pub mod values;

pub use crate::documents::{Documents, file_uri};
pub use crate::error::{Error, ErrorKind, in_words_of};
pub use crate::ir::Schema;
pub use crate::read::schema::{parse_str_with, parse_with};
