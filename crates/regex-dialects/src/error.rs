//! The error about a pattern. For example, `[a` is refused at offset 0, where the class begins.

/// The reason why a pattern cannot be used, with the byte offset in the pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The place in the pattern, in bytes.
    pub offset: usize,
    /// The reason, as words of a sentence.
    pub reason: String,
}

impl Error {
    /// An error at a place.
    pub fn new(offset: usize, reason: impl Into<String>) -> Error {
        Error {
            offset,
            reason: reason.into(),
        }
    }
}
