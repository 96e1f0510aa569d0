//! Reads the notation in which the W3C writes grammars, as its recommendation of XML has it in section 6.
//!
//! For example, `Comment ::= '<!--' ((Char - '-') | ('-' (Char - '-')))* '-->'` is read, and `Char ::= #x9 | [#x20-#xD7FF]`.

use crate::config::Config;
use crate::dialects::ast::{Expr, FIRST_RULE, Host, Rule, RuleKind, Tree, negated, normal_ranges};
use crate::dialects::reader::Reader;
use crate::error::{Error, ErrorKind};

/// The labels of notes in brackets behind a rule, because constraints that are said in words are no sets.
const NOTES: [&str; 3] = ["wfc:", "vc:", "nsc:"];

pub(crate) fn parse(text: &str, config: &Config) -> Result<Tree, Error> {
    let mut parser = W3cParser {
        r: Reader::new(text, config.max_depth),
        tree: Tree::default(),
        hyphened: Vec::new(),
    };
    parser.file()?;
    Ok(parser.tree)
}

struct W3cParser<'t> {
    r: Reader<'t>,
    tree: Tree,
    /// The names with a hyphen in them that are used, each with its place.
    hyphened: Vec<(String, usize)>,
}

impl W3cParser<'_> {
    fn file(&mut self) -> Result<(), Error> {
        self.space()?;
        while self.r.peek().is_some() {
            self.rule()?;
            self.space()?;
        }
        self.r.rule.clear();
        if self.tree.rules.is_empty() {
            return self.r.expected("a rule `name ::= expression`");
        }
        let undefined = |name: &&(String, usize)| !self.tree.by_name.contains_key(&name.0);
        if let Some((name, at)) = self.hyphened.iter().find(undefined) {
            let message =
                format!("`{name}` is not defined: a difference has blanks around its `-`");
            return Err(self.r.place(Error::new(ErrorKind::Name, message), *at));
        }
        self.tree.by_name.insert(FIRST_RULE.to_owned(), 0);
        Ok(())
    }

    /// Blanks, ends of lines and comments.
    fn space(&mut self) -> Result<(), Error> {
        loop {
            self.r
                .take_while(|c| matches!(c, ' ' | '\t' | '\r' | '\n' | '\u{A0}'));
            let at = self.r.at;
            if !self.r.take("/*") {
                return Ok(());
            }
            match self.r.rest().find("*/") {
                Some(len) => self.r.at += len + 2,
                None => return self.r.fail_at(at, "a comment `/* .. */` has no end"),
            }
        }
    }

    fn name(&mut self) -> Option<String> {
        let first = self.r.peek()?;
        if !(first.is_ascii_alphabetic() || first == '_') {
            return None;
        }
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let at = self.r.at;
        self.r.take_while(is_part);
        // A hyphen belongs to a name if the name goes on behind it.
        while self.r.rest().starts_with('-')
            && self.r.rest()[1..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        {
            self.r.at += 1;
            self.r.take_while(is_part);
        }
        Some(self.r.text[at..self.r.at].to_owned())
    }

    /// The number in brackets before a rule, at the beginning of a line: for example, `[28a]`.
    fn number(&mut self) {
        let before = self.r.at;
        if !self.r.take("[") {
            return;
        }
        let line = self.r.text[..before].trim_end_matches([' ', '\t', '\u{A0}']);
        if !(line.is_empty() || line.ends_with('\n')) {
            self.r.at = before;
            return;
        }
        let digits = self.r.take_while(|c| c.is_ascii_digit());
        self.r.take_while(|c| c.is_ascii_lowercase());
        if digits.is_empty() || !self.r.take("]") {
            self.r.at = before;
        }
    }

    fn rule(&mut self) -> Result<(), Error> {
        self.r.rule.clear();
        if self.r.peek() == Some('@') {
            let message = "directives such as `@pass` are no part of the notation: write white space where it may come";
            return self.r.refuse(self.r.at, message);
        }
        self.number();
        self.space()?;
        let at = self.r.at;
        let Some(name) = self.name() else {
            return self
                .r
                .expected("the name of a rule (letters, digits, `_`, `-` and `.`)");
        };
        self.r.rule.clone_from(&name);
        self.space()?;
        self.r.need("::=")?;
        let body = self.choice()?;
        if self.r.peek().is_some() && !self.begins_rule()? && self.r.peek() != Some('@') {
            return self.r.expected_not("an expression", instead_of);
        }
        if self.tree.by_name.contains_key(&name) {
            let error = Error::new(ErrorKind::Name, format!("`{name}` is defined twice"));
            return Err(self.r.place(error, at));
        }
        self.tree
            .by_name
            .insert(name.clone(), self.tree.rules.len());
        self.tree.rules.push(Rule {
            name,
            at,
            body,
            kind: RuleKind::Rule,
            host: Host::default(),
        });
        Ok(())
    }

    /// Tells whether what comes next begins another rule.
    fn begins_rule(&mut self) -> Result<bool, Error> {
        let at = self.r.at;
        self.number();
        self.space()?;
        let mut begins = self.name().is_some();
        if begins {
            self.space()?;
            begins = self.r.rest().starts_with("::=");
        }
        self.r.at = at;
        Ok(begins)
    }

    /// Alternatives up to what cannot belong to them.
    fn choice(&mut self) -> Result<Expr, Error> {
        self.r.enter()?;
        let mut all = Vec::new();
        loop {
            all.push(self.sequence()?);
            if !self.r.take("|") {
                break;
            }
        }
        self.r.leave();
        Ok(Expr::alt(all))
    }

    /// Items side by side, or the difference of two.
    fn sequence(&mut self) -> Result<Expr, Error> {
        let mut parts = Vec::new();
        let mut difference = None;
        loop {
            self.space()?;
            let at = self.r.at;
            let alone = "a difference stands alone: write parentheses around `A - B`";
            if self.r.take("-") {
                difference = Some(at);
                if parts.len() != 1 {
                    return self.r.fail_at(at, alone);
                }
                self.space()?;
            } else if difference.is_some() && parts.len() == 2 {
                let Some(_) = self.item()? else { break };
                return self.r.fail_at(at, alone);
            }
            match self.item()? {
                Some(item) => parts.push(item),
                None if difference.is_some() => return self.r.expected("an expression"),
                None => break,
            }
        }
        if difference.is_none() {
            return Ok(Expr::seq(parts));
        }
        let without = parts.pop().map(|part| Expr::Not(Box::new(part)));
        parts.extend(without);
        Ok(Expr::And(parts))
    }

    /// One part with its operators, if one comes next.
    fn item(&mut self) -> Result<Option<Expr>, Error> {
        let Some(mut item) = self.primary()? else {
            return Ok(None);
        };
        loop {
            let before = self.r.at;
            self.space()?;
            let (min, max) = match self.r.peek() {
                Some('?') => (0, Some(1)),
                Some('*') => (0, None),
                Some('+') => (1, None),
                _ => {
                    self.r.at = before;
                    return Ok(Some(item));
                }
            };
            self.r.next();
            item = item.repeat(min, max);
        }
    }

    fn primary(&mut self) -> Result<Option<Expr>, Error> {
        let at = self.r.at;
        let item = match self.r.peek() {
            None | Some('|' | ')' | '-' | '@') => return Ok(None),
            Some(quote @ ('"' | '\'')) => self.literal(quote)?,
            Some('#') => {
                let c = self.code()?;
                Expr::Class(vec![(c, c)])
            }
            Some('[') => {
                if self.begins_rule()? {
                    return Ok(None);
                }
                if self.note()? {
                    self.space()?;
                    return self.primary_behind_note();
                }
                self.class()?
            }
            Some('(') => {
                self.r.next();
                let inner = self.choice()?;
                self.r.need(")")?;
                inner
            }
            Some(_) => {
                if self.begins_rule()? {
                    return Ok(None);
                }
                let Some(name) = self.name() else {
                    return self.r.expected_not("an expression", instead_of);
                };
                if name.contains('-') {
                    self.hyphened.push((name.clone(), at));
                }
                Expr::Name { name, at }
            }
        };
        Ok(Some(item))
    }

    /// Reads what stands behind notes, which end a rule.
    fn primary_behind_note(&mut self) -> Result<Option<Expr>, Error> {
        while self.note()? {
            self.space()?;
        }
        match self.r.peek() {
            None | Some('@') => Ok(None),
            Some(_) if self.begins_rule()? => Ok(None),
            Some(_) => self.r.expected("another rule behind a note in brackets"),
        }
    }

    /// Reads a note such as `[ wfc: Legal Character ]`, if one comes next.
    fn note(&mut self) -> Result<bool, Error> {
        let at = self.r.at;
        let Some(inside) = self.r.rest().strip_prefix('[') else {
            return Ok(false);
        };
        let label = inside.trim_start();
        let is_note = |note: &&str| {
            let own = label.get(..note.len());
            own.is_some_and(|own| own.eq_ignore_ascii_case(note))
        };
        if !NOTES.iter().any(is_note) {
            return Ok(false);
        }
        match inside.find(']') {
            Some(len) => self.r.at += len + 2,
            None => return self.r.fail_at(at, "a note in brackets has no end"),
        }
        Ok(true)
    }

    /// A text in quotes. It has no escapes.
    fn literal(&mut self, quote: char) -> Result<Expr, Error> {
        let at = self.r.at;
        self.r.next();
        let text = self.r.take_while(|c| c != quote && c != '\n').to_owned();
        if self.r.next() != Some(quote) {
            return self.r.fail_at(
                at,
                "a text has no end on its line: a line break is written `#xA` beside it",
            );
        }
        Ok(match text.is_empty() {
            true => Expr::Empty,
            false => Expr::text(text, at),
        })
    }

    /// A character by its number: `#x41`.
    fn code(&mut self) -> Result<char, Error> {
        let at = self.r.at;
        if !self.r.take("#x") {
            return self.r.expected_not("an expression", instead_of);
        }
        let digits = self.r.take_while(|c| c.is_ascii_hexdigit());
        let number = digits.trim_start_matches('0');
        let code = match (digits.is_empty(), number.is_empty()) {
            (false, true) => Some(0),
            _ => u32::from_str_radix(number, 16).ok(),
        };
        match code.and_then(char::from_u32) {
            Some(c) => Ok(c),
            None => self.r.fail_at(
                at,
                "`#xN` is no character: N is hexadecimal, at most 10FFFF, and none of D800 to DFFF",
            ),
        }
    }

    /// A set of characters. It has no escapes.
    fn class(&mut self) -> Result<Expr, Error> {
        let at = self.r.at;
        self.r.next();
        let is_negative = self.r.take("^");
        let mut ranges = Vec::new();
        while !self.r.take("]") {
            let first = self.member(at)?;
            let mut last = first;
            let goes_on = self.r.rest().starts_with('-') && !self.r.rest().starts_with("-]");
            if goes_on {
                self.r.next();
                last = self.member(at)?;
            }
            if first > last {
                let message = format!("the range {first:?} to {last:?} is in the wrong order");
                return self.r.fail_at(at, message);
            }
            ranges.push((first, last));
        }
        if ranges.is_empty() {
            return self.r.fail_at(
                at,
                "a set `[..]` is empty: the character `]` is written `#x5D`",
            );
        }
        let ranges = normal_ranges(ranges);
        Ok(Expr::Class(match is_negative {
            true => negated(&ranges),
            false => ranges,
        }))
    }

    /// One character of a set.
    fn member(&mut self, at: usize) -> Result<char, Error> {
        let rest = self.r.rest().as_bytes();
        if rest.starts_with(b"#x") && rest.get(2).is_some_and(u8::is_ascii_hexdigit) {
            return self.code();
        }
        match self.r.next() {
            None | Some('\n') => self.r.fail_at(at, "a set `[..]` has no end on its line"),
            Some(c) => Ok(c),
        }
    }
}

/// Returns what to write in place of a sign of other notations, if that is known.
fn instead_of(sign: char) -> &'static str {
    match sign {
        '{' => ": this notation has no counts, write the item so many times",
        '.' => ": any character is written `[#x0-#x10FFFF]`",
        '/' => ": this notation has no regular expressions, write them in rules",
        ';' => ": a rule ends where the next one begins, leave it out",
        '#' => ": a character is written `#xN`, a comment `/* .. */`",
        '\\' => ": characters stand in quotes, or are written `#xN`",
        ',' => ": parts of a sequence stand side by side, leave it out",
        ':' | '=' => ": a rule is written `name ::= expression`",
        _ => "",
    }
}
