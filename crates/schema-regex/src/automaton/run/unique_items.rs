//! Arrays whose items must differ: whether an item that was begun can still become one
//! that was not there before and that the items to come can do without.
//!
//! For example, behind `["a","a` of strings that must differ the item can still become `"ab"`, so
//! that its quotation mark alone may not come.

use std::collections::HashSet;
use std::sync::Arc;

use schema_normal::language::char_dfa::DEAD;

use crate::automaton::machine::Machine;
use crate::automaton::machine::node::{ArrayMachine, NumberMachine};
use crate::automaton::machine::strings::{StringDemand, StringMachine};
use crate::automaton::run::begun;
use crate::automaton::run::config::{Config, FORGOTTEN, Frame, Gap, Str, Top, threads_in};
use crate::automaton::run::equality::{begun_string, canonical_beginning, spelled, word_spelled};
use crate::automaton::run::found::{ItemChoice, ItemChoices};
use crate::automaton::run::number_bytes::number_state;
use crate::automaton::run::open_value::Exponents;
use crate::automaton::run::scratch::{Noted, Scratch};
use crate::automaton::run::sorted::TextSet;
use crate::automaton::run::string_bytes::Partial;
use crate::automaton::run::string_leaves::leaf_state;
use crate::automaton::run::string_texts::{self, Enough, LeafAt, spelt_behind};
use crate::automaton::run::ways_on::{self, Tried};
use crate::automaton::run::{forgotten, member_names, step};

/// The danger that an open item becomes one that is barred.
#[derive(Clone, Copy, Debug)]
pub(super) struct Threat {
    /// The depth of the outermost array whose items must differ.
    outermost: u32,
    /// True if some open item may still become one that is barred.
    pub(super) exists: bool,
    /// The same of an item of an array below the innermost one.
    below: bool,
    /// The number of values that the open items may still become that are barred, at most.
    barred: usize,
    /// The start of the outermost open item.
    start: u32,
}

/// The question about a way to another item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sought {
    /// Says whether there is one.
    Existence,
    /// The same among the first few values of each kind: none says nothing.
    Among(usize),
    /// A text up to where the item is another one.
    Text,
}

/// So many values are tried first: a search among them takes microseconds, and among as many as
/// are barred up to a second.
const FEW_VALUES: usize = 8;

/// The most pieces of text that are tried for one answer, beside [`TRIED_A_VALUE`] for each value
/// that is barred, because some schemas have no end of places without another item.
const MAX_TRIED: usize = 100_000;

/// So many pieces more are tried for each value that is barred, because each place that is searched
/// begins such a value, and few values have as many pieces.
const TRIED_A_VALUE: usize = 1_000;

/// Tells whether text of any length, or more texts than anybody has said, may come at once.
pub(super) fn is_endless(machine: &Machine, config: &Config, x: &mut Scratch) -> bool {
    match config.top {
        Top::Key(key) => {
            let top = Noted::beside_masks(config.stack);
            let classes = member_names::usable(machine, top, x).classes;
            let frame = x.peek(top).frame;
            let Some(m) = machine.object(frame.node) else {
                return false;
            };
            key.partial == Partial::None && classes != 0 && m.keys.is_none()
        }
        Top::Number { node, set, state } => {
            let Some(m) = machine.number(node) else {
                return false;
            };
            let begun = ways_on::open_number(config, x);
            let wanted = x.slice(set);
            let mut dfas = m.of(|goal| wanted.contains(&goal));
            dfas.any(|(number, dfa)| {
                let here = number_state(m, number, state, x);
                here != DEAD && dfa.amount(here, &begun).is_none()
            })
        }
        Top::String { node, set, text } => {
            let Some(m) = machine.string(node) else {
                return false;
            };
            if m.is_free() {
                return true;
            }
            // A character that has begun counts when it is complete.
            let begun = u64::from(text.partial != Partial::None);
            let wanted = x.slice(set);
            let mut leaves = m.leaves.iter().filter(|leaf| wanted.contains(&leaf.goal));
            leaves.any(|leaf| match &leaf.demand {
                StringDemand::Listed => false,
                StringDemand::Counted { max, .. } => {
                    max.is_none_or(|max| u64::from(text.length) + begun < max)
                }
                StringDemand::Read { dfa, lengths, .. } => {
                    let state = leaf_state(m, leaf, text.state, x);
                    let is_plain = begun == 0 && lengths.is_none();
                    is_plain && m.dfas[*dfa as usize].amount(state).is_none()
                }
            })
        }
        _ => false,
    }
}

/// Tells whether the items that are open, one of which is threatened, can still differ from those
/// before them.
pub(super) fn can_differ(
    machine: &Machine,
    config: Config,
    threat: Threat,
    x: &mut Scratch,
) -> bool {
    let between = matches!(config.top.gap(), Some(Gap::AfterItem | Gap::ArrayStart));
    // Behind an item there is always room, as far as its own array goes.
    if (between && !threat.below) || is_endless(machine, &config, x) {
        return true;
    }
    if let Some(known) = x.found().fresh.get(&config) {
        return *known;
    }
    let answer = x.while_searching(|x| {
        let plain = match between || threat.below {
            true => None,
            false => scalar_differs(machine, &config, x),
        };
        plain.unwrap_or_else(|| has_way_out(machine, config, threat, x))
    });
    x.found_mut().fresh.insert(config, answer);
    answer
}

/// Returns the items that the open ones may become and must not.
pub(super) fn threat_to(machine: &Machine, config: &Config, x: &mut Scratch) -> Threat {
    let mut at = config.stack;
    let mut threat = Threat {
        outermost: 0,
        exists: false,
        below: false,
        barred: 0,
        start: 0,
    };
    let exponents = exponents(machine, config);
    let is_between = matches!(config.top.gap(), Some(Gap::AfterItem | Gap::ArrayStart));
    while at != 0 {
        let node = x.peek(Noted::beside_masks(at));
        if node.frame.start == FORGOTTEN {
            break;
        }
        if let Some(m) = node.frame.unique_array(machine) {
            threat.outermost = node.depth;
            threat.start = node.frame.start;
            let is_open = at != config.stack || !is_between;
            let critical = match is_open && m.catalog.is_listed() {
                true => item_choices(machine, at, x).critical.clone(),
                false => TextSet::default(),
            };
            if node.frame.seen != 0 || !critical.is_empty() {
                let exists = begun::may_be_one_before(x, config.item, &node.frame, exponents)
                    || (!critical.is_empty()
                        && begun::begun(x, config.item, &node.frame)
                            .may_be_one_of(&critical, exponents));
                if exists {
                    threat.exists = true;
                    threat.below |= at != config.stack;
                    threat.barred += x.seen(node.frame.seen).list.len() + critical.len();
                }
            }
        }
        at = node.below;
    }
    threat
}

/// Tells whether the texts of the open items do not count any more.
pub(super) fn is_different(machine: &Machine, config: &Config, x: &mut Scratch) -> bool {
    let compares = x.levels(config.stack).all(|level| {
        let items = x.seen(level.frame.seen).list.len();
        level.frame.is_object || forgotten::only_compares(machine, &level.frame, items)
    });
    compares && !threat_to(machine, config, x).exists
}

/// Tells whether the number that is open, if it is one, may have an exponent.
fn exponents(machine: &Machine, config: &Config) -> Exponents {
    let Top::Number { node, .. } = config.top else {
        return Exponents::Some;
    };
    let dfas = machine.node(node).number.iter().flat_map(|m| m.dfas.iter());
    match dfas.into_iter().any(|dfa| dfa.has_exponents()) {
        true => Exponents::Some,
        false => Exponents::None,
    }
}

/// The choices that are left for the item that is open, or comes next, in an array
/// whose items must differ.
pub(super) fn item_choices(machine: &Machine, stack: u32, x: &mut Scratch) -> Arc<ItemChoices> {
    if let Some(known) = x.found().item_choices.get(&stack) {
        return Arc::clone(known);
    }
    let made = Arc::new(made_item_choices(machine, stack, x));
    x.found_mut().item_choices.insert(stack, Arc::clone(&made));
    made
}

fn made_item_choices(machine: &Machine, stack: u32, x: &mut Scratch) -> ItemChoices {
    let mut out = ItemChoices {
        all: Vec::new(),
        critical: TextSet::default(),
    };
    let frame = x.peek(Noted::beside_masks(stack)).frame;
    let Some(m) = machine.array(frame.node) else {
        return out;
    };
    let live = machine.live(machine.room(x.depth(stack)));
    let member = m.member(frame.pos);
    let after = m.behind(frame.pos);
    let seen = &x.seen(frame.seen).list;
    let mut critical: Vec<Arc<str>> = Vec::new();
    for thread in threads_in(x.slice(frame.threads)) {
        for c in member.of(thread.id) {
            if !live.fits(member, c.goal) {
                continue;
            }
            let Some(progress) = live.behind_item(m, thread, c.take, after) else {
                continue;
            };
            let Some(mut barred) = m.catalog.critical(m, (thread.id, progress), after, seen) else {
                continue;
            };
            barred.sort_unstable();
            critical.extend(barred.iter().cloned());
            out.all.push(ItemChoice {
                goal: c.goal,
                unique: m.threads[thread.id as usize].unique,
                critical: TextSet::of(barred),
            });
        }
    }
    critical.sort_unstable();
    critical.dedup();
    out.critical = TextSet::of(critical);
    out
}

/// Tells whether a scalar that is open, or any value that comes next, can be an item that is not
/// barred: `None` where that is not plain.
fn scalar_differs(machine: &Machine, config: &Config, x: &mut Scratch) -> Option<bool> {
    let frame = x.peek(Noted::beside_masks(config.stack)).frame;
    let open = OpenItem {
        machine,
        config,
        m: frame.unique_array(machine)?,
        frame,
        choices: item_choices(machine, config.stack, x),
        seen: x.seen(frame.seen).list.clone(),
    };
    match config.top {
        Top::Value { set, .. } => open.value_differs(&x.list(set)),
        Top::String { node, set, text } => {
            open.string_differs(machine.string(node)?, &x.list(set), text, x)
        }
        Top::Number { node, set, state } => {
            open.number_differs(machine.number(node)?, &x.list(set), state, x)
        }
        _ => None,
    }
}

/// An item that is open, or comes next, in an array whose items must differ.
struct OpenItem<'a> {
    machine: &'a Machine,
    config: &'a Config,
    m: &'a ArrayMachine,
    frame: Frame,
    choices: Arc<ItemChoices>,
    seen: TextSet,
}

impl OpenItem<'_> {
    /// Returns the choices for a goal.
    fn of(&self, goal: u32) -> impl Iterator<Item = &ItemChoice> {
        let all = self.choices.all.iter();
        all.filter(move |choice| choice.goal == goal)
    }

    /// Says whether one of so many values, without end for `None`, is left of a choice that bars
    /// this many at most.
    fn is_enough(choice: &ItemChoice, values: Option<u64>, barred: usize) -> bool {
        !choice.unique || values.is_none_or(|n| n > barred as u64)
    }

    /// Tells whether a value that comes next can differ.
    fn value_differs(&self, wanted: &[u32]) -> Option<bool> {
        let catalog = &self.m.catalog;
        let at = self.m.place(self.frame.pos.into());
        let mut is_plain = true;
        let choices = self.choices.all.iter();
        for choice in choices.filter(|c| wanted.contains(&c.goal)) {
            let barred = self.seen.len() + choice.critical.len();
            if Self::is_enough(choice, Some(catalog.least(at, choice.goal)), barred) {
                return Some(true);
            }
            match catalog.values(at, choice.goal) {
                Some(mut values) => {
                    if values.any(|value| !choice.bars(value, &self.seen)) {
                        return Some(true);
                    }
                }
                None => is_plain = false,
            }
        }
        is_plain.then_some(false)
    }

    /// Tells whether a string that was begun can end as one that differs.
    fn string_differs(
        &self,
        strings: &StringMachine,
        wanted: &[u32],
        text: Str,
        x: &mut Scratch,
    ) -> Option<bool> {
        let (machine, config) = (self.machine, self.config);
        let begun = begun_string(&x.open_bytes(config.item, self.frame.start));
        let before = spelled(&begun);
        let before = before.strip_suffix('"').unwrap_or_default();
        let alike = self.seen.beginning_with(before).len();
        let next = string_texts::may_become(machine, text.partial);
        for (id, leaf) in strings.leaves.iter().enumerate() {
            if !wanted.contains(&leaf.goal) {
                continue;
            }
            let at = LeafAt::new(strings, id, text, x);
            if !at.is_live() {
                continue;
            }
            for choice in self.of(leaf.goal) {
                let barred = alike + choice.critical.len() + at.excluded();
                if Self::is_enough(choice, at.least(next.as_deref()), barred) {
                    return Some(true);
                }
                let found = at.each(next.as_deref(), barred + 1, &mut |rest| {
                    let value = spelled(&(begun.clone() + rest));
                    if choice.bars(&value, &self.seen) {
                        return Enough::No;
                    }
                    let bytes = spelt_behind(text.partial, rest);
                    let mut bytes = bytes.iter();
                    let end = bytes.try_fold(*config, |at, b| step::next(machine, at, *b, x));
                    match end {
                        Some(_) => Enough::Yes,
                        None => Enough::No,
                    }
                });
                if found == Enough::Yes {
                    return Some(true);
                }
            }
        }
        Some(false)
    }

    /// Tells whether a number that was begun can end as one that differs.
    fn number_differs(
        &self,
        numbers: &NumberMachine,
        wanted: &[u32],
        state: u32,
        x: &mut Scratch,
    ) -> Option<bool> {
        let (machine, config) = (self.machine, self.config);
        let begun = ways_on::open_number(config, x);
        if begun.contains(['e', 'E']) {
            return None;
        }
        let white = machine.space().finish(machine.space().elsewhere);
        for (goal, dfa) in &*numbers.leaves {
            let here = number_state(numbers, *dfa, state, x);
            if !wanted.contains(goal) || here == DEAD {
                continue;
            }
            let dfa = &numbers.dfas[*dfa as usize];
            for choice in self.of(*goal) {
                let barred = self.seen.len() + choice.critical.len();
                if Self::is_enough(choice, dfa.amount(here, &begun), barred) {
                    return Some(true);
                }
                for text in dfa.texts_after(here, &begun, barred + 1) {
                    let value = word_spelled(&(begun.clone() + &text));
                    if choice.bars(&value, &self.seen) {
                        continue;
                    }
                    let mut bytes = text.as_bytes().iter().chain(&white);
                    let end = bytes.try_fold(*config, |at, b| step::next(machine, at, *b, x));
                    let mut ends = |at| {
                        let mut ends = b"],".iter();
                        ends.any(|b| step::next(machine, at, *b, x).is_some())
                    };
                    if end.is_some_and(&mut ends) {
                        return Some(true);
                    }
                }
            }
        }
        Some(false)
    }
}

/// Tells whether a configuration is behind the item of an array of a depth.
fn is_after(config: &Config, depth: u32, x: &Scratch) -> bool {
    let is_next = matches!(config.top, Top::Value { .. } | Top::Gap(Gap::AfterItem, _));
    let here = x.depth(config.stack);
    matches!(config.top, Top::End) || here < depth || (is_next && here == depth)
}

/// Says whether there is a way to where what is open is settled. Mostly one of the first few
/// values leads there, so that these are tried before as many as are barred.
fn has_way_out(machine: &Machine, config: Config, threat: Threat, x: &mut Scratch) -> bool {
    let found = search_out(machine, config, threat, Sought::Among(FEW_VALUES), x);
    let found = found.or_else(|| search_out(machine, config, threat, Sought::Existence, x));
    found.is_some()
}

/// A way to where what is open is settled, or its item is behind it.
pub(super) fn way_out(
    machine: &Machine,
    config: Config,
    threat: Threat,
    x: &mut Scratch,
) -> Option<Tried> {
    search_out(machine, config, threat, Sought::Text, x)
}

/// The same. All ways are tried, by one spelling of each value; each leads to another value, so
/// that one more than are barred are enough.
fn search_out(
    machine: &Machine,
    config: Config,
    threat: Threat,
    sought: Sought,
    x: &mut Scratch,
) -> Option<Tried> {
    let from = threat.start;
    let max_tried = MAX_TRIED + threat.barred.saturating_mul(TRIED_A_VALUE);
    let mut todo = vec![Tried::new(config)];
    let mut met = HashSet::new();
    let mut tried = 0;
    while let Some(at) = todo.pop() {
        let begun = begun(&at.config, from, x);
        if !met.insert((at.config.top, at.config.stack, begun)) {
            continue;
        }
        // Values without end come next, of which a finite number is barred.
        if sought != Sought::Text && ways_on::begins_endless(machine, &at.config, x) {
            return Some(at);
        }
        let most = match sought {
            Sought::Among(few) => few,
            _ => threat.barred + 1 + ways_on::barred_by_arrays(machine, at.config.stack, x),
        };
        let mut ways = ways_on::ways(machine, &at, most, x);
        tried += ways.len();
        let out = ways.iter().position(|to| {
            let to = &to.config;
            is_after(to, threat.outermost, x)
                || is_endless(machine, to, x)
                // The open items are open there, too, and differ.
                || (x.depth(to.stack) >= x.depth(config.stack) && !threat_to(machine, to, x).exists)
        });
        if let Some(out) = out {
            return Some(ways.swap_remove(out));
        }
        if tried > max_tried {
            return None;
        }
        todo.extend(ways.into_iter().rev());
    }
    None
}

/// The text of the items that are open behind a place, whatever the spelling.
fn begun(config: &Config, from: u32, x: &mut Scratch) -> String {
    canonical_beginning(&x.open_bytes(config.item, from))
}

/// Returns texts by which a number that was begun becomes another one: one more than are barred, if
/// there are as many.
pub(super) fn longer_numbers(machine: &Machine, config: &Config, x: &mut Scratch) -> Vec<String> {
    let most = threat_to(machine, config, x).barred + 1;
    ways_on::number_texts(machine, config, most, x)
}

/// Returns the bytes to try if nothing better is known: those that end things come first.
pub(super) fn bytes_to_try(config: &Config) -> Vec<u8> {
    match config.top {
        Top::String { .. } | Top::Key(_) => b"\"".iter().copied().chain(0x20..=0xFF).collect(),
        _ => b"]}\",:tfn0123456789.-+eE[{ \t\n\r".to_vec(),
    }
}
