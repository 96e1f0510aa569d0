//! From the text of a schema to its tree: keywords, references, exact numbers.

mod annotations;
mod containers;
pub(crate) mod exact_numbers;
mod here;
pub(crate) mod references;
mod scalars;
pub(crate) mod schema;
pub(crate) mod survey;
