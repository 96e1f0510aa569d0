//! The strings that a beginning can become, and their number, for each alternative.
//!
//! For example, `"a` of `{"enum": ["a", "ab", "b"]}` can become two strings.

use std::collections::{BinaryHeap, HashSet};

use schema_normal::decimal::clamped;
use schema_normal::language::char_dfa::lengths::Lengths;
use schema_normal::language::char_dfa::{CharDfa, DEAD};
use schema_normal::language::escapes;
use schema_normal::options::Escapes;

use crate::automaton::machine::Machine;
use crate::automaton::machine::strings::{StringDemand, StringMachine};
use crate::automaton::run::config::Str;
use crate::automaton::run::equality::spelled;
use crate::automaton::run::scratch::Scratch;
use crate::automaton::run::sorted::TextSet;
use crate::automaton::run::span::Span;
use crate::automaton::run::string_bytes as text;
use crate::automaton::run::string_bytes::{Partial, Sink};
use crate::automaton::run::string_leaves::{leaf_live, leaf_state};

/// The characters that strings may have: no surrogates, because UTF-8 has none (RFC 3629).
const CHARACTERS: u64 = 0x11_0000 - 0x800;

/// Collects the ranges that a partial character is asked about.
struct Ranges(Vec<(u32, u32)>);

impl Sink for Ranges {
    type State = ();

    fn put(&mut self, (): (), c: u32) -> Option<()> {
        self.0.push((c, c));
        Some(())
    }

    fn some(&mut self, (): (), lo: u32, hi: u32) -> bool {
        self.0.push((lo, hi));
        false
    }
}

/// The place of a leaf in a string that was begun.
#[derive(Clone, Copy)]
pub(super) struct LeafAt<'a> {
    m: &'a StringMachine,
    id: usize,
    state: u32,
    text: Str,
}

impl<'a> LeafAt<'a> {
    pub(super) fn new(m: &'a StringMachine, id: usize, text: Str, x: &Scratch) -> LeafAt<'a> {
        let state = leaf_state(m, &m.leaves[id], text.state, x);
        LeafAt { m, id, state, text }
    }

    fn demand(&self) -> &'a StringDemand<u32> {
        &self.m.leaves[self.id].demand
    }

    /// Tells whether it can still accept.
    pub(super) fn is_live(&self) -> bool {
        let Str { words, length, .. } = self.text;
        leaf_live(self.m, self.id, self.state, words, length)
    }

    /// At most how many strings are left out by name.
    pub(super) fn excluded(&self) -> usize {
        match self.demand().excludes() {
            true => (self.text.words.hi - self.text.words.lo) as usize,
            false => 0,
        }
    }

    /// Returns the least number of strings that come of it; `None` is no end. Strings that are left
    /// out by name are counted.
    pub(super) fn least(&self, next: Option<&[(u32, u32)]>) -> Option<u64> {
        let length = u64::from(self.text.length);
        let (dfa, lengths) = match self.demand() {
            StringDemand::Listed => return Some(self.listed(next).count() as u64),
            StringDemand::Counted { max, .. } => {
                let room = max.map(|max| max.saturating_sub(length));
                let chars = match next {
                    None => CHARACTERS,
                    Some(ranges) => ranges.iter().map(|(lo, hi)| u64::from(hi - lo) + 1).sum(),
                };
                return match (room, next) {
                    (None, _) => None,
                    (Some(0), None) => Some(1),
                    (Some(0), Some(_)) => Some(0),
                    (Some(1), _) => Some(chars),
                    (Some(_), _) => Some(chars.saturating_mul(CHARACTERS)),
                };
            }
            StringDemand::Read { dfa, lengths, .. } => {
                (&self.m.dfas[*dfa as usize], lengths.as_deref())
            }
        };
        let Some(ranges) = next else {
            return least_from(dfa, lengths, self.state, length);
        };
        let mut sum = 0u64;
        for (to, lo, hi) in dfa.arrows(self.state) {
            let sizes = ranges.iter().map(|(from, until)| {
                let (lo, hi) = (lo.max(*from), hi.min(*until));
                u64::from((hi + 1).saturating_sub(lo))
            });
            let size = sizes.sum();
            if size > 0 {
                let many = least_from(dfa, lengths, to, length + 1)?;
                sum = sum.saturating_add(many.saturating_mul(size));
            }
        }
        Some(sum)
    }

    /// The words that are listed for the leaf and may still come.
    fn listed<'n>(
        &self,
        next: Option<&'n [(u32, u32)]>,
    ) -> impl Iterator<Item = &'a str> + use<'a, 'n> {
        let Span { lo, hi, read } = self.text.words;
        let id = self.id as u32;
        let words = self.m.words[lo as usize..hi as usize].iter();
        words
            .filter(move |word| word.listed.contains(&id))
            .map(move |word| &word.text[read as usize..])
            .filter(move |rest| match (next, rest.chars().next()) {
                (None, _) => true,
                (Some(ranges), Some(c)) => has(ranges, u32::from(c)),
                (Some(_), None) => false,
            })
    }

    /// A text from the beginning of a string on that is none of some values, found by how
    /// many there are behind each character. `None` is no proof that there is none.
    pub(super) fn another(&self, lists: &[&TextSet]) -> Option<String> {
        let StringDemand::Read { dfa, lengths, .. } = self.demand() else {
            return None;
        };
        let (dfa, lengths) = (&self.m.dfas[*dfa as usize], lengths.as_deref());
        let (mut state, mut length, mut text) = (self.state, 0u32, String::new());
        let known = |text: &str| -> usize {
            let begun = spelled(text);
            let begun = begun.strip_suffix('"').unwrap_or_default();
            let alike = lists.iter().map(|list| list.beginning_with(begun).len());
            alike.sum()
        };
        let words = |state: u32, length: u32| {
            let fits = lengths.is_none_or(|l| l.accepts(u64::from(length)));
            dfa.accepts(state) && fits
        };
        loop {
            if words(state, length) {
                let whole = spelled(&text);
                if !lists.iter().any(|list| list.has(&whole)) {
                    return Some(text);
                }
            }
            length += 1;
            let mut next = None;
            let mut arrows: Vec<(u32, u32, u32)> = dfa.arrows(state).collect();
            // Visible characters first, and what ends soon.
            arrows.sort_by_key(|(to, lo, _)| (*lo < 0x20, dfa.far(*to)));
            for (to, lo, hi) in arrows {
                if !leaf_live(self.m, self.id, to, Span::NONE, length) {
                    continue;
                }
                let many = least_from(dfa, lengths, to, u64::from(length));
                for c in (lo..=hi).filter_map(char::from_u32).take(MAX_ALTERNATIVES) {
                    text.push(c);
                    if many.is_none_or(|many| many > known(&text) as u64) {
                        next = Some(to);
                        break;
                    }
                    text.pop();
                }
                if next.is_some() {
                    break;
                }
            }
            state = next?;
        }
    }

    /// Shows the texts that may follow, one after another, until enough is seen: all of
    /// them, or `most` at least.
    pub(super) fn each(
        &self,
        next: Option<&[(u32, u32)]>,
        most: usize,
        see: &mut dyn FnMut(&str) -> Enough,
    ) -> Enough {
        let (dfa, min, lengths) = match self.demand() {
            StringDemand::Listed => {
                let mut listed = self.listed(next);
                return match listed.any(|rest| see(rest) == Enough::Yes) {
                    true => Enough::Yes,
                    false => Enough::No,
                };
            }
            StringDemand::Counted { min, max, .. } => {
                return self.each_counted((*min, *max), next, most, see);
            }
            StringDemand::Read {
                dfa, min, lengths, ..
            } => (&self.m.dfas[*dfa as usize], *min, lengths),
        };
        let words = AutomatonTexts {
            dfa,
            ends: &|state, length| {
                let length = u64::from(length);
                dfa.accepts(state) && lengths.as_ref().is_none_or(|l| l.accepts(length))
            },
            live: &|state, length| leaf_live(self.m, self.id, state, Span::NONE, length),
            min,
        };
        words.each((self.state, self.text.length), next, most, see)
    }

    /// The same of texts of which nothing but the length counts.
    fn each_counted(
        &self,
        (min, max): (u64, Option<u64>),
        next: Option<&[(u32, u32)]>,
        most: usize,
        see: &mut dyn FnMut(&str) -> Enough,
    ) -> Enough {
        let length = u64::from(self.text.length);
        let begun = u64::from(next.is_some());
        let room = max.map_or(u64::MAX, |max| max.saturating_sub(length));
        let least = min.saturating_sub(length).max(begun);
        if least > room {
            return Enough::No;
        }
        if least == 0 && see("") == Enough::Yes {
            return Enough::Yes;
        }
        let Ok(more) = usize::try_from(least.saturating_sub(1)) else {
            return Enough::Yes;
        };
        if room == 0 || more > MAX_FILLED {
            return Enough::No;
        }
        // The first character makes the difference, or else all but the first.
        let filled = "a".repeat(more);
        for c in chars_of(next.unwrap_or(ALL)).take(most) {
            let mut text = String::from(c);
            text.push_str(&filled);
            if see(&text) == Enough::Yes {
                return Enough::Yes;
            }
            if room > more as u64 + 1 && next.is_some() {
                for last in chars_of(ALL).take(most) {
                    let mut longer = text.clone();
                    longer.push(last);
                    if see(&longer) == Enough::Yes {
                        return Enough::Yes;
                    }
                }
            }
        }
        Enough::No
    }
}

/// The least number of strings that an automaton reads from a state on, within bounds on their length.
fn least_from(dfa: &CharDfa, lengths: Option<&Lengths>, state: u32, length: u64) -> Option<u64> {
    match lengths {
        _ if state == DEAD => Some(0),
        None => dfa.amount(state),
        Some(lengths) => lengths.amount(dfa, state, length),
    }
}

/// The texts of an automaton.
pub(super) struct AutomatonTexts<'a> {
    pub(super) dfa: &'a CharDfa,
    /// True if a text of a length may end in a state.
    pub(super) ends: &'a dyn Fn(u32, u32) -> bool,
    /// True if one may go on there.
    pub(super) live: &'a dyn Fn(u32, u32) -> bool,
    /// The least length of a text.
    pub(super) min: u64,
}

impl AutomatonTexts<'_> {
    /// Shows the texts that may follow a state, one after another, until enough is seen:
    /// all of them, or `most` at least. The first character is one of some ranges.
    pub(super) fn each(
        &self,
        (state, length): (u32, u32),
        first: Option<&[(u32, u32)]>,
        most: usize,
        see: &mut dyn FnMut(&str) -> Enough,
    ) -> Enough {
        let start = Way {
            least: 0,
            state,
            length,
            text: String::new(),
            last: None,
        };
        let mut heap = BinaryHeap::from([start]);
        let mut begun = 0;
        while let Some(way) = heap.pop() {
            heap.extend(way.beside());
            let is_begun = first.is_some() && way.text.is_empty();
            let is_end = !is_begun && (self.ends)(way.state, way.length);
            if is_end && see(&way.text) == Enough::Yes {
                return Enough::Yes;
            }
            let ranges = if is_begun { first } else { None };
            self.go_on(&way, ranges, most, &mut heap);
            begun += 1;
            if begun > MAX_BEGUN {
                return Enough::Yes;
            }
        }
        Enough::No
    }

    /// Adds the ways that a character more leads to. Each stands for all characters of its
    /// range: those that follow come when the first was taken.
    fn go_on(
        &self,
        way: &Way,
        ranges: Option<&[(u32, u32)]>,
        most: usize,
        heap: &mut BinaryHeap<Way>,
    ) {
        let length = way.length.saturating_add(1);
        let min = usize::try_from(self.min).unwrap_or(usize::MAX);
        for (to, lo, hi) in self.dfa.arrows(way.state) {
            if !(self.live)(to, length) {
                continue;
            }
            let far = self.dfa.far(to) as usize;
            let least = (length as usize).saturating_add(far).max(min);
            for (from, until) in ranges.unwrap_or(&[(0, u32::MAX)]) {
                let (lo, hi) = (lo.max(*from), hi.min(*until));
                let Some(c) = (lo..=hi).find_map(char::from_u32) else {
                    continue;
                };
                let mut text = String::with_capacity(way.text.len() + c.len_utf8());
                text.push_str(&way.text);
                text.push(c);
                let most = clamped(most);
                heap.push(Way {
                    least,
                    state: to,
                    length,
                    text,
                    last: Some(hi.min(lo.saturating_add(most))),
                });
            }
        }
    }
}

/// True if more is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Enough {
    No,
    Yes,
}

/// All characters, letters first because people mostly write these.
const ALL: &[(u32, u32)] = &[
    (0x61, 0x7A),
    (0x41, 0x5A),
    (0x30, 0x39),
    (0x20, 0x2F),
    (0x3A, 0x40),
    (0x5B, 0x60),
    (0x7B, 0x10_FFFF),
    (0, 0x1F),
];

/// The most characters to one state that are looked at, because more values are seldom barred.
const MAX_ALTERNATIVES: usize = 4_096;

/// The longest text of which only the length is asked, because it is written out.
const MAX_FILLED: usize = 1 << 20;

/// The most beginnings of texts that are gone on from, because their texts take memory.
const MAX_BEGUN: usize = 1_000_000;

fn chars_of(ranges: &[(u32, u32)]) -> impl Iterator<Item = char> {
    let all = ranges.iter().flat_map(|(lo, hi)| *lo..=*hi);
    all.filter_map(char::from_u32)
}

fn has(ranges: &[(u32, u32)], c: u32) -> bool {
    ranges.iter().any(|(lo, hi)| (*lo..=*hi).contains(&c))
}

/// A text that can go on: the one that may end soonest comes first, and of several the
/// longest.
#[derive(PartialEq, Eq)]
struct Way {
    least: usize,
    state: u32,
    length: u32,
    text: String,
    /// The last character that the text may have in place of the one at its end.
    last: Option<u32>,
}

impl Way {
    /// The same with the character that follows the one at the end of the text.
    fn beside(&self) -> Option<Way> {
        let c = self.text.chars().next_back()?;
        let next = (u32::from(c) + 1..=self.last?).find_map(char::from_u32)?;
        let mut text = String::with_capacity(self.text.len() + 1);
        text.push_str(&self.text[..self.text.len() - c.len_utf8()]);
        text.push(next);
        Some(Way { text, ..*self })
    }
}

impl Ord for Way {
    fn cmp(&self, other: &Way) -> std::cmp::Ordering {
        let key = |way: &Way| (std::cmp::Reverse(way.least), way.length);
        key(self)
            .cmp(&key(other))
            .then_with(|| other.text.cmp(&self.text))
    }
}

impl PartialOrd for Way {
    fn partial_cmp(&self, other: &Way) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// The characters that a partial one may become, as sorted ranges; `None` where no
/// character has begun.
pub(super) fn may_become(machine: &Machine, partial: Partial) -> Option<Vec<(u32, u32)>> {
    becoming(machine.value_escapes(), partial)
}

/// The same in the name of a member.
pub(super) fn name_may_become(machine: &Machine, partial: Partial) -> Option<Vec<(u32, u32)>> {
    becoming(machine.name_escapes(), partial)
}

fn becoming(escapes: Escapes, partial: Partial) -> Option<Vec<(u32, u32)>> {
    if partial == Partial::None {
        return None;
    }
    let mut ranges = Ranges(Vec::new());
    text::possible(&mut ranges, escapes, partial, ());
    let mut all = ranges.0;
    all.sort_unstable();
    let mut out: Vec<(u32, u32)> = Vec::new();
    for (lo, hi) in all {
        match out.last_mut() {
            Some(last) if lo <= last.1.saturating_add(1) => last.1 = last.1.max(hi),
            _ => out.push((lo, hi)),
        }
    }
    Some(out)
}

/// The bytes that spell the rest of a string, its quotation mark included, behind what was
/// read of its first character.
pub(super) fn spelt_behind(partial: Partial, rest: &str) -> Vec<u8> {
    let mut chars = rest.chars();
    let mut out = Vec::with_capacity(rest.len() + 1);
    if partial != Partial::None
        && let Some(c) = chars.next()
    {
        let mut units = [0u16; 2];
        let units = c.encode_utf16(&mut units);
        let hex = |unit: u16| format!("{unit:04x}");
        let low = units.last().copied().map(hex).unwrap_or_default();
        let first = units.first().copied().map(hex).unwrap_or_default();
        match partial {
            Partial::None => {}
            Partial::Utf8 { left, .. } => {
                let mut bytes = [0; 4];
                let bytes = c.encode_utf8(&mut bytes).as_bytes();
                out.extend(&bytes[bytes.len().saturating_sub(usize::from(left))..]);
            }
            Partial::Escape => {
                // These escapes exist under all options.
                match escapes::letter(c, Escapes::Standard) {
                    Some(letter) => out.push(letter),
                    None => {
                        out.push(b'u');
                        out.extend(first.bytes());
                        if units.len() > 1 {
                            out.extend(b"\\u");
                            out.extend(low.bytes());
                        }
                    }
                }
            }
            Partial::Hex { digits, high, .. } => {
                let unit = if high == 0 { &first } else { &low };
                out.extend(unit.bytes().skip(usize::from(digits)));
                if high == 0 && units.len() > 1 {
                    out.extend(b"\\u");
                    out.extend(low.bytes());
                }
            }
            Partial::HighEscape { .. } => {
                out.extend(b"\\u");
                out.extend(low.bytes());
            }
            Partial::HighU { .. } => {
                out.push(b'u');
                out.extend(low.bytes());
            }
        }
    }
    let more = serde_json::to_vec(chars.as_str()).unwrap_or_default();
    out.extend(more.get(1..).unwrap_or_default());
    out
}

/// The texts that all leaves of some goals admit, each once, until enough is seen.
pub(super) fn each_text(
    m: &StringMachine,
    wanted: &[u32],
    (text, next): (Str, Option<&[(u32, u32)]>),
    most: usize,
    x: &Scratch,
    see: &mut dyn FnMut(&str) -> Enough,
) -> Enough {
    let mut met: HashSet<String> = HashSet::new();
    let leaves = m.leaves.iter().enumerate();
    let leaves: Vec<usize> = leaves
        .filter(|(_, leaf)| wanted.contains(&leaf.goal))
        .map(|(id, _)| id)
        .collect();
    for id in &leaves {
        let at = LeafAt::new(m, *id, text, x);
        let enough = at.each(next, most, &mut |rest| match leaves.len() {
            1 => see(rest),
            _ if met.insert(rest.to_owned()) => see(rest),
            _ => Enough::No,
        });
        if enough == Enough::Yes {
            return Enough::Yes;
        }
    }
    Enough::No
}
