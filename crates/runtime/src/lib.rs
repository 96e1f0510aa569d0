#![cfg_attr(feature = "embedded", doc = include_str!("../README.md"))]
#![cfg_attr(
    not(feature = "embedded"),
    doc = "Structured generation: JSON Schema in, constrained decoding with a model, a parsed message out."
)]

/// The examples of the repository's first page.
#[cfg(all(doctest, feature = "embedded", feature = "tools"))]
#[doc = include_str!("../../../README.md")]
mod readme {}

/// The cookbook of the repository.
#[cfg(all(doctest, feature = "embedded", feature = "tools", feature = "grammars"))]
#[doc = include_str!("../../../examples/README.md")]
mod cookbook {}

#[cfg(feature = "chat")]
pub use chat_template;
pub use fsm_index;
#[cfg(feature = "grammars")]
pub use grammar;
pub use response_parser;
pub use schema_regex;
#[cfg(feature = "tools")]
pub use schemars;
#[cfg(feature = "models")]
pub use structural_tags as tags;

#[cfg(feature = "tools")]
pub mod agent;
#[cfg(feature = "chat")]
pub mod chat;
#[cfg(feature = "models")]
pub mod constraint;
#[cfg(any(feature = "chat", feature = "tokenizers"))]
mod error;
#[cfg(feature = "models")]
pub mod follow;
#[cfg(feature = "models")]
pub mod generate;
#[cfg(feature = "models")]
pub mod gpu;
#[cfg(feature = "models")]
pub mod model;
#[cfg(feature = "serve")]
mod page;
pub mod prelude;
#[cfg(feature = "tools")]
pub mod providers;
#[cfg(feature = "models")]
pub mod sampling;
#[cfg(feature = "serve")]
pub mod serve;
#[cfg(feature = "tokenizers")]
pub mod tokenizer;
#[cfg(feature = "tools")]
pub mod tools;

#[cfg(any(feature = "chat", feature = "tokenizers"))]
pub use error::{Error, ErrorKind};
#[cfg(all(feature = "models", feature = "tools"))]
pub use generate::answers::Model;
#[cfg(feature = "models")]
pub use gpu::masking;
#[cfg(feature = "tools")]
use json_tree::depth;
#[cfg(feature = "embedded")]
pub use model::embedded;
#[cfg(feature = "hub")]
pub use model::hub;
