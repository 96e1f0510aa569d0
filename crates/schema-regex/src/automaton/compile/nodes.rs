//! The nodes that a schema reaches, one after the other: for each kind the alternatives of each goal become
//! threads and leaves of one machine.
//!
//! For example, `{"type": ["array", "null"]}` becomes a node with the machine of an array, and a goal
//! that `null` satisfies.

use std::sync::Arc;

use schema_normal::budget::STEP;
use schema_normal::decimal::clamped;
use schema_normal::ir::signed::Signed;
use schema_normal::language::numbers::dfa::NumberDfa;
use schema_normal::normal::alternative::{ArrayShape, Kind, ObjectShape, Shape};
use schema_normal::normal::conjunctions::ConjId;
use schema_normal::normal::demands::item_conj;
use schema_normal::normal::search::shapes::shapes_of;
use schema_normal::normal::shape_table::Shapes;
use schema_normal::{Error, ErrorKind};

use crate::automaton::compile::builder::{Builder, Wanted, number_in};
use crate::automaton::compile::{caps, leaves, objects, plain_objects, strings};
use crate::automaton::machine::counts::ItemCounts;
use crate::automaton::machine::few::Few;
use crate::automaton::machine::node::{ArrayMachine, ArrayThread, Node, NumberMachine};
use crate::automaton::machine::objects::ObjectMachine;

/// Builds everything that can be reached from a conjunction; it is node 0.
pub(super) fn build(builder: &mut Builder, root: ConjId) -> Result<(), Error> {
    builder.node(&[root])?;
    while let Some(goals) = builder.asked.get_mut(builder.nodes.len()) {
        let goals = std::mem::take(goals);
        let node = make(builder, goals)?;
        builder.nodes.push(node);
    }
    Ok(())
}

fn make(builder: &mut Builder, goals: Few<ConjId>) -> Result<Node, Error> {
    let units = [
        units(builder, &goals, Kind::Null)?,
        units(builder, &goals, Kind::False)?,
        units(builder, &goals, Kind::True)?,
    ];
    let number = numbers(builder, &goals)?;
    let string = strings::strings(builder, &goals)?;
    let array = arrays(builder, &goals)?;
    let object = objects(builder, &goals)?;
    let mut node = Node::new(goals, units, number);
    (node.string, node.array, node.object) = (string, array, object);
    Ok(node)
}

/// The goals that a value satisfies which is alone of its kind.
fn units(builder: &mut Builder, goals: &[ConjId], kind: Kind) -> Result<Few<u32>, Error> {
    if let &[goal] = goals {
        return Ok(match shapes_of(&mut builder.normaliser, goal, kind)?[..] {
            [] => Few::default(),
            _ => Few::One(0),
        });
    }
    let mut held = Vec::new();
    for (g, conj) in (0..).zip(goals) {
        if !shapes_of(&mut builder.normaliser, *conj, kind)?.is_empty() {
            held.push(g);
        }
    }
    Ok(held.into())
}

fn numbers(builder: &mut Builder, goals: &[ConjId]) -> Result<Option<Arc<NumberMachine>>, Error> {
    let shapes = builder.shapes(goals, Kind::Number)?;
    if shapes.is_empty() {
        return Ok(None);
    }
    let mut dfas: Vec<Arc<NumberDfa>> = Vec::new();
    let mut leaves = Vec::new();
    for (goal, shape) in each(&shapes) {
        let Shape::Number(shape) = shape else {
            continue;
        };
        let dfa = leaves::number_dfa(builder, shape)?;
        if dfa.is_empty() {
            continue;
        }
        let dfa = caps::cap_number(builder, goals[goal as usize], dfa)?;
        if let [(0, one)] = &shapes[..]
            && one.len() == 1
        {
            return Ok(Some(builder.machines.number(dfa)));
        }
        leaves.push((goal, number_in(&mut dfas, dfa)));
    }
    leaves.sort_unstable();
    leaves.dedup();
    Ok((!leaves.is_empty()).then(|| {
        Arc::new(NumberMachine {
            leaves: leaves.into(),
            dfas: dfas.into(),
        })
    }))
}

fn arrays(builder: &mut Builder, goals: &[ConjId]) -> Result<Option<Box<ArrayMachine>>, Error> {
    let known = builder.shapes(goals, Kind::Array)?;
    if known.is_empty() {
        return Ok(None);
    }
    let mut shapes: Vec<(u32, ArrayShape)> = each(&known)
        .filter_map(|(g, s)| match s {
            Shape::Array(a) => Some((g, a.clone())),
            _ => None,
        })
        .collect();
    if shapes.is_empty() {
        return Ok(None);
    }
    for (goal, shape) in &mut shapes {
        caps::cap_array(builder, goals[*goal as usize], shape);
    }
    let mut prefix = 0u64;
    let mut cap = 0u64;
    for (_, a) in &shapes {
        for rule in &a.rules {
            prefix = prefix.max(rule.prefix.len() as u64);
        }
        for (i, _) in &a.single {
            prefix = prefix.max(i + 1);
        }
        for c in &a.counts {
            prefix = prefix.max(c.from);
        }
        cap = cap.max(a.max.map_or(a.min, |m| m.saturating_add(1)));
    }
    let at = builder.normaliser.first_of(goals[0]);
    if prefix > MAX_PREFIX {
        return Err(Error::new(
            ErrorKind::Refused,
            builder.normaliser.pointer(at),
            format!("more than {MAX_PREFIX} items have a schema of their own"),
        ));
    }
    cap = cap.max(prefix);
    let mut members = Vec::with_capacity(prefix as usize + 1);
    for index in 0..=prefix {
        let mut wanted: Wanted = Vec::new();
        for (t, (_, a)) in shapes.iter().enumerate() {
            item_choices(builder, t as u32, a, index, &mut wanted)?;
        }
        builder.normaliser.work(at, wanted.len() * STEP)?;
        members.push(builder.member(&wanted)?);
    }
    let mut threads = Vec::with_capacity(shapes.len());
    for (goal, a) in shapes {
        let bounds = a.counts.iter().map(|c| (c.min, c.max));
        let counts = ItemCounts::new(bounds, cap).ok_or_else(|| {
            let at = a.counts.first().map_or((at, "contains"), |c| c.at);
            let why = "the counts are too large to be followed";
            builder.normaliser.refusal(at, why)
        })?;
        threads.push(ArrayThread {
            goal,
            min: a.min,
            max: a.max,
            counts,
            unique: a.unique.is_some(),
        });
    }
    let machine = ArrayMachine::new(threads, members, clamped(cap));
    Ok(Some(Box::new(machine)))
}

/// Adds the choices that an item has, with each count raised or not.
fn item_choices(
    builder: &mut Builder,
    thread: u32,
    a: &ArrayShape,
    index: u64,
    out: &mut Wanted,
) -> Result<(), Error> {
    let active: Vec<usize> = (0..a.counts.len())
        .filter(|i| index >= a.counts[*i].from)
        .collect();
    if active.len() > 4 {
        let at = a.counts[0].at;
        let why = "more than four counts meet in one array";
        return Err(builder.normaliser.refusal(at, why));
    }
    for subset in 0..1u32 << active.len() {
        let mut more: Vec<Signed> = Vec::new();
        let mut take = 0;
        for (bit, i) in active.iter().enumerate() {
            let count = &a.counts[*i];
            if subset & (1 << bit) != 0 {
                more.push(count.item);
                take |= 1 << *i;
            } else if count.max.is_some() {
                more.push(!count.item);
            }
        }
        let conj = item_conj(&mut builder.normaliser, a, index, &more);
        out.push((thread, conj, take));
    }
    Ok(())
}

fn objects(builder: &mut Builder, goals: &[ConjId]) -> Result<Option<Box<ObjectMachine>>, Error> {
    let known = builder.shapes(goals, Kind::Object)?;
    if known.is_empty() {
        return Ok(None);
    }
    let mut capped: Vec<(u32, ObjectShape)> = Vec::new();
    if caps::caps_objects(builder) {
        for (goal, shape) in each(&known) {
            if let Shape::Object(o) = shape {
                let mut o = o.clone();
                caps::cap_object(builder, goals[goal as usize], &mut o)?;
                capped.push((goal, o));
            }
        }
    }
    let one = match (&known[..], &capped[..]) {
        (_, [(_, o)]) => Some(o),
        ([(_, list)], []) => match &list[..] {
            [Shape::Object(o)] => Some(o),
            _ => None,
        },
        _ => None,
    };
    if let (&[goal], Some(o)) = (goals, one)
        && let Some(machine) = plain_objects::plain_object(builder, goal, o)?
    {
        return Ok(Some(Box::new(machine)));
    }
    let as_found = each(&known).filter_map(|(g, s)| match s {
        Shape::Object(o) => Some((g, o)),
        _ => None,
    });
    let shapes: Vec<(u32, &ObjectShape)> = match capped.is_empty() {
        true => as_found.collect(),
        false => capped.iter().map(|(g, o)| (*g, o)).collect(),
    };
    if shapes.is_empty() {
        return Ok(None);
    }
    Ok(Some(Box::new(objects::object_machine(
        builder, goals, &shapes,
    )?)))
}

/// Each shape with its goal.
fn each(shapes: &[(u32, Shapes)]) -> impl Iterator<Item = (u32, &Shape)> {
    shapes
        .iter()
        .flat_map(|(goal, list)| list.iter().map(|shape| (*goal, shape)))
}

/// The most items with a schema of their own, because each takes a member in every array machine.
const MAX_PREFIX: u64 = 5_000;
