//! The inside of a string and the wanted goals that it can still satisfy.
//!
//! For example, behind `"ab` of `{"enum": ["abc", "x"]}` the leaf has one word left.

use std::sync::Arc;

use schema_normal::language::char_dfa::DEAD;

use crate::automaton::machine::node::{Leaf, StringMachine};
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
            leaves.any(|l| l.dfa == Some(d) && has_goal(&wanted, l.goal))
        };
        let start = (0..m.dfas.len() as u32).map(|d| if is_used(d) { 0 } else { DEAD });
        state = x.add_list(&start.collect::<Vec<u32>>());
    }
    Str {
        state,
        words: Span::all(m.words.list.len()),
        length: 0,
        partial: Partial::None,
    }
}

pub(super) fn leaf_state(m: &StringMachine, leaf: &Leaf, state: u32, x: &Scratch) -> u32 {
    match leaf.dfa {
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
    let leaf = &m.leaves[id];
    if leaf.listed {
        return m.words.some_listed(words.lo..words.hi, id);
    }
    let length = u64::from(length);
    if leaf.dfa.is_some() {
        return state != DEAD && leaf.lengths.as_ref().is_none_or(|l| l.live(state, length));
    }
    if leaf.max.is_some_and(|max| length > max) {
        return false;
    }
    // With no character left only the text itself remains.
    let last = leaf.excludes && leaf.max == Some(length);
    !(last
        && words
            .ends(|i| &m.words.list[i].text)
            .is_some_and(|i| m.words.list[i].excluded.contains(&(id as u32))))
}

fn leaf_accepts(m: &StringMachine, id: usize, text: &Str, state: u32) -> bool {
    let leaf = &m.leaves[id];
    let word = text
        .words
        .ends(|i| &m.words.list[i].text)
        .map(|i| &m.words.list[i]);
    if leaf.listed {
        return word.is_some_and(|w| w.listed.contains(&(id as u32)));
    }
    let length = u64::from(text.length);
    if let Some(d) = leaf.dfa {
        return state != DEAD
            && m.dfas[d as usize].accepts(state)
            && leaf.lengths.as_ref().is_none_or(|l| l.accepts(length));
    }
    length >= leaf.min
        && leaf.max.is_none_or(|max| length <= max)
        && !(leaf.excludes && word.is_some_and(|w| w.excluded.contains(&(id as u32))))
}

pub(super) fn string_live(m: &StringMachine, set: u32, text: &Str, x: &Scratch) -> bool {
    if m.free.is_some() {
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
    if m.free.is_some() {
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
            words: text.words.step(c, |i| &m.words.list[i].text),
            length: m.longer(text.length),
            partial: Partial::None,
        }
    }
}

impl Sink for StringSink<'_> {
    type State = Str;

    fn put(&mut self, text: Str, c: u32) -> Option<Str> {
        if self.m.free.is_some() {
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
        if m.free.is_some() {
            return true;
        }
        let length = m.longer(text.length);
        let wanted = self.x.list(self.set);
        for (i, leaf) in m.leaves.iter().enumerate() {
            if !has_goal(&wanted, leaf.goal) {
                continue;
            }
            let state = leaf_state(m, leaf, text.state, self.x);
            if let Some(d) = leaf.dfa {
                let dfa = &m.dfas[d as usize];
                let open = |s: u32| leaf_live(m, i, s, Span::NONE, length);
                if state != DEAD && dfa.some_in(state, lo, hi, open) {
                    return true;
                }
                continue;
            }
            if !leaf.listed && !leaf.excludes {
                if leaf_live(m, i, 0, Span::NONE, length) {
                    return true;
                }
                continue;
            }
            // Words branch at single characters.
            let mut heads = 0;
            for c in text.words.heads((lo, hi), |i| &m.words.list[i].text) {
                let next = self.step(&text, c);
                if leaf_live(m, i, 0, next.words, next.length) {
                    return true;
                }
                heads += 1;
            }
            if !leaf.listed && heads <= u64::from(hi - lo) && leaf_live(m, i, 0, Span::NONE, length)
            {
                return true;
            }
        }
        false
    }
}

/// Tells whether two leaves ask the same of a string, for whichever goal.
pub(super) fn ask_the_same(one: &Leaf, other: &Leaf) -> bool {
    let lengths = match (&one.lengths, &other.lengths) {
        (Some(own), Some(lengths)) => Arc::ptr_eq(own, lengths),
        (own, lengths) => own.is_none() && lengths.is_none(),
    };
    let asked = |leaf: &Leaf| (leaf.listed, leaf.excludes, leaf.dfa, leaf.min, leaf.max);
    lengths && asked(one) == asked(other)
}
