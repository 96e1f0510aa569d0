//! Structured generation: JSON Schema in, constrained decoding with a model, a parsed message out.

pub use fsm_index;
pub use response_parser;
pub use schema_regex;

#[cfg(feature = "models")]
pub mod chat;
#[cfg(feature = "models")]
pub mod constraint;
#[cfg(feature = "embedded")]
pub mod embedded;
#[cfg(feature = "models")]
mod error;
#[cfg(feature = "models")]
pub mod generate;
#[cfg(feature = "models")]
pub mod model;
#[cfg(feature = "models")]
pub mod sampling;
#[cfg(feature = "models")]
pub mod tokenizer;

#[cfg(feature = "models")]
pub use error::{Error, ErrorKind};
