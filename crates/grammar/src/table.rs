//! Small deterministic automata over bytes, and how they are put together.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use fsm_index::{ByteAutomaton, Cursor, Dfa, ErrorKind as RegexError};

use crate::{Error, ErrorKind};

/// An automaton over bytes. State 0 is dead, and from every other acceptance is reached;
/// only the start may be 0, where nothing is accepted.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) next: Vec<[u32; 256]>,
    pub(crate) accepting: Vec<bool>,
    pub(crate) start: u32,
}

/// What putting automata together may take.
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

const DEAD: [u32; 256] = [0; 256];

impl Table {
    /// Takes nothing.
    pub(crate) fn nothing() -> Table {
        Table {
            next: vec![DEAD],
            accepting: vec![false],
            start: 0,
        }
    }

    pub(crate) fn is_nothing(&self) -> bool {
        self.start == 0
    }

    pub(crate) fn is_nullable(&self) -> bool {
        self.accepting[self.start as usize]
    }

    /// One text, which is not empty.
    fn of_text(text: &str, limits: TableLimits) -> Result<Table, Error> {
        if text.len() >= limits.states {
            return Err(limits.over());
        }
        let mut table = Table::nothing();
        for (&byte, to) in text.as_bytes().iter().zip(2..) {
            let mut row = DEAD;
            row[usize::from(byte)] = to;
            table.next.push(row);
            table.accepting.push(false);
        }
        table.next.push(DEAD);
        table.accepting.push(true);
        table.start = 1;
        Ok(table)
    }

    /// What a regular expression takes.
    pub(crate) fn of_pattern(pattern: &str, limits: TableLimits) -> Result<Table, Error> {
        // Most terminals are keywords and operators.
        if let Some(text) = literal(pattern) {
            return Table::of_text(&text, limits);
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
            Ok(dfa) => dfa.to_bytes(&config).map_err(said)?,
            Err(error) if error.kind() == RegexError::EmptyLanguage => return Ok(Table::nothing()),
            Err(error) => return Err(said(error)),
        };
        explore(
            dfa.start(),
            limits,
            |&at: &Cursor, byte| {
                let next = dfa.step(at, byte, &mut ());
                (!next.is_dead()).then_some(next)
            },
            |at| dfa.is_accepting(at),
        )
    }

    /// What both take, or what the first takes and the second does not.
    pub(crate) fn product(
        &self,
        other: &Table,
        minus: bool,
        limits: TableLimits,
    ) -> Result<Table, Error> {
        if self.is_nothing() {
            return Ok(Table::nothing());
        }
        let accepting = |at: &(u32, u32)| {
            self.accepting[at.0 as usize] && self.accepts_in(other, at.1) != minus
        };
        let table = explore(
            (self.start, other.start),
            limits,
            |at, byte| {
                let first = self.next[at.0 as usize][usize::from(byte)];
                let second = other.next[at.1 as usize][usize::from(byte)];
                (first != 0 && (minus || second != 0)).then_some((first, second))
            },
            accepting,
        )?;
        Ok(table.trimmed())
    }

    fn accepts_in(&self, other: &Table, state: u32) -> bool {
        other.accepting[state as usize]
    }

    /// All UTF-8 text that it does not take.
    pub(crate) fn complement(&self, limits: TableLimits) -> Result<Table, Error> {
        Table::of_pattern("(?s:.*)", limits)?.product(self, true, limits)
    }

    /// What it takes of which it takes no beginning.
    pub(crate) fn first(mut self) -> Table {
        for (next, accepting) in self.next.iter_mut().zip(&self.accepting) {
            if *accepting {
                *next = DEAD;
            }
        }
        self.trimmed()
    }

    /// Leaves out what is not reached or does not reach acceptance.
    fn trimmed(self) -> Table {
        let states = self.next.len();
        let mut before: Vec<Vec<u32>> = vec![Vec::new(); states];
        for (from, row) in self.next.iter().enumerate().skip(1) {
            let mut last = 0;
            for &to in row.iter().filter(|&&to| to != 0) {
                if to != last {
                    before[to as usize].push(from as u32);
                    last = to;
                }
            }
        }
        let mut live = self.accepting.clone();
        live[0] = false;
        let mut open: Vec<u32> = (1..states as u32).filter(|&s| live[s as usize]).collect();
        while let Some(to) = open.pop() {
            for &from in &before[to as usize] {
                if !std::mem::replace(&mut live[from as usize], true) {
                    open.push(from);
                }
            }
        }
        if !live[self.start as usize] {
            return Table::nothing();
        }
        let mut table = Table::nothing();
        let mut number = vec![0u32; states];
        let mut order = vec![self.start];
        number[self.start as usize] = 1;
        let mut at = 0;
        while at < order.len() {
            let mut row = DEAD;
            for (byte, &to) in self.next[order[at] as usize].iter().enumerate() {
                if to == 0 || !live[to as usize] {
                    continue;
                }
                if number[to as usize] == 0 {
                    order.push(to);
                    number[to as usize] = order.len() as u32;
                }
                row[byte] = number[to as usize];
            }
            table.next.push(row);
            table.accepting.push(self.accepting[order[at] as usize]);
            at += 1;
        }
        table.start = 1;
        table
    }

    /// Its smallest form: states that no text tells apart become one.
    fn minimal(self) -> Table {
        let states = self.next.len();
        let mut class: Vec<u32> = self.accepting.iter().map(|&a| u32::from(a)).collect();
        class[0] = 2;
        let mut count = 0;
        loop {
            let mut ids: HashMap<(u32, Vec<u32>), u32, FixedState> = HashMap::default();
            let mut refined = Vec::with_capacity(states);
            for state in 0..states {
                let row = self.next[state]
                    .iter()
                    .map(|&to| class[to as usize])
                    .collect();
                let id = ids.len() as u32;
                refined.push(*ids.entry((class[state], row)).or_insert(id));
            }
            class = refined;
            if ids.len() == count {
                break;
            }
            count = ids.len();
        }
        let mut table = Table {
            next: vec![DEAD; count],
            accepting: vec![false; count],
            start: class[self.start as usize],
        };
        for (state, &id) in class.iter().enumerate() {
            table.accepting[id as usize] |= self.accepting[state];
            for (byte, &to) in self.next[state].iter().enumerate() {
                table.next[id as usize][byte] = class[to as usize];
            }
        }
        // The dead state is met first, so it has number 0.
        table
    }
}

/// The text that a regular expression is, if it is one and not empty.
fn literal(pattern: &str) -> Option<String> {
    // `Re::write` puts patterns into groups.
    let mut inner = pattern;
    while let Some(group) = inner.strip_prefix("(?:").and_then(|p| p.strip_suffix(')')) {
        inner = group;
    }
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

/// The automaton of whatever steps a function takes, trimmed.
fn explore<S: Clone + Eq + std::hash::Hash>(
    start: S,
    limits: TableLimits,
    step: impl Fn(&S, u8) -> Option<S>,
    accepting: impl Fn(&S) -> bool,
) -> Result<Table, Error> {
    let mut table = Table::nothing();
    let mut ids: HashMap<S, u32, FixedState> = HashMap::from_iter([(start.clone(), 1)]);
    let mut order = vec![start];
    let mut at = 0;
    while at < order.len() {
        let state = order[at].clone();
        let mut row = DEAD;
        for byte in 0..=255u8 {
            if let Some(next) = step(&state, byte) {
                let id = *ids.entry(next.clone()).or_insert_with(|| {
                    order.push(next);
                    order.len() as u32
                });
                row[usize::from(byte)] = id;
            }
        }
        table.accepting.push(accepting(&state));
        table.next.push(row);
        at += 1;
        if order.len() > limits.states {
            return Err(limits.over());
        }
    }
    table.start = 1;
    Ok(table.trimmed())
}

/// A nondeterministic automaton that others are put into.
#[derive(Default)]
pub(crate) struct Nfa {
    empty: Vec<Vec<u32>>,
    /// For each state of an embedded automaton: which, and its state.
    of: Vec<Option<(u32, u32)>>,
    /// The automata, each with the number of its state 1.
    tables: Vec<(Table, u32)>,
}

impl Nfa {
    pub(crate) fn state(&mut self) -> u32 {
        self.empty.push(Vec::new());
        self.of.push(None);
        self.empty.len() as u32 - 1
    }

    pub(crate) fn empty(&mut self, from: u32, to: u32) {
        self.empty[from as usize].push(to);
    }

    /// Puts an automaton between two states.
    pub(crate) fn embed(&mut self, table: Table, from: u32, to: u32) {
        if table.is_nothing() {
            return;
        }
        let base = self.empty.len() as u32;
        let number = self.tables.len() as u32;
        for state in 1..table.next.len() as u32 {
            let own = self.state();
            self.of[own as usize] = Some((number, state));
            if table.accepting[state as usize] {
                self.empty(own, to);
            }
        }
        self.empty(from, base + table.start - 1);
        self.tables.push((table, base));
    }

    pub(crate) fn len(&self) -> usize {
        self.empty.len()
    }

    fn close(&self, set: &mut Vec<u32>) {
        let mut open = set.clone();
        let mut seen: std::collections::HashSet<u32> = set.iter().copied().collect();
        while let Some(at) = open.pop() {
            for &to in &self.empty[at as usize] {
                if seen.insert(to) {
                    set.push(to);
                    open.push(to);
                }
            }
        }
        // What tells sets apart: states with steps, and the end.
        set.retain(|&s| self.of[s as usize].is_some() || self.empty[s as usize].is_empty());
        set.sort_unstable();
    }

    /// The smallest deterministic automaton of what leads from one state to another, which
    /// nothing leaves.
    pub(crate) fn determinize(
        &self,
        from: u32,
        to: u32,
        limits: TableLimits,
    ) -> Result<Table, Error> {
        let mut start = vec![from];
        self.close(&mut start);
        let step = |set: &Vec<u32>, byte: u8| {
            let mut next: Vec<u32> = Vec::new();
            for &state in set {
                if let Some((table, inner)) = self.of[state as usize] {
                    let (table, base) = &self.tables[table as usize];
                    let to = table.next[inner as usize][usize::from(byte)];
                    if to != 0 {
                        next.push(base + to - 1);
                    }
                }
            }
            if next.is_empty() {
                return None;
            }
            next.sort_unstable();
            next.dedup();
            self.close(&mut next);
            Some(next)
        };
        let table = explore(start, limits, step, |set| set.binary_search(&to).is_ok())?;
        Ok(match table.is_nothing() {
            true => table,
            false => table.minimal(),
        })
    }
}
