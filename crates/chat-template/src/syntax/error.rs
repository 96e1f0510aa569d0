//! Errors of templates that cannot be read: for example, `{{ name` has no end, in line 1.

/// Why a template cannot be read.
#[derive(Debug)]
pub(crate) struct SyntaxError {
    pub(crate) line: usize,
    pub(crate) message: String,
}

impl SyntaxError {
    #[cold]
    pub(super) fn new(line: usize, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { line, message }
    }
}
