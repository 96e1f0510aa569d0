//! The locations of a schema, and those that it implies; sets of them that hold together; the work
//! that asking about them takes, and the errors about them.
//!
//! For example `{"type": "object", "properties": {"a": {"const": [1]}}}` has three locations, the
//! schema, `a`, and what further members are. A fourth is implied once it is asked what the item of
//! `a` is: the `1` in its list. Nothing is searched here: what a set of locations admits is the
//! question of the [`Normaliser`](crate::normal::normaliser::Normaliser).

use std::collections::HashMap;

use rustc_hash::FxHashMap;
use serde_json::Value;

use crate::budget::{Budget, Limit, STEP};
use crate::error::{Error, ErrorKind};
use crate::ir::signed::Signed;
use crate::ir::{ALWAYS, Atom, AtomKind, Body, Members, NodeId, PatternId, Schema};
use crate::normal::alternative::{At, MembersAt};
use crate::normal::conjunctions::{ConjId, Conjs, Interner};
use crate::options::{Complements, Options, Target};
use crate::validate;

/// The locations of a schema and those made on the way, with the budget of the compilation.
pub struct Locations {
    pub(super) schema: Schema,
    options: Options,
    /// The target that the schema is compiled to: targets narrow formats in different ways.
    target: Target,
    complements: Complements,
    budget: Budget,
    sets: Interner,
    evaluates: FxHashMap<NodeId, bool>,
    pub(super) containers: HashMap<String, NodeId>,
    pub(super) unions: FxHashMap<(NodeId, Vec<NodeId>), NodeId>,
    /// Room for the parts of a set that is made.
    parts: Vec<Signed>,
}

impl Locations {
    /// Returns the locations of a schema, with room for some sets of them.
    pub(super) fn new(
        schema: Schema,
        options: Options,
        target: Target,
        complements: Complements,
        room: usize,
    ) -> Locations {
        let budget = Budget::new(options.max_steps);
        Locations {
            schema,
            options,
            target,
            complements,
            budget,
            sets: Interner::with_room(room),
            evaluates: FxHashMap::default(),
            containers: HashMap::new(),
            unions: FxHashMap::default(),
            parts: Vec::new(),
        }
    }

    /// Returns the schema, with the locations that were made.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Returns the options of the compilation.
    pub fn options(&self) -> &Options {
        &self.options
    }

    pub(super) fn target(&self) -> Target {
        self.target
    }

    /// Returns the work that is left.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Returns the treatment of the complement of a format that is enforced in part.
    pub(super) fn complements(&self) -> Complements {
        self.complements
    }

    /// Returns the schema, with what it implies, and all sets of its locations.
    pub(super) fn into_parts(mut self) -> (Schema, Conjs) {
        for pattern in &mut self.schema.patterns {
            pattern.forget();
        }
        (self.schema, self.sets.into_sets())
    }

    /// Returns the numbers of all sets that were made.
    pub fn sets(&self) -> impl ExactSizeIterator<Item = ConjId> {
        self.sets.sets().all()
    }

    /// Returns the parts of a set, in order.
    pub fn conj(&self, id: ConjId) -> &[Signed] {
        self.sets.sets().of(id)
    }

    /// Returns the set of some parts: each once, without those that say nothing.
    pub fn intern(&mut self, parts: &[Signed]) -> ConjId {
        self.sets.intern(&self.schema, parts)
    }

    /// Returns the set of the parts that are put into an empty list, whose room is kept.
    pub fn intern_from(&mut self, put: impl FnOnce(&Locations, &mut Vec<Signed>)) -> ConjId {
        let mut parts = std::mem::take(&mut self.parts);
        put(self, &mut parts);
        let conj = self.intern(&parts);
        parts.clear();
        self.parts = parts;
        conj
    }

    /// Returns the JSON Pointer of a location.
    pub fn pointer(&self, node: NodeId) -> String {
        self.schema.node(node).pointer.to_string()
    }

    /// The location that an error about a conjunction names.
    pub fn first_of(&self, conj: ConjId) -> NodeId {
        self.conj(conj).first().map_or(ALWAYS, |s| s.node)
    }

    pub(super) fn spend(&self, at: NodeId) -> Result<(), Error> {
        self.work(at, STEP)
    }

    /// Charges units of work at a location, of which [`STEP`] are a step. Fails where they are spent.
    pub fn work(&self, at: NodeId, units: usize) -> Result<(), Error> {
        match self.budget.take(units) {
            true => Ok(()),
            false => Err(self.too_many_steps(at, None)),
        }
    }

    /// Returns the error about the steps, at a keyword of a location or else at its widest one.
    pub fn too_many_steps(&self, at: NodeId, keyword: Option<&str>) -> Error {
        let steps = self.options.max_steps;
        let what = format!(
            "takes more than {steps} steps to compile; simplify it or raise Options::max_steps"
        );
        let kind = ErrorKind::TooManySteps;
        match keyword {
            Some(keyword) => {
                let message = format!("`{keyword}`: it {what}");
                Error::at(kind, self.pointer(at), keyword, message)
            }
            None => self.too_much(kind, at, &what),
        }
    }

    /// Returns the error about the alternatives, at the widest keyword of a location.
    pub fn too_many_alternatives(&self, at: NodeId) -> Error {
        let most = self.options.max_alternatives;
        self.too_much(
            ErrorKind::TooManyAlternatives,
            at,
            &format!(
                "has more than {most} alternatives; simplify it or raise Options::max_alternatives"
            ),
        )
    }

    fn too_much(&self, kind: ErrorKind, at: NodeId, what: &str) -> Error {
        match widest(&self.schema, at) {
            (at, Some(keyword)) => Error::at(
                kind,
                self.pointer(at),
                keyword,
                format!("`{keyword}`: the location {what}"),
            ),
            (at, None) => Error::new(kind, self.pointer(at), format!("the location {what}")),
        }
    }

    /// A keyword that cannot be enforced.
    pub fn refusal(&self, at: At, reason: &str) -> Error {
        Error::at(
            ErrorKind::Refused,
            &self.schema.node(at.0).pointer,
            at.1,
            format!("`{}`: {reason}", at.1),
        )
    }

    /// A keyword whose complement cannot be enforced.
    pub fn not_negated(&self, at: At, what: &str) -> Error {
        self.refusal(at, &format!("{what} {NOT_NEGATED}"))
    }

    /// Returns the number of states that automata may have, and the work that is left.
    pub fn limit(&self) -> Limit<'_> {
        Limit::new(self.options.max_automaton_states, &self.budget)
    }

    /// Returns a `Members` atom of a location.
    pub fn members(&self, (node, atom): MembersAt) -> &Members {
        match &self.schema.node(node).atoms()[atom as usize].kind {
            AtomKind::Members(members) => members,
            _ => unreachable!("a rule names the members of a location"),
        }
    }

    /// Tells whether a name matches a pattern of the schema.
    pub fn name_matches(&self, id: PatternId, name: &str) -> bool {
        let entry = self.schema.pattern(id);
        // Work over the budget is refused at the next location.
        let states = 1 + entry.source.len() / 4;
        self.budget.take(8 + name.len().saturating_mul(states));
        entry.holds(name)
    }

    /// Tells whether a location evaluates members or items, itself or in place.
    pub(super) fn evaluates(&mut self, node: NodeId) -> bool {
        if let Some(known) = self.evaluates.get(&node) {
            return *known;
        }
        let mut todo = vec![node];
        let mut seen = vec![node];
        let mut answer = false;
        while let Some(at) = todo.pop() {
            for atom in self.schema.node(at).atoms() {
                match &atom.kind {
                    AtomKind::Members(_)
                    | AtomKind::Items(_)
                    | AtomKind::Contains { .. }
                    | AtomKind::UnevaluatedItems(_)
                    | AtomKind::UnevaluatedProperties(_) => answer = true,
                    // A complement evaluates nothing.
                    AtomKind::Not(_) => {}
                    other => other.in_place(|n| {
                        if !seen.contains(&n) {
                            seen.push(n);
                            todo.push(n);
                        }
                    }),
                }
            }
        }
        self.evaluates.insert(node, answer);
        answer
    }

    /// Tells whether a value satisfies some locations together.
    pub fn holds(&self, parts: &[Signed], value: &Value) -> Result<bool, Error> {
        let (target, complements) = (self.target, self.complements);
        validate::holds(
            &self.schema,
            &self.options,
            target,
            complements,
            &self.budget,
            parts,
            value,
        )
    }

    /// Tells whether a name, as a string, satisfies some locations.
    pub fn name_satisfies(&self, names: &[Signed], name: &str) -> Result<bool, Error> {
        if names.is_empty() {
            return Ok(true);
        }
        self.holds(names, &Value::String(name.to_owned()))
    }
}

/// The end of the reason of an error that is about a complement, one text because errors are told
/// apart by it.
pub(super) const NOT_NEGATED: &str = "cannot be negated (by `not`, `oneOf`, `if` or the like)";

/// The most references that an error follows to the place that it names, because references may
/// lead in a circle.
const MAX_FOLLOWED: usize = 1_000;

/// The keyword of a location that leads furthest: what an error names when the
/// location is too much as a whole. References that stand alone are followed.
fn widest(schema: &Schema, mut at: NodeId) -> (NodeId, Option<&'static str>) {
    for _ in 0..MAX_FOLLOWED {
        match &schema.node(at).body {
            Body::Atoms(atoms) => match &atoms[..] {
                [
                    Atom {
                        kind: AtomKind::Ref(to),
                        ..
                    },
                ] => at = *to,
                _ => {
                    let widest = atoms.iter().rev().max_by_key(|atom| width(&atom.kind));
                    return (at, widest.map(|atom| atom.keyword));
                }
            },
            _ => break,
        }
    }
    (at, None)
}

/// Returns the number of locations or values that a keyword leads to or lists.
fn width(kind: &AtomKind) -> usize {
    match kind {
        AtomKind::AllOf(nodes) | AtomKind::AnyOf(nodes) | AtomKind::OneOf(nodes) => 2 * nodes.len(),
        AtomKind::Values(values) => values.len(),
        AtomKind::Members(members) => members.names.order().len() + members.patterns.len(),
        AtomKind::Required(names) => names.len(),
        AtomKind::DependentRequired(lists) => lists.iter().map(|(_, names)| 1 + names.len()).sum(),
        AtomKind::DependentSchemas(list) => 2 * list.len(),
        AtomKind::Items(items) => 1 + items.prefix.len(),
        AtomKind::Type { .. } => 0,
        _ => 1,
    }
}
