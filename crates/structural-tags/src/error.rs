//! Errors of tags: for example, of a marker that is empty.

use std::fmt;

use json_tree::excerpt::cut;

/// Why tags, a response format or a structural tag cannot be a constraint.
///
/// One pointer wide. [`Error::kind`] says what a caller can act on; the
/// message says what is wrong, and where.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    message: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// Returns the coarse kind of error.
///
/// ```
/// use structural_tags::{ErrorKind, StructuralTag};
///
/// let error = StructuralTag::from_json(r#"{"type": "structural_tag", "format": {"type": "song"}}"#).unwrap_err();
/// assert!(error.to_string().contains("song"));
/// assert_eq!(error.kind(), ErrorKind::Constraint);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The constraint could not be built.
    Constraint,
    /// A tool cannot be offered to a model; the message says why.
    Tool,
    /// A parameter is out of its range; the message names it.
    InvalidParameter,
}

/// The longest message, in bytes, because it may quote a schema of any length.
const MAX_MESSAGE: usize = 2_000;

impl Error {
    /// A message is cut at [`MAX_MESSAGE`], whatever of somebody's input it quotes.
    #[cold]
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let message = cut(message.into(), MAX_MESSAGE).into_owned();
        Error(Box::new(Inner {
            kind,
            message,
            source: None,
        }))
    }

    #[cold]
    pub(crate) fn with_source(
        kind: ErrorKind,
        message: impl Into<String>,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        let mut error = Error::new(kind, message);
        error.0.source = Some(source.into());
        error
    }

    /// Returns the coarse kind of error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Takes out what the error came from: for whoever wraps this error in one of their own.
    pub fn into_source(self) -> Option<Box<dyn std::error::Error + Send + Sync>> {
        self.0.source
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.0.kind)
            .field("message", &self.0.message)
            .field("source", &self.0.source)
            .finish()
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let source = self.0.source.as_ref()?;
        Some(source.as_ref())
    }
}

impl From<fsm_index::Error> for Error {
    #[cold]
    fn from(error: fsm_index::Error) -> Self {
        Error::with_source(ErrorKind::Constraint, error.to_string(), error)
    }
}

/// Returns the error of what stands at a place, by its JSON Pointer; an empty one says nothing.
#[cold]
pub(super) fn placed(place: &str, what: String) -> Error {
    constraint_error(match place {
        "" => what,
        place => format!("the structural tag at {place:?}: {what}"),
    })
}

/// An error of a constraint that could not be built.
#[cold]
pub(super) fn constraint_error(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Constraint, message)
}
