//! The greatest distance from the end of any text of a schema: there nothing has to be looked up.
//!
//! For example, of `{"name": string, "tags": [string]}` with both names required no text is further away than
//! `"name":"","tags":[]}` is long, and a few characters more inside of a name or a string. If
//! values nest without end, each open object or array adds the rest of one.
//!
//! The bound follows the completions of this folder, which are not always the shortest ones: the sums are of all
//! that some thread of a container may want, and where that cannot be summed (names by patterns, objects
//! that must differ) there is no bound.

use std::collections::HashMap;

use fsm_index::Growth;
use fsm_tables::Sources;
use schema_normal::language::char_dfa::{CharDfa, DEAD};
use schema_normal::language::numbers::dfa::NumberDfa;

use crate::automaton::machine::Machine;
use crate::automaton::machine::decisions::FURTHER;
use crate::automaton::machine::node::{ArrayMachine, Member, Node};
use crate::automaton::machine::objects::ObjectMachine;
use crate::automaton::run::config::has_goal;

/// Schemas with more nodes are not summed, because that takes longer than the profiles of a text do.
const MOST_NODES: usize = 2_000;

/// Values that nest deeper are not summed, because the sums call themselves.
const MOST_DEPTH: usize = 64;

/// The bytes of one character in JSON at most, because `\u0000` has six.
const CHAR: usize = 6;

/// The bytes that may be lacking inside of a character, because a pair has two escapes of six.
const INSIDE: usize = 12;

/// The tokens of a name that is not declared: its completion has few characters, and may be spelt otherwise
/// than the way to the end tells ([`fsm_index::Nearer::Like`]), which counts twice.
const FURTHER_NAME: usize = 48;

/// The characters that a scalar has more where it must differ from others, because eight tell a hundred million
/// items apart.
const DIFFERENT: usize = 8;

/// The states of an expression, of which another text must be found, because each may be a character.
const MOST_STATES: usize = 16;

/// The tokens of `false`, because it is the longest of the units and each byte may be a token.
const UNIT: usize = 5;

/// Sums over the nodes of a schema, in tokens.
pub(super) struct Sums<'a> {
    machine: &'a Machine,
    /// The most tokens that any rest of a text takes.
    cost: &'a dyn Fn(&[u8]) -> usize,
    /// The white space that must come at a place, at most.
    white: usize,
    /// By node the tokens of a whole value; `None` while it is summed, and where it has no bound.
    values: HashMap<u32, Option<usize>>,
}

/// Containers by how far they nest.
struct GrowthLevels {
    /// The most that all containers hold which contain none of their own kind, along one path.
    path: usize,
    /// The most that one of the others holds.
    level: usize,
}

impl<'a> Sums<'a> {
    pub(super) fn new(machine: &'a Machine, cost: &'a dyn Fn(&[u8]) -> usize) -> Sums<'a> {
        let (rows, _) = machine.space().tables();
        let states = 0..rows.len() as u32;
        let white = states.map(|state| machine.space().finish(state).len());
        Sums {
            machine,
            cost,
            white: white.max().unwrap_or(0),
            values: HashMap::new(),
        }
    }

    pub(super) fn growth(&mut self) -> Growth {
        if self.machine.nodes().len() > MOST_NODES {
            return Growth::Unknown;
        }
        self.summed().unwrap_or(Growth::Unknown)
    }

    fn summed(&mut self) -> Option<Growth> {
        let nodes = self.machine.nodes();
        let (mut top, mut differs) = (UNIT, 0);
        for (number, node) in (0..).zip(nodes.iter()) {
            let value = self.value(number, 0)?;
            let scalar = number_rest(node)?.max(string_rest(node)?);
            top = top.max(value).max(scalar);
            if let Some(m) = &node.object {
                top = top.max(self.name_and_value(m)?);
            }
            if node.array.as_ref().is_some_and(|m| m.unique) {
                // An open value may have any spelling.
                differs = DIFFERENT * CHAR;
            }
        }
        let GrowthLevels { path, level } = self.levels()?;
        // White space may be lacking before and behind what is open.
        let flat = top + differs + path + 2 * self.white + INSIDE;
        Some(Growth::ByLevel {
            flat,
            level,
            openers: b"{[",
        })
    }

    /// The tokens of a value that has not begun: of a goal that may be a scalar it is one.
    fn value(&mut self, number: u32, depth: usize) -> Option<usize> {
        if let Some(known) = self.values.get(&number) {
            return *known;
        }
        if depth > MOST_DEPTH {
            return None;
        }
        let machine = self.machine;
        // A member that nothing satisfies has no node.
        let Some(node) = machine.nodes().get(number as usize) else {
            return Some(0);
        };
        self.values.insert(number, None);
        let scalar = scalar_goals(node);
        let mut most = UNIT.max(number_rest(node)?).max(1 + string_rest(node)?);
        if let Some(m) = &node.array {
            let needs = self.items(m, depth, |goal| !has_goal(&scalar, goal))?;
            most = most.max(2 + needs);
        }
        if let Some(m) = &node.object {
            let needs = self.members(m, depth, |goal| !has_goal(&scalar, goal))?;
            most = most.max(2 + needs);
        }
        let most = most + 2 * self.white;
        self.values.insert(number, Some(most));
        Some(most)
    }

    /// The tokens of all items that a thread of these goals may want.
    fn items(
        &mut self,
        m: &ArrayMachine,
        depth: usize,
        is_asked: impl Fn(u32) -> bool,
    ) -> Option<usize> {
        let threads = m.threads.iter().filter(|thread| is_asked(thread.goal));
        let most = threads.map(|thread| thread.needed()).max().unwrap_or(0);
        let mut longest = 0;
        for member in &m.members {
            if m.unique && !self.is_easily_different(member.node) {
                return None;
            }
            if most > 0 {
                longest = longest.max(self.value(member.node, depth + 1)?);
            }
        }
        if most == 0 {
            return Some(0);
        }
        if m.unique {
            longest += DIFFERENT.max(MOST_STATES);
        }
        usize::try_from(most)
            .ok()?
            .checked_mul(longest + 1 + self.white)
    }

    /// Tells whether a value that must differ from others is a scalar, of which another one has few
    /// characters more.
    fn is_easily_different(&self, number: u32) -> bool {
        let Some(node) = self.machine.nodes().get(number as usize) else {
            return true;
        };
        // Another one of the finitely many texts of an expression is as short as the longest, which
        // has fewer characters than there are states.
        let mut dfas = node.string.iter().flat_map(|m| m.dfas.iter());
        let is_short = |dfa: &CharDfa| {
            let mut states = 0..dfa.states() as u32;
            dfa.states() <= MOST_STATES && !states.any(|state| dfa.amount(state).is_none())
        };
        node.array.is_none() && node.object.is_none() && dfas.all(|dfa| is_short(dfa))
    }

    /// The tokens of all members that threads of these goals may want.
    fn members(
        &mut self,
        m: &ObjectMachine,
        depth: usize,
        is_asked: impl Fn(u32) -> bool,
    ) -> Option<usize> {
        let mut wanted: Vec<u32> = Vec::new();
        let mut others = 0;
        let mut gives = false;
        for thread in m.threads.iter().filter(|thread| is_asked(thread.goal)) {
            wanted.extend(thread.required.iter().map(|(_, number)| *number));
            wanted.extend(
                thread
                    .implies
                    .iter()
                    .flat_map(|(_, names)| names.iter().copied()),
            );
            let mut decided = thread.decisions.iter().flat_map(|d| d.members());
            wanted.extend(decided.clone().filter(|name| *name != FURTHER));
            gives |= decided.any(|name| name == FURTHER);
            let required = thread.required.len() as u64;
            let more = thread.min.saturating_sub(required);
            others = others
                .max(more)
                .max(thread.witnesses.into())
                .max(u64::from(gives));
            gives |= more > 0 || thread.witnesses > 0;
        }
        wanted.sort_unstable();
        wanted.dedup();
        let mut sum = 0usize;
        for number in wanted {
            let member = m.declared.get(number as usize)?;
            sum += self.name(m, number) + self.value(member.node, depth + 1)?;
        }
        if gives {
            // Any member may be the one that is still lacking.
            let mut longest = 0;
            for (number, member) in (0..).zip(&m.declared) {
                let tokens = self.name(m, number) + self.value(member.node, depth + 1)?;
                longest = longest.max(tokens);
            }
            for class in &m.classes {
                let value = self.value(class.member.node, depth + 1)?;
                longest = longest.max(FURTHER_NAME + 2 * self.white + value);
            }
            if m.keys.is_some() {
                return None;
            }
            sum += usize::try_from(others).ok()?.checked_mul(longest)?;
        }
        Some(sum)
    }

    /// The tokens of a declared name, with what stands around it.
    fn name(&self, m: &ObjectMachine, number: u32) -> usize {
        let words = m.names.iter();
        let mut words = words.filter(|word| word.listed.first() == Some(&number));
        let name = words.next().map(|word| serde_json::to_vec(&*word.text));
        let Some(Ok(name)) = name else {
            return FURTHER_NAME + 2 * self.white;
        };
        let text = [b",".as_slice(), &name, b":"].concat();
        (self.cost)(&text) + 2 * self.white
    }

    /// The tokens of the name that is open, and of the value behind it.
    fn name_and_value(&mut self, m: &ObjectMachine) -> Option<usize> {
        // Names by patterns: another one than those that were used can be of any length.
        if m.keys.is_some() {
            return None;
        }
        let members: Vec<&Member> = m.declared.iter().collect();
        let classes = m.classes.iter().map(|class| &class.member);
        let mut most = 0;
        for member in members.into_iter().chain(classes) {
            most = most.max(self.value(member.node, 0)?);
        }
        let names = (0..m.declared.len() as u32).map(|number| self.name(m, number));
        let further = if m.classes.is_empty() {
            0
        } else {
            FURTHER_NAME
        };
        let name = names.max().unwrap_or(0).max(further);
        Some(name + INSIDE + 2 * self.white + most)
    }

    /// The tokens that a container holds beside what is open in it.
    fn rest(&mut self, node: &Node) -> Option<usize> {
        let mut most = 0;
        if let Some(m) = &node.array {
            most = most.max(1 + self.items(m, 0, |_| true)?);
        }
        if let Some(m) = &node.object {
            most = most.max(1 + self.members(m, 0, |_| true)?);
        }
        Some(most + self.white)
    }

    fn levels(&mut self) -> Option<GrowthLevels> {
        let machine = self.machine;
        let nodes = machine.nodes();
        let mut inner: Vec<Vec<u32>> = nodes.iter().map(nodes_in).collect();
        for list in &mut inner {
            list.retain(|number| (*number as usize) < nodes.len());
        }
        let groups = fsm_tables::components(&inner);
        let mut levels = GrowthLevels { path: 0, level: 0 };
        // By node, the longest path from it on: components come with those they lead to before them.
        let mut paths = vec![0usize; nodes.len()];
        for group in groups {
            let is_round = group.len() > 1 || group.iter().any(|n| inner[*n as usize].contains(n));
            let mut most = 0;
            for &number in &group {
                let behind = inner[number as usize].iter().map(|n| paths[*n as usize]);
                let behind = behind.max().unwrap_or(0);
                let rest = self.rest(machine.node(number))?;
                if is_round {
                    levels.level = levels.level.max(rest);
                    most = most.max(behind);
                } else {
                    most = most.max(behind + rest);
                }
            }
            for number in group {
                paths[number as usize] = most;
            }
        }
        levels.path = paths.first().copied().unwrap_or(0);
        Some(levels)
    }
}

/// The nodes of the values in a value.
fn nodes_in(node: &Node) -> Vec<u32> {
    let items = node.array.iter().flat_map(|m| m.members.iter());
    let declared = node.object.iter().flat_map(|m| m.declared.iter());
    let further = node.object.iter().flat_map(|m| m.classes.iter());
    let members = items
        .chain(declared)
        .chain(further.map(|class| &class.member));
    let mut nodes: Vec<u32> = members.map(|member| member.node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

/// The goals that some scalar satisfies, ascending.
fn scalar_goals(node: &Node) -> Vec<u32> {
    let units = node.units.iter().flat_map(|goals| goals.iter().copied());
    let numbers = node.number.iter().flat_map(|m| m.leaves.iter());
    let strings = node.string.iter().flat_map(|m| m.leaves.iter());
    let numbers = numbers.map(|(goal, _)| *goal);
    let strings = strings.map(|leaf| leaf.goal);
    let mut goals: Vec<u32> = units.chain(numbers).chain(strings).collect();
    goals.sort_unstable();
    goals.dedup();
    goals
}

/// The most tokens to the end of a number.
fn number_rest(node: &Node) -> Option<usize> {
    let Some(m) = &node.number else {
        return Some(0);
    };
    Some(m.dfas.iter().map(|dfa| farthest(dfa)).max().unwrap_or(0))
}

/// The most bytes from a state to an end, of those from which there is one.
fn farthest(dfa: &NumberDfa) -> usize {
    let (next, accept) = dfa.tables();
    let arrows = (0..).zip(next).flat_map(|(from, row)| {
        let to = row.iter().filter(|to| **to != DEAD);
        to.map(move |to| (from, *to))
    });
    let far = Sources::new(accept.len(), arrows).distances(accept);
    let far = far.iter().filter(|far| **far != u32::MAX);
    far.max().map_or(0, |far| *far as usize)
}

/// The most tokens to the end of a string that has begun; `None` where it has no number.
fn string_rest(node: &Node) -> Option<usize> {
    let Some(m) = &node.string else {
        return Some(0);
    };
    let is_one = m.leaves.len() == 1 && m.words.is_empty();
    let mut most = 0usize;
    for leaf in &m.leaves {
        let least = usize::try_from(leaf.demand.bounds().0).ok()?;
        // A word that is left out is gone around.
        let around = if leaf.demand.excludes() { 2 } else { 0 };
        let bytes = match leaf.demand.dfa() {
            None if is_one => least + around,
            None => (least.checked_add(around)?).checked_mul(CHAR)?,
            Some(dfa) => {
                let dfa = m.dfas.get(dfa as usize)?;
                let far = (0..dfa.states() as u32).map(|state| dfa.far(state));
                let far = far.filter(|far| *far != u32::MAX).max().unwrap_or(0) as usize;
                match (least, is_one) {
                    // If any text is short enough, so is a shortest.
                    (0, true) => farthest_text(dfa),
                    (0, false) => far * CHAR,
                    // Rounds of a longer text could be left out, each as long as there are states at most.
                    _ => least.checked_add(dfa.states())?.checked_mul(CHAR)?,
                }
            }
        };
        most = most.max(bytes);
    }
    let listed = m.words.iter().map(|word| word.text.chars().count());
    let listed = listed.max().unwrap_or(0).checked_mul(CHAR)?;
    Some(most.max(listed) + INSIDE + 1)
}

/// The most bytes of JSON from a state to an end along shortest ways, whichever is taken.
fn farthest_text(dfa: &CharDfa) -> usize {
    let symbols = dfa.representatives();
    let chars = symbols.into_iter().filter_map(char::from_u32);
    let chars: Vec<(u32, usize)> = chars
        .map(|c| {
            let text = serde_json::to_vec(&c.to_string());
            (u32::from(c), text.map_or(CHAR, |text| text.len() - 2))
        })
        .collect();
    let mut order: Vec<u32> = (0..dfa.states() as u32).collect();
    order.retain(|state| dfa.far(*state) != u32::MAX);
    order.sort_unstable_by_key(|state| dfa.far(*state));
    let mut bytes = vec![0usize; dfa.states()];
    for &state in order.iter().filter(|state| dfa.far(**state) > 0) {
        let ways = chars
            .iter()
            .map(|&(c, length)| (dfa.step(state, c), length));
        let ways = ways.filter(|(to, _)| *to != DEAD && dfa.far(*to) < dfa.far(state));
        let ways = ways.map(|(to, length)| bytes[to as usize] + length);
        bytes[state as usize] = ways.max().unwrap_or(0);
    }
    bytes.into_iter().max().unwrap_or(0)
}
