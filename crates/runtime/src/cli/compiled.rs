//! What binds an output, ready for a vocabulary.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokenmold::constraint::Constraint;
use tokenmold::fsm_index::{Config, Fill, Guide, Index, IndexConfig, IndexStats, Vocabulary};
use tokenmold::grammar::GrammarAutomaton;
use tokenmold::schema_regex::automaton::SchemaAutomaton;
use tokenmold::tags::TagAutomaton;

use super::Failure;
use super::rule::Rule;

/// A constraint ready for a model's vocabulary, with what it cost.
pub(crate) struct Compiled {
    pub(crate) index: Bound,
    pub(crate) time: Duration,
}

/// What a rule became for a vocabulary.
pub(crate) enum Bound {
    Schema(Arc<Index<SchemaAutomaton>>),
    Regex(Arc<Index>),
    Tags(Arc<Index<TagAutomaton>>),
    Grammar(Arc<Index<GrammarAutomaton>>),
}

/// Rows are computed where a text comes to them.
fn lazy() -> IndexConfig {
    IndexConfig {
        fill: Fill::Lazy,
        ..IndexConfig::default()
    }
}

impl Compiled {
    pub(crate) fn new(rule: &Rule, vocabulary: &Vocabulary) -> Result<Compiled, Failure> {
        let start = Instant::now();
        let lazy = lazy();
        let fail = |e| Failure::of("the constraint", e);
        let index = match rule {
            Rule::Schema(automaton, _) => {
                let automaton = SchemaAutomaton::clone(automaton);
                let index = Index::lazy(automaton, vocabulary, &lazy);
                Bound::Schema(Arc::new(index.map_err(fail)?))
            }
            Rule::Regex(regex) => {
                let config = Config::default();
                let index = Index::with_config(regex, vocabulary, &config, &lazy);
                Bound::Regex(Arc::new(index.map_err(fail)?))
            }
            Rule::Saved(file) => {
                let index = Index::load(file, vocabulary);
                Bound::Regex(Arc::new(index.map_err(|e| Failure::of(file.display(), e))?))
            }
            Rule::Grammar(automaton, _) => {
                let index = Index::lazy(automaton.clone(), vocabulary, &lazy);
                Bound::Grammar(Arc::new(index.map_err(fail)?))
            }
        };
        Ok(Compiled {
            index,
            time: start.elapsed(),
        })
    }

    /// Of structural tags.
    pub(crate) fn of_tags(
        compile: impl FnOnce(&Vocabulary) -> Result<TagAutomaton, tokenmold::tags::Error>,
        vocabulary: &Vocabulary,
    ) -> Result<Compiled, Failure> {
        let start = Instant::now();
        let automaton = compile(vocabulary).map_err(|e| Failure::new(e.to_string()))?;
        let index = Index::lazy(automaton, vocabulary, &lazy());
        let index = index.map_err(|e| Failure::of("the constraint", e))?;
        Ok(Compiled {
            index: Bound::Tags(Arc::new(index)),
            time: start.elapsed(),
        })
    }

    /// The states of a regular expression's automaton or of a grammar's parser, the nodes of
    /// a schema's automaton, or the parts of structural tags.
    pub(crate) fn size(&self) -> (usize, &'static str) {
        match &self.index {
            Bound::Schema(index) => (index.automaton().nodes(), "nodes"),
            Bound::Regex(index) => (index.automaton().state_count(), "states"),
            Bound::Tags(index) => (index.automaton().parts(), "parts"),
            Bound::Grammar(index) => (index.automaton().parser_states(), "states"),
        }
    }

    pub(crate) fn guide(&self) -> Box<dyn Constraint> {
        match &self.index {
            Bound::Schema(index) => Box::new(Guide::new(index.clone())),
            Bound::Regex(index) => Box::new(Guide::new(index.clone())),
            Bound::Tags(index) => Box::new(Guide::new(index.clone())),
            Bound::Grammar(index) => Box::new(Guide::new(index.clone())),
        }
    }

    pub(crate) fn stats(&self) -> IndexStats {
        match &self.index {
            Bound::Schema(index) => index.stats(),
            Bound::Regex(index) => index.stats(),
            Bound::Tags(index) => index.stats(),
            Bound::Grammar(index) => index.stats(),
        }
    }
}
