//! A schema that is compiled, but for how deep its values may nest.
//!
//! For example, `{"items": {"$ref": "#"}}` nests without an end: only with the bound of the options it is
//! decided which of its values may come.

use std::sync::Arc;

use schema_normal::ir::signed::Signed;
use schema_normal::ir::{NEVER, NodeId, ROOT, Schema};
use schema_normal::normal::alternative::{Kind, Shape};
use schema_normal::normal::closing::closings;
use schema_normal::normal::in_place::refuse_cycles;
use schema_normal::normal::normaliser::Normaliser;
use schema_normal::normal::search::shapes::known_shapes;
use schema_normal::{Error, ErrorKind};

use crate::automaton::compile::builder::Builder;
use crate::automaton::compile::{heights, list_values, nodes, same_nodes};
use crate::automaton::machine::node::{EMPTY, Node};
use crate::automaton::machine::origin::Origin;
use crate::automaton::machine::white_space::Space;
use crate::automaton::machine::{Machine, SchemaAutomaton};

/// A compiled schema for which it is not decided yet how deep values may nest.
pub(crate) struct Unbounded {
    machine: Machine,
    origin: Origin,
}

impl Unbounded {
    /// Compiles what some locations demand together.
    pub(crate) fn new(mut normaliser: Normaliser, root: &[Signed]) -> Result<Unbounded, Error> {
        let options = normaliser.options().clone();
        let space = Space::new(&options)?;
        refuse_cycles(&normaliser)?;
        let root = normaliser.intern(root);
        let mut builder = Builder::new(normaliser);
        nodes::build(&mut builder, root)?;
        let mut narrowed = builder.narrowed;
        narrowed.extend(closings(&builder.normaliser));
        let mut nodes = builder.nodes;
        heights::solve(&mut nodes);
        same_nodes::solve(&mut nodes);
        let unique = unique_locations(&builder.normaliser, &nodes);
        let never = empty_locations(&builder.normaliser, &nodes);
        let max_nesting = u32::try_from(options.max_nesting).unwrap_or(u32::MAX - 1);
        let escapes = options.escapes;
        let (schema, conjs) = builder.normaliser.into_parts();
        let mut machine = Machine::new(nodes, space, builder.loops, escapes, max_nesting);
        list_values::list_values(&mut machine, &schema, &unique)?;
        let origin = Origin::new(schema, conjs, narrowed, never, options);
        Ok(Unbounded { machine, origin })
    }

    /// Says whether no value satisfies the schema.
    pub(crate) fn is_empty(&self) -> bool {
        self.machine.height() == EMPTY
    }

    /// Decides how deep values may nest, by the cap if there is one.
    ///
    /// # Errors
    ///
    /// No value nests as little as that; the schema is given back.
    pub(crate) fn bounded(
        mut self,
        cap: Option<u32>,
    ) -> Result<SchemaAutomaton, Box<(Error, Schema)>> {
        let height = self.machine.height();
        let mut limit = self.machine.room(0);
        if height > limit {
            let why = if self.is_empty() {
                "no value satisfies the schema".to_owned()
            } else {
                format!(
                    "every value nests {height} deep or deeper, more than Options::max_nesting ({limit})"
                )
            };
            let error = Error::new(ErrorKind::Unsatisfiable, "", why);
            return Err(Box::new((error, self.origin.into_schema())));
        }
        let deepest = heights::deepest(self.machine.nodes());
        // A schema that bounds the nesting by itself is not capped.
        if let (Some(cap), None) = (cap, deepest) {
            limit = limit.min(cap.max(height));
        }
        self.machine.set_bound(limit, deepest);
        if !self.machine.is_bounded() {
            let how = format!("arrays and objects nest at most {limit} deep");
            self.origin.narrow(how);
        }
        Ok(SchemaAutomaton {
            machine: Arc::new(self.machine),
            origin: Arc::new(self.origin),
        })
    }
}

/// The written locations that no value satisfies.
fn empty_locations(normaliser: &Normaliser, nodes: &[Node]) -> Vec<NodeId> {
    let mut out: Vec<NodeId> = Vec::new();
    for node in nodes {
        for (goal, height) in node.goals.iter().zip(&node.heights) {
            // A demand of several locations together is the fault of none.
            if *height == EMPTY
                && let [
                    Signed {
                        node,
                        positive: true,
                    },
                ] = normaliser.conj(*goal)
                && *node != NEVER
            {
                out.push(*node);
            }
        }
    }
    out.sort_unstable();
    out.dedup();
    out
}

/// The nodes with arrays of different items, each with a location that says so.
fn unique_locations(normaliser: &Normaliser, nodes: &[Node]) -> Vec<(usize, NodeId)> {
    let mut out = Vec::new();
    for (n, node) in nodes.iter().enumerate() {
        if !node.array.as_ref().is_some_and(|m| m.unique) {
            continue;
        }
        let shapes = node
            .goals
            .iter()
            .filter_map(|g| known_shapes(normaliser, *g, Kind::Array));
        let at = shapes.flat_map(|s| s.iter()).find_map(|s| match s {
            Shape::Array(a) => a.unique,
            _ => None,
        });
        out.push((n, at.unwrap_or(ROOT)));
    }
    out
}
