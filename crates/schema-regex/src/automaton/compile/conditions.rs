//! Makes diagrams of the conditions that alternatives of an object keep.
//!
//! For each member that a condition speaks of, the first step finds which kinds of values
//! conditions tell apart: for example, "`kind` is `a`" and "`kind` is `b`" have three, the one, the
//! other, and all further values. Each is a goal of its own, so that the value tells its kind when
//! it ends. Conditions that have no member in common get diagrams of their own; in each diagram
//! come first the members that most conditions speak of, and then those of branch after branch.

use std::cmp::Reverse;
use std::collections::HashMap;

use fsm_tables::{Alphabet, Keep, Table, product};
use rustc_hash::{FxHashMap, FxHashSet};
use schema_normal::Error;
use schema_normal::budget::{Limit, STEP, TooBig};
use schema_normal::ir::signed::Signed;
use schema_normal::ir::{ALWAYS, Name, NodeId, PatternId};
use schema_normal::language::char_dfa::CharDfa;
use schema_normal::language::re::product::Part;
use schema_normal::normal::alternative::{ALL_KINDS, Kind, ObjectShape, Shape};
use schema_normal::normal::conditions::{Condition, ConditionId};
use schema_normal::normal::conjunctions::{ConjId, NONE};
use schema_normal::normal::known::truth_of;
use schema_normal::normal::locations::Locations;
use schema_normal::normal::normaliser::Normaliser;
use schema_normal::normal::search::shapes::{has_shapes, shapes_of};
use schema_normal::values;
use serde_json::Value;

use crate::automaton::compile::builder::Builder;
use crate::automaton::compile::declared::Declared;
use crate::automaton::compile::{leaves, strings};
use crate::automaton::machine::decisions::{
    Decision, Decisions, Diagram, FIRST_DECISION, FURTHER, Level, Presence,
};
use crate::automaton::machine::node::Member;

/// The members that the conditions of one alternative speak of.
pub(super) struct Kept {
    roots: Vec<ConditionId>,
    members: Vec<Asked>,
    /// By the number of a name its place among the members.
    places: FxHashMap<u32, usize>,
    /// The same by name.
    by_name: HashMap<Name, usize>,
    /// The place of the member that stands for all further ones, if conditions speak of these.
    further: Option<usize>,
    /// The patterns whose names are no further members: those that all closed branches have.
    patterns: Vec<PatternId>,
}

/// A member that conditions speak of.
struct Asked {
    number: u32,
    /// The locations that conditions ask about its value.
    values: Vec<NodeId>,
    /// The number of conditions that speak of it.
    uses: usize,
    /// The kinds of its values, once they were found.
    kinds: Vec<ValueKind>,
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
    satisfies: Vec<bool>,
}

/// The names that the conditions of an alternative speak of; some repeat.
pub(super) fn names_of_conditions(normaliser: &Normaliser, o: &ObjectShape) -> Vec<Name> {
    let mut names = Vec::new();
    each_condition(normaliser, o, |_, condition| {
        match condition {
            Condition::Member(name, _) => names.push(name.clone()),
            // A name that it mentions is no further name.
            Condition::Closed(node, atom) => {
                names.extend(normaliser.names_of((*node, *atom)).cloned());
            }
            _ => {}
        }
    });
    names
}

fn source_of(locations: &Locations, pattern: PatternId) -> Option<&str> {
    let pattern = locations.schema().pattern(pattern).pattern.as_ref().ok()?;
    Some(&pattern.source)
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
                    let mut own: Vec<PatternId> = normaliser.patterns_of((*node, *atom)).collect();
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

/// The kinds of values of a member that satisfies a conjunction, as far as conditions tell
/// them apart.
pub(super) fn kinds_of_values<'k>(
    builder: &mut Builder,
    kept: &'k mut Kept,
    number: u32,
    base: ConjId,
) -> Result<&'k [ValueKind], Error> {
    let asked = &mut kept.members[kept.places[&number]];
    asked.kinds = value_kinds(builder, base, &asked.values)?;
    Ok(&asked.kinds)
}

fn value_kinds(
    builder: &mut Builder,
    base: ConjId,
    asked: &[NodeId],
) -> Result<Vec<ValueKind>, Error> {
    if asked.is_empty() {
        let satisfies = Vec::new();
        return Ok(vec![ValueKind {
            conj: base,
            satisfies,
        }]);
    }
    let at = builder.normaliser.first_of(base);
    let mut out: Vec<ValueKind> = Vec::new();
    let (listed, others) = listed_kinds(builder, base, asked, &mut out)?;
    // The values that are not listed.
    if let Some(rest) = others {
        let left: Vec<usize> = (0..asked.len()).filter(|i| !listed[*i]).collect();
        if left.len() >= MANY_EXPRESSIONS
            && let Some(verdicts) = verdicts(builder, rest, asked, &left)?
        {
            add_verdicts(builder, rest, asked, &verdicts, &mut out)?;
            return Ok(out);
        }
        let mut open = vec![ValueKind {
            conj: rest,
            satisfies: vec![false; asked.len()],
        }];
        for (i, value) in asked.iter().enumerate() {
            if listed[i] {
                continue;
            }
            let mut parted = Vec::with_capacity(open.len() + 1);
            for kind in open {
                for holds in [true, false] {
                    let part = Signed {
                        node: *value,
                        positive: holds,
                    };
                    let conj = met(builder, kind.conj, &[part]);
                    if may_be_some(builder, conj)? {
                        let mut satisfies = kind.satisfies.clone();
                        satisfies[i] = holds;
                        parted.push(ValueKind { conj, satisfies });
                    }
                }
            }
            open = parted;
            if open.len() > builder.options().max_automaton_states {
                return Err(builder.normaliser.too_many_alternatives(at));
            }
        }
        out.extend(open);
    }
    Ok(out)
}

/// Which of some locations a value may satisfy at once, and no others of them, as far as all
/// of its strings are told by one automaton each; `None` where that is not so.
fn verdicts(
    builder: &mut Builder,
    base: ConjId,
    asked: &[NodeId],
    left: &[usize],
) -> Result<Option<Vec<Vec<usize>>>, Error> {
    let mut all: Vec<Vec<usize>> = Vec::new();
    for kind in ALL_KINDS {
        if kind == Kind::String || !has_shapes(&mut builder.normaliser, base, kind)? {
            continue;
        }
        let mut satisfied = Vec::new();
        for i in left {
            match truth_of(&mut builder.normaliser, asked[*i], kind) {
                Some(true) => satisfied.push(*i),
                Some(false) => {}
                None => return Ok(None),
            }
        }
        all.push(satisfied);
    }
    let mut parts = Vec::with_capacity(left.len());
    for i in left {
        match only_part(builder, asked[*i])? {
            Some(part) => parts.push((part, *i)),
            None => return Ok(None),
        }
    }
    if let Ok(of_strings) = verdicts_of(parts, builder.normaliser.limit()) {
        all.extend(of_strings);
        all.sort_unstable();
        all.dedup();
        return Ok(Some(all));
    }
    Ok(None)
}

/// The strings of a location, if one automaton tells them.
fn only_part(builder: &mut Builder, node: NodeId) -> Result<Option<Part>, Error> {
    let conj = builder.normaliser.intern(&[Signed::yes(node)]);
    let shapes = shapes_of(&mut builder.normaliser, conj, Kind::String)?;
    let shape = match &shapes[..] {
        [] => return Ok(Some(CharDfa::never().part())),
        [Shape::String(shape)] => shape.clone(),
        _ => return Ok(None),
    };
    Ok(match &leaves::string_leaves(builder, &shape)?[..] {
        [] => Some(CharDfa::never().part()),
        [leaf] if leaf.lengths.is_none() && !leaf.excludes => {
            leaf.dfa.as_ref().map(|dfa| dfa.part())
        }
        _ => None,
    })
}

/// Adds the kinds of values that satisfy some locations at once, and no others.
fn add_verdicts(
    builder: &mut Builder,
    base: ConjId,
    asked: &[NodeId],
    verdicts: &[Vec<usize>],
    out: &mut Vec<ValueKind>,
) -> Result<(), Error> {
    let at = builder.normaliser.first_of(base);
    for own in verdicts {
        // Others than those that are satisfied beside it need not be denied.
        let mut beside: Vec<usize> = Vec::new();
        for other in verdicts {
            builder.normaliser.work(at, 1 + other.len())?;
            if own.iter().all(|i| other.binary_search(i).is_ok()) {
                beside.extend(other);
            }
        }
        beside.sort_unstable();
        beside.dedup();
        beside.retain(|i| own.binary_search(i).is_err());
        let denied = beside.iter().map(|i| Signed::no(asked[*i]));
        let mut parts: Vec<Signed> = own.iter().map(|i| Signed::yes(asked[*i])).collect();
        parts.extend(denied);
        builder.normaliser.work(at, STEP * (1 + parts.len()))?;
        let conj = met(builder, base, &parts);
        if may_be_some(builder, conj)? {
            let mut satisfies = vec![false; asked.len()];
            own.iter().for_each(|i| satisfies[*i] = true);
            out.push(ValueKind { conj, satisfies });
        }
    }
    Ok(())
}

/// Adds the kinds of values that some location lists. Tells which of the locations list
/// theirs, and the conjunction of what none of them lists.
fn listed_kinds(
    builder: &mut Builder,
    base: ConjId,
    asked: &[NodeId],
    out: &mut Vec<ValueKind>,
) -> Result<(Vec<bool>, Option<ConjId>), Error> {
    let at = builder.normaliser.first_of(base);
    let own = builder.normaliser.candidates(base);
    // By spelling the listed values, and the locations that list them.
    let mut values: HashMap<String, (Value, Vec<usize>)> = HashMap::new();
    let mut listed = vec![false; asked.len()];
    for value in own.iter().flat_map(|own| own.iter()) {
        let spelt = values::canonical_value(value);
        values.insert(spelt, (value.clone(), Vec::new()));
    }
    for (i, node) in asked.iter().enumerate() {
        let conj = builder.normaliser.intern(&[Signed::yes(*node)]);
        let Some(list) = builder.normaliser.candidates(conj) else {
            continue;
        };
        listed[i] = true;
        builder.normaliser.work(at, STEP * list.len())?;
        for value in list.iter() {
            let spelt = values::canonical_value(value);
            match values.get_mut(&spelt) {
                Some((_, by)) => by.push(i),
                None if own.is_none() => {
                    values.insert(spelt, (value.clone(), vec![i]));
                }
                None => {}
            }
        }
    }
    let others: Vec<usize> = (0..asked.len()).filter(|i| !listed[*i]).collect();
    let mut kinds: HashMap<Vec<usize>, Vec<String>> = HashMap::new();
    for (spelt, (value, by)) in &mut values {
        builder.normaliser.work(at, STEP * (1 + others.len()))?;
        if own.is_none()
            && !builder
                .normaliser
                .holds(builder.normaliser.conj(base), value)?
        {
            by.clear();
            continue;
        }
        for i in &others {
            if builder.normaliser.holds(&[Signed::yes(asked[*i])], value)? {
                by.push(*i);
            }
        }
        by.sort_unstable();
        kinds.entry(by.clone()).or_default().push(spelt.clone());
    }
    let mut kinds: Vec<(Vec<usize>, Vec<String>)> = kinds.into_iter().collect();
    kinds.sort_unstable();
    for (by, _) in &kinds {
        let mut parts: Vec<Signed> = by.iter().map(|i| Signed::yes(asked[*i])).collect();
        // Deny only those others that a value beside it may satisfy.
        let anchor = by.iter().find(|i| listed[**i]);
        let mut against: FxHashSet<usize> = others.iter().copied().collect();
        for (other, _) in &kinds {
            if anchor.is_none_or(|anchor| other.contains(anchor)) {
                against.extend(other);
            }
        }
        let against = against.into_iter().filter(|i| !by.contains(i));
        parts.extend(against.map(|i| Signed::no(asked[i])));
        builder.normaliser.work(at, STEP * parts.len())?;
        let mut satisfies = vec![false; asked.len()];
        by.iter().for_each(|i| satisfies[*i] = true);
        let conj = met(builder, base, &parts);
        if conj != NONE {
            out.push(ValueKind { conj, satisfies });
        }
    }
    if own.is_some() {
        return Ok((listed, None));
    }
    let none = (0..asked.len()).filter(|i| listed[*i]);
    let none: Vec<Signed> = none.map(|i| Signed::no(asked[i])).collect();
    let rest = met(builder, base, &none);
    let rest = may_be_some(builder, rest)?.then_some(rest);
    Ok((listed, rest))
}

/// A conjunction with some more parts.
fn met(builder: &mut Builder, conj: ConjId, parts: &[Signed]) -> ConjId {
    let mut all = builder.normaliser.conj(conj).to_vec();
    all.extend_from_slice(parts);
    builder.normaliser.intern(&all)
}

/// Says whether some value may satisfy a conjunction, as far as that is found without what is in
/// it.
fn may_be_some(builder: &mut Builder, conj: ConjId) -> Result<bool, Error> {
    if conj == NONE {
        return Ok(false);
    }
    for kind in ALL_KINDS {
        if kind != Kind::String && has_shapes(&mut builder.normaliser, conj, kind)? {
            return Ok(true);
        }
    }
    Ok(strings::strings(builder, &[conj])?.is_some())
}

/// The diagrams of the conditions of one alternative, whose bits begin at a place.
pub(super) fn decisions(
    builder: &mut Builder,
    at: NodeId,
    (thread, kept): (u32, &Kept),
    required: &[u32],
    declared: &[Member],
    mut facts: u32,
) -> Result<Decisions, Error> {
    let (order, ends) = levels_of(builder, kept);
    if order.len() > MOST_LEVELS {
        return Err(builder.normaliser.too_many_alternatives(at));
    }
    let level_of_place: FxHashMap<usize, u32> = order.iter().copied().zip(0u32..).collect();
    let mut levels = Vec::with_capacity(order.len());
    let mut ways = 0;
    for place in &order {
        let asked = &kept.members[*place];
        let mut goals = vec![0; asked.kinds.len()];
        let member = declared.get(asked.number as usize);
        for choice in member.iter().flat_map(|member| member.of(thread)) {
            if let Some(kind) = choice.take.checked_sub(1) {
                goals[kind as usize] = choice.goal;
            }
        }
        if asked.number == FURTHER {
            goals.push(0);
        }
        let presence = match required.contains(&asked.number) {
            true => Presence::Required,
            false => Presence::Free,
        };
        let level = Level::new(asked.number, presence, goals, facts, ways);
        ways += 1 + level.goals.len() as u32;
        facts += level.facts_count();
        levels.push(level);
    }
    let mut made = Made {
        normaliser: &builder.normaliser,
        at,
        kept,
        level_of_place,
        levels: &levels,
        list: Vec::new(),
        ids: FxHashMap::default(),
        known: FxHashMap::default(),
        conditions: FxHashMap::default(),
    };
    let mut diagrams = Vec::with_capacity(ends.len());
    let mut from = 0;
    for (roots, end) in ends {
        let roots = roots.iter().map(|root| made.condition(*root));
        let roots: Vec<u32> = roots.collect::<Result<_, _>>()?;
        let root = made.folded(Op::All, roots)?;
        diagrams.push(Diagram::new(root, from, end));
        from = end;
    }
    let decisions = made.reached(&mut diagrams);
    if decisions.len() > builder.options().max_automaton_states {
        return Err(builder.normaliser.too_many_alternatives(at));
    }
    let names = declared.len() as u32;
    Ok(Decisions::new(levels, decisions, diagrams, names, thread))
}

/// The members by level, and for each diagram its conditions and where its levels end.
fn levels_of(builder: &Builder, kept: &Kept) -> (Vec<usize>, Vec<(Vec<ConditionId>, u32)>) {
    let known = builder.normaliser.conditions();
    // Members that one condition speaks of are of one diagram.
    let mut up: Vec<usize> = (0..kept.members.len()).collect();
    fn top(up: &mut [usize], mut at: usize) -> usize {
        while up[at] != at {
            up[at] = up[up[at]];
            at = up[at];
        }
        at
    }
    let mut first_of: Vec<Option<usize>> = Vec::with_capacity(kept.roots.len());
    for root in &kept.roots {
        let mut first = None;
        let mut met: FxHashSet<ConditionId> = FxHashSet::default();
        let mut todo = vec![*root];
        while let Some(id) = todo.pop() {
            if !met.insert(id) {
                continue;
            }
            let condition = known.get(id);
            todo.extend(condition.parts());
            let places = match condition {
                Condition::Member(name, _) => kept.by_name.get(name).copied(),
                // All are.
                Condition::Closed(..) => {
                    up.fill(0);
                    Some(0)
                }
                _ => None,
            };
            if let Some(place) = places {
                let first = *first.get_or_insert(place);
                let (a, b) = (top(&mut up, first), top(&mut up, place));
                up[a.max(b)] = a.min(b);
            }
        }
        first_of.push(first);
    }
    let mut groups: Vec<(usize, Vec<usize>, Vec<ConditionId>)> = Vec::new();
    let mut group_of: FxHashMap<usize, usize> = FxHashMap::default();
    for place in 0..kept.members.len() {
        let top = top(&mut up, place);
        let fresh = groups.len();
        let group = *group_of.entry(top).or_insert(fresh);
        if group == fresh {
            groups.push((top, Vec::new(), Vec::new()));
        }
        groups[group].1.push(place);
    }
    for (root, first) in kept.roots.iter().zip(first_of) {
        let group = first.map(|first| group_of[&top(&mut up, first)]);
        match group {
            Some(group) => groups[group].2.push(*root),
            // A constant: it stands alone.
            None => groups.push((usize::MAX, Vec::new(), vec![*root])),
        }
    }
    let mut order = Vec::with_capacity(kept.members.len());
    let mut ends = Vec::with_capacity(groups.len());
    for (_, mut places, roots) in groups {
        places.sort_by_key(|place| Reverse(sharing(kept.members[*place].uses)));
        order.extend(places);
        ends.push((roots, order.len() as u32));
    }
    (order, ends)
}

/// From so many expressions on one search finds which of them a string satisfies together, because
/// asking for one after the other may double the kinds each time.
const MANY_EXPRESSIONS: usize = 4;

/// Which of some automata a text satisfies at once, and no others of them, for all texts. They
/// are met two by two.
fn verdicts_of(parts: Vec<(Part, usize)>, mut limit: Limit<'_>) -> Result<Vec<Vec<usize>>, TooBig> {
    // By number the sets of places that a text satisfies: those of one automaton are numbered
    // as they are met.
    let mut all: Vec<(Alphabet, Table<u32>, Vec<Vec<usize>>)> = Vec::with_capacity(parts.len());
    for (part, place) in parts {
        let table = part.table.labelled(u32::from);
        all.push((part.alphabet, table, vec![Vec::new(), vec![place]]));
    }
    while all.len() > 1 {
        let mut met = Vec::with_capacity(all.len().div_ceil(2));
        let mut rest = all.into_iter();
        while let Some((alphabet, table, sets)) = rest.next() {
            let Some((other, other_table, other_sets)) = rest.next() else {
                met.push((alphabet, table, sets));
                break;
            };
            let (common, own) = Alphabet::common(&[&alphabet, &other]);
            let cells = (table.states() + other_table.states()) * common.len();
            limit.charge(cells / 8)?;
            let both = product(
                &table.over(&own[0]),
                &other_table.over(&own[1]),
                Keep::Every,
                |a, b| (a.copied().unwrap_or(0), b.copied().unwrap_or(0)),
                &mut limit,
            )?;
            let mut numbers: FxHashMap<(u32, u32), u32> = FxHashMap::default();
            // The first set is that of nothing.
            numbers.insert((0, 0), 0);
            let mut both_sets: Vec<Vec<usize>> = vec![Vec::new()];
            let both = both.labelled(|(a, b)| {
                let fresh = both_sets.len() as u32;
                let number = *numbers.entry((a, b)).or_insert(fresh);
                if number == fresh {
                    let mut set = sets[a as usize].clone();
                    set.extend(&other_sets[b as usize]);
                    both_sets.push(set);
                }
                number
            });
            met.push((common, both, both_sets));
        }
        all = met;
    }
    let Some((_, table, sets)) = all.pop() else {
        return Err(TooBig);
    };
    let mut met: Vec<u32> = table.labels().to_vec();
    // A text that leaves the automaton of one part alone satisfies nothing.
    met.push(0);
    met.sort_unstable();
    met.dedup();
    let sets = met.into_iter().map(|number| {
        let mut set = sets[number as usize].clone();
        set.sort_unstable();
        set
    });
    Ok(sets.collect())
}

/// Roughly how much a member is shared, by the number of conditions that speak of it: members of
/// one branch alone stay together, since a diagram that has the members of a branch far apart
/// remembers between them which of the branches may still hold.
fn sharing(uses: usize) -> u32 {
    /// Counts within this factor are alike, because only the order of magnitude matters.
    const ABOUT_ALIKE: usize = 8;
    uses.max(1).ilog(ABOUT_ALIKE)
}

/// A diagram has no more levels, because what meets two of them calls itself at each level.
const MOST_LEVELS: usize = 2_500;

/// The operation by which two diagrams are met.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Op {
    All,
    Any,
    /// Counts those that hold; two stand for any greater number.
    Sum,
}

/// The number of "two hold, or more", because the ends below it are "none" and "one".
const TWO: u32 = 2;
/// The first decision while diagrams are made, because the numbers below are ends.
const FIRST: u32 = 3;

/// Diagrams as they are made.
struct Made<'a> {
    normaliser: &'a Normaliser,
    at: NodeId,
    kept: &'a Kept,
    level_of_place: FxHashMap<usize, u32>,
    levels: &'a [Level],
    list: Vec<(u32, Box<[u32]>)>,
    ids: FxHashMap<(u32, Box<[u32]>), u32>,
    known: FxHashMap<(Op, u32, u32), u32>,
    conditions: FxHashMap<ConditionId, u32>,
}

impl Made<'_> {
    fn decision(&mut self, level: u32, to: Vec<u32>) -> Result<u32, Error> {
        self.normaliser.work(self.at, STEP / 4 * (1 + to.len()))?;
        if to.iter().all(|one| *one == to[0]) {
            return Ok(to[0]);
        }
        let key = (level, to.into_boxed_slice());
        if let Some(known) = self.ids.get(&key) {
            return Ok(*known);
        }
        self.list.push(key.clone());
        let id = self.list.len() as u32 - 1 + FIRST;
        self.ids.insert(key, id);
        Ok(id)
    }

    fn condition(&mut self, id: ConditionId) -> Result<u32, Error> {
        if let Some(known) = self.conditions.get(&id) {
            return Ok(*known);
        }
        let made = match self.normaliser.conditions().get(id) {
            Condition::Is(is) => u32::from(*is),
            Condition::Member(name, value) => self.member(name, *value)?,
            Condition::Closed(node, atom) => self.closed(*node, *atom)?,
            Condition::Not(of) => {
                let of = self.condition(*of)?;
                let mut known = FxHashMap::default();
                self.mapped(of, [1, 0, 0], &mut known)?
            }
            Condition::All(parts) => {
                let parts = self.parts(parts)?;
                self.folded(Op::All, parts)?
            }
            Condition::Any(parts) => {
                let parts = self.parts(parts)?;
                self.folded(Op::Any, parts)?
            }
            Condition::One(parts) => {
                let parts = self.parts(parts)?;
                let sum = self.folded(Op::Sum, parts)?;
                let mut known = FxHashMap::default();
                self.mapped(sum, [0, 1, 0], &mut known)?
            }
        };
        self.conditions.insert(id, made);
        Ok(made)
    }

    fn parts(&mut self, parts: &[ConditionId]) -> Result<Vec<u32>, Error> {
        parts.iter().map(|part| self.condition(*part)).collect()
    }

    fn member(&mut self, name: &Name, value: NodeId) -> Result<u32, Error> {
        let Some(&place) = self.kept.by_name.get(name) else {
            return Ok(0);
        };
        let asked = &self.kept.members[place];
        let mut to = vec![0];
        let at = asked.values.iter().position(|v| *v == value);
        to.extend(asked.kinds.iter().map(|kind| match at {
            Some(at) => u32::from(kind.satisfies[at]),
            None => 1,
        }));
        self.decision(self.level_of_place[&place], to)
    }

    /// None of the members is there that an atom does not name.
    fn closed(&mut self, node: NodeId, atom: u16) -> Result<u32, Error> {
        let named = &self.normaliser.members(node, atom).names;
        let mut may_be: FxHashSet<u32> = FxHashSet::default();
        for name in named.order() {
            let place = self.kept.by_name.get(name);
            may_be.extend(place.and_then(|place| self.level_of_place.get(place)));
        }
        for (name, place) in &self.kept.by_name {
            let mut patterns = self.kept.patterns.iter();
            if patterns.any(|id| self.normaliser.name_matches(*id, name)) {
                may_be.extend(self.level_of_place.get(place));
            }
        }
        let mut made = 1;
        for level in (0..self.levels.len() as u32).rev() {
            if !may_be.contains(&level) {
                let mut to = vec![0; 1 + self.levels[level as usize].goals.len()];
                to[0] = made;
                made = self.decision(level, to)?;
            }
        }
        Ok(made)
    }

    /// Neighbours are met first, so that diagrams of few members stay small as long as can
    /// be.
    fn folded(&mut self, op: Op, mut parts: Vec<u32>) -> Result<u32, Error> {
        if parts.is_empty() {
            return Ok(u32::from(op == Op::All));
        }
        // Parts decided last come first: above, diagrams may be wide.
        parts.sort_by_key(|part| Reverse(self.level(*part)));
        while parts.len() > 1 {
            let pairs = parts.chunks(2).map(|pair| match *pair {
                [a, b] => self.met(op, a, b),
                _ => Ok(pair[0]),
            });
            parts = pairs.collect::<Result<_, _>>()?;
        }
        Ok(parts[0])
    }

    fn met(&mut self, op: Op, a: u32, b: u32) -> Result<u32, Error> {
        let (a, b) = (a.min(b), a.max(b));
        match (op, a) {
            (Op::All, 0) => return Ok(0),
            (Op::All, 1) | (Op::Any | Op::Sum, 0) => return Ok(b),
            (Op::Any, 1) => return Ok(1),
            (Op::Sum, TWO) => return Ok(TWO),
            (Op::Sum, 1) if b < FIRST => return Ok(TWO),
            (Op::All | Op::Any, _) if a == b => return Ok(a),
            _ => {}
        }
        if let Some(known) = self.known.get(&(op, a, b)) {
            return Ok(*known);
        }
        let level = self.level(a).min(self.level(b));
        let ways = 1 + self.levels[level as usize].goals.len();
        let mut to = Vec::with_capacity(ways);
        for way in 0..ways {
            let (a, b) = (self.behind(a, level, way), self.behind(b, level, way));
            to.push(self.met(op, a, b)?);
        }
        let made = self.decision(level, to)?;
        self.known.insert((op, a, b), made);
        Ok(made)
    }

    fn level(&self, place: u32) -> u32 {
        match place.checked_sub(FIRST) {
            Some(at) => self.list[at as usize].0,
            None => u32::MAX,
        }
    }

    fn behind(&self, place: u32, level: u32, way: usize) -> u32 {
        match self.level(place) == level {
            true => self.list[(place - FIRST) as usize].1[way],
            false => place,
        }
    }

    /// A diagram with other ends.
    fn mapped(
        &mut self,
        place: u32,
        ends: [u32; FIRST as usize],
        known: &mut FxHashMap<u32, u32>,
    ) -> Result<u32, Error> {
        let Some(at) = place.checked_sub(FIRST) else {
            return Ok(ends[place as usize]);
        };
        if let Some(known) = known.get(&place) {
            return Ok(*known);
        }
        let (level, to) = self.list[at as usize].clone();
        let to = to.iter().map(|to| self.mapped(*to, ends, known));
        let to = to.collect::<Result<_, _>>()?;
        let made = self.decision(level, to)?;
        known.insert(place, made);
        Ok(made)
    }

    /// The decisions that diagrams consist of, numbered anew in the same order.
    fn reached(self, diagrams: &mut [Diagram]) -> Vec<Decision> {
        let mut is_reached = vec![false; self.list.len()];
        let reach = |place: u32, is_reached: &mut [bool]| {
            if let Some(at) = place.checked_sub(FIRST) {
                is_reached[at as usize] = true;
            }
        };
        for diagram in &*diagrams {
            reach(diagram.root, &mut is_reached);
        }
        for at in (0..self.list.len()).rev() {
            if is_reached[at] {
                for to in &self.list[at].1 {
                    reach(*to, &mut is_reached);
                }
            }
        }
        let mut number = vec![0; self.list.len()];
        let mut next = FIRST_DECISION;
        for (number, is_reached) in number.iter_mut().zip(&is_reached) {
            if *is_reached {
                *number = next;
                next += 1;
            }
        }
        let renamed = |place: u32| match place.checked_sub(FIRST) {
            Some(at) => number[at as usize],
            None => place,
        };
        for diagram in diagrams {
            diagram.root = renamed(diagram.root);
        }
        let kept = self.list.iter().zip(&is_reached).filter(|(_, is)| **is);
        kept.map(|((level, to), _)| {
            Decision::new(*level, to.iter().map(|to| renamed(*to)).collect())
        })
        .collect()
    }
}
