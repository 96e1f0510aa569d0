//! The error of this crate: that of the crate that refused, or what is wrong with a description.
//!
//! For example, `{"kind": "regex", "pattern": "("}` is an [`Error::Index`], and
//! `{"kind": "regex"}` an [`Error::Description`].

use std::fmt;
use std::path::PathBuf;

/// A constraint that cannot be compiled. The message of what a crate refused is that crate's own.
///
/// ```
/// use constraint::{Description, Error};
///
/// let description = Description::Choice { texts: Vec::new() };
/// assert!(matches!(description.compile(), Err(Error::Description(why)) if why.contains("at least one")));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A description does not say what its kind needs.
    Description(String),
    /// An option has a value that it cannot have.
    Option(String),
    /// A schema is refused.
    Schema(schema_regex::Error),
    /// A regular expression or a saved index is refused, or an automaton and a vocabulary do not
    /// fit together.
    Index(fsm_index::Error),
    /// A file is no saved index for the vocabulary.
    Saved(PathBuf, fsm_index::Error),
    /// A grammar is refused.
    Grammar(grammar::Error),
    /// A structural tag or a response format is refused.
    Tags(structural_tags::Error),
    /// A response template is refused.
    Response(response_parser::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Description(why) | Error::Option(why) => f.write_str(why),
            Error::Schema(error) => error.fmt(f),
            Error::Index(error) => error.fmt(f),
            Error::Saved(file, error) => write!(f, "{}: {error}", file.display()),
            Error::Grammar(error) => error.fmt(f),
            Error::Tags(error) => error.fmt(f),
            Error::Response(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Description(_) | Error::Option(_) => None,
            Error::Schema(error) => error.source(),
            Error::Index(error) | Error::Saved(_, error) => error.source(),
            Error::Grammar(error) => error.source(),
            Error::Tags(error) => error.source(),
            Error::Response(error) => error.source(),
        }
    }
}

impl From<schema_regex::Error> for Error {
    fn from(error: schema_regex::Error) -> Error {
        Error::Schema(error)
    }
}

impl From<fsm_index::Error> for Error {
    fn from(error: fsm_index::Error) -> Error {
        Error::Index(error)
    }
}

impl From<grammar::Error> for Error {
    fn from(error: grammar::Error) -> Error {
        Error::Grammar(error)
    }
}

impl From<structural_tags::Error> for Error {
    fn from(error: structural_tags::Error) -> Error {
        Error::Tags(error)
    }
}

impl From<response_parser::Error> for Error {
    fn from(error: response_parser::Error) -> Error {
        Error::Response(error)
    }
}
