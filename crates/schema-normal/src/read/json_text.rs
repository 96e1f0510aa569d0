//! Reads JSON text without losing digits: a `Value` keeps what fits a machine's numbers,
//! and beside it stands what was written of the others.
//!
//! For example, `{"const": 123456789012345678901}` has a number beyond 64 bits: the `Value` rounds
//! it, and its digits stand beside.

use rustc_hash::FxHashMap;
use serde_json::{Map, Number, Value};

use crate::decimal::Decimal;
use crate::error::{Error, ErrorKind};

/// The numbers of a value that it does not keep, as they were written, by address.
pub(super) type Digits = FxHashMap<*const Value, String>;

/// A value, and where the numbers are that it does not keep.
#[derive(Clone, Debug)]
pub(super) struct Read {
    pub(super) value: Value,
    kept: Vec<(Vec<PathStep>, String)>,
}

/// A step from a value to one inside it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PathStep {
    Name(String),
    Index(usize),
}

impl Read {
    /// A value of which nothing else is known.
    pub(super) fn of(value: Value) -> Read {
        Read {
            value,
            kept: Vec::new(),
        }
    }

    /// The digits by address; good as long as the value stays where it is.
    pub(super) fn digits(&self) -> Digits {
        let mut out = Digits::default();
        for (path, text) in &self.kept {
            let mut at = Some(&self.value);
            for step in path {
                at = match (at, step) {
                    (Some(Value::Object(map)), PathStep::Name(name)) => map.get(name),
                    (Some(Value::Array(items)), PathStep::Index(i)) => items.get(*i),
                    _ => None,
                };
            }
            if let Some(value) = at {
                out.insert(std::ptr::from_ref(value), text.clone());
            }
        }
        out
    }
}

/// A value of which not everything is read yet.
enum Open {
    Array(Vec<Value>),
    /// With the name of the member that is being read.
    Object(Map<String, Value>, String),
}

/// The deepest nesting that is read unless told, because walks over what was read call themselves.
pub(super) const MAX_NESTING: usize = 512;

/// The character that some editors put before a text (RFC 8259, section 8.1).
const BYTE_ORDER_MARK: char = '\u{FEFF}';

/// Reads a text that is one JSON value. The last one counts of a name that comes twice. A byte
/// order mark before it is skipped, as RFC 8259 (section 8.1) lets a reader do.
pub(super) fn read(text: &str, max_nesting: usize) -> Result<Read, Error> {
    let at = match text.starts_with(BYTE_ORDER_MARK) {
        true => BYTE_ORDER_MARK.len_utf8(),
        false => 0,
    };
    let mut scanner = Scanner { text, at };
    let mut kept: Vec<(Vec<PathStep>, String)> = Vec::new();
    let mut open: Vec<Open> = Vec::new();
    let value = 'all: loop {
        scanner.space();
        let mut value = match scanner.peek() {
            Some(b'[') => {
                scanner.at += 1;
                scanner.space();
                if !scanner.eat(b']') {
                    deepen(&mut open, Open::Array(Vec::new()), max_nesting)?;
                    continue;
                }
                Value::Array(Vec::new())
            }
            Some(b'{') => {
                scanner.at += 1;
                scanner.space();
                if !scanner.eat(b'}') {
                    let name = scanner.name()?;
                    deepen(&mut open, Open::Object(Map::new(), name), max_nesting)?;
                    continue;
                }
                Value::Object(Map::new())
            }
            Some(b'"') => Value::String(scanner.string()?),
            Some(b'-' | b'0'..=b'9') => {
                let written = scanner.number()?;
                let (number, is_kept) = nearest(written);
                if !is_kept {
                    kept.push((path(&open), written.to_owned()));
                }
                number
            }
            _ => scanner.word()?,
        };
        // The end of a value comes with it.
        loop {
            scanner.space();
            let Some(top) = open.last_mut() else {
                break 'all value;
            };
            match top {
                Open::Array(items) => {
                    items.push(value);
                    if scanner.eat(b',') {
                        continue 'all;
                    }
                    scanner.expect(b']', "`,` or `]`")?;
                }
                Open::Object(map, name) => {
                    map.insert(std::mem::take(name), value);
                    if scanner.eat(b',') {
                        scanner.space();
                        let next = scanner.name()?;
                        if map.contains_key(&next) {
                            forget_member(&mut kept, &open, &next);
                        }
                        if let Some(Open::Object(_, name)) = open.last_mut() {
                            *name = next;
                        }
                        continue 'all;
                    }
                    scanner.expect(b'}', "`,` or `}`")?;
                }
            }
            value = match open.pop() {
                Some(Open::Array(items)) => Value::Array(items),
                Some(Open::Object(map, _)) => Value::Object(map),
                None => Value::Null,
            };
        }
    };
    if scanner.at < text.len() {
        return Err(scanner.wrong("the end"));
    }
    Ok(Read { value, kept })
}

fn deepen(open: &mut Vec<Open>, level: Open, max_nesting: usize) -> Result<(), Error> {
    if open.len() >= max_nesting {
        return Err(too_deep("", max_nesting));
    }
    open.push(level);
    Ok(())
}

/// Drops what was noted of a member that comes again.
fn forget_member(kept: &mut Vec<(Vec<PathStep>, String)>, open: &[Open], name: &str) {
    if kept.is_empty() {
        return;
    }
    let mut prefix = path(open);
    prefix.pop();
    prefix.push(PathStep::Name(name.to_owned()));
    kept.retain(|(path, _)| !path.starts_with(&prefix));
}

/// The way to the value that is being read.
fn path(open: &[Open]) -> Vec<PathStep> {
    let step = |level: &Open| match level {
        Open::Array(items) => PathStep::Index(items.len()),
        Open::Object(_, name) => PathStep::Name(name.clone()),
    };
    open.iter().map(step).collect()
}

/// The value of a number as a `Value` has it, and whether that is all of it.
fn nearest(text: &str) -> (Value, bool) {
    if let Ok(n) = text.parse::<i64>()
        && text != "-0"
    {
        return (Value::from(n), true);
    }
    if let Ok(n) = text.parse::<u64>() {
        return (Value::from(n), true);
    }
    let float = text.parse::<f64>().unwrap_or(0.0).clamp(f64::MIN, f64::MAX);
    let Some(number) = Number::from_f64(float) else {
        return (Value::from(0), false);
    };
    let same = match (Decimal::parse(text), Decimal::from_number(&number)) {
        (Some(written), Some(kept)) => written == kept,
        _ => false,
    };
    (Value::Number(number), same)
}

struct Scanner<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Scanner<'t> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, byte: u8, what: &str) -> Result<(), Error> {
        match self.eat(byte) {
            true => Ok(()),
            false => Err(self.wrong(what)),
        }
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    /// The name of a member and the colon behind it.
    fn name(&mut self) -> Result<String, Error> {
        if self.peek() != Some(b'"') {
            return Err(self.wrong("a name in quotes"));
        }
        let name = self.string()?;
        self.space();
        self.expect(b':', "`:`")?;
        Ok(name)
    }

    fn string(&mut self) -> Result<String, Error> {
        let from = self.at;
        let bytes = self.text.as_bytes();
        let mut to = from + 1;
        loop {
            match bytes.get(to) {
                Some(b'"') => break,
                Some(b'\\') => to += 2,
                Some(_) => to += 1,
                None => {
                    self.at = bytes.len();
                    return Err(self.wrong("a quotation mark"));
                }
            }
        }
        let quoted = self.text.get(from..=to);
        let read = quoted.and_then(|quoted| serde_json::from_str::<String>(quoted).ok());
        let Some(read) = read else {
            return Err(self.wrong("a string that JSON allows"));
        };
        self.at = to + 1;
        Ok(read)
    }

    /// A number by the grammar of JSON.
    fn number(&mut self) -> Result<&'t str, Error> {
        let from = self.at;
        self.eat(b'-');
        if !self.eat(b'0') {
            self.digits()?;
        }
        if self.eat(b'.') {
            self.digits()?;
        }
        if self.eat(b'e') || self.eat(b'E') {
            let _ = self.eat(b'+') || self.eat(b'-');
            self.digits()?;
        }
        Ok(&self.text[from..self.at])
    }

    fn digits(&mut self) -> Result<(), Error> {
        let from = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        match self.at > from {
            true => Ok(()),
            false => Err(self.wrong("a digit")),
        }
    }

    fn word(&mut self) -> Result<Value, Error> {
        for (word, value) in [
            ("null", Value::Null),
            ("true", Value::Bool(true)),
            ("false", Value::Bool(false)),
        ] {
            if self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.wrong("a value"))
    }

    #[cold]
    fn wrong(&self, expected: &str) -> Error {
        Error::new(
            ErrorKind::Invalid,
            "",
            format!(
                "the schema is no JSON: {expected} is expected at byte {}",
                self.at
            ),
        )
    }
}

/// An error about a document that nests too deep.
#[cold]
pub(super) fn too_deep(pointer: &str, most: usize) -> Error {
    Error::new(
        ErrorKind::TooDeep,
        pointer,
        format!(
            "arrays and objects of the schema nest more than {most} deep; flatten it or raise ParseOptions::max_nesting"
        ),
    )
}

/// Returns the words by which messages name what a value is.
pub(super) fn name_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use crate::read::json_text::{MAX_NESTING, read};

    fn digits(text: &str) -> Vec<String> {
        let read = read(text, MAX_NESTING).unwrap();
        let mut digits: Vec<String> = read.digits().into_values().collect();
        digits.sort();
        digits
    }

    /// What is read is what `serde_json` reads, but for numbers beyond all that it knows.
    #[test]
    fn values_are_those_of_serde_json() {
        for text in [
            "null",
            " [ ] ",
            "{}",
            "[1, -2,3.5,\n\"a\\u00e9\\\"\"]",
            "{\"a\":{\"b\":[true,false]},\"c\":1e3}",
            "{\"a\":1,\"a\":[2]}",
            "-0",
            "-0.0",
            "18446744073709551615",
            "18446744073709551616",
            "1E+2",
            "\"\"",
            "[",
            "{",
            "{\"a\"}",
            "{\"a\":1,}",
            "[1,]",
            "01",
            "1.",
            "-",
            "+1",
            "nul",
            "\"\n\"",
            "\"\\x\"",
            "1 2",
            "",
            "\"",
            "\"\\",
            "[1 2]",
            "{1:2}",
            "tru",
            "1e",
            "\"\\ud800\"",
            "{\"a\":1 \"b\":2}",
            "]",
            "}",
        ] {
            let own = read(text, MAX_NESTING).ok().map(|r| r.value);
            assert_eq!(own, serde_json::from_str(text).ok(), "{text}");
        }
    }

    #[test]
    fn digits_are_kept_where_a_value_does_not() {
        assert!(
            digits("[1, 0.1, 1e30, 18446744073709551615, 1.50, 1e308, -0.0, 100e-2]").is_empty()
        );
        let long = [
            "100000000000000000000000001",
            "0.1000000000000000055511151231257827",
            "1e400",
            "1e-400",
        ];
        for one in long {
            assert_eq!(digits(&format!("{{\"a\":[2,{{\"b\":{one}}}]}}")), [one]);
        }
        // Of a name that comes twice the last one counts.
        let [a, b] = [long[0], long[1]];
        assert_eq!(
            digits(&format!("{{\"a\":[{a}],\"b\":{a},\"a\":[{b}]}}")),
            [b, a]
        );
        assert!(digits(&format!("[{{\"a\":{a},\"a\":[1]}}]")).is_empty());
    }

    #[test]
    fn nesting_is_bounded() {
        let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert!(read(&nested(MAX_NESTING), MAX_NESTING).is_ok());
        for n in [MAX_NESTING + 2, 1_000_000] {
            let error = read(&nested(n), MAX_NESTING).err().unwrap();
            assert_eq!(error.kind(), crate::ErrorKind::TooDeep);
        }
    }
}
