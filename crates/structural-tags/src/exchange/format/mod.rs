//! The formats of a structural tag, as they are read from JSON.
//!
//! For example, `{"type": "const_string", "value": "ab"}` is the text `ab`.

mod kinds;
pub(super) mod limits;
mod read;
pub(super) mod schema;

pub(super) use kinds::{
    End, Few, Format, JsonFormat, Mark, Style, TagFormat, TokenName, TokenRef, at, malformed,
    refused, rewritten,
};
pub(super) use read::{format, legacy};
