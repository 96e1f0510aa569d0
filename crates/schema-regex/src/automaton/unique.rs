//! Arrays whose items must differ: whether there are values enough, and whether
//! an item that was begun can still become one that was not there before.

use std::collections::HashSet;
use std::sync::Arc;

use super::SchemaAutomaton;
use super::equality::{Begun, canonical, canonical_beginning};
use super::node::{ArrayMachine, Span};
use super::scratch::{Config, EMPTY_TEXT, Gap, Scratch, Top};
use super::space::NO_SPACE;
use super::step::UNITS;
use super::strings::leaf_state;
use super::text::Partial;

/// What is to be feared for the items that are open.
#[derive(Clone, Copy, Debug)]
pub(super) struct Threat {
    /// The depth of the outermost array whose items must differ.
    pub(super) outermost: u32,
    /// Whether some open item may still become equal to one before it.
    pub(super) exists: bool,
}

/// Item values by canonical spelling; `None` where there are (too) many.
pub(super) type Values = Option<Arc<[Arc<str>]>>;

/// The most values of a goal that are listed; goals with more count as
/// endless.
pub(super) const MAX_VALUES: usize = 2_000;
/// The most steps to list them.
const MAX_STEPS: usize = 40_000;
/// The most steps to look for an item that differs.
const MAX_SEARCH: usize = 5_000;
/// The longest text that such a search adds.
const MAX_TEXT: usize = 200;

/// Whether distinct values can be found for the items that an array still
/// needs: a matching of places to values that were not there before.
pub(super) fn has_room(m: &ArrayMachine, thread: u32, index: u32, seen: &[Arc<str>]) -> bool {
    let t = &m.threads[thread as usize];
    if !t.unique || m.values.is_empty() {
        return true;
    }
    let last = m.members.len() - 1;
    let mut places: Vec<Vec<&Arc<str>>> = Vec::new();
    for i in u64::from(index)..t.min {
        let at = usize::try_from(i).map_or(last, |i| i.min(last));
        let mut values: Vec<&Arc<str>> = Vec::new();
        let mut endless = false;
        for c in m.members[at].of(thread) {
            match m.values[at].get(c.goal as usize) {
                Some(Some(list)) => values.extend(list.iter()),
                _ => endless = true,
            }
        }
        if endless {
            if at == last {
                // So are all places after it.
                break;
            }
            continue;
        }
        values.retain(|v| seen.binary_search(v).is_err());
        values.sort_unstable();
        values.dedup();
        if values.len() < places.len() + 1 && at == last && places.iter().all(|p| *p == values) {
            return false;
        }
        places.push(values);
        if places.len() > MAX_VALUES {
            return false;
        }
    }
    matching(&places)
}

/// Whether every place can have a value of its own (Kuhn's algorithm).
fn matching(places: &[Vec<&Arc<str>>]) -> bool {
    let mut owner: std::collections::HashMap<&Arc<str>, usize> = std::collections::HashMap::new();
    for place in 0..places.len() {
        // Breadth first over alternating paths.
        let mut from: std::collections::HashMap<&Arc<str>, usize> =
            std::collections::HashMap::new();
        let mut queue = std::collections::VecDeque::from([place]);
        let mut end = None;
        'search: while let Some(p) = queue.pop_front() {
            for v in &places[p] {
                if from.contains_key(*v) {
                    continue;
                }
                from.insert(v, p);
                match owner.get(*v) {
                    None => {
                        end = Some(*v);
                        break 'search;
                    }
                    Some(q) => queue.push_back(*q),
                }
            }
        }
        let Some(mut value) = end else { return false };
        loop {
            let p = from[value];
            let before = owner.iter().find(|(_, q)| **q == p).map(|(v, _)| *v);
            owner.insert(value, p);
            match before {
                Some(v) if p != place => {
                    if v != value {
                        owner.remove(v);
                    }
                    value = v;
                }
                _ => break,
            }
        }
    }
    true
}

impl SchemaAutomaton {
    /// The values of one goal of a node, where they are few.
    pub(super) fn values(&self, node: u32, goal: u32, x: &mut Scratch) -> Values {
        let set = x.add_list(&[goal]);
        let first = Config {
            top: Top::Value {
                node,
                set,
                space: NO_SPACE,
            },
            stack: 0,
            item: EMPTY_TEXT,
        };
        let mut found: Vec<Arc<str>> = Vec::new();
        let mut todo = vec![first];
        let mut steps = 0;
        x.searching = true;
        let mut answer = true;
        while let Some(config) = todo.pop() {
            let ends = match config.top {
                Top::End => true,
                Top::Number { node, set, state } => {
                    config.stack == 0 && self.number_goals(node, set, state, x) != 0
                }
                _ => false,
            };
            if ends {
                let value: Arc<str> = canonical(&x.bytes(config.item, 0)).into();
                if let Err(i) = found.binary_search(&value) {
                    found.insert(i, value);
                }
            }
            if found.len() > MAX_VALUES || self.is_endless(&config, x) {
                answer = false;
                break;
            }
            // A fraction of zeros says nothing new, however long it is.
            if let Top::Number { .. } = config.top
                && x.text_length(config.item) > LONGEST as u32
            {
                continue;
            }
            let in_text = matches!(config.top, Top::String { .. } | Top::Key(_));
            let bytes = if in_text { 0x20..=0xFFu8 } else { 0x21..=b'}' };
            for byte in bytes {
                steps += 1;
                if let Some(mut next) = self.next(config, byte, x) {
                    // A scratch without frames of such arrays forgets the
                    // text: here it is kept.
                    next.item = x.add_text(config.item, u32::from(byte));
                    todo.push(next);
                }
            }
            if steps > MAX_STEPS {
                answer = false;
                break;
            }
        }
        x.searching = false;
        answer.then(|| found.into())
    }

    /// Whether text of any length, or more texts than anybody has said, may
    /// come at once.
    fn is_endless(&self, config: &Config, x: &mut Scratch) -> bool {
        if let Top::Key(key) = config.top {
            let classes = self.usable(config.stack, x).classes;
            let frame = x.stacks.get(config.stack).frame;
            let Some(m) = &self.node(frame.node).object else {
                return false;
            };
            return key.partial == Partial::None && classes != 0 && m.keys.is_none();
        }
        let Top::String { node, set, text } = config.top else {
            return false;
        };
        let Some(m) = self.node(node).string.as_ref() else {
            return false;
        };
        if m.free.is_some() {
            return true;
        }
        // A character that has begun counts when it is complete.
        let begun = u64::from(text.partial != Partial::None);
        let wanted = x.lists.get(set);
        m.leaves.iter().any(|l| {
            if l.listed || !wanted.contains(&l.goal) {
                return false;
            }
            match l.dfa {
                None => l.max.is_none_or(|max| u64::from(text.length) + begun < max),
                Some(_) if begun != 0 || l.lengths.is_some() => false,
                Some(d) => m.dfas[d as usize].is_endless(leaf_state(m, l, text.state, x)),
            }
        })
    }

    /// Whether the items that are open, one of which is threatened, can still
    /// differ from those before them.
    pub(super) fn can_differ(&self, config: Config, threat: Threat, x: &mut Scratch) -> bool {
        let between = matches!(
            config.top,
            Top::Gap {
                gap: Gap::AfterItem | Gap::ArrayStart,
                ..
            }
        );
        if (between && x.depth(config.stack) == threat.outermost) || self.is_endless(&config, x) {
            return true;
        }
        if let Some(known) = x.fresh.get(&config) {
            return *known;
        }
        x.searching = true;
        let answer = self.differs_at_once(config, x)
            || self.differs_soon(config, threat.outermost, x)
            || self.differs(config, threat.outermost, x);
        x.searching = false;
        x.fresh.insert(config, answer);
        answer
    }

    /// What the items that are open may become.
    pub(super) fn threat(&self, config: &Config, x: &mut Scratch) -> Threat {
        let mut at = config.stack;
        let mut threat = Threat {
            outermost: 0,
            exists: false,
        };
        let mut text: Option<Vec<u8>> = None;
        while at != 0 {
            let node = *x.stacks.get(at);
            if self.is_unique(&node.frame) {
                threat.outermost = node.depth;
                if node.frame.seen != 0 && !threat.exists {
                    let text = text.get_or_insert_with(|| x.open_bytes(config.item));
                    let begun = text.get(node.frame.start as usize..).unwrap_or(&[]);
                    let begun = Begun::new(begun);
                    let seen = x.seen.get(node.frame.seen);
                    threat.exists = seen.list.iter().any(|s| begun.may_be(s));
                }
            }
            at = node.below;
        }
        threat
    }

    /// Whether one more byte settles it: what has begun to differ can be
    /// finished in any way.
    fn differs_at_once(&self, config: Config, x: &mut Scratch) -> bool {
        self.bytes_to_try(&config, x).into_iter().any(|byte| {
            self.next(config, byte, x)
                .is_some_and(|next| self.is_settled(&config, &next, x))
        })
    }

    /// Whether what is open at `from` is open at `to` as well, and differs.
    fn is_settled(&self, from: &Config, to: &Config, x: &mut Scratch) -> bool {
        x.depth(to.stack) >= x.depth(from.stack) && !self.threat(to, x).exists
    }

    fn is_after(&self, config: &Config, depth: u32, x: &Scratch) -> bool {
        matches!(
            config.top,
            Top::Gap {
                gap: Gap::AfterItem,
                ..
            }
        ) && x.depth(config.stack) == depth
            || x.depth(config.stack) < depth
    }

    /// By the way that a completion takes.
    fn differs_soon(&self, config: Config, depth: u32, x: &mut Scratch) -> bool {
        let mut at = config;
        let mut text = Vec::new();
        for _ in 0..MAX_TEXT {
            if self.is_after(&at, depth, x) {
                return true;
            }
            match self.finish_one(at, x, &mut text) {
                Some(next) => at = next,
                None => return matches!(at.top, Top::End),
            }
        }
        false
    }

    /// By trying all ways, few characters in strings. Of prefixes from which
    /// the same texts lead to the same values, one is gone on from: a number
    /// has endlessly many spellings.
    fn differs(&self, config: Config, depth: u32, x: &mut Scratch) -> bool {
        let mut todo = vec![(config, 0usize)];
        let mut met = HashSet::new();
        let mut steps = 0;
        while let Some((at, length)) = todo.pop() {
            let settled = length > 0 && self.is_settled(&config, &at, x);
            if settled || self.is_after(&at, depth, x) || matches!(at.top, Top::End) {
                return true;
            }
            if steps > MAX_SEARCH {
                return false;
            }
            if length > LONGEST || !met.insert((at.top, at.stack, self.begun(&at, x))) {
                continue;
            }
            let bytes = self.bytes_to_try(&at, x);
            for byte in bytes.into_iter().rev() {
                steps += 1;
                if let Some(next) = self.next(at, byte, x) {
                    todo.push((next, length + 1));
                }
            }
        }
        false
    }

    /// The text of the items that are open, whatever the spelling.
    pub(super) fn begun(&self, config: &Config, x: &mut Scratch) -> String {
        canonical_beginning(&x.open_bytes(config.item))
    }

    /// What ends things comes first.
    pub(super) fn bytes_to_try(&self, config: &Config, x: &Scratch) -> Vec<u8> {
        match config.top {
            Top::String { node, text, .. } if text.partial == Partial::None => {
                let mut out = vec![b'"'];
                if let Some(m) = self.node(node).string.as_ref() {
                    let words = &m.words.list[text.words.lo as usize..text.words.hi as usize];
                    let read = text.words.read as usize;
                    out.extend(words.iter().filter_map(|w| w.text.as_bytes().get(read)));
                    out.sort_unstable();
                    out.dedup();
                    if !m.dfas.is_empty() || text.words == Span::NONE {
                        out.extend(0x20..=0xFF);
                    } else {
                        out.extend(b"\\abcxyz019");
                    }
                }
                out
            }
            Top::Key(key) if key.partial == Partial::None => {
                let mut out = vec![b'"'];
                let frame = x.stacks.get(config.stack).frame;
                if let Some(m) = self.node(frame.node).object.as_ref() {
                    let names = &m.names.list[key.names.lo as usize..key.names.hi as usize];
                    let read = key.names.read as usize;
                    out.extend(names.iter().filter_map(|w| w.text.as_bytes().get(read)));
                    if m.keys.is_some() {
                        out.extend(0x20..=0xFF);
                    } else if !m.classes.is_empty() {
                        out.extend(b"\\abcxyz019_-");
                    }
                    out.sort_unstable();
                    out.dedup();
                }
                out
            }
            Top::Unit { word, at, .. } => UNITS[word as usize]
                .get(at as usize)
                .copied()
                .into_iter()
                .collect(),
            _ => b"]}\",:tfn0123456789.-+eE[{ \t\n\r".to_vec(),
        }
    }
}

/// How long a text the full search adds.
const LONGEST: usize = 60;
