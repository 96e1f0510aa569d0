#![doc = include_str!("../README.md")]

mod automaton;
mod compiled;
mod description;
mod error;
mod options;

pub use crate::automaton::Automaton;
pub use crate::compiled::{Constraint, Size};
pub use crate::description::{Description, Response};
pub use crate::error::Error;
pub use crate::options::{GrammarOptions, SchemaOptions, TagOptions, one_of};
