//! Goals that plainly have too many values to be listed, so that nobody begins to.
//!
//! For example, `{"type": "string"}` has no end of values, and
//! `{"type": "integer", "minimum": 1, "maximum": 100000}` has more than are listed.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::automaton::machine::Machine;
use crate::automaton::machine::node::{ArrayThread, Member};
use crate::automaton::machine::progress::ObjectAt;
use crate::automaton::machine::strings::StringDemand;

/// The most values of a goal that are listed, because each is kept as a text.
pub(super) const MAX_VALUES: usize = 2_000;

/// The depth to which values are looked into, and to which those beside may nest, because most
/// schemas say near the top how many values there are.
const DEPTH: u32 = 8;

/// The least bound on nesting for an answer, because a value may stand deep itself.
const LEAST_NESTING: u32 = 4 * DEPTH;

/// A rough answer to how many values a goal has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plainly {
    Endless,
    /// More than are listed.
    Many,
    Unknown,
}

/// At least how many values goals have, by node and goal.
type Known = FxHashMap<(u32, u32), u64>;

/// The most members and items by which numbers of values are multiplied, because the product is
/// above any limit by then.
const MAX_FACTORS: u64 = 64;

/// Tells whether a value of the goal is, or holds, a text or number of any length, one of more
/// texts than are listed, a further name without a demand, or an array of any length.
pub(super) fn plainly(machine: &Machine, node: u32, goal: u32) -> Plainly {
    if machine.room(0) < LEAST_NESTING {
        return Plainly::Unknown;
    }
    let live = machine.live(DEPTH);
    let mut seen: FxHashSet<(u32, u32)> = FxHashSet::default();
    let mut has_many = false;
    // Asked last, since that takes a look at the whole automaton.
    let mut patterns = Vec::new();
    let mut todo = vec![(node, goal, 0)];
    while let Some((at, goal, depth)) = todo.pop() {
        if depth > DEPTH || !seen.insert((at, goal)) {
            continue;
        }
        let Some(node) = machine.nodes().get(at as usize) else {
            continue;
        };
        if let Some(m) = &node.string {
            for leaf in m.leaves.iter().filter(|leaf| leaf.goal == goal) {
                match &leaf.demand {
                    StringDemand::Counted { max, .. } if *max != Some(0) => {
                        return Plainly::Endless;
                    }
                    StringDemand::Read { dfa, lengths, .. } => {
                        let bounds = lengths.as_ref().map(|l| l.bounds());
                        patterns.push((&m.dfas[*dfa as usize], bounds));
                    }
                    StringDemand::Listed | StringDemand::Counted { .. } => {}
                }
            }
        }
        if let Some(m) = &node.number
            && m.is_endless(|g| g == goal)
        {
            return Plainly::Endless;
        }
        if let Some(m) = &node.array {
            for (t, thread) in (0..).zip(&m.threads) {
                let is_simple = !thread.unique && thread.counts.is_empty();
                if thread.goal != goal || !is_simple || thread.max == Some(0) {
                    continue;
                }
                let Some(first) = m.members.first() else {
                    continue;
                };
                if !live.array(m, t, 0, 0) {
                    continue;
                }
                if thread.max.is_none() && m.members.iter().all(|m| live.offers(m, t)) {
                    return Plainly::Endless;
                }
                let options = first.of(t).iter().filter(|c| live.fits(first, c.goal));
                todo.extend(options.map(|c| (first.node, c.goal, depth + 1)));
            }
        }
        if let Some(m) = &node.object {
            for (t, thread) in (0..).zip(&m.threads) {
                let is_open = thread.goal == goal && thread.is_simple();
                if !is_open || !live.object(m, t, 0, &ObjectAt::START) {
                    continue;
                }
                for class in &m.classes {
                    let offers = live.offers(&class.member, t);
                    match class.count {
                        None if offers => return Plainly::Endless,
                        Some(names) => has_many |= offers && names > MAX_VALUES as u64,
                        None => {}
                    }
                }
                for member in &m.declared {
                    let options = member.of(t).iter().filter(|c| live.fits(member, c.goal));
                    todo.extend(options.map(|c| (member.node, c.goal, depth + 1)));
                }
            }
        }
    }
    if patterns
        .iter()
        .any(|(dfa, bounds)| bounds.is_none() && dfa.amount(0).is_none())
    {
        return Plainly::Endless;
    }
    has_many |= patterns.iter().any(|(dfa, bounds)| {
        let (min, max) = bounds.unwrap_or((0, None));
        dfa.has_more_than(MAX_VALUES as u64, min, max)
    });
    match has_many {
        true => Plainly::Many,
        false => Plainly::Unknown,
    }
}

/// At least how many values a goal has, as far as scalars, arrays and objects without
/// conditions tell; no end counts as the greatest number.
pub(super) fn least_amount(machine: &Machine, node: u32, goal: u32) -> u64 {
    least_known(machine, node, goal, 0, &mut FxHashMap::default())
}

fn least_known(machine: &Machine, node: u32, goal: u32, depth: u32, known: &mut Known) -> u64 {
    if let Some(amount) = known.get(&(node, goal)) {
        return *amount;
    }
    // While it is found out, one that is in itself counts as none.
    known.insert((node, goal), 0);
    let amount = least_found(machine, node, goal, depth, known);
    known.insert((node, goal), amount);
    amount
}

fn least_found(machine: &Machine, node: u32, goal: u32, depth: u32, known: &mut Known) -> u64 {
    let Some(n) = machine.nodes().get(node as usize) else {
        return 0;
    };
    let mut most = 0;
    if let Some(m) = &n.number {
        for (_, dfa) in m.of(|g| g == goal) {
            most = most.max(dfa.amount(0, "").unwrap_or(u64::MAX));
        }
    }
    if let Some(m) = &n.string {
        for (id, leaf) in (0..).zip(&*m.leaves).filter(|(_, l)| l.goal == goal) {
            let amount = match &leaf.demand {
                StringDemand::Read { dfa, lengths, .. } => {
                    let dfa = &m.dfas[*dfa as usize];
                    match lengths {
                        Some(lengths) => lengths.amount(dfa, 0, 0),
                        None => dfa.amount(0),
                    }
                }
                StringDemand::Listed | StringDemand::Counted { .. } => {
                    let listed = m.words.iter().filter(|w| w.listed.contains(&id));
                    Some(listed.count() as u64)
                }
            };
            most = most.max(amount.unwrap_or(u64::MAX));
        }
    }
    let units = n.units.iter().filter(|goals| goals.contains(&goal)).count();
    most = most.max(units as u64);
    if depth >= DEPTH {
        return most;
    }
    let live = machine.live(DEPTH);
    let mut least = |member: &Member, thread: u32| {
        let choices = member.of(thread).iter();
        let choices = choices.filter(|c| live.fits(member, c.goal));
        let amounts = choices.map(|c| least_known(machine, member.node, c.goal, depth + 1, known));
        amounts.max()
    };
    if let Some(m) = &n.array {
        for (t, thread) in (0..).zip(&m.threads) {
            if thread.goal != goal || !thread.counts.is_empty() || !live.array(m, t, 0, 0) {
                continue;
            }
            if thread.unique {
                let amounts = |index| least(&m.members[m.place(index)], t);
                most = most.max(arrangements(thread, amounts));
                continue;
            }
            let length = thread.max.unwrap_or(thread.min).min(MAX_FACTORS);
            let mut product = 1u64;
            for index in 0..length {
                match least(&m.members[m.place(index)], t) {
                    Some(many) => product = product.saturating_mul(many.max(1)),
                    None => break,
                }
            }
            most = most.max(product);
        }
    }
    if let Some(m) = &n.object {
        for (t, thread) in (0..).zip(&m.threads) {
            let is_open = thread.goal == goal && thread.is_simple();
            if !is_open || !live.object(m, t, 0, &ObjectAt::START) {
                continue;
            }
            let mut product = 1u64;
            for (name, member) in (0..).zip(&m.declared).take(MAX_FACTORS as usize) {
                let Some(many) = least(member, t) else {
                    continue;
                };
                let is_required = thread.required.iter().any(|(_, n)| *n == name);
                let ways = many.max(1).saturating_add(u64::from(!is_required));
                product = product.saturating_mul(ways);
            }
            most = most.max(product);
        }
    }
    most
}

/// At least how many arrays of different items a thread has, of at least so many values of each
/// item: each item has all values but those of the items before it.
fn arrangements(thread: &ArrayThread, mut values: impl FnMut(u64) -> Option<u64>) -> u64 {
    let mut sum = u64::from(thread.min == 0);
    let mut product = 1u64;
    for index in 0..thread.max.unwrap_or(MAX_FACTORS).min(MAX_FACTORS) {
        let left = values(index).map_or(0, |many| many.saturating_sub(index));
        if left == 0 {
            break;
        }
        product = product.saturating_mul(left);
        if index + 1 >= thread.min {
            sum = sum.saturating_add(product);
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{MAX_VALUES, Plainly, least_amount, plainly};
    use crate::Options;
    use crate::automaton::run::listed_values;
    use crate::automaton::{SchemaAutomaton, Scratch};

    /// Lists of lists of three values were written down until there were 2,000, in half a second.
    #[test]
    fn arrays_of_different_items_are_counted() {
        let unique = |items: serde_json::Value| json!({"type": "array", "uniqueItems": true, "items": items});
        let words = json!({"enum": ["a", "b", "c"]});
        let mut two = unique(words.clone());
        two["minItems"] = json!(2);
        let mut short = unique(words.clone());
        short["maxItems"] = json!(2);
        let prefix = json!({"type": "array", "uniqueItems": true, "minItems": 2, "items": false,
            "prefixItems": [{"enum": [1, 2]}, {"enum": [1, 2, 3]}]});
        for (item, least) in [
            (unique(words.clone()), 1 + 3 + 6 + 6),
            (two, 6 + 6),
            (short.clone(), 1 + 3 + 6),
            (prefix, 4),
            (unique(json!({"type": "boolean"})), 1 + 2 + 2),
            (
                unique(unique(json!({"type": "boolean"}))),
                1 + 5 + 20 + 60 + 120 + 120,
            ),
        ] {
            let automaton =
                SchemaAutomaton::new(&unique(item.clone()), &Options::default()).unwrap();
            let items = &automaton.machine.array(0).unwrap().members[0];
            let goal = items.options[0].goal;
            assert_eq!(
                least_amount(&automaton.machine, items.node, goal),
                least,
                "{item}"
            );
            let mut x = Scratch::new();
            let (few, listed) =
                listed_values::of(&automaton.machine, items.node, goal, MAX_VALUES, &mut x);
            assert!(listed.is_some() && few == least, "{item}");
        }
        let automaton = SchemaAutomaton::new(&unique(unique(unique(words))), &Options::default());
        let automaton = automaton.unwrap();
        let items = &automaton.machine.array(0).unwrap().members[0];
        let goal = items.options[0].goal;
        assert!(least_amount(&automaton.machine, items.node, goal) > 16 * 15 * 14 * 13);
    }

    #[test]
    fn what_is_plainly_endless_is_not_listed() {
        let few = json!({"enum": ["a", "b", 1]});
        let schemas = [
            (json!({"type": "string"}), true),
            (json!({"type": "string", "maxLength": 0}), false),
            (json!({"type": "object", "additionalProperties": few}), true),
            (
                json!({"type": "object", "additionalProperties": false, "properties": {"a": few}}),
                false,
            ),
            (
                json!({"type": "object", "additionalProperties": false, "properties": {"a": few, "b": {"type": "string"}}}),
                true,
            ),
            (
                json!({"type": "object", "additionalProperties": false, "patternProperties": {"^a": few}}),
                true,
            ),
            (
                json!({"type": "object", "additionalProperties": false, "patternProperties": {"^a$": few}}),
                false,
            ),
            (
                json!({"type": "object", "additionalProperties": false, "patternProperties": {"^[a-z]{3}$": few}}),
                true,
            ),
            // The member can never be there.
            (
                json!({"type": "object", "additionalProperties": false, "properties": {"a": few, "b": {"type": "string", "minLength": 2, "maxLength": 1}}}),
                false,
            ),
            (json!({"type": "array", "items": few}), true),
            (json!({"type": "array", "items": few, "maxItems": 2}), false),
            (
                json!({"type": "array", "prefixItems": [few, few], "items": few}),
                true,
            ),
            (
                json!({"type": "array", "prefixItems": [few], "items": false}),
                false,
            ),
            (
                json!({"type": "array", "items": few, "uniqueItems": true}),
                false,
            ),
            (
                json!({"type": "array", "items": {"type": "string"}, "maxItems": 1}),
                true,
            ),
            (few.clone(), false),
            (json!({"type": "string", "pattern": "^a+$"}), true),
            (json!({"type": "string", "pattern": "^a{2}$"}), false),
            (json!({"type": "string", "pattern": "^[a-j]{3}$"}), false),
            (json!({"type": "string", "pattern": "^[a-j]{4}$"}), true),
            (
                json!({"type": "string", "pattern": "^[a-j]*$", "maxLength": 3}),
                false,
            ),
            (
                json!({"type": "string", "pattern": "^[a-j]*$", "maxLength": 4}),
                true,
            ),
            (
                json!({"type": "string", "pattern": "^[a-j]*b?$", "minLength": 6, "maxLength": 7}),
                true,
            ),
            (json!({"type": "integer"}), true),
            (json!({"type": "number", "minimum": 3}), true),
            (
                json!({"type": "integer", "minimum": 3, "maximum": 11}),
                false,
            ),
        ];
        for (item, endless) in schemas {
            let schema = json!({"type": "array", "items": item, "uniqueItems": true});
            let automaton = SchemaAutomaton::new(&schema, &Options::default()).unwrap();
            let items = &automaton.machine.array(0).unwrap().members[0];
            let goal = items.options[0].goal;
            let plainly = plainly(&automaton.machine, items.node, goal) != Plainly::Unknown;
            assert_eq!(plainly, endless, "{item}");
            let mut x = Scratch::new();
            let (_, listed) =
                listed_values::of(&automaton.machine, items.node, goal, MAX_VALUES, &mut x);
            assert!(!plainly || listed.is_none(), "{item}");
        }
    }
}
