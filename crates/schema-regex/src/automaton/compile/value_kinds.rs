//! Finds, for each member that a condition speaks of, which kinds of values conditions tell apart.
//!
//! For example, "`kind` is `a`" and "`kind` is `b`" have three, the one, the other, and all further
//! values. Each is a goal of its own, so that the value tells its kind when it ends.

use std::collections::HashMap;

use fsm_tables::{Alphabet, Keep, Table, product};
use rustc_hash::{FxHashMap, FxHashSet};
use schema_normal::Error;
use schema_normal::budget::{Limit, STEP, TooBig};
use schema_normal::ir::NodeId;
use schema_normal::ir::signed::Signed;
use schema_normal::language::char_dfa::CharDfa;
use schema_normal::language::char_dfa::product::Part;
use schema_normal::normal::alternative::{ALL_KINDS, Kind, Shape};
use schema_normal::normal::conjunctions::{ConjId, NONE};
use schema_normal::normal::known::truth_of;
use schema_normal::normal::search::shapes::shapes_of;
use schema_normal::values;
use serde_json::Value;

use crate::automaton::compile::builder::Builder;
use crate::automaton::compile::conditions::{Kept, ValueKind};
use crate::automaton::compile::{leaves, strings};
use crate::automaton::machine::strings::StringDemand;

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
        if kind == Kind::String || shapes_of(&mut builder.normaliser, base, kind)?.is_empty() {
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
        [
            StringDemand::Read {
                dfa, lengths: None, ..
            },
        ] => Some(dfa.part()),
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
        let denied = beside.iter().map(|i| !Signed::yes(asked[*i]));
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
        parts.extend(against.map(|i| !Signed::yes(asked[i])));
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
    let none: Vec<Signed> = none.map(|i| !Signed::yes(asked[i])).collect();
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
        if kind != Kind::String && !shapes_of(&mut builder.normaliser, conj, kind)?.is_empty() {
            return Ok(true);
        }
    }
    Ok(strings::strings(builder, &[conj])?.is_some())
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
