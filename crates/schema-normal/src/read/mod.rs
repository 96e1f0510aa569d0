//! From the text of a schema to its tree: keywords, references, exact numbers. For example,
//! `{"$ref": "#/$defs/a"}` is a node that refers to the node of `/$defs/a`.

mod annotations;
mod conditions;
pub(crate) mod documents;
mod draft;
mod exact_numbers;
mod here;
mod items;
mod json_text;
mod members;
pub(crate) mod parse_options;
mod reader;
pub mod references;
mod scalars;
pub mod schema;
pub mod survey;
mod uri;
