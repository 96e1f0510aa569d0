//! Rewritings of a grammar after which texts have fewer ways to be read. Each keeps the language of
//! every nonterminal that is left, because a mask needs no tree.
//!
//! A parser that keeps all stacks pays for each way. For example, `s: s s | "a"` reads `aaaa` in five
//! ways, and each further `a` makes about four times as many; as `s: p | s p`, `p: "a"` it reads
//! each in one.

use std::collections::HashMap;

use super::cfg::{Cfg, Production, Symbol};

/// The most rounds of a comparison of rules times the symbols of a grammar, because chains of rules
/// need a round for each link, and a grammar in which so much must be compared is read as it is.
const MAX_COMPARED: usize = 10_000_000;

/// The alternatives of a nonterminal `A`, by where it is at their edges.
#[derive(Default)]
struct Sides {
    /// `A: A x A`, without the edges.
    infix: Vec<Box<[Symbol]>>,
    /// `A: x A`, without the edge.
    prefix: Vec<Box<[Symbol]>>,
    /// `A: A x`, without the edge.
    postfix: Vec<Box<[Symbol]>>,
    /// All others.
    atoms: Vec<Box<[Symbol]>>,
}

impl Sides {
    fn new(symbol: Symbol, rights: impl Iterator<Item = Box<[Symbol]>>) -> Sides {
        let mut sides = Sides::default();
        for right in rights {
            match &*right {
                // A production that is its own right side adds nothing.
                [only] if *only == symbol => {}
                [first, middle @ .., last] if *first == symbol && *last == symbol => {
                    sides.infix.push(middle.into());
                }
                [first, rest @ ..] if *first == symbol => sides.postfix.push(rest.into()),
                [rest @ .., last] if *last == symbol => sides.prefix.push(rest.into()),
                _ => sides.atoms.push(right),
            }
        }
        if sides.infix.iter().any(|middle| middle.is_empty()) {
            // `A: A A` says all that `A: A A A` does.
            let is_more = |middle: &[Symbol]| middle.iter().any(|own| *own != symbol);
            sides
                .infix
                .retain(|middle| middle.is_empty() || is_more(middle));
        }
        sides
    }

    /// Tells whether left recursion is all there is.
    fn is_plain(&self) -> bool {
        self.infix.is_empty() && self.prefix.is_empty()
    }
}

impl Cfg {
    /// Makes one nonterminal of those whose alternatives are the same, by refining the partition in
    /// which all are one (Hopcroft's and Moore's minimisation, with right sides for transitions).
    pub(super) fn merge_equal(&mut self) {
        let symbols: usize = self.productions.iter().map(|p| p.right.len() + 1).sum();
        let by_left = self.by_left();
        // The start stays alone: the end of the text comes behind it, and nothing uses it.
        let start = self.productions[self.start].left;
        let mut class = vec![0u32; self.rules.len()];
        class[start as usize] = 1;
        let mut count = 2;
        let mut work = 0usize;
        loop {
            work = work.saturating_add(symbols);
            if work > MAX_COMPARED {
                return;
            }
            let mut numbers: HashMap<(u32, Vec<Vec<Symbol>>), u32> = HashMap::new();
            let next = by_left.iter().zip(&class).map(|(own, &before)| {
                let rights = own.iter().map(|&p| self.productions[p].right.iter());
                let renamed = rights.map(|right| right.map(|&s| in_class(s, &class)).collect());
                let mut rights: Vec<Vec<Symbol>> = renamed.collect();
                rights.sort_unstable();
                rights.dedup();
                let new = numbers.len() as u32;
                *numbers.entry((before, rights)).or_insert(new)
            });
            class = next.collect();
            if numbers.len() == count {
                break;
            }
            count = numbers.len();
        }
        if count == self.rules.len() {
            return;
        }
        // The first of each class stands for it.
        let mut first = vec![u32::MAX; count];
        for (rule, &class) in class.iter().enumerate() {
            let first = &mut first[class as usize];
            *first = (*first).min(rule as u32);
        }
        let stands: Vec<u32> = class.iter().map(|&class| first[class as usize]).collect();
        self.productions
            .retain(|p| stands[p.left as usize] == p.left);
        for production in &mut self.productions {
            for symbol in &mut production.right {
                *symbol = in_class(*symbol, &stands);
            }
        }
        self.find_start(start);
    }

    /// Rewrites recursion at the edges of alternatives: `A: A x A | y A | A z | b` is
    /// `A: P | A x P`, `P: R b | P z`, `R: | R y`. Texts of either are operands with `x` between
    /// them, where an operand is a `b` with any `y` before it and any `z` behind it.
    pub(super) fn turn_recursion(&mut self) {
        let by_left = self.by_left();
        let start = self.productions[self.start].left;
        let mut productions = Vec::with_capacity(self.productions.len());
        for (left, own) in by_left.iter().enumerate() {
            let symbol = Symbol::rule(left as u32);
            let rights = own.iter().map(|&p| self.productions[p].right.clone());
            let sides = Sides::new(symbol, rights);
            let mut add = |left: Symbol, right: Vec<Symbol>| {
                if let Err(left) = left.split() {
                    let right = right.into();
                    productions.push(Production { left, right });
                }
            };
            if sides.is_plain() {
                sides
                    .atoms
                    .iter()
                    .for_each(|atom| add(symbol, atom.to_vec()));
                let postfix = sides.postfix.iter();
                postfix.for_each(|rest| add(symbol, joined(&[symbol], rest)));
                continue;
            }
            let mut new = || {
                self.rules.push(self.rules[left].clone());
                Symbol::rule(self.rules.len() as u32 - 1)
            };
            let before = (!sides.prefix.is_empty()).then(&mut new);
            let operand = match sides.infix.is_empty() {
                true => symbol,
                false => new(),
            };
            if let Some(before) = before {
                add(before, Vec::new());
                let prefix = sides.prefix.iter();
                prefix.for_each(|rest| add(before, joined(&[before], rest)));
            }
            for atom in &sides.atoms {
                add(operand, joined(before.as_slice(), atom));
            }
            let postfix = sides.postfix.iter();
            postfix.for_each(|rest| add(operand, joined(&[operand], rest)));
            if operand != symbol {
                add(symbol, vec![operand]);
            }
            for middle in &sides.infix {
                let mut right = joined(&[symbol], middle);
                right.push(operand);
                add(symbol, right);
            }
        }
        self.productions = productions;
        self.find_start(start);
    }

    /// Leaves out a nonterminal behind itself where it is any number of something: `A A` with
    /// `A: | A x` is `A`.
    pub(super) fn join_stars(&mut self) {
        let by_left = self.by_left();
        let is_star: Vec<bool> = (0u32..)
            .zip(&by_left)
            .map(|(left, own)| {
                let rights = || own.iter().map(|&p| &*self.productions[p].right);
                let goes_on = |right: &[Symbol]| right.first() == Some(&Symbol::rule(left));
                rights().any(<[Symbol]>::is_empty)
                    && rights().all(|right| right.is_empty() || goes_on(right))
            })
            .collect();
        for production in &mut self.productions {
            let mut right = std::mem::take(&mut production.right).into_vec();
            right.dedup_by(|a, b| a == b && a.split().is_err_and(|rule| is_star[rule as usize]));
            production.right = right.into();
        }
    }
}

/// The symbol of the class of a nonterminal, or the terminal.
fn in_class(symbol: Symbol, class: &[u32]) -> Symbol {
    match symbol.split() {
        Ok(_) => symbol,
        Err(rule) => Symbol::rule(class[rule as usize]),
    }
}

fn joined(first: &[Symbol], rest: &[Symbol]) -> Vec<Symbol> {
    [first, rest].concat()
}
