//! The choices of objects that are kept as conditions.
//!
//! For example, a `oneOf` of forty branches, each of which requires one name, is kept as a
//! condition and not as forty alternatives, each of which forbids all other names.

use std::collections::{HashMap, HashSet};

use crate::budget::STEP;
use crate::error::Error;
use crate::ir::signed::Signed;
use crate::ir::{ALWAYS, AtomKind, Body, Members, Name, NodeId};
use crate::normal::alternative::{Kind, MemberRule, Shape};
use crate::normal::conditions::{Condition, ConditionId, Conditions, FALSE, TRUE};
use crate::normal::conjunctions::ConjId;
use crate::normal::locations::Locations;
use crate::normal::normaliser::Normaliser;
use crate::normal::partial::{Choosing, Flow, Partial, Use};
use crate::normal::plain::{bits, concerns};
use crate::normal::tagged::{all_tagged_apart, certain_atoms};
use crate::normal::terms::{What, term};

/// The most members that are counted beside conditions, because the counts that an object can reach
/// are the bits of one number.
pub(crate) const MOST_COUNTED: u64 = 120;

/// Fewer branches than this are not kept, because they have no more than 2^10 alternatives where
/// each fails in two ways.
const FEWEST_BRANCHES: usize = 9;

/// So many branches of one name each are kept, because conditions are faster than cases there.
const MANY_NAMES: usize = 32;

/// Locations that apply to the same value nest no deeper where they are made a condition, because
/// the search calls itself.
const MOST_DEPTH: usize = 64;

/// Returns the condition that a location demands of objects.
pub(super) fn condition_of(
    normaliser: &mut Normaliser,
    node: NodeId,
    depth: usize,
) -> Result<Option<ConditionId>, Error> {
    let count = match &normaliser.schema().node(node).body {
        Body::Always => return Ok(Some(TRUE)),
        Body::Never => return Ok(Some(FALSE)),
        Body::Atoms(_) if depth > MOST_DEPTH => return Ok(None),
        Body::Atoms(atoms) => atoms.len(),
    };
    if let Some(known) = normaliser.conditions.of(node) {
        return Ok(known);
    }
    let mut parts = Vec::with_capacity(count);
    for index in 0..count {
        match condition_of_atom(normaliser, node, index as u16, depth)? {
            Some(part) => parts.push(part),
            None => {
                normaliser.conditions.set_of(node, None);
                return Ok(None);
            }
        }
    }
    let all = normaliser.conditions.all(parts);
    normaliser.conditions.set_of(node, Some(all));
    Ok(Some(all))
}

fn conditions_of(
    normaliser: &mut Normaliser,
    nodes: &[NodeId],
    depth: usize,
) -> Result<Option<Vec<ConditionId>>, Error> {
    let mut out = Vec::with_capacity(nodes.len());
    for node in nodes {
        match condition_of(normaliser, *node, depth + 1)? {
            Some(part) => out.push(part),
            None => return Ok(None),
        }
    }
    Ok(Some(out))
}

fn condition_of_atom(
    normaliser: &mut Normaliser,
    node: NodeId,
    index: u16,
    depth: usize,
) -> Result<Option<ConditionId>, Error> {
    let atom = &normaliser.locations.schema().node(node).atoms()[index as usize].kind;
    if !concerns(atom, Kind::Object) {
        return Ok(Some(TRUE));
    }
    let known = &mut normaliser.conditions;
    Ok(match atom {
        AtomKind::Type { kinds, .. } => Some(match kinds.has(bits(Kind::Object)) {
            true => TRUE,
            false => FALSE,
        }),
        AtomKind::Required(names) => Some(known.all_there(names)),
        AtomKind::DependentRequired(lists) => {
            let mut parts = Vec::with_capacity(lists.len());
            for (name, needed) in lists {
                let there = known.there(name);
                let needed = known.all_there(needed);
                parts.push(known.implied(there, needed));
            }
            Some(known.all(parts))
        }
        AtomKind::Members(members) => {
            condition_of_members(&normaliser.locations, known, node, index, members)?
        }
        AtomKind::DependentSchemas(list) => {
            let list = list.clone();
            dependent_schemas(normaliser, list, depth)?
        }
        AtomKind::AllOf(nodes) => {
            let nodes = nodes.clone();
            let parts = conditions_of(normaliser, &nodes, depth)?;
            parts.map(|parts| normaliser.conditions.all(parts))
        }
        AtomKind::AnyOf(nodes) => {
            let nodes = nodes.clone();
            let parts = conditions_of(normaliser, &nodes, depth)?;
            parts.map(|parts| normaliser.conditions.any(parts))
        }
        AtomKind::OneOf(nodes) => {
            let nodes = nodes.clone();
            normaliser.work(node, STEP * nodes.len())?;
            let parts = conditions_of(normaliser, &nodes, depth)?;
            parts.map(|parts| normaliser.conditions.one(parts))
        }
        AtomKind::Not(inner) => {
            let inner = *inner;
            let inner = condition_of(normaliser, inner, depth + 1)?;
            inner.map(|inner| normaliser.conditions.not(inner))
        }
        AtomKind::If {
            condition,
            then,
            otherwise,
        } => {
            let nodes = [*condition, *then, *otherwise];
            let parts = conditions_of(normaliser, &nodes, depth)?;
            let Some([condition, then, otherwise]) = parts.as_deref() else {
                return Ok(None);
            };
            let known = &mut normaliser.conditions;
            let yes = known.implied(*condition, *then);
            let no = known.not(*condition);
            let no = known.implied(no, *otherwise);
            Some(known.all(vec![yes, no]))
        }
        AtomKind::Ref(to) => {
            let to = *to;
            condition_of(normaliser, to, depth + 1)?
        }
        AtomKind::UnevaluatedProperties(_) => nothing_unevaluated(normaliser, node, index),
        _ => None,
    })
}

/// Returns the condition that members have their values; `None` where patterns, or a schema of the
/// others, say something of values.
fn condition_of_members(
    locations: &Locations,
    known: &mut Conditions,
    node: NodeId,
    index: u16,
    members: &Members,
) -> Result<Option<ConditionId>, Error> {
    // A pattern that says nothing of values still says of names that they are named.
    if members.patterns.iter().any(|(_, value)| *value != ALWAYS) {
        return Ok(None);
    }
    let mut parts = Vec::with_capacity(members.names.list().len() + 1);
    match &locations.schema().node(members.additional).body {
        Body::Always => {}
        Body::Never => parts.push(known.add(Condition::Closed(node, index))),
        Body::Atoms(_) => return Ok(None),
    }
    for (name, value) in members.names.list() {
        let there = known.there(name);
        let fits = match &locations.schema().node(*value).body {
            Body::Always => TRUE,
            Body::Never => FALSE,
            Body::Atoms(_) => known.add(Condition::Member(name.clone(), *value)),
        };
        parts.push(known.implied(there, fits));
    }
    let count = parts.len();
    let all = known.all(parts);
    locations.work(node, STEP * count)?;
    Ok(Some(all))
}

/// Returns the condition that each name is followed by what it demands of the object.
fn dependent_schemas(
    normaliser: &mut Normaliser,
    list: Vec<(Name, NodeId)>,
    depth: usize,
) -> Result<Option<ConditionId>, Error> {
    let mut parts = Vec::with_capacity(list.len());
    for (name, then) in list {
        let Some(then) = condition_of(normaliser, then, depth + 1)? else {
            return Ok(None);
        };
        let there = normaliser.conditions.there(&name);
        parts.push(normaliser.conditions.implied(there, then));
    }
    Ok(Some(normaliser.conditions.all(parts)))
}

/// Returns the demand on members that nothing evaluates, if these are all that the location
/// itself does not name: as if it were on additional ones.
fn nothing_unevaluated(
    normaliser: &mut Normaliser,
    node: NodeId,
    index: u16,
) -> Option<ConditionId> {
    let mut named = None;
    let mut inner = Vec::new();
    for (at, atom) in (0..).zip(normaliser.schema().node(node).atoms()) {
        match &atom.kind {
            AtomKind::UnevaluatedProperties(value) if at == index => {
                if !matches!(normaliser.schema().node(*value).body, Body::Never) {
                    return None;
                }
            }
            AtomKind::Members(members) if !members.additional_said => named = Some(at),
            AtomKind::Members(_) | AtomKind::UnevaluatedProperties(_) => return None,
            other => other.in_place(|node| inner.push(node)),
        }
    }
    if inner.into_iter().any(|node| normaliser.evaluates(node)) {
        return None;
    }
    Some(normaliser.conditions.add(Condition::Closed(node, named?)))
}

/// Says whether the alternatives of a conjunction plainly multiply: by the names that one
/// branch alone speaks of, each of which is a way for it to fail that no other branch
/// settles.
pub(super) fn multiplies(locations: &Locations, conj: ConjId) -> bool {
    let parts = locations.conj(conj).iter().filter(|part| part.positive);
    let mut choices: Vec<(&AtomKind, &[NodeId])> = Vec::new();
    let mut required: HashSet<&str> = HashSet::new();
    for atom in parts.flat_map(|part| certain_atoms(locations, part.node)) {
        match &atom.kind {
            kind @ (AtomKind::AnyOf(nodes) | AtomKind::OneOf(nodes)) => {
                choices.push((kind, nodes));
            }
            AtomKind::Required(names) => required.extend(names.iter().map(|name| &**name)),
            _ => {}
        }
    }
    let branches: usize = choices.iter().map(|(_, nodes)| nodes.len()).sum();
    // If there are few, they do not multiply.
    if branches < FEWEST_BRANCHES || !locations.budget().take(STEP * branches) {
        return false;
    }
    // By name the branch that speaks of it, if that is one alone, and each mention.
    let mut branch_of: HashMap<&str, Option<usize>> = HashMap::new();
    let mut mentions: Vec<(usize, &str)> = Vec::new();
    let nodes = choices.iter().flat_map(|(_, nodes)| nodes.iter());
    for (branch, node) in nodes.enumerate() {
        for atom in certain_atoms(locations, *node) {
            let names: Vec<&str> = match &atom.kind {
                AtomKind::Required(names) => {
                    let names = names.iter().map(|name| &**name);
                    names.filter(|name| !required.contains(name)).collect()
                }
                AtomKind::Members(members) => {
                    let list = members.names.list().iter();
                    let list = list.filter(|(_, value)| is_told(locations, *value));
                    list.map(|(name, _)| &**name).collect()
                }
                _ => continue,
            };
            for name in names {
                let known = branch_of.entry(name).or_insert(Some(branch));
                if *known != Some(branch) {
                    *known = None;
                }
                mentions.push((branch, name));
            }
        }
    }
    let mut ways = vec![0usize; branches];
    for (branch, name) in mentions {
        ways[branch] += usize::from(branch_of.get(name) == Some(&Some(branch)));
    }
    let mut all = 1usize;
    let mut first = 0;
    for (kind, nodes) in choices {
        let ways = &ways[first..first + nodes.len()];
        first += nodes.len();
        let own = match kind {
            AtomKind::AnyOf(_) => ways.iter().filter(|ways| **ways > 0).count(),
            _ => {
                let others = ways.iter().map(|ways| (*ways).max(1));
                let all = others.clone().fold(1usize, usize::saturating_mul);
                all / others.max().unwrap_or(1)
            }
        };
        all = all.saturating_mul(own.max(1));
    }
    all > locations.options().max_alternatives
}

/// Says whether a conjunction asks for one of many names, and nothing else of them: by cases
/// each of them forbids all others.
pub(super) fn is_one_name_of_many(locations: &Locations, conj: ConjId) -> bool {
    let parts = locations.conj(conj).iter().filter(|part| part.positive);
    let mut certain = parts.flat_map(|part| certain_atoms(locations, part.node));
    certain.any(|atom| {
        let AtomKind::OneOf(nodes) = &atom.kind else {
            return false;
        };
        let is_plain = |node: &NodeId| {
            let mut atoms = certain_atoms(locations, *node);
            atoms.all(|atom| matches!(atom.kind, AtomKind::Required(_) | AtomKind::Type { .. }))
        };
        nodes.len() >= MANY_NAMES
            && locations.budget().take(STEP * nodes.len())
            && nodes.iter().all(is_plain)
    })
}

/// Says whether a location says anything of a value.
fn is_told(locations: &Locations, node: NodeId) -> bool {
    !matches!(locations.schema().node(node).body, Body::Always)
}

/// Keeps a keyword as a condition, where that is asked for and possible.
pub(super) fn keep_choice(
    normaliser: &mut Normaliser,
    p: &mut Partial,
    used: Use,
) -> Result<Option<Flow>, Error> {
    let Use {
        node,
        index,
        positive,
        collector,
        kind,
    } = used;
    if p.choosing == Choosing::ByCases || kind != Kind::Object || collector.is_some() {
        return Ok(None);
    }
    let atom = &normaliser.schema().node(node).atoms()[index as usize].kind;
    let is_choice = match atom {
        // Alternatives that exclude each other do not multiply by themselves.
        AtomKind::OneOf(nodes) if positive => {
            let nodes = nodes.clone();
            !all_tagged_apart(normaliser, &nodes, kind)
        }
        AtomKind::AnyOf(_) => positive,
        AtomKind::OneOf(_) | AtomKind::If { .. } | AtomKind::DependentSchemas(_) => true,
        AtomKind::AllOf(_)
        | AtomKind::Required(_)
        | AtomKind::DependentRequired(_)
        | AtomKind::Members(_) => !positive,
        _ => false,
    };
    if !is_choice {
        return Ok(None);
    }
    let Some(mut condition) = condition_of_atom(normaliser, node, index, 0)? else {
        return Ok(None);
    };
    if !positive {
        condition = normaliser.conditions.not(condition);
    } else if normaliser.options().closes()
        && let Shape::Object(o) = &mut p.shape
    {
        o.choices.add((node, index));
    }
    Ok(Some(assert_condition(normaliser, p, condition)))
}

/// The same of the complement of a location.
pub(super) fn keep_complement(
    normaliser: &mut Normaliser,
    p: &mut Partial,
    node: NodeId,
    kind: Kind,
) -> Result<Option<Flow>, Error> {
    if p.choosing == Choosing::ByCases || kind != Kind::Object {
        return Ok(None);
    }
    let Some(condition) = condition_of(normaliser, node, 0)? else {
        return Ok(None);
    };
    let condition = normaliser.conditions.not(condition);
    Ok(Some(assert_condition(normaliser, p, condition)))
}

/// A condition must hold: as a rule or a requirement, if it is one.
fn assert_condition(normaliser: &mut Normaliser, p: &mut Partial, condition: ConditionId) -> Flow {
    let mut todo = vec![condition];
    while let Some(condition) = todo.pop() {
        let known = &mut normaliser.conditions;
        match known.get(condition).clone() {
            Condition::Is(true) => {}
            Condition::Is(false) => return Flow::Dead,
            Condition::All(parts) => todo.extend(parts.iter().rev()),
            Condition::Member(name, ALWAYS) => p.pending.push(term(What::Require(name))),
            Condition::Member(name, value) => {
                let value = Signed::yes(value);
                p.pending.push(term(What::Member(name, value)));
            }
            Condition::Not(of) => match known.get(of).clone() {
                Condition::Any(parts) => {
                    todo.extend(parts.iter().rev().map(|part| known.not(*part)));
                }
                Condition::Member(name, ALWAYS) => {
                    p.pending.push(term(What::Forbid(name)));
                }
                Condition::Member(name, value) => {
                    is_like(p, name, !Signed::yes(value));
                }
                _ => keep(p, condition),
            },
            Condition::Any(parts) => match of_one_member(normaliser, &parts) {
                Some((name, value)) => is_like(p, name, value),
                None => keep(p, condition),
            },
            Condition::One(_) | Condition::Closed(..) => keep(p, condition),
        }
    }
    Flow::On
}

/// Returns the demand on one member if it is there, if that is the whole condition.
fn of_one_member(normaliser: &Normaliser, parts: &[ConditionId]) -> Option<(Name, Signed)> {
    let [a, b] = parts else { return None };
    let get = |id: &ConditionId| normaliser.conditions.get(*id);
    let absent = |id: &ConditionId| match get(id) {
        Condition::Not(of) => match get(of) {
            Condition::Member(name, ALWAYS) => Some(name.clone()),
            _ => None,
        },
        _ => None,
    };
    let (name, other) = match (absent(a), absent(b)) {
        (Some(name), None) => (name, b),
        (None, Some(name)) => (name, a),
        _ => return None,
    };
    match get(other) {
        Condition::Member(n, value) if *n == name => Some((name, Signed::yes(*value))),
        _ => None,
    }
}

/// Adds what an object's names imply to its conditions, where it has some; `false` where
/// conditions cannot be followed beside what else it asks.
pub(super) fn settle_conditions(normaliser: &mut Normaliser, shape: &mut Shape) -> bool {
    let Shape::Object(o) = shape else { return true };
    if o.conditions.is_empty() {
        return true;
    }
    if o.min <= o.required.len() as u64 {
        o.min = 0;
    }
    let known = &mut normaliser.conditions;
    for (name, needed) in std::mem::take(&mut o.implies) {
        let needed = needed.iter().map(|name| known.there(name)).collect();
        let (there, needed) = (known.there(&name), known.all(needed));
        o.conditions.insert(known.implied(there, needed));
    }
    o.conditions.remove(&TRUE);
    let counted = o.max.unwrap_or(0).max(o.min);
    counted <= MOST_COUNTED && o.some.is_empty()
}

/// The value of a member, if it is there, is like this.
fn is_like(p: &mut Partial, name: Name, value: Signed) {
    if let Shape::Object(o) = &mut p.shape {
        o.rules.push(MemberRule::Name(name, value));
    }
}

fn keep(p: &mut Partial, condition: ConditionId) {
    if let Shape::Object(o) = &mut p.shape {
        o.conditions.insert(condition);
    }
}
