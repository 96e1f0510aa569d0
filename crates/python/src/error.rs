//! `TokenmoldError`: what any crate refuses, as Python sees it. For example, an unsupported keyword
//! has its `keyword` and its `pointer`.

use std::error::Error as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::prelude::*;
use pyo3::{create_exception, exceptions::PyValueError};

create_exception!(
    tokenmold,
    TokenmoldError,
    PyValueError,
    "What Tokenmold refuses, and why; the message says where, and what to do.\n\n\
     `kind` names the cause, `pointer` is the JSON Pointer of the place in a schema, tag or \
     template, `offset` the byte in a text, pattern or token; both are None where there is none."
);

/// The facts that an error has beside its message.
#[derive(Default)]
pub(crate) struct Said {
    pub(crate) kind: String,
    pub(crate) pointer: Option<String>,
    pub(crate) offset: Option<usize>,
}

/// Adds the exception, with what an instance has that says nothing.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let class = module.py().get_type::<TokenmoldError>();
    class.setattr("kind", "")?;
    class.setattr("pointer", module.py().None())?;
    class.setattr("offset", module.py().None())?;
    module.add("TokenmoldError", class)
}

/// The argument that an option of Rust's is in Python.
pub(crate) fn argument(option: &str) -> String {
    format!("`{option}=`")
}

/// The exception with these words.
#[cold]
pub(crate) fn error(message: impl Into<String>, said: Said) -> PyErr {
    // Options have the names of the arguments that they are here.
    let message = schema_regex::in_words_of(&message.into(), argument);
    let error = TokenmoldError::new_err(message);
    Python::attach(|py| {
        let value = error.value(py);
        // An instance of a class that is written here takes any attribute.
        let _ = value.setattr("kind", said.kind);
        let _ = value.setattr("pointer", said.pointer);
        let _ = value.setattr("offset", said.offset);
    });
    error
}

/// The exception of a kind that only this crate has.
#[cold]
pub(crate) fn of_kind(kind: &str, message: impl Into<String>) -> PyErr {
    error(
        message,
        Said {
            kind: kind.to_owned(),
            ..Said::default()
        },
    )
}

/// The name of a variant in `snake_case`.
fn snake(kind: impl std::fmt::Debug) -> String {
    let mut out = String::new();
    for c in format!("{kind:?}").chars() {
        if c.is_ascii_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

/// Errors of the Rust crates that become a `TokenmoldError`.
pub(crate) trait IntoPython {
    fn into_python(self) -> PyErr;
}

impl IntoPython for fsm_index::Error {
    fn into_python(self) -> PyErr {
        let said = Said {
            kind: snake(self.kind()),
            pointer: None,
            offset: self.offset(),
        };
        error(self.to_string(), said)
    }
}

impl IntoPython for constraint::Error {
    fn into_python(self) -> PyErr {
        match self {
            constraint::Error::Description(why) => of_kind("invalid", why),
            constraint::Error::Option(why) => of_kind("bad_option", why),
            constraint::Error::Schema(error) => error.into_python(),
            constraint::Error::Index(error) | constraint::Error::Saved(_, error) => {
                error.into_python()
            }
            constraint::Error::Grammar(error) => error.into_python(),
            constraint::Error::Tags(error) => error.into_python(),
            constraint::Error::Response(error) => error.into_python(),
            other => of_kind("invalid", other.to_string()),
        }
    }
}

impl IntoPython for schema_regex::Error {
    fn into_python(self) -> PyErr {
        error(self.to_string(), said_of_schema(&self))
    }
}

fn said_of_schema(error: &schema_regex::Error) -> Said {
    Said {
        kind: snake(error.kind()),
        pointer: Some(error.pointer().to_owned()),
        offset: None,
    }
}

impl IntoPython for structural_tags::Error {
    fn into_python(self) -> PyErr {
        let source = self.source();
        let said = if let Some(schema) = source.and_then(|s| s.downcast_ref()) {
            said_of_schema(schema)
        } else if let Some(index) = source.and_then(|s| s.downcast_ref::<fsm_index::Error>()) {
            Said {
                kind: snake(index.kind()),
                pointer: None,
                offset: index.offset(),
            }
        } else {
            Said {
                kind: snake(self.kind()),
                ..Said::default()
            }
        };
        error(self.to_string(), said)
    }
}

impl IntoPython for grammar::Error {
    fn into_python(self) -> PyErr {
        let kind = snake(self.kind());
        of_kind(&kind, self.to_string())
    }
}

impl IntoPython for response_parser::Error {
    fn into_python(self) -> PyErr {
        let said = Said {
            kind: self.kind().as_str().to_owned(),
            pointer: Some(self.pointer().to_owned()),
            offset: self.offset(),
        };
        error(self.to_string(), said)
    }
}

impl IntoPython for chat_template::Error {
    fn into_python(self) -> PyErr {
        let kind = snake(self.kind());
        of_kind(&kind, self.to_string())
    }
}

/// Runs work that touches nothing of Python's with the interpreter's lock given up. A panic,
/// which would be a defect of this library, is an error as any other.
pub(crate) fn detached<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, PyErr> + Send,
) -> PyResult<T> {
    py.detach(|| caught(work))
}

/// Runs work of which a panic is an error.
pub(crate) fn caught<T>(work: impl FnOnce() -> Result<T, PyErr>) -> PyResult<T> {
    // Data that the work leaves in disorder is behind a lock, which is poisoned then.
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(done) => done,
        Err(panic) => {
            let said = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
            let said = said.or_else(|| panic.downcast_ref::<String>().cloned());
            let said = said.unwrap_or_else(|| "no message".to_owned());
            let message = format!("a defect of tokenmold, please report it: {said}");
            Err(of_kind("internal", message))
        }
    }
}
