//! Arrays whose items must differ: equality of JSON values (2020-12 core,
//! section 4.2.2) by one spelling for each value, and whether an item that was
//! begun can still become one that was not there before.

use std::collections::HashSet;
use std::sync::Arc;

use super::SchemaAutomaton;
use super::node::{ArrayMachine, Span};
use super::scratch::{Config, EMPTY_TEXT, Frame, Gap, Scratch, Top};
use super::space::NO_SPACE;
use super::step::UNITS;
use super::text::Partial;
use crate::decimal::Decimal;

/// Item values by canonical spelling; `None` where there are (too) many.
pub(super) type Values = Option<Arc<[Arc<str>]>>;

/// The most values of a goal that are listed; goals with more count as
/// endless.
const MAX_VALUES: usize = 2_000;
/// The most steps to list them.
const MAX_STEPS: usize = 40_000;
/// The most steps to look for an item that differs.
const MAX_SEARCH: usize = 5_000;
/// The longest text that such a search adds.
const MAX_TEXT: usize = 200;

/// A spelling that two JSON texts share just if their values are equal.
pub(super) fn canonical(text: &[u8]) -> String {
    let mut out = String::new();
    Reader::new(text, Members::Sorted).value(&mut out, 0);
    out
}

/// What is left to tell two beginnings of texts apart once the spellings of
/// complete values do not count.
fn canonical_beginning(text: &[u8]) -> String {
    let mut out = String::new();
    let mut reader = Reader::new(text, Members::AsWritten);
    while reader.peek() != 0 {
        let at = reader.at;
        reader.value(&mut out, 0);
        if reader.at == at {
            out.push(char::from(reader.peek()));
            reader.skip();
        }
    }
    out
}

/// Reads a text that is known to be JSON or to begin as JSON.
struct Reader<'t> {
    text: &'t [u8],
    at: usize,
    members: Members,
}

/// In which order the members of objects are spelled.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Members {
    Sorted,
    /// The last one may not be complete.
    AsWritten,
}

impl<'t> Reader<'t> {
    fn new(text: &'t [u8], members: Members) -> Self {
        Reader {
            text,
            at: 0,
            members,
        }
    }

    fn peek(&mut self) -> u8 {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
        self.text.get(self.at).copied().unwrap_or(0)
    }

    /// Past one more byte, or at the end of a text that was cut.
    fn skip(&mut self) {
        self.at = (self.at + 1).min(self.text.len());
    }

    fn string(&mut self) -> String {
        let start = self.at;
        self.skip();
        while let Some(b) = self.text.get(self.at) {
            self.skip();
            match b {
                b'\\' => self.skip(),
                b'"' => break,
                _ => {}
            }
        }
        let text = &self.text[start..self.at];
        // One that was cut stands for itself.
        serde_json::from_slice(text).unwrap_or_else(|_| String::from_utf8_lossy(text).into_owned())
    }

    fn value(&mut self, out: &mut String, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        match self.peek() {
            b'"' => {
                let text = self.string();
                out.push_str(&serde_json::Value::String(text).to_string());
            }
            b'[' => {
                self.skip();
                out.push('[');
                while !matches!(self.peek(), b']' | 0) {
                    self.value(out, depth + 1);
                    out.push(',');
                    if self.peek() == b',' {
                        self.skip();
                    }
                }
                self.skip();
                out.push(']');
            }
            b'{' => {
                self.skip();
                let mut members: Vec<(String, String)> = Vec::new();
                while self.peek() == b'"' {
                    let name = self.string();
                    if self.peek() == b':' {
                        self.skip();
                    }
                    let mut value = String::new();
                    self.value(&mut value, depth + 1);
                    members.push((name, value));
                    if self.peek() == b',' {
                        self.skip();
                    }
                }
                self.skip();
                if self.members == Members::Sorted {
                    members.sort();
                }
                out.push('{');
                for (name, value) in members {
                    out.push_str(&serde_json::Value::String(name).to_string());
                    out.push(':');
                    out.push_str(&value);
                    out.push(',');
                }
                out.push('}');
            }
            _ => {
                let start = self.at;
                while let Some(b) = self.text.get(self.at) {
                    if b",]} \t\n\r".contains(b) {
                        break;
                    }
                    self.at += 1;
                }
                let word = String::from_utf8_lossy(&self.text[start..self.at]);
                match Decimal::parse(&word) {
                    Some(d) => out.push_str(&d.plain()),
                    None => out.push_str(&word),
                }
            }
        }
    }
}

/// Whether an item that begins with `text` may turn out equal to one that was
/// there before: what is complete in it is there too. It may say so too often.
fn may_equal(text: &[u8], seen: &str) -> bool {
    let mut reader = Reader::new(text, Members::Sorted);
    let head = reader.peek();
    match head {
        0 => true,
        b'"' => {
            let begun = &text[reader.at..];
            seen.starts_with('"') && (begun.contains(&b'\\') || seen.as_bytes().starts_with(begun))
        }
        b'[' | b'{' => {
            if seen.as_bytes().first() != Some(&head) {
                return false;
            }
            reader.skip();
            let mut whole = String::from("[");
            loop {
                let mut part = String::new();
                if head == b'{' {
                    if reader.peek() != b'"' {
                        return true;
                    }
                    let name = reader.string();
                    if reader.peek() != b':' {
                        return true;
                    }
                    reader.skip();
                    part = format!("{}:", serde_json::Value::String(name));
                }
                reader.value(&mut part, 0);
                // Only what a comma or the end follows is complete.
                let after = reader.peek();
                if after != b',' && !(after == b']' || after == b'}') {
                    return true;
                }
                part.push(',');
                whole.push_str(&part);
                let there = match head {
                    b'[' => seen.starts_with(&whole),
                    _ => seen.contains(&part),
                };
                if !there {
                    return false;
                }
                if after != b',' {
                    return true;
                }
                reader.skip();
            }
        }
        _ => !seen.starts_with(['"', '[', '{']),
    }
}

/// The deepest nesting that is compared.
const MAX_DEPTH: usize = 2_000;

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
        if text.partial != Partial::None {
            return false;
        }
        if m.free.is_some() {
            return true;
        }
        let wanted = x.lists.get(set);
        m.leaves.iter().any(|l| {
            wanted.contains(&l.goal)
                && !l.listed
                && l.dfa.is_none()
                && l.max.is_none_or(|max| u64::from(text.length) < max)
        })
    }

    /// Whether the items that are open can still differ from those before
    /// them.
    pub(super) fn can_differ(&self, config: Config, x: &mut Scratch) -> bool {
        let (outermost, threatened) = self.threat(config, x);
        let between = matches!(
            config.top,
            Top::Gap {
                gap: Gap::AfterItem | Gap::ArrayStart,
                ..
            }
        );
        if !threatened
            || (between && x.depth(config.stack) == outermost)
            || self.is_endless(&config, x)
        {
            return true;
        }
        if let Some(known) = x.fresh.get(&config) {
            return *known;
        }
        x.searching = true;
        let answer = self.differs_at_once(config, x)
            || self.differs_soon(config, outermost, x)
            || self.differs(config, outermost, x);
        x.searching = false;
        x.fresh.insert(config, answer);
        answer
    }

    /// The depth of the outermost array whose items must differ, and whether
    /// some open item may still become equal to one before it.
    fn threat(&self, config: Config, x: &Scratch) -> (u32, bool) {
        let mut at = config.stack;
        let mut outermost = 0;
        let mut some = false;
        let mut text: Option<Vec<u8>> = None;
        while at != 0 {
            let node = *x.stacks.get(at);
            if self.has_unique(&node.frame) {
                outermost = node.depth;
                if node.frame.seen != 0 && !some {
                    let text = text.get_or_insert_with(|| x.bytes(config.item, 0));
                    let begun = text.get(node.frame.start as usize..).unwrap_or(&[]);
                    let seen = x.seen.get(node.frame.seen);
                    some = seen.list.iter().any(|s| may_equal(begun, s));
                }
            }
            at = node.below;
        }
        (outermost, some)
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
    fn is_settled(&self, from: &Config, to: &Config, x: &Scratch) -> bool {
        x.depth(to.stack) >= x.depth(from.stack) && !self.threat(*to, x).1
    }

    fn has_unique(&self, frame: &Frame) -> bool {
        !frame.is_object
            && self
                .node(frame.node)
                .array
                .as_ref()
                .is_some_and(|m| m.unique)
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
    pub(super) fn begun(&self, config: &Config, x: &Scratch) -> String {
        canonical_beginning(&x.bytes(config.item, 0))
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

#[cfg(test)]
mod tests {
    use super::{canonical, may_equal};

    #[test]
    fn texts_that_are_cut_are_no_trouble() {
        let whole = r#"[{"a\"b":[1,"x\u0041"],"c":{}},[],"é",-1.5e3]"#.as_bytes();
        for end in 0..=whole.len() {
            canonical(&whole[..end]);
            assert!(may_equal(&whole[..end], &canonical(whole)), "{end}");
        }
        assert!(!may_equal(b"[1,", "[2,3,]"));
        assert!(!may_equal(br#"{"a":1,"#, r#"{"a":2,}"#));
        assert!(!may_equal(b"\"ab", "\"ac\""));
    }

    #[test]
    fn equal_values_are_spelled_alike() {
        for (a, b) in [
            ("1", "1.0"),
            ("10e-1", "1"),
            ("-0", "0"),
            ("0e999999", "0"),
            ("\"a\"", "\"\\u0061\""),
            ("[1, {\"a\":2,\"b\" : 3}]", "[1.00,{\"b\":3,\"a\":2}]"),
        ] {
            assert_eq!(canonical(a.as_bytes()), canonical(b.as_bytes()), "{a} {b}");
        }
        for (a, b) in [
            ("1", "\"1\""),
            ("[1]", "1"),
            ("[[1],2]", "[[1,2]]"),
            ("false", "0"),
            ("{\"a\":1}", "{\"a\":2}"),
            ("12345678901234567890123", "12345678901234567890124"),
        ] {
            assert_ne!(canonical(a.as_bytes()), canonical(b.as_bytes()), "{a} {b}");
        }
    }
}
