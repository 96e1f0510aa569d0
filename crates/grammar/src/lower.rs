//! From what was written to the normal form.

use std::collections::HashMap;

use schema_regex::automaton::SchemaAutomaton;

use crate::ast::{Expr, RuleKind, Tree};
use crate::cfg::{Cfg, Matter, Nonterminal, Production, Symbol, Terminal};
use crate::patterns::{self, Reading};
use crate::regular::{Re, lazy, text_until};
use crate::table::{Table, TableLimits};
use crate::{Config, Error, ErrorKind};

/// How a tree is to be read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meaning {
    pub(crate) reading: Reading,
    pub(crate) start: &'static str,
    /// Whether every name must be defined, reached or not.
    pub(crate) all_names: bool,
    /// Whether ignored text may come at both ends, whatever the grammar says.
    pub(crate) skip_at_ends: bool,
    /// Whether ignored text may come behind the last lexeme.
    pub(crate) trailing_skip: bool,
}

/// States of terminals that are put together here, and not by the grammar's author: more
/// are not worth it.
const COLLAPSED: TableLimits = TableLimits {
    states: 1_500,
    work: 2_000_000,
};

/// The longest pattern that is put together, in bytes.
const COLLAPSED_SIZE: usize = 100_000;

pub(crate) fn lower(
    tree: &Tree,
    text: &str,
    meaning: Meaning,
    config: &Config,
) -> Result<Cfg, Error> {
    let mut lowering = Lowering {
        text,
        meaning,
        config,
        scopes: Vec::new(),
        cfg: Cfg::default(),
        known: HashMap::new(),
        rules: HashMap::new(),
        open: Vec::new(),
        states: 0,
    };
    let is_greedy = meaning.reading == Reading::Greedy;
    let root = lowering.rule_of("", 0);
    let start = lowering.scope(tree, 0)?;
    lowering.cfg.start = lowering.cfg.productions.len();
    lowering.push(root, vec![start]);
    lowering.run()?;
    let mut cfg = lowering.cfg;
    cfg.is_greedy = is_greedy;
    cfg.initial_skip = tree.initial_skip || meaning.skip_at_ends;
    cfg.trailing_skip = meaning.trailing_skip || meaning.skip_at_ends;
    cfg.tidy()?;
    Ok(cfg)
}

/// A grammar, or one that is nested in it.
struct Scope<'a> {
    tree: &'a Tree,
    /// What each rule takes, where that is known to be regular.
    regular: Vec<Option<Re>>,
    /// Whether regular parts become terminals across the boundaries that were written.
    collapses: bool,
}

struct Lowering<'a> {
    text: &'a str,
    meaning: Meaning,
    config: &'a Config,
    scopes: Vec<Scope<'a>>,
    cfg: Cfg,
    /// Terminals by what they are; nothing where only the empty text is taken.
    known: HashMap<(String, bool, u32), Option<Symbol>>,
    rules: HashMap<(usize, usize), u32>,
    open: Vec<(usize, usize)>,
    /// States of all terminals.
    states: usize,
}

fn names<'e>(expr: &'e Expr, out: &mut Vec<(&'e str, usize)>) {
    match expr {
        Expr::Name { name, at } => out.push((name, *at)),
        Expr::Seq(all) | Expr::Alt(all) | Expr::And(all) => {
            all.iter().for_each(|expr| names(expr, out));
        }
        Expr::Repeat { of, .. } => names(of, out),
        Expr::Not(of) => names(of, out),
        Expr::Dispatch { tags, at, .. } => out.extend(tags.iter().map(|tag| (tag.1.as_str(), *at))),
        _ => {}
    }
}

fn rule_names(rule: &crate::ast::Rule) -> Vec<(&str, usize)> {
    let mut out = Vec::new();
    names(&rule.body, &mut out);
    if let RuleKind::Suffix(suffix) = &rule.kind {
        names(suffix, &mut out);
    }
    out
}

impl<'a> Lowering<'a> {
    fn fail(&self, kind: ErrorKind, at: usize, message: impl Into<String>) -> Error {
        Error::new(kind, message).at(self.text, at)
    }

    fn limits(&self) -> TableLimits {
        TableLimits {
            states: self.config.max_terminal_states,
            work: self.config.max_work,
        }
    }

    fn rule_of(&mut self, name: &str, at: usize) -> u32 {
        self.cfg.rules.push(Nonterminal {
            name: name.to_owned(),
            at,
        });
        self.cfg.rules.len() as u32 - 1
    }

    fn push(&mut self, left: u32, right: Vec<Symbol>) {
        self.cfg.productions.push(Production {
            left,
            right: right.into(),
        });
    }

    /// Takes up a grammar: its start.
    fn scope(&mut self, tree: &'a Tree, at: usize) -> Result<Symbol, Error> {
        let number = self.scopes.len();
        let Some(&start) = tree.by_name.get(self.meaning.start) else {
            return Err(self.fail(
                ErrorKind::Name,
                at,
                format!(
                    "the grammar has no rule `{}`, with which it begins",
                    self.meaning.start
                ),
            ));
        };
        let is_lazy = |kind: &RuleKind| matches!(kind, RuleKind::Lazy | RuleKind::Suffix(_));
        let has_lazy = tree.rules.iter().any(|rule| is_lazy(&rule.kind));
        let is_lark = self.meaning.start == "start";
        let collapses = self.meaning.reading != Reading::Greedy
            && tree.ignore.is_empty()
            && !(has_lazy && is_lark);
        self.scopes.push(Scope {
            tree,
            regular: vec![None; tree.rules.len()],
            collapses,
        });
        self.cfg.ignored.push(None);
        self.find_regular(number, start)?;
        if !tree.ignore.is_empty() {
            let mut all = Vec::new();
            for expr in &tree.ignore {
                let re = self.regular(number, expr)?.ok_or_else(|| {
                    Error::new(ErrorKind::Syntax, "`%ignore` takes terminals alone")
                        .in_rule("%ignore")
                })?;
                all.push(re);
            }
            let symbol = self.terminal(
                &Re::Alt(all.into()),
                false,
                number,
                "%ignore",
                at,
                self.limits(),
            )?;
            // Ignored text that may be empty is none: what is not empty counts.
            let symbol = match symbol.map(Symbol::split) {
                Some(Err(optional)) => {
                    let own = self
                        .cfg
                        .productions
                        .iter()
                        .find(|p| p.left == optional && !p.right.is_empty());
                    own.map(|p| p.right[0])
                }
                _ => symbol,
            };
            self.cfg.ignored[number] = symbol.and_then(|symbol| symbol.split().ok());
        }
        self.rule_symbol(number, start)
    }

    /// Lowers all rules that are reached.
    fn run(&mut self) -> Result<(), Error> {
        while let Some((scope, rule)) = self.open.pop() {
            let left = self.rules[&(scope, rule)];
            let tree = self.scopes[scope].tree;
            let rule = &tree.rules[rule];
            self.alternatives(scope, &rule.body, left)
                .map_err(|error| error.at(self.text, rule.at).in_rule(&rule.name))?;
        }
        Ok(())
    }

    /// Finds what each rule takes that is regular, in the order in which they need each other.
    fn find_regular(&mut self, scope: usize, start: usize) -> Result<(), Error> {
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
                RuleKind::Rule if !self.scopes[scope].collapses => None,
                RuleKind::Rule if group.len() > 1 => None,
                RuleKind::Rule if is_recursive => self.linear(scope, group[0]).map_err(placed)?,
                RuleKind::Rule => self.regular(scope, &rule.body).map_err(placed)?,
                kind => {
                    let body = self.regular(scope, &rule.body).map_err(placed)?;
                    let Some(body) = body else {
                        let message = "a terminal can refer to terminals alone: \
                                       strings, regular expressions and names in capitals";
                        return Err(placed(Error::new(ErrorKind::Syntax, message)));
                    };
                    Some(match kind {
                        RuleKind::Lazy => lazy(body),
                        RuleKind::Suffix(suffix) => {
                            let suffix = self.regular(scope, suffix).map_err(placed)?;
                            lazy(Re::Seq([body, suffix.unwrap_or(Re::Empty)].into()))
                        }
                        _ => body,
                    })
                }
            };
            let is_rule = rule.kind == RuleKind::Rule;
            let re = re.filter(|re| !is_rule || re.size() <= COLLAPSED_SIZE);
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

    fn lookup(&self, scope: usize, name: &str, at: usize) -> Result<usize, Error> {
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

    /// What a rule takes that refers to itself at one end of its alternatives alone.
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

    /// What an expression takes, if that is regular and of terminals, or of rules that are
    /// known to be regular.
    fn regular(&self, scope: usize, expr: &Expr) -> Result<Option<Re>, Error> {
        let all = |all: &[Expr]| {
            let all = all.iter().map(|expr| self.regular(scope, expr));
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
            Expr::Regex { pattern, .. } => Some(Re::pattern(pattern.as_str())),
            Expr::Class(ranges) => Some(match ranges.is_empty() {
                true => Re::Alt([].into()),
                false => Re::pattern(patterns::class(ranges)),
            }),
            Expr::Name { name, at } => {
                let rule = self.lookup(scope, name, *at)?;
                self.scopes[scope].regular[rule].clone()
            }
            Expr::Seq(parts) => all(parts)?.map(|parts| Re::Seq(parts.into())),
            Expr::Alt(parts) => all(parts)?.map(|parts| Re::Alt(parts.into())),
            Expr::And(parts) => all(parts)?.map(|parts| Re::And(parts.into())),
            Expr::Not(of) => self.regular(scope, of)?.map(|of| Re::Not(of.into())),
            Expr::Repeat { of, min, max } => self
                .regular(scope, of)?
                .map(|of| Re::Repeat(of.into(), *min, *max)),
            Expr::Substring { chunks, .. } => Some(Re::Substring(chunks.as_slice().into())),
            Expr::Json { .. }
            | Expr::Nested { .. }
            | Expr::Special { .. }
            | Expr::Dispatch { .. } => None,
        })
    }

    fn rule_symbol(&mut self, scope: usize, rule: usize) -> Result<Symbol, Error> {
        let tree = self.scopes[scope].tree;
        let own = &tree.rules[rule];
        let left = match self.rules.get(&(scope, rule)) {
            Some(&left) => return Ok(Symbol::rule(left)),
            None => self.rule_of(&own.name, own.at),
        };
        self.rules.insert((scope, rule), left);
        let is_lazy = matches!(own.kind, RuleKind::Lazy | RuleKind::Suffix(_));
        if !is_lazy && own.kind != RuleKind::Terminal && !self.scopes[scope].collapses {
            self.open.push((scope, rule));
            return Ok(Symbol::rule(left));
        }
        let re = self.scopes[scope].regular[rule].clone();
        let Some(re) = re else {
            self.open.push((scope, rule));
            return Ok(Symbol::rule(left));
        };
        let is_rule = own.kind == RuleKind::Rule;
        let limits = if is_rule { COLLAPSED } else { self.limits() };
        let commits = is_lazy && self.meaning.start == "start";
        match self.terminal(&re, commits, scope, &own.name, own.at, limits) {
            Ok(symbol) => self.push(left, symbol.into_iter().collect()),
            Err(error) if is_rule && error.kind() == ErrorKind::LimitExceeded => {
                self.scopes[scope].regular[rule] = None;
                self.open.push((scope, rule));
            }
            Err(error) => return Err(error.at(self.text, own.at).in_rule(&own.name)),
        }
        Ok(Symbol::rule(left))
    }

    /// The symbol of a terminal; nothing where it takes the empty text alone.
    fn terminal(
        &mut self,
        re: &Re,
        is_lazy: bool,
        scope: usize,
        name: &str,
        at: usize,
        limits: TableLimits,
    ) -> Result<Option<Symbol>, Error> {
        let key = (format!("{re:?}"), is_lazy, scope as u32);
        if let Some(symbol) = self.known.get(&key) {
            return Ok(*symbol);
        }
        let table = re.table(limits).map_err(|error| error.at(self.text, at))?;
        let (table, is_nullable) = without_empty(table);
        self.states += table.next.len();
        if self.states > self.config.max_states {
            return Err(Error::limit(
                "max_states",
                "states in all terminals",
                self.config.max_states,
            ));
        }
        let symbol = if table.is_nothing() && is_nullable {
            None
        } else if table.is_nothing() {
            Some(Symbol::rule(self.rule_of(name, at)))
        } else {
            let terminal = self.add(Matter::Table(table), is_lazy, scope, name, at);
            Some(match is_nullable {
                true => self.optional(terminal, name, at),
                false => terminal,
            })
        };
        self.known.insert(key, symbol);
        Ok(symbol)
    }

    fn add(
        &mut self,
        matter: Matter,
        is_lazy: bool,
        scope: usize,
        name: &str,
        at: usize,
    ) -> Symbol {
        self.cfg.terminals.push(Terminal {
            matter,
            is_lazy,
            domain: scope as u32,
            name: name.to_owned(),
            at,
        });
        Symbol::terminal(self.cfg.terminals.len() as u32 - 1)
    }

    fn optional(&mut self, symbol: Symbol, name: &str, at: usize) -> Symbol {
        let rule = self.rule_of(name, at);
        self.push(rule, vec![symbol]);
        self.push(rule, Vec::new());
        Symbol::rule(rule)
    }

    fn alternatives(&mut self, scope: usize, expr: &'a Expr, left: u32) -> Result<(), Error> {
        let Expr::Alt(all) = expr else {
            let mut right = Vec::new();
            self.symbols(scope, expr, &mut right)?;
            self.push(left, right);
            return Ok(());
        };
        let mut together = Vec::new();
        for alternative in all {
            if self.scopes[scope].collapses
                && let Some(re) = self.regular(scope, alternative)?
            {
                together.push((re, alternative));
                continue;
            }
            let mut right = Vec::new();
            self.symbols(scope, alternative, &mut right)?;
            self.push(left, right);
        }
        if together.is_empty() {
            return Ok(());
        }
        let all = together.iter().map(|one| one.0.clone());
        if let Some(symbols) = self.collapsed(scope, &Re::Alt(all.collect()))? {
            self.push(left, symbols);
            return Ok(());
        }
        for (re, alternative) in together {
            let right = match self.collapsed(scope, &re)? {
                Some(right) => right,
                None => {
                    let mut right = Vec::new();
                    self.structure(scope, alternative, &mut right)?;
                    right
                }
            };
            self.push(left, right);
        }
        Ok(())
    }

    /// A terminal of something regular, unless that would be too large.
    fn collapsed(&mut self, scope: usize, re: &Re) -> Result<Option<Vec<Symbol>>, Error> {
        if re.size() > COLLAPSED_SIZE {
            return Ok(None);
        }
        match self.terminal(re, false, scope, "", 0, COLLAPSED) {
            Ok(symbol) => Ok(Some(symbol.into_iter().collect())),
            Err(error) if error.kind() == ErrorKind::LimitExceeded => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn symbols(
        &mut self,
        scope: usize,
        expr: &'a Expr,
        out: &mut Vec<Symbol>,
    ) -> Result<(), Error> {
        if self.scopes[scope].collapses
            && let Some(re) = self.regular(scope, expr)?
            && let Some(symbols) = self.collapsed(scope, &re)?
        {
            out.extend(symbols);
            return Ok(());
        }
        self.structure(scope, expr, out)
    }

    /// As [`Lowering::symbols`], of the parts of an expression that is no terminal as a whole.
    fn structure(
        &mut self,
        scope: usize,
        expr: &'a Expr,
        out: &mut Vec<Symbol>,
    ) -> Result<(), Error> {
        match expr {
            Expr::Empty => {}
            Expr::Text { at, .. } | Expr::Regex { at, .. } | Expr::Substring { at, .. } => {
                let at = *at;
                let name = match expr {
                    Expr::Text { text, .. } => format!("{text:?}"),
                    Expr::Regex { pattern, .. } => format!("/{pattern}/"),
                    _ => "a substring".to_owned(),
                };
                if let Some(re) = self.regular(scope, expr)? {
                    out.extend(self.terminal(&re, false, scope, &name, at, self.limits())?);
                }
            }
            Expr::Class(_) => {
                if let Some(re) = self.regular(scope, expr)? {
                    out.extend(self.terminal(&re, false, scope, "a class", 0, self.limits())?);
                }
            }
            Expr::Name { name, at } => {
                let rule = self.lookup(scope, name, *at)?;
                out.push(self.rule_symbol(scope, rule)?);
            }
            Expr::Seq(parts) => self.sequence(scope, parts, out)?,
            Expr::Alt(_) => {
                let rule = self.rule_of("", 0);
                self.alternatives(scope, expr, rule)?;
                out.push(Symbol::rule(rule));
            }
            Expr::Repeat { of, min, max } => {
                let symbol = self.repeat(scope, of, *min, *max)?;
                out.extend(symbol);
            }
            Expr::And(_) | Expr::Not(_) => {
                let Some(re) = self.regular(scope, expr)? else {
                    return Err(Error::new(
                        ErrorKind::Unsupported,
                        "`&` and `~` are for terminals alone: give the rule a name in capitals",
                    ));
                };
                out.extend(self.terminal(&re, false, scope, "", 0, self.limits())?);
            }
            Expr::Json { schema, at } => {
                let options = crate::json::options(self.meaning.reading);
                let automaton = SchemaAutomaton::new(schema, &options).map_err(|error| {
                    self.fail(ErrorKind::Unsupported, *at, format!("`%json`: {error}"))
                })?;
                let matter = Matter::Json(Box::new(automaton));
                out.push(self.add(matter, false, scope, "%json", *at));
            }
            Expr::Nested { tree, at } => {
                out.push(self.scope(tree, *at)?);
            }
            Expr::Special { name, at } => {
                let known = self.cfg.specials.iter().position(|s| **s == **name);
                let number = known.unwrap_or_else(|| {
                    self.cfg.specials.push(name.as_str().into());
                    self.cfg.specials.len() - 1
                });
                let matter = Matter::Special(number as u32);
                out.push(self.add(matter, false, scope, name, *at));
            }
            Expr::Dispatch {
                tags,
                loops,
                excludes,
                at,
            } => {
                self.dispatch(scope, (tags, excludes), *loops, *at, out)?;
            }
        }
        Ok(())
    }

    fn sequence(
        &mut self,
        scope: usize,
        parts: &'a [Expr],
        out: &mut Vec<Symbol>,
    ) -> Result<(), Error> {
        let mut together: Vec<(Re, &'a Expr)> = Vec::new();
        for part in parts {
            if self.scopes[scope].collapses
                && let Some(re) = self.regular(scope, part)?
            {
                together.push((re, part));
                continue;
            }
            self.flush(scope, &mut together, out)?;
            self.structure(scope, part, out)?;
        }
        self.flush(scope, &mut together, out)
    }

    fn flush(
        &mut self,
        scope: usize,
        together: &mut Vec<(Re, &'a Expr)>,
        out: &mut Vec<Symbol>,
    ) -> Result<(), Error> {
        if together.len() > 1 {
            let all = together.iter().map(|one| one.0.clone()).collect();
            if let Some(symbols) = self.collapsed(scope, &Re::Seq(all))? {
                out.extend(symbols);
                together.clear();
                return Ok(());
            }
        }
        for (re, part) in together.drain(..) {
            match self.collapsed(scope, &re)? {
                Some(symbols) => out.extend(symbols),
                None => self.structure(scope, part, out)?,
            }
        }
        Ok(())
    }

    /// `min` to `max` times: a count is a chain of nonterminals that grows to the left, so
    /// that one stack stands for each number.
    fn repeat(
        &mut self,
        scope: usize,
        of: &'a Expr,
        min: u32,
        max: Option<u32>,
    ) -> Result<Option<Symbol>, Error> {
        if max == Some(0) {
            return Ok(None);
        }
        let counts = max.unwrap_or(min).max(1) as usize;
        if counts > self.config.max_count {
            return Err(Error::limit(
                "max_count",
                "repetitions of one rule",
                self.config.max_count,
            ));
        }
        let mut item = Vec::new();
        self.symbols(scope, of, &mut item)?;
        let item = match item[..] {
            [] => return Ok(None),
            [one] => one,
            _ => {
                let rule = self.rule_of("", 0);
                self.push(rule, item);
                Symbol::rule(rule)
            }
        };
        let result = self.rule_of("", 0);
        if min == 0 {
            self.push(result, Vec::new());
        }
        // So many times exactly, for each number.
        let mut exact = None;
        for count in 1..=counts as u32 {
            let rule = match (count, exact) {
                (1, _) | (_, None) => item,
                (_, Some(before)) => {
                    let rule = self.rule_of("", 0);
                    self.push(rule, vec![before, item]);
                    Symbol::rule(rule)
                }
            };
            exact = Some(rule);
            if count >= min && (max.is_some() || count == counts as u32) {
                self.push(result, vec![rule]);
            }
        }
        if max.is_none() {
            self.push(result, vec![Symbol::rule(result), item]);
        }
        Ok(Some(Symbol::rule(result)))
    }

    fn dispatch(
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

/// The automaton without the empty text, and whether it took that.
fn without_empty(mut table: Table) -> (Table, bool) {
    if table.is_nothing() || !table.is_nullable() {
        return (table, false);
    }
    let start = table.next[table.start as usize];
    if start.iter().all(|&to| to == 0) {
        return (Table::nothing(), true);
    }
    table.next.push(start);
    table.accepting.push(false);
    table.start = table.next.len() as u32 - 1;
    (table, true)
}
