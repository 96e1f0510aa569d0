//! All readings of a text at once (Earley, "An efficient context-free parsing algorithm", 1970), row by row: a row is a place
//! between two bytes, with the productions that have come so far there.
//!
//! For example, behind `1+` of `sum: sum "+" NUMBER | NUMBER` the first production has come to its third symbol.
//!
//! Lexemes are those of the automaton: at a place all terminals that may come are read side by side.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use foldhash::fast::FixedState;
use fsm_index::ByteAutomaton as _;
use indexmap::IndexSet;
use schema_regex::automaton::{Scratch as JsonScratch, State as JsonState};

use crate::captures::Captures;
use crate::compile::cfg::{Matter, Symbol};
use crate::error::Error;

type Map<K, V> = HashMap<K, V, FixedState>;

/// The steps that one reading may take, because each may keep some fifty bytes: together they stay below
/// 256 MiB.
const MAX_STEPS: usize = 4_000_000;

/// A production that has come to some symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct EarleyItem {
    production: u32,
    dot: u32,
    /// The row in which it began.
    origin: u32,
}

/// A place between two bytes.
#[derive(Default)]
struct Row {
    items: IndexSet<EarleyItem, FixedState>,
    /// The items that a symbol leads on.
    waiting: Map<Symbol, Vec<EarleyItem>>,
    /// Rows behind which ignored text has ended here: what they await may come here, too.
    carried: Vec<u32>,
}

/// A terminal that is being read.
enum Begun {
    /// A state of the lexer.
    State(u32),
    Json {
        terminal: u32,
        state: JsonState,
    },
}

/// All readings of one text.
pub(super) struct Readings<'a> {
    pub(super) of: &'a Captures,
    text: &'a [u8],
    /// The rows to which some lexeme leads, by their bytes before.
    rows: Map<u32, Row>,
    /// By nonterminal, beginning and end of what it has read: the order in which that was found.
    pub(super) ranks: Map<(u32, u32, u32), u32>,
    /// By symbol and end: where it begins.
    pub(super) origins: Map<(Symbol, u32), Vec<u32>>,
    /// By terminal, row and end: where the lexeme begins, behind ignored text.
    pub(super) lexemes: Map<(u32, u32, u32), u32>,
    json_scratches: Map<u32, JsonScratch>,
    work: usize,
}

impl<'a> Readings<'a> {
    pub(super) fn new(of: &'a Captures, text: &'a [u8]) -> Readings<'a> {
        Readings {
            of,
            text,
            rows: Map::default(),
            ranks: Map::default(),
            origins: Map::default(),
            lexemes: Map::default(),
            json_scratches: Map::default(),
            work: 0,
        }
    }

    /// Counts steps.
    pub(super) fn charge(&mut self, steps: usize) -> Result<(), Error> {
        self.work += steps;
        let limit = self.of.max_work.min(MAX_STEPS);
        match self.work > limit {
            true => Err(Error::limit(
                "max_work",
                "steps to read the captures of a text",
                limit,
            )),
            false => Ok(()),
        }
    }

    /// Reads the text. Returns where its last lexeme ends; nothing if it is not the grammar's.
    pub(super) fn read(&mut self) -> Result<Option<u32>, Error> {
        let start = self.of.cfg.start as u32;
        self.add(
            0,
            EarleyItem {
                production: start,
                dot: 0,
                origin: 0,
            },
        )?;
        for at in 0..=self.text.len() as u32 {
            self.charge(1)?;
            if self.rows.contains_key(&at) {
                self.close(at)?;
                self.lex(at)?;
            }
        }
        let root = self.of.cfg.productions[self.of.cfg.start].left;
        let end = self.text.len() as u32;
        let mut ends = match self.rows.get(&end) {
            Some(_) => self.sources(end),
            None => return Ok(None),
        };
        ends.sort_unstable();
        let mut ends = ends.into_iter().rev();
        Ok(ends.find(|&end| self.ranks.contains_key(&(root, 0, end))))
    }

    fn row(&mut self, at: u32) -> &mut Row {
        self.rows.entry(at).or_default()
    }

    fn add(&mut self, row: u32, item: EarleyItem) -> Result<(), Error> {
        self.row(row).items.insert(item);
        self.charge(1)
    }

    fn add_next(&mut self, row: u32, item: EarleyItem) -> Result<(), Error> {
        let dot = item.dot + 1;
        self.add(row, EarleyItem { dot, ..item })
    }

    /// Finds all items of a row.
    fn close(&mut self, at: u32) -> Result<(), Error> {
        let of = self.of;
        let mut number = 0;
        while let Some(&item) = self.row(at).items.get_index(number) {
            number += 1;
            let production = &of.cfg.productions[item.production as usize];
            let Some(&symbol) = production.right.get(item.dot as usize) else {
                self.complete(production.left, item.origin, at)?;
                continue;
            };
            let waiting = &mut self.row(at).waiting;
            waiting.entry(symbol).or_default().push(item);
            let Err(rule) = symbol.split() else {
                continue;
            };
            for &production in &of.by_left[rule as usize] {
                let production = production as u32;
                self.add(
                    at,
                    EarleyItem {
                        production,
                        dot: 0,
                        origin: at,
                    },
                )?;
            }
            // It may have read nothing here already.
            if self.ranks.contains_key(&(rule, at, at)) {
                self.add_next(at, item)?;
            }
        }
        Ok(())
    }

    fn complete(&mut self, rule: u32, origin: u32, at: u32) -> Result<(), Error> {
        let rank = self.ranks.len() as u32;
        if self.ranks.contains_key(&(rule, origin, at)) {
            return Ok(());
        }
        self.ranks.insert((rule, origin, at), rank);
        let symbol = Symbol::rule(rule);
        self.origins.entry((symbol, at)).or_default().push(origin);
        let waiting = self.row(origin).waiting.get(&symbol);
        for item in waiting.cloned().unwrap_or_default() {
            self.add_next(at, item)?;
        }
        Ok(())
    }

    /// Returns the rows whose items await what comes at a place: its own, and those before ignored text.
    fn sources(&self, at: u32) -> Vec<u32> {
        let mut all = self.rows[&at].carried.clone();
        all.push(at);
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Returns the terminals that may come at a place, ignored ones included.
    fn expected(&self, at: u32, sources: &[u32]) -> Vec<u32> {
        let cfg = &self.of.cfg;
        let mut all: Vec<u32> = Vec::new();
        for &row in sources {
            let symbols = self.rows[&row].waiting.keys();
            all.extend(symbols.filter_map(|symbol| symbol.split().ok()));
        }
        let mut ignored: Vec<u32> = Vec::new();
        if at > 0 || cfg.initial_skip {
            let domains = all.iter().map(|&t| cfg.terminals[t as usize].domain);
            ignored.extend(domains.flat_map(|domain| &cfg.ignored[domain as usize]));
            let root = cfg.productions[cfg.start].left;
            let is_whole = |row: &u32| self.ranks.contains_key(&(root, 0, *row));
            if cfg.trailing_skip && sources.iter().any(is_whole) {
                ignored.extend(cfg.ignored.first().into_iter().flatten());
            }
        }
        all.extend(ignored);
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Reads the lexemes that begin at a place.
    fn lex(&mut self, at: u32) -> Result<(), Error> {
        let of = self.of;
        let sources = self.sources(at);
        let mut begun: Vec<Begun> = Vec::new();
        for terminal in self.expected(at, &sources) {
            match &of.cfg.terminals[terminal as usize].matter {
                Matter::Table(_) => begun.push(Begun::State(of.lexer.starts[terminal as usize])),
                Matter::Json(automaton) => {
                    let state = automaton.start();
                    self.json_scratches
                        .entry(terminal)
                        .or_insert_with(|| automaton.scratch());
                    begun.push(Begun::Json { terminal, state });
                }
                Matter::Special(_) => {}
            }
        }
        let mut place = at;
        while !begun.is_empty() {
            let ending = self.ending(&begun, place);
            let is_lazy = |terminal: &u32| of.cfg.terminals[*terminal as usize].is_lazy;
            let lazy: Vec<u32> = ending.iter().copied().filter(is_lazy).collect();
            if !lazy.is_empty() {
                // Nothing that began with it goes on.
                return self.end(&lazy, at, place, &sources);
            }
            let byte = self.text.get(place as usize).copied();
            let next = match byte {
                Some(byte) => self.step(&begun, byte),
                None => Vec::new(),
            };
            self.charge(begun.len())?;
            let is_trapped = byte.is_some() && self.is_trapped(&next);
            // Greedily it ends only where nothing goes on.
            if !of.cfg.is_greedy || next.is_empty() {
                self.end(&ending, at, place, &sources)?;
            }
            if is_trapped {
                return Ok(());
            }
            begun = next;
            place += 1;
        }
        Ok(())
    }

    /// Returns the terminals that may end at a place.
    fn ending(&self, begun: &[Begun], place: u32) -> Vec<u32> {
        let lexer = &self.of.lexer;
        let is_end = place as usize == self.text.len();
        let ends = begun.iter().filter_map(|one| match one {
            Begun::State(state) => {
                let state = *state as usize;
                let ends = lexer.accepting[state] && !(is_end && lexer.goes_on[state]);
                ends.then_some(lexer.terminal[state])
            }
            Begun::Json { terminal, state } => {
                match &self.of.cfg.terminals[*terminal as usize].matter {
                    Matter::Json(automaton) if automaton.is_accepting(state) => Some(*terminal),
                    _ => None,
                }
            }
        });
        ends.collect()
    }

    /// Returns what takes a byte. A lexeme that must not be followed by the byte takes it if nothing else does.
    fn step(&mut self, begun: &[Begun], byte: u8) -> Vec<Begun> {
        let of = self.of;
        let mut next = Vec::new();
        for one in begun {
            match one {
                Begun::State(state) => {
                    let class = of.lexer.classes[usize::from(byte)];
                    let state = of.lexer.step(*state, class);
                    if state != 0 {
                        next.push(Begun::State(state));
                    }
                }
                Begun::Json { terminal, state } => {
                    let Matter::Json(automaton) = &of.cfg.terminals[*terminal as usize].matter
                    else {
                        continue;
                    };
                    let mut state = state.clone();
                    let scratch = self.json_scratches.get_mut(terminal);
                    let taken = scratch.is_some_and(|scratch| {
                        automaton.advance(&mut state, &[byte], scratch).is_ok()
                    });
                    if taken {
                        next.push(Begun::Json {
                            terminal: *terminal,
                            state,
                        });
                    }
                }
            }
        }
        if !self.is_trapped(&next) {
            next.retain(|one| !matches!(one, Begun::State(state) if of.lexer.is_trap(*state)));
        }
        next
    }

    /// Tells whether all that goes on are lexemes behind which this must not come.
    fn is_trapped(&self, begun: &[Begun]) -> bool {
        let is_trap =
            |one: &Begun| matches!(one, Begun::State(state) if self.of.lexer.is_trap(*state));
        !begun.is_empty() && begun.iter().all(is_trap)
    }

    /// Ends lexemes that began at `from`.
    fn end(&mut self, terminals: &[u32], from: u32, to: u32, sources: &[u32]) -> Result<(), Error> {
        for &terminal in terminals {
            if self.of.cfg.is_ignored(terminal) {
                let carried = &mut self.row(to).carried;
                carried.extend(sources);
                carried.sort_unstable();
                carried.dedup();
                continue;
            }
            let symbol = Symbol::terminal(terminal);
            for &row in sources {
                let waiting = self.row(row).waiting.get(&symbol);
                let Some(waiting) = waiting.cloned() else {
                    continue;
                };
                // The way to take ignored text that is found first counts.
                if let Entry::Vacant(entry) = self.lexemes.entry((terminal, row, to)) {
                    entry.insert(from);
                    self.origins.entry((symbol, to)).or_default().push(row);
                }
                for item in waiting {
                    self.add_next(to, item)?;
                }
            }
        }
        Ok(())
    }
}
