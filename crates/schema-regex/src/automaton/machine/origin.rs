//! The schema that a machine was compiled from: explanations read it, and no walk does.
//!
//! For example, a format that is narrowed stands in the ledger with what is admitted instead.

use schema_normal::ir::{NodeId, Schema};
use schema_normal::ledger::{Entry, Narrowed, Status};
use schema_normal::normal::conjunctions::Conjs;
use schema_normal::options::{Options, Target};

use crate::automaton::machine::node::Node;

/// The schema of a machine, and what became of its keywords.
#[derive(Debug)]
pub(crate) struct Origin {
    schema: Schema,
    /// The conjunctions that the goals of nodes stand for.
    conjs: Conjs,
    narrowed: Narrowed,
    /// Locations that no value satisfies, although some satisfies the schema.
    never: Vec<NodeId>,
    /// With what the schema overrides.
    options: Options,
}

impl Origin {
    pub(crate) fn new(
        schema: Schema,
        conjs: Conjs,
        narrowed: Narrowed,
        never: Vec<NodeId>,
        options: Options,
    ) -> Origin {
        Origin {
            schema,
            conjs,
            narrowed,
            never,
            options,
        }
    }

    /// Adds a narrowing of the schema as a whole.
    pub(crate) fn narrow(&mut self, how: String) {
        self.narrowed.insert((String::new(), "", how));
    }

    pub(crate) fn into_schema(self) -> Schema {
        self.schema
    }

    /// The JSON Pointers of the locations that goals of a node stand for, each once, in the order of the
    /// schema.
    pub(crate) fn locations(&self, node: &Node, goals: &[u32]) -> Vec<String> {
        let conjs = goals
            .iter()
            .filter_map(|goal| node.goals.get(*goal as usize));
        let parts = conjs.flat_map(|conj| self.conjs.of(*conj));
        let mut nodes: Vec<NodeId> = parts.map(|part| part.node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let mut locations: Vec<String> = Vec::new();
        for node in nodes {
            let pointer = self.schema.node(node).pointer.to_string();
            if !locations.contains(&pointer) {
                locations.push(pointer);
            }
        }
        locations
    }

    /// The whole ledger.
    pub(crate) fn ledger(&self) -> Vec<Entry> {
        let mut entries =
            self.schema
                .entries(&self.options, Target::Automaton, &self.narrowed, None);
        entries.extend(self.empty_places());
        entries
    }

    /// The entries of the ledger about what constrains nothing.
    pub(crate) fn notices(&self) -> Vec<Entry> {
        let mut entries = self.schema.notices(&self.options);
        entries.extend(self.empty_places());
        entries
    }

    fn empty_places(&self) -> impl Iterator<Item = Entry> {
        self.never.iter().map(|&node| {
            let why = "no value satisfies this place, so that none comes".to_owned();
            let pointer = self.schema.node(node).pointer.to_string();
            Entry::of_location(pointer, Status::Ignored(why))
        })
    }
}
