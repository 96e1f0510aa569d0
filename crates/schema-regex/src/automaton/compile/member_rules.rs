//! The statements that the alternatives of an object make on members, each rule once: there are
//! often many alternatives and few rules, so that a name is asked about by rule.
//!
//! For example, a hundred branches of an `anyOf` under one
//! `"additionalProperties": {"type": "string"}` share the rule that members are strings.

use std::collections::HashMap;

use foldhash::quality::RandomState;
use rustc_hash::{FxHashMap, FxHashSet};
use schema_normal::ir::signed::Signed;
use schema_normal::ir::{Name, NodeId, PatternId};
use schema_normal::normal::alternative::{MemberRule, MembersAt, ObjectShape, Scope};
use schema_normal::normal::conjunctions::ConjId;
use schema_normal::normal::demands::rule_says;
use schema_normal::normal::locations::Locations;

use crate::automaton::compile::declared::{AllProperties, Properties};

/// The rules of some alternatives, numbered.
pub(crate) struct Rules<'s> {
    list: Vec<&'s MemberRule>,
    /// The rules of each alternative, those of one after the other.
    of: Vec<u32>,
    /// The ends of the lists of rules, by alternative.
    ends: Vec<usize>,
    /// The number of the list of rules that each alternative has, and how many lists
    /// there are.
    lists: (Vec<u32>, usize),
}

impl<'s> Rules<'s> {
    pub(super) fn new(shapes: &[(u32, &'s ObjectShape)]) -> Rules<'s> {
        let mut rules = Rules {
            list: Vec::new(),
            of: Vec::new(),
            ends: Vec::with_capacity(shapes.len()),
            lists: (Vec::new(), 0),
        };
        // Rules with names are told apart by a hash that a schema cannot make collide.
        let mut members: FxHashMap<(NodeId, u16, bool), u32> = FxHashMap::default();
        let mut others: HashMap<&MemberRule, u32, RandomState> = HashMap::default();
        for (_, shape) in shapes {
            for rule in &shape.rules {
                let fresh = rules.list.len() as u32;
                let number = match rule {
                    MemberRule::Members { node, atom, closed } => {
                        *members.entry((*node, *atom, *closed)).or_insert(fresh)
                    }
                    _ => *others.entry(rule).or_insert(fresh),
                };
                if number == fresh {
                    rules.list.push(rule);
                }
                rules.of.push(number);
            }
            rules.ends.push(rules.of.len());
        }
        let mut known: FxHashMap<&[u32], u32> = FxHashMap::default();
        let lists = (0..shapes.len()).map(|shape| {
            let fresh = known.len() as u32;
            *known.entry(rules.of(shape)).or_insert(fresh)
        });
        let lists: Vec<u32> = lists.collect();
        let count = known.len();
        rules.lists = (lists, count);
        rules
    }

    /// Each rule once.
    pub(super) fn list(&self) -> &[&'s MemberRule] {
        &self.list
    }

    /// The `Members` atoms that the rules look at, and the witnesses of the alternatives;
    /// some repeat.
    pub(super) fn atoms(&self, shapes: &[(u32, &ObjectShape)]) -> impl Iterator<Item = MembersAt> {
        let of_rules = self.list.iter().flat_map(|rule| rule.atoms());
        let witnesses = shapes.iter().flat_map(|(_, shape)| &shape.some);
        of_rules.chain(witnesses.flat_map(|witness| witness.scope.atoms()))
    }

    fn of(&self, shape: usize) -> &[u32] {
        let from = shape.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.of[from..self.ends[shape]]
    }

    /// For each rule the properties of its location, if it has any.
    pub(super) fn properties<'p>(&self, all: &'p AllProperties) -> Vec<Option<&'p Properties>> {
        let of_rules = self.list.iter();
        of_rules.map(|rule| all.get(&rule.members()?)).collect()
    }
}

/// The demands of each of some rules on a name, or on the names of a class.
#[derive(Default)]
pub(crate) struct Said {
    parts: Vec<Signed>,
    /// The ends of the lists of parts, by rule.
    ends: Vec<usize>,
    /// The demands of all rules of each list together, once they were asked for.
    together: Vec<Option<ConjId>>,
}

impl Said {
    fn by(&self, rule: u32) -> &[Signed] {
        let at = rule as usize;
        let from = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.parts[from..self.ends[at]]
    }
}

/// Asks all rules about a name, or (with `None`) those that no keyword names:
/// `value_of` is its location under a rule.
pub(super) fn ask_rules(
    locations: &Locations,
    rules: &Rules<'_>,
    name: Option<&str>,
    matches: &dyn Fn(PatternId) -> bool,
    value_of: impl Fn(usize) -> Option<NodeId>,
    said: &mut Said,
) {
    said.parts.clear();
    said.ends.clear();
    said.together.clear();
    said.together.resize(rules.lists.1, None);
    for (i, rule) in rules.list.iter().enumerate() {
        let from = said.parts.len();
        rule_says(
            locations,
            rule,
            name,
            matches,
            |_| value_of(i),
            &mut said.parts,
        );
        // Most rules say nothing of most names.
        let mut at = from;
        while let Some(part) = said.parts.get(at) {
            match part.truth(locations.schema()) {
                Some(true) => {
                    said.parts.remove(at);
                }
                _ => at += 1,
            }
        }
        said.ends.push(said.parts.len());
    }
}

/// Returns the set of what the rules of an alternative say together.
pub(super) fn conj_said(
    locations: &mut Locations,
    rules: &Rules<'_>,
    shape: usize,
    said: &mut Said,
) -> ConjId {
    let list = rules.lists.0[shape] as usize;
    if let Some(known) = said.together[list] {
        return known;
    }
    let conj = locations.intern_from(|_, parts| {
        for rule in rules.of(shape) {
            parts.extend_from_slice(said.by(*rule));
        }
    });
    said.together[list] = Some(conj);
    conj
}

/// The patterns that some rules look at, and the members that alternatives need, in
/// order, each once.
pub(super) fn patterns_asked(
    locations: &Locations,
    rules: &Rules<'_>,
    shapes: &[(u32, &ObjectShape)],
) -> Vec<PatternId> {
    let mut ids: Vec<PatternId> = Vec::new();
    let mut met: FxHashSet<MembersAt> = FxHashSet::default();
    for at in rules.atoms(shapes) {
        if met.insert(at) {
            let patterns = locations.members(at).patterns.iter();
            ids.extend(patterns.map(|(id, _)| *id));
        }
    }
    let witnesses = shapes.iter().flat_map(|(_, shape)| &shape.some);
    ids.extend(witnesses.filter_map(|witness| match witness.scope {
        Scope::Pattern(id) => Some(id),
        _ => None,
    }));
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// Lists names, most of them once: those of alternatives are often the same ones, shared.
#[derive(Default)]
pub(crate) struct Names {
    pub(super) list: Vec<Name>,
    met: FxHashSet<*const u8>,
}

impl Names {
    pub(super) fn add(&mut self, name: &Name) {
        if self.met.insert(name.as_ptr()) {
            self.list.push(Name::clone(name));
        }
    }
}
