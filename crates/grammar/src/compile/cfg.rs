//! A grammar in normal form: productions over terminals that take no empty text.
//!
//! For example, `root ::= "(" root ")" | "x"` has a production of three symbols, and one of one.

use std::collections::HashSet;

use foldhash::fast::FixedState;
use fsm_index::PlainText;
use fsm_tables::Sources;
use schema_regex::automaton::SchemaAutomaton;

use crate::compile::captured::Captured;
use crate::dialects::ast::Sampling;
use crate::error::{Error, ErrorKind};
use crate::terminals::table::{Table, TableLimits};

/// A symbol: terminals are even, nonterminals odd.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Symbol(u32);

impl Symbol {
    pub(crate) fn terminal(number: u32) -> Symbol {
        Symbol(number * 2)
    }

    pub(crate) fn rule(number: u32) -> Symbol {
        Symbol(number * 2 + 1)
    }

    /// Its place among all symbols.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }

    /// Tells whether it may be empty; `nullable` says it by nonterminal.
    pub(crate) fn may_be_empty(self, nullable: &[bool]) -> bool {
        self.split().is_err_and(|rule| nullable[rule as usize])
    }

    /// The number of a terminal, or of a nonterminal.
    pub(crate) fn split(self) -> Result<u32, u32> {
        match self.0 % 2 {
            0 => Ok(self.0 / 2),
            _ => Err(self.0 / 2),
        }
    }
}

/// The texts that a terminal takes.
#[derive(Debug)]
pub(crate) enum Matter {
    /// Not the empty text.
    Table(Table),
    Json(SchemaAutomaton),
    /// The special token of this number.
    Special(u32),
}

#[derive(Debug)]
pub(crate) struct Terminal {
    pub(crate) matter: Matter,
    /// True if it ends at its first possible end, whatever else may go on.
    pub(crate) is_lazy: bool,
    /// The way in which it is sampled, if its rule says so.
    pub(crate) sampling: Sampling,
    /// Terminals of one domain have the same ignored text between them.
    pub(crate) domain: u32,
    /// For errors: its name or text, and where it is.
    pub(crate) name: String,
    pub(crate) at: usize,
}

/// A nonterminal, and the symbols that it stands for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Production {
    pub(crate) left: u32,
    pub(crate) right: Box<[Symbol]>,
}

/// A nonterminal, for errors.
#[derive(Clone, Debug)]
pub(crate) struct Nonterminal {
    pub(crate) name: String,
    pub(crate) at: usize,
}

/// The extent of ignored text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ignores {
    /// As far as lexemes do.
    #[default]
    AsLexemes,
    /// As far as it can, though other lexemes are split everywhere.
    Longest,
}

/// A context-free grammar.
#[derive(Debug, Default)]
pub(crate) struct Cfg {
    pub(crate) terminals: Vec<Terminal>,
    pub(crate) rules: Vec<Nonterminal>,
    pub(crate) productions: Vec<Production>,
    /// The productions before recursion was rewritten, for [`Cfg::unite`].
    pub(super) written: Vec<Production>,
    /// The first production, which has the start alone on its right side.
    pub(crate) start: usize,
    pub(crate) specials: Vec<Box<str>>,
    /// The ignored terminals of each domain.
    pub(crate) ignored: Vec<Vec<u32>>,
    /// By domain: whether one ignored lexeme may come between two others, and not several.
    pub(crate) ignores_once: Vec<bool>,
    /// The extent of ignored text.
    pub(crate) ignores: Ignores,
    pub(crate) initial_skip: bool,
    /// True if ignored text may come where no lexeme can follow.
    pub(crate) trailing_skip: bool,
    /// True if the longest match counts.
    pub(crate) is_greedy: bool,
    /// The rules whose texts are captured, if the grammar is kept as it was written.
    pub(crate) captured: Vec<Captured>,
}

/// The longest right side: longer ones are cut, so that places in them stay small.
pub(crate) const MAX_RIGHT: usize = 200;

impl Cfg {
    /// Returns a grammar of productions alone, of which the first is the start's.
    pub(crate) fn of_productions(rules: Vec<Nonterminal>, productions: Vec<Production>) -> Cfg {
        Cfg {
            rules,
            productions,
            is_greedy: true,
            ..Cfg::default()
        }
    }

    /// Says whether a terminal is ignored text.
    #[inline]
    pub(crate) fn is_ignored(&self, terminal: u32) -> bool {
        self.ignored.iter().any(|all| all.contains(&terminal))
    }

    /// Tells whether an ignored terminal comes once between two lexemes.
    pub(crate) fn comes_once(&self, ignored: u32) -> bool {
        self.ignores_once[self.terminals[ignored as usize].domain as usize]
    }

    /// Tells whether some terminal is of JSON.
    pub(crate) fn has_json(&self) -> bool {
        let is_json = |terminal: &Terminal| matches!(terminal.matter, Matter::Json(_));
        self.terminals.iter().any(is_json)
    }

    /// Tells whether each lexeme that has begun can be finished without some characters.
    pub(crate) fn can_do_without(&self, chars: &[(u32, u32)]) -> bool {
        self.terminals
            .iter()
            .all(|terminal| match &terminal.matter {
                Matter::Table(table) => table.can_do_without(chars),
                Matter::Json(automaton) => automaton.can_do_without(chars),
                Matter::Special(_) => true,
            })
    }

    /// Leaves out what derives no text, is not reached or says the same twice, and rewrites
    /// recursion to left recursion, which needs no stack and has one way to read each text.
    ///
    /// # Errors
    ///
    /// The start derives no text.
    pub(crate) fn tidy(&mut self) -> Result<(), Error> {
        self.drop_unproductive()?;
        self.merge_equal();
        self.written = self.to_unite();
        self.turn_recursion();
        self.join_stars();
        self.count_maybes();
        self.drop_unreached();
        self.cut_long();
        Ok(())
    }

    /// The same for a grammar that was rewritten otherwise.
    pub(super) fn tidy_again(&mut self) -> Result<(), Error> {
        self.tidy()?;
        self.written = Vec::new();
        Ok(())
    }

    /// Finds the production of the start again, which has no other one, after productions were
    /// left out or moved.
    pub(super) fn find_start(&mut self, start: u32) {
        let mut lefts = self.productions.iter().map(|production| production.left);
        self.start = lefts.position(|left| left == start).unwrap_or(0);
    }

    pub(crate) fn by_left(&self) -> Vec<Vec<usize>> {
        let mut by_left = vec![Vec::new(); self.rules.len()];
        for (number, production) in self.productions.iter().enumerate() {
            by_left[production.left as usize].push(number);
        }
        by_left
    }

    /// Returns the nonterminals that are reached, each behind those that its alternatives need,
    /// circles aside.
    pub(crate) fn innermost_first(&self, by_left: &[Vec<usize>]) -> Vec<u32> {
        let mut order = Vec::new();
        let mut is_met = vec![false; self.rules.len()];
        let start = self.productions[self.start].left;
        is_met[start as usize] = true;
        // Each with its alternatives and symbols that are left.
        let mut path = vec![(start, 0, 0)];
        while let Some((rule, production, at)) = path.last_mut() {
            let Some(&number) = by_left[*rule as usize].get(*production) else {
                order.push(*rule);
                path.pop();
                continue;
            };
            match self.productions[number].right.get(*at) {
                Some(symbol) => {
                    *at += 1;
                    if let Err(inner) = symbol.split()
                        && !std::mem::replace(&mut is_met[inner as usize], true)
                    {
                        path.push((inner, 0, 0));
                    }
                }
                None => (*production, *at) = (*production + 1, 0),
            }
        }
        order
    }

    /// Takes the texts of ignored terminals out of the others of their domain, but for lazy ones,
    /// which end before: where a lexeme is ignored text as well, greedy lexing reads it as that
    /// (llguidance 1.7.6 and 1.9.1). Returns a terminal that takes nothing then.
    pub(crate) fn prefer_ignored(&mut self, limits: TableLimits) -> Result<Option<u32>, Error> {
        let mut empty: Vec<u32> = Vec::new();
        for number in 0..self.terminals.len() {
            let own = &self.terminals[number];
            let ignored = self.ignored[own.domain as usize].iter();
            let others = ignored.filter(|&&ignored| ignored as usize != number);
            let others = others.map(|&ignored| &self.terminals[ignored as usize].matter);
            let mut left: Option<Table> = None;
            for other in others.filter(|_| !own.is_lazy) {
                if let (Matter::Table(table), Matter::Table(other)) = (&own.matter, other)
                    && let table = left.as_ref().unwrap_or(table)
                    && table.looks_nowhere()
                    && other.looks_nowhere()
                    && table.meets(other)
                {
                    left = Some(table.but(other, limits)?);
                }
            }
            if let Some(table) = left {
                if table.is_nothing() {
                    empty.push(number as u32);
                }
                self.terminals[number].matter = Matter::Table(table);
            }
        }
        // A rule that needs such a terminal needs itself, so that it takes no text.
        let is_empty = |symbol: &Symbol| symbol.split().is_ok_and(|one| empty.contains(&one));
        for production in &mut self.productions {
            if production.right.iter().any(is_empty) {
                production.right = [Symbol::rule(production.left)].into();
            }
        }
        Ok(empty.first().copied())
    }

    pub(crate) fn drop_unproductive(&mut self) -> Result<(), Error> {
        let is_productive = self.deriving(|_| true);
        let start = self.productions[self.start].left as usize;
        if !is_productive[start] {
            let message = "no text is in the language: every way from the start needs itself, \
                           or something that takes no text";
            let known = self.rules.iter().zip(&is_productive);
            let first = known
                .filter(|rule| !rule.1 && !rule.0.name.is_empty())
                .map(|rule| rule.0);
            let error = Error::new(ErrorKind::EmptyLanguage, message);
            return Err(match first.min_by_key(|rule| rule.at) {
                Some(rule) => error.in_rule(&rule.name),
                None => error,
            });
        }
        let start = self.productions[self.start].left;
        self.productions.retain(|production| {
            let mut right = production.right.iter();
            right.all(|symbol| {
                symbol
                    .split()
                    .err()
                    .is_none_or(|rule| is_productive[rule as usize])
            })
        });
        self.find_start(start);
        Ok(())
    }

    fn drop_unreached(&mut self) {
        let by_left = self.by_left();
        let start = self.productions[self.start].left;
        let mut reached = vec![false; self.rules.len()];
        let mut open = vec![start];
        reached[start as usize] = true;
        while let Some(left) = open.pop() {
            for &production in &by_left[left as usize] {
                for symbol in &self.productions[production].right {
                    if let Err(rule) = symbol.split()
                        && !std::mem::replace(&mut reached[rule as usize], true)
                    {
                        open.push(rule);
                    }
                }
            }
        }
        let mut seen: HashSet<&Production, FixedState> = HashSet::default();
        let all = self.productions.iter();
        let is_kept = |p: &Production| reached[p.left as usize];
        let kept: Vec<bool> = all.map(|p| is_kept(p) && seen.insert(p)).collect();
        let mut kept = kept.into_iter();
        self.productions.retain(|_| kept.next().unwrap_or(false));
        self.find_start(start);
    }

    fn cut_long(&mut self) {
        let mut at = 0;
        while at < self.productions.len() {
            if self.productions[at].right.len() > MAX_RIGHT {
                let rule = self.rules[self.productions[at].left as usize].clone();
                let number = self.rules.len() as u32;
                self.rules.push(rule);
                let right = &self.productions[at].right;
                let head = right[..MAX_RIGHT].into();
                let mut rest = vec![Symbol::rule(number)];
                rest.extend(&right[MAX_RIGHT..]);
                self.productions[at].right = rest.into();
                self.productions.push(Production {
                    left: number,
                    right: head,
                });
                continue;
            }
            at += 1;
        }
    }

    /// Which nonterminals derive the empty text.
    pub(crate) fn nullable(&self) -> Vec<bool> {
        let is_rule = |symbol: &Symbol| symbol.split().is_err();
        self.deriving(|production| production.right.iter().all(is_rule))
    }

    /// Which nonterminals derive a text by productions of a kind alone. Time is as the symbols.
    fn deriving(&self, is_of_kind: impl Fn(&Production) -> bool) -> Vec<bool> {
        let mut of_kind: Vec<(u32, &Production)> = (0..).zip(&self.productions).collect();
        of_kind.retain(|own| is_of_kind(own.1));
        let needs = of_kind.iter().flat_map(|&(number, production)| {
            let needed = production
                .right
                .iter()
                .filter_map(|symbol| symbol.split().err());
            needed.map(move |rule| (number, rule))
        });
        // By production: the symbols that are not known to derive a text.
        let mut missing = vec![0; self.productions.len()];
        needs
            .clone()
            .for_each(|(user, _)| missing[user as usize] += 1);
        let users = Sources::new(self.rules.len(), needs);
        let mut derives = vec![false; self.rules.len()];
        let mut open: Vec<u32> = of_kind.iter().map(|own| own.0).collect();
        open.retain(|&production| missing[production as usize] == 0);
        while let Some(production) = open.pop() {
            let left = self.productions[production as usize].left;
            if std::mem::replace(&mut derives[left as usize], true) {
                continue;
            }
            for &user in users.of(left) {
                missing[user as usize] -= 1;
                if missing[user as usize] == 0 {
                    open.push(user);
                }
            }
        }
        derives
    }
}
