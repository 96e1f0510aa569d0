//! Errors of expressions, indexes and guides: for example, of `(a`, with the place of its end.

use std::borrow::Cow;
use std::fmt;

/// Why something could not be built, read or advanced.
///
/// One pointer wide. [`Error::kind`] says what a caller can act on; the
/// message says where (a byte offset, a token, a file position) and what to do.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    message: String,
    offset: Option<usize>,
}

/// The kind of an error.
///
/// ```
/// use fsm_index::{Dfa, ErrorKind};
///
/// let error = Dfa::new("(a").unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Syntax);
/// assert_eq!(error.offset(), Some(0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The regular expression is not well formed. [`Error::offset`] is the
    /// byte offset in the pattern.
    Syntax,
    /// The regular expression is well formed and uses something that a byte
    /// automaton does not do (bytes that are not text, say).
    Unsupported,
    /// The regular expression matches nothing at all.
    EmptyLanguage,
    /// A limit of the configuration was reached; the message names it.
    LimitExceeded,
    /// The computation was called off by the flag in its
    /// [`Budget`](crate::Budget).
    Cancelled,
    /// The tokenizer file is not of a kind that this crate reads.
    Vocabulary,
    /// The vocabulary has no tokens for bytes that the language needs.
    CannotSpell,
    /// The token may not come next. [`Error::offset`] is the offset of the
    /// refused byte within the token.
    TokenRefused,
    /// The guide has finished, or was asked to go back further than it came.
    GuideState,
    /// The shortest text takes more tokens than may come. The message names the number that
    /// would do.
    TokenBudget,
    /// A caller's buffer is too small.
    BufferSize,
    /// The file system refused a file.
    Io,
    /// The bytes are not a saved index, or one of another version, machine
    /// or vocabulary, or a damaged one.
    BadIndexFile,
}

/// The longest message, in bytes: the middle of a longer one is left out, because an error may
/// quote a whole pattern.
const MAX_MESSAGE: usize = 1_000;

/// The beginning and the end of a text of more than `most` bytes.
fn excerpt_of(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    let head = text.floor_char_boundary(most * 2 / 3);
    let tail = text.ceil_char_boundary(text.len() - most / 4);
    Cow::Owned(format!("{} .. {}", &text[..head], &text[tail..]))
}

impl Error {
    /// A message is cut at [`MAX_MESSAGE`], whatever of its input it quotes.
    #[cold]
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let mut message = message.into();
        if message.len() > MAX_MESSAGE {
            message = excerpt_of(&message, MAX_MESSAGE).into_owned();
        }
        Error(Box::new(Inner {
            kind,
            message,
            offset: None,
        }))
    }

    #[cold]
    pub(crate) fn at(kind: ErrorKind, offset: usize, message: impl Into<String>) -> Self {
        let mut error = Error::new(kind, message);
        error.0.offset = Some(offset);
        error
    }

    #[cold]
    #[cfg(feature = "regex")]
    pub(crate) fn limit(name: &str, unit: &str, limit: usize) -> Self {
        Error::new(
            ErrorKind::LimitExceeded,
            format!("limit `{name}` of {limit} {unit} exceeded; raise it or simplify the pattern"),
        )
    }

    /// Tokens spell no text because bytes are missing; `so` says what follows from that.
    #[cold]
    pub(crate) fn cannot_spell(missing: &[u8], so: &str) -> Self {
        let mut names: Vec<String> = missing
            .iter()
            .take(16)
            .map(|&b| match b {
                b' '..=b'~' => format!("`{}`", b as char),
                _ => format!("0x{b:02X}"),
            })
            .collect();
        if missing.len() > names.len() {
            names.push(format!("and {} more", missing.len() - names.len()));
        }
        Error::new(
            ErrorKind::CannotSpell,
            format!(
                "the vocabulary has no tokens for the bytes {}, {so}",
                names.join(", ")
            ),
        )
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The byte offset that the error speaks of, where there is one: in the
    /// pattern for [`ErrorKind::Syntax`] and [`ErrorKind::Unsupported`], in
    /// the token for [`ErrorKind::TokenRefused`].
    pub fn offset(&self) -> Option<usize> {
        self.0.offset
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
            .field("offset", &self.0.offset)
            .field("message", &self.0.message)
            .finish()
    }
}

impl std::error::Error for Error {}
