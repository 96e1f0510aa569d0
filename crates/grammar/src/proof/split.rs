//! A grammar whose nonterminals are told apart by what is around them: by the bracket that is open, and by the text
//! of nearly any characters that may come behind them.
//!
//! For example, in `text: "\"" (/[^"{]+/ | "{" sum "}")* "\""` with `sum: "{" sum "}" | ..` a `sum` in the braces of a
//! text is another one than in those of a `sum`.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use fsm_tables::component_of;
use indexmap::IndexSet;

use super::bits::Bits;
use super::brackets::{self, BracketKind, BracketPart, Parts};
use super::followers::{FirstAndLast, Nesting};
use crate::compile::cfg::{Cfg, Production, Symbol};
use crate::compile::lexer::Lexer;

/// The most symbols of such a grammar, because one with so many has more places than are told
/// apart.
const MAX_SYMBOLS: usize = 100_000;

/// A nonterminal at some places of a text.
#[derive(Clone, PartialEq, Eq, Hash)]
struct RuleInPlace {
    rule: u32,
    /// The number of the bracket that is open around it.
    level: u32,
    /// The wide terminals that may come behind it.
    wide: Bits,
    /// The bracket that it opens with its last terminal, or closes with its first one.
    edge: Nesting,
}

/// Brackets that are told from others.
#[derive(PartialEq, Eq, Hash)]
struct Level {
    /// The symbol with which they end.
    end: Symbol,
    /// The wide terminals that may come behind that.
    wide: Bits,
}

/// The productions of a grammar whose terminals are uses, and whose nonterminals are told apart by what is
/// around them.
pub(super) struct Split<'a> {
    cfg: &'a Cfg,
    edges: FirstAndLast,
    recursion: Recursion,
    /// The terminals with which text of nearly any characters begins.
    wide: &'a Bits,
    rules: IndexSet<RuleInPlace, FixedState>,
    productions: Vec<Production>,
    /// The terminals, told apart by what they do to brackets.
    terminals: IndexSet<(u32, Nesting), FixedState>,
    /// The first number stands for none, and for brackets behind which no wide terminal comes.
    known_levels: IndexSet<Level, FixedState>,
}

impl<'a> Split<'a> {
    /// `None` if there are no brackets of that kind, or too many productions.
    pub(super) fn new(
        cfg: &'a Cfg,
        lexer: &Lexer,
        wide: &'a Bits,
        kind: BracketKind,
        lost: &Bits,
    ) -> Option<Split<'a>> {
        let edges = FirstAndLast::new(cfg);
        let mut split = Split {
            cfg,
            recursion: Recursion::new(cfg, &edges.nullable),
            edges,
            wide,
            rules: IndexSet::default(),
            productions: Vec::new(),
            terminals: IndexSet::default(),
            known_levels: IndexSet::default(),
        };
        // Terminals that are brackets everywhere need no such text.
        let behind = (kind == BracketKind::Production).then(|| split.wide_behind_rules());
        let may_text_follow = |own: &Production| {
            let behind = behind.as_ref();
            behind.is_some_and(|behind| !behind[own.left as usize].is_empty())
        };
        let parts = brackets::parts(cfg, lexer, &split.edges, kind, lost, may_text_follow)?;
        split.find(&parts)?;
        Some(split)
    }

    /// By nonterminal: the wide terminals that may come behind it somewhere.
    fn wide_behind_rules(&self) -> Vec<Bits> {
        let mut behind = vec![Bits::new(self.cfg.terminals.len()); self.cfg.rules.len()];
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for Production { left, right } in &self.cfg.productions {
                let wide = self.wide_behind(right, &behind[*left as usize]);
                for (symbol, wide) in right.iter().zip(&wide) {
                    if let Err(rule) = symbol.split() {
                        changed |= behind[rule as usize].or(wide);
                    }
                }
            }
        }
        behind
    }

    /// Returns the grammar; its terminals as those of the other one and what they do to brackets; and its nonterminals as
    /// those of the other one.
    pub(super) fn into_parts(self) -> (Cfg, Vec<(u32, Nesting)>, Vec<u32>) {
        let rules: Vec<u32> = self.rules.iter().map(|own| own.rule).collect();
        let names = rules
            .iter()
            .map(|&rule| self.cfg.rules[rule as usize].clone());
        let split = Cfg::of_productions(names.collect(), self.productions);
        (split, self.terminals.into_iter().collect(), rules)
    }

    /// Finds all productions that are reached.
    fn find(&mut self, parts: &Parts) -> Option<()> {
        let by_left = self.cfg.by_left();
        self.rules.insert(RuleInPlace {
            rule: self.cfg.productions[self.cfg.start].left,
            level: 0,
            wide: Bits::new(self.cfg.terminals.len()),
            edge: Nesting::Keeps,
        });
        let mut at = 0;
        let mut symbols = 0;
        while let Some(rule) = self.rules.get_index(at) {
            let rule = rule.clone();
            let own = &by_left[rule.rule as usize];
            let rights = own.iter().map(|&own| &*self.cfg.productions[own].right);
            let rights: Vec<&'a [Symbol]> = rights.collect();
            let wide = self.wide_of(&rights, &rule.wide);
            for ((&number, right), wide) in own.iter().zip(rights).zip(&wide) {
                symbols += right.len();
                if symbols > MAX_SYMBOLS {
                    return None;
                }
                let right = self.split(number, at as u32, &parts[number], wide)?;
                self.productions.push(Production {
                    left: at as u32,
                    right,
                });
            }
            at += 1;
        }
        Some(())
    }

    /// Returns the uses and nonterminals of a production.
    fn split(
        &mut self,
        production: usize,
        number: u32,
        parts: &[BracketPart],
        wide: &[Bits],
    ) -> Option<Box<[Symbol]>> {
        let right: &'a [Symbol] = &self.cfg.productions[production].right;
        let left = self.rules[number as usize].clone();
        let mut open = vec![left.level];
        let mut is_leftmost = true;
        let mut split = Vec::with_capacity(right.len());
        for (place, (&symbol, part)) in right.iter().zip(parts).enumerate() {
            let around = open[open.len() - 1];
            let own = match *part {
                BracketPart::Plain | BracketPart::Stands => Nesting::Keeps,
                BracketPart::Opens(end) => {
                    open.push(self.level(production, end, &wide[end]));
                    Nesting::Opens(open[open.len() - 1])
                }
                BracketPart::Closes => {
                    open.pop();
                    Nesting::Closes(open[open.len() - 1])
                }
            };
            let is_edge = match left.edge {
                Nesting::Keeps => false,
                Nesting::Opens(_) => place + 1 == right.len(),
                Nesting::Closes(_) => place == 0,
            };
            let nesting = match (is_edge, own) {
                (false, own) => own,
                (true, Nesting::Keeps) => left.edge,
                // It would do two things at once.
                (true, _) => return None,
            };
            split.push(match symbol.split() {
                Ok(terminal) => {
                    is_leftmost = false;
                    let (number, _) = self.terminals.insert_full((terminal, nesting));
                    Symbol::terminal(number as u32)
                }
                Err(rule) => {
                    let is_again = is_leftmost && self.recursion.is_one(left.rule, rule);
                    let is_empty = self.edges.nullable[rule as usize];
                    if is_empty && nesting != Nesting::Keeps {
                        return None;
                    }
                    is_leftmost &= is_empty;
                    let inner = RuleInPlace {
                        rule,
                        level: match own {
                            Nesting::Closes(level) => level,
                            _ => around,
                        },
                        wide: match is_again {
                            true => left.wide.clone(),
                            false => self.with_own(rule, &wide[place]),
                        },
                        edge: nesting,
                    };
                    Symbol::rule(self.rules.insert_full(inner).0 as u32)
                }
            });
        }
        Some(split.into())
    }

    /// Returns the wide terminals that may come behind each symbol of the productions of a nonterminal. As long
    /// as they are the same, nothing tells them apart, because a parser is in one state behind them.
    fn wide_of(&self, rights: &[&[Symbol]], behind: &Bits) -> Vec<Vec<Bits>> {
        let of = |right: &&[Symbol]| self.wide_behind(right, behind);
        let mut all: Vec<Vec<Bits>> = rights.iter().map(of).collect();
        let mut shared: HashMap<&[Symbol], Bits, FixedState> = HashMap::default();
        for (right, wide) in rights.iter().zip(&all) {
            for (place, wide) in wide.iter().enumerate() {
                let known = shared.entry(&right[..=place]);
                known.or_insert_with(|| wide.clone()).or(wide);
            }
        }
        for (right, wide) in rights.iter().zip(&mut all) {
            for (place, wide) in wide.iter_mut().enumerate() {
                wide.clone_from(&shared[&right[..=place]]);
            }
        }
        all
    }

    /// Adds the wide terminals that may come behind a nonterminal where it stands at the beginning of
    /// itself, because nothing tells the last item of a list from the others.
    fn with_own(&self, rule: u32, wide: &Bits) -> Bits {
        let mut all = wide.clone();
        let group = self.recursion.group[rule as usize];
        for &symbol in &self.recursion.behind[group as usize] {
            self.add_first(symbol, &mut all);
        }
        all
    }

    /// Adds the wide terminals with which a symbol begins. Returns whether it may be empty.
    fn add_first(&self, symbol: Symbol, wide: &mut Bits) -> bool {
        match symbol.split() {
            Ok(terminal) => {
                if self.wide.has(terminal) {
                    wide.set(terminal);
                }
                false
            }
            Err(rule) => {
                let mut first = self.edges.first[rule as usize].clone();
                first.and(self.wide);
                wide.or(&first);
                self.edges.nullable[rule as usize]
            }
        }
    }

    /// Returns the wide terminals that may come behind each symbol of a production.
    fn wide_behind(&self, right: &[Symbol], behind: &Bits) -> Vec<Bits> {
        let mut places = vec![behind.clone(); right.len()];
        for place in (1..right.len()).rev() {
            let mut wide = Bits::new(self.cfg.terminals.len());
            let is_empty = self.add_first(right[place], &mut wide);
            if is_empty {
                wide.or(&places[place]);
            }
            places[place - 1] = wide;
        }
        places
    }

    /// Returns the number of brackets that end at a place of a production, and behind which wide terminals may come: for
    /// example, 0 for those of `(a + b) * c`, because an operator comes behind them.
    fn level(&mut self, production: usize, end: usize, wide: &Bits) -> u32 {
        if wide.is_empty() {
            return 0;
        }
        let level = Level {
            end: self.cfg.productions[production].right[end],
            wide: wide.clone(),
        };
        self.known_levels.insert_full(level).0 as u32 + 1
    }
}

/// The nonterminals that stand at the beginnings of each other's texts: for example, each list, because it
/// is `list: item | list item`.
struct Recursion {
    /// By nonterminal: the number of its group.
    group: Vec<u32>,
    /// By the first of a group: the symbols that may come behind one of it at the beginning of another.
    behind: Vec<Vec<Symbol>>,
}

impl Recursion {
    fn new(cfg: &Cfg, nullable: &[bool]) -> Recursion {
        let is_empty = |symbol: &Symbol| symbol.may_be_empty(nullable);
        // Each nonterminal at the beginning of another one, with what comes behind it.
        let mut leftmost: Vec<(u32, u32, &[Symbol])> = Vec::new();
        for Production { left, right } in &cfg.productions {
            for (place, symbol) in right.iter().enumerate() {
                if let Err(rule) = symbol.split() {
                    leftmost.push((*left, rule, &right[place + 1..]));
                }
                if !is_empty(symbol) {
                    break;
                }
            }
        }
        let mut graph = vec![Vec::new(); cfg.rules.len()];
        for &(left, rule, _) in &leftmost {
            graph[left as usize].push(rule);
        }
        let group = component_of(&graph);
        let mut behind = vec![Vec::new(); cfg.rules.len()];
        for (left, rule, rest) in leftmost {
            let own = group[rule as usize];
            if own == group[left as usize] {
                let count = rest.iter().take_while(|symbol| is_empty(symbol)).count() + 1;
                behind[own as usize].extend(rest.iter().take(count));
            }
        }
        Recursion { group, behind }
    }

    /// Tells whether two nonterminals are of one group.
    fn is_one(&self, one: u32, other: u32) -> bool {
        self.group[one as usize] == self.group[other as usize]
    }
}
