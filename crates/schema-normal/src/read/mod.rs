//! From the text of a schema to its tree: keywords, references, exact numbers. For example,
//! `{"$ref": "#/$defs/a"}` is a node that refers to the node of `/$defs/a`.

mod annotations;
mod conditions;
mod exact_numbers;
mod here;
mod items;
mod members;
mod reader;
pub mod references;
mod scalars;
pub mod schema;
pub mod survey;
