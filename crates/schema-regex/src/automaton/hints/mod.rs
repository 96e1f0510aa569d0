//! What makes masks fast: descriptions, next bytes, readers of text.

pub(crate) mod describe;
pub(crate) mod next_bytes;
pub(crate) mod text_reader;
pub(crate) mod without_characters;
