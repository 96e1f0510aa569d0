//! A terminal in its text: what a lexeme wants of the text around it.
//!
//! For example, behind `if` of `/if\b/` no letter may come.

use std::collections::HashSet;
use std::ops::RangeInclusive;

use foldhash::fast::FixedState;
use fsm_tables::{Alphabet, NONE, Table};

use super::edges::Edges;
use crate::error::{Error, ErrorKind};

/// A demand of a lexeme on the text behind it, if not every text will do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wants {
    /// The classes of characters that must not follow.
    pub(super) not: Vec<u32>,
    /// Says whether nothing may follow.
    pub(super) may_end: bool,
}

/// The places where a lexeme ends in a state.
pub(super) enum Ending {
    Nowhere,
    Anywhere,
    /// Before text that it wants.
    Before(Wants),
}

/// A terminal in its text.
pub(super) struct Context {
    /// The text before it, a mark, the lexeme, another mark, and the text behind it.
    read: Table<bool>,
    alphabet: Alphabet,
}

impl Context {
    pub(super) fn new(read: Table<bool>, alphabet: Alphabet) -> Context {
        Context { read, alphabet }
    }

    /// Returns the number of classes of characters.
    pub(super) fn classes(&self) -> u32 {
        self.alphabet.len() as u32
    }

    pub(super) fn step(&self, state: u32, symbol: u32) -> u32 {
        match state {
            NONE => NONE,
            _ => self.read.next(state, symbol),
        }
    }

    /// The states that any text leads to from one, [`NONE`] among them.
    fn all_behind(&self, state: u32) -> Vec<u32> {
        let mut met = vec![state];
        let mut known: HashSet<u32, FixedState> = met.iter().copied().collect();
        let mut at = 0;
        while let Some(&state) = met.get(at) {
            at += 1;
            let to = (0..self.classes()).map(|class| self.step(state, class));
            met.extend(to.filter(|to| known.insert(*to)));
        }
        met
    }

    /// The state in which a lexeme begins.
    pub(super) fn begin(&self, edges: Edges) -> Result<u32, Error> {
        let start = if self.read.states() == 0 { NONE } else { 0 };
        let begin = |state| self.step(state, self.classes());
        let first = begin(start);
        if edges != Edges::Whole
            && self
                .all_behind(start)
                .into_iter()
                .any(|s| begin(s) != first)
        {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "a regular expression looks at the text before its lexeme, by `\\b`, `^` or a \
                 look-behind at its beginning: write what it looks at as part of the terminal, \
                 or leave the look out",
            ));
        }
        Ok(first)
    }

    /// Says whether every text may follow from a state of the least automaton.
    fn takes_all(&self, state: u32) -> bool {
        state != NONE
            && self.read.labels()[state as usize]
            && (0..self.classes()).all(|class| self.step(state, class) == state)
    }

    /// Returns what a lexeme wants that ends where the text behind it is read from a state.
    /// Under greedy lexing a lexeme does not end before a character that it takes.
    pub(super) fn end(&self, state: u32, behind: u32, edges: Edges) -> Result<Ending, Error> {
        if self.takes_all(behind) {
            return Ok(Ending::Anywhere);
        }
        let may_follow = |class: &u32| edges != Edges::Behind || self.step(state, *class) == NONE;
        let all = || (0..self.classes()).filter(may_follow);
        let may_end = self.read.labels()[behind as usize];
        let to = |class: &u32| self.step(behind, *class);
        let is_told = |class: u32| to(&class) == NONE || self.takes_all(to(&class));
        let not: Vec<u32> = all().filter(|class| to(class) == NONE).collect();
        if may_end && all().all(|class| self.takes_all(to(&class))) {
            return Ok(Ending::Anywhere);
        }
        if !may_end && not.len() == all().count() {
            return Ok(Ending::Nowhere);
        }
        // The first byte of a character seldom tells all of it: none comes that may be one
        // which must not.
        let is_by_bytes = may_end || not.iter().all(|class| !self.is_beyond_ascii(*class));
        match all().all(is_told) && (is_by_bytes || self.all_beyond_ascii_in(&not)) {
            true => Ok(Ending::Before(Wants { not, may_end })),
            false => Err(Error::new(
                ErrorKind::Unsupported,
                "a regular expression looks at more than one character behind its lexeme, or by \
                 `(?=..)` at some beyond ASCII: look at one, by `(?!..)`, or write what comes \
                 there as part of the terminal",
            )),
        }
    }

    fn is_beyond_ascii(&self, class: u32) -> bool {
        self.alphabet
            .runs()
            .any(|run| run.2 == class && run.1 >= 0x80)
    }

    /// Says whether all characters beyond ASCII are in some classes.
    fn all_beyond_ascii_in(&self, classes: &[u32]) -> bool {
        let mut runs = self.alphabet.runs_within(0x80, 0x10_FFFF);
        runs.all(|run| classes.contains(&run.2))
    }

    /// Returns the state behind the mark at the end of a lexeme.
    pub(super) fn behind(&self, state: u32) -> u32 {
        self.step(state, self.classes() + 1)
    }

    /// Tells whether the text may end in a state.
    pub(super) fn is_read(&self, state: u32) -> bool {
        self.read.labels()[state as usize]
    }

    /// Tells by class whether it has characters between two.
    pub(super) fn has_chars(&self, within: RangeInclusive<u32>) -> Vec<bool> {
        let mut has = vec![false; self.alphabet.len()];
        let runs = self.alphabet.runs_within(*within.start(), *within.end());
        runs.for_each(|run| has[run.2 as usize] = true);
        has
    }

    /// Returns the characters of some classes between two.
    pub(super) fn chars(&self, classes: &[u32], within: RangeInclusive<u32>) -> Vec<(char, char)> {
        let runs = self.alphabet.runs_within(*within.start(), *within.end());
        let runs = runs.filter(|run| classes.contains(&run.2));
        runs.filter_map(|run| Some((char::from_u32(run.0)?, char::from_u32(run.1)?)))
            .collect()
    }
}
