//! The reader of a schema: its nodes and patterns, and the places that are still to be read. For
//! example, a place that two references lead to becomes one node.

use std::collections::{HashMap, VecDeque};

use json_tree::subschemas::{self, Applied};
use rustc_hash::FxHashMap;
use serde_json::Value;

use crate::error::{Error, ErrorKind};
use crate::ir::pattern::PatternEntry;
use crate::ir::pointer::Last;
use crate::ir::{ALWAYS, Atom, Body, Location, NodeId, PatternId};
use crate::options::Draft;
use crate::read::exact_numbers::Numbers;
use crate::read::here::{Here, no_schema};
use crate::read::parse_options::Settings;
use crate::read::references::{Place, Resolver, ScopeId};

/// So many names in dynamic scopes count as one subschema.
const SCOPED: usize = 8;

/// The number of nodes that are at no place, because no document has them.
pub(super) const BUILTIN: usize = 2;

pub(super) struct Reader<'a, 'n> {
    /// The draft of the resource that is being read.
    pub(super) draft: Draft,
    pub(super) resolver: Resolver<'a>,
    /// A dynamic reference was met and dynamic scopes are not followed.
    pub(super) needs_scopes: bool,
    pub(super) nodes: Vec<Location>,
    /// The address and dynamic scope of each node, behind the builtin ones.
    pub(super) places: Vec<(*const Value, ScopeId)>,
    /// The nodes by these, once a reference was met: without one no place is met twice.
    pub(super) known: Option<FxHashMap<(*const Value, ScopeId), NodeId>>,
    pub(super) todo: VecDeque<(NodeId, Place<'a>)>,
    pub(super) patterns: Vec<PatternEntry>,
    pub(super) pattern_ids: HashMap<String, PatternId>,
    pub(super) max_nodes: usize,
    pub(super) settings: Settings,
    pub(super) numbers: &'n mut Numbers,
}

impl<'a> Reader<'a, '_> {
    /// The node of a place; it is read later, so that nothing here recurses.
    pub(super) fn node(&mut self, place: Place<'a>) -> Result<NodeId, Error> {
        let address = (std::ptr::from_ref(place.value), place.scope);
        if let Some(&id) = self.known.as_ref().and_then(|known| known.get(&address)) {
            return Ok(id);
        }
        // Names in dynamic scopes count as a part of a subschema each.
        let scoped = self.resolver.scoped() / SCOPED;
        if self.nodes.len() - BUILTIN + scoped >= self.max_nodes {
            return Err(Error::new(
                ErrorKind::TooManyNodes,
                &place.pointer,
                format!(
                    "the schema reaches more than {} subschemas; raise ParseOptions::max_nodes",
                    self.max_nodes
                ),
            ));
        }
        let id = NodeId(self.nodes.len() as u32);
        self.places.push(address);
        if let Some(known) = &mut self.known {
            known.insert(address, id);
        }
        self.nodes.push(Location {
            pointer: place.pointer.clone(),
            body: Body::Always,
            notes: Vec::new(),
        });
        self.todo.push_back((id, place));
        Ok(id)
    }

    pub(super) fn child(
        &mut self,
        here: &Here<'a, '_>,
        value: &'a Value,
        keyword: &'static str,
        last: Last,
    ) -> Result<NodeId, Error> {
        match value {
            Value::Bool(true) => return Ok(ALWAYS),
            Value::Object(map) if map.is_empty() => return Ok(ALWAYS),
            Value::Bool(false) | Value::Object(_) => {}
            _ => return Err(no_schema(&here.place.pointer.below(keyword, last), value)),
        }
        let place = self.resolver.child(here.place, value, keyword, last);
        self.node(place)
    }

    pub(super) fn children(
        &mut self,
        here: &Here<'a, '_>,
        keyword: &'static str,
        value: &'a Value,
    ) -> Result<Vec<NodeId>, Error> {
        let Some(items) = value.as_array() else {
            return Err(here.must_be(keyword, "an array of schemas", value));
        };
        if items.is_empty() && subschemas::applied(keyword) == Some(Applied::InPlace) {
            return Err(here.invalid(keyword, "must have at least one schema"));
        }
        items
            .iter()
            .enumerate()
            .map(|(i, v)| self.child(here, v, keyword, Last::Index(i)))
            .collect()
    }

    pub(super) fn pattern(&mut self, source: &str) -> PatternId {
        if let Some(&id) = self.pattern_ids.get(source) {
            return id;
        }
        let id = PatternId(self.patterns.len() as u32);
        self.patterns.push(PatternEntry::new(source));
        self.pattern_ids.insert(source.to_owned(), id);
        id
    }

    /// A location that the schema implies without writing it, at the pointer of another.
    pub(super) fn synthetic(&mut self, here: &Here<'a, '_>, atoms: Vec<Atom>) -> NodeId {
        let id = NodeId(self.nodes.len() as u32);
        self.places.push((std::ptr::null(), here.place.scope));
        self.nodes.push(Location {
            pointer: here.place.pointer.clone(),
            body: Body::Atoms(atoms),
            notes: Vec::new(),
        });
        id
    }
}
