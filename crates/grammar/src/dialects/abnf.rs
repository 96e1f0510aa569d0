//! Reads ABNF, the notation of the IETF's specifications: RFC 5234 with its core rules, and texts with a case (RFC 7405).
//!
//! For example, `year = 4DIGIT` is read, and `hex = %x30-39 / "a" / %s"F" ; "a" takes A, too`.

use crate::config::Config;
use crate::dialects::ast::{Expr, FIRST_RULE, Host, Rule, RuleKind, Tree};
use crate::dialects::reader::Reader;
use crate::error::{Error, ErrorKind};

/// The core rules of RFC 5234, appendix B, but `OCTET`: any byte is no text of UTF-8.
const CORE: [(&str, &str); 15] = [
    ("alpha", "[A-Za-z]"),
    ("bit", "[01]"),
    ("char", r"[\x01-\x7F]"),
    ("cr", r"\r"),
    ("crlf", r"\r\n"),
    ("ctl", r"[\x00-\x1F\x7F]"),
    ("digit", "[0-9]"),
    ("dquote", "\""),
    ("hexdig", "[0-9A-Fa-f]"),
    ("htab", r"\t"),
    ("lf", r"\n"),
    ("lwsp", r"(?:(?:\r\n)?[ \t])*"),
    ("sp", " "),
    ("vchar", r"[\x21-\x7E]"),
    ("wsp", r"[ \t]"),
];

pub(crate) fn parse(text: &str, config: &Config) -> Result<Tree, Error> {
    let mut parser = AbnfParser {
        r: Reader::new(text, config.max_depth),
        tree: Tree::default(),
        used: Vec::new(),
        margin: 0,
        rule_end: None,
    };
    parser.file()?;
    Ok(parser.tree)
}

struct AbnfParser<'t> {
    r: Reader<'t>,
    tree: Tree,
    /// The names that are used, in small letters, each with its place.
    used: Vec<(String, usize)>,
    /// The column of the first rule, from 0: lines that begin further right go on with a rule.
    margin: usize,
    /// The place behind white space at which another rule must begin, if [`AbnfParser::space`] came to one.
    rule_end: Option<usize>,
}

impl AbnfParser<'_> {
    fn file(&mut self) -> Result<(), Error> {
        self.space();
        let line = self.r.text[..self.r.at].rfind('\n').map_or(0, |at| at + 1);
        self.margin = self.r.at - line;
        while self.r.peek().is_some() {
            self.rule()?;
        }
        self.r.rule.clear();
        if self.tree.rules.is_empty() {
            return self.r.expected("a rule `name = elements`");
        }
        self.core()?;
        self.tree.by_name.insert(FIRST_RULE.to_owned(), 0);
        Ok(())
    }

    /// Adds the core rules that are used and that the grammar does not write itself.
    fn core(&mut self) -> Result<(), Error> {
        for (name, at) in std::mem::take(&mut self.used) {
            if self.tree.by_name.contains_key(&name) {
                continue;
            }
            if name == "octet" {
                let message =
                    "`OCTET` is any byte, and text is UTF-8: write `%x0-10FFFF` for any character";
                return self.r.refuse(at, message);
            }
            if let Some((name, pattern)) = CORE.iter().find(|core| core.0 == name) {
                let pattern = (*pattern).to_owned();
                self.add(&name.to_ascii_uppercase(), at, Expr::Regex { pattern, at });
            }
        }
        Ok(())
    }

    fn add(&mut self, name: &str, at: usize, body: Expr) {
        let number = self.tree.rules.len();
        self.tree.by_name.insert(name.to_ascii_lowercase(), number);
        self.tree.rules.push(Rule {
            name: name.to_owned(),
            at,
            body,
            kind: RuleKind::Rule,
            host: Host::default(),
        });
    }

    /// Blanks, ends of lines and comments. A line that begins at the margin or left of it is another rule's.
    fn space(&mut self) {
        let mut line = None;
        loop {
            self.r.take_while(|c| matches!(c, ' ' | '\t' | '\r'));
            if self.r.take("\n") {
                line = Some(self.r.at);
            } else if self.r.peek() == Some(';') {
                self.r.skip_line();
            } else {
                break;
            }
        }
        if line.is_some_and(|line| self.r.at - line <= self.margin) {
            self.rule_end = Some(self.r.at);
        }
    }

    fn is_over(&self) -> bool {
        self.r.peek().is_none() || self.rule_end == Some(self.r.at)
    }

    fn name(&mut self) -> Option<String> {
        if !self.r.peek()?.is_ascii_alphabetic() {
            return None;
        }
        let name = self.r.take_while(|c| c.is_ascii_alphanumeric() || c == '-');
        Some(name.to_owned())
    }

    fn rule(&mut self) -> Result<(), Error> {
        self.r.rule.clear();
        self.rule_end = None;
        let at = self.r.at;
        let Some(name) = self.name() else {
            return self
                .r
                .expected("the name of a rule (letters, digits and `-`)");
        };
        self.r.rule.clone_from(&name);
        self.space();
        if self.r.peek() != Some('=') || self.is_over() {
            let message = "`=` behind the name of a rule (a line that goes on with a rule begins further right than rules do)";
            return self.r.expected(message);
        }
        self.r.next();
        let goes_on = self.r.take("/");
        let body = self.choice()?;
        if !self.is_over() {
            return self.r.expected_not("an element", instead_of);
        }
        let known = self.tree.by_name.get(&name.to_ascii_lowercase()).copied();
        let message = match (known, goes_on) {
            (None, false) => {
                self.add(&name, at, body);
                return Ok(());
            }
            (Some(known), true) => {
                add_alternatives(&mut self.tree.rules[known].body, body);
                return Ok(());
            }
            (None, true) => {
                format!("`{name}` has no alternatives yet: the first ones stand behind `=`")
            }
            (Some(_), false) => {
                format!("`{name}` is defined twice: alternatives are added by `=/`")
            }
        };
        Err(self.r.place(Error::new(ErrorKind::Name, message), at))
    }

    /// Alternatives up to what cannot belong to them.
    fn choice(&mut self) -> Result<Expr, Error> {
        self.r.enter()?;
        let mut all = Vec::new();
        loop {
            all.push(self.sequence()?);
            if self.is_over() || !self.r.take("/") {
                break;
            }
        }
        self.r.leave();
        Ok(Expr::alt(all))
    }

    fn sequence(&mut self) -> Result<Expr, Error> {
        let mut parts = Vec::new();
        loop {
            self.space();
            match self.r.peek() {
                Some('/' | ')' | ']') if !parts.is_empty() => break,
                _ if self.is_over() && !parts.is_empty() => break,
                _ if self.is_over() => {
                    return self
                        .r
                        .expected("an element, right of the column of the rules");
                }
                _ => parts.push(self.item()?),
            }
        }
        Ok(Expr::seq(parts))
    }

    /// One element behind its counts.
    fn item(&mut self) -> Result<Expr, Error> {
        let at = self.r.at;
        let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        let min = match is_digit(self.r.peek()) {
            true => Some(self.r.count()?),
            false => None,
        };
        let max = match (self.r.take("*"), min) {
            (true, _) if is_digit(self.r.peek()) => Some(self.r.count()?),
            (true, _) => None,
            (false, None) => return self.element(),
            (false, count) => count,
        };
        let min = min.unwrap_or(0);
        self.r.check_bounds(at, min, max)?;
        if self.r.peek().is_none_or(char::is_whitespace) {
            return self.r.fail("a count stands directly before its element");
        }
        Ok(self.element()?.repeat(min, max))
    }

    fn element(&mut self) -> Result<Expr, Error> {
        let at = self.r.at;
        match self.r.peek() {
            Some('"') => self.literal(Case::Any),
            Some('%') => self.value(),
            Some('<') => {
                let message = "`<..>` is a description in words: write the rule that it speaks of, and a rule's name without brackets";
                self.r.refuse(at, message)
            }
            Some(open @ ('(' | '[')) => {
                self.r.next();
                let inner = self.choice()?;
                if self.is_over() {
                    return self.r.fail_at(at, format!("`{open}` is never closed"));
                }
                self.r.need(if open == '(' { ")" } else { "]" })?;
                Ok(match open {
                    '(' => inner,
                    _ => inner.repeat(0, Some(1)),
                })
            }
            _ => {
                let Some(name) = self.name() else {
                    return self.r.expected_not("an element", instead_of);
                };
                let name = name.to_ascii_lowercase();
                self.used.push((name.clone(), at));
                Ok(Expr::Name { name, at })
            }
        }
    }

    /// A text in quotes, without escapes.
    fn literal(&mut self, case: Case) -> Result<Expr, Error> {
        let at = self.r.at;
        self.r.need("\"")?;
        let text = self.r.take_while(|c| matches!(c, ' '..='~') && c != '"');
        match self.r.next() {
            Some('"') => {}
            None | Some('\n' | '\r') => {
                let message = "a text has no end on its line: a line break is written `%x0A`, a quotation mark `%x22`";
                return self.r.fail_at(at, message);
            }
            Some(c) => {
                let message = format!(
                    "a text in quotes is of printed ASCII: {c:?} is written `%x{:X}` beside it",
                    u32::from(c)
                );
                return self.r.fail_at(self.r.at - c.len_utf8(), message);
            }
        }
        Ok(match text.is_empty() {
            true => Expr::Empty,
            false => Expr::Text {
                text: text.to_owned(),
                ignore_case: case == Case::Any && text.contains(|c: char| c.is_ascii_alphabetic()),
                at,
            },
        })
    }

    /// Characters by their numbers, `%x41.42` or `%x41-5A`, or a text with its case.
    fn value(&mut self) -> Result<Expr, Error> {
        let at = self.r.at;
        self.r.next();
        let radix = match self.r.next().map(|c| c.to_ascii_lowercase()) {
            Some('s') => return self.literal(Case::Kept),
            Some('i') => return self.literal(Case::Any),
            Some('x') => 16,
            Some('d') => 10,
            Some('b') => 2,
            _ => {
                let message = "`%` begins `%x41` (hexadecimal), `%d65` (decimal), `%b1000001` (binary), `%s\"..\"` or `%i\"..\"`";
                return self.r.fail_at(at, message);
            }
        };
        let first = self.number(radix)?;
        if self.r.take("-") {
            let last = self.number(radix)?;
            if first > last {
                let message = format!("the range {first:?} to {last:?} is in the wrong order");
                return self.r.fail_at(at, message);
            }
            return Ok(Expr::Class(vec![(first, last)]));
        }
        let mut text = String::from(first);
        while self.r.take(".") {
            text.push(self.number(radix)?);
        }
        Ok(Expr::text(text, at))
    }

    fn number(&mut self, radix: u32) -> Result<char, Error> {
        let at = self.r.at;
        let digits = self.r.take_while(|c| c.is_ascii_alphanumeric());
        let number = u32::from_str_radix(digits, radix).ok();
        match number.and_then(char::from_u32) {
            Some(c) => Ok(c),
            None => {
                let message = format!(
                    "`{digits}` is no character by its number in base {radix}: numbers are those of Unicode, at most 10FFFF and none of D800 to DFFF (hexadecimal)"
                );
                self.r.fail_at(at, message)
            }
        }
    }
}

/// The case of the letters of ASCII in a text.
#[derive(Clone, Copy, PartialEq)]
enum Case {
    Any,
    Kept,
}

/// Adds what stands behind `=/`.
fn add_alternatives(body: &mut Expr, more: Expr) {
    match body {
        Expr::Alt(all) => all.push(more),
        first => {
            let first_ones = std::mem::replace(first, Expr::Empty);
            *first = Expr::Alt(vec![first_ones, more]);
        }
    }
}

/// Returns what to write in place of a sign of other notations, if that is known.
fn instead_of(sign: char) -> &'static str {
    match sign {
        '|' => ": alternatives stand between `/`",
        '\'' => ": texts stand in double quotes",
        '+' => ": one or more is written before the item, `1*item`",
        '?' => ": what may be left out stands in brackets, `[item]`",
        '{' | '}' => ": counts are written before the item, `2*4item`",
        '#' => ": a list `#item` is HTTP's own, write `item *( \",\" item )`",
        '=' => ": a rule begins in the column of the first one",
        ':' => ": a rule is written `name = elements`",
        '_' => ": names have letters, digits and `-`",
        ',' => ": parts of a sequence stand side by side, leave it out",
        '.' | '-' => ": characters by number are `%x41.42` or a range `%x41-5A`",
        _ => "",
    }
}
