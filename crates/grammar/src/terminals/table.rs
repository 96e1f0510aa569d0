//! Small deterministic automata over bytes, and the ways to put them together.
//!
//! For example, the automata of `"a"` and of `/b+/` one after the other make that of `ab+`.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use foldhash::fast::FixedState;
use fsm_index::{
    ByteAutomaton, ByteDfa, Cursor, Dfa, ErrorKind as RegexError, finite_can_do_without,
};
use fsm_tables::{Alphabet, Builder, Meter, NONE, Nfa, NfaId, Rest, State, Symbols};

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

use super::byte_classes::Run;
use crate::error::{Error, ErrorKind};

/// An automaton over bytes. State 0 is dead, and from every other acceptance is reached, but from
/// those behind what must not follow a lexeme ([`Table::with_ends`]); only the start may be 0,
/// where nothing is accepted.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    /// The runs of all states, one behind the other: most have few.
    runs: Vec<Run>,
    /// By state: where its runs end.
    ends: Vec<u32>,
    pub(crate) accepting: Vec<bool>,
    pub(crate) start: u32,
    /// By state: whether the text must go on behind a lexeme that ends there. Empty if it
    /// need not anywhere.
    goes_on: Vec<bool>,
    /// By state: whether no acceptance is reached from it. Empty if there are none.
    traps: Vec<bool>,
}

/// Says whether a lexeme ends in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    No,
    Yes,
    /// It does if the text goes on.
    GoesOn,
}

/// The last byte that may stand in a text (RFC 3629): those behind it are marks.
const LAST_BYTE: u8 = 0xF4;

/// The limits of putting automata together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableLimits {
    /// States of one automaton.
    pub(crate) states: usize,
    /// Steps of compiling a regular expression.
    pub(crate) work: usize,
}

impl TableLimits {
    fn over(self) -> Error {
        Error::limit("max_terminal_states", "states in one terminal", self.states)
    }
}

/// A nondeterministic automaton may have so many times the states of a deterministic one, because
/// determinisation merges most of them.
const NFA_STATES: usize = 32;

/// Work is that of regular expressions, which `fsm-index` counts; here states are.
impl Meter for TableLimits {
    type Error = Error;

    fn work(&mut self, _: usize) -> Result<(), Error> {
        Ok(())
    }

    fn nfa_states(&mut self, states: usize) -> Result<(), Error> {
        match states / NFA_STATES > self.states {
            true => Err(self.over()),
            false => Ok(()),
        }
    }

    fn states(&mut self, states: usize) -> Result<(), Error> {
        match states > self.states {
            true => Err(self.over()),
            false => Ok(()),
        }
    }
}

impl Table {
    /// Takes nothing.
    pub(crate) fn nothing() -> Table {
        Table {
            runs: Vec::new(),
            ends: vec![0],
            accepting: vec![false],
            start: 0,
            goes_on: Vec::new(),
            traps: Vec::new(),
        }
    }

    /// Adds a state that leads to states without the dead one.
    fn add_row(&mut self, row: &[u32], class_of: impl Fn(u8) -> u32, accepts: bool) {
        let mut before = NONE;
        for byte in 0..=u8::MAX {
            let to = row[class_of(byte) as usize];
            if to != NONE {
                match self.runs.last_mut() {
                    Some(run) if to == before => run.last = byte,
                    _ => self.runs.push(Run::one(byte, to + 1)),
                }
            }
            before = to;
        }
        self.end_row(accepts);
    }

    /// A table whose texts end with marks of bytes that stand in no text, without these: it is
    /// asked of each state whether a lexeme ends there. From some states no acceptance may be
    /// reached then: behind what must not follow a lexeme.
    pub(crate) fn with_ends(self, ends: impl Fn(&Table, u32) -> End) -> Table {
        let all: Vec<End> = (0..self.states() as u32)
            .map(|state| ends(&self, state))
            .collect();
        let mut cells = vec![NONE; 256 * self.states()];
        for (state, row) in cells.chunks_mut(256).enumerate() {
            for run in self.row(state) {
                let last = run.last.min(LAST_BYTE);
                if state != 0 && run.first <= last {
                    row[usize::from(run.first)..=usize::from(last)].fill(run.to);
                }
            }
        }
        let labels: Vec<bool> = all.iter().map(|end| *end != End::No).collect();
        // Only what is reached from the start counts, by its own numbers.
        let mut numbers = vec![0u32; self.states()];
        let mut met = Vec::new();
        if self.start != 0 {
            numbers[self.start as usize] = 1;
            met.push(self.start);
        }
        let mut table = Table::nothing();
        let mut goes_on = vec![false];
        let mut at = 0;
        while let Some(&state) = met.get(at) {
            at += 1;
            let row = &mut cells[256 * state as usize..][..256];
            for to in row.iter_mut().filter(|to| **to != NONE) {
                if numbers[*to as usize] == 0 {
                    met.push(*to);
                    numbers[*to as usize] = met.len() as u32;
                }
                *to = numbers[*to as usize] - 1;
            }
            table.add_row(row, u32::from, labels[state as usize]);
            goes_on.push(all[state as usize] == End::GoesOn);
        }
        table.start = u32::from(!met.is_empty());
        if goes_on.contains(&true) {
            table.goes_on = goes_on;
        }
        let traps = table.find_traps();
        if traps[1..].contains(&true) {
            table.traps = traps;
        }
        table
    }

    /// Says whether the text must go on behind a lexeme that ends in a state.
    pub(crate) fn goes_on(&self, state: usize) -> bool {
        self.goes_on.get(state).copied().unwrap_or(false)
    }

    /// Returns the state behind a byte.
    pub(crate) fn step(&self, state: u32, byte: u8) -> u32 {
        let row = self.row(state as usize);
        let run = row.get(row.partition_point(|run| run.last < byte));
        run.filter(|run| run.first <= byte).map_or(0, |run| run.to)
    }

    /// Tells whether each text that has begun can be finished without some characters.
    pub(crate) fn can_do_without(&self, chars: &[(u32, u32)]) -> bool {
        let step = |state: u32, byte| {
            let to = self.step(state, byte);
            let is_trap = self.traps.get(to as usize).copied();
            (to != 0 && is_trap != Some(true)).then_some(to)
        };
        let accepts = |state: u32| self.accepting[state as usize];
        self.is_nothing() || finite_can_do_without(self.start, chars, step, accepts)
    }

    /// By state: whether no acceptance is reached from it.
    fn find_traps(&self) -> Vec<bool> {
        let mut traps: Vec<bool> = self.accepting.iter().map(|accepts| !accepts).collect();
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for state in (0..self.states())
                .rev()
                .filter(|state| traps[*state])
                .collect::<Vec<_>>()
            {
                if self.row(state).iter().any(|run| !traps[run.to as usize]) {
                    traps[state] = false;
                    changed = true;
                }
            }
        }
        traps
    }

    /// Returns the number of states, the dead one included.
    pub(crate) fn states(&self) -> usize {
        self.ends.len()
    }

    /// Returns the runs of a state.
    pub(crate) fn row(&self, state: usize) -> &[Run] {
        let begin = state.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.runs[begin as usize..self.ends[state] as usize]
    }

    /// Adds a run to the state that is being made.
    pub(super) fn push_run(&mut self, run: Run) {
        self.runs.push(run);
    }

    /// Adds a state that leads where the runs do that were added since the last one.
    pub(super) fn end_row(&mut self, accepts: bool) {
        self.ends.push(self.runs.len() as u32);
        self.accepting.push(accepts);
    }

    /// The same without the empty text: it begins in a state of its own.
    pub(crate) fn without_empty(mut self) -> Table {
        let row = self.row(self.start as usize).to_vec();
        if row.is_empty() {
            return Table::nothing();
        }
        self.start = self.states() as u32;
        self.runs.extend(row);
        self.end_row(false);
        if !self.goes_on.is_empty() {
            self.goes_on.push(false);
        }
        self
    }

    pub(crate) fn is_nothing(&self) -> bool {
        self.start == 0
    }

    pub(crate) fn is_nullable(&self) -> bool {
        self.accepting[self.start as usize]
    }

    /// One text, which is not empty, by the spellings of each of its characters. The spellings of
    /// one character ascend and differ in their first bytes.
    fn of_text<C>(chars: impl Iterator<Item = C>, mut limits: TableLimits) -> Result<Table, Error>
    where
        C: IntoIterator<Item = char>,
    {
        let mut table = Table::nothing();
        table.start = 1;
        // The runs of the states between the bytes of one character.
        let mut between = Vec::new();
        for spellings in chars {
            let before = table.states() as u32;
            for c in spellings {
                let mut bytes = [0; 4];
                let (first, rest) = match c.encode_utf8(&mut bytes).as_bytes() {
                    [first, rest @ ..] => (*first, rest),
                    [] => continue,
                };
                // The end of the character is known when all its spellings are.
                let to = before + 1 + between.len() as u32;
                let to = if rest.is_empty() { END } else { to };
                table.runs.push(Run::one(first, to));
                for (left, &byte) in (0..rest.len()).rev().zip(rest) {
                    let to = before + 2 + between.len() as u32;
                    let to = if left == 0 { END } else { to };
                    between.push(Run::one(byte, to));
                }
            }
            let begin = *table.ends.last().unwrap_or(&0) as usize;
            table.end_row(false);
            for run in between.drain(..) {
                table.runs.push(run);
                table.end_row(false);
            }
            let end = table.states() as u32;
            let runs = table.runs[begin..].iter_mut();
            runs.filter(|run| run.to == END)
                .for_each(|run| run.to = end);
            limits.states(table.states())?;
        }
        table.end_row(true);
        Ok(table)
    }

    /// Makes the table of a regular expression.
    pub(crate) fn of_pattern(pattern: &str, mut limits: TableLimits) -> Result<Table, Error> {
        // Most terminals are keywords and operators.
        if let Some(text) = literal(pattern) {
            return Table::of_text(text.chars().map(Some), limits);
        }
        if let Some(chars) = literal_in_any_case(pattern) {
            return Table::of_text(chars.into_iter(), limits);
        }
        let config = fsm_index::Config {
            max_states: limits.states,
            max_nfa_states: limits.work / 8,
            max_work: limits.work,
            max_table_bytes: 64 << 20,
            ..fsm_index::Config::default()
        };
        let said = |error: fsm_index::Error| match error.kind() {
            RegexError::LimitExceeded => limits.over(),
            RegexError::Unsupported => Error::new(ErrorKind::Unsupported, error.to_string()),
            _ => Error::new(ErrorKind::Syntax, error.to_string()),
        };
        let dfa = match Dfa::with_config(pattern, &config) {
            Ok(dfa) => dfa.to_bytes_of_part(&config).map_err(said)?,
            Err(error) if error.kind() == RegexError::EmptyLanguage => return Ok(Table::nothing()),
            Err(error) => return Err(said(error)),
        };
        Table::of_dfa(&dfa, &mut limits)
    }

    /// The smallest automaton over bytes: from characters that lead to one state the same bytes
    /// lead there, though other states may tell them apart.
    fn of_dfa(dfa: &ByteDfa, limits: &mut TableLimits) -> Result<Table, Error> {
        let mut rows = CharacterRows::default();
        rows.number(dfa, dfa.start());
        let mut table = Table::nothing();
        table.start = 1;
        let mut at = 0;
        while let Some(&(cursor, number)) = rows.between.get(at) {
            at += 1;
            let row = rows.row(dfa, cursor);
            rows.all[number as usize - 1] = (row, dfa.is_accepting(&cursor));
            limits.states(rows.all.len())?;
        }
        for (row, accepts) in rows.all {
            table.runs.extend(row);
            table.end_row(accepts);
        }
        Ok(table)
    }

    /// Tells whether both take some text.
    pub(crate) fn meets(&self, other: &Table) -> bool {
        let mut open = vec![(self.start, other.start)];
        let mut seen: HashSet<(u32, u32), FixedState> = HashSet::from_iter(open.clone());
        while let Some((one, another)) = open.pop() {
            let (one, another) = (one as usize, another as usize);
            if self.accepting[one] && other.accepting[another] {
                return true;
            }
            for run in self.row(one) {
                let meets = |own: &&Run| own.first <= run.last && run.first <= own.last;
                for own in other.row(another).iter().filter(meets) {
                    if seen.insert((run.to, own.to)) {
                        open.push((run.to, own.to));
                    }
                }
            }
        }
        false
    }

    /// Tells whether it says nothing of what is around its texts.
    pub(crate) fn looks_nowhere(&self) -> bool {
        self.goes_on.is_empty() && self.traps.is_empty()
    }

    /// Adds it to a nondeterministic automaton, in front of a state; answers where it begins.
    pub(crate) fn embed<M: Meter<Error = Error>>(
        &self,
        builder: &mut Builder<'_, M>,
        next: NfaId,
    ) -> Result<NfaId, Error> {
        let states = 1..self.states();
        let begins = states.map(|_| builder.push(State::Split(next, next)));
        let begins = begins.collect::<Result<Vec<NfaId>, Error>>()?;
        for (state, begin) in (1..).zip(&begins) {
            // The targets of the state, each with its bytes; ending is one more way.
            let mut ways: Vec<(u32, Vec<(u32, u32)>)> = Vec::new();
            for run in self.row(state) {
                let range = (run.first.into(), run.last.into());
                match ways.iter_mut().find(|way| way.0 == run.to) {
                    None => ways.push((run.to, vec![range])),
                    Some((_, ranges)) => ranges.push(range),
                }
            }
            let mut all = self.accepting[state].then_some(next);
            for (to, ranges) in ways {
                let way = builder.symbol(ranges, begins[to as usize - 1])?;
                all = Some(match all {
                    Some(others) => builder.push(State::Split(way, others))?,
                    None => way,
                });
            }
            // Every state is live, so it has a way.
            let way = all.unwrap_or(next);
            builder.set_state(*begin, State::Split(way, way));
        }
        match begins.first() {
            Some(first) => Ok(*first),
            None => builder.symbol(Vec::new(), next),
        }
    }

    /// The smallest deterministic automaton of a nondeterministic one over bytes.
    pub(crate) fn of_nfa<M>(nfa: &Nfa, meter: &mut M) -> Result<Table, Error>
    where
        M: Meter<Error = Error>,
    {
        let sets = nfa.sets();
        let (alphabet, members) = Alphabet::new(Symbols::Bytes, Rest::AsMet, sets, meter)?;
        let table = nfa.determinize(alphabet.len(), &members, meter)?;
        let table = table.minimized(meter)?;
        let mut own = Table::nothing();
        for (row, &accepts) in table.rows().zip(table.labels()) {
            // Every byte has a class.
            let class_of = |byte: u8| alphabet.class_of(byte.into()).unwrap_or(0);
            own.add_row(row, class_of, accepts);
        }
        own.start = u32::from(table.states() > 0);
        Ok(own)
    }
}

/// The rows of an automaton over characters, whose states inside of characters are told apart by their rows.
#[derive(Default)]
struct CharacterRows {
    all: Vec<(Vec<Run>, bool)>,
    numbers: HashMap<Cursor, u32, FixedState>,
    /// The states between characters and their numbers, in the order in which they were met.
    between: Vec<(Cursor, u32)>,
    inside: HashMap<Vec<Run>, u32, FixedState>,
}

impl CharacterRows {
    /// Returns the bytes that lead on from a state, and where they lead.
    fn row(&mut self, dfa: &ByteDfa, cursor: Cursor) -> Vec<Run> {
        let mut row: Vec<Run> = Vec::new();
        for (first, last, next) in dfa.runs(cursor) {
            let to = self.number(dfa, next);
            match row.last_mut() {
                Some(run) if run.to == to && run.last.checked_add(1) == Some(first) => {
                    run.last = last;
                }
                _ => row.push(Run { first, last, to }),
            }
        }
        row
    }

    /// Returns the number of a state. The rows of those inside of a character are found at once: a
    /// character has four bytes at most.
    fn number(&mut self, dfa: &ByteDfa, cursor: Cursor) -> u32 {
        if let Some(&known) = self.numbers.get(&cursor) {
            return known;
        }
        let number = if dfa.is_between(cursor) {
            self.all.push((Vec::new(), false));
            let fresh = self.all.len() as u32;
            self.between.push((cursor, fresh));
            fresh
        } else {
            let row = self.row(dfa, cursor);
            let fresh = self.all.len() as u32 + 1;
            match self.inside.entry(row) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(new) => {
                    self.all.push((new.key().clone(), false));
                    *new.insert(fresh)
                }
            }
        };
        self.numbers.insert(cursor, number);
        number
    }
}

/// Stands for the end of a character while it is spelt, because its number is not known yet.
const END: u32 = u32::MAX;

/// Returns what stands in the groups that `Re::write` puts around patterns.
fn ungrouped(mut pattern: &str) -> &str {
    while let Some(group) = pattern
        .strip_prefix("(?:")
        .and_then(|p| p.strip_suffix(')'))
    {
        pattern = group;
    }
    pattern
}

/// The text that a regular expression is, if it is one and not empty.
fn literal(pattern: &str) -> Option<String> {
    let inner = ungrouped(pattern);
    let mut text = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => text.push(
                chars
                    .next()
                    .filter(|&c| regex_syntax::is_escapeable_character(c))?,
            ),
            _ if regex_syntax::is_meta_character(c) => return None,
            _ => text.push(c),
        }
    }
    (!text.is_empty()).then_some(text)
}

/// The cases of each character of the text that a regular expression is in any case, if it
/// is one of ASCII and not empty: so the cases of a character differ in their first bytes.
fn literal_in_any_case(pattern: &str) -> Option<Vec<Vec<char>>> {
    let inner = ungrouped(pattern).strip_prefix("(?i:")?.strip_suffix(')')?;
    let text = literal(inner).filter(|text| text.is_ascii())?;
    let cases = |c: char| {
        let mut cases = ClassUnicode::new([ClassUnicodeRange::new(c, c)]);
        cases.try_case_fold_simple().ok()?;
        Some(cases.iter().flat_map(|r| r.start()..=r.end()).collect())
    };
    text.chars().map(cases).collect()
}
