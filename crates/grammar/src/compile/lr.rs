//! LR(0) tables of a grammar: what a stack's topmost state says.
//!
//! Nonterminals that may be empty are passed by in the closure, so that nothing empty is
//! ever put on a stack: an item counts the symbols that it has there. So the nodes of a
//! stack have their parents at earlier places in the text, and stacks have no cycles.
//!
//! If every split counts, items that are complete with one symbol held are passed by, too: behind a
//! name stands at once what may come behind a term, a sum and an expression. So there is one
//! node where a chain of reductions would leave one for each level of operators, at each byte
//! of the name. Under greedy lexing a lexeme ends once: there more states cost more than that.
//!
//! For example, behind `1` of `root ::= root "+" [0-9] | [0-9]` a `root` is complete, and behind it
//! `+` or the end may come.

use foldhash::fast::FixedState;
use indexmap::IndexSet;

use crate::compile::cfg::{Cfg, Symbol};
use crate::error::Error;

/// A place in a production, as one number: so items are sorted and told apart fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Item(u64);

impl Item {
    /// `held` says how many symbols before the dot are on the stack.
    fn new(production: u32, dot: usize, held: u16) -> Item {
        Item(u64::from(production) << 32 | (dot as u64) << 16 | u64::from(held))
    }

    fn production(self) -> u32 {
        (self.0 >> 32) as u32
    }

    fn dot(self) -> u16 {
        (self.0 >> 16) as u16
    }

    fn held(self) -> u16 {
        self.0 as u16
    }
}

/// The work of an item that is looked at, because it takes some 50 ns, and a grammar must be refused within a second.
const ITEM_WORK: usize = 4;

/// The work of an item of a state that is kept, because it takes some 50 bytes: all that are
/// kept take a quarter of a GiB by far not.
const KERNEL_WORK: usize = 16;

/// A way down out of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reduce {
    pub(crate) rule: u32,
    pub(crate) held: u16,
    /// The same number in all states.
    pub(crate) number: u32,
}

/// A shortest way to finish a nonterminal that a state has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Finish {
    pub(crate) rule: u32,
    pub(crate) held: u16,
    pub(crate) production: u32,
    pub(crate) dot: u16,
    /// In bytes, special tokens as one.
    pub(crate) cost: u32,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct LrState {
    /// Terminals that may come, ascending, with the state behind each.
    pub(crate) shifts: Box<[(u32, u32)]>,
    /// Nonterminals, ascending, with the state behind each.
    pub(crate) gotos: Box<[(u32, u32)]>,
    pub(crate) reduces: Box<[Reduce]>,
    pub(crate) finishes: Box<[Finish]>,
    /// True if the start is complete here.
    pub(crate) accepts: bool,
}

impl LrState {
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
    pub(crate) states: Vec<LrState>,
    /// The first of the states behind ignored text, if it comes once: they are those before, in order, and
    /// no ignored text follows them.
    once: Option<u32>,
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
    /// The number of ways down that differ.
    pub(crate) reduce_count: usize,
}

impl Tables {
    /// Numbers the ways down out of states.
    fn number_reduces(&mut self) {
        let mut numbers: IndexSet<(u32, u16), FixedState> = IndexSet::default();
        for reduce in self.states.iter_mut().flat_map(|state| &mut state.reduces) {
            reduce.number = numbers.insert_full((reduce.rule, reduce.held)).0 as u32;
        }
        self.reduce_count = numbers.len();
    }

    /// Returns the state behind ignored text that comes once.
    pub(crate) fn behind_ignored(&self, state: u32) -> u32 {
        match self.once {
            Some(first) if state < first => state + first,
            _ => state,
        }
    }

    /// Tells whether a state is one behind ignored text that comes once.
    pub(crate) fn is_behind_ignored(&self, state: u32) -> bool {
        self.once.is_some_and(|first| state >= first)
    }

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
/// More states than `max_states`, or more steps than `max_work`.
pub(crate) fn build(
    cfg: &Cfg,
    least_terminal: Vec<u32>,
    max_states: usize,
    max_work: usize,
) -> Result<Tables, Error> {
    let (best, least) = least(cfg, &least_terminal);
    let mut tables = Tables {
        states: Vec::new(),
        once: None,
        whole: cfg.productions[cfg.start].left,
        rights: cfg.productions.iter().map(|p| p.right.clone()).collect(),
        best,
        least,
        least_terminal,
        reduce_count: 0,
    };
    let nullable = cfg.nullable();
    let begins = begins(cfg, &nullable);
    // Nonterminals that are reduced to at all, where more than one symbol is held.
    let passes_units = !cfg.is_greedy;
    let mut is_held = vec![!passes_units; cfg.rules.len()];
    for production in &cfg.productions {
        is_held[production.left as usize] |= production.right.len() > 1;
    }
    let mut units = Units {
        cfg,
        nullable: &nullable,
        whole: tables.whole,
        seen: vec![0; cfg.rules.len()],
        epoch: 0,
        open: Vec::new(),
    };
    let mut kernels: IndexSet<Box<[Item]>, FixedState> = IndexSet::default();
    kernels.insert([Item::new(cfg.start as u32, 0, 0)].into());
    let mut steps = Moves::new(cfg);
    let mut next: Vec<Item> = Vec::new();
    let (mut shifts, mut gotos) = (Vec::new(), Vec::new());
    let mut work = 0usize;
    while tables.states.len() < kernels.len() {
        let kernel = &kernels[tables.states.len()];
        let mut state = begun(kernel, cfg, &nullable, &tables, &mut steps);
        // The closure: nonterminals that may begin here.
        let mut at = 0;
        while let Some(symbol) = steps.symbols.get(at) {
            if let Err(rule) = symbol.split() {
                steps.extend(&begins[rule as usize]);
            }
            at += 1;
        }
        work = work.saturating_add(ITEM_WORK * steps.len);
        if work > max_work {
            let what = "steps to make the parser's table";
            return Err(Error::limit("max_work", what, max_work));
        }
        steps.symbols.sort_unstable();
        shifts.clear();
        gotos.clear();
        for &symbol in &steps.symbols {
            if symbol.split().is_err_and(|rule| !is_held[rule as usize]) {
                continue;
            }
            next.clear();
            match passes_units {
                true => units.behind(symbol, &steps, &mut next),
                false => next.extend_from_slice(steps.behind(symbol)),
            }
            next.sort_unstable();
            next.dedup();
            work = work.saturating_add(ITEM_WORK * next.len());
            let id = match kernels.get_index_of(&next[..]) {
                Some(known) => known,
                None if kernels.len() >= max_states => {
                    let what = "states of the parser";
                    return Err(Error::limit("max_parser_states", what, max_states));
                }
                None => {
                    work = work.saturating_add(KERNEL_WORK * next.len());
                    kernels.insert_full(next[..].into()).0
                }
            };
            match symbol.split() {
                Ok(terminal) => shifts.push((terminal, id as u32)),
                Err(rule) => gotos.push((rule, id as u32)),
            }
        }
        state.shifts = shifts[..].into();
        state.gotos = gotos[..].into();
        tables.states.push(state);
    }
    tables.number_reduces();
    if cfg.ignores_once.contains(&true) {
        tables.once = Some(tables.states.len() as u32);
        tables.states.extend_from_within(..);
    }
    Ok(tables)
}

/// By nonterminal: what it may begin with, directly, as symbols with the items behind them.
fn begins(cfg: &Cfg, nullable: &[bool]) -> Vec<Vec<(Symbol, Item)>> {
    let mut begins = vec![Vec::new(); cfg.rules.len()];
    for (number, production) in (0..).zip(&cfg.productions) {
        let ahead = firsts(&production.right, nullable);
        let items = ahead.map(|(at, symbol)| (symbol, Item::new(number, at + 1, 1)));
        begins[production.left as usize].extend(items);
    }
    begins
}

/// Returns the places at which some symbols may begin: all up to the first that is never empty. The
/// first of equal ones is enough, because the others are among what may come behind it.
fn firsts<'a>(
    symbols: &'a [Symbol],
    nullable: &'a [bool],
) -> impl Iterator<Item = (usize, Symbol)> + 'a {
    let ahead = symbols
        .iter()
        .take_while(|&&symbol| symbol.may_be_empty(nullable));
    let count = ahead.count() + 1;
    let all = symbols.iter().take(count).enumerate();
    let is_first = move |&(at, symbol): &(usize, &Symbol)| !symbols[..at].contains(symbol);
    all.filter(is_first).map(|(at, symbol)| (at, *symbol))
}

/// Returns what the items of a state alone say of it; and where they go on.
fn begun(
    kernel: &[Item],
    cfg: &Cfg,
    nullable: &[bool],
    tables: &Tables,
    steps: &mut Moves,
) -> LrState {
    let passes_units = !cfg.is_greedy;
    let least_held = u16::from(passes_units);
    let mut reduces: Vec<Reduce> = Vec::new();
    let mut finishes: Vec<Finish> = Vec::with_capacity(kernel.len());
    let mut accepts = false;
    steps.clear();
    for &item in kernel {
        let production = &cfg.productions[item.production() as usize];
        let (rule, held) = (production.left, item.held());
        let rest = &production.right[usize::from(item.dot())..];
        let is_unit = passes_units && held == 1 && rule != tables.whole;
        let ends = rest.iter().all(|&symbol| symbol.may_be_empty(nullable));
        if !is_unit || !ends {
            finishes.push(Finish {
                rule,
                held,
                production: item.production(),
                dot: item.dot(),
                cost: tables.cost_of(rest),
            });
        }
        for (at, symbol) in firsts(rest, nullable) {
            let dot = usize::from(item.dot()) + at + 1;
            steps.push(symbol, Item::new(item.production(), dot, held + 1));
        }
        if ends && rule == tables.whole {
            accepts = true;
        } else if ends && held > least_held {
            reduces.push(Reduce {
                rule,
                held,
                number: 0,
            });
        }
    }
    reduces.sort_unstable_by_key(|reduce| (reduce.rule, reduce.held));
    reduces.dedup();
    finishes.sort_unstable_by_key(|f| (f.rule, f.held, f.cost));
    finishes.dedup_by_key(|finish| (finish.rule, finish.held));
    LrState {
        reduces: reduces.into(),
        finishes: finishes.into(),
        accepts,
        ..LrState::default()
    }
}

/// The ways on from a state: items by the symbol that comes before them.
struct Moves {
    /// Symbols that may come, those first that were met first.
    symbols: Vec<Symbol>,
    /// By symbol: which of the groups is its own, where the second number is that of the state.
    groups_of: Vec<(u32, u32)>,
    epoch: u32,
    groups: Vec<Vec<Item>>,
    /// The number of items.
    len: usize,
}

impl Moves {
    fn new(cfg: &Cfg) -> Moves {
        let symbols = cfg.productions.iter().flat_map(|own| &own.right);
        let symbols = symbols.map(|symbol| symbol.index() + 1).max().unwrap_or(0);
        Moves {
            symbols: Vec::new(),
            groups_of: vec![(0, 0); symbols],
            epoch: 0,
            groups: Vec::new(),
            len: 0,
        }
    }

    fn clear(&mut self) {
        self.symbols.clear();
        self.epoch += 1;
        self.len = 0;
    }

    fn push(&mut self, symbol: Symbol, item: Item) {
        self.len += 1;
        let (group, epoch) = &mut self.groups_of[symbol.index()];
        if *epoch != self.epoch {
            (*group, *epoch) = (self.symbols.len() as u32, self.epoch);
            self.symbols.push(symbol);
            match self.groups.get_mut(*group as usize) {
                Some(group) => group.clear(),
                None => self.groups.push(Vec::new()),
            }
        }
        self.groups[*group as usize].push(item);
    }

    fn extend(&mut self, steps: &[(Symbol, Item)]) {
        for &(symbol, item) in steps {
            self.push(symbol, item);
        }
    }

    /// The items behind a symbol.
    fn behind(&self, symbol: Symbol) -> &[Item] {
        match self.groups_of[symbol.index()] {
            (group, epoch) if epoch == self.epoch => &self.groups[group as usize],
            _ => &[],
        }
    }
}

/// Passes by what is complete with one symbol held.
struct Units<'a> {
    cfg: &'a Cfg,
    nullable: &'a [bool],
    whole: u32,
    /// By nonterminal: when it was met last.
    seen: Vec<u32>,
    epoch: u32,
    open: Vec<Symbol>,
}

impl Units<'_> {
    /// Appends the items behind a symbol, those of all nonterminals that it may be alone
    /// included.
    fn behind(&mut self, symbol: Symbol, steps: &Moves, next: &mut Vec<Item>) {
        self.epoch += 1;
        self.open.push(symbol);
        while let Some(symbol) = self.open.pop() {
            for &item in steps.behind(symbol) {
                if item.held() != 1 {
                    next.push(item);
                    continue;
                }
                let production = &self.cfg.productions[item.production() as usize];
                let rest = &production.right[usize::from(item.dot())..];
                let is_unit = production.left != self.whole
                    && rest
                        .iter()
                        .all(|&symbol| symbol.may_be_empty(self.nullable));
                let seen = &mut self.seen[production.left as usize];
                if is_unit && std::mem::replace(seen, self.epoch) != self.epoch {
                    self.open.push(Symbol::rule(production.left));
                }
                if !is_unit || !rest.is_empty() {
                    next.push(item);
                }
            }
        }
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
