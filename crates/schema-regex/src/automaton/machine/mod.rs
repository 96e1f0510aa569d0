//! The compiled schema: nodes, their machines, and summaries of them.
//!
//! For example, `{"type": "array", "items": {"type": "integer"}}` is a [`Machine`] of two nodes: the
//! first has an array machine whose member is the second, which has a number machine.

pub(crate) mod after_names;
pub(crate) mod counts;
pub(crate) mod decisions;
pub(crate) mod enough_values;
pub(crate) mod few;
pub(crate) mod latest;
pub(crate) mod lexicon;
pub(crate) mod live;
pub(crate) mod loop_classes;
pub(crate) mod matching;
pub(crate) mod node;
pub(crate) mod objects;
pub(crate) mod origin;
mod printer;
pub(crate) mod prints;
pub(crate) mod progress;
pub(crate) mod strings;
pub(crate) mod value_summary;
pub(crate) mod white_space;

use std::sync::{Arc, OnceLock};

use fsm_index::Horizon;
use schema_normal::language::escapes::is_never_raw;
use schema_normal::options::Escapes;

use crate::automaton::machine::enough_values::Catalog;
use crate::automaton::machine::live::Live;
use crate::automaton::machine::loop_classes::Loops;
use crate::automaton::machine::node::{ArrayMachine, EMPTY, Node, NumberMachine};
use crate::automaton::machine::objects::ObjectMachine;
use crate::automaton::machine::origin::Origin;
use crate::automaton::machine::prints::Print;
use crate::automaton::machine::strings::StringMachine;
use crate::automaton::machine::value_summary::ObjectStart;
use crate::automaton::machine::white_space::Space;

/// A schema as a [`ByteAutomaton`](fsm_index::ByteAutomaton).
///
/// The language is that of the schema in the spellings that [`Options`](crate::Options) admit:
/// exactly, without narrowing beyond what [`SchemaAutomaton::ledger`] says.
/// Memory is proportional to the part of the schema that is reached.
///
/// Clones share everything.
#[derive(Clone, Debug)]
pub struct SchemaAutomaton {
    pub(super) machine: Arc<Machine>,
    pub(super) origin: Arc<Origin>,
}

/// A compiled schema: all that stepping, keys, hints, completions and explanations read, and none of
/// them changes.
#[derive(Debug)]
pub(crate) struct Machine {
    nodes: Box<[Node]>,
    space: Space,
    loops: Loops,
    escapes: Escapes,
    value_escapes: Escapes,
    name_escapes: Escapes,
    /// The fingerprint of the spelling of all values.
    dialect: OnceLock<Option<Print>>,
    max_nesting: u32,
    /// The tallest of the flattest values.
    tallest: u32,
    /// Says whether the schema itself bounds how deep values nest.
    is_bounded: bool,
}

impl Machine {
    pub(super) fn new(
        nodes: Vec<Node>,
        space: Space,
        loops: Loops,
        escapes: Escapes,
        max_nesting: u32,
    ) -> Machine {
        Machine {
            nodes: nodes.into(),
            space,
            loops,
            escapes,
            value_escapes: escapes.in_values(),
            name_escapes: escapes.in_names(),
            dialect: OnceLock::new(),
            max_nesting,
            tallest: 0,
            is_bounded: false,
        }
    }

    /// Returns the node of a number that is one.
    #[inline]
    pub(super) fn node(&self, id: u32) -> &Node {
        &self.nodes[id as usize]
    }

    /// Returns the machine of the strings of a node, if it may be one.
    #[inline]
    pub(super) fn string(&self, node: u32) -> Option<&StringMachine> {
        self.node(node).string.as_deref()
    }

    #[inline]
    pub(super) fn number(&self, node: u32) -> Option<&NumberMachine> {
        self.node(node).number.as_deref()
    }

    #[inline]
    pub(super) fn array(&self, node: u32) -> Option<&ArrayMachine> {
        self.node(node).array.as_deref()
    }

    #[inline]
    pub(super) fn object(&self, node: u32) -> Option<&ObjectMachine> {
        self.node(node).object.as_deref()
    }

    /// All nodes: a member that nothing satisfies has a number that is none of them.
    #[inline]
    pub(super) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The white space between tokens.
    #[inline]
    pub(super) fn space(&self) -> &Space {
        &self.space
    }

    /// The classes of characters that hints speak of.
    #[inline]
    pub(super) fn loops(&self) -> &Loops {
        &self.loops
    }

    /// Returns the spellings that the schema admits.
    pub(super) fn escapes(&self) -> Escapes {
        self.escapes
    }

    /// Returns the spellings that strings may have.
    #[inline]
    pub(super) fn value_escapes(&self) -> Escapes {
        self.value_escapes
    }

    /// Returns the spellings that names of members may have.
    #[inline]
    pub(super) fn name_escapes(&self) -> Escapes {
        self.name_escapes
    }

    /// Says whether some character of a name may be written as an escape: where none may,
    /// an escape leads away from the name.
    pub(super) fn may_escape(&self, name: &[u8]) -> bool {
        let escaped = |byte: &u8| is_never_raw(*byte) || !byte.is_ascii();
        self.name_escapes == Escapes::All || name.iter().any(escaped)
    }

    /// Returns the fingerprint of how all values are written, which is taken when it is asked for.
    pub(super) fn dialect(&self) -> Option<&Print> {
        let dialect = || printer::dialect(&self.space, self.escapes);
        self.dialect.get_or_init(dialect).as_ref()
    }

    /// Returns the fingerprint of a node.
    pub(super) fn print(&self, node: u32) -> Option<Print> {
        printer::print(&self.nodes, node)
    }

    /// Returns the fingerprint of what tells apart the further names of a node.
    pub(super) fn print_of_names(&self, node: u32) -> Option<Print> {
        printer::print_of_names(self.node(node))
    }

    /// Returns the fingerprint of a value of a node of which nothing was read yet, if tokens reach no further:
    /// `start` tells of the object of a node.
    pub(super) fn print_of_start(
        &self,
        node: u32,
        horizon: Horizon<'_>,
        start: impl Fn(u32) -> Option<ObjectStart>,
    ) -> Option<Print> {
        value_summary::near(&self.nodes, node, horizon, &start)
    }

    /// Returns the number of levels that a value inside of so many open arrays and objects may still open.
    #[inline]
    pub(super) fn room(&self, depth: u32) -> u32 {
        self.max_nesting.saturating_sub(depth)
    }

    /// Returns the questions whether values that open at most so many levels can be finished.
    #[inline]
    pub(super) fn live(&self, room: u32) -> Live<'_> {
        Live::new(&self.nodes, room)
    }

    /// The levels of the flattest value of the schema; [`EMPTY`] if there is none.
    pub(super) fn height(&self) -> u32 {
        self.nodes[0].heights[0]
    }

    /// The levels of the tallest of the flattest values of all goals.
    pub(super) fn tallest(&self) -> u32 {
        self.tallest
    }

    /// Says whether the schema itself bounds how deep values nest.
    pub(super) fn is_bounded(&self) -> bool {
        self.is_bounded
    }

    /// Notes the values of the items of a node's array, which must differ; `solve` finds out again
    /// which goals have values, where what is noted says that some have none.
    pub(super) fn set_catalog(
        &mut self,
        node: usize,
        catalog: Catalog,
        solve: impl FnOnce(&mut [Node]),
    ) {
        let is_needed = catalog.is_listed() || catalog.poor.contains(&true);
        if let Some(m) = &mut self.nodes[node].array {
            m.catalog = catalog;
        }
        if is_needed {
            solve(&mut self.nodes);
        }
    }

    /// Notes how deep values may nest; `deepest` is the schema's own bound, if there is one.
    pub(super) fn set_bound(&mut self, max_nesting: u32, deepest: Option<u32>) {
        let heights = self.nodes.iter().flat_map(|node| &node.heights);
        self.tallest = heights.copied().filter(|h| *h != EMPTY).max().unwrap_or(0);
        self.max_nesting = max_nesting;
        self.is_bounded = deepest.is_some_and(|d| d <= max_nesting);
    }
}
