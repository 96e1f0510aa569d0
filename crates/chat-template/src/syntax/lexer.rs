//! Cuts the source of a template into tokens, as Jinja does with
//! `trim_blocks` and `lstrip_blocks` on and `keep_trailing_newline` off.
//!
//! White space around tags is settled here and nowhere else: what comes out as
//! data is printed as it is.
//!
//! For example, `a{%- if b %}` is the data `a` without the blanks behind it, and the tokens `if`
//! and `b`.

use python_compat::text::is_space;

use super::error::SyntaxError;

/// A token and the line it begins in, from 1.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) line: usize,
}

/// The kind of a token.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    /// Text outside of tags.
    Data(String),
    /// `{%`
    BlockBegin,
    /// `%}`
    BlockEnd,
    /// `{{`
    PrintBegin,
    /// `}}`
    PrintEnd,
    Name(String),
    /// A string literal, its escapes resolved.
    Text(String),
    Integer(i128),
    Float(f64),
    Operator(&'static str),
}

impl Kind {
    /// Returns the name that messages call it by.
    pub(crate) fn describe(&self) -> String {
        match self {
            Kind::Data(_) => "template data / text".to_owned(),
            Kind::BlockBegin => "begin of statement block".to_owned(),
            Kind::BlockEnd => "end of statement block".to_owned(),
            Kind::PrintBegin => "begin of print statement".to_owned(),
            Kind::PrintEnd => "end of print statement".to_owned(),
            Kind::Name(name) => name.clone(),
            Kind::Text(_) => "string".to_owned(),
            Kind::Integer(_) => "integer".to_owned(),
            Kind::Float(_) => "float".to_owned(),
            Kind::Operator(operator) => (*operator).to_owned(),
        }
    }
}

/// The operators, the longest first, because `**` would otherwise be read as `*` twice.
const OPERATORS: [&str; 27] = [
    "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]", "(", ")", "{", "}",
    ">", "<", "=", ".", ":", "|", ",", ";", "!",
];

/// The tokens of a template.
pub(crate) fn tokens(source: &str) -> Result<Vec<Token>, SyntaxError> {
    let source = source.replace("\r\n", "\n").replace('\r', "\n");
    let source = source.strip_suffix('\n').unwrap_or(&source);
    let mut lexer = Lexer {
        rest: source,
        line: 1,
        after_newline: true,
        tokens: Vec::new(),
    };
    lexer.template()?;
    Ok(lexer.tokens)
}

struct Lexer<'s> {
    rest: &'s str,
    line: usize,
    /// True if what was read last ended with a line feed.
    after_newline: bool,
    tokens: Vec<Token>,
}

/// The construct that opens at a brace.
#[derive(Clone, Copy, PartialEq)]
enum Opening {
    Print,
    Block,
    Comment,
    Raw,
}

impl<'s> Lexer<'s> {
    fn template(&mut self) -> Result<(), SyntaxError> {
        while !self.rest.is_empty() {
            let Some((at, opening)) = next_opening(self.rest) else {
                let rest = self.take(self.rest.len());
                self.data(rest.to_owned(), self.line);
                return Ok(());
            };
            let line = self.line;
            let before = &self.rest[..at];
            let sign = self.rest[at + 2..].chars().next();
            let kept = self.strip_before(before, sign, opening).to_owned();
            self.take(at);
            self.data(kept, line);
            self.take(2);
            if matches!(sign, Some('-' | '+')) {
                self.take(1);
            }
            match opening {
                Opening::Comment => self.comment()?,
                Opening::Raw => self.raw()?,
                Opening::Print => {
                    self.push(Kind::PrintBegin);
                    self.expression(Kind::PrintEnd)?;
                }
                Opening::Block => {
                    self.push(Kind::BlockBegin);
                    self.expression(Kind::BlockEnd)?;
                }
            }
        }
        Ok(())
    }

    /// Returns the text before a tag that stays.
    fn strip_before<'t>(&self, text: &'t str, sign: Option<char>, opening: Opening) -> &'t str {
        match sign {
            Some('-') => text.trim_end_matches(is_space),
            Some('+') => text,
            _ if opening == Opening::Print => text,
            _ => {
                let at = text.rfind('\n').map_or(0, |at| at + 1);
                let starts_line = at > 0 || self.after_newline;
                match starts_line && text[at..].chars().all(is_space) {
                    true => &text[..at],
                    false => text,
                }
            }
        }
    }

    /// Consumes `count` bytes.
    fn take(&mut self, count: usize) -> &'s str {
        let (taken, rest) = self.rest.split_at(count);
        self.line += taken.matches('\n').count();
        if let Some(last) = taken.chars().next_back() {
            self.after_newline = last == '\n';
        }
        self.rest = rest;
        taken
    }

    fn push(&mut self, kind: Kind) {
        let line = self.line;
        self.tokens.push(Token { kind, line });
    }

    fn data(&mut self, text: String, line: usize) {
        if !text.is_empty() {
            let kind = Kind::Data(text);
            self.tokens.push(Token { kind, line });
        }
    }

    #[cold]
    fn error(&self, message: impl Into<String>) -> SyntaxError {
        SyntaxError::new(self.line, message)
    }

    fn comment(&mut self) -> Result<(), SyntaxError> {
        let Some(end) = self.rest.find("#}") else {
            return Err(self.error("Missing end of comment tag"));
        };
        let sign = self.rest[..end].chars().next_back();
        self.take(end + 2);
        self.trim_after(sign);
        Ok(())
    }

    /// Trims what follows the end of a block or a comment.
    fn trim_after(&mut self, sign: Option<char>) {
        match sign {
            Some('-') => self.take_space(),
            Some('+') => {}
            _ if self.rest.starts_with('\n') => {
                self.take(1);
            }
            _ => {}
        }
    }

    fn take_space(&mut self) {
        let trimmed = self.rest.trim_start_matches(is_space);
        self.take(self.rest.len() - trimmed.len());
    }

    /// From behind `{%` to behind the end of `{% endraw %}`.
    fn raw(&mut self) -> Result<(), SyntaxError> {
        self.take_space();
        self.take("raw".len());
        self.take_space();
        if self.rest.starts_with('-') {
            self.take(3);
            self.take_space();
        } else {
            self.take(2);
        }
        let mut from = 0;
        while let Some(found) = self.rest[from..].find("{%") {
            let at = from + found;
            let (sign, after) = split_sign(&self.rest[at + 2..]);
            let after = after.trim_start_matches(is_space);
            let Some(after) = after.strip_prefix("endraw") else {
                from = at + 2;
                continue;
            };
            let after = after.trim_start_matches(is_space);
            let (end_sign, after) = split_sign(after);
            let Some(after) = after.strip_prefix("%}") else {
                from = at + 2;
                continue;
            };
            let line = self.line;
            let text = self.strip_before(&self.rest[..at], sign, Opening::Raw);
            let text = text.to_owned();
            self.take(self.rest.len() - after.len());
            self.data(text, line);
            self.trim_after(end_sign);
            return Ok(());
        }
        Err(self.error("Missing end of raw directive"))
    }

    /// From behind the opening of a tag to behind its end.
    fn expression(&mut self, end: Kind) -> Result<(), SyntaxError> {
        let mut open: Vec<char> = Vec::new();
        let mark = match end {
            Kind::PrintEnd => "}}",
            _ => "%}",
        };
        loop {
            self.take_space();
            let Some(first) = self.rest.chars().next() else {
                return Ok(());
            };
            if open.is_empty() {
                let (sign, after) = split_sign(self.rest);
                // A plus sign before the end of a print statement is an operator.
                let signed = sign == Some('-') || (sign == Some('+') && mark == "%}");
                if (signed && after.starts_with(mark)) || self.rest.starts_with(mark) {
                    let length = self.rest.len() - after.len();
                    self.push(end);
                    match signed {
                        true => self.take(length + 2),
                        false => self.take(2),
                    };
                    match (mark, sign.filter(|_| signed)) {
                        ("}}", Some('-')) => self.take_space(),
                        ("}}", _) => {}
                        (_, sign) => self.trim_after(sign),
                    }
                    return Ok(());
                }
            }
            match first {
                '0'..='9' => self.number()?,
                '\'' | '"' => self.string(first)?,
                _ if first == '_' || first.is_alphanumeric() => self.name()?,
                _ => self.operator(&mut open)?,
            }
        }
    }

    fn name(&mut self) -> Result<(), SyntaxError> {
        let length = self
            .rest
            .find(|c: char| c != '_' && !c.is_alphanumeric())
            .unwrap_or(self.rest.len());
        let name = &self.rest[..length];
        self.push(Kind::Name(name.to_owned()));
        self.take(length);
        Ok(())
    }

    fn operator(&mut self, open: &mut Vec<char>) -> Result<(), SyntaxError> {
        let found = OPERATORS.iter().find(|o| self.rest.starts_with(**o));
        let Some(operator) = found.filter(|o| **o != "!") else {
            let c = self.rest.chars().next().unwrap_or_default();
            return Err(self.error(format!("unexpected char '{c}'")));
        };
        match *operator {
            "(" => open.push(')'),
            "[" => open.push(']'),
            "{" => open.push('}'),
            ")" | "]" | "}" => match open.pop() {
                None => return Err(self.error(format!("unexpected '{operator}'"))),
                Some(wanted) if !operator.starts_with(wanted) => {
                    let message = format!("unexpected '{operator}', expected '{wanted}'");
                    return Err(self.error(message));
                }
                Some(_) => {}
            },
            _ => {}
        }
        self.push(Kind::Operator(operator));
        self.take(operator.len());
        Ok(())
    }

    fn number(&mut self) -> Result<(), SyntaxError> {
        let bytes = self.rest.as_bytes();
        let radix = match bytes.get(1) {
            Some(b'x' | b'X') if bytes[0] == b'0' => 16,
            Some(b'o' | b'O') if bytes[0] == b'0' => 8,
            Some(b'b' | b'B') if bytes[0] == b'0' => 2,
            _ => 10,
        };
        if radix != 10 {
            let is_digit = |c: char| c == '_' || c.is_digit(radix);
            let digits = &self.rest[2..];
            let length = digits.find(|c| !is_digit(c)).unwrap_or(digits.len());
            let text = digits[..length].replace('_', "");
            let Ok(value) = i128::from_str_radix(&text, radix) else {
                return Err(self.error(format!("the integer {} is too long", &self.rest[..length])));
            };
            self.push(Kind::Integer(value));
            self.take(2 + length);
            return Ok(());
        }
        let digits = |from: usize| {
            let rest = &bytes[from.min(bytes.len())..];
            if !rest.first().is_some_and(u8::is_ascii_digit) {
                return 0;
            }
            let part = |b: &u8| b.is_ascii_digit() || *b == b'_';
            rest.iter().take_while(|b| part(b)).count()
        };
        let mut length = digits(0);
        let after_dot = matches!(
            self.tokens.last().map(|t| &t.kind),
            Some(Kind::Operator("."))
        );
        let mut float = false;
        if !after_dot {
            if bytes.get(length) == Some(&b'.') && digits(length + 1) > 0 {
                length += 1 + digits(length + 1);
                float = true;
            }
            if matches!(bytes.get(length), Some(b'e' | b'E')) {
                let sign = usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
                let exponent = digits(length + 1 + sign);
                if exponent > 0 {
                    length += 1 + sign + exponent;
                    float = true;
                }
            }
        }
        let text = self.rest[..length].replace('_', "");
        let kind = match float {
            true => text.parse().map(Kind::Float).ok(),
            false => text.parse().map(Kind::Integer).ok(),
        };
        let Some(kind) = kind else {
            return Err(self.error(format!("the number {text} is too long")));
        };
        self.push(kind);
        self.take(length);
        Ok(())
    }

    fn string(&mut self, quote: char) -> Result<(), SyntaxError> {
        let mut escaped = false;
        let end = self.rest[1..].find(|c| {
            let ends = c == quote && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        let Some(end) = end else {
            return Err(self.error(format!("unexpected char '{quote}'")));
        };
        let text = unescape(&self.rest[1..=end]).map_err(|message| self.error(message))?;
        self.push(Kind::Text(text));
        self.take(end + 2);
        Ok(())
    }
}

fn split_sign(text: &str) -> (Option<char>, &str) {
    match text.as_bytes().first() {
        Some(b'-') => (Some('-'), &text[1..]),
        Some(b'+') => (Some('+'), &text[1..]),
        _ => (None, text),
    }
}

fn next_opening(text: &str) -> Option<(usize, Opening)> {
    let mut from = 0;
    while let Some(found) = text[from..].find('{') {
        let at = from + found;
        let opening = match text.as_bytes().get(at + 1) {
            Some(b'{') => Opening::Print,
            Some(b'#') => Opening::Comment,
            Some(b'%') if opens_raw(&text[at + 2..]) => Opening::Raw,
            Some(b'%') => Opening::Block,
            _ => {
                from = at + 1;
                continue;
            }
        };
        return Some((at, opening));
    }
    None
}

/// Tells whether a tag is `{% raw %}`, seen from behind its `{%`.
fn opens_raw(text: &str) -> bool {
    let (_, text) = split_sign(text);
    let text = text.trim_start_matches(is_space);
    text.strip_prefix("raw").is_some_and(|text| {
        let text = text.trim_start_matches(is_space);
        text.starts_with("%}") || text.starts_with("-%}")
    })
}

/// Resolves the escapes of a Python string literal.
fn unescape(text: &str) -> Result<String, String> {
    if !text.contains('\\') {
        return Ok(text.to_owned());
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    let mut high: Option<u32> = None;
    while let Some(c) = rest.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let Some(c) = rest.next() else {
            return Err("\\ at end of string".to_owned());
        };
        let mut code = |count: usize| -> Result<u32, String> {
            let digits: String = rest.clone().take(count).collect();
            let code = u32::from_str_radix(&digits, 16).ok();
            let code = code.filter(|_| digits.chars().count() == count && !digits.starts_with('+'));
            let code = code.ok_or_else(|| format!("truncated \\{c} escape"))?;
            rest.nth(count - 1);
            Ok(code)
        };
        let code = match c {
            '\n' => continue,
            '\\' | '\'' | '"' => u32::from(c),
            'a' => 7,
            'b' => 8,
            't' => 9,
            'n' => 10,
            'v' => 11,
            'f' => 12,
            'r' => 13,
            'x' => code(2)?,
            'u' => code(4)?,
            'U' => code(8)?,
            'N' => return Err("\\N{...} escapes are not supported; write \\u....".to_owned()),
            '0'..='7' => {
                let mut code = u32::from(c) - u32::from('0');
                for _ in 0..2 {
                    match rest.clone().next().and_then(|c| c.to_digit(8)) {
                        Some(digit) => code = code * 8 + digit,
                        None => break,
                    }
                    rest.next();
                }
                code
            }
            other => {
                out.push('\\');
                out.push(other);
                continue;
            }
        };
        // Halves of a character outside of the basic plane: Rust has no place
        // for one alone.
        match (high.take(), code) {
            (None, 0xd800..=0xdbff) if rest.as_str().starts_with("\\u") => high = Some(code),
            (Some(first), 0xdc00..=0xdfff) => {
                let code = 0x10000 + ((first - 0xd800) << 10) + (code - 0xdc00);
                out.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            (None, code) => match char::from_u32(code) {
                Some(c) => out.push(c),
                None => return Err(format!("\\u{code:04x} is no character")),
            },
            (Some(first), _) => return Err(format!("\\u{first:04x} is no character")),
        }
    }
    Ok(out)
}
