#![doc = include_str!("../README.md")]

mod automaton;
mod captures;
mod compile;
mod completion;
mod config;
mod dialect;
mod dialects;
mod error;
mod explain;
mod hints;
mod machine;
mod patterns;
mod probe;
mod proof;
mod run;
mod terminals;

pub use automaton::{Grammar, GrammarAutomaton, Scratch, State};
pub use captures::Capture;
pub use config::Config;
pub use dialect::Dialect;
pub use error::{Error, ErrorKind};
