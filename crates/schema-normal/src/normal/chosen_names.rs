//! The names that choices declare which are kept as conditions, where objects are closed: a
//! branch declares names of its own, which are there only where it is followed.
//!
//! For example `oneOf: [{"properties": {"a": {}}, "required": ["a"]}, {"properties": {"b": {}},
//! "required": ["b"]}]` declares `a` where the first branch holds. The branch that holds is
//! followed, of branches that exclude each other, so that a name may be there if a branch holds
//! that declares it. One branch of `anyOf` is followed, though several hold: the names are those of
//! one of them.

use std::collections::BTreeSet;

use crate::budget::STEP;
use crate::error::Error;
use crate::ir::{AtomKind, Name, NodeId, ROOT};
use crate::normal::alternative::{MembersAt, ObjectShape};
use crate::normal::conditions::{ConditionId, FALSE, TRUE};
use crate::normal::kept::condition_of;
use crate::normal::normaliser::Normaliser;

/// The keyword that lists members, because the option speaks of what `properties` lists.
pub(super) const LISTS: &str = "properties";

/// Locations that apply to the same value nest no deeper where their names are looked for, because
/// the search calls itself.
const MOST_DEPTH: usize = 64;

/// The names that some locations declare, together.
#[derive(Clone, Default)]
struct Spoken {
    /// The names that they declare wherever they hold.
    names: BTreeSet<Name>,
    /// The atoms of `properties` among them.
    listed: Vec<MembersAt>,
    /// Says whether they speak of other members.
    of_others: Others,
    choices: Vec<Choice>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Others {
    #[default]
    Unsaid,
    Said,
}

#[derive(Clone)]
struct Choice {
    ways: Vec<Way>,
    holding: Holding,
}

/// The number of ways of a choice that hold where one is followed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holding {
    One,
    Some,
}

#[derive(Clone)]
struct Way {
    holds: ConditionId,
    spoken: Spoken,
}

/// The names that close an object whose choices are kept.
pub(super) struct ChosenNames {
    /// The names that branches declare, beside those that are declared anyway.
    pub(super) names: BTreeSet<Name>,
    /// The atoms of `properties` in branches.
    pub(super) listed: Vec<MembersAt>,
    /// Each name is there only where it is declared.
    pub(super) declared: ConditionId,
    /// The object stays open.
    pub(super) open: ConditionId,
}

/// The names that the kept choices of an alternative declare, beside some that are declared
/// anyway; `None` where they are too many to say.
pub(super) fn chosen_names(
    normaliser: &mut Normaliser,
    o: &ObjectShape,
    anyway: &BTreeSet<Name>,
    lists_some: bool,
) -> Result<Option<ChosenNames>, Error> {
    let mut all = Spoken::default();
    for (node, atom) in o.choices.list() {
        if !spoken_by_atom(normaliser, *node, *atom, &mut all, 0)? {
            return Ok(None);
        }
    }
    let mut names = BTreeSet::new();
    let mut listed = Vec::new();
    all.each(&mut |spoken| {
        names.extend(spoken.names.iter().cloned());
        listed.extend(spoken.listed.iter().copied());
    });
    names.retain(|name| !anyway.contains(name));
    let mut open = vec![speaks_of_others(normaliser, &all)];
    if !lists_some {
        open.push(lists_nothing(normaliser, &all));
    }
    let open = normaliser.conditions.any(open);
    let declared = match open {
        TRUE => TRUE,
        _ => match each_is_declared(normaliser, &all, anyway, &names)? {
            Some(declared) => declared,
            None => return Ok(None),
        },
    };
    Ok(Some(ChosenNames {
        names,
        listed,
        declared,
        open,
    }))
}

/// Adds what a location says of names; `false` where it nests too deep, or cannot be a
/// condition.
fn speak(
    normaliser: &mut Normaliser,
    node: NodeId,
    out: &mut Spoken,
    depth: usize,
) -> Result<bool, Error> {
    if depth > MOST_DEPTH {
        return Ok(false);
    }
    for index in 0..normaliser.schema().node(node).atoms().len() {
        if !spoken_by_atom(normaliser, node, index as u16, out, depth)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn spoken_by_atom(
    normaliser: &mut Normaliser,
    node: NodeId,
    index: u16,
    out: &mut Spoken,
    depth: usize,
) -> Result<bool, Error> {
    normaliser.work(node, STEP)?;
    let atom = &normaliser.schema().node(node).atoms()[index as usize];
    match &atom.kind {
        AtomKind::Members(members) => {
            if members.additional_said || !members.patterns.is_empty() {
                out.of_others = Others::Said;
            }
            if atom.keyword == LISTS {
                out.listed.push((node, index));
            }
            out.names.extend(members.names.order().cloned());
        }
        AtomKind::UnevaluatedProperties(_) => out.of_others = Others::Said,
        AtomKind::Required(names) => out.names.extend(names.iter().cloned()),
        AtomKind::DependentRequired(lists) => {
            for (name, needed) in lists {
                out.names.insert(name.clone());
                out.names.extend(needed.iter().cloned());
            }
        }
        AtomKind::DependentSchemas(list) => {
            for (name, then) in list.clone() {
                let there = normaliser.conditions.there(&name);
                let Some(mut way) = way_of(normaliser, &[then], there, depth)? else {
                    return Ok(false);
                };
                way.spoken.names.insert(name);
                let without = Way {
                    holds: normaliser.conditions.not(there),
                    spoken: Spoken::default(),
                };
                out.choices.push(Choice {
                    ways: vec![without, way],
                    holding: Holding::One,
                });
            }
        }
        AtomKind::AllOf(nodes) => {
            for node in nodes.clone() {
                if !speak(normaliser, node, out, depth + 1)? {
                    return Ok(false);
                }
            }
        }
        AtomKind::Ref(to) => return speak(normaliser, *to, out, depth + 1),
        AtomKind::AnyOf(nodes) | AtomKind::OneOf(nodes) => {
            let holding = match &atom.kind {
                AtomKind::AnyOf(_) => Holding::Some,
                _ => Holding::One,
            };
            let mut ways = Vec::with_capacity(nodes.len());
            for node in nodes.clone() {
                match way_of(normaliser, &[node], TRUE, depth)? {
                    Some(way) => ways.push(way),
                    None => return Ok(false),
                }
            }
            ways.retain(|way| way.holds != FALSE);
            out.choices.push(Choice { ways, holding });
        }
        AtomKind::If {
            condition,
            then,
            otherwise,
        } => {
            let (condition, then, otherwise) = (*condition, *then, *otherwise);
            let Some(holds) = condition_of(normaliser, condition, depth + 1)? else {
                return Ok(false);
            };
            let fails = normaliser.conditions.not(holds);
            let yes = way_of(normaliser, &[condition, then], TRUE, depth)?;
            let no = way_of(normaliser, &[otherwise], fails, depth)?;
            let (Some(yes), Some(no)) = (yes, no) else {
                return Ok(false);
            };
            out.choices.push(Choice {
                ways: vec![yes, no],
                holding: Holding::One,
            });
        }
        _ => {}
    }
    Ok(true)
}

/// A way that follows some locations, where something else holds.
fn way_of(
    normaliser: &mut Normaliser,
    nodes: &[NodeId],
    beside: ConditionId,
    depth: usize,
) -> Result<Option<Way>, Error> {
    let mut spoken = Spoken::default();
    let mut holds = vec![beside];
    for node in nodes {
        let Some(condition) = condition_of(normaliser, *node, depth + 1)? else {
            return Ok(None);
        };
        if !speak(normaliser, *node, &mut spoken, depth + 1)? {
            return Ok(None);
        }
        holds.push(condition);
    }
    let holds = normaliser.conditions.all(holds);
    Ok(Some(Way { holds, spoken }))
}

/// A way is followed that speaks of other members.
fn speaks_of_others(normaliser: &mut Normaliser, spoken: &Spoken) -> ConditionId {
    if spoken.of_others == Others::Said {
        return TRUE;
    }
    let mut any = Vec::new();
    for way in spoken.choices.iter().flat_map(|choice| &choice.ways) {
        let inner = speaks_of_others(normaliser, &way.spoken);
        any.push(normaliser.conditions.all(vec![way.holds, inner]));
    }
    normaliser.conditions.any(any)
}

/// Ways are followed that list no `properties`.
fn lists_nothing(normaliser: &mut Normaliser, spoken: &Spoken) -> ConditionId {
    if !spoken.listed.is_empty() {
        return FALSE;
    }
    let mut all = Vec::new();
    for choice in &spoken.choices {
        let mut any = Vec::new();
        let mut is_certain = true;
        for way in &choice.ways {
            let inner = lists_nothing(normaliser, &way.spoken);
            is_certain &= inner == TRUE;
            any.push(normaliser.conditions.all(vec![way.holds, inner]));
        }
        if !is_certain {
            all.push(normaliser.conditions.any(any));
        }
    }
    normaliser.conditions.all(all)
}

/// Each of some names is there only where a way is followed that declares it; `None` where
/// there are too many ways.
fn each_is_declared(
    normaliser: &mut Normaliser,
    all: &Spoken,
    anyway: &BTreeSet<Name>,
    names: &BTreeSet<Name>,
) -> Result<Option<ConditionId>, Error> {
    let mut exclusive = Vec::new();
    let mut picked: Vec<Vec<Picked>> = Vec::new();
    let most = normaliser.options().max_alternatives;
    let mut always = anyway.clone();
    for choice in &all.choices {
        if choice.is_exclusive() {
            exclusive.push(choice);
            continue;
        }
        let Some(ways) = picked_of(normaliser, choice, anyway, most)? else {
            return Ok(None);
        };
        match ways.split_first() {
            // The same names, whichever is followed.
            Some((first, others)) if others.iter().all(|way| way.names == first.names) => {
                always.extend(first.names.iter().cloned());
            }
            _ => picked.push(ways),
        }
    }
    // Choices that have names in common are made together.
    let mut together: Vec<(BTreeSet<Name>, Vec<Picked>)> = Vec::new();
    for ways in picked {
        let mut own: BTreeSet<Name> = ways.iter().flat_map(|way| &way.names).cloned().collect();
        let mut ways = ways;
        let mut at = 0;
        while at < together.len() {
            if together[at].0.is_disjoint(&own) {
                at += 1;
                continue;
            }
            let (names, others) = together.swap_remove(at);
            if ways.len().saturating_mul(others.len()) > most {
                return Ok(None);
            }
            ways = product(normaliser, &ways, &others)?;
            own.extend(names);
        }
        together.push((own, ways));
    }
    let mut parts = Vec::new();
    let mut left: BTreeSet<&Name> = names.iter().collect();
    for (own, ways) in &together {
        let mut any = Vec::with_capacity(ways.len());
        for way in ways {
            let mut holds = vec![way.holds];
            for name in own.difference(&way.names).filter(|n| !always.contains(*n)) {
                holds.push(only_if_declared(normaliser, &exclusive, name)?);
            }
            any.push(normaliser.conditions.all(holds));
        }
        parts.push(normaliser.conditions.any(any));
        left.retain(|name| !own.contains(*name));
    }
    for name in left {
        if !always.contains(name) {
            parts.push(only_if_declared(normaliser, &exclusive, name)?);
        }
    }
    Ok(Some(normaliser.conditions.all(parts)))
}

fn only_if_declared(
    normaliser: &mut Normaliser,
    choices: &[&Choice],
    name: &Name,
) -> Result<ConditionId, Error> {
    let there = normaliser.conditions.there(name);
    let declared = is_declared(normaliser, choices, name)?;
    Ok(normaliser.conditions.implied(there, declared))
}

/// A way is followed that declares a name.
fn is_declared(
    normaliser: &mut Normaliser,
    choices: &[&Choice],
    name: &Name,
) -> Result<ConditionId, Error> {
    let mut any = Vec::new();
    for way in choices.iter().flat_map(|choice| &choice.ways) {
        normaliser.work(ROOT, 2)?;
        if way.spoken.names.contains(name) {
            any.push(way.holds);
        } else if !way.spoken.choices.is_empty() {
            let inner: Vec<&Choice> = way.spoken.choices.iter().collect();
            let inner = is_declared(normaliser, &inner, name)?;
            any.push(normaliser.conditions.all(vec![way.holds, inner]));
        }
    }
    Ok(normaliser.conditions.any(any))
}

/// The ways of a choice, each with all that it may choose itself; `None` where that are too
/// many.
fn picked_of(
    normaliser: &mut Normaliser,
    choice: &Choice,
    anyway: &BTreeSet<Name>,
    most: usize,
) -> Result<Option<Vec<Picked>>, Error> {
    let mut out = Vec::new();
    for way in &choice.ways {
        let names = way.spoken.names.difference(anyway).cloned().collect();
        let mut ways = vec![Picked {
            holds: way.holds,
            names,
        }];
        for inner in &way.spoken.choices {
            let Some(inner) = picked_of(normaliser, inner, anyway, most)? else {
                return Ok(None);
            };
            // Nothing depends on what declares nothing: the way holds where one of them does.
            if inner.iter().all(|one| one.names.is_empty()) {
                continue;
            }
            if ways.len().saturating_mul(inner.len()) > most {
                return Ok(None);
            }
            ways = product(normaliser, &ways, &inner)?;
        }
        out.extend(ways);
        if out.len() > most {
            return Ok(None);
        }
    }
    Ok(Some(out))
}

fn product(
    normaliser: &mut Normaliser,
    some: &[Picked],
    others: &[Picked],
) -> Result<Vec<Picked>, Error> {
    let mut out = Vec::with_capacity(some.len() * others.len());
    for (a, b) in some.iter().flat_map(|a| others.iter().map(move |b| (a, b))) {
        let names: BTreeSet<Name> = a.names.union(&b.names).cloned().collect();
        normaliser.work(ROOT, STEP * (1 + names.len()))?;
        let holds = normaliser.conditions.all(vec![a.holds, b.holds]);
        out.push(Picked { holds, names });
    }
    Ok(out)
}

/// A way with all that it chooses.
struct Picked {
    holds: ConditionId,
    names: BTreeSet<Name>,
}

impl Spoken {
    /// Tells of itself and of all that may be followed.
    fn each(&self, tell: &mut impl FnMut(&Spoken)) {
        tell(self);
        for way in self.choices.iter().flat_map(|choice| &choice.ways) {
            way.spoken.each(tell);
        }
    }
}

impl Choice {
    /// Says whether the ways that are followed are those that hold, here and further in.
    fn is_exclusive(&self) -> bool {
        let mut inner = self.ways.iter().flat_map(|way| &way.spoken.choices);
        self.holding == Holding::One && inner.all(Choice::is_exclusive)
    }
}
