//! The compiled part of the Python package `tokenmold`: what `python/tokenmold` is written over.
//!
//! Classes are thin: each holds a value of one of the Rust crates, and says its errors as
//! `TokenmoldError`. `buffers.rs` is the only place that touches memory which Python lends.
//!
//! For example, `Compiler` and `Matcher` are classes here, and what a server calls is written in
//! Python over them.

mod automaton;
mod buffers;
mod chat;
mod compiler;
mod constraint;
mod error;
mod family;
mod json;
mod logits;
mod matcher;
mod pool;
mod regex_index;
mod response;
mod schema_text;
mod text_parser;
mod vocabulary;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _tokenmold {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::automaton::{Automaton, Trace};
    #[pymodule_export]
    use crate::chat::ChatTemplate;
    #[pymodule_export]
    use crate::compiler::Compiler;
    #[pymodule_export]
    use crate::constraint::Constraint;
    #[pymodule_export]
    use crate::family::{families, family_of, reasoning_marks};
    #[pymodule_export]
    use crate::logits::apply_mask;
    #[pymodule_export]
    use crate::matcher::{Explanation, Matcher, fill_batch};
    #[pymodule_export]
    use crate::pool::available_threads;
    #[pymodule_export]
    use crate::regex_index::RegexIndex;
    #[pymodule_export]
    use crate::response::{ResponseSchema, ResponseStream, ResponseTemplate};
    #[pymodule_export]
    use crate::schema_text::json_schema_regex;
    #[pymodule_export]
    use crate::text_parser::TextParser;
    #[pymodule_export]
    use crate::vocabulary::{Vocabulary, vocabulary_from_state};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::error::add(module)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
