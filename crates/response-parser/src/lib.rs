//! Reads a chat model's raw output back into a message, whole or while it streams.
//!
//! - [`Family`]: the families of models whose texts are read without a template of one's own, by name or by the
//!   chat template.
//! - [`ResponseTemplate`]: regions between delimiters, with [`TemplateStream`] for text that
//!   arrives in pieces; the form of Hugging Face transformers 5.23 and 5.24, see [`TemplateRelease`].
//! - [`ResponseSchema`]: the older form, of transformers 5.0 to 5.12.
//! - [`agentscope`]: fenced JSON and code, text between tags.
//! - [`PartialJson`]: the value so far of JSON that is still being written.
//!
//! A *response schema* is a JSON Schema whose nodes also say how their value is found in the
//! text: `x-regex-substitutions`, `x-regex`, `x-regex-iterator`, `x-regex-key-value`, `x-parser`,
//! `x-mapping` and `x-mapping-regex`. It is the form that Hugging Face transformers 5.0 to 5.12
//! reads (in Python), and this crate gives its answers; [`Release`] says which.
//!
//! ```
//! use response_parser::ResponseSchema;
//! use serde_json::json;
//!
//! let schema = ResponseSchema::new(&json!({
//!     "type": "object",
//!     "properties": {
//!         "role": {"const": "assistant"},
//!         "thinking": {"type": "string", "x-regex": r"<think>(.*?)</think>"},
//!         "tool_calls": {
//!             "x-regex-iterator": r"<tool_call>(.*?)</tool_call>",
//!             "type": "array",
//!             "items": {"x-parser": "json"}
//!         }
//!     }
//! }))?;
//! let message = schema.parse(
//!     r#"<think>Look it up.</think><tool_call>{"name": "find", "arguments": {"q": 1}}</tool_call>"#,
//! )?;
//! assert_eq!(message, json!({
//!     "role": "assistant",
//!     "thinking": "Look it up.",
//!     "tool_calls": [{"name": "find", "arguments": {"q": 1}}]
//! }));
//! # Ok::<(), response_parser::Error>(())
//! ```
//!
//! # Limits
//!
//! Each has its own error; none depends on the clock.
//!
//! | what | limit | kind |
//! |---|---|---|
//! | steps of the backtracking machine for one keyword | 16,777,216 + 64 for each byte of the text | `regex_budget` |
//! | choices it may leave open | 8,388,608 (16 bytes each) | `regex_budget` |
//! | nesting of groups in a pattern, groups in a pattern | 200, 4,096 | `regex_unsupported` |
//! | length of a pattern, in bytes | 32,768 | `regex_unsupported` |
//! | nesting of schemas and templates | 128 | `depth_limit` |
//! | in a stream, steps of the machines for one delimiter | 16,777,216 + 64 for each byte of the text | `regex_budget` |
//! | in a whole text read by a template, bytes that its searches look at | 1 GiB + 64 for each byte of the text | `regex_budget` |
//! | in a text of a family, calls that turn out to be none and are read again as something else | 16 | (the rest is read as it stands) |
//! | what a mark of a family's names, and white space within a mark, in bytes | 256, 64 | (it is no mark) |
//! | nesting of a value without quotes around its keys | 128 | `call_invalid` |
//! | parts of an argument's schema that are looked into for its types | 256 | (types found so far count) |
//! | zero-width opening and closing of a region at one place | one | `no_progress` |
//! | nesting that [`PartialJson`] follows | 128 | (what lies deeper is left out) |
//! | a file of a model's folder | 64 MiB | `model_file` |
//! | nesting of JSON in the text, of constants, of a parsed value, of a dictionary | 512 | `depth_limit` |
//! | nesting of a schema's JSON as a whole | 768 | `depth_limit` |
//! | nesting of a JMESPath expression | 200 | `depth_limit` |
//! | values that one JMESPath evaluation copies | 10,000,000 | `size_limit` |
//! | text after `x-regex-substitutions`, `x-mapping-regex` or JMESPath `join` | 64 MiB | `size_limit` |

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

pub mod agentscope;
mod error;
mod jmes;
mod json;
mod object;
mod partial;
mod pyre;
mod scalar;
mod schema;
mod template;
mod text;
mod value;

pub use error::{Error, ErrorKind};
pub use families::{Family, UnknownFamily, Unrecognised};
pub use partial::{PartialJson, Unfinished};
pub use schema::{Mode, Release, ResponseSchema, ResponseSchemaBuilder};
pub use template::{
    Broken, End, Event, Finished, Language, Names, PartialValue, Piece, Pieces, ResponseTemplate,
    ResponseTemplateBuilder, TemplateRelease, TemplateStream, Turn, family_of_model_dir,
};
pub use value::Unrepresentable;
