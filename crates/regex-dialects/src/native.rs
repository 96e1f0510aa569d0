//! Patterns that are written nearly as `regex-syntax` has them: those of grammars.
//!
//! For example, `[a[]` has a bracket that means itself, and becomes `[a\[]`.

use crate::error::Error;
use crate::scanner::{Inside, Scanner};

/// The characters that `\d`, `\w` and `\s` stand for, and what else there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Classes {
    /// The classes of Unicode, as Python and Rust have them, with looks and lazy quantifiers.
    Unicode,
    /// The classes of ASCII, without looks and properties; a lazy quantifier is a greedy one.
    Ascii,
}

/// A pattern of a grammar as `regex-syntax` reads it. Looks become groups, see
/// [`look_of`](crate::look_of); flags are not looked at.
///
/// ```
/// use regex_dialects::{Classes, native};
///
/// assert_eq!(native("[a[]{,2}", Classes::Unicode).unwrap(), r"[a\[]{0,2}");
/// assert_eq!(native(r"\d", Classes::Ascii).unwrap(), "[0-9]");
/// ```
///
/// # Errors
///
/// The pattern has what no automaton does, or what the dialect does not have.
pub fn native(pattern: &str, classes: Classes) -> Result<String, Error> {
    let mut native = Native {
        scan: Scanner::new(pattern),
        classes,
    };
    let mut is_quantified = false;
    while let Some(c) = native.scan.next() {
        let was_quantified = std::mem::replace(&mut is_quantified, false);
        match c {
            '\\' => native.escape(Inside::Pattern)?,
            '[' => native.class()?,
            '(' => native.group()?,
            '?' if was_quantified && classes == Classes::Ascii => {}
            '?' if was_quantified => native.scan.out.push(c),
            '*' | '+' | '?' => {
                is_quantified = true;
                native.scan.out.push(c);
            }
            '{' => is_quantified = native.brace(),
            '}' => native.scan.out.push_str(r"\}"),
            _ => native.scan.out.push(c),
        }
    }
    Ok(native.scan.out)
}

struct Native<'p> {
    scan: Scanner<'p>,
    classes: Classes,
}

/// The reason for the refusal, named once because escapes of digits and of names both end here.
const BACK_REFERENCE: &str = "a back-reference, which is not supported";

impl Native<'_> {
    fn unsupported(&self, what: &str) -> Result<(), Error> {
        Err(Error::new(self.scan.at, what))
    }

    /// An error about what a dialect of ASCII does not have.
    fn needs_unicode(&self, what: &str) -> Result<(), Error> {
        match self.classes {
            Classes::Unicode => Ok(()),
            Classes::Ascii => {
                self.unsupported(&format!("{what}, which this dialect does not have"))
            }
        }
    }

    /// Behind a backslash.
    fn escape(&mut self, inside: Inside) -> Result<(), Error> {
        let Some(c) = self.scan.next() else {
            self.scan.out.push('\\');
            return Ok(());
        };
        let ascii = self.classes == Classes::Ascii;
        let text = match c {
            '/' => "/",
            'b' | 'B' if inside == Inside::Pattern => {
                self.needs_unicode("a word boundary")?;
                if c == 'b' { r"\b" } else { r"\B" }
            }
            'b' => r"\x08",
            '1'..='9' if inside == Inside::Pattern => return self.unsupported(BACK_REFERENCE),
            '0' => r"\x00",
            'd' if ascii => "[0-9]",
            'D' if ascii => "[^0-9]",
            'w' if ascii => "[0-9A-Za-z_]",
            'W' if ascii => "[^0-9A-Za-z_]",
            's' if ascii => r"[ \t\n\r\f\v\xA0]",
            'S' if ascii => r"[^ \t\n\r\f\v\xA0]",
            ' ' => r"\x20",
            // They need no escape, and `regex-syntax` has none for some.
            _ if "\"'`,:;=<>@!%_".contains(c) => {
                self.scan.out.push(c);
                return Ok(());
            }
            // A control character by its letter.
            'c' => {
                let letter = self.scan.next().unwrap_or('@').to_ascii_uppercase();
                let code = u32::from(letter) & 31;
                self.scan.out.push_str(&format!(r"\x{code:02X}"));
                return Ok(());
            }
            _ => {
                if matches!(c, 'p' | 'P') {
                    self.needs_unicode("a Unicode class `\\p`")?;
                }
                self.scan.out.extend(['\\', c]);
                if "pPuUx".contains(c) && self.scan.peek() == Some('{') {
                    let rest = self.scan.rest();
                    let name = &rest[..rest.find('}').map_or(rest.len(), |end| end + 1)];
                    self.scan.out.push_str(name);
                    self.scan.at += name.len();
                }
                return Ok(());
            }
        };
        self.scan.out.push_str(text);
        Ok(())
    }

    /// Behind the bracket of a class, where fewer characters are special than in
    /// `regex-syntax`.
    fn class(&mut self) -> Result<(), Error> {
        self.scan.out.push('[');
        if self.scan.take("^") {
            self.scan.out.push('^');
        }
        let mut begins = true;
        while let Some(c) = self.scan.next() {
            match c {
                '\\' => self.escape(Inside::Class)?,
                ']' if !begins => {
                    self.scan.out.push(']');
                    return Ok(());
                }
                '[' | '&' | '~' | ']' => self.scan.out.extend(['\\', c]),
                '-' if self.scan.peek() == Some('-') => self.scan.out.push_str(r"\-"),
                _ => self.scan.out.push(c),
            }
            begins = false;
        }
        Ok(())
    }

    /// Behind an opening parenthesis.
    fn group(&mut self) -> Result<(), Error> {
        if let Some(look) = self.scan.look() {
            self.needs_unicode("a look-around")?;
            self.scan.open_look(look);
            return Ok(());
        }
        self.scan.out.push('(');
        if self.scan.take("?") {
            let rest = self.scan.rest();
            if rest.starts_with("P=") || rest.starts_with('(') {
                return self.unsupported(BACK_REFERENCE);
            }
            // A name, or flags, up to their end.
            let name = &rest[..rest.find([':', '>', ')']).unwrap_or(rest.len())];
            self.scan.out.push('?');
            self.scan.out.push_str(name);
            self.scan.at += name.len();
        }
        Ok(())
    }

    /// Behind an opening brace: writes a count, and returns true; or a brace that means itself.
    fn brace(&mut self) -> bool {
        let rest = self.scan.rest();
        let is_count = |counts: &&str| {
            counts.starts_with(|c: char| c.is_ascii_digit() || c == ',')
                && *counts != ","
                && counts.chars().all(|c| c.is_ascii_digit() || c == ',')
        };
        let Some((counts, _)) = rest.split_once('}').filter(|rest| is_count(&rest.0)) else {
            self.scan.out.push_str(r"\{");
            return false;
        };
        let least = if counts.starts_with(',') { "0" } else { "" };
        self.scan.out.push_str(&format!("{{{least}{counts}}}"));
        self.scan.at += counts.len() + 1;
        true
    }
}
