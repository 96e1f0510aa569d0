//! Values between Python and `serde_json`. For example, `{"a": 10**30}` keeps all digits on both
//! ways.

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyFloat, PyInt, PyList, PyString};
use serde_json::{Map, Number, Value};

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
    with_objects(py, value, &|_| Ok(None))
}

/// The same of a message in which `response-parser` has tagged what JSON cannot hold
/// (`Unrepresentable::Tag`).
pub(crate) fn tagged_to_python(py: Python<'_>, value: &Value) -> PyResult<Py<PyAny>> {
    with_objects(py, value, &|members| {
        if members.len() != 1 {
            return Ok(None);
        }
        match members.iter().next() {
            Some((tag, Value::String(digits))) if tag == "$bigint" && is_integer(digits) => {
                let integer = py.get_type::<PyInt>().call1((digits,))?;
                Ok(Some(integer.unbind()))
            }
            Some((tag, Value::String(name)))
                if tag == "$float" && matches!(&**name, "NaN" | "Infinity" | "-Infinity") =>
            {
                let float = py.get_type::<PyFloat>().call1((name,))?;
                Ok(Some(float.unbind()))
            }
            Some((tag, Value::Array(units))) if tag == "$utf16" => {
                let units = units
                    .iter()
                    .filter_map(|unit| u16::try_from(unit.as_u64()?).ok());
                let bytes: Vec<u8> = units.flat_map(u16::to_le_bytes).collect();
                let bytes = PyBytes::new(py, &bytes);
                let text = bytes.call_method1("decode", ("utf-16-le", "surrogatepass"))?;
                Ok(Some(text.unbind()))
            }
            _ => Ok(None),
        }
    })
}

/// Tells whether a text is an integer that Python reads: it takes no more than 4,300 digits. A
/// model may have written the tag itself.
fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    (1..=4300).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the Python value of an object that is no dict.
type Special<'s> = &'s dyn Fn(&Map<String, Value>) -> PyResult<Option<Py<PyAny>>>;

fn with_objects(py: Python<'_>, value: &Value, special: Special<'_>) -> PyResult<Py<PyAny>> {
    match value {
        Value::Null => Ok(py.None()),
        Value::Bool(value) => value.into_py_any(py),
        Value::Number(number) => number_to_python(py, number),
        Value::String(text) => text.into_py_any(py),
        Value::Array(items) => {
            let items = items.iter().map(|item| with_objects(py, item, special));
            let items: PyResult<Vec<_>> = items.collect();
            PyList::new(py, items?)?.into_py_any(py)
        }
        Value::Object(members) => {
            if let Some(special) = special(members)? {
                return Ok(special);
            }
            let dict = PyDict::new(py);
            for (name, value) in members {
                dict.set_item(name, with_objects(py, value, special)?)?;
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
