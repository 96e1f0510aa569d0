//! LR(0) tables of a grammar: what a stack's topmost state says.
//!
//! Nonterminals that may be empty are passed by in the closure, so that nothing empty is
//! ever put on a stack: an item counts the symbols that it has there. So the nodes of a
//! stack have their parents at earlier places in the text, and stacks have no cycles.
//!
//! Where every split counts, what is complete with one symbol held is passed by, too: behind a
//! name stands at once what may come behind a term, a sum and an expression. So there is one
//! node where a chain of reductions would leave one for each level of operators, at each byte
//! of the name. Under greedy lexing a lexeme ends once: there more states cost more than that.

use std::collections::{HashMap, HashSet};

use foldhash::fast::FixedState;

use crate::Error;
use crate::cfg::{Cfg, Symbol};

/// A place in a production.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Item {
    production: u32,
    dot: u16,
    /// How many symbols before the dot are on the stack.
    held: u16,
}

/// What a state may be left by downwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reduce {
    pub(crate) rule: u32,
    pub(crate) held: u16,
}

/// How what a state has begun is finished: a shortest way for each nonterminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Finish {
    pub(crate) rule: u32,
    pub(crate) held: u16,
    pub(crate) production: u32,
    pub(crate) dot: u16,
    /// In bytes, special tokens as one.
    pub(crate) cost: u32,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    /// Terminals that may come, ascending, with the state behind each.
    pub(crate) shifts: Box<[(u32, u32)]>,
    /// Nonterminals, ascending, with the state behind each.
    pub(crate) gotos: Box<[(u32, u32)]>,
    pub(crate) reduces: Box<[Reduce]>,
    pub(crate) finishes: Box<[Finish]>,
    /// Whether the start is complete here.
    pub(crate) accepts: bool,
}

impl State {
    pub(crate) fn shift(&self, terminal: u32) -> Option<u32> {
        let at = self.shifts.binary_search_by_key(&terminal, |shift| shift.0);
        at.ok().map(|at| self.shifts[at].1)
    }

    pub(crate) fn goto(&self, rule: u32) -> Option<u32> {
        let at = self.gotos.binary_search_by_key(&rule, |goto| goto.0);
        at.ok().map(|at| self.gotos[at].1)
    }
}

/// The tables, with shortest texts.
#[derive(Debug)]
pub(crate) struct Tables {
    pub(crate) states: Vec<State>,
    /// The nonterminal that stands for the whole text.
    pub(crate) whole: u32,
    /// By production: its symbols.
    pub(crate) rights: Vec<Box<[Symbol]>>,
    /// By nonterminal: a production with a shortest text.
    pub(crate) best: Vec<u32>,
    /// By nonterminal: how long that text is.
    pub(crate) least: Vec<u32>,
    /// By terminal: how long its shortest text is.
    pub(crate) least_terminal: Vec<u32>,
}

impl Tables {
    pub(crate) fn cost(&self, symbol: Symbol) -> u32 {
        match symbol.split() {
            Ok(terminal) => self.least_terminal[terminal as usize],
            Err(rule) => self.least[rule as usize],
        }
    }

    fn cost_of(&self, symbols: &[Symbol]) -> u32 {
        symbols
            .iter()
            .fold(0, |sum: u32, &symbol| sum.saturating_add(self.cost(symbol)))
    }
}

/// Builds the tables.
///
/// # Errors
///
/// More states than `max_states`, or more items than `max_work`.
pub(crate) fn build(
    cfg: &Cfg,
    least_terminal: Vec<u32>,
    max_states: usize,
    max_work: usize,
) -> Result<Tables, Error> {
    let (best, least) = least(cfg, &least_terminal);
    let mut tables = Tables {
        states: Vec::new(),
        whole: cfg.productions[cfg.start].left,
        rights: cfg.productions.iter().map(|p| p.right.clone()).collect(),
        best,
        least,
        least_terminal,
    };
    let nullable = cfg.nullable();
    let over = || Error::limit("max_work", "items of rules in the parser's table", max_work);
    let mut by_left: Vec<Vec<u32>> = vec![Vec::new(); cfg.rules.len()];
    for (number, production) in cfg.productions.iter().enumerate() {
        by_left[production.left as usize].push(number as u32);
    }
    let is_empty = |symbol: Symbol| {
        symbol
            .split()
            .err()
            .is_some_and(|rule| nullable[rule as usize])
    };
    // What each nonterminal may begin with, directly: symbols with the items behind them.
    let begins: Vec<Vec<(Symbol, Item)>> = by_left
        .iter()
        .map(|productions| {
            let mut out = Vec::new();
            for &production in productions {
                for (dot, &symbol) in cfg.productions[production as usize]
                    .right
                    .iter()
                    .enumerate()
                {
                    out.push((
                        symbol,
                        Item {
                            production,
                            dot: dot as u16 + 1,
                            held: 1,
                        },
                    ));
                    if !is_empty(symbol) {
                        break;
                    }
                }
            }
            out
        })
        .collect();
    // Nonterminals that are reduced to at all, where more than one symbol is held.
    let passes_units = !cfg.is_greedy;
    let least_held = u16::from(passes_units);
    let mut is_held = vec![!passes_units; cfg.rules.len()];
    for production in &cfg.productions {
        is_held[production.left as usize] |= production.right.len() > 1;
    }
    let mut units = Units {
        cfg,
        nullable: &nullable,
        whole: tables.whole,
        seen: HashSet::default(),
    };
    let mut ids: HashMap<Vec<Item>, u32, FixedState> = HashMap::default();
    let first = vec![Item {
        production: cfg.start as u32,
        dot: 0,
        held: 0,
    }];
    ids.insert(first.clone(), 0);
    let mut kernels = vec![first];
    let mut work = 0usize;
    let mut seen = vec![u32::MAX; cfg.rules.len()];
    while tables.states.len() < kernels.len() {
        let number = tables.states.len() as u32;
        let kernel = kernels[number as usize].clone();
        let mut steps: Vec<(Symbol, Item)> = Vec::new();
        let mut reduces: Vec<Reduce> = Vec::new();
        let mut finishes: Vec<Finish> = Vec::new();
        let mut accepts = false;
        for item in kernel {
            let production = &cfg.productions[item.production as usize];
            let rest = &production.right[usize::from(item.dot)..];
            let is_unit = passes_units && item.held == 1 && production.left != tables.whole;
            if !is_unit || !rest.iter().all(|&symbol| is_empty(symbol)) {
                finishes.push(Finish {
                    rule: production.left,
                    held: item.held,
                    production: item.production,
                    dot: item.dot,
                    cost: tables.cost_of(rest),
                });
            }
            let mut ends = true;
            for (ahead, &symbol) in rest.iter().enumerate() {
                let dot = item.dot + ahead as u16 + 1;
                steps.push((
                    symbol,
                    Item {
                        production: item.production,
                        dot,
                        held: item.held + 1,
                    },
                ));
                if !is_empty(symbol) {
                    ends = false;
                    break;
                }
            }
            if ends && production.left == tables.whole {
                accepts = true;
            } else if ends && item.held > least_held {
                reduces.push(Reduce {
                    rule: production.left,
                    held: item.held,
                });
            }
        }
        // The closure: nonterminals that may begin here.
        let mut at = 0;
        while at < steps.len() {
            if let Err(rule) = steps[at].0.split()
                && std::mem::replace(&mut seen[rule as usize], number) != number
            {
                steps.extend_from_slice(&begins[rule as usize]);
            }
            at += 1;
        }
        work = work.saturating_add(steps.len());
        if work > max_work {
            return Err(over());
        }
        steps.sort_unstable();
        steps.dedup();
        let (mut shifts, mut gotos) = (Vec::new(), Vec::new());
        for group in steps.chunk_by(|a, b| a.0 == b.0) {
            let symbol = group[0].0;
            if symbol.split().is_err_and(|rule| !is_held[rule as usize]) {
                continue;
            }
            let next = match passes_units {
                true => units.behind(group, &steps),
                false => group.iter().map(|step| step.1).collect(),
            };
            work = work.saturating_add(next.len());
            let id = match ids.get(&next) {
                Some(&id) => id,
                None => {
                    let id = kernels.len() as u32;
                    if kernels.len() >= max_states {
                        return Err(Error::limit(
                            "max_parser_states",
                            "states of the parser",
                            max_states,
                        ));
                    }
                    ids.insert(next.clone(), id);
                    kernels.push(next);
                    id
                }
            };
            match symbol.split() {
                Ok(terminal) => shifts.push((terminal, id)),
                Err(rule) => gotos.push((rule, id)),
            }
        }
        reduces.sort_unstable_by_key(|reduce| (reduce.rule, reduce.held));
        reduces.dedup();
        finishes.sort_unstable_by_key(|f| (f.rule, f.held, f.cost));
        finishes.dedup_by_key(|finish| (finish.rule, finish.held));
        shifts.sort_unstable();
        gotos.sort_unstable();
        tables.states.push(State {
            shifts: shifts.into(),
            gotos: gotos.into(),
            reduces: reduces.into(),
            finishes: finishes.into(),
            accepts,
        });
    }
    Ok(tables)
}

/// Passes by what is complete with one symbol held.
struct Units<'a> {
    cfg: &'a Cfg,
    nullable: &'a [bool],
    whole: u32,
    seen: HashSet<u32, FixedState>,
}

impl Units<'_> {
    /// The items behind a symbol, those of all nonterminals that it may be alone included.
    /// `steps` are all of the state, by their symbols.
    fn behind(&mut self, group: &[(Symbol, Item)], steps: &[(Symbol, Item)]) -> Vec<Item> {
        self.seen.clear();
        let mut next: Vec<Item> = Vec::new();
        let mut open = vec![group];
        while let Some(group) = open.pop() {
            for &(_, item) in group {
                let production = &self.cfg.productions[item.production as usize];
                let rest = &production.right[usize::from(item.dot)..];
                let is_empty = |symbol: &Symbol| {
                    let rule = symbol.split().err();
                    rule.is_some_and(|rule| self.nullable[rule as usize])
                };
                let is_unit =
                    item.held == 1 && production.left != self.whole && rest.iter().all(is_empty);
                if is_unit && self.seen.insert(production.left) {
                    let symbol = Symbol::rule(production.left);
                    let from = steps.partition_point(|step| step.0 < symbol);
                    let to = steps.partition_point(|step| step.0 <= symbol);
                    open.push(&steps[from..to]);
                }
                if !is_unit || !rest.is_empty() {
                    next.push(item);
                }
            }
        }
        next.sort_unstable();
        next.dedup();
        next
    }
}

/// For each nonterminal a production with a shortest text, and its length: nonterminals are
/// settled by length, as in Knuth's generalisation of Dijkstra's algorithm.
fn least(cfg: &Cfg, least_terminal: &[u32]) -> (Vec<u32>, Vec<u32>) {
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    let mut best = vec![u32::MAX; cfg.rules.len()];
    let mut least = vec![u32::MAX; cfg.rules.len()];
    let mut missing = Vec::with_capacity(cfg.productions.len());
    let mut cost: Vec<u32> = Vec::with_capacity(cfg.productions.len());
    let mut uses: Vec<Vec<u32>> = vec![Vec::new(); cfg.rules.len()];
    let mut open = BinaryHeap::new();
    for (number, production) in cfg.productions.iter().enumerate() {
        let (mut count, mut sum) = (0u32, 0u32);
        for symbol in &production.right {
            match symbol.split() {
                Ok(terminal) => sum = sum.saturating_add(least_terminal[terminal as usize]),
                Err(rule) => {
                    count += 1;
                    uses[rule as usize].push(number as u32);
                }
            }
        }
        if count == 0 {
            open.push(Reverse((sum, number as u32)));
        }
        missing.push(count);
        cost.push(sum);
    }
    while let Some(Reverse((sum, number))) = open.pop() {
        let left = cfg.productions[number as usize].left as usize;
        if best[left] != u32::MAX {
            continue;
        }
        best[left] = number;
        least[left] = sum;
        for &user in &uses[left] {
            let user = user as usize;
            missing[user] -= 1;
            cost[user] = cost[user].saturating_add(sum);
            if missing[user] == 0 {
                open.push(Reverse((cost[user], user as u32)));
            }
        }
    }
    (best, least)
}
