//! Reads Lark as llguidance does, and as the `lark` package and XGrammar do where these say more.
//!
//! For example, `start: "a" NAME` with `NAME: /[a-z]+/` has a rule and a terminal.

mod expression;
mod parameters;
mod schema_options;

use serde_json::Value;

use crate::config::Config;
use crate::dialects::ast::{Expr, Host, Parameters, Rule, RuleKind, Sampling, Template, Tree};
use crate::dialects::common;
use crate::dialects::instances::write_out;
use crate::dialects::reader::Reader;
use crate::error::{Error, ErrorKind};
use crate::patterns::Reading;

pub(crate) use self::schema_options::SETTINGS;

pub(crate) fn parse(text: &str, reading: Reading, config: &Config) -> Result<Tree, Error> {
    let mut parser = LarkParser {
        r: Reader::new(text, config.max_depth),
        reading,
        tree: Tree::default(),
        nested: 0,
        max_work: config.max_work,
    };
    parser.file(false)?;
    Ok(parser.tree)
}

struct LarkParser<'t> {
    r: Reader<'t>,
    reading: Reading,
    /// The grammar that is being read.
    tree: Tree,
    /// In how many others it is.
    nested: usize,
    /// The steps that writing out templates may take.
    max_work: usize,
}

/// The options of a rule.
#[derive(Default)]
struct Options {
    is_lazy: bool,
    suffix: Option<Expr>,
    host: Host,
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// Tells whether a name is a terminal's.
pub(crate) fn is_terminal(name: &str) -> bool {
    name.trim_start_matches('_')
        .starts_with(|c: char| c.is_ascii_uppercase())
}

impl LarkParser<'_> {
    /// Blanks and comments.
    fn space(&mut self, newlines: bool) {
        space(&mut self.r, newlines);
    }

    fn name(&mut self) -> Option<String> {
        let first = self.r.peek()?;
        if !(first.is_ascii_alphabetic() || first == '_') {
            return None;
        }
        let mut name = self.r.take_while(is_name);
        // A `->` behind a name is no part of it.
        if name.ends_with('-') && self.r.peek() == Some('>') {
            self.r.at -= 1;
            name = &name[..name.len() - 1];
        }
        Some(name.to_owned())
    }

    /// Definitions up to the end, or to the closing brace of a nested grammar.
    fn file(&mut self, nested: bool) -> Result<(), Error> {
        loop {
            self.r.rule.clear();
            self.space(true);
            match self.r.peek() {
                None if nested => return self.r.fail("a nested grammar has no `}`"),
                None => return write_out(&mut self.tree, self.r.text, self.max_work),
                Some('}') if nested => {
                    self.r.next();
                    return write_out(&mut self.tree, self.r.text, self.max_work);
                }
                Some('%') => self.directive()?,
                Some(_) => self.definition()?,
            }
        }
    }

    fn directive(&mut self) -> Result<(), Error> {
        let at = self.r.at;
        self.r.next();
        let name = self
            .r
            .take_while(|c| c.is_ascii_alphabetic() || c == '_')
            .to_owned();
        self.space(false);
        match name.as_str() {
            "import" => self.import(at),
            "ignore" => {
                self.r.rule = "%ignore".to_owned();
                let expr = self.expansions(true)?;
                self.tree.ignore.push(expr);
                self.end_of_line()
            }
            "llguidance" | "grammar_options" => self.options(&name, at),
            "declare" | "override" | "extend" => self.r.refuse(
                at,
                format!("`%{name}` is not supported: define the terminal here"),
            ),
            _ => self.r.fail_at(at, format!("unknown directive `%{name}`")),
        }
    }

    fn options(&mut self, directive: &str, at: usize) -> Result<(), Error> {
        let value = self.json(directive, at)?;
        let Value::Object(options) = value else {
            return self
                .r
                .fail_at(at, format!("`%{directive}` takes an object"));
        };
        for (name, value) in options {
            let Value::Bool(is) = value else {
                return self.r.fail_at(
                    at,
                    format!("the option `{name}` of `%{directive}` must be true or false"),
                );
            };
            let is_ours = directive == "llguidance";
            match name.as_str() {
                "allow_initial_skip" => self.tree.initial_skip = is,
                "ignore_once" if is_ours && self.reading == Reading::Greedy => {
                    self.tree.ignores_once = is;
                }
                // Nothing is forced by a grammar, and bytes are its author's matter.
                "no_forcing" if is_ours => {}
                "allow_invalid_utf8" if is_ours => {
                    if is {
                        return self.r.refuse(
                            at,
                            "the option `allow_invalid_utf8` is not supported: texts are UTF-8",
                        );
                    }
                }
                _ => {
                    return self.r.refuse(
                        at,
                        format!("the option `{name}` of `%{directive}` is not supported"),
                    );
                }
            }
        }
        Ok(())
    }

    fn import(&mut self, at: usize) -> Result<(), Error> {
        let path = self.r.take_while(|c| is_name(c) || c == '.').to_owned();
        let (module, one) = match path.split_once('.') {
            Some((module, one)) => (module, Some(one)),
            None => (path.as_str(), None),
        };
        if module != "common" {
            return self.r.refuse(
                at,
                format!(
                    "`%import {path}`: only `common` can be imported from: {}",
                    common::names()
                ),
            );
        }
        let mut names = Vec::new();
        match one {
            Some(one) => {
                // The name that comes behind `->`, or its own.
                let mut one = one;
                let mut alias = None;
                if let Some(trimmed) = one.strip_suffix('-')
                    && self.r.rest().starts_with('>')
                {
                    one = trimmed;
                    self.r.at -= 1;
                }
                self.space(false);
                if self.r.take("->") {
                    self.space(false);
                    alias = Some(
                        self.name()
                            .ok_or_else(|| self.r.error("expected a name behind `->`"))?,
                    );
                }
                names.push((one.to_owned(), alias));
            }
            None => {
                self.space(false);
                if !self.r.take("(") {
                    return self
                        .r
                        .fail("expected `.` and a name, or names in parentheses");
                }
                loop {
                    self.space(true);
                    let name = self.name().ok_or_else(|| self.r.error("expected a name"))?;
                    names.push((name, None));
                    self.space(true);
                    if self.r.ends(")")? {
                        break;
                    }
                }
            }
        }
        for (name, alias) in names {
            let Some(pattern) = common::terminal(&name) else {
                return self.r.refuse(
                    at,
                    format!("`common` has no `{name}`; it has {}", common::names()),
                );
            };
            // XGrammar lets strings go over lines, but not behind a backslash.
            let own = (name == "ESCAPED_STRING" && self.reading == Reading::Ascii)
                .then_some(r#""(?:[^"\\]|\\[^\n])*""#);
            let rule = Rule {
                name: alias.unwrap_or(name),
                at,
                body: Expr::Regex {
                    pattern: own.unwrap_or(pattern).to_owned(),
                    at,
                },
                kind: RuleKind::Terminal,
                host: Host::default(),
            };
            self.define(rule)?;
        }
        self.end_of_line()
    }

    fn end_of_line(&mut self) -> Result<(), Error> {
        self.space(false);
        match self.r.peek() {
            None | Some('\n') => Ok(()),
            Some('}') if self.nested > 0 => Ok(()),
            Some(_) => self.r.expected("the end of the line"),
        }
    }

    fn define(&mut self, rule: Rule) -> Result<(), Error> {
        self.is_new(&rule.name, rule.at)?;
        let tree = &mut self.tree;
        tree.by_name.insert(rule.name.clone(), tree.rules.len());
        tree.rules.push(rule);
        Ok(())
    }

    /// Refuses a name that has a rule or a template.
    fn is_new(&self, name: &str, at: usize) -> Result<(), Error> {
        let mut templates = self.tree.templates.iter();
        if self.tree.by_name.contains_key(name) || templates.any(|one| one.name == name) {
            let error = Error::new(ErrorKind::Name, format!("`{name}` is defined twice"));
            return Err(self.r.place(error, at));
        }
        Ok(())
    }

    fn definition(&mut self) -> Result<(), Error> {
        let at = self.r.at;
        while self.r.take("!") || self.r.take("?") {}
        let Some(name) = self.name() else {
            return self.r.expected("a rule, a terminal or a directive");
        };
        self.r.rule.clone_from(&name);
        let is_terminal = is_terminal(&name);
        let here = self.r.at;
        let mut parameters = match self.r.peek() {
            Some('{') => Some(Parameters::Named(self.parameters()?)),
            _ => None,
        };
        if self.r.take(".") {
            self.r.take("-");
            self.r.take_while(|c| c.is_ascii_digit());
            if self.reading == Reading::Greedy {
                return self.r.refuse(
                    here,
                    "priorities are not supported: greedy lexing keeps all equal matches; leave it out",
                );
            }
        }
        self.space(false);
        let mut options = Options::default();
        if self.r.take("[") {
            if is_terminal {
                return self
                    .r
                    .fail_at(here, "options are for rules, not for terminals");
            }
            options = self.attributes()?;
            self.space(false);
        }
        if self.r.rest().starts_with("::") {
            self.own_number()?;
            if parameters.is_some() {
                return self
                    .r
                    .fail_at(here, "a rule has parts as parameters or a number, not both");
            }
            parameters = Some(Parameters::Number);
        }
        if is_terminal && parameters.is_some() {
            return self.r.fail_at(
                here,
                "a terminal has no parameters: give the rule a name in small letters",
            );
        }
        self.r.need(":")?;
        self.space(false);
        let is_value = ["%json", "%lark", "%regex"]
            .iter()
            .any(|value| self.r.rest().starts_with(value));
        let is_lexeme = is_terminal || options.host.sampling != Sampling::default() && !is_value;
        let body = self.expansions(is_lexeme || options.is_lazy || options.suffix.is_some())?;
        self.end_of_line()?;
        let host = options.host;
        let kind = match (options.suffix, options.is_lazy) {
            (Some(suffix), _) => RuleKind::Suffix(suffix),
            (None, true) => RuleKind::Lazy,
            (None, false) if is_lexeme => RuleKind::Terminal,
            (None, false) => RuleKind::Rule,
        };
        let Some(parameters) = parameters else {
            return self.define(Rule {
                name,
                at,
                body,
                kind,
                host,
            });
        };
        self.is_new(&name, at)?;
        self.tree.templates.push(Template {
            name,
            at,
            parameters,
            body,
            kind,
            host,
        });
        Ok(())
    }

    /// A rule's options, behind the bracket.
    fn attributes(&mut self) -> Result<Options, Error> {
        let mut options = Options::default();
        let mut seen: Vec<String> = Vec::new();
        loop {
            self.space(true);
            let at = self.r.at;
            let name = self.name().unwrap_or_default();
            if seen.contains(&name) {
                return self
                    .r
                    .fail_at(at, format!("the option `{name}` is given twice"));
            }
            self.space(true);
            let has_value = self.r.take("=");
            self.space(true);
            match (name.as_str(), has_value) {
                ("lazy", false) => options.is_lazy = true,
                ("capture", false) => options.host.capture = Some(self.r.rule.clone()),
                ("capture" | "stop_capture", true) => {
                    let label = self.string()?;
                    let Expr::Text { text, .. } = label else {
                        return self.r.fail_at(at, format!("`{name}` takes a string"));
                    };
                    if text.is_empty() {
                        return self
                            .r
                            .fail_at(at, "the name of a capture must not be empty");
                    }
                    if !text.chars().all(|c| is_name(c) || c == '.') {
                        return self.r.fail_at(
                            at,
                            "the name of a capture has letters, digits, `_`, `-` and `.`",
                        );
                    }
                    match name.as_str() {
                        "capture" => options.host.capture = Some(text),
                        _ => options.host.marker = Some(text),
                    }
                }
                ("suffix", true) if seen.iter().any(|name| name == "stop") => {
                    return self.r.fail_at(at, "`stop` and `suffix` cannot be combined");
                }
                ("suffix", true) => options.suffix = Some(self.marker(at)?),
                ("stop", true) if seen.iter().any(|name| name == "suffix") => {
                    return self.r.fail_at(at, "`stop` and `suffix` cannot be combined");
                }
                ("stop", true) if self.reading == Reading::Greedy && self.r.take("\"\"") => {
                    options.host.sampling.to_end = true;
                }
                // The text stays, as in llguidance wherever its host takes nothing back.
                ("stop", true) => options.suffix = Some(self.marker(at)?),
                ("temperature", true) => {
                    options.host.sampling.temperature = Some(self.r.temperature()?);
                }
                ("max_tokens", true) => options.host.sampling.max_tokens = Some(self.r.tokens()?),
                ("max_chars", true) => {
                    let message = "`max_chars` is not supported in Lark: bound the terminal by a repetition such as \
                                   `/.{0,100}/`";
                    return self.r.refuse(at, message);
                }
                _ => return self.r.fail_at(at, format!("unknown option `{name}`")),
            }
            seen.push(name);
            self.space(true);
            if self.r.ends("]")? {
                let has = |name: &str| seen.iter().any(|seen| seen == name);
                if has("stop_capture") && !has("suffix") && !has("stop") {
                    return self.r.fail_at(at, "`stop_capture` needs `suffix`");
                }
                return Ok(options);
            }
        }
    }

    /// Reads what `suffix` names: a string, a regular expression or a terminal.
    fn marker(&mut self, at: usize) -> Result<Expr, Error> {
        let here = self.r.at;
        let marker = match self.r.peek() {
            Some('"') => self.string()?,
            Some('/') => self.regex()?,
            _ => match self.name() {
                Some(name) if is_terminal(&name) => Expr::Name { name, at: here },
                _ => {
                    return self.r.fail_at(
                        here,
                        "`suffix` takes a string, a regular expression or a terminal",
                    );
                }
            },
        };
        match &marker {
            Expr::Text { text, .. } if text.is_empty() => {
                self.r.fail_at(at, "`suffix` must not be empty")
            }
            _ => Ok(marker),
        }
    }
}

/// Skips blanks and comments, and ends of lines where those mean nothing.
fn space(r: &mut Reader<'_>, newlines: bool) {
    loop {
        r.take_while(|c| matches!(c, ' ' | '\t' | '\r' | '\x0C') || newlines && c == '\n');
        let is_comment = r.rest().starts_with("//") || r.peek() == Some('#');
        if !is_comment {
            return;
        }
        r.skip_line();
    }
}
