//! The state of the search for the alternatives of sets of locations: what was found before, by
//! set and kind, and what is known of locations.
//!
//! For example `{"enum": [1, "a"]}` lists two values: they are its candidates, found once, whether
//! its numbers are asked for, or whether it and `{"type": "boolean"}` exclude each other.

use std::ops::{Deref, DerefMut};
use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde_json::Value;

use crate::ir::{AtomKind, Kinds, NodeId, Schema};
use crate::normal::alternative::{KINDS, Kind};
use crate::normal::conditions::Conditions;
use crate::normal::conjunctions::{ANY, ConjId, Conjs, NONE};
use crate::normal::found::{Closing, Discriminators};
use crate::normal::locations::Locations;
use crate::normal::shape_table::ShapeTable;
use crate::options::Complements;
use crate::options::{Options, Target};

/// Returns the room that lists have from the beginning: as much as an ordinary schema needs, so
/// that they do not grow step by step.
pub fn room_for(schema: &Schema) -> usize {
    /// The most places, because large schemas are seldom reached in whole.
    const MOST: usize = 64;
    /// The places beside the schema's own, because each kind may have a location.
    const BESIDE: usize = KINDS + 2;
    (schema.nodes.len() + BESIDE).min(MOST)
}

/// The locations of a schema, and what was found of them.
pub struct Normaliser {
    pub(super) locations: Locations,
    pub(super) table: ShapeTable,
    pub(super) conditions: Conditions,
    pub(super) closing: Closing,
    pub(super) discriminators: FxHashMap<NodeId, Rc<Discriminators>>,
    /// By the number of branches: locations with so large a choice, and their sets.
    pub(super) choices: FxHashMap<usize, Vec<(NodeId, ConjId)>>,
    /// By two locations and a kind: true if no value of it satisfies both.
    pub(super) excluding: FxHashMap<(NodeId, NodeId, Kind), bool>,
    candidates: FxHashMap<ConjId, Option<Arc<Vec<Value>>>>,
}

impl Deref for Normaliser {
    type Target = Locations;

    fn deref(&self) -> &Locations {
        &self.locations
    }
}

impl DerefMut for Normaliser {
    fn deref_mut(&mut self) -> &mut Locations {
        &mut self.locations
    }
}

impl Normaliser {
    /// Returns the normaliser of a schema, whose formats that are narrowed have no complement.
    pub fn new(schema: Schema, options: Options, target: Target) -> Normaliser {
        Normaliser::with_complements(schema, options, target, Complements::Refused)
    }

    /// Returns the normaliser of a schema that treats the complements of narrowed formats as asked.
    pub fn with_complements(
        schema: Schema,
        options: Options,
        target: Target,
        complements: Complements,
    ) -> Normaliser {
        let room = room_for(&schema);
        Normaliser {
            locations: Locations::new(schema, options, target, complements, room),
            table: ShapeTable::with_room(room),
            conditions: Conditions::default(),
            closing: Closing::default(),
            discriminators: FxHashMap::default(),
            choices: FxHashMap::default(),
            excluding: FxHashMap::default(),
            candidates: FxHashMap::default(),
        }
    }

    /// Returns the schema, with what it implies, and all sets of its locations.
    pub fn into_parts(self) -> (Schema, Conjs) {
        self.locations.into_parts()
    }

    /// Returns the conditions that alternatives keep.
    pub fn conditions(&self) -> &Conditions {
        &self.conditions
    }

    /// The values of a conjunction, where an `enum` or `const` lists them, or a pattern of
    /// strings has few.
    pub fn candidates(&mut self, conj: ConjId) -> Option<Arc<Vec<Value>>> {
        if conj == ANY {
            return None;
        }
        if let Some(known) = self.candidates.get(&conj) {
            return known.clone();
        }
        let parts = self.conj(conj);
        let mut listed: Option<Vec<Value>> = None;
        if conj == NONE {
            listed = Some(Vec::new());
        } else if !parts
            .iter()
            .any(|s| s.positive && may_list(&self.locations, s.node))
        {
            return None;
        }
        let positive = parts.iter().filter(|s| s.positive);
        let mut todo: Vec<NodeId> = positive.map(|s| s.node).collect();
        let mut seen: Vec<NodeId> = Vec::new();
        let (mut texts, mut are_strings) = (None, false);
        while let Some(node) = todo.pop() {
            if seen.contains(&node) || seen.len() > 64 || listed.is_some() {
                continue;
            }
            seen.push(node);
            for atom in self.locations.schema().node(node).atoms() {
                match &atom.kind {
                    AtomKind::Values(values) => listed = Some(values.to_vec()),
                    AtomKind::Pattern(id) if texts.is_none() => {
                        texts = self.locations.schema().pattern(*id).texts();
                    }
                    AtomKind::Type { kinds, .. } => are_strings |= *kinds == Kinds::STRING,
                    AtomKind::Ref(n) => todo.push(*n),
                    AtomKind::AllOf(nodes) => todo.extend(nodes),
                    _ => {}
                }
            }
        }
        if are_strings && listed.is_none() {
            let texts = texts.map(|texts| texts.iter().cloned());
            listed = texts.map(|texts| texts.map(Value::String).collect());
        }
        let mut kept = listed.is_some().then(Vec::new);
        if let (Some(values), Some(out)) = (listed, &mut kept) {
            for value in values {
                match self.holds(parts, &value) {
                    Ok(true) => out.push(value),
                    Ok(false) => {}
                    Err(_) => {
                        kept = None;
                        break;
                    }
                }
            }
        }
        let answer = kept.map(Arc::new);
        self.candidates.insert(conj, answer.clone());
        answer
    }
}

/// Tells whether a location lists values, or leads in place to one that may.
fn may_list(locations: &Locations, node: NodeId) -> bool {
    locations.schema().node(node).atoms().iter().any(|atom| {
        matches!(
            atom.kind,
            AtomKind::Values(_) | AtomKind::Pattern(_) | AtomKind::Ref(_) | AtomKind::AllOf(_)
        )
    })
}
