//! From the text of a schema to its tree: keywords, references, exact numbers.

pub(crate) mod exact_numbers;
pub(crate) mod json_text;
pub(crate) mod references;
pub(crate) mod schema;
pub(crate) mod survey;
