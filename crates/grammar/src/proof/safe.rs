//! Which states of a parser can be finished, whatever the stack below, without the terminals that
//! perhaps cannot come.
//!
//! For example, where a list may end after each item, it can be finished without a comma; and where text cannot come
//! behind text, behind which it would only go on, a string can be finished with its quotation mark.

use std::cell::OnceCell;

use foldhash::fast::FixedState;
use fsm_tables::Sources;
use indexmap::IndexSet;

use super::bits::Bits;
use crate::compile::cfg::{Cfg, Symbol};
use crate::compile::lr::{Finish, LrState, Tables};

/// The terminals that may come behind others, in classes: [rows](Adjacent::row) of those that stand before,
/// columns of those that come.
pub(super) struct Adjacent {
    /// By terminal: the number of its row.
    row: Vec<u8>,
    /// By terminal: the number of its column.
    column: Vec<u8>,
    /// By column: the rows behind which it may come, as bits.
    behind: Vec<u64>,
}

/// The most classes of terminals, because they are the bits of a number.
const MAX_CLASSES: usize = 64;

impl Adjacent {
    /// Some terminals may come behind none.
    pub(super) fn without(trouble: &[bool]) -> Adjacent {
        Adjacent {
            row: vec![0; trouble.len()],
            column: trouble.iter().map(|&trouble| u8::from(trouble)).collect(),
            behind: vec![1, 0],
        }
    }

    /// `rows` are the terminals that may come behind each. `None` if too many of them differ.
    pub(super) fn new(rows: &[Bits]) -> Option<Adjacent> {
        let mut known: IndexSet<&Bits, FixedState> = IndexSet::default();
        let row: Vec<usize> = rows.iter().map(|row| known.insert_full(row).0).collect();
        let column_of = |terminal: u32| -> Option<u64> {
            let own = (0..).zip(&known).filter(|(_, row)| row.has(terminal));
            own.map(|(at, _)| 1u64.checked_shl(at))
                .try_fold(0, |all, bit| Some(all | bit?))
        };
        let columns = (0..rows.len() as u32).map(column_of);
        let columns: Vec<u64> = columns.collect::<Option<_>>()?;
        let mut behind: IndexSet<u64, FixedState> = IndexSet::default();
        let column: Vec<usize> = columns
            .iter()
            .map(|&own| behind.insert_full(own).0)
            .collect();
        let is_small = known.len() <= MAX_CLASSES && behind.len() <= MAX_CLASSES;
        is_small.then(|| Adjacent {
            row: row.iter().map(|&row| row as u8).collect(),
            column: column.iter().map(|&column| column as u8).collect(),
            behind: behind.into_iter().collect(),
        })
    }

    /// Returns the number of a terminal's row: of the bit that says what may come behind it.
    pub(super) fn row(&self, terminal: u32) -> u8 {
        self.row[terminal as usize]
    }

    fn column(&self, terminal: u32) -> usize {
        usize::from(self.column[terminal as usize])
    }

    fn row_count(&self) -> usize {
        self.row.iter().max().map_or(1, |&row| usize::from(row) + 1)
    }
}

/// The texts of something, by the columns of their first terminals: the rows of their last ones.
type Edges = Box<[u64]>;

/// The texts of nonterminals in which each terminal may come behind the one before.
struct Texts<'a> {
    adjacent: &'a Adjacent,
    nullable: Vec<bool>,
    /// By nonterminal.
    edges: Vec<Edges>,
}

impl Texts<'_> {
    fn new<'a>(cfg: &Cfg, adjacent: &'a Adjacent) -> Texts<'a> {
        let none: Edges = vec![0; adjacent.behind.len()].into();
        let mut texts = Texts {
            adjacent,
            nullable: cfg.nullable(),
            edges: vec![none; cfg.rules.len()],
        };
        let by_left = cfg.by_left();
        let order = cfg.innermost_first(&by_left);
        let mut new = texts.edges.first().cloned().unwrap_or_default();
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for &rule in &order {
                for &production in &by_left[rule as usize] {
                    texts.read(&cfg.productions[production].right, &mut new);
                    for (own, new) in texts.edges[rule as usize].iter_mut().zip(&new) {
                        changed |= new & !*own != 0;
                        *own |= new;
                    }
                }
            }
        }
        texts
    }

    /// Finds the texts of symbols, but the empty one.
    fn read(&self, symbols: &[Symbol], all: &mut [u64]) {
        all.fill(0);
        let mut is_empty = true;
        for &symbol in symbols {
            for own in all.iter_mut().filter(|own| **own != 0) {
                *own = self.behind(*own, symbol);
            }
            if is_empty {
                match symbol.split() {
                    Ok(terminal) => all[self.adjacent.column(terminal)] |= self.last(terminal),
                    Err(rule) => {
                        let edges = self.edges[rule as usize].iter();
                        all.iter_mut().zip(edges).for_each(|(own, new)| *own |= new);
                    }
                }
            }
            is_empty &= symbol.may_be_empty(&self.nullable);
        }
    }

    /// Returns what may be read last behind each place of the productions.
    fn rests(&self, tables: &Tables) -> Rests {
        let rows = self.adjacent.row_count();
        let mut rests = Rests {
            rows,
            first: Vec::with_capacity(tables.rights.len()),
            all: Vec::new(),
        };
        for right in &tables.rights {
            let begin = rests.all.len();
            rests.first.push(begin);
            rests.all.resize(begin + rows * (right.len() + 1), 0);
            let own = &mut rests.all[begin..];
            (0..rows).for_each(|row| own[right.len() * rows + row] = 1 << row);
            for (dot, &symbol) in right.iter().enumerate().rev() {
                let (before, behind) = own.split_at_mut((dot + 1) * rows);
                for (row, last) in before[dot * rows..].iter_mut().enumerate() {
                    let met = self.behind(1 << row, symbol);
                    let met = (0..)
                        .zip(&behind[..rows])
                        .filter(|(row, _)| met >> row & 1 == 1);
                    *last = met.fold(0, |all, (_, own)| all | own);
                }
            }
        }
        rests
    }

    /// The row of a terminal, as a bit.
    fn last(&self, terminal: u32) -> u64 {
        1 << self.adjacent.row(terminal)
    }

    /// The rows of the last terminals where a symbol comes behind terminals of some rows.
    fn behind(&self, rows: u64, symbol: Symbol) -> u64 {
        let is_open = |behind: &u64| behind & rows != 0;
        match symbol.split() {
            Ok(terminal) => match is_open(&self.adjacent.behind[self.adjacent.column(terminal)]) {
                true => self.last(terminal),
                false => 0,
            },
            Err(rule) => {
                let ways = self.adjacent.behind.iter().zip(&self.edges[rule as usize]);
                let open = ways.filter(|(behind, _)| is_open(behind));
                let empty = if self.nullable[rule as usize] {
                    rows
                } else {
                    0
                };
                open.fold(empty, |all, (_, last)| all | last)
            }
        }
    }
}

/// The rows of the terminals that may be read last behind places of productions, by row of the terminal before. Many
/// states hold the same places.
struct Rests {
    rows: usize,
    /// By production: where its places begin.
    first: Vec<usize>,
    /// Place by place.
    all: Vec<u64>,
}

impl Rests {
    fn of(&self, finish: &Finish) -> &[u64] {
        let begin = self.first[finish.production as usize] + usize::from(finish.dot) * self.rows;
        &self.all[begin..begin + self.rows]
    }
}

/// By state of the parser: whether every stack with it on top can be finished where each terminal
/// comes behind one that it may come behind; a bit for each [row](Adjacent::row) of the terminal that was
/// read last.
///
/// Finishing what a state has begun leads to a lower place of the stack if more than one
/// symbol of it is held; else to a state at the same place, which must be nearer to a lower
/// one. The places that it leads to are looked up in all states that can be below.
pub(super) fn safe(cfg: &Cfg, targets: &Targets<'_>, adjacent: &Adjacent) -> Vec<u64> {
    let tables = targets.tables;
    let texts = Texts::new(cfg, adjacent);
    let all = u64::MAX >> (MAX_CLASSES - adjacent.row_count());
    let mut safe = vec![all; tables.states.len()];
    let rests = texts.rests(tables);
    if near(&targets.ways(&rests, Leading::Near), tables, &safe) == safe {
        return safe;
    }
    let ways = targets.ways(&rests, Leading::All);
    loop {
        let good = near(&ways, tables, &safe);
        if good == safe {
            return safe;
        }
        safe = good;
    }
}

/// The ways to finish something of which is told where they lead.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Leading {
    /// Only ways to a state at the same place, because of others it is enough at first that they lead lower.
    Near,
    All,
}

/// The states to which finishing what a state has begun may lead. They are found once, because the
/// tables alone tell them, whatever may come.
pub(super) struct Targets<'a> {
    tables: &'a Tables,
    near: OnceCell<Vec<Box<[u32]>>>,
    all: OnceCell<Vec<Box<[u32]>>>,
}

impl Targets<'_> {
    pub(super) fn new(tables: &Tables) -> Targets<'_> {
        Targets {
            tables,
            near: OnceCell::new(),
            all: OnceCell::new(),
        }
    }

    pub(super) fn tables(&self) -> &Tables {
        self.tables
    }

    /// Tells whether a way leads to a state at the same place or lower that has to be looked at.
    fn counts(&self, finish: &Finish, ways: Leading) -> bool {
        finish.rule != self.tables.whole && (ways == Leading::All || finish.held <= 1)
    }

    /// By state: where its ways lead, one after the other.
    fn find(&self, ways: Leading) -> Vec<Box<[u32]>> {
        let mut below = Below::new(self.tables);
        let mut all = Vec::new();
        for (number, state) in (0..).zip(&self.tables.states) {
            below.begin(number);
            all.extend(
                state
                    .finishes
                    .iter()
                    .map(|finish| match self.counts(finish, ways) {
                        true => below.behind(finish.rule, finish.held),
                        false => Box::default(),
                    }),
            );
        }
        all
    }

    /// By state: what can be finished there.
    fn ways<'r>(&'r self, rests: &'r Rests, ways: Leading) -> Vec<Vec<Finishing<'r>>> {
        let known = match ways {
            Leading::Near => &self.near,
            Leading::All => &self.all,
        };
        let mut targets = known.get_or_init(|| self.find(ways)).iter();
        let of = |state: &'r LrState| {
            let finishes = state.finishes.iter().zip(&mut targets);
            let own = finishes.map(|(finish, to)| Finishing {
                lower: finish.held > 1 || !self.counts(finish, ways),
                to,
                last: rests.of(finish),
            });
            own.filter(|way| way.last.iter().any(|&rows| rows != 0))
                .collect()
        };
        self.tables.states.iter().map(of).collect()
    }
}

/// A way to finish something.
struct Finishing<'a> {
    /// True if it leads lower.
    lower: bool,
    /// The states to which it leads; none means the end.
    to: &'a [u32],
    /// By row of the terminal before: the rows of those that may be read last.
    last: &'a [u64],
}

/// By state: whether it can be finished by ways that lead to safe states alone, and come to
/// a lower one.
fn near(ways: &[Vec<Finishing<'_>>], tables: &Tables, safe: &[u64]) -> Vec<u64> {
    // The rows before a way that leads to states of a set.
    let before = |way: &Finishing, set: &[u64]| -> u64 {
        let all = way
            .to
            .iter()
            .fold(u64::MAX, |all, &to| all & set[to as usize]);
        let open = (0..).zip(way.last).filter(|(_, last)| *last & all != 0);
        open.fold(0, |rows, (row, _)| rows | 1 << row)
    };
    let first = |state: usize| match tables.states[state].accepts {
        true => safe[state],
        false => {
            let lower = ways[state].iter().filter(|way| way.lower);
            safe[state] & lower.fold(0, |rows, way| rows | before(way, safe))
        }
    };
    let mut good: Vec<u64> = (0..safe.len()).map(first).collect();
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for state in 0..safe.len() {
            if good[state] == safe[state] {
                continue;
            }
            let more = ways[state]
                .iter()
                .fold(0, |rows, way| rows | before(way, &good));
            let more = good[state] | (more & safe[state]);
            changed |= more != good[state];
            good[state] = more;
        }
    }
    good
}

/// Which states may be below one.
pub(super) struct Below<'a> {
    tables: &'a Tables,
    before: Sources,
    /// The states a number of levels below the state, as far as was asked.
    levels: Vec<Vec<u32>>,
    known: usize,
    /// By state: when it was met last.
    seen: Vec<u32>,
    epoch: u32,
}

impl Below<'_> {
    pub(super) fn new(tables: &Tables) -> Below<'_> {
        let arrows = (0..).zip(&tables.states).flat_map(|(from, state)| {
            let all = state.shifts.iter().chain(&state.gotos);
            all.map(move |&(_, to)| (from, to))
        });
        Below {
            tables,
            before: Sources::new(tables.states.len(), arrows),
            levels: vec![Vec::new()],
            known: 0,
            seen: vec![0; tables.states.len()],
            epoch: 0,
        }
    }

    /// From now on all is asked of a state.
    pub(super) fn begin(&mut self, state: u32) {
        self.levels[0].clear();
        self.levels[0].push(state);
        self.known = 1;
    }

    /// Returns the states to which finishing a nonterminal may lead that the state has begun, with so
    /// many symbols of it held.
    pub(super) fn behind(&mut self, rule: u32, held: u16) -> Box<[u32]> {
        let held = usize::from(held);
        while self.known <= held {
            self.descend();
        }
        self.epoch += 1;
        let bases = self.levels[held].iter();
        let to = bases.filter_map(|&base| self.tables.states[base as usize].goto(rule));
        let new =
            |to: &u32| std::mem::replace(&mut self.seen[*to as usize], self.epoch) != self.epoch;
        to.filter(new).collect()
    }

    /// Finds one level more.
    fn descend(&mut self) {
        if self.levels.len() == self.known {
            self.levels.push(Vec::new());
        }
        self.epoch += 1;
        let (above, below) = self.levels.split_at_mut(self.known);
        below[0].clear();
        for &state in &above[self.known - 1] {
            for &from in self.before.of(state) {
                if std::mem::replace(&mut self.seen[from as usize], self.epoch) != self.epoch {
                    below[0].push(from);
                }
            }
        }
        self.known += 1;
    }
}
