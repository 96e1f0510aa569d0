//! The terminals that may come behind another, as the sets FIRST and FOLLOW of Aho, Sethi and Ullman's
//! "Compilers", section 4.4, say it of nonterminals.
//!
//! For example, in `sum: NUMBER ("+" NUMBER)*` a number is followed by `+`.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use fsm_index::ByteSet;
use indexmap::IndexSet;

use super::bits::Bits;
use crate::compile::cfg::{Cfg, Matter, Symbol, Terminal};
use crate::compile::lexer::Lexer;
use crate::compile::lr::{LrState, Tables};

/// The most nonterminals that stand for each other alone, because people write few such.
const MAX_UNITS: usize = 64;

/// The most pairs of states of two parsers, because each has some ways on.
const MAX_PAIRS: usize = 100_000;

/// The terminals that may come somewhere, ignored text aside: by use, where the [uses](super::uses) of a
/// terminal are told apart. Otherwise each terminal is its own only use.
pub(super) struct Followers {
    /// The uses with which the text may begin.
    pub(super) first: Bits,
    /// By use: those that may come next.
    pub(super) follow: Vec<Bits>,
    /// By terminal: its uses.
    pub(super) uses: Vec<Vec<u32>>,
    /// By use: its terminal.
    pub(super) terminals: Vec<u32>,
    /// By use.
    pub(super) nesting: Vec<Nesting>,
    /// Brackets that are not told from others, each with one of these.
    pub(super) united: HashMap<u32, u32, FixedState>,
    /// The parser that tells uses apart, if they are.
    pub(super) parser: Option<UseParser>,
}

/// The uses of terminals by the places where a parser takes them: by terminal, and the [state behind it](landings).
pub(crate) type ByShift = HashMap<(u32, u32), Vec<u32>, FixedState>;

/// A parser that tells uses of terminals apart.
pub(super) struct UseParser {
    /// Its tables; `None` for those of the grammar.
    pub(super) tables: Option<Tables>,
    /// By its terminal: that of the grammar, and what it does to brackets.
    pub(super) symbols: Vec<(u32, Nesting)>,
    /// By its nonterminal: that of the grammar.
    pub(super) rules: Vec<u32>,
    /// By its terminal, and the [state behind it](landings): the use.
    pub(super) used: HashMap<(u32, u32), u32, FixedState>,
}

/// The brackets that are open behind a use of a terminal, by the number of the innermost one, where those
/// are told apart: for example, the `)` of `"a $(f(x)) b"` that is first closes the bracket of `f`, and then that
/// of the text is the innermost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Nesting {
    /// The same as before.
    Keeps,
    /// One more, which it opens.
    Opens(u32),
    /// One fewer: then this one is the innermost.
    Closes(u32),
}

impl Followers {
    /// Tells whether the same uses come behind each other as in other ones.
    pub(super) fn is_like(&self, other: &Followers) -> bool {
        self.terminals == other.terminals
            && self.nesting == other.nesting
            && self.first == other.first
            && self.follow == other.follow
    }

    /// Returns what a use does to brackets.
    pub(super) fn nesting_of(&self, used: u32) -> Nesting {
        match self.nesting[used as usize] {
            Nesting::Keeps => Nesting::Keeps,
            Nesting::Opens(level) => Nesting::Opens(self.one_of(level)),
            Nesting::Closes(level) => Nesting::Closes(self.one_of(level)),
        }
    }

    /// Returns the bracket that stands for all that one is not told from.
    fn one_of(&self, mut level: u32) -> u32 {
        while let Some(&other) = self.united.get(&level) {
            level = other;
        }
        level
    }

    /// No longer tells brackets from each other, pair by pair.
    pub(super) fn unite(&mut self, pairs: &[(u32, u32)]) {
        for &(one, other) in pairs {
            let [one, other] = [one, other].map(|level| self.one_of(level));
            if one != other {
                self.united.insert(one.max(other), one.min(other));
            }
        }
    }

    /// Tells whether several uses of a terminal are told apart.
    pub(super) fn is_split(&self, terminal: u32) -> bool {
        self.uses[terminal as usize].len() > 1
    }

    /// Returns the uses of a terminal that may come in a context; all of them without one.
    pub(super) fn uses_in<'a>(
        &'a self,
        terminal: u32,
        context: Option<&'a Bits>,
    ) -> impl Iterator<Item = u32> + 'a {
        let own = self.uses[terminal as usize].iter().copied();
        let is_split = self.is_split(terminal);
        own.filter(move |&used| !is_split || context.is_none_or(|context| context.has(used)))
    }

    /// Returns the uses that may come behind a terminal, in those of its uses that may come in a
    /// context; in all of them without one. If it closes a bracket, `open` is the number of the one that is the
    /// innermost then.
    pub(super) fn behind(&self, terminal: u32, context: Option<&Bits>, open: Option<u32>) -> Bits {
        let mut behind = Bits::new(self.terminals.len());
        for used in self.uses_in(terminal, context) {
            let is_other = match (self.nesting_of(used), open) {
                (Nesting::Closes(own), Some(open)) => own != open,
                _ => false,
            };
            if !is_other {
                behind.or(&self.follow[used as usize]);
            }
        }
        behind
    }

    /// Returns the uses of terminals by the places where the grammar's parser takes them. Each symbol of another parser
    /// stands for one of the grammar's, so that stacks of both go together. `None` if that is too much.
    pub(super) fn by_shift(&self, own: &Tables) -> Option<ByShift> {
        let mut all = ByShift::default();
        let Some(parser) = &self.parser else {
            for landing in own.states.iter().flat_map(|state| landings(state, own)) {
                all.insert(landing, vec![landing.0]);
            }
            return Some(all);
        };
        let tables = parser.tables.as_ref().unwrap_or(own);
        let mut pairs: IndexSet<(u32, u32), FixedState> = IndexSet::from_iter([(0, 0)]);
        let mut at = 0;
        while let Some(&(state, like)) = pairs.get_index(at) {
            at += 1;
            let (state, like) = (&tables.states[state as usize], &own.states[like as usize]);
            let own_landings = landings(like, own);
            for (&(symbol, to), landing) in state.shifts.iter().zip(landings(state, tables)) {
                let terminal = parser.symbols[symbol as usize].0;
                let at = like.shifts.binary_search_by_key(&terminal, |shift| shift.0);
                let at = at.ok()?;
                let uses = all.entry(own_landings[at]).or_default();
                let used = parser.used[&landing];
                if !uses.contains(&used) {
                    uses.push(used);
                }
                pairs.insert((to, like.shifts[at].1));
            }
            for &(rule, to) in &state.gotos {
                pairs.insert((to, like.goto(parser.rules[rule as usize])?));
            }
            if pairs.len() > MAX_PAIRS {
                return None;
            }
        }
        Some(all)
    }

    /// Makes one use of those of a terminal behind which the same may come, because each group of uses is a
    /// context.
    pub(super) fn merge(&mut self) {
        loop {
            let mut known: HashMap<(u32, Nesting, &Bits), u32, FixedState> = HashMap::default();
            let mut number: Vec<u32> = vec![0; self.terminals.len()];
            let mut kept: Vec<usize> = Vec::new();
            let mut uses = vec![Vec::new(); self.uses.len()];
            for (used, &terminal) in self.terminals.iter().enumerate() {
                let own = (terminal, self.nesting[used], &self.follow[used]);
                number[used] = *known.entry(own).or_insert_with(|| {
                    uses[terminal as usize].push(kept.len() as u32);
                    kept.push(used);
                    kept.len() as u32 - 1
                });
            }
            if kept.len() == self.terminals.len() {
                return;
            }
            let renamed = |all: &Bits| {
                let mut new = Bits::new(kept.len());
                all.iter().for_each(|used| new.set(number[used as usize]));
                new
            };
            let follow = kept.iter().map(|&used| renamed(&self.follow[used]));
            let mut parser = self.parser.take();
            let used = parser
                .iter_mut()
                .flat_map(|parser| parser.used.values_mut());
            used.for_each(|used| *used = number[*used as usize]);
            *self = Followers {
                parser,
                first: renamed(&self.first),
                follow: follow.collect(),
                uses,
                terminals: kept.iter().map(|&used| self.terminals[used]).collect(),
                nesting: kept.iter().map(|&used| self.nesting[used]).collect(),
                united: std::mem::take(&mut self.united),
            };
        }
    }

    /// Returns the terminals of some uses.
    pub(super) fn terminals_of(&self, used: &Bits) -> Bits {
        let mut terminals = Bits::new(self.uses.len());
        let all = used.iter().map(|used| self.terminals[used as usize]);
        all.for_each(|terminal| terminals.set(terminal));
        terminals
    }
}

/// The terminals that may come in a state of the parser, with the state behind each.
pub(super) type Shifts = Vec<(u32, u32)>;

/// Returns the terminals that may come in a state, with the state behind each: where a nonterminal stands for the
/// terminal alone, the one behind that, because all places of the terminal have one state before it.
pub(super) fn landings(from: &LrState, tables: &Tables) -> Shifts {
    let landing = |mut to: u32| {
        for _ in 0..MAX_UNITS {
            let behind = &tables.states[to as usize];
            let is_over = behind.shifts.is_empty() && behind.gotos.is_empty() && !behind.accepts;
            match &*behind.reduces {
                [reduce] if is_over && reduce.held == 1 => match from.goto(reduce.rule) {
                    Some(next) => to = next,
                    None => return to,
                },
                _ => return to,
            }
        }
        to
    };
    let shifts = from.shifts.iter();
    shifts.map(|&(symbol, to)| (symbol, landing(to))).collect()
}

/// Finds which terminals may come behind which.
pub(super) fn followers(cfg: &Cfg) -> Followers {
    let count = cfg.terminals.len();
    let FirstAndLast {
        nullable,
        mut first,
        last,
    } = FirstAndLast::new(cfg);
    let is_empty = |symbol: &Symbol| symbol.may_be_empty(&nullable);
    let mut pairs: Vec<(Symbol, Symbol)> = Vec::new();
    for production in &cfg.productions {
        for (at, before) in production.right.iter().enumerate() {
            for behind in &production.right[at + 1..] {
                pairs.push((*before, *behind));
                if !is_empty(behind) {
                    break;
                }
            }
        }
    }
    pairs.sort_unstable();
    pairs.dedup();
    let mut follow = vec![Bits::new(count); count];
    for group in pairs.chunk_by(|a, b| a.0 == b.0) {
        let mut firsts = Bits::new(count);
        for (_, behind) in group {
            match behind.split() {
                Ok(terminal) => firsts.set(terminal),
                Err(rule) => {
                    firsts.or(&first[rule as usize]);
                }
            }
        }
        match group[0].0.split() {
            Ok(terminal) => {
                follow[terminal as usize].or(&firsts);
            }
            Err(rule) => {
                for terminal in last[rule as usize].iter() {
                    follow[terminal as usize].or(&firsts);
                }
            }
        }
    }
    let whole = cfg.productions[cfg.start].left;
    Followers {
        first: first.swap_remove(whole as usize),
        follow,
        uses: (0..count as u32).map(|terminal| vec![terminal]).collect(),
        terminals: (0..count as u32).collect(),
        nesting: vec![Nesting::Keeps; count],
        united: HashMap::default(),
        parser: None,
    }
}

/// By terminal: the bytes that may come behind it, whatever the stacks are.
pub(crate) fn bytes_behind(cfg: &Cfg, lexer: &Lexer) -> Box<[ByteSet]> {
    let begin = |(terminal, &start): (&Terminal, &u32)| match terminal.matter {
        // Nothing of these is read by the lexer's states.
        Matter::Json(_) => ByteSet::ALL,
        Matter::Special(_) => ByteSet::NONE,
        Matter::Table(_) => {
            let classes = lexer.ways(start).flat_map(|way| way.0);
            classes.fold(ByteSet::NONE, |all, class| all.or(lexer.sets[class]))
        }
    };
    let begins = cfg.terminals.iter().zip(&lexer.starts).map(begin);
    let begins: Vec<ByteSet> = begins.collect();
    let ignored = cfg.ignored.iter().flatten();
    let between = ignored.fold(ByteSet::NONE, |all, &one| all.or(begins[one as usize]));
    let follow = followers(cfg).follow;
    let behind = |(terminal, follow): (u32, &Bits)| match cfg.is_ignored(terminal) {
        true => ByteSet::ALL,
        false => follow
            .iter()
            .fold(between, |all, one| all.or(begins[one as usize])),
    };
    (0..).zip(&follow).map(behind).collect()
}

/// By nonterminal: with which terminals its texts may begin, and with which they may end.
pub(super) struct FirstAndLast {
    pub(super) nullable: Vec<bool>,
    pub(super) first: Vec<Bits>,
    pub(super) last: Vec<Bits>,
}

impl FirstAndLast {
    pub(super) fn new(cfg: &Cfg) -> FirstAndLast {
        let count = cfg.terminals.len();
        let nullable = cfg.nullable();
        let is_empty = |symbol: &Symbol| symbol.may_be_empty(&nullable);
        let mut first = vec![Bits::new(count); cfg.rules.len()];
        let mut last = first.clone();
        let edge = |sets: &mut Vec<Bits>, left: u32, symbol: &Symbol| match symbol.split() {
            Ok(terminal) => {
                let changed = !sets[left as usize].has(terminal);
                sets[left as usize].set(terminal);
                changed
            }
            Err(rule) => {
                let other = std::mem::take(&mut sets[rule as usize]);
                let changed = sets[left as usize].or(&other);
                sets[rule as usize] = other;
                changed
            }
        };
        // Inner nonterminals come first, so that most are complete at once.
        let by_left = cfg.by_left();
        let order = cfg.innermost_first(&by_left);
        let mut changed = true;
        while std::mem::take(&mut changed) {
            let ordered = order.iter().flat_map(|&rule| &by_left[rule as usize]);
            for production in ordered.map(|&production| &cfg.productions[production]) {
                for symbol in &production.right {
                    changed |= edge(&mut first, production.left, symbol);
                    if !is_empty(symbol) {
                        break;
                    }
                }
                for symbol in production.right.iter().rev() {
                    changed |= edge(&mut last, production.left, symbol);
                    if !is_empty(symbol) {
                        break;
                    }
                }
            }
        }
        FirstAndLast {
            nullable,
            first,
            last,
        }
    }
}
