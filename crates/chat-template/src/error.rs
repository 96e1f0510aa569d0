//! Errors of templates: for example, of `{% if %}`, with the line that it stands in.

use std::fmt;

use json_tree::excerpt::cut;

/// Why a chat could not be written out.
///
/// One pointer wide. [`Error::kind`] says what a caller can act on; the
/// message says where (a file, a line of the template) and what to do.
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
/// use chat_template::{ChatTemplate, ErrorKind};
///
/// let error = ChatTemplate::new("{% if %}").unwrap_err();
/// assert_eq!((error.kind(), error.line()), (ErrorKind::Syntax, Some(1)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file could not be read or written; the message names it.
    Io,
    /// A configuration file is malformed, or a template's name is no file name.
    Config,
    /// The chat is empty or malformed, there is no template for it, or nothing
    /// in it to continue.
    Chat,
    /// The template is malformed; the message says in which line.
    Syntax,
    /// The template did what its language does not allow, with this chat.
    Failed,
    /// The template refused the chat; [`Error::said`] is what it said.
    Raised,
    /// The template, or the chat, needs more than its [`Limits`](crate::Limits)
    /// allow.
    Limit,
}

/// The longest message, in bytes: the middle of a longer one is left out, because an error may
/// quote a whole template or text.
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

    /// The same in a line of a template.
    pub(crate) fn at_line(mut self, line: Option<usize>) -> Self {
        self.0.line = line;
        self
    }

    /// The same with what a template said.
    pub(crate) fn saying(mut self, said: String) -> Self {
        self.0.said = Some(said);
        self
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The line of the template, from 1, where that is known.
    pub fn line(&self) -> Option<usize> {
        self.0.line
    }

    /// Returns the template's own message with which it refused the chat, word for word.
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
