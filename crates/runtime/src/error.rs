use std::fmt;

/// Why something could not be loaded, sampled or generated.
///
/// One pointer wide. [`Error::kind`] says what a caller can act on; the
/// message says where (a file, a key, a tensor) and what to do.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    message: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// What went wrong, coarsely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file could not be read; the message names it.
    Io,
    /// A configuration file is malformed, lacks a value, or asks for something
    /// that is not implemented (an unknown architecture, say).
    Config,
    /// The weights lack a tensor or a shard, or a tensor has another shape.
    Weights,
    /// The tokenizer file cannot be used, or text cannot be encoded with it.
    Tokenizer,
    /// The prompt, or what is asked for, does not fit the model's context.
    ContextLength,
    /// The tokenizer, the constraint and the model disagree on the vocabulary.
    VocabularyMismatch,
    /// The constraint refused a token, or could not be built.
    Constraint,
    /// No token can be drawn: all are masked, or none has a finite logit.
    Sampling,
    /// A sampling parameter is out of its range; the message names it.
    InvalidParameter,
    /// The model's computation failed.
    Model,
    /// A model could not be downloaded; the message says whether the network
    /// or the name is the matter.
    Download,
}

impl Error {
    #[cold]
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error(Box::new(Inner {
            kind,
            message: message.into(),
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

    /// What went wrong, coarsely.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
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

#[cfg(feature = "models")]
impl From<candle_core::Error> for Error {
    #[cold]
    fn from(error: candle_core::Error) -> Self {
        let message = format!("the model's computation failed: {}", first_line(&error));
        Error::with_source(ErrorKind::Model, message, error)
    }
}

impl From<fsm_index::Error> for Error {
    #[cold]
    fn from(error: fsm_index::Error) -> Self {
        Error::with_source(ErrorKind::Constraint, error.to_string(), error)
    }
}

/// candle's messages may carry a backtrace; one line says what happened.
#[cfg(feature = "models")]
pub(crate) fn first_line(error: &dyn fmt::Display) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or_default().to_owned()
}
