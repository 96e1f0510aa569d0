//! JMESPath, with the answers of the Python implementation (jmespath.py 1.1).
//!
//! Written here because the `jmespath` crate cannot give them: its objects are sorted by key
//! (`*`, `keys`, `values` and multi-select follow insertion order in Python), its numbers are
//! `serde_json`'s (no integers of any size, no NaN), its strings cannot hold lone
//! surrogates, and it rejects backtick literals that are not JSON where Python falls back to
//! a string.
//!
//! Grammar and functions: the JMESPath specification, <https://jmespath.org/specification.html>.
//!
//! For example, `{name: function.name}` makes an object of a part of a call.

mod error;
mod eval;
mod functions;
mod lexer;
mod parser;
#[cfg(test)]
mod tests;

use crate::value::Value;

pub(crate) use error::JmesError;
pub(crate) use eval::MAX_NODES;
pub(crate) use parser::MAX_NESTING;

/// A compiled expression.
#[derive(Debug)]
pub(crate) struct Expression {
    root: parser::Expr,
}

impl Expression {
    pub(crate) fn new(text: &str) -> Result<Expression, JmesError> {
        Ok(Expression {
            root: parser::parse(text)?,
        })
    }

    /// The result for `value`.
    pub(crate) fn search<'t>(&self, value: &Value<'t>) -> Result<Value<'t>, JmesError> {
        eval::search(&self.root, value)
    }
}
