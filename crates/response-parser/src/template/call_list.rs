//! Lists of calls with named arguments, as the content parser `python-call-list` of Hugging Face transformers takes
//! them: the part of Python's syntax that other languages can read alike, and nothing beyond.
//!
//! For example `[f(a='x', b=[1, None])]` is a list of one call, while `[f(1)]`, `[f(a=1,)]` and `[f(a=1, a=2)]` are
//! none. Families' calls are read by [`loose`](super::loose), which takes more.

use super::loose::LooseProblem;
use crate::scalar::Int;
use crate::text::Text;
use crate::value::{Object, Value};

/// Deepest nesting of an argument's value, because the reference takes no deeper one.
const MAX_DEPTH: usize = 100;

/// The largest absolute value of an integer, as the reference has it: every reader of JSON tells
/// these apart.
const MAX_INTEGER: u64 = (1 << 53) - 1;

type Result<T> = std::result::Result<T, LooseProblem>;

struct CallListReader<'r> {
    text: &'r str,
    at: usize,
}

/// Reads a list of calls: objects with `name` and `arguments`. Linear.
pub(super) fn calls(text: &str) -> Result<Value<'static>> {
    let mut reader = CallListReader { text, at: 0 };
    reader.expect('[', "expected a list of calls")?;
    let mut calls = Vec::new();
    reader.items(']', |reader| {
        calls.push(reader.call()?);
        Ok(())
    })?;
    match reader.peek() {
        None => Ok(Value::Array(calls)),
        Some(_) => Err(reader.error("data behind the list of calls")),
    }
}

impl<'r> CallListReader<'r> {
    fn error(&self, message: &'static str) -> LooseProblem {
        LooseProblem {
            offset: self.at,
            message,
        }
    }

    fn rest(&self) -> &'r str {
        &self.text[self.at..]
    }

    fn peek(&mut self) -> Option<char> {
        let rest = self.rest();
        let next = rest.trim_start_matches([' ', '\t', '\n', '\r']);
        self.at += rest.len() - next.len();
        next.chars().next()
    }

    fn takes(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    fn expect(&mut self, wanted: char, message: &'static str) -> Result<()> {
        match self.takes(wanted) {
            true => Ok(()),
            false => Err(self.error(message)),
        }
    }

    /// Reads items between commas up to `close`; none follows the last.
    fn items(&mut self, close: char, mut item: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        if self.takes(close) {
            return Ok(());
        }
        loop {
            item(self)?;
            if self.takes(close) {
                return Ok(());
            }
            self.expect(',', "expected ',' or what closes the list")?;
        }
    }

    fn call(&mut self) -> Result<Value<'static>> {
        let name = self.name("expected a function's name")?;
        self.expect('(', "expected '(' behind a name")?;
        let mut arguments = Object::default();
        self.items(')', |reader| {
            let key = reader.name("expected an argument's name")?;
            reader.expect('=', "expected '=' behind an argument's name")?;
            let value = reader.value(0)?;
            reader.insert(&mut arguments, key.to_owned(), value)
        })?;
        let mut call = Object::default();
        let name = Value::Text(Text::plain(name.to_owned()));
        call.insert(Text::plain("name"), name);
        call.insert(Text::plain("arguments"), Value::Object(arguments));
        Ok(Value::Object(call))
    }

    fn insert(
        &self,
        object: &mut Object<'static>,
        key: String,
        value: Value<'static>,
    ) -> Result<()> {
        let key = Text::plain(key);
        if object.contains_key(&key) {
            return Err(self.error("a name comes twice"));
        }
        object.insert(key, value);
        Ok(())
    }

    fn name(&mut self, message: &'static str) -> Result<&'r str> {
        self.peek();
        let rest = self.rest();
        let length = name_length(rest);
        if length == 0 {
            return Err(self.error(message));
        }
        self.at += length;
        Ok(&rest[..length])
    }

    /// Reads a value within `depth` lists and objects. Recursion is no deeper than [`MAX_DEPTH`].
    fn value(&mut self, depth: usize) -> Result<Value<'static>> {
        match self.peek() {
            Some('\'' | '"') => Ok(Value::Text(Text::plain(self.string()?))),
            Some('[' | '{') if depth >= MAX_DEPTH => Err(self.error("nested too deeply")),
            Some('[') => {
                self.at += 1;
                let mut items = Vec::new();
                self.items(']', |reader| {
                    items.push(reader.value(depth + 1)?);
                    Ok(())
                })?;
                Ok(Value::Array(items))
            }
            Some('{') => {
                self.at += 1;
                let mut object = Object::default();
                self.items('}', |reader| {
                    if !matches!(reader.peek(), Some('\'' | '"')) {
                        return Err(reader.error("a key must be a string"));
                    }
                    let key = reader.string()?;
                    reader.expect(':', "expected ':' behind a key")?;
                    let value = reader.value(depth + 1)?;
                    reader.insert(&mut object, key, value)
                })?;
                Ok(Value::Object(object))
            }
            Some('-' | '0'..='9') => self.number(),
            _ => {
                let word = &self.rest()[..name_length(self.rest())];
                let value = match word {
                    "True" | "true" => Value::Bool(true),
                    "False" | "false" => Value::Bool(false),
                    "None" | "null" => Value::Null,
                    _ => return Err(self.error("expected a value")),
                };
                self.at += word.len();
                Ok(value)
            }
        }
    }

    /// Reads a number as JSON writes it.
    fn number(&mut self) -> Result<Value<'static>> {
        let rest = self.rest();
        let digits = |from: usize| {
            let digits = rest.as_bytes()[from..].iter();
            digits.take_while(|byte| byte.is_ascii_digit()).count()
        };
        let byte = |at: usize| rest.as_bytes().get(at).copied();
        let sign = usize::from(byte(0) == Some(b'-'));
        let whole = match byte(sign) {
            Some(b'0') => sign + 1,
            _ => sign + digits(sign),
        };
        if whole == sign {
            return Err(self.error("expected a number"));
        }
        let mut end = whole;
        if byte(end) == Some(b'.') && digits(end + 1) > 0 {
            end += 1 + digits(end + 1);
        }
        if matches!(byte(end), Some(b'e' | b'E')) {
            let from = end + 1 + usize::from(matches!(byte(end + 1), Some(b'+' | b'-')));
            if digits(from) > 0 {
                end = from + digits(from);
            }
        }
        let word = &rest[..end];
        let value = match end == whole {
            true => {
                let number = word.parse::<i64>().ok();
                let number = number.filter(|number| number.unsigned_abs() <= MAX_INTEGER);
                number.map(|number| Value::Int(Int::Small(number)))
            }
            false => {
                let number = word.parse::<f64>().ok();
                number.filter(|number| number.is_finite()).map(Value::Float)
            }
        };
        let value = value.ok_or_else(|| self.error("a number out of range"))?;
        self.at += end;
        Ok(value)
    }

    /// Reads a string on one line, whose quote is the next character.
    fn string(&mut self) -> Result<String> {
        let mut chars = self.rest().char_indices();
        let Some((_, quote)) = chars.next() else {
            return Err(self.error("expected a string"));
        };
        let mut out = String::new();
        while let Some((at, c)) = chars.next() {
            match c {
                '\n' | '\r' => break,
                '\\' => {
                    let escaped = chars.next().map(|(_, escaped)| escaped);
                    let plain = match escaped {
                        Some(c @ ('\\' | '\'' | '"' | '/')) => c,
                        Some('b') => '\u{8}',
                        Some('f') => '\u{c}',
                        Some('n') => '\n',
                        Some('r') => '\r',
                        Some('t') => '\t',
                        Some('u') => {
                            let Some((c, length)) = unicode(&self.rest()[at..]) else {
                                return Err(self.error("a bad \\u escape in the string"));
                            };
                            // All of the escape is ASCII, and two characters are read.
                            if let Some(more) = length.checked_sub(3) {
                                chars.nth(more);
                            }
                            c
                        }
                        _ => return Err(self.error("a bad escape in the string")),
                    };
                    out.push(plain);
                }
                c if c == quote => {
                    self.at += at + 1;
                    return Ok(out);
                }
                c => out.push(c),
            }
        }
        Err(self.error("the string does not end"))
    }
}

/// The length of the name that the text starts with: of ASCII words with `-` or `.` between them, the first of which
/// starts with no digit.
fn name_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let is_word = |at: usize| {
        let byte = bytes.get(at);
        byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
    };
    if !is_word(0) || bytes[0].is_ascii_digit() {
        return 0;
    }
    let mut length = 1;
    loop {
        let between = matches!(bytes.get(length), Some(b'-' | b'.'));
        match (is_word(length), between && is_word(length + 1)) {
            (true, _) => length += 1,
            (false, true) => length += 2,
            (false, false) => return length,
        }
    }
}

/// The character of the escape `\uXXXX`, or of two of them that are a pair of surrogates, and its length.
fn unicode(text: &str) -> Option<(char, usize)> {
    let unit = |at: usize| {
        let digits = text.get(at..)?.strip_prefix("\\u")?.get(..4)?;
        let all = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        all.then(|| u16::from_str_radix(digits, 16).ok()).flatten()
    };
    let first = unit(0)?;
    let pair = [first, unit(6).unwrap_or_default()];
    let units = match char::from_u32(u32::from(first)) {
        Some(_) => &pair[..1],
        None => &pair[..],
    };
    let c = char::decode_utf16(units.iter().copied()).next()?.ok()?;
    Some((c, 6 * units.len()))
}
