//! The one error type of the crate.
//!
//! For example, the error `at #/properties/a/type: ..` has the pointer `/properties/a/type`.

use std::fmt;

use json_tree::excerpt::cut;

/// Why a schema was not turned into a regular expression.
///
/// The message is one line: what was found, where (a JSON Pointer into the
/// schema), and what to do about it. [`Error::kind`] is for code that acts on
/// the cause.
///
/// ```
/// use schema_regex::{ErrorKind, parse};
/// use serde_json::json;
///
/// let error = parse(&json!({"properties": {"a": {"type": "word"}}})).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Invalid);
/// assert_eq!((error.pointer(), error.keyword()), ("/properties/a/type", Some("type")));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Inner>);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    kind: ErrorKind,
    pointer: String,
    keyword: Option<String>,
    message: String,
}

/// The cause of an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The schema is not one: a keyword has a value of the wrong type, a
    /// reference points nowhere, a type has an unknown name.
    Invalid,
    /// A keyword, or a combination of keywords, that this crate cannot enforce
    /// exactly. Nothing is dropped in silence: the whole schema is refused.
    Refused,
    /// The schema is recursive, or leaves a value unrestricted, and the options
    /// forbid to unroll it.
    Recursive,
    /// A chain of references comes back to itself without descending into the
    /// value, so it constrains nothing.
    Cyclic,
    /// No value satisfies the schema (or none within the unrolling depth).
    Unsatisfiable,
    /// The regular expression is longer than `Options::max_regex_bytes`.
    TooLong,
    /// The schema has more subschemas than `ParseOptions::max_nodes`.
    TooManyNodes,
    /// The schema is nested more deeply than `Options::max_depth`.
    TooDeep,
    /// At one location, distributing `anyOf`, `oneOf` and the like gives more
    /// alternatives than `Options::max_alternatives`.
    TooManyAlternatives,
    /// The compilation took more steps than `Options::max_steps`.
    TooManySteps,
    /// An option has a value that cannot be used, such as a custom whitespace
    /// pattern that is not a regular expression.
    BadOption,
}

/// Longer messages, and longer pointers where they are shown, are cut, in bytes: schemas quote
/// themselves in them, and one may hold a name of a megabyte.
const MAX_SHOWN: usize = 2_000;

impl Error {
    /// Returns an error at a JSON Pointer, about no keyword.
    #[cold]
    pub fn new(kind: ErrorKind, pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Error(Box::new(Inner {
            kind,
            pointer: pointer.into(),
            keyword: None,
            message: cut(message.into(), MAX_SHOWN).into_owned(),
        }))
    }

    /// An error about one keyword: its name is appended to the pointer of the
    /// subschema that holds it.
    #[cold]
    pub fn at(
        kind: ErrorKind,
        node: impl fmt::Display,
        keyword: &str,
        message: impl Into<String>,
    ) -> Self {
        let mut error = Error::new(
            kind,
            format!("{node}/{}", json_tree::pointer::escape(keyword)),
            message,
        );
        error.0.keyword = Some(keyword.to_owned());
        error
    }

    /// Another error about the same place.
    #[cold]
    pub fn instead(mut self, kind: ErrorKind, message: String) -> Self {
        self.0.kind = kind;
        self.0.message = cut(message, MAX_SHOWN).into_owned();
        self
    }

    /// The cause, for code that acts on it.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the place in the schema: a JSON Pointer (RFC 6901), empty for the root.
    pub fn pointer(&self) -> &str {
        &self.0.pointer
    }

    /// The keyword at fault, where there is one.
    pub fn keyword(&self) -> Option<&str> {
        self.0.keyword.as_deref()
    }

    /// Returns the fault, without the location.
    pub fn message(&self) -> &str {
        &self.0.message
    }
}

/// A message in which an option has the name that another door gives it: the flag of a program, the argument of
/// a function in another language.
///
/// `switch` is asked with the option's name, `max_steps` for `Options::max_steps`. Linear in the message.
///
/// ```
/// use schema_regex::{Options, in_words_of, parse, to_regex};
/// use serde_json::json;
///
/// let many = parse(&json!({"anyOf": [{"const": "a"}, {"const": "b"}]}))?;
/// let error = to_regex(&many, &Options::default().with_max_alternatives(1)).unwrap_err();
/// assert!(error.to_string().contains("raise Options::max_alternatives"));
/// let flag = |option: &str| format!("`--{}`", option.replace('_', "-"));
/// assert!(in_words_of(&error.to_string(), flag).contains("raise `--max-alternatives`"));
/// # Ok::<(), schema_regex::Error>(())
/// ```
pub fn in_words_of(message: &str, switch: impl Fn(&str) -> String) -> String {
    /// The text before an option's name, because messages name options as fields of a type.
    const TYPE: &str = "Options::";
    let mut out = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(at) = rest.find(TYPE) {
        let before = &rest[..at];
        let behind = &rest[at + TYPE.len()..];
        let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
        let length = behind.find(|c| !is_name(c)).unwrap_or(behind.len());
        let own = before.strip_suffix("Parse").unwrap_or(before);
        // `IndexOptions::` would be another type.
        if length == 0 || own.ends_with(char::is_alphanumeric) {
            out.push_str(&rest[..at + TYPE.len()]);
            rest = behind;
            continue;
        }
        out.push_str(own);
        out.push_str(&switch(&behind[..length]));
        rest = &behind[length..];
    }
    out.push_str(rest);
    out
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pointer = &self.0.pointer;
        let shown = cut(pointer, MAX_SHOWN);
        write!(f, "at #{shown}: {}", self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({:?}, {self})", self.0.kind)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    /// One was a megabyte long.
    #[test]
    fn messages_are_cut_where_they_are_no_longer_read() {
        let long = "é".repeat(500_000);
        let error = Error::at(ErrorKind::Refused, format!("/{long}"), "type", long.clone());
        assert!(error.to_string().len() < 3 * MAX_SHOWN);
        assert!(error.message().contains(" .. ") && error.to_string().contains(" .. "));
        assert_eq!(error.pointer().len(), long.len() + 6);
    }
}
