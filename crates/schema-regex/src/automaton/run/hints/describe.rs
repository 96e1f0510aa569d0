//! Hints for whoever walks: where text of a class is read in a loop, which
//! cursor resembles another, and what a mask can depend on.
//!
//! For example, inside of a free string any text of JSON strings is read in a loop, and a name that
//! may be `"id"` or a further one resembles a further one alone.

use fsm_index::{Behind, ClassId, Cursor, Description, FreeText, Horizon, TextLoop, Texts};
use schema_normal::decimal::clamped;
use schema_normal::language::char_dfa::DEAD;
use schema_normal::language::escapes::is_never_raw;

use crate::automaton::machine::Machine;
use crate::automaton::machine::loop_classes::{ANY_TEXT, MANY_NAMES};
use crate::automaton::machine::objects::{KeyMachine, ObjectMachine};
use crate::automaton::machine::progress::has_bit;
use crate::automaton::machine::strings::{FEW_WORDS, Leaf, StringDemand, Words};
use crate::automaton::machine::white_space::Space;
use crate::automaton::run::config::{Config, Gap, Key, Str, Top, UNKNOWN, is_kept};
use crate::automaton::run::hints::Hints;
use crate::automaton::run::hints::free_texts::{free_digits, text_up_to};
use crate::automaton::run::scratch::Noted;
use crate::automaton::run::span::Span;
use crate::automaton::run::string_bytes::Partial;
use crate::automaton::run::string_leaves::{leaf_live, leaf_state, string_live};
use crate::automaton::run::{forgotten, member_names};

impl Hints<'_, '_> {
    /// Returns what text may come at a cursor, which other one is nearly the same, and where they differ.
    pub(super) fn describe(&mut self, cursor: Cursor, horizon: Horizon<'_>) -> Description {
        if cursor.is_dead() {
            return Description::Unknown;
        }
        let text = self.loop_at(cursor, horizon);
        if top_tells(self.x.config(cursor)) {
            return Description::Top(text);
        }
        if let Some(text) = text {
            return Description::Text(text);
        }
        let mut texts = Texts::default();
        if self.list_names(cursor, &mut texts) {
            return Description::Listed(texts);
        }
        let Some(like) = self.resembled(cursor) else {
            return Description::Unknown;
        };
        let mut apart = Texts::default();
        let is_told = self.list_differences(cursor, horizon, &mut apart);
        Description::Like {
            cursor: like,
            apart: is_told.then_some(apart),
        }
    }

    fn loop_at(&mut self, cursor: Cursor, horizon: Horizon<'_>) -> Option<TextLoop> {
        if cursor.is_dead() {
            return None;
        }
        let config = *self.x.config(cursor);
        if is_kept(config.item) {
            return None;
        }
        match config.top {
            Top::String { text, .. } if text.partial == Partial::None => {
                self.string_loop(cursor, config, horizon)
            }
            Top::Key(key)
                if key.partial == Partial::None && key.text == UNKNOWN && key.is_further() =>
            {
                let top = Noted::told_by_key(config.stack);
                let usable = member_names::usable(self.machine, top, self.x);
                let frame = self.x.peek(top).frame;
                let m = self.machine.object(frame.node)?;
                if usable.classes == 0 {
                    return None;
                }
                let class = key_loop(self.machine, m, key.state, usable.classes)?;
                Some(TextLoop {
                    class,
                    next: cursor,
                    steady: u32::MAX,
                    alike: true,
                })
            }
            _ => None,
        }
    }

    /// The same inside of a string.
    fn string_loop(
        &mut self,
        cursor: Cursor,
        config: Config,
        horizon: Horizon<'_>,
    ) -> Option<TextLoop> {
        let Top::String { node, set, text } = config.top else {
            return None;
        };
        let m = self.machine.string(node)?;
        if m.is_free() {
            return Some(TextLoop {
                class: ANY_TEXT,
                next: cursor,
                steady: u32::MAX,
                alike: true,
            });
        }
        if !text.words.is_none() {
            return None;
        }
        let wanted = self.x.list(set);
        let leaves: Vec<&Leaf> = m
            .leaves
            .iter()
            .filter(|l| wanted.contains(&l.goal) && !matches!(l.demand, StringDemand::Listed))
            .collect();
        let with_dfa = leaves.iter().filter(|l| l.demand.dfa().is_some()).count();
        let length = m.longer(text.length, 1);
        let next = Str { length, ..text };
        if !string_live(m, set, &next, self.x) {
            return None;
        }
        let class = match (with_dfa, &*m.dfas) {
            (0, _) => ANY_TEXT,
            (n, [dfa]) if n == leaves.len() && text.state != DEAD => {
                self.machine
                    .loops()
                    .class(dfa, m.looping(0)?.1, text.state)?
            }
            _ => return None,
        };
        // A token that goes on in the string but not with the class begins with an escape.
        let escaped = horizon.behind(b'\\') as u64;
        let mut steady = u32::MAX;
        for leaf in &leaves {
            if let StringDemand::Read { lengths, .. } = &leaf.demand {
                if let Some(lengths) = lengths {
                    // Near the bounds only a walk tells which text may come.
                    let longest = horizon.bytes() as u64;
                    if !lengths.are_far(text.length.into(), 2 * longest) {
                        return None;
                    }
                    steady = steady.min(clamped(longest));
                }
                continue;
            }
            let here = u64::from(text.length);
            let mut far = u64::MAX;
            let (min, max) = leaf.demand.bounds();
            if let Some(max) = max {
                far = far.min(max.saturating_sub(here).saturating_sub(escaped));
            }
            if here < min {
                // One character before the last that is missing no text can end.
                far = far.min((min - here).saturating_sub(escaped.max(1)));
            }
            steady = steady.min(clamped(far));
        }
        let next = Config {
            top: Top::String {
                node,
                set,
                text: next,
            },
            ..config
        };
        Some(TextLoop {
            class,
            next: self.x.cursor(next),
            steady,
            alike: m.leaves.len() == 1,
        })
    }

    /// A class of characters of which any text may come at a cursor, and how much of it.
    pub(super) fn free_text(&mut self, cursor: Cursor) -> Option<FreeText> {
        let config = *self.x.config(cursor);
        if is_kept(config.item) {
            return None;
        }
        match config.top {
            Top::String { node, set, text } if text.partial == Partial::None => {
                let m = self.machine.string(node)?;
                let wanted = self.x.slice(set);
                let live = |(i, leaf): (usize, &Leaf)| {
                    let state = leaf_state(m, leaf, text.state, self.x);
                    wanted.contains(&leaf.goal) && leaf_live(m, i, state, text.words, text.length)
                };
                let mut live = m.leaves.iter().enumerate().filter(|leaf| live(*leaf));
                // If nothing but the length counts, text of other leaves may come by this one.
                let counted = live
                    .clone()
                    .map(|(_, leaf)| counted_text(&leaf.demand, text.length));
                if let Some(free) = counted.flatten().max_by_key(|free| free.chars) {
                    return Some(free);
                }
                let by = |(_, leaf): (usize, &Leaf)| {
                    let StringDemand::Read { dfa, lengths, .. } = &leaf.demand else {
                        return None;
                    };
                    let state = leaf_state(m, leaf, text.state, self.x);
                    let (dfa, first) = m.looping(*dfa)?;
                    let bounds = (lengths.as_deref(), text.length);
                    self.machine
                        .loops()
                        .free_within(dfa, (first, state), bounds)
                };
                if live.clone().nth(1).is_none() {
                    return by(live.next()?);
                }
                // Others may read text behind which this automaton is dead, and more of it, unless
                // what they read is short.
                let words = longest_left(&m.words, text.words);
                let is_short = |leaf: &Leaf, chars: usize| match leaf.demand {
                    StringDemand::Listed => words.is_some_and(|bytes| bytes <= chars),
                    StringDemand::Read { dfa, .. } => {
                        let state = leaf_state(m, leaf, text.state, self.x);
                        m.dfas[dfa as usize].ends_within(state, chars)
                    }
                    StringDemand::Counted { .. } => false,
                };
                let alone = live.clone().filter_map(|one| {
                    let free = by(one)?;
                    let mut others = live.clone().filter(|other| other.0 != one.0);
                    Some(FreeText {
                        behind: Behind::ItsClass,
                        ends: free.ends && others.all(|(_, leaf)| is_short(leaf, free.chars)),
                        ..free
                    })
                });
                let size = |free: &FreeText| {
                    let ranges = self.machine.loops().ranges(free.class).iter();
                    ranges.map(|(from, to)| to - from + 1).sum::<u32>()
                };
                alone.max_by_key(size)
            }
            Top::Number { node, state, .. } => {
                let m = self.machine.number(node)?;
                let [dfa] = &*m.dfas else { return None };
                free_digits(dfa, state)
            }
            Top::Key(key) if key.partial == Partial::None && key.is_further() => {
                let top = Noted::told_by_key(config.stack);
                let usable = member_names::usable(self.machine, top, self.x);
                let frame = self.x.peek(top).frame;
                let m = self.machine.object(frame.node)?;
                let keys = m.keys.as_ref()?;
                let are_few = self.x.seen(frame.seen).list.len() < MANY_NAMES;
                are_few.then(|| {
                    self.machine
                        .loops()
                        .free_name(keys, key.state, usable.classes)
                })?
            }
            _ => None,
        }
    }

    /// A cursor without the names and words that only single texts reach.
    pub(super) fn resembled(&mut self, cursor: Cursor) -> Option<Cursor> {
        if cursor.is_dead() {
            return None;
        }
        let config = *self.x.config(cursor);
        if is_kept(config.item) {
            // One that differs from all before it.
            let like =
                forgotten::forgotten(self.machine, config, self.x).filter(|_| self.x.forgets())?;
            return Some(self.x.cursor(like));
        }
        let top = match config.top {
            Top::Key(key)
                if key.partial == Partial::None && key.text == UNKNOWN && !key.is_further() =>
            {
                let top = self.x.note(config.stack);
                let usable = member_names::usable(self.machine, top, self.x);
                let frame = self.x.peek(top).frame;
                let m = self.machine.object(frame.node)?;
                if usable.classes == 0 || (m.keys.is_some() && key.state == DEAD) {
                    return None;
                }
                Top::Key(Key {
                    names: Span::NONE,
                    used: Span::NONE,
                    ..key
                })
            }
            Top::Gap(Gap::BeforeKey | Gap::ObjectStart, space) => {
                let top = self.x.note(config.stack);
                let usable = member_names::usable(self.machine, top, self.x);
                let frame = self.x.peek(top).frame;
                let m = self.machine.object(frame.node)?;
                let open =
                    m.keys.is_none() || free_names(self.machine, m, 0, usable.classes).is_some();
                if usable.classes == 0 || !open || few(self.machine.space(), space).is_none() {
                    return None;
                }
                Top::Gap(Gap::BeforeFurther, space)
            }
            Top::String { node, set, text }
                if text.partial == Partial::None && !text.words.is_none() =>
            {
                let m = self.machine.string(node)?;
                let text = Str {
                    words: Span::NONE,
                    ..text
                };
                if !string_live(m, set, &text, self.x) {
                    return None;
                }
                Top::String { node, set, text }
            }
            _ => return None,
        };
        Some(self.x.cursor(Config { top, ..config }))
    }

    /// Lists the differences between a name and one that nobody has declared or used: they are at
    /// its end, in any spelling of it, if a token reaches that far.
    fn list_differences(&mut self, cursor: Cursor, horizon: Horizon<'_>, out: &mut Texts) -> bool {
        let config = *self.x.config(cursor);
        if config.stack == 0 || is_kept(config.item) {
            return false;
        }
        let top = self.x.note(config.stack);
        let frame = self.x.peek(top).frame;
        let Some(m) = self.machine.object(frame.node) else {
            return false;
        };
        let state = match config.top {
            Top::Key(key) => key.state,
            _ => 0,
        };
        let classes = member_names::usable(self.machine, top, self.x).classes;
        let seen = &self.x.seen(frame.seen).list;
        // No spelling of a name is shorter than the name.
        let (longest, (names, used, before)) = match config.top {
            Top::Key(key) if key.partial == Partial::None => (
                Some(horizon.before(b'"')),
                (key.names, key.used, vec![Vec::new()]),
            ),
            Top::Gap(gap, space) => {
                let Some(before) = openings(self.machine, gap, space, out) else {
                    return false;
                };
                let names = Span::all(m.names.len());
                let between = horizon.apart(b'"').checked_sub(1);
                (between, (names, Span::all(seen.len()), before))
            }
            _ => return false,
        };
        let is_short = |text: &[u8]| longest.is_some_and(|longest| text.len() <= longest);
        let mut escapes = false;
        for before in before {
            let declared = m.names[names.lo as usize..names.hi as usize].iter();
            let declared = declared.map(|word| &word.text.as_bytes()[names.read as usize..]);
            let used_names = seen.range(used.lo as usize..used.hi as usize);
            let used_names = used_names.map(|name| &name.as_bytes()[used.read as usize..]);
            let mut texts: Vec<(&[u8], u8)> = Vec::new();
            // Names that differ from all these go on along each of them.
            let others = (m.names.len() + seen.len()) as u64;
            for text in declared.chain(used_names) {
                if let Some(keys) = &m.keys {
                    let Some(length) = goes_on(keys, state, text, (classes, others)) else {
                        return false;
                    };
                    // Or up to a byte behind which they may not, in any spelling.
                    if let Some(byte) = text.get(length) {
                        let head = &text[..=length];
                        escapes |= self.machine.may_escape(head)
                            && shortest_escaped(head) <= horizon.bytes();
                        texts.push((&text[..length], *byte));
                        continue;
                    }
                }
                if is_short(text) {
                    escapes |= self.machine.may_escape(text)
                        && longest.is_some_and(|longest| shortest_escaped(text) <= longest);
                    texts.push((text, b'"'));
                }
            }
            if !names.is_none() && !used.is_none() {
                texts.sort_unstable();
            }
            texts.dedup();
            for (text, last) in texts {
                out.add(&[&before, text], last);
            }
        }
        if escapes {
            out.branch_everywhere(b'\\');
        }
        true
    }

    /// The names that may come, where no further ones may.
    fn list_names(&mut self, cursor: Cursor, out: &mut Texts) -> bool {
        let config = *self.x.config(cursor);
        let (span, before) = match config.top {
            Top::Key(key) if key.partial == Partial::None => (key.names, vec![Vec::new()]),
            Top::Gap(gap @ (Gap::BeforeKey | Gap::ObjectStart), space) => {
                let Some(before) = openings(self.machine, gap, space, out) else {
                    return false;
                };
                (
                    Span {
                        hi: u32::MAX,
                        ..Span::NONE
                    },
                    before,
                )
            }
            _ => return false,
        };
        let top = self.x.note(config.stack);
        let frame = self.x.peek(top).frame;
        let usable = member_names::usable(self.machine, top, self.x);
        let Some(m) = self.machine.object(frame.node) else {
            return false;
        };
        if usable.classes != 0 {
            return false;
        }
        let hi = span.hi.min(m.names.len() as u32);
        let mut escapes = false;
        for before in before {
            for word in &m.names[span.lo as usize..hi as usize] {
                let n = word.listed[0];
                if has_bit(&usable.names, n) {
                    let tail = &word.text.as_bytes()[span.read as usize..];
                    escapes |= self.machine.may_escape(tail);
                    // Behind what must be an escape it goes on in other spellings alone.
                    let plain = tail.iter().position(|byte| is_never_raw(*byte));
                    let plain = plain.unwrap_or(tail.len());
                    let last = tail.get(plain).copied().unwrap_or(b'"');
                    out.add(&[&before, &tail[..plain]], last);
                }
            }
        }
        if escapes {
            out.branch_everywhere(b'\\');
        }
        true
    }
}

fn key_loop(machine: &Machine, m: &ObjectMachine, state: u32, classes: u64) -> Option<ClassId> {
    let Some(keys) = &m.keys else {
        return Some(ANY_TEXT);
    };
    let (dfa, first) = keys.looping();
    let is_endless = keys.left(classes, state).any(|n| n.is_none());
    is_endless.then(|| machine.loops().class(dfa, first, state))?
}

/// The class of which any text may come in a further name, if further
/// names of all classes may come.
fn free_names(machine: &Machine, m: &ObjectMachine, state: u32, classes: u64) -> Option<ClassId> {
    let keys = m.keys.as_ref()?;
    let all = classes.count_ones() as usize == m.classes.len();
    let (dfa, first) = keys.looping();
    let endless = |state: u32| keys.left(u64::MAX, state).any(|n| n.is_none());
    (all && endless(state)).then(|| machine.loops().free(dfa, first, endless))?
}

/// The most ways of white space that are listed, because each is tried before each name.
const FEW: usize = 4;

/// Returns the white space that may come from a state on up to where it may end, if that is not much.
fn few(space: &Space, state: u32) -> Option<Vec<Vec<u8>>> {
    let mut out = Vec::new();
    let mut todo = vec![(state, Vec::new())];
    while let Some((state, white)) = todo.pop() {
        if out.len() + todo.len() > FEW {
            return None;
        }
        for byte in *b" \t\n\r" {
            if let Some(to) = space.step(state, byte) {
                todo.push((to, [&white[..], &[byte]].concat()));
            }
        }
        if space.may_end(state) {
            out.push(white);
        }
    }
    Some(out)
}

/// Returns the white space and quotation mark that may stand before a name, if these are not many;
/// adds the texts that may end the object instead.
fn openings(machine: &Machine, gap: Gap, space: u32, out: &mut Texts) -> Option<Vec<Vec<u8>>> {
    let mut before = few(machine.space(), space)?;
    for white in &mut before {
        if gap == Gap::ObjectStart {
            out.add(&[white], b'}');
        }
        white.push(b'"');
    }
    Some(before)
}

/// Tells whether the topmost level alone says of most tokens whether they may come.
fn top_tells(config: &Config) -> bool {
    !is_kept(config.item)
        && match config.top {
            Top::Value { .. } | Top::Number { .. } | Top::String { .. } => true,
            Top::Key(key) => key.is_further() && key.text == UNKNOWN,
            Top::Gap(gap, _) => matches!(gap, Gap::Colon | Gap::BeforeFurther),
            Top::Unit { .. } | Top::End => false,
        }
}

/// Returns the least number of bytes of a name that is written with an escape: one of two bytes if
/// it has such a character, or else one of six for a character of three at most.
fn shortest_escaped(name: &[u8]) -> usize {
    let is_short = |byte: &u8| is_never_raw(*byte) || *byte == b'/';
    name.len() + if name.iter().any(is_short) { 1 } else { 3 }
}

/// The text that may come where nothing but the length counts.
fn counted_text(demand: &StringDemand<u32>, length: u32) -> Option<FreeText> {
    let StringDemand::Counted { max, excludes, .. } = demand else {
        return None;
    };
    // If a text may be left out, it may have as many characters as the bound allows.
    let last = u64::from(*excludes);
    let max = max.map_or(u64::MAX, |max| max.saturating_sub(last));
    text_up_to(max, length)
}

/// Returns how many bytes of a text, read from a state on, begin names of some classes that are
/// more than so many others, all along; `None` if there are no such names.
fn goes_on(
    keys: &KeyMachine,
    from: u32,
    text: &[u8],
    (classes, others): (u64, u64),
) -> Option<usize> {
    let is_open = |state: u32| {
        let mut left = keys.left(classes, state);
        left.any(|count| count.is_none_or(|count| count > others))
    };
    if !is_open(from) {
        return None;
    }
    let text = String::from_utf8_lossy(text);
    let mut state = from;
    for (at, c) in text.char_indices() {
        state = keys.dfa.step(state, u32::from(c));
        if !is_open(state) {
            return Some(at);
        }
    }
    Some(text.len())
}

/// Returns the number of bytes that the texts of a range have left, at most; `None` where they
/// are many.
fn longest_left(words: &Words, span: Span) -> Option<usize> {
    let list = &words[span.lo as usize..span.hi as usize];
    let left = list.iter().map(|word| word.text.len() - span.read as usize);
    (list.len() <= FEW_WORDS).then(|| left.max().unwrap_or(0))
}
