//! The inside of a string and the wanted goals that it can still satisfy.
//!
//! For example, behind `"ab` of `{"enum": ["abc", "x"]}` the leaf has one word left.

use schema_normal::language::char_dfa::DEAD;

use crate::automaton::machine::strings::{Leaf, StringDemand, StringMachine};
use crate::automaton::run::config::{Str, has_goal};
use crate::automaton::run::scratch::Scratch;
use crate::automaton::run::span::Span;
use crate::automaton::run::string_bytes::{Partial, Sink};

/// The beginning of a string.
pub(super) fn string_start(m: &StringMachine, set: u32, x: &mut Scratch) -> Str {
    let mut state = 0;
    if m.dfas.len() > 1 {
        let wanted = x.list(set);
        let is_used = |d: u32| {
            let mut leaves = m.leaves.iter();
            leaves.any(|l| l.demand.dfa() == Some(d) && has_goal(&wanted, l.goal))
        };
        let start = (0..m.dfas.len() as u32).map(|d| if is_used(d) { 0 } else { DEAD });
        state = x.add_list(&start.collect::<Vec<u32>>());
    }
    Str {
        state,
        words: Span::all(m.words.len()),
        length: 0,
        partial: Partial::None,
    }
}

pub(super) fn leaf_state(m: &StringMachine, leaf: &Leaf, state: u32, x: &Scratch) -> u32 {
    match leaf.demand.dfa() {
        None => 0,
        Some(_) if m.dfas.len() == 1 => state,
        Some(d) => x.slice(state)[d as usize],
    }
}

/// Tells whether a leaf can still accept. `words` are those that go on from here.
pub(super) fn leaf_live(
    m: &StringMachine,
    id: usize,
    state: u32,
    words: Span,
    length: u32,
) -> bool {
    let length = u64::from(length);
    match &m.leaves[id].demand {
        StringDemand::Listed => m.words.some_listed(words.lo..words.hi, id),
        StringDemand::Read { lengths, .. } => {
            state != DEAD && lengths.as_ref().is_none_or(|l| l.live(state, length))
        }
        StringDemand::Counted { max, excludes, .. } => {
            // With no character left only the text itself remains.
            let is_last = *excludes && *max == Some(length);
            max.is_none_or(|max| length <= max) && !(is_last && is_excluded(m, id, words))
        }
    }
}

/// Tells whether a leaf leaves out the word that ends here.
fn is_excluded(m: &StringMachine, id: usize, words: Span) -> bool {
    let word = words.ends(|i| &m.words[i].text);
    word.is_some_and(|i| m.words[i].excluded.contains(&(id as u32)))
}

fn leaf_accepts(m: &StringMachine, id: usize, text: &Str, state: u32) -> bool {
    let length = u64::from(text.length);
    match &m.leaves[id].demand {
        StringDemand::Listed => {
            let word = text.words.ends(|i| &m.words[i].text);
            word.is_some_and(|i| m.words[i].listed.contains(&(id as u32)))
        }
        StringDemand::Read { dfa, lengths, .. } => {
            state != DEAD
                && m.dfas[*dfa as usize].accepts(state)
                && lengths.as_ref().is_none_or(|l| l.accepts(length))
        }
        StringDemand::Counted { min, max, excludes } => {
            length >= *min
                && max.is_none_or(|max| length <= max)
                && !(*excludes && is_excluded(m, id, text.words))
        }
    }
}

pub(super) fn string_live(m: &StringMachine, set: u32, text: &Str, x: &Scratch) -> bool {
    if m.is_free() {
        return true;
    }
    let wanted = x.slice(set);
    m.leaves.iter().enumerate().any(|(i, leaf)| {
        has_goal(wanted, leaf.goal)
            && leaf_live(
                m,
                i,
                leaf_state(m, leaf, text.state, x),
                text.words,
                text.length,
            )
    })
}

/// The goals that a string satisfies if it ends here.
pub(super) fn string_goals(m: &StringMachine, set: u32, text: &Str, x: &mut Scratch) -> u32 {
    if m.is_free() {
        return set;
    }
    let wanted = x.list(set);
    let mut held: Vec<u32> = m
        .leaves
        .iter()
        .enumerate()
        .filter(|(i, leaf)| {
            has_goal(&wanted, leaf.goal)
                && leaf_accepts(m, *i, text, leaf_state(m, leaf, text.state, x))
        })
        .map(|(_, leaf)| leaf.goal)
        .collect();
    held.sort_unstable();
    held.dedup();
    x.add_list(&held)
}

pub(super) struct StringSink<'a> {
    pub(super) m: &'a StringMachine,
    pub(super) set: u32,
    pub(super) x: &'a mut Scratch,
}

impl StringSink<'_> {
    fn step(&mut self, text: &Str, c: u32) -> Str {
        let m = self.m;
        let state = match &*m.dfas {
            [] => 0,
            [one] if text.state != DEAD => one.step(text.state, c),
            [_] => DEAD,
            many => {
                let states = self.x.list(text.state);
                let next: Vec<u32> = states
                    .iter()
                    .zip(many)
                    .map(|(s, d)| if *s == DEAD { DEAD } else { d.step(*s, c) })
                    .collect();
                self.x.add_list(&next)
            }
        };
        Str {
            state,
            words: text.words.step(c, |i| &m.words[i].text),
            length: m.longer(text.length, 1),
            partial: Partial::None,
        }
    }
}

impl Sink for StringSink<'_> {
    type State = Str;

    fn put(&mut self, text: Str, c: u32) -> Option<Str> {
        if self.m.is_free() {
            return Some(Str {
                partial: Partial::None,
                ..text
            });
        }
        let next = self.step(&text, c);
        string_live(self.m, self.set, &next, self.x).then_some(next)
    }

    fn some(&mut self, text: Str, lo: u32, hi: u32) -> bool {
        let m = self.m;
        if m.is_free() {
            return true;
        }
        let length = m.longer(text.length, 1);
        let wanted = self.x.list(self.set);
        for (i, leaf) in m.leaves.iter().enumerate() {
            if !has_goal(&wanted, leaf.goal) {
                continue;
            }
            let state = leaf_state(m, leaf, text.state, self.x);
            if let Some(d) = leaf.demand.dfa() {
                let dfa = &m.dfas[d as usize];
                let open = |s: u32| leaf_live(m, i, s, Span::NONE, length);
                if state != DEAD && dfa.some_in(state, lo, hi, open) {
                    return true;
                }
                continue;
            }
            let is_listed = matches!(leaf.demand, StringDemand::Listed);
            if !is_listed && !leaf.demand.excludes() {
                if leaf_live(m, i, 0, Span::NONE, length) {
                    return true;
                }
                continue;
            }
            // Words branch at single characters.
            let mut heads = 0;
            for c in text.words.heads((lo, hi), |i| &m.words[i].text) {
                let next = self.step(&text, c);
                if leaf_live(m, i, 0, next.words, next.length) {
                    return true;
                }
                heads += 1;
            }
            if !is_listed && heads <= u64::from(hi - lo) && leaf_live(m, i, 0, Span::NONE, length) {
                return true;
            }
        }
        false
    }
}
