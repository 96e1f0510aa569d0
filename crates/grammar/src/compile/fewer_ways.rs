//! Rewritings of a grammar after which texts have fewer ways to be read. Each keeps the language of
//! every nonterminal that is left, because a mask needs no tree.
//!
//! A parser that keeps all stacks pays for each way. For example, `s: s s | "a"` reads `aaaa` in five
//! ways, and each further `a` makes about four times as many; as `s: p | s p`, `p: "a"` it reads
//! each in one.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use indexmap::IndexMap;

use super::cfg::{Cfg, Production, Symbol};

/// The most symbols that a comparison of rules looks at, because a grammar in which so much must be compared is read as it
/// is.
const MAX_COMPARED: usize = 10_000_000;

/// The alternatives of a nonterminal `A`, by where it is at their edges.
#[derive(Default)]
pub(super) struct Sides {
    /// `A: A x A`, without the edges.
    pub(super) infix: Vec<Box<[Symbol]>>,
    /// `A: x A`, without the edge.
    pub(super) prefix: Vec<Box<[Symbol]>>,
    /// `A: A x`, without the edge.
    pub(super) postfix: Vec<Box<[Symbol]>>,
    /// All others.
    pub(super) atoms: Vec<Box<[Symbol]>>,
}

impl Sides {
    pub(super) fn new(symbol: Symbol, rights: impl Iterator<Item = Box<[Symbol]>>) -> Sides {
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
    /// which all are one (Hopcroft's minimisation, with right sides for transitions): only those are looked at again in
    /// whose alternatives something has become another class.
    pub(super) fn merge_equal(&mut self) {
        let by_left = self.by_left();
        let users = self.users();
        // The start stays alone: the end of the text comes behind it, and nothing uses it.
        let start = self.productions[self.start].left;
        let (others, alone) = (0, 1);
        let mut class = vec![others; self.rules.len()];
        class[start as usize] = alone;
        let mut sizes = vec![class.len() - 1, 1];
        let mut written = Vec::new();
        // A nonterminal that needs no circle is told once, behind those that it needs.
        let mut told: HashMap<Box<[Symbol]>, u32, FixedState> = HashMap::default();
        for rule in self.innermost_first(&by_left) {
            let own = &by_left[rule as usize];
            let inner = own.iter().flat_map(|&own| &self.productions[own].right);
            let mut inner = inner.filter_map(|symbol| symbol.split().err());
            if rule == start || inner.any(|inner| class[inner as usize] <= alone) {
                continue;
            }
            self.write_class(own, others, &class, &mut written);
            let number = *told.entry(written[..].into()).or_insert_with(|| {
                sizes.push(0);
                sizes.len() as u32 - 1
            });
            class[rule as usize] = number;
            sizes[number as usize] += 1;
            sizes[others as usize] -= 1;
        }
        let all = 0..class.len() as u32;
        let mut open: Vec<u32> = all.filter(|&rule| class[rule as usize] == others).collect();
        let mut work = 0usize;
        while !open.is_empty() {
            let mut alike: IndexMap<Box<[Symbol]>, Vec<u32>, FixedState> = IndexMap::default();
            // By class: how many of it are looked at, and the number of the most of them that are alike.
            let mut looked: HashMap<u32, (usize, usize), FixedState> = HashMap::default();
            for &rule in &open {
                let own = class[rule as usize];
                self.write_class(&by_left[rule as usize], own, &class, &mut written);
                work = work.saturating_add(written.len());
                let group = match alike.get_index_of(&written[..]) {
                    Some(group) => group,
                    None => alike.insert_full(written[..].into(), Vec::new()).0,
                };
                alike[group].push(rule);
                let (count, most) = looked.entry(own).or_insert((0, group));
                *count += 1;
                if alike[group].len() > alike[*most].len() {
                    *most = group;
                }
            }
            if work > MAX_COMPARED {
                return;
            }
            // A class keeps its number for those that were not looked at, or else for the most that are alike.
            looked.retain(|own, (count, _)| *count == sizes[*own as usize]);
            open.clear();
            for (group, rules) in alike.values().enumerate() {
                let own = class[rules[0] as usize];
                if looked.get(&own).is_some_and(|(_, most)| *most == group) {
                    continue;
                }
                sizes[own as usize] -= rules.len();
                for &rule in rules {
                    class[rule as usize] = sizes.len() as u32;
                    open.extend(&users[rule as usize]);
                }
                sizes.push(rules.len());
            }
            // One that is alone stays so.
            open.retain(|&rule| sizes[class[rule as usize] as usize] > 1);
            open.sort_unstable();
            open.dedup();
        }
        let count = sizes.iter().filter(|size| **size > 0).count();
        if count == self.rules.len() {
            return;
        }
        // The first of each class stands for it.
        let mut first = vec![u32::MAX; sizes.len()];
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

    /// By nonterminal: those in whose alternatives it stands.
    fn users(&self) -> Vec<Vec<u32>> {
        let mut users = vec![Vec::new(); self.rules.len()];
        for Production { left, right } in &self.productions {
            for rule in right.iter().filter_map(|symbol| symbol.split().err()) {
                users[rule as usize].push(*left);
            }
        }
        users
    }

    /// Writes down what makes a nonterminal like others: its class, and its right sides in order, once each, by the
    /// classes of their symbols.
    fn write_class(&self, own: &[usize], before: u32, class: &[u32], out: &mut Vec<Symbol>) {
        let right = |production: usize| {
            let right = self.productions[production].right.iter();
            right.map(|&symbol| in_class(symbol, class))
        };
        let mut order = own.to_vec();
        order.sort_unstable_by(|&a, &b| right(a).cmp(right(b)));
        order.dedup_by(|a, b| right(*a).eq(right(*b)));
        out.clear();
        out.push(Symbol::rule(before));
        for production in order {
            // Its length tells where it ends.
            out.push(Symbol::rule(self.productions[production].right.len() as u32));
            out.extend(right(production));
        }
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
    /// `A: | A x` is `A`. So is `B B` with `B: A`.
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
        // By nonterminal: the one that it stands for, which is its own unless it is that alone.
        let mut stands: Vec<u32> = (0..self.rules.len() as u32).collect();
        for rule in self.innermost_first(&by_left) {
            let own = &by_left[rule as usize];
            for &production in own {
                let right = &mut self.productions[production].right;
                let mut symbols = std::mem::take(right).into_vec();
                symbols.dedup_by(|a, b| match (a.split(), b.split()) {
                    (Err(a), Err(b)) => {
                        let [a, b] = [a, b].map(|rule| stands[rule as usize]);
                        a == b && is_star[a as usize]
                    }
                    _ => false,
                });
                *right = symbols.into();
            }
            if let [only] = own[..]
                && let [symbol] = *self.productions[only].right
                && let Err(inner) = symbol.split()
            {
                stands[rule as usize] = stands[inner as usize];
            }
        }
    }

    /// Makes a count of a nonterminal beside itself that may be empty: `A A` with `A: | x` is up to
    /// two `x`, which `x` is in one way and not in two. So is `B B` with `B: A A` up to four.
    pub(super) fn count_maybes(&mut self) {
        let by_left = self.by_left();
        let mut counts = Counts {
            nullable: self.nullable(),
            counted: vec![None; self.rules.len()],
            known: HashMap::new(),
        };
        for rule in self.innermost_first(&by_left) {
            let own = &by_left[rule as usize];
            for &production in own {
                let right = std::mem::take(&mut self.productions[production].right);
                let runs = right.chunk_by(|a, b| a == b);
                let mut symbols = Vec::with_capacity(right.len());
                for run in runs {
                    let count = counts.count(run, self, &by_left);
                    match count {
                        Some((items, count)) if count > 1 => {
                            let most = counts.most(items, count, self);
                            symbols.push(counts.maybe(most, self));
                            if own.len() == 1 && run.len() == right.len() {
                                counts.counted[rule as usize] = Some((items, count));
                            }
                        }
                        _ => symbols.extend(run),
                    }
                }
                self.productions[production].right = symbols.into();
            }
        }
    }
}

/// Numbers of times, made while productions are rewritten.
struct Counts {
    nullable: Vec<bool>,
    /// By nonterminal that is up to so many items: a nonterminal of these, and the number.
    counted: Vec<Option<(u32, u64)>>,
    /// By kind, items and number: the nonterminal.
    known: HashMap<Number, u32>,
}

/// A number of times of some items.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Number {
    times: Times,
    items: u32,
    count: u64,
}

impl Number {
    fn new(times: Times, items: u32, count: u64) -> Number {
        Number {
            times,
            items,
            count,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Times {
    Exactly,
    /// One to so many.
    UpTo,
    /// One, or nothing.
    Maybe,
    /// The alternatives of a nonterminal, but for the empty one.
    Items,
}

impl Counts {
    /// Returns the items of a run of one symbol that may be empty, and up to how many they are.
    fn count(
        &mut self,
        run: &[Symbol],
        cfg: &mut Cfg,
        by_left: &[Vec<usize>],
    ) -> Option<(u32, u64)> {
        let mut rule = run[0].split().err()?;
        if run.len() < 2 || !*self.nullable.get(rule as usize)? {
            return None;
        }
        let times = run.len() as u64;
        if let Some((items, count)) = self.counted[rule as usize] {
            return Some((items, count.checked_mul(times)?));
        }
        // A nonterminal stands for what it is alone, and no circle of those is that long.
        for _ in 0..by_left.len() {
            let [only] = by_left.get(rule as usize)?[..] else {
                break;
            };
            match *cfg.productions[only].right {
                [inner] => rule = inner.split().err()?,
                _ => break,
            }
        }
        let own = by_left.get(rule as usize)?;
        let rights = own
            .iter()
            .map(|&production| &*cfg.productions[production].right);
        let is_empty = |symbol: &Symbol| {
            let rule = symbol.split().err();
            rule.is_some_and(|rule| self.nullable.get(rule as usize).copied().unwrap_or(true))
        };
        let (empty, items): (Vec<&[Symbol]>, Vec<&[Symbol]>) =
            rights.partition(|right| right.iter().all(is_empty));
        if empty != [&[] as &[Symbol]] {
            return None;
        }
        let items: Vec<Vec<Symbol>> = items.into_iter().map(<[Symbol]>::to_vec).collect();
        Some((
            self.add(Number::new(Times::Items, rule, 1), rule, items, cfg),
            times,
        ))
    }

    fn add(&mut self, key: Number, name_of: u32, rights: Vec<Vec<Symbol>>, cfg: &mut Cfg) -> u32 {
        *self.known.entry(key).or_insert_with(|| {
            let left = cfg.rules.len() as u32;
            cfg.rules.push(cfg.rules[name_of as usize].clone());
            let rights = rights.into_iter().map(Vec::into_boxed_slice);
            let new = rights.map(|right| Production { left, right });
            cfg.productions.extend(new);
            left
        })
    }

    /// Returns so many items, a power of two.
    fn exactly(&mut self, items: u32, count: u64, cfg: &mut Cfg) -> Symbol {
        if count == 1 {
            return Symbol::rule(items);
        }
        if let Some(&known) = self.known.get(&Number::new(Times::Exactly, items, count)) {
            return Symbol::rule(known);
        }
        let half = self.exactly(items, count / 2, cfg);
        let rights = vec![vec![half, half]];
        Symbol::rule(self.add(
            Number::new(Times::Exactly, items, count),
            items,
            rights,
            cfg,
        ))
    }

    /// Returns one item or up to so many: half of a power of two, or a power of two and some more.
    fn most(&mut self, items: u32, count: u64, cfg: &mut Cfg) -> u32 {
        if count == 1 {
            return items;
        }
        if let Some(&known) = self.known.get(&Number::new(Times::UpTo, items, count)) {
            return known;
        }
        let power = 1 << (count - 1).ilog2();
        let fewer = Symbol::rule(self.most(items, power, cfg));
        let exactly = self.exactly(items, power, cfg);
        let more = Symbol::rule(self.most(items, count - power, cfg));
        let rights = vec![vec![fewer], vec![exactly, more]];
        self.add(Number::new(Times::UpTo, items, count), items, rights, cfg)
    }

    fn maybe(&mut self, rule: u32, cfg: &mut Cfg) -> Symbol {
        let rights = vec![Vec::new(), vec![Symbol::rule(rule)]];
        Symbol::rule(self.add(Number::new(Times::Maybe, rule, 1), rule, rights, cfg))
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
