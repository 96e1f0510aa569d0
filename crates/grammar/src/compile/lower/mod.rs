//! From the tree of a grammar to the normal form.
//!
//! For example, `root ::= "a" | "b"` becomes one terminal, since the rule is regular.

mod regular;
mod repeat;

use regular::Inside;

use std::collections::{HashMap, HashSet};

use schema_regex::automaton::SchemaAutomaton;

use crate::compile::cfg::{Cfg, Ignores, Matter, Nonterminal, Production, Symbol, Terminal};
use crate::config::Config;
use crate::dialects::ast::{Expr, FIRST_RULE, Rule, RuleKind, Sampling, Tree};
use crate::dialects::shown::{Beside, shown};
use crate::error::{Error, ErrorKind};
use crate::patterns::{self, Reading};
use crate::terminals::around::looks_around;
use crate::terminals::edges::Edges;
use crate::terminals::regular::Re;
use crate::terminals::table::TableLimits;

/// The meaning of a tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meaning {
    pub(crate) reading: Reading,
    pub(crate) start: &'static str,
    /// True if every name must be defined, reached or not.
    pub(crate) all_names: bool,
    /// True if ignored text may come at both ends, whatever the grammar says.
    pub(crate) skip_at_ends: bool,
    /// True if ignored text may come behind the last lexeme.
    pub(crate) trailing_skip: bool,
    /// The extent of ignored text.
    pub(crate) ignores: Ignores,
    /// The text around a terminal that its looks see.
    pub(crate) edges: Edges,
    pub(crate) rules: NormalForm,
}

/// The form in which rules are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NormalForm {
    /// The rules that masks are made of soonest.
    Rewritten,
    /// All that were written, by which texts are read again.
    Kept,
}

/// States of terminals that are put together here, and not by the grammar's author: more are not
/// worth it, because the parser can read the parts as well.
const COLLAPSED: TableLimits = TableLimits {
    states: 1_500,
    work: 2_000_000,
};

/// The same where something short is repeated a number of times, as in `[^\n]{1,300}`: because a parser that reads each character
/// has other stacks behind each, and masks of 280,000 nodes. A character has up to eight states.
const COUNTED: TableLimits = TableLimits {
    states: 20_000,
    ..COLLAPSED
};

/// The work of parts of rules that are put together and turn out too large: beyond it there are fewer
/// tries, because an expression in which many are nested is tried at each of them: with 8 times as much HTML, iCalendar and
/// XML take half as long again, and no mask visits fewer nodes.
const COLLAPSED_IN_VAIN: usize = 2 * COLLAPSED.work;

/// The work of one expression that is put together when many were too large, because most of those
/// that are worth it need less.
const COLLAPSED_LITTLE: usize = COLLAPSED.work / 16;

/// The longest pattern that is put together, in bytes, because longer ones have too many states.
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
        begun: Vec::new(),
        states: 0,
        counts: 1,
        in_vain: 0,
        too_large: HashSet::new(),
        sampling: Sampling::default(),
    };
    let is_greedy = meaning.reading == Reading::Greedy;
    let root = lowering.rule_of("", 0);
    let start = lowering.nested(tree, 0)?;
    lowering.cfg.start = lowering.cfg.productions.len();
    lowering.push(root, vec![start]);
    lowering.run()?;
    if meaning.trailing_skip && lowering.scopes.len() > 1 {
        lowering.skip_behind_lexemes();
    }
    let limits = lowering.limits();
    let mut cfg = lowering.cfg;
    cfg.is_greedy = is_greedy;
    cfg.ignores = meaning.ignores;
    cfg.initial_skip = tree.initial_skip || meaning.skip_at_ends;
    cfg.trailing_skip = meaning.trailing_skip || meaning.skip_at_ends;
    let shadowed = match is_greedy {
        true => cfg.prefer_ignored(limits)?,
        false => None,
    };
    let tidied = match meaning.rules {
        NormalForm::Rewritten => cfg.tidy(),
        NormalForm::Kept => {
            let kept = cfg.drop_unproductive();
            kept.map(|()| cfg.find_start(root))
        }
    };
    match (tidied, shadowed) {
        (Err(error), Some(terminal)) if error.kind() == ErrorKind::EmptyLanguage => {
            let Terminal { name, at, .. } = &cfg.terminals[terminal as usize];
            let message = format!(
                "no text is in the language: `{name}` takes nothing but ignored text, which is read \
                 instead of it: take that out of `%ignore`"
            );
            Err(Error::new(ErrorKind::EmptyLanguage, message).at(text, *at))
        }
        (tidied, _) => tidied.map(|()| cfg),
    }
}

/// A grammar, or one that is nested in it.
struct Scope<'a> {
    tree: &'a Tree,
    /// The language of each rule that is known to be regular.
    regular: Vec<Option<Re>>,
    /// True if regular parts become terminals across the boundaries that were written.
    collapses: bool,
    /// The way in which lexemes of the rule that it is nested in are sampled.
    sampling: Sampling,
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
    /// Productions before which ignored text may come, each with its grammar.
    begun: Vec<(usize, usize)>,
    /// States of all terminals.
    states: usize,
    /// The product of the counts inside of which something is being lowered.
    counts: usize,
    /// The work of expressions that turned out too large to be put together.
    in_vain: usize,
    /// These expressions.
    too_large: HashSet<String>,
    /// The way in which lexemes of the rule that is being lowered are sampled.
    sampling: Sampling,
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
                    "the grammar has no rule `{}`, with which it begins: name its first rule so",
                    self.meaning.start
                ),
            ));
        };
        let is_lazy = |kind: &RuleKind| matches!(kind, RuleKind::Lazy | RuleKind::Suffix(_));
        let has_lazy = tree.rules.iter().any(|rule| is_lazy(&rule.kind));
        let is_lark = self.meaning.start == "start";
        let collapses = self.meaning.reading != Reading::Greedy
            && self.meaning.rules == NormalForm::Rewritten
            && tree.ignore.is_empty()
            && !(has_lazy && is_lark);
        self.scopes.push(Scope {
            tree,
            regular: vec![None; tree.rules.len()],
            collapses,
            sampling: self.sampling,
        });
        self.cfg.ignored.push(Vec::new());
        self.cfg.ignores_once.push(tree.ignores_once);
        self.find_regular(number, start)?;
        if !tree.ignore.is_empty() {
            let mut all = Vec::new();
            for expr in &tree.ignore {
                let re = self
                    .regular_in(number, expr, Inside::Terminal)?
                    .ok_or_else(|| {
                        Error::new(ErrorKind::Syntax, "`%ignore` takes terminals alone")
                            .in_rule("%ignore")
                    })?;
                all.push(re);
            }
            // Each goes as far as it can by itself, or all of them are one.
            let each: Vec<Re> = match self.meaning.ignores {
                Ignores::AsLexemes => vec![Re::Each(all.into())],
                Ignores::Longest => all.into_iter().map(|re| Re::Each([re].into())).collect(),
            };
            for re in each {
                let symbol = self.terminal(&re, false, number, "%ignore", at, self.limits())?;
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
                self.cfg.ignored[number].extend(symbol.and_then(|symbol| symbol.split().ok()));
            }
        }
        self.rule_symbol(number, start)
    }

    /// Lowers all rules that are reached.
    fn run(&mut self) -> Result<(), Error> {
        while let Some((scope, rule)) = self.open.pop() {
            let left = self.rules[&(scope, rule)];
            let tree = self.scopes[scope].tree;
            let rule = &tree.rules[rule];
            self.sampling = self.sampling_of(scope, rule);
            self.alternatives(scope, &rule.body, left)
                .map_err(|error| error.at(self.text, rule.at).in_rule(&rule.name))?;
        }
        Ok(())
    }

    /// Returns the way in which lexemes of a rule are sampled.
    fn sampling_of(&self, scope: usize, rule: &Rule) -> Sampling {
        let own = rule.host.sampling;
        Sampling {
            temperature: own.temperature.or(self.scopes[scope].sampling.temperature),
            ..own
        }
    }

    fn rule_symbol(&mut self, scope: usize, rule: usize) -> Result<Symbol, Error> {
        let tree = self.scopes[scope].tree;
        let own = &tree.rules[rule];
        let left = match self.rules.get(&(scope, rule)) {
            Some(&left) => return Ok(Symbol::rule(left)),
            None => self.rule_of(&own.name, own.at),
        };
        self.rules.insert((scope, rule), left);
        if self.meaning.rules == NormalForm::Kept {
            self.capture(scope, own, left)?;
        }
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
        let is_whole = own.host.sampling.max_tokens.is_some();
        let is_rule = own.kind == RuleKind::Rule && !is_whole;
        let commits = is_lazy && self.meaning.start == "start";
        let by_parts = is_rule || !is_lazy && !is_whole && self.meaning.reading != Reading::Greedy;
        let sampling = self.sampling_of(scope, own);
        let around = std::mem::replace(&mut self.sampling, sampling);
        let terminal = match is_rule {
            true => self.put_together(&re, COLLAPSED.work, scope, &own.name, own.at),
            false => {
                let limits = self.limits();
                let terminal = self.terminal(&re, commits, scope, &own.name, own.at, limits);
                terminal.map(Some)
            }
        };
        self.sampling = around;
        match terminal {
            Ok(Some(symbol)) => self.push(left, symbol.into_iter().collect()),
            Ok(None) => {
                self.scopes[scope].regular[rule] = None;
                self.open.push((scope, rule));
            }
            Err(error) if by_parts && error.kind() == ErrorKind::LimitExceeded => {
                self.scopes[scope].regular[rule] = None;
                self.open.push((scope, rule));
            }
            Err(error) => return Err(error.at(self.text, own.at).in_rule(&own.name)),
        }
        Ok(Symbol::rule(left))
    }

    /// The symbol of a terminal of something regular that is not lazy; `None` where that would be too large.
    fn put_together(
        &mut self,
        re: &Re,
        work: usize,
        scope: usize,
        name: &str,
        at: usize,
    ) -> Result<Option<Option<Symbol>>, Error> {
        // An alternative, a rule that has no other, and all parts of it are one expression.
        let key = format!("{:?}", re.bare());
        if self.too_large.contains(&key) {
            return Ok(None);
        }
        let limits = match re.bare() {
            Re::Repeat(of, _, Some(_)) if of.is_short() => COUNTED,
            _ => TableLimits { work, ..COLLAPSED },
        };
        match self.terminal(re, false, scope, name, at, limits) {
            Ok(symbol) => Ok(Some(symbol)),
            Err(error) if error.kind() == ErrorKind::LimitExceeded => {
                self.too_large.insert(key);
                Ok(None)
            }
            Err(error) => Err(error),
        }
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
        let key = match self.sampling {
            sampling if sampling == Sampling::default() => format!("{re:?}"),
            sampling => format!("{re:?}@{sampling:?}"),
        };
        let key = (key, is_lazy, scope as u32);
        if let Some(symbol) = self.known.get(&key) {
            return Ok(*symbol);
        }
        // Ignored text that goes as far as it can is a match, as under greedy lexing.
        let edges = match (re, self.meaning.ignores) {
            (Re::Each(_), Ignores::Longest) => Edges::Ignored,
            _ => self.meaning.edges,
        };
        let table = re
            .table(limits, edges)
            .map_err(|error| error.at(self.text, at))?;
        let is_nullable = !table.is_nothing() && table.is_nullable();
        let table = match is_nullable {
            true => table.without_empty(),
            false => table,
        };
        self.states += table.states();
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
            sampling: self.sampling,
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

    /// Takes up a grammar, with ignored text before it if it says so: where that text is put behind lexemes, it comes
    /// nowhere else.
    fn nested(&mut self, tree: &'a Tree, at: usize) -> Result<Symbol, Error> {
        let number = self.scopes.len();
        let start = self.scope(tree, at)?;
        if !tree.initial_skip || !self.meaning.trailing_skip {
            return Ok(start);
        }
        let rule = self.rule_of("", at);
        self.begun.push((self.cfg.productions.len(), number));
        self.push(rule, vec![start]);
        Ok(Symbol::rule(rule))
    }

    /// Puts ignored text behind each lexeme, that of the grammar whose lexeme it is: behind the last one of a nested
    /// grammar its own may come, and before the first one that of the grammar around it.
    fn skip_behind_lexemes(&mut self) {
        let ignored: Vec<Vec<u32>> = self.cfg.ignored.iter_mut().map(std::mem::take).collect();
        let count = self.cfg.productions.len();
        let mut skip = |own: &Vec<u32>| {
            let ignored = Symbol::terminal(*own.first()?);
            let rule = self.rule_of("%ignore", 0);
            self.push(rule, Vec::new());
            self.push(rule, vec![Symbol::rule(rule), ignored]);
            Some(Symbol::rule(rule))
        };
        let skips: Vec<Option<Symbol>> = ignored.iter().map(&mut skip).collect();
        for production in &mut self.cfg.productions[..count] {
            let skip_behind = |symbol: &Symbol| {
                let terminal = &self.cfg.terminals[symbol.split().ok()? as usize];
                skips[terminal.domain as usize]
            };
            let right = production.right.iter();
            let right = right.flat_map(|symbol| [Some(*symbol), skip_behind(symbol)]);
            production.right = right.flatten().collect();
        }
        for &(begun, scope) in &self.begun {
            let right = &mut self.cfg.productions[begun].right;
            *right = skips[scope].iter().chain(right.iter()).copied().collect();
        }
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
        let shown = Beside {
            all: together.iter().map(|one| one.1).collect(),
            sign: " | ",
        };
        if let Some(symbols) = self.collapsed(scope, &Re::Alt(all.collect()), shown)? {
            self.push(left, symbols);
            return Ok(());
        }
        for (re, alternative) in together {
            let right = match self.collapsed(scope, &re, alternative)? {
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

    fn symbols(
        &mut self,
        scope: usize,
        expr: &'a Expr,
        out: &mut Vec<Symbol>,
    ) -> Result<(), Error> {
        if self.scopes[scope].collapses
            && let Some(re) = self.regular(scope, expr)?
            && let Some(symbols) = self.collapsed(scope, &re, expr)?
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
            // Uses of templates were written out when the text was read.
            Expr::Empty | Expr::Use { .. } | Expr::If { .. } => {}
            // If every split counts, a boundary inside of it changes nothing.
            Expr::Regex { pattern, at }
                if self.meaning.reading != Reading::Greedy
                    && !looks_around(&Re::pattern(pattern.as_str()), self.meaning.edges) =>
            {
                let parsed = regex_syntax::ParserBuilder::new()
                    .nest_limit(patterns::MAX_NEST)
                    .build()
                    .parse(pattern);
                let hir = parsed.map_err(|error| {
                    self.fail(ErrorKind::Syntax, *at, format!("/{pattern}/: {error}"))
                })?;
                self.large(scope, &hir, *at, out)?;
            }
            Expr::Text { at, .. } | Expr::Regex { at, .. } | Expr::Substring { at, .. } => {
                self.own_terminal(scope, expr, *at, out)?;
            }
            Expr::Class(_) => {
                self.own_terminal(scope, expr, 0, out)?;
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
            Expr::And(_) | Expr::Not(_) | Expr::Most { .. } => {
                if !self.own_terminal(scope, expr, 0, out)? {
                    let message = match self.meaning.start {
                        FIRST_RULE => {
                            "a difference `A - B` is for expressions without recursion: take the difference of their parts"
                        }
                        _ => {
                            "`&` and `~` are for terminals alone: give the rule a name in capitals"
                        }
                    };
                    return Err(Error::new(ErrorKind::Unsupported, message));
                }
            }
            Expr::Json { schema, at } => {
                let (schema, options) = crate::compile::json::read(schema, self.meaning.reading);
                let automaton = SchemaAutomaton::new(&schema, &options).map_err(|error| {
                    self.fail(ErrorKind::Unsupported, *at, format!("`%json`: {error}"))
                })?;
                let matter = Matter::Json(automaton);
                out.push(self.add(matter, false, scope, "%json", *at));
            }
            Expr::Nested { tree, at } => out.push(self.nested(tree, *at)?),
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

    /// Appends the terminal of an expression; `false` if it is none.
    fn own_terminal(
        &mut self,
        scope: usize,
        expr: &'a Expr,
        at: usize,
        out: &mut Vec<Symbol>,
    ) -> Result<bool, Error> {
        let Some(re) = self.regular(scope, expr)? else {
            return Ok(false);
        };
        out.extend(self.terminal(&re, false, scope, &shown(expr), at, self.limits())?);
        Ok(true)
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
            let shown = Beside {
                all: together.iter().map(|one| one.1).collect(),
                sign: " ",
            };
            if let Some(symbols) = self.collapsed(scope, &Re::Seq(all), shown)? {
                out.extend(symbols);
                together.clear();
                return Ok(());
            }
        }
        for (re, part) in together.drain(..) {
            match self.collapsed(scope, &re, part)? {
                Some(symbols) => out.extend(symbols),
                None => self.structure(scope, part, out)?,
            }
        }
        Ok(())
    }
}
