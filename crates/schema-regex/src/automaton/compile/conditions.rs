//! The members that the conditions of an alternative of an object speak of.
//!
//! For example, "`kind` is `a`" and "`kind` is `b`" speak of one member, whose value both ask about.

use std::collections::HashMap;

use rustc_hash::{FxHashMap, FxHashSet};
use schema_normal::Error;
use schema_normal::ir::{ALWAYS, Name, NodeId, PatternId};
use schema_normal::normal::alternative::ObjectShape;
use schema_normal::normal::conditions::{Condition, ConditionId};
use schema_normal::normal::conjunctions::ConjId;
use schema_normal::normal::locations::Locations;
use schema_normal::normal::normaliser::Normaliser;

use crate::automaton::compile::declared::Declared;
use crate::automaton::machine::decisions::FURTHER;

/// The members that the conditions of one alternative speak of.
pub(super) struct Kept {
    pub(super) roots: Vec<ConditionId>,
    pub(super) members: Vec<Asked>,
    /// By the number of a name its place among the members.
    pub(super) places: FxHashMap<u32, usize>,
    /// The same by name.
    pub(super) by_name: HashMap<Name, usize>,
    /// The place of the member that stands for all further ones, if conditions speak of these.
    pub(super) further: Option<usize>,
    /// The patterns whose names are no further members: those that all closed branches have.
    pub(super) patterns: Vec<PatternId>,
}

/// A member that conditions speak of.
pub(super) struct Asked {
    pub(super) number: u32,
    /// The locations that conditions ask about its value.
    pub(super) values: Vec<NodeId>,
    /// The number of conditions that speak of it.
    pub(super) uses: usize,
    /// The kinds of its values, once they were found.
    pub(super) kinds: Vec<ValueKind>,
}

impl Asked {
    fn new(number: u32) -> Asked {
        Asked {
            number,
            values: Vec::new(),
            uses: 0,
            kinds: Vec::new(),
        }
    }
}

/// A kind of values: which of the locations they satisfy.
pub(super) struct ValueKind {
    pub(super) conj: ConjId,
    pub(super) satisfies: Vec<bool>,
}

/// The names that the conditions of an alternative speak of; some repeat.
pub(super) fn names_of_conditions(normaliser: &Normaliser, o: &ObjectShape) -> Vec<Name> {
    let mut names = Vec::new();
    each_condition(normaliser, o, |_, condition| {
        match condition {
            Condition::Member(name, _) => names.push(name.clone()),
            // A name that it mentions is no further name.
            Condition::Closed(node, atom) => {
                names.extend(normaliser.members((*node, *atom)).names.order().cloned());
            }
            _ => {}
        }
    });
    names
}

fn source_of(locations: &Locations, pattern: PatternId) -> Option<&str> {
    let entry = locations.schema().pattern(pattern);
    entry.pattern.is_ok().then_some(&*entry.source)
}

/// Says whether patterns are the same ones.
fn are_alike(locations: &Locations, some: &[PatternId], others: &[PatternId]) -> bool {
    let is_alike = |(a, b): (&PatternId, &PatternId)| {
        a == b || source_of(locations, *a).is_some_and(|a| source_of(locations, *b) == Some(a))
    };
    some.len() == others.len() && some.iter().zip(others).all(is_alike)
}

/// Tells each condition that an alternative consists of once, and by how many others,
/// and in order of their first mention.
fn each_condition(
    normaliser: &Normaliser,
    o: &ObjectShape,
    mut tell: impl FnMut(ConditionId, &Condition),
) {
    let mut met: FxHashSet<ConditionId> = FxHashSet::default();
    let mut todo: Vec<ConditionId> = o.conditions.iter().rev().copied().collect();
    while let Some(id) = todo.pop() {
        if met.insert(id) {
            let condition = normaliser.conditions().get(id);
            tell(id, condition);
            todo.extend(condition.parts().iter().rev());
        }
    }
}

impl Kept {
    /// `None` if an alternative has no conditions; refused where closed branches name members by
    /// different patterns.
    pub(super) fn new(
        at: NodeId,
        o: &ObjectShape,
        names: &Declared,
        normaliser: &Normaliser,
    ) -> Result<Option<Kept>, Error> {
        if o.conditions.is_empty() {
            return Ok(None);
        }
        let mut kept = Kept {
            roots: o.conditions.iter().copied().collect(),
            members: Vec::new(),
            places: FxHashMap::default(),
            by_name: HashMap::new(),
            further: None,
            patterns: Vec::new(),
        };
        let mut patterns: Option<Vec<PatternId>> = None;
        let mut are_same = true;
        let mut closed = 0;
        let mut uses: FxHashMap<ConditionId, usize> = FxHashMap::default();
        each_condition(normaliser, o, |_, condition| {
            for part in condition.parts() {
                *uses.entry(*part).or_default() += 1;
            }
        });
        each_condition(normaliser, o, |id, condition| {
            let uses = uses.get(&id).copied().unwrap_or(1);
            let (name, value) = match condition {
                Condition::Member(name, value) => (name, *value),
                Condition::Closed(node, atom) => {
                    closed += uses;
                    let own = normaliser.members((*node, *atom)).patterns.iter();
                    let mut own: Vec<PatternId> = own.map(|(id, _)| *id).collect();
                    own.sort_unstable_by_key(|id| source_of(normaliser, *id));
                    match &patterns {
                        Some(known) => are_same &= are_alike(normaliser, known, &own),
                        None => patterns = Some(own),
                    }
                    return;
                }
                _ => return,
            };
            if let Some(number) = names.number(name) {
                let place = kept.place(name, number);
                let asked = &mut kept.members[place];
                asked.uses += uses;
                if value != ALWAYS {
                    asked.values.push(value);
                }
            }
        });
        if closed > 0 {
            for (number, name) in (0..).zip(names.order()) {
                let place = kept.place(name, number);
                kept.members[place].uses += closed;
            }
            kept.further = Some(kept.members.len());
            kept.members.push(Asked {
                uses: closed,
                ..Asked::new(FURTHER)
            });
        }
        if !are_same {
            return Err(normaliser.too_many_alternatives(at));
        }
        kept.patterns = patterns.unwrap_or_default();
        Ok(Some(kept))
    }

    /// The place of a name among the members, which gets one if it has none.
    fn place(&mut self, name: &Name, number: u32) -> usize {
        let fresh = self.members.len();
        let place = *self.places.entry(number).or_insert(fresh);
        if place == fresh {
            self.by_name.insert(name.clone(), fresh);
            self.members.push(Asked::new(number));
        }
        place
    }

    /// The patterns that tell which further members conditions speak of.
    pub(super) fn patterns(&self) -> &[PatternId] {
        &self.patterns
    }

    /// The work that a choice of further members takes: none of what a pattern names.
    pub(super) fn further_take(&self, matches: impl Fn(PatternId) -> bool) -> u32 {
        let is_named = self.patterns.iter().any(|id| matches(*id));
        u32::from(self.further.is_some() && !is_named)
    }

    /// Says whether conditions speak of a name.
    pub(super) fn asks(&self, number: u32) -> bool {
        self.places.contains_key(&number)
    }
}
