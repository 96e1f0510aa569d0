//! The constraint of an output, ready for a vocabulary. For example, `{"type": "integer"}` over the
//! tokens of a model, with the time that it took.

use std::time::{Duration, Instant};

use constraint::{Automaton, Constraint, Error};
use tokenmold::fsm_index::{IndexConfig, Vocabulary};

use super::Failure;

/// A constraint ready for a model's vocabulary, with what it cost.
pub(crate) struct Compiled {
    pub(crate) constraint: Constraint,
    pub(crate) time: Duration,
}

impl Compiled {
    pub(crate) fn new(automaton: &Automaton, vocabulary: &Vocabulary) -> Result<Compiled, Failure> {
        let start = Instant::now();
        let constraint = automaton.index(vocabulary, &IndexConfig::default());
        let constraint = constraint.map_err(|error| match error {
            Error::Saved(..) | Error::Tags(_) => Failure::new(error.to_string()),
            error => Failure::of("the constraint", error),
        })?;
        Ok(Compiled {
            constraint,
            time: start.elapsed(),
        })
    }
}
