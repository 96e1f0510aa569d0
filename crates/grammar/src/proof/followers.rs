//! The terminals that may come behind another, as the sets FIRST and FOLLOW of Aho, Sethi and Ullman's
//! "Compilers", section 4.4, say it of nonterminals.
//!
//! For example, in `sum: NUMBER ("+" NUMBER)*` a number is followed by `+`.

use super::bits::Bits;
use crate::compile::cfg::{Cfg, Symbol};

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
}

impl Followers {
    /// Tells whether several uses of a terminal are told apart.
    pub(super) fn is_split(&self, terminal: u32) -> bool {
        self.uses[terminal as usize].len() > 1
    }

    /// Returns the uses that may come behind a terminal, in those of its uses that may come in a
    /// context; in all of them without one.
    pub(super) fn behind(&self, terminal: u32, context: Option<&Bits>) -> Bits {
        let own = self.uses[terminal as usize].iter();
        let is_split = self.is_split(terminal);
        let own = own.filter(|&&used| !is_split || context.is_none_or(|context| context.has(used)));
        let mut behind = Bits::new(self.terminals.len());
        own.for_each(|&used| {
            behind.or(&self.follow[used as usize]);
        });
        behind
    }

    /// Returns the terminals of some uses.
    pub(super) fn terminals_of(&self, used: &Bits) -> Bits {
        let mut terminals = Bits::new(self.uses.len());
        let all = used.iter().map(|used| self.terminals[used as usize]);
        all.for_each(|terminal| terminals.set(terminal));
        terminals
    }
}

/// Finds which terminals may come behind which.
pub(super) fn followers(cfg: &Cfg) -> Followers {
    let count = cfg.terminals.len();
    let nullable = cfg.nullable();
    let is_empty = |symbol: &Symbol| {
        let rule = symbol.split().err();
        rule.is_some_and(|rule| nullable[rule as usize])
    };
    let (mut first, last) = edges(cfg, is_empty);
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
    }
}

/// By nonterminal: with which terminals its texts may begin, and with which they may end.
fn edges(cfg: &Cfg, is_empty: impl Fn(&Symbol) -> bool) -> (Vec<Bits>, Vec<Bits>) {
    let mut first = vec![Bits::new(cfg.terminals.len()); cfg.rules.len()];
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
    (first, last)
}
