//! Automata over code points: stepping, what a partial character can still
//! become, which text is free, and how long the texts are that remain.
//!
//! For example, behind the byte 0xC3 of `é` some states can still become `é`, and those that read
//! ASCII alone are dead.

pub mod automata;
mod counts;
mod free;
pub mod lengths;
pub mod product;

use std::sync::OnceLock;

use fsm_tables::{Alphabet, Symbols, Table};

use crate::budget::Limit;
use crate::budget::TooBig;
use crate::language::char_dfa::product::{Part, Product};
use crate::language::re::Re;

pub use free::{FREE_STEPS, Follows, Free, MAX_MET, Ranges};
pub use fsm_tables::NONE as DEAD;

/// A deterministic automaton over code points of which every state can still
/// accept.
#[derive(Debug)]
pub struct CharDfa {
    alphabet: Alphabet,
    /// The class of each character of a byte.
    ascii: Box<[u32; 128]>,
    table: Table<u64>,
    /// The number of texts that are accepted from each state, `None` for no end, once that was
    /// asked.
    amounts: OnceLock<Box<[Option<u64>]>>,
    /// The number of characters that lead at least from each state to acceptance, once that was
    /// asked.
    far: OnceLock<Box<[u32]>>,
    /// The code points that lead nowhere from any state, once they were asked for.
    dead: OnceLock<Box<[(u32, u32)]>>,
}

impl CharDfa {
    /// The texts whose verdict about several expressions is wanted.
    pub fn trimmed(
        product: &Product,
        wanted: impl Fn(u64) -> bool,
        limit: Limit<'_>,
    ) -> Result<CharDfa, TooBig> {
        let table = product.minimal(wanted, limit)?;
        Ok(CharDfa::of(
            product.alphabet.clone(),
            table.labelled(u64::from),
        ))
    }

    /// The texts that one expression matches.
    pub fn of_part(part: &Part) -> CharDfa {
        CharDfa::of(
            part.alphabet.clone(),
            part.table.clone().labelled(u64::from),
        )
    }

    /// The texts that any of several automata accepts.
    pub fn union(all: &[&CharDfa], limit: Limit<'_>) -> Result<CharDfa, TooBig> {
        let parts = all.iter().map(|dfa| dfa.part()).collect();
        Ok(CharDfa::of_part(&Part::union(parts, limit)?))
    }

    /// The automaton as a part of a product, to be met with others.
    pub fn part(&self) -> Part {
        Part {
            alphabet: self.alphabet.clone(),
            table: self.table.clone().labelled(|label| label != 0),
            is_any: false,
        }
    }

    /// No text at all.
    pub fn never() -> CharDfa {
        let (alphabet, _) = Alphabet::common(&[]);
        let table = Table::new(alphabet.len(), Vec::new(), Vec::new());
        CharDfa::of(alphabet, table)
    }

    /// The texts that all positive expressions and no negative one match.
    pub fn new<'b>(parts: &[(&Re, bool)], limit: impl Into<Limit<'b>>) -> Result<CharDfa, TooBig> {
        let limit = limit.into();
        if let [(re, true)] = parts {
            return Ok(CharDfa::of_part(&Part::new(re, limit)?));
        }
        let res: Vec<&Re> = parts.iter().map(|(re, _)| *re).collect();
        let mut want = 0u64;
        for (i, (_, positive)) in parts.iter().enumerate() {
            want |= u64::from(*positive) << i;
        }
        let product = Product::new(&res, limit)?;
        CharDfa::trimmed(&product, |v| v == want, limit)
    }

    /// All verdicts about several expressions; states are not trimmed.
    pub fn labelled(parts: &[&Part], limit: Limit<'_>) -> Result<CharDfa, TooBig> {
        let product = Product::of(parts, limit)?;
        Ok(CharDfa::of(product.alphabet, product.table))
    }

    fn of(alphabet: Alphabet, table: Table<u64>) -> CharDfa {
        let mut ascii = Box::new([DEAD; 128]);
        for (first, last, class) in alphabet.runs_within(0, 127) {
            ascii[first as usize..=last as usize].fill(class);
        }
        CharDfa {
            alphabet,
            ascii,
            table,
            amounts: OnceLock::new(),
            far: OnceLock::new(),
            dead: OnceLock::new(),
        }
    }

    /// As [`CharDfa::tables`] gives it, but for labels, of a smallest automaton; `None` if
    /// they are of none.
    pub(super) fn of_tables(
        (starts, classes): (Vec<u32>, Vec<u32>),
        next: Vec<u32>,
        accepts: &[bool],
    ) -> Option<CharDfa> {
        let alphabet = Alphabet::from_tables(Symbols::Chars, starts, classes)?;
        let is_whole = next.len() == alphabet.len().checked_mul(accepts.len())?;
        let labels = accepts.iter().map(|yes| u64::from(*yes)).collect();
        let table = is_whole.then(|| Table::new(alphabet.len(), next, labels))?;
        Some(CharDfa::of(alphabet, table))
    }

    /// Everything that it is made of: where classes of characters start, the
    /// classes, where each state leads by each class, and labels.
    pub fn tables(&self) -> (&[u32], &[u32], &[u32], &[u64]) {
        let (starts, classes) = self.alphabet.tables();
        (starts, classes, self.table.cells(), self.table.labels())
    }

    /// Returns the number of states; the first one is 0. There are none where no text is accepted.
    pub fn states(&self) -> usize {
        self.table.states()
    }

    /// Returns the expressions that accept at a state, a bit each.
    pub fn label(&self, state: u32) -> u64 {
        self.table.labels()[state as usize]
    }

    /// Tells whether the text that led to a state is accepted.
    pub fn accepts(&self, state: u32) -> bool {
        self.table.labels()[state as usize] != 0
    }

    /// Returns the state behind a code point, [`DEAD`] where there is none. O(log classes), O(1) for ASCII.
    pub fn step(&self, state: u32, c: u32) -> u32 {
        let class = match self.ascii.get(c as usize) {
            Some(class) => Some(*class),
            None => self.alphabet.class_of(c),
        };
        class.map_or(DEAD, |class| self.table.next(state, class))
    }

    /// The ends of a range around a code point, of which all lead to the same from each
    /// state.
    pub fn alike(&self, c: u32) -> (u32, u32) {
        let (first, last, _) = self.alphabet.run(self.alphabet.run_of(c));
        (first, last)
    }

    /// Returns the state behind a whole text, from the first state on.
    pub fn run(&self, text: &str) -> u32 {
        let mut state = if self.states() == 0 { DEAD } else { 0 };
        for c in text.chars() {
            if state == DEAD {
                return DEAD;
            }
            state = self.step(state, u32::from(c));
        }
        state
    }

    /// Tells whether some character of `lo..=hi` leads to a state that `good` admits.
    pub fn some_in(&self, state: u32, lo: u32, hi: u32, mut good: impl FnMut(u32) -> bool) -> bool {
        self.alphabet.runs_within(lo, hi).any(|(_, _, class)| {
            let to = self.table.next(state, class);
            to != DEAD && good(to)
        })
    }

    /// The code points of a class that have wanted symbols.
    fn ranges_in(&self, class: &[(u32, u32)], wanted: impl Fn(usize) -> bool) -> Vec<(u32, u32)> {
        let within = |range: &(u32, u32)| self.alphabet.runs_within(range.0, range.1);
        let wanted = class
            .iter()
            .flat_map(within)
            .filter(|run| wanted(run.2 as usize));
        joined(wanted.map(|(first, last, _)| (first, last)))
    }

    /// The code points that lead from no state to one that something `follows`, which is
    /// the same each time; and control characters, which strings do not have as they are.
    pub fn dead_class(&self, follows: impl Fn(u32) -> bool) -> &[(u32, u32)] {
        self.dead.get_or_init(|| {
            let mut lives = vec![false; self.table.width()];
            for row in self.table.rows() {
                for (lives, to) in lives.iter_mut().zip(row) {
                    *lives |= *to != DEAD && follows(*to);
                }
            }
            let runs = (0..self.alphabet.run_count()).map(|run| self.alphabet.run(run));
            let dead = runs.filter(|run| lives.get(run.2 as usize) != Some(&true));
            let dead = dead.map(|(first, last, _)| (first.max(0x20), last));
            let dead = dead.filter(|(first, last)| first <= last);
            joined(std::iter::once((0, 0x1F)).chain(dead)).into()
        })
    }

    /// A code point of each symbol, a visible one where there is one.
    pub fn representatives(&self) -> Vec<u32> {
        let mut out = vec![u32::MAX; self.table.width()];
        for c in (0x20..0x7F).rev().filter(|c| ![0x22, 0x5C].contains(c)) {
            out[self.ascii[c as usize] as usize] = c;
        }
        for (first, _, class) in self.alphabet.runs() {
            let slot = &mut out[class as usize];
            *slot = if *slot == u32::MAX { first } else { *slot };
        }
        out
    }

    /// The code points of some ranges that lead from each of some states to one that is `good`; none
    /// if there are no such states.
    pub fn class_between(
        &self,
        from: impl Iterator<Item = u32>,
        good: impl Fn(u32) -> bool,
        all: &[(u32, u32)],
    ) -> Vec<(u32, u32)> {
        let mut from = from.peekable();
        let mut leads = vec![from.peek().is_some(); self.table.width()];
        for state in from {
            for (leads, to) in leads.iter_mut().zip(self.table.row(state)) {
                *leads &= *to != DEAD && good(*to);
            }
        }
        self.ranges_in(all, |symbol| leads[symbol])
    }

    /// For each state the next states, each once.
    fn successors(&self) -> Successors {
        let mut all = Successors {
            begin: Vec::with_capacity(self.states() + 1),
            to: Vec::new(),
        };
        // For each state one more than the last one that led to it.
        let mut met = vec![0u32; self.states()];
        all.begin.push(0);
        for s in 0..self.states() as u32 {
            for &to in self.table.row(s) {
                if to != DEAD && met[to as usize] != s + 1 {
                    met[to as usize] = s + 1;
                    all.to.push(to);
                }
            }
            all.begin.push(all.to.len() as u32);
        }
        all
    }

    /// Returns the number of characters that each symbol has.
    fn symbol_sizes(&self) -> Vec<u64> {
        let mut out = vec![0; self.table.width()];
        self.each_symbol(0, 0x10_FFFF, |symbol, count| out[symbol] += count);
        out
    }

    /// Calls `each` with the symbols of a range of code points and how many each has there.
    fn each_symbol(&self, from: u32, to: u32, mut each: impl FnMut(usize, u64)) {
        for (first, last, class) in self.alphabet.runs_within(from, to) {
            each(class as usize, u64::from(last - first + 1));
        }
    }

    /// Returns the targets of a state by each symbol.
    fn targets(&self, state: u32) -> impl Iterator<Item = (usize, u32)> {
        self.table.row(state).iter().copied().enumerate()
    }

    /// Returns the targets of a state, and the range of code points that leads to each.
    pub fn arrows(&self, state: u32) -> impl Iterator<Item = (u32, u32, u32)> + '_ {
        let runs = self.alphabet.runs();
        let to = runs.map(move |(first, last, class)| (self.table.next(state, class), first, last));
        to.filter(|arrow| arrow.0 != DEAD)
    }
}

/// Ranges in ascending order, those that touch as one.
fn joined(ranges: impl Iterator<Item = (u32, u32)>) -> Vec<(u32, u32)> {
    let mut out: Vec<(u32, u32)> = Vec::new();
    for (first, last) in ranges {
        match out.last_mut() {
            Some(before) if before.1 + 1 == first => before.1 = last,
            _ => out.push((first, last)),
        }
    }
    out
}

/// The states that each state leads to.
struct Successors {
    /// The beginning of the list of each state; behind the last one its end.
    begin: Vec<u32>,
    to: Vec<u32>,
}

impl Successors {
    fn of(&self, state: u32) -> &[u32] {
        let at = state as usize;
        &self.to[self.begin[at] as usize..self.begin[at + 1] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::pattern;

    fn dfa(source: &str) -> CharDfa {
        let re = pattern::whole(source).unwrap();
        CharDfa::new(&[(&re, true)], 10_000).unwrap()
    }

    #[test]
    fn what_no_state_reads_is_dead() {
        let hex = dfa("[0-9a-f]{2}é?");
        let dead = hex.dead_class(|_| true);
        let has = |c: char| {
            dead.iter()
                .any(|range| (range.0..=range.1).contains(&u32::from(c)))
        };
        assert!(
            ['\0', '\u{1F}', 'g', 'A', 'è', '\u{10FFFF}']
                .into_iter()
                .all(has)
        );
        assert!(!['0', '9', 'a', 'f', 'é'].into_iter().any(has));
        assert!(
            dead.windows(2).all(|pair| pair[0].1 + 1 < pair[1].0),
            "{dead:?}"
        );
        // Surrogates are no characters.
        let all = dfa("[\\s\\S]*");
        assert_eq!(all.dead_class(|_| true), [(0, 0x1F), (0xD800, 0xDFFF)]);
        assert_eq!(CharDfa::never().dead_class(|_| true), [(0, 0x10_FFFF)]);
    }
}
