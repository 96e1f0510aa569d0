//! The failures of an expression. For example, `a[` is an [`JmesError::Syntax`].

/// Why an expression cannot be read or applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum JmesError {
    /// The expression does not parse; the byte offset in it.
    Syntax(String, usize),
    /// A function or comparison does not take these values.
    Runtime(String),
    /// The Python implementation fails with an error that is not its own.
    Python(String),
    /// The expression nests deeper than [`MAX_NESTING`](super::MAX_NESTING).
    Nesting,
    /// The result would have more than [`MAX_NODES`](super::MAX_NODES) values.
    Size,
}
