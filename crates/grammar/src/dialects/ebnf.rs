//! Reads GBNF as llama.cpp does, and EBNF as XGrammar does.
//!
//! For example, `root ::= "yes" | "no"` is read alike in both, and `[^\n]` as well.

use crate::config::Config;
use crate::dialects::ast::{Expr, Host, Rule, RuleKind, Tree, negated, normal_ranges};
use crate::dialects::reader::Reader;
use crate::error::{Error, ErrorKind};

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notation {
    Gbnf,
    Ebnf,
}

pub(crate) fn parse(text: &str, notation: Notation, config: &Config) -> Result<Tree, Error> {
    let mut parser = EbnfParser {
        r: Reader::new(text, config.max_depth),
        notation,
        tree: Tree::default(),
    };
    parser.file()?;
    Ok(parser.tree)
}

/// The options of a rule.
#[derive(Default)]
struct EbnfOptions {
    is_lazy: bool,
    /// The characters that it takes, and where that is said.
    most: Option<(u32, usize)>,
    host: Host,
}

pub(crate) struct EbnfParser<'t> {
    pub(crate) r: Reader<'t>,
    notation: Notation,
    tree: Tree,
}

impl EbnfParser<'_> {
    fn is_gbnf(&self) -> bool {
        self.notation == Notation::Gbnf
    }

    /// Blanks and comments, with newlines where these may come.
    pub(crate) fn space(&mut self, newlines: bool) {
        space(&mut self.r, newlines);
    }

    fn is_name(&self, c: char) -> bool {
        let more = if self.is_gbnf() { "-" } else { "_-." };
        c.is_ascii_alphanumeric() || more.contains(c)
    }

    pub(crate) fn name(&mut self) -> Option<String> {
        let (notation, at) = (self.notation, self.r.at);
        let first = self.r.peek()?;
        if notation == Notation::Ebnf && !(first.is_ascii_alphabetic() || first == '_') {
            return None;
        }
        let this = &*self;
        let len = this.r.rest().find(|c| !this.is_name(c));
        let len = len.unwrap_or(self.r.rest().len());
        self.r.at += len;
        (len > 0).then(|| self.r.text[at..at + len].to_owned())
    }

    fn file(&mut self) -> Result<(), Error> {
        self.space(true);
        while self.r.peek().is_some() {
            self.rule()?;
            self.space(true);
        }
        Ok(())
    }

    fn rule(&mut self) -> Result<(), Error> {
        self.r.rule.clear();
        let at = self.r.at;
        let Some(name) = self.name() else {
            if self.is_gbnf() && self.r.peek() == Some('|') {
                return self.r.fail(
                    "a rule ends with its line: write `|` at the end of the line before, or the alternatives in \
                     parentheses",
                );
            }
            return self.r.expected(match self.is_gbnf() {
                true => "the name of a rule (letters, digits and `-`)",
                false => "the name of a rule (letters, digits, `_`, `-` and `.`)",
            });
        };
        self.r.rule.clone_from(&name);
        self.space(false);
        let mut options = EbnfOptions::default();
        if !self.is_gbnf() && self.r.take("[") {
            options = self.attributes()?;
        }
        if !self.r.take("::=") {
            let instead = |sign| self.instead_of(sign);
            return self.r.expected_not("`::=`", instead);
        }
        self.space(true);
        let mut body = self.alternatives(false)?;
        if let Some((chars, at)) = options.most {
            let of = Box::new(body);
            body = Expr::Most { of, chars, at };
        }
        if self.is_gbnf() {
            // A rule ends with its line, and all of its line is its own.
            match self.r.peek() {
                None | Some('\n' | '\r') => {}
                Some(_) => {
                    return self.r.expected("a new line or the end behind a rule");
                }
            }
        }
        let rule = Rule {
            name: name.clone(),
            at,
            body,
            kind: match options.is_lazy {
                true => RuleKind::Lazy,
                false => RuleKind::Rule,
            },
            host: options.host,
        };
        match self.tree.by_name.get(&name) {
            // The last one of a name counts, as llama.cpp has it.
            Some(&known) if self.is_gbnf() => self.tree.rules[known] = rule,
            Some(_) => {
                let error = Error::new(ErrorKind::Name, format!("`{name}` is defined twice"));
                return Err(self.r.place(error, at));
            }
            None => {
                self.tree.by_name.insert(name, self.tree.rules.len());
                self.tree.rules.push(rule);
            }
        }
        Ok(())
    }

    /// The options between a rule's name and `::=`, behind the bracket.
    fn attributes(&mut self) -> Result<EbnfOptions, Error> {
        let mut options = EbnfOptions::default();
        let mut seen: Vec<String> = Vec::new();
        loop {
            self.space(true);
            let at = self.r.at;
            let name = self.name().unwrap_or_default();
            if seen.contains(&name) {
                let message = format!("the option `{name}` is given twice");
                return self.r.fail_at(at, message);
            }
            match name.as_str() {
                "lazy" => options.is_lazy = true,
                "capture" => {
                    self.space(true);
                    let mut label = self.r.rule.clone();
                    if self.r.take("=") {
                        self.space(true);
                        label = self.literal()?;
                    }
                    options.host.capture = Some(label);
                }
                "max_chars" => {
                    self.value_follows()?;
                    options.most = Some((self.r.count()?, at));
                }
                "temperature" => {
                    self.value_follows()?;
                    options.host.sampling.temperature = Some(self.r.temperature()?);
                }
                "max_tokens" => {
                    self.value_follows()?;
                    options.host.sampling.max_tokens = Some(self.r.tokens()?);
                }
                _ => return self.r.refuse(at, format!("unknown option `{name}`")),
            }
            seen.push(name);
            self.space(true);
            if self.r.ends("]")? {
                self.space(true);
                if options.is_lazy && options.most.is_some() {
                    return self.r.refuse(
                        at,
                        "`lazy` and `max_chars` together are not supported: a lazy rule ends at its first end, leave \
                         `max_chars` out",
                    );
                }
                return Ok(options);
            }
        }
    }

    /// The sign before an option's value.
    fn value_follows(&mut self) -> Result<(), Error> {
        self.space(true);
        self.r.need("=")?;
        self.space(true);
        Ok(())
    }

    /// Tells whether what comes next begins another rule.
    fn begins_rule(&mut self) -> bool {
        let at = self.r.at;
        let mut begins = self.name().is_some();
        if begins {
            self.space(false);
            if self.r.take("[") {
                // Options, and not a class: names and numbers up to the bracket.
                self.r.take_while(|c| c != ']' && c != '\n');
                self.r.take("]");
                self.space(true);
            }
            begins = self.r.rest().starts_with("::=");
        }
        self.r.at = at;
        begins
    }

    /// Alternatives up to what cannot belong to them.
    fn alternatives(&mut self, nested: bool) -> Result<Expr, Error> {
        self.r.enter()?;
        let mut all = Vec::new();
        loop {
            all.push(self.sequence(nested)?);
            if !self.r.take("|") {
                break;
            }
            self.space(true);
        }
        self.r.leave();
        Ok(Expr::alt(all))
    }

    fn sequence(&mut self, nested: bool) -> Result<Expr, Error> {
        let newlines = nested || !self.is_gbnf();
        let at = self.r.at;
        let mut parts = Vec::new();
        loop {
            self.space(newlines);
            let Some(mut element) = self.element(nested)? else {
                break;
            };
            loop {
                let before = self.r.at;
                self.space(newlines);
                let Some((min, max)) = self.operator()? else {
                    self.r.at = before;
                    break;
                };
                element = element.repeat(min, max);
                if !self.is_gbnf() {
                    break;
                }
            }
            parts.push(element);
        }
        if parts.is_empty() && !self.is_gbnf() && !(nested && self.r.peek() == Some(')')) {
            let message = match self.r.peek() {
                Some('|') => {
                    "an alternative is empty: leave the `|` out, or write `\"\"` for the empty text"
                }
                _ => "an alternative is empty: write `\"\"` for the empty text",
            };
            return self.r.fail_at(at, message);
        }
        Ok(Expr::seq(parts))
    }

    /// The bounds of a repetition, if an operator comes next.
    fn operator(&mut self) -> Result<Option<(u32, Option<u32>)>, Error> {
        let at = self.r.at;
        let bounds = match self.r.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => {
                self.r.next();
                self.space(true);
                if self.r.peek() == Some(',') {
                    return self
                        .r
                        .fail("a repetition has no lower bound: write `{0,..}`");
                }
                let min = self.r.count()?;
                let max = self.r.upper_bound(min, |r| space(r, true))?;
                self.r.check_bounds(at, min, max)?;
                (min, max)
            }
            _ => return Ok(None),
        };
        self.r.next();
        Ok(Some(bounds))
    }

    /// One element.
    fn element(&mut self, nested: bool) -> Result<Option<Expr>, Error> {
        let at = self.r.at;
        let Some(c) = self.r.peek() else {
            return Ok(None);
        };
        let element = match c {
            '"' => {
                let text = self.literal()?;
                match text.is_empty() {
                    true => Expr::Empty,
                    false => Expr::text(text, at),
                }
            }
            '[' => self.class()?,
            '.' if self.is_gbnf() => {
                self.r.next();
                Expr::Class(negated(&[]))
            }
            '(' => {
                self.r.next();
                if self.r.peek() == Some('=') && !self.is_gbnf() {
                    return self.r.refuse(
                        at,
                        "the look-ahead `(= ..)` is not supported: it is a hint; leave it out",
                    );
                }
                self.space(true);
                let inner = self.alternatives(true)?;
                self.space(true);
                self.r.need(")")?;
                return Ok(Some(inner));
            }
            '<' | '!' if self.is_gbnf() => return self.token().map(Some),
            _ if !self.is_gbnf() && !nested && self.begins_rule() => return Ok(None),
            _ => {
                let Some(name) = self.name() else {
                    return match c {
                        '|' | ')' | '\n' | '\r' => Ok(None),
                        '\\' => Err(self.backslash()),
                        _ => self
                            .r
                            .expected_not("an element", |sign| self.instead_of(sign)),
                    };
                };
                if !self.is_gbnf() && self.r.peek() == Some('(') {
                    return self.call(&name, at).map(Some);
                }
                Expr::Name { name, at }
            }
        };
        Ok(Some(element))
    }

    /// Returns what to write in place of a sign of other notations, if that is known.
    #[cold]
    fn instead_of(&self, sign: char) -> &'static str {
        match sign {
            '\'' => ": texts stand in double quotes",
            '*' | '+' | '?' | '{' => ": an operator stands behind what it repeats",
            '.' => ": any character is written `[^]`",
            '/' if self.r.rest().starts_with("//") || self.r.rest().starts_with("/*") => {
                ": a comment begins with `#`"
            }
            '/' if self.is_gbnf() => {
                ": this notation has no regular expressions, write classes such as `[a-z]+`"
            }
            '/' => ": a regular expression is written `Regex(\"[a-z]+\")`",
            ';' => ": a rule has no sign at its end, leave it out",
            ',' => ": parts of a sequence stand side by side, leave it out",
            ':' | '=' => ": a rule is written `name ::= ..`",
            '_' if self.is_gbnf() => {
                ": names have letters, digits and `-`, write that in its place"
            }
            _ => "",
        }
    }

    /// The error about a backslash outside of a literal and a class, which elsewhere begins a class
    /// of characters.
    #[cold]
    fn backslash(&self) -> Error {
        let Some(class) = self.r.rest().chars().nth(1).and_then(class_of_escape) else {
            return self
                .r
                .error("expected an element, found '\\\\': characters stand in quotes");
        };
        let short: String = self.r.rest().chars().take(2).collect();
        self.r
            .error(format!("this notation has no `{short}`: write `{class}`"))
    }

    /// `<name>` or `<[number]>`.
    fn token(&mut self) -> Result<Expr, Error> {
        let at = self.r.at;
        if self.r.take("!") {
            return self
                .r
                .refuse_any_token(at, ["!<..>", "<[128000-128010]>", "exclude_token"]);
        }
        let name: String = format!("{}>", self.r.take_while(|c| c != '>' && c != '\n'));
        if !self.r.take(">") {
            return self.r.fail_at(at, "a token reference `<..>` has no end");
        }
        if let Some(list) = name
            .strip_prefix("<[")
            .and_then(|name| name.strip_suffix("]>"))
        {
            return self.r.numbered_tokens(list, at);
        }
        Ok(Expr::Special { name, at })
    }

    pub(crate) fn literal(&mut self) -> Result<String, Error> {
        let at = self.r.at;
        if !self.r.take("\"") {
            return self.r.expected("a string in quotes");
        }
        let mut text = String::new();
        loop {
            match self.r.next() {
                None => return self.r.fail_at(at, "a string has no end"),
                Some('"') => return Ok(text),
                Some('\n' | '\r') if !self.is_gbnf() => {
                    return self.r.fail_at(at, "a string has a line break: write `\\n`");
                }
                Some('\\') => text.push(self.escape(false)?),
                Some(c) => text.push(c),
            }
        }
    }

    /// The character of an escape, behind its backslash.
    fn escape(&mut self, in_class: bool) -> Result<char, Error> {
        let at = self.r.at - 1;
        let c = self.r.next();
        let bad = |this: &Self, what: &str| this.r.fail_at(at, what);
        let code = match c {
            Some('x') if self.is_gbnf() => {
                let before = self.r.at;
                let code = self.r.hex(2);
                if self.r.at != before + 2 {
                    return bad(self, "`\\x` needs two hexadecimal digits");
                }
                code
            }
            Some('x') => self.r.hex(8),
            Some(u @ ('u' | 'U')) => {
                let (digits, before) = (if u == 'u' { 4 } else { 8 }, self.r.at);
                let code = self.r.hex(digits);
                if self.r.at != before + digits {
                    return bad(self, "`\\u` needs four and `\\U` eight hexadecimal digits");
                }
                code
            }
            Some('t') => Some(9),
            Some('r') => Some(13),
            Some('n') => Some(10),
            Some(c @ ('\\' | '"' | '[' | ']')) => Some(c as u32),
            Some('-') if self.is_gbnf() || in_class => Some(45),
            Some(c @ ('\'' | '?' | '/')) if !self.is_gbnf() => Some(c as u32),
            Some('b') if !self.is_gbnf() => Some(8),
            Some('f') if !self.is_gbnf() => Some(12),
            Some('a') if !self.is_gbnf() => Some(7),
            Some('v') if !self.is_gbnf() => Some(11),
            Some('e') if !self.is_gbnf() => Some(27),
            Some('0') if !self.is_gbnf() => Some(0),
            Some(c) if in_class && !self.is_gbnf() && "^$.*+(){}|".contains(c) => Some(c as u32),
            Some(c) => {
                let class = class_of_escape(c).filter(|_| in_class);
                let instead = class.map_or(String::new(), |class| {
                    format!(": a class of its own in this notation is `{class}`")
                });
                return bad(self, &format!("unknown escape `\\{c}`{instead}"));
            }
            None => return bad(self, "an escape has no end"),
        };
        match code.and_then(char::from_u32) {
            Some(c) => Ok(c),
            None => bad(self, "the escape is no character"),
        }
    }

    fn class(&mut self) -> Result<Expr, Error> {
        let at = self.r.at;
        self.r.next();
        let negative = self.r.take("^");
        let mut ranges = Vec::new();
        let mut is_empty = true;
        let no_end = "a class `[..]` has no end";
        loop {
            let first = match self.r.next() {
                None => return self.r.fail_at(at, no_end),
                Some(']') => break,
                Some('\n' | '\r') if !self.is_gbnf() => return self.r.fail_at(at, no_end),
                Some('\\') => self.escape(true)?,
                Some(c) => c,
            };
            is_empty = false;
            let mut last = first;
            if self.r.peek() == Some('-') && !self.r.rest().starts_with("-]") {
                self.r.next();
                last = match self.r.next() {
                    None => return self.r.fail_at(at, no_end),
                    Some('\\') => self.escape(true)?,
                    Some(c) => c,
                };
            }
            if first > last {
                return self.r.fail_at(
                    at,
                    format!("the range {first:?} to {last:?} is in the wrong order"),
                );
            }
            ranges.push((first, last));
        }
        if is_empty && self.is_gbnf() {
            return Ok(Expr::Empty);
        }
        let ranges = normal_ranges(ranges);
        Ok(Expr::Class(match negative {
            true => negated(&ranges),
            false => ranges,
        }))
    }
}

/// Skips blanks and comments, and ends of lines where those mean nothing.
fn space(r: &mut Reader<'_>, newlines: bool) {
    loop {
        r.take_while(|c| matches!(c, ' ' | '\t') || newlines && matches!(c, '\n' | '\r'));
        if r.peek() != Some('#') {
            return;
        }
        r.skip_line();
    }
}

/// Returns the class that an escape of regular expressions stands for, as this notation writes it.
fn class_of_escape(c: char) -> Option<&'static str> {
    Some(match c {
        'd' => "[0-9]",
        'D' => "[^0-9]",
        'w' => "[A-Za-z0-9_]",
        'W' => "[^A-Za-z0-9_]",
        's' => r"[ \t\n\r]",
        'S' => r"[^ \t\n\r]",
        _ => return None,
    })
}
