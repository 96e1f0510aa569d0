//! The automaton of a regular expression, to look at. For example,
//! `Automaton("A[0-9]+").trace("A42").accepted` is true.

use std::collections::BTreeMap;

use fsm_index::{Config, Dfa, Symbols, Trace as Traced};
use pyo3::prelude::*;

use crate::error::{IntoPython, detached, of_kind};

/// The smallest automaton of a regular expression, to look at: states, transitions, and the way of a text.
///
/// `symbols` says what it reads: `"chars"` or `"bytes"`. As a text it is a table.
#[pyclass(frozen, module = "tokenmold")]
pub(crate) struct Automaton(Dfa);

#[pymethods]
impl Automaton {
    #[new]
    #[pyo3(signature = (regex, *, symbols = "chars"))]
    fn new(py: Python<'_>, regex: &str, symbols: &str) -> PyResult<Automaton> {
        let symbols = match symbols {
            "chars" => Symbols::Chars,
            "bytes" => Symbols::Bytes,
            other => {
                let message = format!("symbols is one of \"chars\", \"bytes\", not {other:?}");
                return Err(of_kind("bad_option", message));
            }
        };
        let config = Config {
            symbols,
            ..Config::default()
        };
        let made = detached(py, || {
            Dfa::with_config(regex, &config).map_err(IntoPython::into_python)
        })?;
        Ok(Automaton(made))
    }

    /// The number of the state at which texts begin.
    #[getter]
    fn start(&self) -> usize {
        self.0.start()
    }

    /// The states at which a text may end.
    #[getter]
    fn finals(&self) -> Vec<usize> {
        let states = 0..self.0.state_count();
        states.filter(|&state| self.0.is_accepting(state)).collect()
    }

    /// By state, where each class of symbols leads; a class that is missing leads nowhere.
    #[getter]
    fn transitions(&self) -> Vec<BTreeMap<String, usize>> {
        let labels = self.0.alphabet().labels(usize::MAX);
        let states = 0..self.0.state_count();
        let of = |state| {
            let classes = labels.iter().enumerate();
            let next = classes
                .filter_map(|(class, label)| Some((label.clone(), self.0.next(state, class)?)));
            next.collect()
        };
        states.map(of).collect()
    }

    /// Tells whether a whole text is of the language.
    fn accepts(&self, text: &str) -> bool {
        self.0.accepts(text)
    }

    /// The way of a text, symbol by symbol.
    fn trace(&self, text: &str) -> Trace {
        Trace(self.0.trace(text))
    }

    /// The automaton in Graphviz's language.
    fn dot(&self) -> String {
        self.0.dot()
    }

    fn __len__(&self) -> usize {
        self.0.state_count()
    }

    fn __str__(&self) -> String {
        self.0.table()
    }
}

/// A step of a [`Trace`]: the byte at which its symbol begins, the symbol, and the states before and behind it.
type Step = (usize, String, usize, Option<usize>);

/// The way of a text through an automaton. As a text it is a step a line.
#[pyclass(frozen, module = "tokenmold")]
pub(crate) struct Trace(Traced);

#[pymethods]
impl Trace {
    /// Tells whether the whole text is of the language.
    #[getter]
    fn accepted(&self) -> bool {
        self.0.accepted
    }

    /// The last state that was reached.
    #[getter]
    fn state(&self) -> usize {
        self.0.state
    }

    /// The byte at which the symbol begins that leads nowhere, if one does.
    #[getter]
    fn stopped_at(&self) -> Option<usize> {
        self.0.stopped_at
    }

    /// The steps: the byte at which a symbol begins, the symbol, the state before it, and the one behind it, if
    /// any.
    #[getter]
    fn steps(&self) -> Vec<Step> {
        let steps = self.0.steps.iter();
        steps
            .map(|step| (step.offset, step.symbol.clone(), step.from, step.to))
            .collect()
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }
}
