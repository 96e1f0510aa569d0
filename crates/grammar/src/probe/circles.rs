//! Nonterminals that need each other, and texts that lead to them and go on inside of them.
//!
//! For example, in `start: "x" e`, `e: e t | "(" e ")" | t`, `t: "a"` the circle of `e` is reached
//! behind `x`, and `((aa)a)` is a text of it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::compile::cfg::{Cfg, Symbol};
use crate::compile::lr::Tables;

/// One in so many alternatives may leave a circle, because a text that only goes on has few ends of
/// what was begun.
const LEAVES: usize = 4;

/// Stands for a nonterminal that is in no circle, because no number of one is so large.
const NONE: u32 = u32::MAX;

/// The nonterminals of a grammar that need each other, other than in left recursion alone: that
/// grows no stack.
pub(super) struct Circles<'a> {
    cfg: &'a Cfg,
    tables: &'a Tables,
    by_left: Vec<Vec<usize>>,
    /// By nonterminal: the number of its circle, or [`NONE`].
    circle: Vec<u32>,
    /// By nonterminal: the production and the place in it by which it is reached first.
    from: Vec<Option<(usize, usize)>>,
    /// One nonterminal of each circle, the nearest ones first.
    pub(super) first: Vec<u32>,
}

impl<'a> Circles<'a> {
    pub(super) fn new(cfg: &'a Cfg, tables: &'a Tables) -> Circles<'a> {
        let mut circles = Circles {
            cfg,
            tables,
            by_left: cfg.by_left(),
            circle: vec![NONE; cfg.rules.len()],
            from: vec![None; cfg.rules.len()],
            first: Vec::new(),
        };
        circles.find();
        circles.reach();
        circles
    }

    fn is_inside(&self, symbol: Symbol, circle: u32) -> bool {
        let of = |rule: u32| self.circle[rule as usize];
        circle != NONE && symbol.split().err().map(of) == Some(circle)
    }

    /// Tells whether a nonterminal of a circle needs that elsewhere than at the left edge of its own.
    fn grows(&self, rule: u32) -> bool {
        let circle = self.circle[rule as usize];
        self.by_left[rule as usize].iter().any(|&production| {
            let right = &self.cfg.productions[production].right;
            let mut inside = (0..right.len()).filter(|&at| self.is_inside(right[at], circle));
            inside.any(|at| at > 0 || right[0] != Symbol::rule(rule))
        })
    }

    /// Finds the strongly connected components (Tarjan 1972), and keeps those that grow.
    fn find(&mut self) {
        let count = self.cfg.rules.len();
        let (mut index, mut low) = (vec![0u32; count], vec![0u32; count]);
        let (mut next, mut stack) = (1, Vec::new());
        // Nonterminals that are being looked at, each with its symbols that are left.
        let mut path: Vec<(u32, Vec<u32>)> = Vec::new();
        let below = |rule: u32| -> Vec<u32> {
            let own = self.by_left[rule as usize].iter();
            let symbols = own.flat_map(|&production| &self.cfg.productions[production].right);
            symbols.filter_map(|symbol| symbol.split().err()).collect()
        };
        let mut open = vec![self.tables.whole];
        let mut groups: Vec<Vec<u32>> = Vec::new();
        while let Some(rule) = open.pop() {
            index[rule as usize] = next;
            low[rule as usize] = next;
            next += 1;
            stack.push(rule);
            path.push((rule, below(rule)));
            while let Some((rule, left)) = path.last_mut() {
                let rule = *rule as usize;
                match left.pop() {
                    Some(other) if index[other as usize] == 0 => {
                        open.push(other);
                        break;
                    }
                    // The ones of finished components have no number that is less.
                    Some(other) => low[rule] = low[rule].min(low[other as usize]),
                    None => {
                        path.pop();
                        if let Some((before, _)) = path.last() {
                            let before = *before as usize;
                            low[before] = low[before].min(low[rule]);
                        }
                        if low[rule] == index[rule] {
                            let from = stack.iter().rposition(|&other| other == rule as u32);
                            let group = stack.split_off(from.unwrap_or(0));
                            group.iter().for_each(|&of| low[of as usize] = u32::MAX);
                            groups.push(group);
                        }
                    }
                }
            }
        }
        for (number, group) in (0..).zip(&groups) {
            group
                .iter()
                .for_each(|&of| self.circle[of as usize] = number);
            if !group.iter().any(|&of| self.grows(of)) {
                group.iter().for_each(|&of| self.circle[of as usize] = NONE);
            }
        }
    }

    /// Finds the shortest ways from the start to each nonterminal (Dijkstra 1959).
    fn reach(&mut self) {
        let mut cost = vec![u32::MAX; self.cfg.rules.len()];
        let mut is_met = vec![false; self.cfg.rules.len()];
        let mut open = BinaryHeap::from([Reverse((0u32, self.tables.whole))]);
        cost[self.tables.whole as usize] = 0;
        while let Some(Reverse((own, rule))) = open.pop() {
            if cost[rule as usize] < own {
                continue;
            }
            let circle = self.circle[rule as usize];
            if circle != NONE && !std::mem::replace(&mut is_met[circle as usize], true) {
                self.first.push(rule);
            }
            for &production in &self.by_left[rule as usize] {
                let mut before = own;
                for (at, symbol) in self.cfg.productions[production].right.iter().enumerate() {
                    if let Err(inner) = symbol.split()
                        && before < cost[inner as usize]
                    {
                        cost[inner as usize] = before;
                        self.from[inner as usize] = Some((production, at));
                        open.push(Reverse((before, inner)));
                    }
                    before = before.saturating_add(self.tables.cost(*symbol));
                }
            }
        }
    }

    /// Returns the symbols that come before a nonterminal where it is reached first.
    pub(super) fn before(&self, mut rule: u32) -> Vec<Symbol> {
        let mut pieces: Vec<&[Symbol]> = Vec::new();
        while let Some((production, at)) = self.from[rule as usize] {
            let production = &self.cfg.productions[production];
            pieces.push(&production.right[..at]);
            rule = production.left;
        }
        pieces.reverse();
        pieces.concat()
    }

    /// Returns what a nonterminal becomes when `times` nonterminals of its circle are replaced by
    /// alternatives of theirs, those that stay in the circle before others. `random` gives numbers.
    pub(super) fn grown(
        &self,
        rule: u32,
        times: usize,
        mut random: impl FnMut() -> usize,
    ) -> Vec<Symbol> {
        let circle = self.circle[rule as usize];
        let is_inside = |symbol: Symbol| self.is_inside(symbol, circle);
        let stays = |production: &usize| {
            let right = self.cfg.productions[*production].right.iter();
            right.copied().any(is_inside)
        };
        let mut symbols = vec![Symbol::rule(rule)];
        // The places of those that are inside.
        let mut inside: Vec<usize> = (0..1).filter(|&at| is_inside(symbols[at])).collect();
        for _ in 0..times {
            if inside.is_empty() {
                break;
            }
            let place = random() % inside.len();
            let at = inside[place];
            let Err(rule) = symbols[at].split() else {
                break;
            };
            let own = self.by_left[rule as usize].iter().copied();
            let staying: Vec<usize> = own.clone().filter(stays).collect();
            // The last one must not leave.
            let leaves = inside.len() > 1 && random().is_multiple_of(LEAVES);
            let from = match staying.is_empty() || leaves {
                true => own.collect(),
                false => staying,
            };
            let chosen = from[random() % from.len()];
            let right = &self.cfg.productions[chosen].right;
            for behind in &mut inside[place + 1..] {
                *behind = *behind + right.len() - 1;
            }
            let new = (at..).zip(right).filter(|new| is_inside(*new.1));
            inside.splice(place..=place, new.map(|new| new.0));
            symbols.splice(at..=at, right.iter().copied());
        }
        symbols
    }
}
