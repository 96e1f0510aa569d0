//! Errors of files, models and devices: for example, of a folder that is not there.

use std::fmt;

use json_tree::excerpt::cut;

/// Why something could not be loaded, sampled or generated.
///
/// One pointer wide. [`Error::kind`] says what a caller can act on; the
/// message says where (a file, a key, a tensor) and what to do.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    message: String,
    line: Option<usize>,
    said: Option<String>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// The kind of an error.
///
/// ```
/// use tokenmold::{ErrorKind, model};
///
/// match model::load("no-such-folder") {
///     Err(error) if error.kind() == ErrorKind::Io => eprintln!("{error}"),
///     other => panic!("{other:?}"),
/// }
/// ```
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
    /// Not even a shortest text that the constraint accepts fits the tokens
    /// that were asked for.
    TokenBudget,
    /// The generated text is not of the type that was asked for.
    Answer,
    /// No token can be drawn: all are masked, or none has a finite logit.
    Sampling,
    /// A sampling parameter is out of its range; the message names it.
    InvalidParameter,
    /// The model's computation failed.
    Model,
    /// A device is not there, this build has no support for it, or it failed.
    Device,
    /// A model could not be downloaded; the message says whether the network
    /// or the name is the matter.
    Download,
    /// A chat cannot be written out: it is empty or malformed, there is no
    /// template for it, or nothing in it to continue.
    Chat,
    /// A tool, or the schema of a structured answer, cannot be offered to a
    /// model; the message says why.
    Tool,
    /// A chat template is malformed; the message says in which line.
    TemplateSyntax,
    /// A chat template did what its language does not allow, with this chat.
    TemplateFailed,
    /// A chat template refused the chat; [`Error::said`] is what it said.
    TemplateRaised,
    /// A chat template, or the chat, needs more than its limits allow.
    TemplateLimit,
}

/// The longest message, in bytes: the middle of a longer one is left out, because an error may
/// quote a whole file.
const MAX_MESSAGE: usize = 2_000;

impl Error {
    /// A message is cut at [`MAX_MESSAGE`], whatever of somebody's input it quotes.
    #[cold]
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let message = cut(message.into(), MAX_MESSAGE).into_owned();
        Error(Box::new(Inner {
            kind,
            message,
            line: None,
            said: None,
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

    /// Returns the kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The line of the chat template, from 1, where that is known.
    pub fn line(&self) -> Option<usize> {
        self.0.line
    }

    /// Returns the message with which a chat template refused the chat, word for word.
    pub fn said(&self) -> Option<&str> {
        self.0.said.as_deref()
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

#[cfg(feature = "chat")]
impl From<chat_template::ErrorKind> for ErrorKind {
    fn from(kind: chat_template::ErrorKind) -> Self {
        use chat_template::ErrorKind as Kind;
        match kind {
            Kind::Io => ErrorKind::Io,
            Kind::Config => ErrorKind::Config,
            Kind::Syntax => ErrorKind::TemplateSyntax,
            Kind::Failed => ErrorKind::TemplateFailed,
            Kind::Raised => ErrorKind::TemplateRaised,
            Kind::Limit => ErrorKind::TemplateLimit,
            _ => ErrorKind::Chat,
        }
    }
}

/// So that kinds of errors of either crate compare.
#[cfg(feature = "chat")]
impl PartialEq<ErrorKind> for chat_template::ErrorKind {
    fn eq(&self, other: &ErrorKind) -> bool {
        ErrorKind::from(*self) == *other
    }
}

#[cfg(feature = "chat")]
impl From<chat_template::Error> for Error {
    #[cold]
    fn from(error: chat_template::Error) -> Self {
        let (line, said) = (error.line(), error.said().map(str::to_owned));
        let mut own = Error::with_source(error.kind().into(), error.to_string(), error);
        (own.0.line, own.0.said) = (line, said);
        own
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

#[cfg(feature = "tokenizers")]
impl From<fsm_index::Error> for Error {
    #[cold]
    fn from(error: fsm_index::Error) -> Self {
        let kind = match error.kind() {
            fsm_index::ErrorKind::TokenBudget => ErrorKind::TokenBudget,
            _ => ErrorKind::Constraint,
        };
        Error::with_source(kind, error.to_string(), error)
    }
}

#[cfg(feature = "models")]
impl From<structural_tags::ErrorKind> for ErrorKind {
    fn from(kind: structural_tags::ErrorKind) -> Self {
        match kind {
            structural_tags::ErrorKind::Tool => ErrorKind::Tool,
            structural_tags::ErrorKind::InvalidParameter => ErrorKind::InvalidParameter,
            _ => ErrorKind::Constraint,
        }
    }
}

/// The kinds of errors of tags compare with the kinds that they become here.
#[cfg(feature = "models")]
impl PartialEq<ErrorKind> for structural_tags::ErrorKind {
    fn eq(&self, other: &ErrorKind) -> bool {
        ErrorKind::from(*self) == *other
    }
}

/// The same kind, the same text and the same source.
#[cfg(feature = "models")]
impl From<structural_tags::Error> for Error {
    #[cold]
    fn from(error: structural_tags::Error) -> Self {
        let (kind, message) = (error.kind().into(), error.to_string());
        match error.into_source() {
            Some(source) => Error::with_source(kind, message, source),
            None => Error::new(kind, message),
        }
    }
}

/// candle's messages may carry a backtrace; one line says what happened.
#[cfg(feature = "models")]
pub(crate) fn first_line(error: &dyn fmt::Display) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or_default().to_owned()
}
