//! Repetitions of what is no terminal, and free text with tags.
//!
//! For example, `item{2,3}` of a rule becomes a chain: two items, and one more.

use regex_syntax::hir::{Hir, HirKind};

use super::Lowering;
use crate::compile::cfg::Symbol;
use crate::dialects::ast::Expr;
use crate::dialects::shown::shown;
use crate::error::{Error, ErrorKind};
use crate::terminals::regular::{Re, text_until};

/// Counts up to this are one nonterminal each, with one stack at a time, because more fill tables.
const CHAIN: usize = 2_000;

/// The largest number of times.
fn count(min: u32, max: Option<u32>) -> usize {
    max.unwrap_or(min).max(1) as usize
}

/// About how many states an expression has, at least.
fn weight(hir: &Hir) -> usize {
    match hir.kind() {
        HirKind::Literal(text) => text.0.len(),
        HirKind::Capture(group) => weight(&group.sub),
        HirKind::Repetition(of) => {
            let count = of.max.unwrap_or(of.min).max(1) as usize;
            weight(&of.sub).saturating_mul(count)
        }
        HirKind::Concat(all) => all.iter().map(weight).fold(0, usize::saturating_add),
        HirKind::Alternation(all) => all.iter().map(weight).max().unwrap_or(0),
        _ => 1,
    }
}

fn has_parts(hir: &Hir) -> bool {
    !matches!(
        hir.kind(),
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_)
    )
}

impl<'a> Lowering<'a> {
    /// `min` to `max` times.
    pub(super) fn repeat(
        &mut self,
        scope: usize,
        of: &'a Expr,
        min: u32,
        max: Option<u32>,
    ) -> Result<Option<Symbol>, Error> {
        if max == Some(0) {
            return Ok(None);
        }
        // Nested counts multiply.
        let outer = self.counts;
        self.counts = outer.saturating_mul(count(min, max));
        self.within_count(self.counts)?;
        let mut item = Vec::new();
        self.symbols(scope, of, &mut item)?;
        self.counts = outer;
        self.times(item, min, max)
    }

    fn within_count(&self, counts: usize) -> Result<(), Error> {
        match counts > self.config.max_count {
            true => Err(Error::limit(
                "max_count",
                "repetitions of one rule",
                self.config.max_count,
            )),
            false => Ok(()),
        }
    }

    /// So many times what some symbols are together.
    fn times(
        &mut self,
        item: Vec<Symbol>,
        min: u32,
        max: Option<u32>,
    ) -> Result<Option<Symbol>, Error> {
        if max == Some(0) {
            return Ok(None);
        }
        let item = match item[..] {
            [] => return Ok(None),
            [one] => one,
            _ => self.rule_with(item),
        };
        let counts = count(min, max);
        self.within_count(counts)?;
        Ok(Some(match counts > CHAIN {
            true => self.counted(item, min, max),
            false => self.chain(item, min, max, counts as u32),
        }))
    }

    /// A chain of nonterminals that grows to the left, so that one stack stands for each
    /// number.
    fn chain(&mut self, item: Symbol, min: u32, max: Option<u32>, counts: u32) -> Symbol {
        let result = self.rule_of("", 0);
        if min == 0 {
            self.push(result, Vec::new());
        }
        // So many times exactly, for each number.
        let mut exact = None;
        for count in 1..=counts {
            let rule = match (count, exact) {
                (1, _) | (_, None) => item,
                (_, Some(before)) => {
                    let rule = self.rule_of("", 0);
                    self.push(rule, vec![before, item]);
                    Symbol::rule(rule)
                }
            };
            exact = Some(rule);
            if count >= min && (max.is_some() || count == counts) {
                self.push(result, vec![rule]);
            }
        }
        if max.is_none() {
            self.push(result, vec![Symbol::rule(result), item]);
        }
        Symbol::rule(result)
    }

    fn rule_with(&mut self, symbols: Vec<Symbol>) -> Symbol {
        let rule = self.rule_of("", 0);
        self.push(rule, symbols);
        Symbol::rule(rule)
    }

    /// A count by its binary digits: as many nonterminals as it has, and one way for each
    /// number.
    fn counted(&mut self, item: Symbol, min: u32, max: Option<u32>) -> Symbol {
        let digits = u32::BITS - max.unwrap_or(min).leading_zeros();
        // 2^k times exactly, and up to 2^k - 1 times.
        let mut powers = vec![item];
        let mut below: Vec<Option<Symbol>> = vec![None];
        for k in 1..digits as usize {
            let before = powers[k - 1];
            powers.push(self.rule_with(vec![before, before]));
            let rule = self.rule_of("", 0);
            let fewer: Vec<Symbol> = below[k - 1].into_iter().collect();
            self.push(rule, [&[before], &fewer[..]].concat());
            self.push(rule, fewer);
            below.push(Some(Symbol::rule(rule)));
        }
        let exactly = |count: u32| {
            let bits = (0..digits).rev().filter(move |bit| count >> bit & 1 == 1);
            bits.map(|bit| powers[bit as usize]).collect::<Vec<_>>()
        };
        let least = exactly(min);
        let Some(max) = max else {
            let result = self.rule_of("", 0);
            self.push(result, least);
            self.push(result, vec![Symbol::rule(result), item]);
            return Symbol::rule(result);
        };
        let (more, rest) = (self.rule_of("", 0), max - min);
        self.push(more, exactly(rest));
        // Fewer: equal in the digits before one, less there, anything behind it.
        for bit in (0..digits).filter(|bit| rest >> bit & 1 == 1) {
            let mut way = exactly(rest >> bit >> 1 << 1 << bit);
            way.extend(below[bit as usize]);
            self.push(more, way);
        }
        let mut all = least;
        all.push(Symbol::rule(more));
        self.rule_with(all)
    }

    /// A regular expression that is too large for one terminal, by its parts.
    ///
    /// # Errors
    ///
    /// A part is too large in itself, or wrong.
    pub(super) fn large(
        &mut self,
        scope: usize,
        hir: &Hir,
        at: usize,
        out: &mut Vec<Symbol>,
    ) -> Result<(), Error> {
        if weight(hir) <= self.config.max_terminal_states {
            let re = Re::pattern(hir.to_string());
            let name = shown(format_args!("/{hir}/"));
            match self.terminal(&re, false, scope, &name, at, self.limits()) {
                Err(error) if error.kind() == ErrorKind::LimitExceeded && has_parts(hir) => {}
                result => {
                    out.extend(result?);
                    return Ok(());
                }
            }
        }
        match hir.kind() {
            HirKind::Capture(group) => self.large(scope, &group.sub, at, out)?,
            HirKind::Concat(all) => {
                for part in all {
                    self.large(scope, part, at, out)?;
                }
            }
            HirKind::Alternation(all) => {
                let rule = self.rule_of("", at);
                for part in all {
                    let mut right = Vec::new();
                    self.large(scope, part, at, &mut right)?;
                    self.push(rule, right);
                }
                out.push(Symbol::rule(rule));
            }
            HirKind::Repetition(of) => {
                let mut item = Vec::new();
                self.large(scope, &of.sub, at, &mut item)?;
                out.extend(self.times(item, of.min, of.max)?);
            }
            _ => {
                let re = Re::pattern(hir.to_string());
                let name = shown(format_args!("/{hir}/"));
                out.extend(self.terminal(&re, false, scope, &name, at, self.limits())?);
            }
        }
        Ok(())
    }

    pub(super) fn dispatch(
        &mut self,
        scope: usize,
        (tags, excludes): (&[(String, String)], &[String]),
        loops: bool,
        at: usize,
        out: &mut Vec<Symbol>,
    ) -> Result<(), Error> {
        let mut texts: Vec<String> = tags.iter().map(|tag| tag.0.clone()).collect();
        texts.extend_from_slice(excludes);
        let tail = text_until(&texts, None)?;
        let tail = self.terminal(&tail, false, scope, "free text", at, self.limits())?;
        let again = self.rule_of("", at);
        let mut ways = Vec::new();
        for (tag, rule) in tags {
            let head = text_until(&texts, Some(tag))?;
            let head = self.terminal(&head, false, scope, tag, at, self.limits())?;
            let rule = self.lookup(scope, rule, at)?;
            let mut way: Vec<Symbol> = head.into_iter().collect();
            way.push(self.rule_symbol(scope, rule)?);
            ways.push(way);
        }
        let tail: Vec<Symbol> = tail.into_iter().collect();
        match loops {
            true => {
                self.push(again, Vec::new());
                for mut way in ways {
                    way.insert(0, Symbol::rule(again));
                    self.push(again, way);
                }
                out.push(Symbol::rule(again));
                out.extend(tail);
            }
            false => {
                self.push(again, tail);
                for way in ways {
                    self.push(again, way);
                }
                out.push(Symbol::rule(again));
            }
        }
        Ok(())
    }
}
