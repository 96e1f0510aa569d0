//! A constraint for one vocabulary.
//!
//! For example, a server keeps one for each schema that requests name, and takes a guide of it for
//! each request.

use std::fmt;
use std::sync::Arc;

use fsm_index::{AnyGuide, AnyIndex, Index, IndexStats, Vocabulary};
use grammar::GrammarAutomaton;
use schema_regex::automaton::SchemaAutomaton;
use schema_regex::ledger::Entry;

/// A constraint compiled for a vocabulary. Immutable, cheap to clone; any number of guides on any
/// number of threads share it, and the masks that are known.
#[derive(Clone)]
pub struct Constraint {
    index: Arc<dyn AnyIndex>,
    size: Size,
    /// Bytes of the automaton, about, those that depend on its text left out.
    own_bytes: usize,
    /// Bytes that the automaton takes for each byte of the text that it was made of, about.
    bytes_of_text: usize,
    schema: Option<Arc<Index<SchemaAutomaton>>>,
    grammar: Option<GrammarAutomaton>,
}

/// The number of an automaton's parts, in its own unit.
///
/// ```
/// use constraint::Size;
///
/// assert_eq!(Size::new(7, "nodes").to_string(), "7 nodes");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// The number.
    pub count: usize,
    /// The unit: nodes of a schema, states of an expression or a parser, parts of a tag.
    pub unit: &'static str,
}

impl Size {
    /// A number of something.
    pub fn new(count: usize, unit: &'static str) -> Size {
        Size { count, unit }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.count, self.unit)
    }
}

impl Constraint {
    pub(crate) fn new(index: Arc<dyn AnyIndex>, size: Size, own_bytes: usize) -> Constraint {
        Constraint {
            index,
            size,
            own_bytes,
            bytes_of_text: 0,
            schema: None,
            grammar: None,
        }
    }

    pub(crate) fn of_regex(index: Index) -> Constraint {
        let size = Size::new(index.automaton().state_count(), "states");
        let own = index.automaton().memory();
        Constraint::new(Arc::new(index), size, own)
    }

    pub(crate) fn with_bytes_of_text(mut self, bytes: usize) -> Constraint {
        self.bytes_of_text = bytes;
        self
    }

    pub(crate) fn with_schema(mut self, index: Arc<Index<SchemaAutomaton>>) -> Constraint {
        self.schema = Some(index);
        self
    }

    pub(crate) fn with_grammar(mut self, automaton: GrammarAutomaton) -> Constraint {
        self.grammar = Some(automaton);
        self
    }

    /// Returns a guide at the start of a text. O(1).
    pub fn guide(&self) -> Box<dyn AnyGuide> {
        self.index.clone().guide()
    }

    /// Tells whether a text is admitted as a whole. O(bytes) steps.
    pub fn is_match(&self, text: &[u8]) -> bool {
        match &self.schema {
            // It need not be ready to go on, as a guide must.
            Some(index) => index.automaton().is_match(text),
            None => self.index.is_match(text),
        }
    }

    /// Returns what each keyword of a JSON Schema has become; nothing for other constraints.
    pub fn ledger(&self) -> Vec<Entry> {
        let ledger = |index: &Arc<Index<SchemaAutomaton>>| index.automaton().ledger();
        self.schema.as_ref().map(ledger).unwrap_or_default()
    }

    /// Returns the entries about keywords of a JSON Schema that constrain nothing although their
    /// writer may think so; none for other constraints.
    pub fn notices(&self) -> Vec<Entry> {
        let notices = |index: &Arc<Index<SchemaAutomaton>>| index.automaton().notices();
        self.schema.as_ref().map(notices).unwrap_or_default()
    }

    /// Returns the automaton of a grammar, which can say what may come at a place.
    pub fn grammar(&self) -> Option<&GrammarAutomaton> {
        self.grammar.as_ref()
    }

    /// Returns the size of the automaton.
    pub fn size(&self) -> Size {
        self.size
    }

    /// Returns the bytes that it takes: rows of masks as they are, the automaton by its size,
    /// about. It grows as masks are asked for. `text_bytes` are those of the text that it was
    /// compiled from, whose names and places are kept for messages.
    pub fn memory(&self, text_bytes: usize) -> usize {
        self.own_bytes + self.bytes_of_text * text_bytes + self.stats().row_bytes
    }

    /// See [`Index::stats`].
    pub fn stats(&self) -> IndexStats {
        self.index.stats()
    }

    /// Returns the vocabulary that it was compiled for.
    pub fn vocabulary(&self) -> &Vocabulary {
        self.index.vocabulary()
    }
}

impl fmt::Debug for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Constraint of {}", self.size)
    }
}
