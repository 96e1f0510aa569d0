//! Errors of grammars: for example, a name that is not defined, with its line and column.

use std::fmt;

/// Why a grammar cannot be a constraint.
///
/// One pointer wide. [`Error::kind`] says what a caller can act on; the message says what is
/// wrong and what to write instead, and [`Error::line`], [`Error::column`] and
/// [`Error::rule`] say where.
///
/// ```
/// use grammar::Grammar;
///
/// let error = Grammar::from_gbnf("root ::= a\nb ::= \"x\"").unwrap_err();
/// assert_eq!(error.line(), 1);
/// assert!(error.to_string().contains('a'));
/// ```
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    message: String,
    line: usize,
    column: usize,
    rule: Option<String>,
}

/// A coarse kind of error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The text is not a grammar of its dialect.
    Syntax,
    /// A name is not defined, is defined twice, or refers to itself where it may not.
    Name,
    /// The grammar is well formed and uses something that is not done here; the message
    /// names it.
    Unsupported,
    /// No text at all is in the language, or under greedy lexing none could be finished.
    EmptyLanguage,
    /// A limit of the [`Config`](crate::Config) was reached; the message names it.
    LimitExceeded,
}

/// The longest message, in bytes, because a grammar that it quotes may have any length.
const MAX_MESSAGE: usize = 1_000;

impl Error {
    #[cold]
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        let mut message = message.into().replace(['\n', '\r'], " ");
        if message.len() > MAX_MESSAGE {
            message.truncate(message.floor_char_boundary(MAX_MESSAGE));
            message.push_str(" ..");
        }
        Error(Box::new(Inner {
            kind,
            message,
            line: 0,
            column: 0,
            rule: None,
        }))
    }

    #[cold]
    pub(crate) fn limit(name: &str, unit: &str, limit: usize) -> Error {
        let message = format!("the grammar needs more than {limit} {unit} (limit `{name}`)");
        Error::new(ErrorKind::LimitExceeded, message)
    }

    /// Says where in `text` it is, unless that is known already.
    pub(crate) fn at(mut self, text: &str, offset: usize) -> Error {
        if self.0.line == 0 {
            let before = &text[..text.floor_char_boundary(offset.min(text.len()))];
            let begin = before.rfind('\n').map_or(0, |newline| newline + 1);
            self.0.line = before.matches('\n').count() + 1;
            self.0.column = before[begin..].chars().count() + 1;
        }
        self
    }

    /// Says in which rule it is, unless that is known already.
    pub(crate) fn in_rule(mut self, rule: &str) -> Error {
        if self.0.rule.is_none() && !rule.is_empty() {
            self.0.rule = Some(rule.chars().take(100).collect());
        }
        self
    }

    /// Returns the coarse kind of error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The line of the grammar, from 1; 0 where the whole is meant.
    pub fn line(&self) -> usize {
        self.0.line
    }

    /// The column in characters, from 1; 0 where the whole is meant.
    pub fn column(&self) -> usize {
        self.0.column
    }

    /// The rule or terminal in which it is, if in one.
    pub fn rule(&self) -> Option<&str> {
        self.0.rule.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.line != 0 {
            write!(f, "line {}, column {}: ", self.0.line, self.0.column)?;
        }
        if let Some(rule) = &self.0.rule {
            write!(f, "in `{rule}`: ")?;
        }
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)
    }
}

impl std::error::Error for Error {}
