//! Makes diagrams of the conditions that alternatives of an object keep.
//!
//! Conditions that have no member in common get diagrams of their own. In each diagram come first the
//! members that most conditions speak of, and then those of branch after branch: for example, a name
//! that all branches of a `oneOf` ask about is its first level.

use std::cmp::Reverse;

use rustc_hash::{FxHashMap, FxHashSet};
use schema_normal::Error;
use schema_normal::budget::STEP;
use schema_normal::ir::{Name, NodeId};
use schema_normal::normal::conditions::{Condition, ConditionId};
use schema_normal::normal::normaliser::Normaliser;

use crate::automaton::compile::builder::Builder;
use crate::automaton::compile::conditions::Kept;
use crate::automaton::machine::decisions::{Decisions, FIRST_DECISION, FURTHER, Presence};
use crate::automaton::machine::node::Member;

/// The diagrams of the conditions of one alternative, whose bits begin at a place.
pub(super) fn decisions(
    builder: &mut Builder,
    at: NodeId,
    (thread, kept): (u32, &Kept),
    required: &[u32],
    declared: &[Member],
    facts: &mut u32,
) -> Result<Decisions, Error> {
    let (order, ends) = levels_of(builder, kept);
    if order.len() > MOST_LEVELS {
        return Err(builder.normaliser.too_many_alternatives(at));
    }
    let level_of_place: FxHashMap<usize, u32> = order.iter().copied().zip(0u32..).collect();
    let mut levels = Vec::with_capacity(order.len());
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
        levels.push((asked.number, presence, goals));
    }
    let ways: Vec<usize> = levels.iter().map(|(.., goals)| 1 + goals.len()).collect();
    let mut made = Made {
        normaliser: &builder.normaliser,
        at,
        kept,
        level_of_place,
        ways: &ways,
        list: Vec::new(),
        ids: FxHashMap::default(),
        known: FxHashMap::default(),
        conditions: FxHashMap::default(),
    };
    let mut diagrams = Vec::with_capacity(ends.len());
    for (roots, end) in ends {
        let roots = roots.iter().map(|root| made.condition(*root));
        let roots: Vec<u32> = roots.collect::<Result<_, _>>()?;
        let root = made.folded(Op::All, roots)?;
        diagrams.push((root, end));
    }
    let decisions = made.reached(&mut diagrams);
    if decisions.len() > builder.options().max_automaton_states {
        return Err(builder.normaliser.too_many_alternatives(at));
    }
    let names = declared.len() as u32;
    Ok(Decisions::new(
        names, thread, facts, levels, decisions, diagrams,
    ))
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
    /// By level the number of ways that its member may go.
    ways: &'a [usize],
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
        let named = &self.normaliser.members((node, atom)).names;
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
        for level in (0..self.ways.len() as u32).rev() {
            if !may_be.contains(&level) {
                let mut to = vec![0; self.ways[level as usize]];
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
        let ways = self.ways[level as usize];
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
    fn reached(self, diagrams: &mut [(u32, u32)]) -> Vec<(u32, Box<[u32]>)> {
        let mut is_reached = vec![false; self.list.len()];
        let reach = |place: u32, is_reached: &mut [bool]| {
            if let Some(at) = place.checked_sub(FIRST) {
                is_reached[at as usize] = true;
            }
        };
        for (root, _) in &*diagrams {
            reach(*root, &mut is_reached);
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
        for (root, _) in diagrams {
            *root = renamed(*root);
        }
        let kept = self.list.iter().zip(&is_reached).filter(|(_, is)| **is);
        kept.map(|((level, to), _)| (*level, to.iter().map(|to| renamed(*to)).collect()))
            .collect()
    }
}
