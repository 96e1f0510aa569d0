//! Greedy lexing can forbid what must come: a lexeme that has to take the next byte takes
//! it from the one that should begin there. Whether a configuration can be finished all the
//! same is found here, at compile time for most grammars, by a search for the others.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};

use foldhash::fast::FixedState;

use crate::cfg::{Cfg, Matter, Symbol};
use crate::finish::Said;
use crate::lexer::Lexer;
use crate::machine::Inner;
use crate::run::Caches;

/// Configurations that one search looks at: where none of so many leads to the end, what
/// was asked for is refused.
const MAX_SEARCH: usize = 300;

/// Sets of states that the proof at compile time looks at.
const MAX_SETS: usize = 4_000;

/// Can be finished.
const LIVE: u8 = 1;
/// No way to the end was found.
const STUCK: u8 = 2;

impl Caches {
    pub(crate) fn is_live(&mut self, config: u32, inner: &Inner) -> bool {
        match self.configs[config as usize].live {
            LIVE => true,
            STUCK => false,
            _ => self.greedy_way(config, inner).is_some(),
        }
    }

    /// A shortest way to the end that greedy lexing leaves open.
    pub(crate) fn greedy_way(&mut self, config: u32, inner: &Inner) -> Option<Vec<Said>> {
        let mut open = BinaryHeap::new();
        let mut before: HashMap<u32, (u32, Option<Said>), FixedState> = HashMap::default();
        let mut ways: HashMap<u32, Vec<Said>, FixedState> = HashMap::default();
        let first = self.way(config, inner)?;
        open.push((Reverse(length(&first)), 0usize, config));
        before.insert(config, (config, None));
        ways.insert(config, first);
        let mut looked_at = 0;
        while let Some((_, gone, at)) = open.pop() {
            let Some(way) = ways.remove(&at) else {
                continue;
            };
            if self.follow(at, &way, inner) {
                let mut pieces = Vec::new();
                let mut on = at;
                while let Some((from, Some(said))) = before.get(&on) {
                    self.configs[on as usize].live = LIVE;
                    pieces.push(said.clone());
                    on = *from;
                }
                self.configs[config as usize].live = LIVE;
                pieces.reverse();
                pieces.extend(way);
                return Some(joined(pieces));
            }
            looked_at += 1;
            if looked_at > MAX_SEARCH || self.configs[at as usize].live == STUCK {
                continue;
            }
            let bytes = inner
                .lexer
                .bytes
                .iter()
                .map(|&byte| Said::Bytes(vec![byte]));
            let specials = (0..inner.cfg.specials.len() as u32).map(Said::Special);
            for said in bytes.chain(specials) {
                let next = match &said {
                    Said::Bytes(bytes) => self.raw_step(at, bytes[0], inner),
                    Said::Special(special) => self.step_special(at, *special, inner),
                };
                if next == 0 || before.contains_key(&next) {
                    continue;
                }
                let Some(way) = self.way(next, inner) else {
                    continue;
                };
                before.insert(next, (at, Some(said)));
                open.push((Reverse(gone + 1 + length(&way)), gone + 1, next));
                ways.insert(next, way);
            }
        }
        self.configs[config as usize].live = STUCK;
        None
    }

    /// Whether a way is open and leads to the end; what lies on it is live then.
    pub(crate) fn follow(&mut self, config: u32, way: &[Said], inner: &Inner) -> bool {
        let mut on = vec![config];
        let mut at = config;
        for said in way {
            match said {
                Said::Bytes(bytes) => {
                    for &byte in bytes {
                        at = self.raw_step(at, byte, inner);
                        if at == 0 {
                            return false;
                        }
                        on.push(at);
                    }
                }
                Said::Special(special) => {
                    at = self.step_special(at, *special, inner);
                    if at == 0 {
                        return false;
                    }
                    on.push(at);
                }
            }
        }
        let ends = self.is_accepting(at, inner);
        if ends {
            on.iter()
                .for_each(|&config| self.configs[config as usize].live = LIVE);
        }
        ends
    }
}

fn length(way: &[Said]) -> usize {
    let lengths = way.iter().map(|said| match said {
        Said::Bytes(bytes) => bytes.len(),
        Said::Special(_) => 1,
    });
    lengths.sum()
}

fn joined(pieces: Vec<Said>) -> Vec<Said> {
    let mut out: Vec<Said> = Vec::new();
    for piece in pieces {
        match (out.last_mut(), piece) {
            (Some(Said::Bytes(before)), Said::Bytes(bytes)) => before.extend(bytes),
            (_, piece) => out.push(piece),
        }
    }
    out
}

/// Two lexemes of which the second perhaps cannot come behind the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Conflict {
    pub(crate) first: u32,
    pub(crate) second: u32,
}

/// A set of terminals.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Bits(Vec<u64>);

impl Bits {
    fn new(len: usize) -> Bits {
        Bits(vec![0; len.div_ceil(64)])
    }

    fn has(&self, at: u32) -> bool {
        self.0[at as usize / 64] >> (at % 64) & 1 == 1
    }

    fn set(&mut self, at: u32) {
        self.0[at as usize / 64] |= 1 << (at % 64);
    }

    /// Whether that changed anything.
    fn or(&mut self, other: &Bits) -> bool {
        let mut changed = false;
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            changed |= *other & !*own != 0;
            *own |= other;
        }
        changed
    }
}

/// By terminal: which may come next, ignored text aside.
fn followers(cfg: &Cfg) -> Vec<Bits> {
    let count = cfg.terminals.len();
    let nullable = cfg.nullable();
    let mut first = vec![Bits::new(count); cfg.rules.len()];
    let mut last = first.clone();
    let is_empty = |symbol: &Symbol| {
        symbol
            .split()
            .err()
            .is_some_and(|rule| nullable[rule as usize])
    };
    let edge = |sets: &mut Vec<Bits>, left: u32, symbol: &Symbol| match symbol.split() {
        Ok(terminal) => {
            let changed = !sets[left as usize].has(terminal);
            sets[left as usize].set(terminal);
            changed
        }
        Err(rule) => {
            let other = sets[rule as usize].clone();
            sets[left as usize].or(&other)
        }
    };
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for production in &cfg.productions {
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
    let mut follow = vec![Bits::new(count); count];
    let mut pairs: BTreeSet<(Symbol, Symbol)> = BTreeSet::new();
    for production in &cfg.productions {
        for (at, before) in production.right.iter().enumerate() {
            for behind in &production.right[at + 1..] {
                pairs.insert((*before, *behind));
                if !is_empty(behind) {
                    break;
                }
            }
        }
    }
    for (before, behind) in pairs {
        let of = |sets: &[Bits], symbol: Symbol| match symbol.split() {
            Ok(terminal) => {
                let mut one = Bits::new(count);
                one.set(terminal);
                one
            }
            Err(rule) => sets[rule as usize].clone(),
        };
        let (lasts, firsts) = (of(&last, before), of(&first, behind));
        for terminal in (0..count as u32).filter(|&t| lasts.has(t)) {
            follow[terminal as usize].or(&firsts);
        }
    }
    follow
}

/// Proves that every configuration can be finished, or gives two lexemes for which it
/// cannot prove it; nothing about which lexemes where the whole was too much.
///
/// All terminals are read side by side, so what is found holds wherever fewer may come. Each
/// lexeme must be able to follow each that may come before it: with a byte that nothing
/// which was begun takes, or with ignored text between them.
pub(crate) fn conflict(cfg: &Cfg, lexer: &Lexer) -> Option<Option<Conflict>> {
    let tables = |t: &crate::cfg::Terminal| matches!(t.matter, Matter::Table(_)) && !t.is_lazy;
    if !cfg
        .terminals
        .iter()
        .all(|t| tables(t) || matches!(t.matter, Matter::Special(_)))
    {
        return Some(None);
    }
    let width = lexer.width();
    let all: Vec<u32> = lexer
        .starts
        .iter()
        .copied()
        .filter(|&start| start != 0)
        .collect();
    let mut ids: HashMap<Vec<u32>, usize> = HashMap::from([(all.clone(), 0)]);
    let mut sets = vec![all];
    let mut next: Vec<Vec<usize>> = Vec::new();
    while next.len() < sets.len() {
        let set = sets[next.len()].clone();
        let mut row = vec![usize::MAX; width];
        for (class, entry) in row.iter_mut().enumerate() {
            let steps = set.iter().map(|&state| lexer.step(state, class as u8));
            let mut to: Vec<u32> = steps.filter(|&state| state != 0).collect();
            if to.is_empty() {
                continue;
            }
            to.sort_unstable();
            to.dedup();
            let number = sets.len();
            *entry = *ids.entry(to).or_insert_with_key(|to| {
                sets.push(to.clone());
                number
            });
        }
        next.push(row);
        if sets.len() > MAX_SETS {
            return Some(None);
        }
    }
    let takes = |state: u32, class: usize| lexer.step(state, class as u8) != 0;
    let follow = followers(cfg);
    let ignored = |terminal: u32| cfg.ignored[cfg.terminals[terminal as usize].domain as usize];
    // Whether a lexeme may begin where a set stands.
    let begins = |terminal: u32, set: usize| {
        let start = lexer.starts[terminal as usize];
        start == 0 || (0..width).any(|class| takes(start, class) && next[set][class] == usize::MAX)
    };
    let ends = |set: usize, terminal: u32| {
        sets[set]
            .iter()
            .any(|&s| lexer.accepting[s as usize] && lexer.terminal[s as usize] == terminal)
    };
    // By a lexeme: the classes with which ignored text begins that it may follow.
    let mut bridges: HashMap<u32, Vec<usize>> = HashMap::new();
    for (number, set) in sets.iter().enumerate().skip(1) {
        for &state in set.iter().filter(|&&state| lexer.accepting[state as usize]) {
            let first = lexer.terminal[state as usize];
            let is_ignored = cfg.ignored.contains(&Some(first));
            let seconds: Vec<u32> = match is_ignored {
                true => (0..cfg.terminals.len() as u32)
                    .filter(|&t| ignored(t) == Some(first) && t != first)
                    .collect(),
                false => (0..cfg.terminals.len() as u32)
                    .filter(|&t| follow[first as usize].has(t))
                    .collect(),
            };
            for second in seconds {
                if begins(second, number) {
                    continue;
                }
                let Some(between) = ignored(second) else {
                    return Some(Some(Conflict { first, second }));
                };
                let classes = bridges.entry(second).or_insert_with(|| {
                    let start = lexer.starts[between as usize];
                    let classes = (0..width).filter(|&class| takes(start, class));
                    let leads = |class: &usize| {
                        let mut open = vec![next[0][*class]];
                        let mut seen: BTreeSet<usize> = open.iter().copied().collect();
                        while let Some(at) = open.pop() {
                            if ends(at, between) && begins(second, at) {
                                return true;
                            }
                            let on = next[at].iter().filter(|&&to| to != usize::MAX);
                            open.extend(on.filter(|&&to| seen.insert(to)));
                        }
                        false
                    };
                    classes.filter(leads).collect()
                });
                if !classes
                    .iter()
                    .any(|&class| next[number][class] == usize::MAX)
                {
                    return Some(Some(Conflict { first, second }));
                }
            }
        }
    }
    None
}
