//! The families of models, by name and by chat template. For example, `reasoning_marks` gives the
//! two marks around a family's thoughts, or `None`.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use response_parser::Family;
use structural_tags::ResponseFormat;

use crate::error::{IntoPython, of_kind};

fn named(name: &str) -> PyResult<Family> {
    name.parse()
        .map_err(|error| of_kind("bad_option", format!("{error}")))
}

/// The families of models whose way of writing is known, each with a line on it.
#[pyfunction]
pub(crate) fn families(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let all = PyDict::new(py);
    for family in Family::all() {
        all.set_item(family.name(), family.about())?;
    }
    Ok(all)
}

/// The family whose models have this chat template.
#[pyfunction]
pub(crate) fn family_of(chat_template: &str) -> PyResult<&'static str> {
    Family::of_chat_template(chat_template)
        .map(Family::name)
        .map_err(|error| of_kind("unrecognised", error.to_string()))
}

/// The marks around a family's reasoning; none if it has none.
#[pyfunction]
pub(crate) fn reasoning_marks(family: &str) -> PyResult<Option<(String, String)>> {
    let format = ResponseFormat::named(named(family)?).map_err(IntoPython::into_python)?;
    let marks = format.reasoning_markers();
    Ok(marks.map(|(open, close)| (open.trim().to_owned(), close.trim().to_owned())))
}
