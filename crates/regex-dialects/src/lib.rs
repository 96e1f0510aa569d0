#![doc = include_str!("../README.md")]

mod ecma;
mod error;
mod looks;
mod native;
mod properties;
mod scanner;

pub use ecma::{Answer, Dialect};
pub use error::Error;
pub use looks::look_of;
pub use native::{Classes, native};

/// Returns the reason for which `regex-syntax` does not read a pattern.
///
/// ```
/// let error = regex_syntax::parse("(a").unwrap_err();
/// assert_eq!(regex_dialects::reason(&error), "unclosed group");
/// ```
#[must_use]
pub fn reason(error: &regex_syntax::Error) -> String {
    match error {
        regex_syntax::Error::Parse(error) => error.kind().to_string(),
        regex_syntax::Error::Translate(error) => error.kind().to_string(),
        _ => "it cannot be read".to_owned(),
    }
}
