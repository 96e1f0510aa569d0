//! Replacement texts as `re.sub` reads them. For example, `\1-\g<name>` puts in two groups with a
//! hyphen between them.

use super::syntax::class::is_identifier;
use super::syntax::tree::SyntaxError;

/// A replacement text, read against the groups of its pattern.
#[derive(Debug)]
pub(crate) struct Substitution {
    parts: Vec<ReplacementPart>,
}

#[derive(Debug)]
enum ReplacementPart {
    Literal(String),
    Group(usize),
}

type Result<T> = std::result::Result<T, SyntaxError>;

fn error(message: impl Into<String>, offset: usize) -> SyntaxError {
    SyntaxError {
        message: message.into(),
        offset,
        unsupported: false,
    }
}

impl Substitution {
    /// Reads `text`; `names` are the pattern's groups, the whole match first.
    pub(crate) fn new(text: &str, names: &[Option<String>]) -> Result<Substitution> {
        let mut reader = ReplacementReader {
            text,
            at: 0,
            names,
            parts: Vec::new(),
            literal: String::new(),
        };
        reader.read()?;
        reader.flush();
        Ok(Substitution {
            parts: reader.parts,
        })
    }

    /// Appends the replacement for a match of `text` with these groups.
    pub(crate) fn expand(&self, text: &str, groups: &[Option<(usize, usize)>], out: &mut String) {
        for part in &self.parts {
            match part {
                ReplacementPart::Literal(literal) => out.push_str(literal),
                ReplacementPart::Group(group) => {
                    if let Some(Some((from, to))) = groups.get(*group) {
                        out.push_str(&text[*from..*to]);
                    }
                }
            }
        }
    }
}

struct ReplacementReader<'a> {
    text: &'a str,
    at: usize,
    names: &'a [Option<String>],
    parts: Vec<ReplacementPart>,
    literal: String,
}

impl ReplacementReader<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn eat_digit(&mut self, radix: u32) -> Option<u32> {
        let digit = self.peek().filter(char::is_ascii)?.to_digit(radix)?;
        self.at += 1;
        Some(digit)
    }

    fn flush(&mut self) {
        if !self.literal.is_empty() {
            self.parts
                .push(ReplacementPart::Literal(std::mem::take(&mut self.literal)));
        }
    }

    fn group(&mut self, group: usize, start: usize) -> Result<()> {
        if group >= self.names.len() {
            return Err(error(format!("invalid group reference {group}"), start));
        }
        self.flush();
        self.parts.push(ReplacementPart::Group(group));
        Ok(())
    }

    fn read(&mut self) -> Result<()> {
        while let Some(c) = self.peek() {
            let start = self.at;
            self.at += c.len_utf8();
            if c != '\\' {
                self.literal.push(c);
                continue;
            }
            let Some(c) = self.peek() else {
                return Err(error("bad escape (end of pattern)", start));
            };
            self.at += c.len_utf8();
            match c {
                'g' => self.named_group(start)?,
                '0' => {
                    let mut point = 0;
                    for _ in 0..2 {
                        let Some(digit) = self.eat_digit(8) else {
                            break;
                        };
                        point = point * 8 + digit;
                    }
                    self.literal.push(char::from(point as u8));
                }
                '1'..='9' => self.numbered(c, start)?,
                'a' => self.literal.push('\x07'),
                'b' => self.literal.push('\x08'),
                'f' => self.literal.push('\x0C'),
                'n' => self.literal.push('\n'),
                'r' => self.literal.push('\r'),
                't' => self.literal.push('\t'),
                'v' => self.literal.push('\x0B'),
                '\\' => self.literal.push('\\'),
                c if c.is_ascii_alphabetic() => {
                    return Err(error(format!("bad escape \\{c}"), start));
                }
                c => {
                    self.literal.push('\\');
                    self.literal.push(c);
                }
            }
        }
        Ok(())
    }

    /// `\1` to `\99`, or three octal digits.
    fn numbered(&mut self, first: char, start: usize) -> Result<()> {
        let first = first as u32 - '0' as u32;
        let mut group = first;
        if let Some(second) = self.eat_digit(10) {
            group = group * 10 + second;
            if first < 8
                && second < 8
                && let Some(third) = self.eat_digit(8)
            {
                let point = first * 64 + second * 8 + third;
                let Some(c) = u8::try_from(point).ok() else {
                    return Err(error("octal escape outside of range 0-0o377", start));
                };
                self.literal.push(char::from(c));
                return Ok(());
            }
        }
        self.group(group as usize, start + 1)
    }

    /// `\g<name>` or `\g<number>`, read up to the `g`.
    fn named_group(&mut self, start: usize) -> Result<()> {
        if self.peek() != Some('<') {
            return Err(error("missing <", self.at));
        }
        self.at += 1;
        let from = self.at;
        let name = match self.text[from..].find('>') {
            None => return Err(error("missing >, unterminated group name", from)),
            Some(0) => return Err(error("missing group name", from)),
            Some(length) => &self.text[from..from + length],
        };
        self.at = from + name.len() + 1;
        if is_identifier(name) {
            let found = self
                .names
                .iter()
                .position(|known| known.as_deref() == Some(name));
            let Some(group) = found else {
                return Err(error(format!("unknown group name '{name}'"), from));
            };
            return self.group(group, start);
        }
        match crate::scalar::integer(name).and_then(|n| n.to_usize()) {
            Some(group) => self.group(group, from),
            None => Err(error(format!("bad character in group name '{name}'"), from)),
        }
    }
}
