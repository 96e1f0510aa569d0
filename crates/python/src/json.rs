//! Values between Python and `serde_json`.

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use serde_json::{Number, Value};

use crate::error::of_kind;

/// The JSON text of a Python value: a `str` is JSON already, anything else is written by
/// Python's own `json` module, so that it means what it means there.
pub(crate) fn text_of(value: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(text.to_str()?.to_owned());
    }
    dumps(value)
}

/// A Python value as JSON, by way of `json.dumps`.
pub(crate) fn value_of(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    parse(&dumps(value)?, "the value")
}

/// Reads a JSON text.
pub(crate) fn parse(text: &str, what: &str) -> PyResult<Value> {
    serde_json::from_str(text)
        .map_err(|error| of_kind("invalid", format!("{what} is no JSON: {error}")))
}

fn dumps(value: &Bound<'_, PyAny>) -> PyResult<String> {
    let arguments = PyDict::new(value.py());
    arguments.set_item("ensure_ascii", false)?;
    let dumps = value.py().import("json")?.getattr("dumps")?;
    dumps.call((value,), Some(&arguments))?.extract()
}

/// A JSON value as Python objects. It nests no deeper than what `serde_json` reads.
pub(crate) fn to_python(py: Python<'_>, value: &Value) -> PyResult<Py<PyAny>> {
    match value {
        Value::Null => Ok(py.None()),
        Value::Bool(value) => value.into_py_any(py),
        Value::Number(number) => number_to_python(py, number),
        Value::String(text) => text.into_py_any(py),
        Value::Array(items) => {
            let items: PyResult<Vec<_>> = items.iter().map(|item| to_python(py, item)).collect();
            PyList::new(py, items?)?.into_py_any(py)
        }
        Value::Object(members) => {
            let dict = PyDict::new(py);
            for (name, value) in members {
                dict.set_item(name, to_python(py, value)?)?;
            }
            dict.into_py_any(py)
        }
    }
}

fn number_to_python(py: Python<'_>, number: &Number) -> PyResult<Py<PyAny>> {
    if let Some(integer) = number.as_i64() {
        integer.into_py_any(py)
    } else if let Some(integer) = number.as_u64() {
        integer.into_py_any(py)
    } else {
        number.as_f64().unwrap_or(f64::NAN).into_py_any(py)
    }
}
