//! JSON as Python's `json.loads` reads it.
//!
//! RFC 8259 with `NaN`, `Infinity` and `-Infinity`; integers of any size; lone surrogate
//! escapes kept; a key given twice keeps its first place and its last value.
//!
//! For example, `{"a": 1, "a": NaN}` is read as an object with one key, whose value is not a
//! number.

use python_compat::show::{Show, Style, Writer};
use serde_json::{Map, Number, Value as Json};

use crate::scalar::Int;
use crate::text::{Text, has_stand_in, stand_in};
use crate::value::{Object, Value};

/// The deepest nesting of arrays and objects in a text, because each level is a call on the stack
/// (CPython's own limit is about a thousand).
pub(crate) const MAX_DEPTH: usize = 512;

/// Why a text is not JSON, and the byte where that shows.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct JsonError {
    pub(crate) problem: Problem,
    pub(crate) offset: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    ExpectedValue,
    ExpectedKey,
    ExpectedColon,
    ExpectedCommaOrEnd,
    UnterminatedString,
    ControlCharacter,
    BadEscape,
    TrailingData,
    /// Nested deeper than [`MAX_DEPTH`].
    TooDeep,
    /// A lone surrogate escape next to a character that stands for one.
    Surrogate,
}

impl Problem {
    pub(crate) fn message(self) -> &'static str {
        match self {
            Problem::ExpectedValue => "expected a value",
            Problem::ExpectedKey => "expected a key in double quotes",
            Problem::ExpectedColon => "expected ':'",
            Problem::ExpectedCommaOrEnd => "expected ',' or the closing bracket",
            Problem::UnterminatedString => "unterminated string",
            Problem::ControlCharacter => "control character in a string",
            Problem::BadEscape => "bad escape in a string",
            Problem::TrailingData => "data after the value",
            Problem::TooDeep => "nested too deeply",
            Problem::Surrogate => "lone surrogate beside a character above U+10F7FF",
        }
    }
}

type Result<T> = std::result::Result<T, JsonError>;

/// Decodes the whole of `text`. Linear.
pub(crate) fn decode(text: &str) -> Result<Value<'_>> {
    let mut reader = JsonReader {
        text,
        bytes: text.as_bytes(),
        at: 0,
    };
    reader.space();
    let value = reader.value(0)?;
    reader.space();
    if reader.at < text.len() {
        return Err(reader.error(Problem::TrailingData, reader.at));
    }
    Ok(value)
}

/// Decodes the whole of `text`, borrowing from what it borrows from.
pub(crate) fn decode_text<'t>(text: &Text<'t>) -> Result<Value<'t>> {
    match text.borrowed() {
        Some(text) => decode(text),
        None => {
            let value = decode(text.as_str())?.into_owned();
            // Stand-ins pass through the decoder as ordinary characters.
            Ok(if text.is_lone() {
                value.with_stand_ins()
            } else {
                value
            })
        }
    }
}

/// Decodes the whole of `text` straight to JSON, if it is JSON that JSON can hold and not
/// nested too deeply; the same as [`decode`] in half the time.
pub(crate) fn decode_plain(text: &str) -> Option<Json> {
    let mut reader = JsonReader {
        text,
        bytes: text.as_bytes(),
        at: 0,
    };
    reader.space();
    let value = reader.json(0)?;
    reader.space();
    (reader.at == text.len()).then_some(value)
}

struct JsonReader<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
}

impl<'t> JsonReader<'t> {
    #[cold]
    fn error(&self, problem: Problem, offset: usize) -> JsonError {
        JsonError { problem, offset }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\n' | b'\t' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn word(&mut self, word: &str, value: Value<'static>) -> Option<Value<'static>> {
        let found = self.bytes[self.at..].starts_with(word.as_bytes());
        self.at += if found { word.len() } else { 0 };
        found.then_some(value)
    }

    fn value(&mut self, depth: usize) -> Result<Value<'t>> {
        let start = self.at;
        let word = match self.peek() {
            Some(b'"') => {
                self.at += 1;
                return Ok(Value::Text(self.string()?));
            }
            Some(b'{') => return self.object(depth),
            Some(b'[') => return self.array(depth),
            Some(b'-' | b'0'..=b'9') => {
                if let Some(number) = self.number() {
                    return Ok(number);
                }
                self.word("-Infinity", Value::Float(f64::NEG_INFINITY))
            }
            Some(b'n') => self.word("null", Value::Null),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'N') => self.word("NaN", Value::Float(f64::NAN)),
            Some(b'I') => self.word("Infinity", Value::Float(f64::INFINITY)),
            _ => None,
        };
        word.ok_or_else(|| self.error(Problem::ExpectedValue, start))
    }

    fn enter(&mut self, depth: usize) -> Result<()> {
        if depth >= MAX_DEPTH {
            return Err(self.error(Problem::TooDeep, self.at));
        }
        self.at += 1;
        self.space();
        Ok(())
    }

    fn array(&mut self, depth: usize) -> Result<Value<'t>> {
        self.enter(depth)?;
        let mut items = Vec::new();
        if self.eat(b']') {
            return Ok(Value::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.space();
            if self.eat(b']') {
                return Ok(Value::Array(items));
            }
            if !self.eat(b',') {
                return Err(self.error(Problem::ExpectedCommaOrEnd, self.at));
            }
            self.space();
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value<'t>> {
        self.enter(depth)?;
        let mut object = Object::default();
        if self.eat(b'}') {
            return Ok(Value::Object(object));
        }
        loop {
            if !self.eat(b'"') {
                return Err(self.error(Problem::ExpectedKey, self.at));
            }
            let key = self.string()?;
            self.space();
            if !self.eat(b':') {
                return Err(self.error(Problem::ExpectedColon, self.at));
            }
            self.space();
            let value = self.value(depth + 1)?;
            object.insert(key, value);
            self.space();
            if self.eat(b'}') {
                return Ok(Value::Object(object));
            }
            if !self.eat(b',') {
                return Err(self.error(Problem::ExpectedCommaOrEnd, self.at));
            }
            self.space();
        }
    }

    /// A value that JSON can hold.
    fn json(&mut self, depth: usize) -> Option<Json> {
        match self.peek()? {
            b'"' => {
                self.at += 1;
                self.plain_string().map(Json::String)
            }
            b'{' => {
                self.enter(depth).ok()?;
                let mut map = Map::new();
                if self.eat(b'}') {
                    return Some(Json::Object(map));
                }
                loop {
                    if !self.eat(b'"') {
                        return None;
                    }
                    let key = self.plain_string()?;
                    self.space();
                    if !self.eat(b':') {
                        return None;
                    }
                    self.space();
                    let value = self.json(depth + 1)?;
                    map.insert(key, value);
                    self.space();
                    if self.eat(b'}') {
                        return Some(Json::Object(map));
                    }
                    if !self.eat(b',') {
                        return None;
                    }
                    self.space();
                }
            }
            b'[' => {
                self.enter(depth).ok()?;
                let mut items = Vec::new();
                if self.eat(b']') {
                    return Some(Json::Array(items));
                }
                loop {
                    items.push(self.json(depth + 1)?);
                    self.space();
                    if self.eat(b']') {
                        return Some(Json::Array(items));
                    }
                    if !self.eat(b',') {
                        return None;
                    }
                    self.space();
                }
            }
            b'-' | b'0'..=b'9' => match self.number()? {
                Value::Int(Int::Small(n)) => Some(n.into()),
                Value::Float(n) => Number::from_f64(n).map(Json::Number),
                _ => None,
            },
            b'n' => self.word("null", Value::Null).map(|_| Json::Null),
            b't' => self.word("true", Value::Null).map(|_| Json::Bool(true)),
            b'f' => self.word("false", Value::Null).map(|_| Json::Bool(false)),
            _ => None,
        }
    }

    /// A string whose opening quote is eaten, if it has no lone surrogate.
    fn plain_string(&mut self) -> Option<String> {
        let text = self.string().ok()?;
        (!text.is_lone()).then(|| text.into_lossy())
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        self.at - start
    }

    /// The longest number at this place.
    fn number(&mut self) -> Option<Value<'t>> {
        let start = self.at;
        let negative = self.eat(b'-');
        let first = self.at;
        if !self.eat(b'0') && self.digits() == 0 {
            self.at = start;
            return None;
        }
        let whole = self.at;
        if self.eat(b'.') && self.digits() == 0 {
            self.at = whole;
        }
        let mantissa = self.at;
        if self.eat(b'e') || self.eat(b'E') {
            let _ = self.eat(b'+') || self.eat(b'-');
            if self.digits() == 0 {
                self.at = mantissa;
            }
        }
        if self.at == whole {
            return Some(Value::Int(Int::from_digits(
                negative,
                &self.text[first..whole],
            )));
        }
        // The text has the form that Rust reads; too large a number becomes an infinity.
        self.text[start..self.at].parse().ok().map(Value::Float)
    }

    /// A string whose opening quote is eaten.
    fn string(&mut self) -> Result<Text<'t>> {
        let start = self.at;
        self.plain(start)?;
        if self.bytes[self.at] == b'"' {
            let text = &self.text[start..self.at];
            self.at += 1;
            return Ok(Text::plain(text));
        }
        let mut out = String::from(&self.text[start..self.at]);
        let mut clash = has_stand_in(&out);
        let mut lone = false;
        loop {
            if self.eat(b'"') {
                break;
            }
            if self.eat(b'\\') {
                let c = self.escape(start, &mut lone)?;
                clash |= !matches!(c, Unescaped::Lone(_))
                    && has_stand_in(c.char().encode_utf8(&mut [0; 4]));
                out.push(c.char());
                continue;
            }
            let from = self.at;
            self.plain(start)?;
            let piece = &self.text[from..self.at];
            clash |= has_stand_in(piece);
            out.push_str(piece);
        }
        let text = Text::with_stand_ins(out, lone, clash);
        text.ok_or_else(|| self.error(Problem::Surrogate, start))
    }

    /// Goes on to the next quote or backslash.
    fn plain(&mut self, start: usize) -> Result<()> {
        // Eight bytes at a time, as long as none of them is special.
        while let Some(chunk) = self.bytes.get(self.at..self.at + 8) {
            let Ok(chunk) = <[u8; 8]>::try_from(chunk) else {
                break;
            };
            let special = special_bytes(u64::from_le_bytes(chunk));
            if special != 0 {
                self.at += special.trailing_zeros() as usize / 8;
                break;
            }
            self.at += 8;
        }
        loop {
            match self.peek() {
                Some(b'"' | b'\\') => return Ok(()),
                Some(0..=0x1F) => return Err(self.error(Problem::ControlCharacter, self.at)),
                Some(_) => self.at += 1,
                None => return Err(self.error(Problem::UnterminatedString, start - 1)),
            }
        }
    }

    /// The character of an escape whose backslash is eaten.
    fn escape(&mut self, start: usize, lone: &mut bool) -> Result<Unescaped> {
        let Some(byte) = self.peek() else {
            return Err(self.error(Problem::UnterminatedString, start - 1));
        };
        let at = self.at - 1;
        self.at += 1;
        Ok(Unescaped::Char(match byte {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\x08',
            b'f' => '\x0C',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let bad = self.error(Problem::BadEscape, at);
                let unit = self.hexadecimal().ok_or(bad)?;
                if let Some(c) = char::from_u32(unit) {
                    return Ok(Unescaped::Char(c));
                }
                if unit < 0xDC00 && self.bytes[self.at..].starts_with(b"\\u") {
                    let back = self.at;
                    self.at += 2;
                    if let Some(low @ 0xDC00..=0xDFFF) = self.hexadecimal() {
                        let point = 0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
                        if let Some(c) = char::from_u32(point) {
                            return Ok(Unescaped::Char(c));
                        }
                    }
                    self.at = back;
                }
                *lone = true;
                return Ok(Unescaped::Lone(stand_in(unit)));
            }
            _ => return Err(self.error(Problem::BadEscape, at)),
        }))
    }

    fn hexadecimal(&mut self) -> Option<u32> {
        // Python wants a character behind the digits, too.
        if self.at + 4 >= self.bytes.len() {
            return None;
        }
        let digits = self.bytes.get(self.at..self.at + 4)?;
        let mut unit = 0;
        for &digit in digits {
            unit = unit * 16 + char::from(digit).to_digit(16)?;
        }
        self.at += 4;
        Some(unit)
    }
}

/// Marks the high bit of each byte that is a quote, a backslash or a control character; the
/// lowest mark is exact (Warren, "Hacker's Delight", 2nd edition, section 6-1).
fn special_bytes(word: u64) -> u64 {
    /// Bytes of 1, so that a byte times this is the byte eight times.
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    /// The high bits of all bytes, in which the marks are, as a subtraction borrows into them.
    const HIGHS: u64 = ONES << 7;
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word;
    let quotes = zeros(word ^ (ONES * b'"' as u64));
    let backslashes = zeros(word ^ (ONES * b'\\' as u64));
    let controls = word.wrapping_sub(ONES * 0x20) & !word;
    (quotes | backslashes | controls) & HIGHS
}

/// The character of an escape: itself, or the stand-in of a surrogate.
enum Unescaped {
    Char(char),
    Lone(char),
}

impl Unescaped {
    fn char(&self) -> char {
        match self {
            Unescaped::Char(c) | Unescaped::Lone(c) => *c,
        }
    }
}

/// The value as `json.dumps(value, separators=(",", ":"))` prints it.
pub(crate) fn encode(value: &Value<'_>, out: &mut String) {
    // Whatever a text can say has JSON.
    let style = Style::compact_ascii();
    out.push_str(&python_compat::dumps(value, &style).unwrap_or_default());
}

impl Show for Value<'_> {
    fn show(&self, to: &mut Writer<'_>) {
        match self {
            Value::Null => to.none(),
            Value::Bool(value) => to.bool(*value),
            Value::Int(number) => to.integer(number),
            Value::Float(number) => to.float(*number),
            Value::Text(text) => text.show(to),
            Value::Json(json) => json.show(to),
            Value::Array(items) => to.list(items),
            Value::Object(map) => to.dict(map.iter()),
        }
    }
}

impl Show for Text<'_> {
    fn show(&self, to: &mut Writer<'_>) {
        to.text_of_utf16(self.to_utf16(), self.as_str());
    }
}
