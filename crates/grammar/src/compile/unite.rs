//! A rewriting of grammars that cost too much as they are written: fewer nonterminals need each
//! other at the edges of their alternatives, where one text has many ways to be read. It keeps the
//! language, and loses names of rules, so that only those grammars pay for it which need it.
//!
//! For example, `a: b "x" | "a"`, `b: b a | "y"` becomes `a: c "x" | "a"`, `c: "y" | "y" d`,
//! `d: a | d a`.

use std::collections::HashSet;

use super::cfg::{Cfg, Production, Symbol};
use super::fewer_ways::Sides;

/// The most symbols of a grammar that is rewritten, because each nonterminal is looked at in each
/// round.
const MAX_WRITTEN: usize = 1_000;

/// The most symbols of what comes out, because replacing nonterminals by their alternatives
/// multiplies these.
const MAX_SYMBOLS: usize = 3_000;

/// The most nonterminals that are replaced, because a circle of a hundred is no grammar that
/// people write.
const MAX_ROUNDS: usize = 100;

/// The most symbols of one alternative that may be empty, because it is written out with and
/// without each.
const MAX_EMPTY: usize = 6;

/// Alternatives by nonterminal.
struct Rules {
    all: Vec<Vec<Box<[Symbol]>>>,
    /// By nonterminal: whether it is a list of items, `L: x | L x`.
    is_list: Vec<bool>,
    /// By nonterminal: the one whose name it has.
    names: Vec<u32>,
}

impl Cfg {
    /// Returns the productions as [`Cfg::unite`] takes them, or none if there are too many.
    pub(super) fn to_unite(&self) -> Vec<Production> {
        let symbols: usize = self.productions.iter().map(|p| 1 + p.right.len()).sum();
        match symbols <= MAX_WRITTEN {
            true => self.productions.clone(),
            false => Vec::new(),
        }
    }

    /// Rewrites the grammar as it was written, once. Returns `false` if that cannot be done.
    pub(crate) fn unite(&mut self) -> bool {
        if self.written.is_empty() {
            return false;
        }
        let start = self.productions[self.start].left;
        self.productions = std::mem::take(&mut self.written);
        let nullable = self.nullable();
        let mut rules = Rules {
            all: vec![Vec::new(); self.rules.len()],
            is_list: vec![false; self.rules.len()],
            names: (0..self.rules.len() as u32).collect(),
        };
        for production in &self.productions {
            let own = &mut rules.all[production.left as usize];
            if !without_empty(&production.right, &nullable, own) {
                return false;
            }
        }
        // The start has one alternative, which is a nonterminal alone.
        let whole = rules.add(Vec::new(), start);
        let mut ways = std::mem::take(&mut rules.all[start as usize]);
        if nullable[start as usize] {
            ways.push(Box::default());
        }
        rules.all[whole as usize] = ways;
        rules.all[start as usize] = vec![[Symbol::rule(whole)].into()];
        rules.merge_units(start);
        for _ in 0..MAX_ROUNDS {
            let Some(rule) = rules.next_to_replace(start) else {
                break;
            };
            rules.end_recursion(rule);
            rules.replace_at_edges(rule);
        }
        let names = rules
            .names
            .iter()
            .map(|&of| self.rules[of as usize].clone());
        self.rules = names.collect();
        let all = (0u32..).zip(rules.all);
        let all = all.flat_map(|(left, own)| own.into_iter().map(move |right| (left, right)));
        self.productions = all
            .map(|(left, right)| Production { left, right })
            .collect();
        self.find_start(start);
        self.tidy_again().is_ok()
    }
}

/// Appends an alternative with and without each symbol that may be empty, but not the empty one.
/// Returns `false` if those are too many.
fn without_empty(right: &[Symbol], nullable: &[bool], out: &mut Vec<Box<[Symbol]>>) -> bool {
    let is_empty = |symbol: &Symbol| symbol.may_be_empty(nullable);
    let count = right.iter().filter(|symbol| is_empty(symbol)).count();
    if count > MAX_EMPTY {
        return false;
    }
    for kept in 0..1u32 << count {
        let mut bit = 0;
        let symbols = right.iter().copied().filter(|symbol| {
            !is_empty(symbol) || {
                bit += 1;
                kept >> (bit - 1) & 1 == 1
            }
        });
        let symbols: Box<[Symbol]> = symbols.collect();
        if !symbols.is_empty() && !out.contains(&symbols) {
            out.push(symbols);
        }
    }
    true
}

impl Rules {
    fn add(&mut self, alternatives: Vec<Box<[Symbol]>>, name_of: u32) -> u32 {
        self.all.push(alternatives);
        self.is_list.push(false);
        self.names.push(self.names[name_of as usize]);
        self.all.len() as u32 - 1
    }

    /// Adds the list of some items, `L: x | L x`; nothing if there are none.
    fn add_list(&mut self, items: &[Box<[Symbol]>], name_of: u32) -> Option<Symbol> {
        if items.is_empty() {
            return None;
        }
        let list = self.add(items.to_vec(), name_of);
        let symbol = Symbol::rule(list);
        let longer = items
            .iter()
            .map(|item| [&[symbol], &**item].concat().into());
        self.all[list as usize].extend(longer);
        self.is_list[list as usize] = true;
        Some(symbol)
    }

    /// The symbols of all alternatives.
    fn size(&self) -> usize {
        self.all.iter().flatten().map(|right| 1 + right.len()).sum()
    }

    /// The groups of nonterminals that lead to each other by some symbols of their alternatives: by
    /// nonterminal, the number of its group.
    fn groups(&self, leads: impl Fn(&[Symbol], &mut Vec<u32>)) -> Vec<u32> {
        let mut to: Vec<Vec<u32>> = Vec::with_capacity(self.all.len());
        for own in &self.all {
            let mut next = Vec::new();
            own.iter().for_each(|right| leads(right, &mut next));
            next.sort_unstable();
            next.dedup();
            to.push(next);
        }
        fsm_tables::component_of(&to)
    }

    /// Makes one of nonterminals that are alternatives of each other: their languages are equal.
    fn merge_units(&mut self, start: u32) {
        let group = self.groups(|right, next| {
            if let [only] = right {
                next.extend(only.split().err());
            }
        });
        // The start stays alone: nothing leads to it.
        debug_assert_eq!(group[start as usize], start);
        let stands = |symbol: &Symbol| match symbol.split() {
            Ok(_) => *symbol,
            Err(rule) => Symbol::rule(group[rule as usize]),
        };
        let all = std::mem::take(&mut self.all);
        self.all = vec![Vec::new(); all.len()];
        for (rule, own) in all.into_iter().enumerate() {
            let left = group[rule];
            for right in own {
                let right: Box<[Symbol]> = right.iter().map(stands).collect();
                let into = &mut self.all[left as usize];
                if *right != [Symbol::rule(left)] && !into.contains(&right) {
                    into.push(right);
                }
            }
        }
    }

    /// Returns the nonterminal to replace next: of those that need each other at edges the one that
    /// adds the fewest symbols. None if that would be too many.
    fn next_to_replace(&self, start: u32) -> Option<u32> {
        let group = self.groups(|right, next| {
            let edges = [right.first(), right.last()].into_iter().flatten();
            next.extend(edges.filter_map(|symbol| symbol.split().err()));
        });
        let mut members = vec![0; self.all.len()];
        group.iter().for_each(|&of| members[of as usize] += 1);
        let size = self.size();
        let mut best = None;
        for (rule, own) in (0u32..).zip(&self.all) {
            let is_alone = members[group[rule as usize] as usize] == 1;
            if is_alone || self.is_list[rule as usize] || rule == start {
                continue;
            }
            // Recursion at its own edges writes each alternative out four times at most.
            let symbol = Symbol::rule(rule);
            let recurs = own.iter().any(|right| at_edges(right, symbol) > 0);
            let ways = own.len() * if recurs { 4 } else { 1 };
            let length: usize = own.iter().map(|right| 2 + right.len()).sum();
            let others = self.all.iter().enumerate();
            let others = others.filter(|(other, _)| *other != rule as usize);
            let uses = others.flat_map(|(_, own)| own);
            let uses = uses.map(|right| match at_edges(right, symbol) {
                0 => 0,
                times => ways.pow(times as u32).saturating_mul(right.len() + length),
            });
            let cost = uses.fold(0, usize::saturating_add);
            if size.saturating_add(cost) <= MAX_SYMBOLS
                && best.is_none_or(|(least, _)| cost < least)
            {
                best = Some((cost, rule));
            }
        }
        best.map(|(_, rule)| rule)
    }

    /// Rewrites recursion at the edges of a nonterminal's own alternatives with lists.
    fn end_recursion(&mut self, rule: u32) {
        let symbol = Symbol::rule(rule);
        let own = std::mem::take(&mut self.all[rule as usize]);
        let sides = Sides::new(symbol, own.into_iter());
        let before = self.add_list(&sides.prefix, rule);
        let behind = self.add_list(&sides.postfix, rule);
        let mut operands: Vec<Box<[Symbol]>> = Vec::new();
        for atom in &sides.atoms {
            for before in [None, before] {
                for behind in [None, behind] {
                    let way = [before.as_slice(), atom, behind.as_slice()].concat();
                    if !operands.iter().any(|other| **other == way) {
                        operands.push(way.into());
                    }
                }
            }
        }
        if sides.infix.is_empty() {
            self.all[rule as usize] = operands;
            return;
        }
        let operand = Symbol::rule(self.add(operands.clone(), rule));
        let items = sides
            .infix
            .iter()
            .map(|middle| [middle, &[operand][..]].concat().into());
        let items: Vec<Box<[Symbol]>> = items.collect();
        let more = self.add_list(&items, rule);
        let longer = operands
            .iter()
            .map(|way| [&**way, more.as_slice()].concat().into());
        let longer: Vec<Box<[Symbol]>> = longer.collect();
        self.all[rule as usize] = operands;
        self.all[rule as usize].extend(longer);
    }

    /// Replaces a nonterminal by its alternatives at the edges of those of all others.
    fn replace_at_edges(&mut self, rule: u32) {
        let symbol = Symbol::rule(rule);
        let ways = self.all[rule as usize].clone();
        for (other, own) in self.all.iter_mut().enumerate() {
            if other == rule as usize || !own.iter().any(|right| at_edges(right, symbol) > 0) {
                continue;
            }
            let mut seen: HashSet<Box<[Symbol]>> = HashSet::new();
            let mut all = Vec::new();
            for right in std::mem::take(own) {
                let firsts = replaced(&right, symbol, &ways, Edge::First);
                let both = firsts
                    .iter()
                    .flat_map(|right| replaced(right, symbol, &ways, Edge::Last));
                all.extend(both.filter(|right| seen.insert(right.clone())));
            }
            // An alternative that is the nonterminal alone says nothing.
            all.retain(|right| **right != [Symbol::rule(other as u32)]);
            *own = all;
        }
    }
}

/// An end of an alternative.
#[derive(Clone, Copy)]
enum Edge {
    First,
    Last,
}

/// Returns an alternative with each of some ways in place of a symbol at an edge.
fn replaced(
    right: &[Symbol],
    symbol: Symbol,
    ways: &[Box<[Symbol]>],
    edge: Edge,
) -> Vec<Box<[Symbol]>> {
    let around: (&[Symbol], &[Symbol]) = match (edge, right) {
        (Edge::First, [first, rest @ ..]) if *first == symbol => (&[], rest),
        (Edge::Last, [rest @ .., last]) if *last == symbol => (rest, &[]),
        _ => return vec![right.into()],
    };
    let ways = ways.iter().map(|way| [around.0, &**way, around.1].concat());
    ways.map(Vec::into_boxed_slice).collect()
}

/// The number of edges of an alternative at which a symbol is.
fn at_edges(right: &[Symbol], symbol: Symbol) -> usize {
    match right {
        [only] => usize::from(*only == symbol),
        [first, .., last] => usize::from(*first == symbol) + usize::from(*last == symbol),
        [] => 0,
    }
}
