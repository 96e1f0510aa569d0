//! `Constraint`: what a text must be, compiled for a vocabulary. For example, the `kind` of a
//! schema's constraint is `"json_schema"`.

use std::sync::Arc;

use constraint::Description;
use fsm_index::{AfterEnd, IndexConfig, Landing, ProbabilityLimits, TokenId};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};
use schema_regex::ledger::{Entry, Status};
use serde_json::Value;

use crate::error::{IntoPython, detached, of_kind};
use crate::json;
use crate::matcher::Matcher;
use crate::vocabulary::{Vocabulary, token_ids};

/// A constraint that a text must obey, compiled for a vocabulary. Immutable; any number of matchers
/// on any number of threads share it, and the masks that are known.
#[pyclass(frozen, module = "tokenmold")]
pub(crate) struct Constraint {
    pub(crate) compiled: Arc<Compiled>,
}

/// A description with what was compiled of it.
pub(crate) struct Compiled {
    /// The description: JSON, the same for the same constraint.
    description: String,
    kind: String,
    vocabulary: Py<Vocabulary>,
    constraint: constraint::Constraint,
}

/// The first line of a saved constraint, because a later version may write another one.
const MAGIC: &str = "tokenmold constraint 1";

impl Compiled {
    /// Compiles a description, JSON with a `kind`. The interpreter's lock is not needed. Rows of
    /// masks take `max_row_bytes` at most.
    pub(crate) fn new(
        description: Value,
        vocabulary: Py<Vocabulary>,
        max_row_bytes: usize,
    ) -> PyResult<Compiled> {
        let config = IndexConfig {
            max_row_bytes,
            ..IndexConfig::default()
        };
        let kind = description["kind"].as_str().unwrap_or_default().to_owned();
        let text = description.to_string();
        let read: Description = serde_json::from_value(description).map_err(|error| {
            let message = format!("the description of the constraint is damaged: {error}");
            of_kind("invalid", message)
        })?;
        let constraint = read.compile().map_err(IntoPython::into_python)?;
        let constraint = constraint.index(&vocabulary.get().tokens, &config);
        Ok(Compiled {
            description: text,
            kind,
            vocabulary,
            constraint: constraint.map_err(IntoPython::into_python)?,
        })
    }

    /// Keywords that constrain nothing although their writer may think so, a line for each.
    pub(crate) fn notices(&self) -> Vec<String> {
        let line = |entry: &Entry| Some(format!("#{}: {}", entry.pointer, entry.notice()?));
        self.constraint.notices().iter().filter_map(line).collect()
    }

    /// Bytes that it takes, about. It grows as masks are asked for.
    pub(crate) fn memory(&self) -> usize {
        let own = self.description.len();
        own + self.constraint.memory(own)
    }

    pub(crate) fn tokens(&self) -> &fsm_index::Vocabulary {
        &self.vocabulary.get().tokens
    }
}

/// Reads how a text with a budget comes to its end: a word, or a number of tokens.
pub(crate) fn landing_of(given: &Bound<'_, PyAny>) -> PyResult<Landing> {
    if let Ok(tokens) = given.extract::<usize>() {
        return Ok(Landing::Within(tokens));
    }
    let given: String = given.extract()?;
    let known = [("soft", Landing::Soft), ("hard", Landing::Hard)];
    one_of("landing, if no number of tokens,", &given, &known)
}

/// A word that stands for one of several things, or says which there are.
fn one_of<T: Copy>(what: &str, given: &str, known: &[(&str, T)]) -> PyResult<T> {
    constraint::one_of(what, given, known).map_err(IntoPython::into_python)
}

/// An error of a callback, or of the search that calls it.
struct Failed(PyErr);

impl From<fsm_index::Error> for Failed {
    fn from(error: fsm_index::Error) -> Failed {
        Failed(error.into_python())
    }
}

#[pymethods]
impl Constraint {
    /// The constraint that `to_bytes` saved, for the vocabulary that it was compiled for.
    #[staticmethod]
    fn from_bytes(
        py: Python<'_>,
        data: &[u8],
        vocabulary: &Bound<'_, Vocabulary>,
    ) -> PyResult<Constraint> {
        let damaged = || {
            of_kind(
                "bad_file",
                "the bytes are not a saved constraint of this version",
            )
        };
        let text = std::str::from_utf8(data).map_err(|_| damaged())?;
        let (magic, rest) = text.split_once('\n').ok_or_else(damaged)?;
        let (fingerprint, description) = rest.split_once('\n').ok_or_else(damaged)?;
        if magic != MAGIC {
            return Err(damaged());
        }
        let own = format!("{:032x}", vocabulary.get().tokens.fingerprint());
        if own != fingerprint {
            let message = format!(
                "the constraint was compiled for the vocabulary {fingerprint}, not for {own}"
            );
            return Err(of_kind("vocabulary", message));
        }
        let description = json::parse(description, "the description")?;
        let vocabulary = vocabulary.clone().unbind();
        let compiled = detached(py, || {
            Compiled::new(
                description,
                vocabulary,
                IndexConfig::default().max_row_bytes,
            )
        })?;
        Ok(Constraint {
            compiled: Arc::new(compiled),
        })
    }

    /// The constraint as bytes: what it was compiled from, and which vocabulary it is for.
    /// Compiling again takes less time than reading masks would.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let fingerprint = self.compiled.tokens().fingerprint();
        let description = &self.compiled.description;
        let text = format!("{MAGIC}\n{fingerprint:032x}\n{description}");
        PyBytes::new(py, text.as_bytes())
    }

    /// The kind of its description: `json_schema`, `regex`, `choice`, `grammar`, `structural_tag`
    /// or `response_format`.
    #[getter]
    fn kind(&self) -> &str {
        &self.compiled.kind
    }

    /// The vocabulary that it is compiled for.
    #[getter]
    fn vocabulary(&self, py: Python<'_>) -> Py<Vocabulary> {
        self.compiled.vocabulary.clone_ref(py)
    }

    /// The fate of each keyword of a JSON Schema: its pointer, its name, whether it is `enforced`,
    /// an `annotation` or `narrowed`, and why. Empty for other constraints.
    #[getter]
    fn ledger<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for entry in self.compiled.constraint.ledger() {
            let notice = entry.notice();
            let Entry {
                pointer,
                keyword,
                status,
                ..
            } = entry;
            let why = match &status {
                Status::Annotation | Status::Ignored(_) => notice.unwrap_or_default(),
                told => told.reason().unwrap_or_default().to_owned(),
            };
            let line = PyDict::new(py);
            line.set_item("pointer", pointer)?;
            line.set_item("keyword", keyword)?;
            line.set_item("status", status.name())?;
            let why = schema_regex::in_words_of(&why, crate::error::argument);
            line.set_item("why", why)?;
            list.append(line)?;
        }
        Ok(list)
    }

    /// Keywords of a JSON Schema that constrain nothing although their writer may think so, a line for
    /// each: keywords that look like misspelt ones, keywords of a later draft, unknown formats,
    /// members that never come. Empty for other constraints.
    #[getter]
    fn notices(&self) -> Vec<String> {
        self.compiled.notices()
    }

    /// Bytes that it takes, about; it grows as masks are asked for.
    #[getter]
    fn memory(&self) -> usize {
        self.compiled.memory()
    }

    /// A matcher at the start of a text.
    ///
    /// `ends` are the tokens that end the text, in place of the vocabulary's: tokens that are text
    /// cannot. A token after an end token is refused, or with `after_end="ignore"` taken without a
    /// change.
    ///
    /// With `max_tokens` the text is complete within so many tokens, those that end it not counted:
    /// only tokens are allowed behind which it can be completed in time. Fewer than the shortest
    /// text takes are an error of the kind `token_budget`, which names their number. `landing`
    /// says how the text comes to its end: `"soft"` begins nothing that the text can do without
    /// within an eighth of the budget, 64 tokens at most, before its end, a number within
    /// so many tokens, `"hard"` ends it as late as it can be.
    #[pyo3(signature = (ends = None, *, after_end = "refuse", max_tokens = None, landing = None))]
    fn matcher(
        slf: &Bound<'_, Self>,
        ends: Option<&Bound<'_, PyAny>>,
        after_end: &str,
        max_tokens: Option<usize>,
        landing: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Matcher> {
        let compiled = &slf.get().compiled;
        let ends = ends.map(token_ids).transpose()?;
        if ends.is_none() && compiled.tokens().ends().is_empty() {
            return Err(of_kind(
                "vocabulary",
                "no token ends a text: name the vocabulary's `ends`, or pass `ends` here",
            ));
        }
        let known = [("refuse", AfterEnd::Refuse), ("ignore", AfterEnd::Ignore)];
        let mut guide = compiled.constraint.guide();
        let into = IntoPython::into_python;
        guide.set_after_end(one_of("after_end", after_end, &known)?);
        let landing = landing.map(landing_of).transpose()?.unwrap_or_default();
        if let Some(ends) = &ends {
            guide.set_end_tokens(ends).map_err(into)?;
        }
        if max_tokens.is_some() {
            guide.set_budget(max_tokens).map_err(into)?;
            guide.set_landing(landing);
        }
        Ok(Matcher::new(slf.clone().unbind(), guide))
    }

    /// Returns the number of tokens that the shortest text takes, those that end it not counted;
    /// None where no text is known that tokens spell.
    #[getter]
    fn tokens_needed(&self, py: Python<'_>) -> PyResult<Option<usize>> {
        detached(py, || Ok(self.compiled.constraint.guide().tokens_needed()))
    }

    /// The model's probability of each value, given that it is one of them, as pairs of text and
    /// probability, the most probable first: summed over all rows of tokens that spell it.
    ///
    /// `logits` is called with a list of token ids, a row behind the prompt (the first is empty), and
    /// returns the model's logits behind it: floats, as many as the vocabulary is wide. More than
    /// `max_values` values, or `max_steps` calls, are an error of the kind `limit_exceeded`; what may be
    /// unknown at the end is at most `tolerance` of what is known.
    #[pyo3(signature = (logits, *, max_values = 1_000, max_steps = 20_000, tolerance = 1e-6))]
    fn probabilities(
        &self,
        logits: &Bound<'_, PyAny>,
        max_values: usize,
        max_steps: usize,
        tolerance: f64,
    ) -> PyResult<Vec<(String, f64)>> {
        let mut limits = ProbabilityLimits::default();
        limits.max_values = max_values;
        limits.max_steps = max_steps;
        limits.tolerance = tolerance;
        let mut guide = self.compiled.constraint.guide();
        let mut asked = |row: &[TokenId]| {
            let row: Vec<u32> = row.iter().copied().map(TokenId::get).collect();
            let said = logits.call1((row,)).map_err(Failed)?;
            let read = match PyBuffer::<f32>::get(&said) {
                Ok(buffer) => buffer.to_vec(said.py()),
                Err(_) => said.extract::<Vec<f32>>(),
            };
            read.map_err(Failed)
        };
        let found = fsm_index::probabilities(&mut *guide, &mut asked, &limits);
        let found = found.map_err(|Failed(error)| error)?;
        let pairs = found.values.into_iter();
        Ok(pairs.map(|value| (value.text, value.probability)).collect())
    }

    /// Tells whether a whole text is admitted.
    fn is_match(&self, text: &Bound<'_, PyAny>) -> PyResult<bool> {
        let bytes = if let Ok(text) = text.cast::<PyString>() {
            text.to_str()?.as_bytes()
        } else if let Ok(bytes) = text.cast::<PyBytes>() {
            bytes.as_bytes()
        } else {
            return Err(PyTypeError::new_err("a text is str or bytes"));
        };
        detached(text.py(), || Ok(self.compiled.constraint.is_match(bytes)))
    }

    /// Returns what rules of a grammar with the option `capture` have read in a whole text: name, text, first character
    /// and the one behind the last. None if the text is not admitted; nothing of other constraints.
    #[allow(clippy::type_complexity)]
    fn captures(
        &self,
        py: Python<'_>,
        text: &str,
    ) -> PyResult<Option<Vec<(String, String, usize, usize)>>> {
        let constraint = &self.compiled.constraint;
        detached(py, || {
            let Some(automaton) = constraint.grammar() else {
                return Ok(constraint.is_match(text.as_bytes()).then(Vec::new));
            };
            let found = automaton.captures(text).map_err(IntoPython::into_python)?;
            // By byte: the characters that begin before it.
            let mut characters = vec![0; text.len() + 1];
            let mut count = 0;
            for (at, before) in characters.iter_mut().enumerate() {
                *before = count;
                count += usize::from(text.is_char_boundary(at));
            }
            let spans = |captures: Vec<grammar::Capture>| {
                let spans = captures.iter().map(|one| {
                    let range = one.range();
                    let (from, to) = (characters[range.start], characters[range.end]);
                    (one.name().to_owned(), text[range].to_owned(), from, to)
                });
                spans.collect()
            };
            Ok(found.map(spans))
        })
    }

    fn __repr__(&self) -> String {
        let text: String = self.compiled.description.chars().take(200).collect();
        format!("<Constraint {} {text}>", self.kind())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let read = py.get_type::<Constraint>().getattr("from_bytes")?;
        let arguments = (self.to_bytes(py), self.vocabulary(py)).into_pyobject(py)?;
        PyTuple::new(py, [read, arguments.into_any()])
    }
}
