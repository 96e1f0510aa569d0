//! The right side of a rule or a terminal: for example, `"a" [b] | /c+/`.

use serde_json::Value;

use super::schema_options::with_options;
use super::{LarkParser, space};
use crate::dialects::ast::Expr;
use crate::dialects::reader::Reader;
use crate::error::Error;
use crate::patterns::{Reading, translate};

impl LarkParser<'_> {
    /// Alternatives, over lines that begin with `|`.
    pub(super) fn expansions(&mut self, in_terminal: bool) -> Result<Expr, Error> {
        self.expansions_in(in_terminal, None)
    }

    fn expansions_in(&mut self, in_terminal: bool, close: Option<char>) -> Result<Expr, Error> {
        self.r.enter()?;
        let mut all = Vec::new();
        loop {
            all.push(self.expansion(in_terminal, close)?);
            let before = self.r.at;
            self.space(true);
            if !self.r.take("|") {
                if close.is_none() {
                    self.r.at = before;
                }
                break;
            }
        }
        self.r.leave();
        Ok(Expr::alt(all))
    }

    fn expansion(&mut self, in_terminal: bool, close: Option<char>) -> Result<Expr, Error> {
        let mut parts: Vec<Expr> = Vec::new();
        let mut and: Vec<Expr> = Vec::new();
        loop {
            self.space(close.is_some());
            let at = self.r.at;
            match self.r.peek() {
                None | Some('|' | '\n') => break,
                Some(c) if Some(c) == close => break,
                Some('}') if self.nested > 0 => break,
                Some('-') if self.r.take("->") => {
                    self.space(false);
                    if self.name().is_none() {
                        return self.r.fail("expected a name behind `->`");
                    }
                    continue;
                }
                Some('%') if self.r.rest().starts_with("%if") => {
                    let condition = self.condition()?;
                    let of = Box::new(Expr::seq(parts));
                    self.tree.has_uses = true;
                    return Ok(Expr::If { condition, of });
                }
                Some('&') => {
                    if !in_terminal {
                        return self.r.refuse(
                            at,
                            "`&` is for terminals alone: give the rule a name in capitals",
                        );
                    }
                    self.r.next();
                    and.push(Expr::seq(std::mem::take(&mut parts)));
                    continue;
                }
                Some(_) => {}
            }
            let element = self.repeated(in_terminal)?;
            parts.push(element);
        }
        let last = Expr::seq(parts);
        if and.is_empty() {
            return Ok(last);
        }
        and.push(last);
        Ok(Expr::And(and))
    }

    fn repeated(&mut self, in_terminal: bool) -> Result<Expr, Error> {
        let at = self.r.at;
        if self.r.take("~") {
            if !in_terminal {
                return self.r.refuse(
                    at,
                    "`~` is for terminals alone: give the rule a name in capitals",
                );
            }
            self.space(false);
            self.r.enter()?;
            let of = self.repeated_no_operators(in_terminal)?;
            self.r.leave();
            return self.operators(Expr::Not(Box::new(of)));
        }
        let atom = self.atom(in_terminal)?;
        self.operators(atom)
    }

    fn repeated_no_operators(&mut self, in_terminal: bool) -> Result<Expr, Error> {
        if self.r.take("~") {
            self.space(false);
            self.r.enter()?;
            let of = self.repeated_no_operators(in_terminal)?;
            self.r.leave();
            return Ok(Expr::Not(Box::new(of)));
        }
        self.atom(in_terminal)
    }

    fn operators(&mut self, of: Expr) -> Result<Expr, Error> {
        let before = self.r.at;
        self.space(false);
        let at = self.r.at;
        let (min, max) = match self.r.peek() {
            Some('?') => (0, Some(1)),
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('{') => {
                self.r.next();
                self.space(true);
                if self.r.peek() == Some('-') {
                    return self.r.fail_at(at, "a repetition's bound is negative");
                }
                let min = match self.r.peek() {
                    Some(',') => 0,
                    _ => self.r.count()?,
                };
                let max = self.r.upper_bound(min, |r| space(r, true))?;
                (min, max)
            }
            Some('~') => {
                self.r.next();
                self.space(false);
                if !self.r.peek().is_some_and(|c| c.is_ascii_digit()) {
                    self.r.at = before;
                    return Ok(of);
                }
                let min = self.r.count()?;
                let mut max = min;
                if self.r.take("..") {
                    max = self.r.count()?;
                }
                return self.bounded(of, at, min, Some(max));
            }
            _ => {
                self.r.at = before;
                return Ok(of);
            }
        };
        self.r.next();
        self.bounded(of, at, min, max)
    }

    fn bounded(&self, of: Expr, at: usize, min: u32, max: Option<u32>) -> Result<Expr, Error> {
        self.r.check_bounds(at, min, max)?;
        Ok(of.repeat(min, max))
    }

    pub(super) fn atom(&mut self, in_terminal: bool) -> Result<Expr, Error> {
        let at = self.r.at;
        match self.r.peek() {
            Some('(') => {
                self.r.next();
                let inner = self.expansions_in(in_terminal, Some(')'))?;
                match self.r.take(")") {
                    true => Ok(inner),
                    false => self.r.fail("expected `)` behind a group"),
                }
            }
            Some('[') => {
                self.r.next();
                let inner = self.expansions_in(in_terminal, Some(']'))?;
                match self.r.take("]") {
                    true => Ok(inner.repeat(0, Some(1))),
                    false => self.r.fail("expected `]` behind what is optional"),
                }
            }
            Some('"') => {
                let first = self.string()?;
                let before = self.r.at;
                self.space(false);
                if !self.r.take("..") {
                    self.r.at = before;
                    return Ok(first);
                }
                self.space(false);
                let last = self.string()?;
                let one = |expr: &Expr| match expr {
                    Expr::Text { text, .. } => {
                        let mut chars = text.chars();
                        chars.next().filter(|_| chars.next().is_none())
                    }
                    _ => None,
                };
                match (one(&first), one(&last)) {
                    (Some(first), Some(last)) if first <= last => {
                        Ok(Expr::Class(vec![(first, last)]))
                    }
                    (Some(_), Some(_)) => self.r.fail_at(at, "the range is in the wrong order"),
                    _ => self
                        .r
                        .fail_at(at, "a range's ends must be one character each"),
                }
            }
            Some('/') => self.regex(),
            Some('<') => self.special(in_terminal),
            Some('@') => self.r.refuse(
                at,
                "a grammar passed beside (`@name`) is not supported: nest it by `%lark { .. }`",
            ),
            Some('%') => self.value(in_terminal),
            _ => match self.name() {
                Some(name) => {
                    let arguments = self.arguments()?;
                    match arguments {
                        Some(arguments) => {
                            self.tree.has_uses = true;
                            Ok(Expr::Use {
                                name,
                                arguments,
                                at,
                            })
                        }
                        None => Ok(Expr::Name { name, at }),
                    }
                }
                None => self.r.expected("an element"),
            },
        }
    }

    pub(super) fn string(&mut self) -> Result<Expr, Error> {
        let at = self.r.at;
        if !self.r.take("\"") {
            return self.r.fail("expected a string in quotes");
        }
        let mut text = String::new();
        loop {
            match self.r.next() {
                None => return self.r.fail_at(at, "a string has no end"),
                Some('"') => break,
                Some('\n' | '\r') => {
                    return self.r.fail_at(at, "a string has a line break: write `\\n`");
                }
                Some('\\') => text.push(escape(&mut self.r, self.reading)?),
                Some(c) => text.push(c),
            }
        }
        let ignore_case = self.r.take("i");
        Ok(Expr::Text {
            text,
            ignore_case,
            at,
        })
    }

    pub(super) fn regex(&mut self) -> Result<Expr, Error> {
        let at = self.r.at;
        self.r.next();
        let from = self.r.at;
        let to = loop {
            let here = self.r.at;
            match self.r.next() {
                None => return self.r.fail_at(at, "a regular expression has no end `/`"),
                Some('/') => break here,
                Some('\\') => {
                    self.r.next();
                }
                Some(_) => {}
            }
        };
        let flags = self.r.take_while(|c| c.is_ascii_alphabetic());
        // A slash that is missing would take the one of another line.
        if !flags.contains('x') && self.r.text[from..to].contains('\n') {
            let message = "a regular expression has no end `/` on its line: one of several lines has the flag `x`";
            return self.r.fail_at(at, message);
        }
        let known = match self.reading {
            Reading::Ascii => "isu",
            _ => "imsux",
        };
        if let Some(flag) = flags.chars().find(|&c| !known.contains(c)) {
            return self.r.refuse(
                at,
                format!("the flag `{flag}` of a regular expression is not supported"),
            );
        }
        let pattern = translate(&self.r.text[from..to], flags, self.reading)
            .map_err(|error| self.r.place(error, at))?;
        Ok(Expr::Regex { pattern, at })
    }

    fn special(&mut self, in_terminal: bool) -> Result<Expr, Error> {
        let at = self.r.at;
        let name = format!("{}>", self.r.take_while(|c| c != '>' && c != '\n'));
        if !self.r.take(">") {
            return self.r.fail_at(at, "a special token `<..>` has no end");
        }
        if in_terminal {
            return self.r.fail_at(
                at,
                "special tokens cannot stand in terminals: name them in a rule",
            );
        }
        if name.contains(char::is_whitespace) {
            return self
                .r
                .fail_at(at, "a special token has no blanks in its name");
        }
        if let Some(list) = name
            .strip_prefix("<[")
            .and_then(|name| name.strip_suffix("]>"))
        {
            if list.starts_with(['^', '*']) {
                let sign = if list == "*" { "<[*]>" } else { "<[^..]>" };
                return self
                    .r
                    .refuse_any_token(at, [sign, "<[128000-128010]>", "exclude_token"]);
            }
            return self.r.numbered_tokens(list, at);
        }
        Ok(Expr::Special { name, at })
    }

    pub(super) fn json(&mut self, directive: &str, at: usize) -> Result<Value, Error> {
        self.space(true);
        let mut values = serde_json::Deserializer::from_str(self.r.rest()).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => {
                self.r.at += values.byte_offset();
                Ok(value)
            }
            Some(Err(error)) => self
                .r
                .fail_at(at, format!("`%{directive}` takes JSON: {error}")),
            None => self.r.fail_at(at, format!("`%{directive}` takes JSON")),
        }
    }

    /// `%json`, `%lark` or `%regex` in a rule.
    fn value(&mut self, in_terminal: bool) -> Result<Expr, Error> {
        let at = self.r.at;
        self.r.next();
        let name = self
            .r
            .take_while(|c| c.is_ascii_alphabetic() || c == '_')
            .to_owned();
        if in_terminal && name != "regex" {
            return self.r.fail_at(
                at,
                format!("`%{name}` cannot stand in a terminal: name it in a rule"),
            );
        }
        match name.as_str() {
            "json" => {
                let schema = self.json(&name, at)?;
                let schema = with_options(&self.r, self.reading, schema, at)?;
                Ok(Expr::Json { schema, at })
            }
            "regex" => {
                let value = self.json(&name, at)?;
                self.substring(&value, at)
            }
            "lark" => {
                self.space(true);
                if !self.r.take("{") {
                    return self.r.fail("expected `{` behind `%lark`");
                }
                self.r.enter()?;
                let outer = std::mem::take(&mut self.tree);
                self.nested += 1;
                let rule = self.r.rule.clone();
                self.file(true)?;
                self.r.rule = rule;
                self.r.leave();
                self.nested -= 1;
                let tree = Box::new(std::mem::replace(&mut self.tree, outer));
                Ok(Expr::Nested { tree, at })
            }
            _ => self.r.fail_at(at, format!("unknown value `%{name}`")),
        }
    }

    fn substring(&self, value: &Value, at: usize) -> Result<Expr, Error> {
        let wrong = |what: &str| self.r.fail_at(at, format!("`%regex` {what}"));
        let Value::Object(fields) = value else {
            return wrong("takes an object");
        };
        let mut fields = fields.iter();
        let (Some((name, value)), None) = (fields.next(), fields.next()) else {
            return wrong("takes one of `substring_chunks`, `substring_words`, `substring_chars`");
        };
        let chunks = match (name.as_str(), value) {
            ("substring_chunks", Value::Array(chunks)) => {
                let chunks = chunks.iter().map(|chunk| chunk.as_str().map(str::to_owned));
                match chunks.collect::<Option<Vec<String>>>() {
                    Some(chunks) => chunks,
                    None => return wrong("`substring_chunks` takes strings"),
                }
            }
            ("substring_chars", Value::String(text)) => text.chars().map(String::from).collect(),
            ("substring_words", Value::String(text)) => words(text),
            ("substring_chunks", _) => {
                return wrong("`substring_chunks` takes an array of strings");
            }
            ("substring_chars" | "substring_words", _) => {
                return wrong(&format!("`{name}` takes a string"));
            }
            _ => return wrong(&format!("has no `{name}`")),
        };
        Ok(Expr::Substring { chunks, at })
    }
}

/// Reads an escape of a string behind its backslash.
fn escape(r: &mut Reader<'_>, reading: Reading) -> Result<char, Error> {
    let at = r.at - 1;
    let wrong = |r: &Reader<'_>| {
        r.fail_at(
            at,
            "the escape is no character: JSON's are known, as `\\n` and `\\u00e9`",
        )
    };
    let code = match r.next() {
        Some('"') => 34,
        Some('\\') => 92,
        Some('/') => 47,
        Some('\'') => 39,
        Some('b') => 8,
        Some('f') => 12,
        Some('n') => 10,
        Some('r') => 13,
        Some('t') => 9,
        Some('v') if reading != Reading::Greedy => 11,
        Some('x') => {
            let before = r.at;
            match r.hex(2) {
                Some(code) if r.at == before + 2 => code,
                _ => return wrong(r),
            }
        }
        Some('u') => {
            let before = r.at;
            let code = match r.hex(4) {
                Some(code) if r.at == before + 4 => code,
                _ => return wrong(r),
            };
            // A pair of surrogates is one character.
            if (0xD800..0xDC00).contains(&code) && r.take("\\u") {
                match r.hex(4) {
                    Some(low) if (0xDC00..0xE000).contains(&low) => {
                        0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)
                    }
                    _ => return wrong(r),
                }
            } else {
                code
            }
        }
        // Python keeps the backslash of an escape that it does not know.
        Some(c) if reading == Reading::Splits => {
            r.at -= c.len_utf8();
            92
        }
        _ => return wrong(r),
    };
    match char::from_u32(code) {
        Some(c) => Ok(c),
        None => wrong(r),
    }
}

/// Runs of letters and digits, runs of blanks, and other characters one by one.
fn words(text: &str) -> Vec<String> {
    let kind = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' => 0,
        c if c.is_whitespace() => 1,
        _ => 2,
    };
    let mut out: Vec<String> = Vec::new();
    let mut last = None;
    for c in text.chars() {
        match out.last_mut() {
            Some(word) if last == Some(kind(c)) && kind(c) != 2 => word.push(c),
            _ => out.push(c.to_string()),
        }
        last = Some(kind(c));
    }
    out
}
