//! The rules that are regular, and the texts that they take.
//!
//! For example, `number ::= "-"? [0-9]+` is regular, and so is `digits ::= [0-9] digits | [0-9]`,
//! which calls itself at its end; `root ::= "(" root ")" | "x"` is not.

use std::fmt::Display;

use super::{COLLAPSED, COLLAPSED_IN_VAIN, COLLAPSED_LITTLE, COLLAPSED_SIZE, Lowering, NormalForm};
use crate::compile::captured::{Captured, Marked};
use crate::compile::cfg::Symbol;
use crate::dialects::ast::{Expr, Host, Rule, RuleKind, Sampling};
use crate::dialects::shown::shown;
use crate::error::{Error, ErrorKind};
use crate::patterns::{self, Reading};
use crate::terminals::around::looks_around;
use crate::terminals::regular::{Re, at_most, lazy};

/// The kind of the rule that an expression stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inside {
    Terminal,
    Rule,
}

fn names<'e>(expr: &'e Expr, out: &mut Vec<(&'e str, usize)>) {
    match expr {
        Expr::Name { name, at } => out.push((name, *at)),
        Expr::Seq(all) | Expr::Alt(all) | Expr::And(all) => {
            all.iter().for_each(|expr| names(expr, out));
        }
        Expr::Repeat { of, .. } => names(of, out),
        Expr::Not(of) | Expr::Most { of, .. } => names(of, out),
        Expr::Dispatch { tags, at, .. } => out.extend(tags.iter().map(|tag| (tag.1.as_str(), *at))),
        _ => {}
    }
}

fn rule_names(rule: &Rule) -> Vec<(&str, usize)> {
    let mut out = Vec::new();
    names(&rule.body, &mut out);
    if let RuleKind::Suffix(suffix) = &rule.kind {
        names(suffix, &mut out);
    }
    out
}

impl Lowering<'_> {
    /// Finds what each rule takes that is regular, in the order in which they need each other.
    pub(super) fn find_regular(&mut self, scope: usize, start: usize) -> Result<(), Error> {
        let tree = self.scopes[scope].tree;
        let mut roots = vec![start];
        let mut first = Vec::new();
        tree.ignore.iter().for_each(|expr| names(expr, &mut first));
        for (name, at) in first {
            roots.push(self.lookup(scope, name, at)?);
        }
        if self.meaning.all_names {
            roots.extend(0..tree.rules.len());
        }
        for group in self.groups(scope, &roots)? {
            let is_self = |rule: usize| {
                let own = &tree.rules[rule];
                rule_names(own)
                    .iter()
                    .any(|name| tree.by_name.get(name.0) == Some(&rule))
            };
            let rule = &tree.rules[group[0]];
            let is_recursive = group.len() > 1 || is_self(group[0]);
            if let Some(terminal) = group
                .iter()
                .find(|&&r| tree.rules[r].kind != RuleKind::Rule)
                && is_recursive
            {
                let rule = &tree.rules[*terminal];
                let message = format!("the terminal `{}` refers to itself", rule.name);
                return Err(self
                    .fail(ErrorKind::Name, rule.at, message)
                    .in_rule(&rule.name));
            }
            if rule.kind != RuleKind::Rule && self.meaning.start == "start" {
                let is_rule = |name: &&(&str, usize)| {
                    tree.by_name
                        .get(name.0)
                        .is_some_and(|&r| tree.rules[r].kind != RuleKind::Terminal)
                };
                if let Some((name, at)) = rule_names(rule).iter().find(is_rule) {
                    let message = format!(
                        "a terminal cannot refer to the rule `{name}`: give that a name in capitals"
                    );
                    return Err(self.fail(ErrorKind::Name, *at, message).in_rule(&rule.name));
                }
            }
            let placed = |error: Error| error.at(self.text, rule.at).in_rule(&rule.name);
            let re = match &rule.kind {
                RuleKind::Rule if self.is_apart(scope) => None,
                RuleKind::Rule if group.len() > 1 => None,
                RuleKind::Rule if is_recursive => self.linear(scope, group[0]).map_err(placed)?,
                RuleKind::Rule => self.regular(scope, &rule.body).map_err(placed)?,
                kind => {
                    let in_terminal = |expr| self.regular_in(scope, expr, Inside::Terminal);
                    let body = in_terminal(&rule.body).map_err(placed)?;
                    let Some(body) = body else {
                        let message = "a terminal can refer to terminals alone: \
                                       strings, regular expressions and names in capitals";
                        return Err(placed(Error::new(ErrorKind::Syntax, message)));
                    };
                    Some(match kind {
                        RuleKind::Lazy => lazy(body),
                        RuleKind::Suffix(suffix) => {
                            let suffix = in_terminal(suffix).map_err(placed)?;
                            lazy(Re::Seq([body, suffix.unwrap_or(Re::Empty)].into()))
                        }
                        _ => body,
                    })
                }
            };
            check_sampling(rule, re.as_ref()).map_err(placed)?;
            let may_have_parts =
                rule.kind == RuleKind::Rule && rule.host.sampling.max_tokens.is_none();
            let re = re.filter(|re| !may_have_parts || re.size() <= COLLAPSED_SIZE);
            if re
                .as_ref()
                .is_some_and(|re| re.size() > self.config.max_work)
            {
                return Err(placed(Error::limit(
                    "max_work",
                    "steps",
                    self.config.max_work,
                )));
            }
            self.scopes[scope].regular[group[0]] = re;
        }
        Ok(())
    }

    /// A terminal of something regular, unless that would be too large.
    pub(super) fn collapsed(
        &mut self,
        scope: usize,
        re: &Re,
        name: impl Display,
    ) -> Result<Option<Vec<Symbol>>, Error> {
        if re.size() > COLLAPSED_SIZE {
            return Ok(None);
        }
        let left = COLLAPSED_IN_VAIN.saturating_sub(self.in_vain);
        let work = left.clamp(COLLAPSED_LITTLE, COLLAPSED.work);
        let known = self.too_large.len();
        let symbol = self.put_together(re, work, scope, &shown(name), 0)?;
        self.in_vain += (self.too_large.len() - known) * work;
        Ok(symbol.map(|symbol| symbol.into_iter().collect()))
    }

    /// Notes that the texts of a rule are captured.
    pub(super) fn capture(&mut self, scope: usize, rule: &Rule, left: u32) -> Result<(), Error> {
        let Host {
            capture, marker, ..
        } = &rule.host;
        if capture.is_none() && marker.is_none() {
            return Ok(());
        }
        let marked = match &rule.kind {
            RuleKind::Suffix(suffix) => {
                let table = |expr| {
                    let re = self.regular_in(scope, expr, Inside::Terminal)?;
                    re.unwrap_or(Re::Empty)
                        .table(self.limits(), self.meaning.edges)
                };
                Some(Marked {
                    body: table(&rule.body)?,
                    marker: table(suffix)?,
                    name: marker.as_deref().map(Box::from),
                })
            }
            _ => None,
        };
        self.cfg.captured.push(Captured {
            rule: left,
            name: capture.as_deref().map(Box::from),
            marked,
        });
        Ok(())
    }

    /// Tells whether rules are no parts of terminals. Rules that are kept may be parts of budgets.
    fn is_apart(&self, scope: usize) -> bool {
        self.meaning.rules == NormalForm::Rewritten && !self.scopes[scope].collapses
    }

    /// Tells whether lexemes of a rule are sampled in a way of their own.
    fn is_sampled_apart(&self, scope: usize, rule: usize) -> bool {
        self.scopes[scope].tree.rules[rule].host.sampling != Sampling::default()
    }

    pub(super) fn lookup(&self, scope: usize, name: &str, at: usize) -> Result<usize, Error> {
        let tree = self.scopes[scope].tree;
        tree.by_name
            .get(name)
            .copied()
            .ok_or_else(|| self.fail(ErrorKind::Name, at, format!("`{name}` is not defined")))
    }

    /// Rules that need each other, those first that others need.
    fn groups(&self, scope: usize, roots: &[usize]) -> Result<Vec<Vec<usize>>, Error> {
        let tree = self.scopes[scope].tree;
        let count = tree.rules.len();
        let (mut index, mut low) = (vec![usize::MAX; count], vec![0; count]);
        let (mut on_stack, mut stack) = (vec![false; count], Vec::new());
        let (mut next, mut groups) = (0, Vec::new());
        for &root in roots {
            // Each with the rules that it names, and how many of these were looked at.
            let mut path: Vec<(usize, Vec<usize>, usize)> = Vec::new();
            let mut begin = Some(root).filter(|&root| index[root] == usize::MAX);
            loop {
                if let Some(rule) = begin.take() {
                    index[rule] = next;
                    low[rule] = next;
                    next += 1;
                    stack.push(rule);
                    on_stack[rule] = true;
                    let own = &tree.rules[rule];
                    let named = rule_names(own).into_iter().map(|(name, at)| {
                        self.lookup(scope, name, at)
                            .map_err(|error| error.in_rule(&own.name))
                    });
                    path.push((rule, named.collect::<Result<_, _>>()?, 0));
                }
                let Some((rule, named, at)) = path.last_mut() else {
                    break;
                };
                let rule = *rule;
                if let Some(&to) = named.get(*at) {
                    *at += 1;
                    if index[to] == usize::MAX {
                        begin = Some(to);
                    } else if on_stack[to] {
                        low[rule] = low[rule].min(index[to]);
                    }
                    continue;
                }
                path.pop();
                if let Some((before, _, _)) = path.last() {
                    low[*before] = low[*before].min(low[rule]);
                }
                if low[rule] == index[rule] {
                    let from = stack.iter().rposition(|&r| r == rule).unwrap_or(0);
                    let group = stack.split_off(from);
                    group.iter().for_each(|&r| on_stack[r] = false);
                    groups.push(group);
                }
            }
        }
        Ok(groups)
    }

    /// Returns the language of a rule that refers to itself at one end of its alternatives alone.
    fn linear(&self, scope: usize, rule: usize) -> Result<Option<Re>, Error> {
        let rule = &self.scopes[scope].tree.rules[rule];
        let alternatives = match &rule.body {
            Expr::Alt(all) => &all[..],
            one => std::slice::from_ref(one),
        };
        let is_own = |expr: &Expr| matches!(expr, Expr::Name { name, .. } if *name == rule.name);
        let (mut first, mut last) = (true, true);
        let (mut steps, mut ends) = (Vec::new(), Vec::new());
        for alternative in alternatives {
            let parts = match alternative {
                Expr::Seq(parts) => &parts[..],
                one => std::slice::from_ref(one),
            };
            let inner = match parts {
                [own] if is_own(own) => continue,
                [own, inner @ ..] if is_own(own) => {
                    last = false;
                    inner
                }
                [inner @ .., own] if is_own(own) => {
                    first = false;
                    inner
                }
                _ => {
                    match self.regular(scope, alternative)? {
                        Some(re) => ends.push(re),
                        None => return Ok(None),
                    }
                    continue;
                }
            };
            let all = inner.iter().map(|expr| self.regular(scope, expr));
            match all.collect::<Result<Option<Vec<Re>>, Error>>()? {
                Some(all) => steps.push(Re::Seq(all.into())),
                None => return Ok(None),
            }
        }
        if ends.is_empty() || !(first || last) {
            return Ok(None);
        }
        let steps = Re::Repeat(Re::Alt(steps.into()).into(), 0, None);
        let ends = Re::Alt(ends.into());
        Ok(Some(Re::Seq(match last {
            true => [steps, ends].into(),
            false => [ends, steps].into(),
        })))
    }

    /// Returns the language of an expression, if that is regular and of terminals, or of rules that
    /// are known to be regular.
    pub(super) fn regular(&self, scope: usize, expr: &Expr) -> Result<Option<Re>, Error> {
        self.regular_in(scope, expr, Inside::Rule)
    }

    /// The same inside of a terminal, whose parts are one regular expression, or of a rule.
    pub(super) fn regular_in(
        &self,
        scope: usize,
        expr: &Expr,
        inside: Inside,
    ) -> Result<Option<Re>, Error> {
        let all = |all: &[Expr]| {
            let all = all.iter().map(|expr| self.regular_in(scope, expr, inside));
            all.collect::<Result<Option<Vec<Re>>, Error>>()
        };
        Ok(match expr {
            Expr::Empty => Some(Re::Empty),
            Expr::Text {
                text, ignore_case, ..
            } => Some(match text.is_empty() {
                true => Re::Empty,
                false => Re::pattern(patterns::literal(text, *ignore_case, self.meaning.reading)),
            }),
            Expr::Regex { pattern, .. } => Some(self.seen(Re::pattern(pattern.as_str()), inside)),
            Expr::Class(ranges) => Some(match ranges.is_empty() {
                true => Re::Alt([].into()),
                false => Re::pattern(patterns::class(ranges)),
            }),
            Expr::Name { name, at } => {
                let rule = self.lookup(scope, name, *at)?;
                let re = self.scopes[scope].regular[rule].clone();
                // A rule with a temperature or a budget is no part of others, which have none.
                let is_apart = inside == Inside::Rule && self.is_sampled_apart(scope, rule);
                re.filter(|_| !is_apart).map(|re| self.seen(re, inside))
            }
            Expr::Seq(parts) => all(parts)?.map(|parts| Re::Seq(parts.into())),
            Expr::Alt(parts) => all(parts)?.map(|parts| Re::Alt(parts.into())),
            Expr::And(parts) => all(parts)?.map(|parts| Re::And(parts.into())),
            Expr::Not(of) => self
                .regular_in(scope, of, inside)?
                .map(|of| Re::Not(of.into())),
            Expr::Repeat { of, min, max } => self
                .regular_in(scope, of, inside)?
                .map(|of| Re::Repeat(of.into(), *min, *max)),
            Expr::Most { of, chars, at } => match self.regular_in(scope, of, inside)? {
                Some(of) => Some(at_most(of, *chars)),
                None => {
                    let message = "`max_chars` is for rules without recursion, special tokens and free text with tags: \
                                   bound the parts of the rule";
                    return Err(self.fail(ErrorKind::Unsupported, *at, message));
                }
            },
            Expr::Substring { chunks, .. } => Some(Re::Substring(chunks.as_slice().into())),
            Expr::Json { .. }
            | Expr::Nested { .. }
            | Expr::Special { .. }
            | Expr::Use { .. }
            | Expr::If { .. }
            | Expr::Dispatch { .. } => None,
        })
    }

    /// A terminal as it is seen: in a rule that is one expression with others, it sees nothing
    /// of these.
    fn seen(&self, re: Re, inside: Inside) -> Re {
        let is_apart = inside == Inside::Rule && self.meaning.reading == Reading::Splits;
        match is_apart && looks_around(&re, self.meaning.edges) {
            true => Re::Closed(re.into()),
            false => re,
        }
    }
}

/// Refuses options of a rule that is no one lexeme.
fn check_sampling(rule: &Rule, re: Option<&Re>) -> Result<(), Error> {
    let Sampling {
        temperature,
        max_tokens,
        ..
    } = rule.host.sampling;
    let is_value = matches!(rule.body, Expr::Json { .. } | Expr::Nested { .. });
    let option = match (max_tokens, temperature) {
        (Some(_), _) => "max_tokens",
        (None, Some(_)) if !is_value => "temperature",
        _ => return Ok(()),
    };
    if re.is_some() {
        return Ok(());
    }
    let message = format!(
        "`{option}` is for rules without recursion, special tokens, values of JSON and free text with tags: \
         write it on the rules that such a rule names"
    );
    Err(Error::new(ErrorKind::Unsupported, message))
}
