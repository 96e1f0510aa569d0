//! Which states of a parser can be finished, whatever the stack below, without the terminals that
//! perhaps cannot come.
//!
//! For example, where a list may end after each item, it can be finished without a comma.

use fsm_tables::Sources;

use crate::compile::cfg::{Cfg, Symbol};
use crate::compile::lr::{Finish, Tables};

/// Which nonterminals derive a text without some terminals.
fn derives_without(cfg: &Cfg, trouble: &[bool]) -> Vec<bool> {
    let mut derives = vec![false; cfg.rules.len()];
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for production in &cfg.productions {
            if !derives[production.left as usize]
                && production.right.iter().all(|symbol| match symbol.split() {
                    Ok(terminal) => !trouble[terminal as usize],
                    Err(rule) => derives[rule as usize],
                })
            {
                derives[production.left as usize] = true;
                changed = true;
            }
        }
    }
    derives
}

/// By state of the parser: whether every stack with it on top can be finished without the
/// troubled terminals, which is always open.
///
/// Finishing what a state has begun leads to a lower place of the stack if more than one
/// symbol of it is held; else to a state at the same place, which must be nearer to a lower
/// one. The places that it leads to are looked up in all states that can be below.
pub(super) fn safe(cfg: &Cfg, tables: &Tables, trouble: &[bool]) -> Vec<bool> {
    let derives = derives_without(cfg, trouble);
    let is_open = |symbol: &Symbol| match symbol.split() {
        Ok(terminal) => !trouble[terminal as usize],
        Err(rule) => derives[rule as usize],
    };
    let mut safe = vec![true; tables.states.len()];
    if near(&ways(tables, is_open, false), tables, &safe) == safe {
        return safe;
    }
    let ways = ways(tables, is_open, true);
    loop {
        let good = near(&ways, tables, &safe);
        if good == safe {
            return safe;
        }
        safe = good;
    }
}

/// True if finishing something leads lower, and where to; nowhere means the end.
type Way = (bool, Box<[u32]>);

/// By state: what can be finished there. A way that leads lower is told with
/// `lower` alone: at first that does not matter.
fn ways(tables: &Tables, is_open: impl Fn(&Symbol) -> bool, lower: bool) -> Vec<Vec<Way>> {
    let mut below = Below::new(tables);
    let mut ways = Vec::with_capacity(tables.states.len());
    for (number, state) in (0..).zip(&tables.states) {
        let open = state.finishes.iter().filter(|finish| {
            let right = &tables.rights[finish.production as usize];
            right[usize::from(finish.dot)..].iter().all(&is_open)
        });
        below.begin(number);
        let way = |finish: &Finish| match (finish.rule == tables.whole, finish.held > 1) {
            (true, _) => (true, Box::default()),
            (false, true) if !lower => (true, Box::default()),
            (false, is_lower) => (is_lower, below.behind(finish)),
        };
        ways.push(open.map(way).collect());
    }
    ways
}

/// By state: whether it can be finished by ways that lead to safe states alone, and come to
/// a lower one.
fn near(ways: &[Vec<Way>], tables: &Tables, safe: &[bool]) -> Vec<bool> {
    let all_in = |set: &[bool], to: &[u32]| to.iter().all(|&to| set[to as usize]);
    let is_first = |state: usize| {
        let ends = |(lower, to): &Way| *lower && all_in(safe, to);
        safe[state] && (tables.states[state].accepts || ways[state].iter().any(ends))
    };
    let mut good: Vec<bool> = (0..safe.len()).map(is_first).collect();
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for state in 0..safe.len() {
            if safe[state] && !good[state] && ways[state].iter().any(|way| all_in(&good, &way.1)) {
                good[state] = true;
                changed = true;
            }
        }
    }
    good
}

/// Which states may be below one.
struct Below<'a> {
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
    fn new(tables: &Tables) -> Below<'_> {
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
    fn begin(&mut self, state: u32) {
        self.levels[0].clear();
        self.levels[0].push(state);
        self.known = 1;
    }

    /// Returns the states to which finishing something that the state has begun may lead.
    fn behind(&mut self, finish: &Finish) -> Box<[u32]> {
        let held = usize::from(finish.held);
        while self.known <= held {
            self.descend();
        }
        self.epoch += 1;
        let bases = self.levels[held].iter();
        let to = bases.filter_map(|&base| self.tables.states[base as usize].goto(finish.rule));
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
