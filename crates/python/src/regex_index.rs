//! A regular expression over a vocabulary with its states shown: what `outlines_core` asks for. For
//! example, `ab` over the tokens `a` and `b` has three states, numbered as they are met.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fsm_index::{ByteAutomaton, Config, Cursor, Fill, Guide, Index, IndexConfig, TokenId};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PySet};

use crate::buffers::{Elements, Matrix};
use crate::error::{IntoPython, caught, detached, of_kind};
use crate::matcher::write;
use crate::vocabulary::Vocabulary;

/// A regular expression over a vocabulary, by states.
///
/// States are numbers of the automaton, which the same expression always has. A token that ends
/// the text stays in its state.
#[pyclass(frozen, name = "_RegexIndex", module = "tokenmold")]
pub(crate) struct RegexIndex {
    vocabulary: Py<Vocabulary>,
    index: Arc<Index>,
    /// The targets of tokens, by state: all states, once somebody names one that was not met.
    states: Mutex<States>,
}

struct States {
    /// Guides at the states that were met.
    met: HashMap<u32, Guide>,
    /// True if all were.
    complete: bool,
}

impl RegexIndex {
    fn states(&self) -> MutexGuard<'_, States> {
        // Each change leaves the map whole.
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A guide at a state, if there is such a state.
    fn guide(&self, state: u32) -> PyResult<Option<Guide>> {
        let mut states = self.states();
        if !states.met.contains_key(&state) && !states.complete {
            self.meet_all(&mut states)?;
        }
        Ok(states.met.get(&state).cloned())
    }

    fn meet_all(&self, states: &mut States) -> PyResult<()> {
        self.walk(|from, _, next| {
            let index = &self.index;
            let guide = |state| Guide::at(index.clone(), Cursor(state));
            states.met.entry(from).or_insert_with(|| guide(from));
            states.met.entry(next).or_insert_with(|| guide(next));
        })?;
        states.complete = true;
        Ok(())
    }

    /// Shows every step that a token makes from a state that tokens reach, states in the order
    /// in which they are met. O(states x tokens allowed there).
    fn walk(&self, mut step: impl FnMut(u32, u32, u32)) -> PyResult<()> {
        let start = self.index.automaton().start();
        let mut met = HashMap::from([(start.0, ())]);
        let mut ahead = vec![start];
        while let Some(at) = ahead.pop() {
            let guide = Guide::at(self.index.clone(), at);
            for token in guide.allowed_tokens().map_err(IntoPython::into_python)? {
                let mut next = at;
                if let Some(bytes) = self.index.vocabulary().token_bytes(token) {
                    let taken = self.index.automaton().advance(&mut next, bytes, &mut ());
                    debug_assert!(taken.is_ok(), "a mask allows what can be taken");
                }
                step(at.0, token.get(), next.0);
                if met.insert(next.0, ()).is_none() {
                    ahead.push(next);
                }
            }
        }
        Ok(())
    }
}

#[pymethods]
impl RegexIndex {
    #[new]
    fn new(py: Python<'_>, pattern: &str, vocabulary: Py<Vocabulary>) -> PyResult<RegexIndex> {
        let tokens = &vocabulary.get().tokens;
        let config = IndexConfig {
            fill: Fill::Lazy,
            ..IndexConfig::default()
        };
        let index = detached(py, || {
            let index = Index::with_config(pattern, tokens, &Config::default(), &config);
            index.map(Arc::new).map_err(IntoPython::into_python)
        })?;
        let start = Guide::new(index.clone());
        let met = HashMap::from([(start.state().0, start)]);
        let complete = false;
        Ok(RegexIndex {
            vocabulary,
            index,
            states: Mutex::new(States { met, complete }),
        })
    }

    #[getter]
    fn vocabulary(&self, py: Python<'_>) -> Py<Vocabulary> {
        self.vocabulary.clone_ref(py)
    }

    /// The state at the start of a text.
    #[getter]
    fn initial(&self) -> u32 {
        self.index.automaton().start().0
    }

    /// The state behind a token; None where it may not come, or there is no such state.
    fn next(&self, state: u32, token: u32) -> PyResult<Option<u32>> {
        caught(|| {
            let Some(mut guide) = self.guide(state)? else {
                return Ok(None);
            };
            if guide.advance(TokenId::new(token)).is_err() {
                return Ok(None);
            }
            let next = *guide.state();
            let at = || Guide::at(self.index.clone(), next);
            self.states().met.entry(next.0).or_insert_with(at);
            Ok(Some(next.0))
        })
    }

    /// The tokens that may come, ascending; None if there is no such state.
    fn allowed(&self, state: u32) -> PyResult<Option<Vec<u32>>> {
        caught(|| {
            let Some(guide) = self.guide(state)? else {
                return Ok(None);
            };
            let tokens = guide.allowed_tokens().map_err(IntoPython::into_python)?;
            Ok(Some(tokens.into_iter().map(TokenId::get).collect()))
        })
    }

    /// Tells whether the text may end in a state.
    fn is_final(&self, state: u32) -> PyResult<bool> {
        caught(|| Ok(self.guide(state)?.is_some_and(|guide| guide.is_accepting())))
    }

    /// The states in which the text may end.
    fn finals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PySet>> {
        let finals = caught(|| {
            let mut states = self.states();
            if !states.complete {
                self.meet_all(&mut states)?;
            }
            let finals = states.met.iter().filter(|(_, guide)| guide.is_accepting());
            Ok(finals.map(|(state, _)| *state).collect::<Vec<u32>>())
        })?;
        PySet::new(py, finals)
    }

    /// The state to which each token leads, by state.
    fn transitions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let mut steps: Vec<(u32, u32, u32)> = Vec::new();
        caught(|| self.walk(|from, token, next| steps.push((from, token, next))))?;
        let transitions = PyDict::new(py);
        for part in steps.chunk_by(|a, b| a.0 == b.0) {
            let by_token = PyDict::new(py);
            for (_, token, next) in part {
                by_token.set_item(token, next)?;
            }
            transitions.set_item(part[0].0, by_token)?;
        }
        Ok(transitions)
    }

    /// Writes the tokens that may come in a state into a row of a mask, as `Matcher.fill`.
    #[pyo3(signature = (state, mask, row = 0))]
    fn fill(
        &self,
        py: Python<'_>,
        state: u32,
        mask: &Bound<'_, PyAny>,
        row: usize,
    ) -> PyResult<bool> {
        let matrix = Matrix::of(mask, Elements::MaskWords)?;
        let mut row = matrix.row::<u32>(row)?;
        detached(py, || {
            let mut guide = self
                .guide(state)?
                .ok_or_else(|| of_kind("guide_state", format!("there is no state {state}")))?;
            write(&mut guide, &mut row, self.index.vocabulary().width())
        })
    }
}
