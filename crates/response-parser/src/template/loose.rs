//! Values as some models write them: keys and words without quotes, Python's literals, calls in Python.
//!
//! For example, `{city:<|"|>Ulm<|"|>,max-n:1,on:True}` is an object of three members, and
//! `[f(a='x', b=[1, None])]` a list of one call.

use crate::scalar::{self, Int};
use crate::text::Text;
use crate::value::{Object, Value};

/// The deepest nesting of such a value: no tool's arguments nest that deep, and there is a limit
/// because reading recurses.
pub(super) const MAX_DEPTH: usize = 128;

/// The place at which a text is no such value, and the reason.
#[derive(Debug)]
pub(super) struct LooseProblem {
    pub(super) offset: usize,
    pub(super) message: &'static str,
}

type Result<T> = std::result::Result<T, LooseProblem>;

/// Makes a value of a word without quotes that is a member of the outermost object: its key and the word.
pub(super) type Word<'w> = &'w dyn Fn(&str, &str) -> Option<Value<'static>>;

/// Which liberties are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Words {
    /// A word that is no literal is text.
    Text,
    /// Only literals.
    Literals,
}

struct LooseReader<'r> {
    text: &'r str,
    at: usize,
    pairs: &'r [(String, String)],
    words: Words,
    word: Word<'r>,
}

/// Reads a value whose keys and words need no quotes, and whose strings stand between `pairs` or
/// in quotes.
pub(super) fn value(
    text: &str,
    pairs: &[(String, String)],
    word: Word<'_>,
) -> Result<Value<'static>> {
    let mut reader = LooseReader {
        text,
        at: 0,
        pairs,
        words: Words::Text,
        word,
    };
    let value = reader.value(0)?;
    reader.end()?;
    Ok(value)
}

/// Reads one of Python's literals.
pub(super) fn literal(text: &str) -> Result<Value<'static>> {
    let mut reader = python(text);
    let value = reader.value(0)?;
    reader.end()?;
    Ok(value)
}

/// Reads the arguments of a call, with the brackets around them.
pub(super) fn arguments(text: &str) -> Result<Value<'static>> {
    let mut reader = python(text);
    let arguments = reader.arguments()?;
    reader.end()?;
    Ok(Value::Object(arguments))
}

/// Reads a list of calls: objects with `name` and `arguments`.
pub(super) fn calls(text: &str) -> Result<Value<'static>> {
    let mut reader = python(text);
    reader.expect('[', "expected a list of calls")?;
    let mut calls = Vec::new();
    while !reader.takes(']') {
        calls.push(reader.call()?);
        if !reader.takes(',') {
            reader.expect(']', "expected ',' or ']' behind a call")?;
            break;
        }
    }
    reader.end()?;
    Ok(Value::Array(calls))
}

/// Reads calls on lines of their own: objects with `name` and `arguments`.
pub(super) fn lines(text: &str) -> Result<Value<'static>> {
    let mut reader = python(text);
    let mut calls = Vec::new();
    while reader.peek().is_some() {
        calls.push(reader.call()?);
        if !text[reader.at..]
            .trim_start_matches([' ', '\t', '\r'])
            .starts_with('\n')
        {
            reader.end()?;
        }
    }
    Ok(Value::Array(calls))
}

fn python(text: &str) -> LooseReader<'_> {
    LooseReader {
        text,
        at: 0,
        pairs: &[],
        words: Words::Literals,
        word: &|_, _| None,
    }
}

fn owned(text: &str) -> Text<'static> {
    Text::plain(text.to_owned())
}

impl<'r> LooseReader<'r> {
    fn error(&self, message: &'static str) -> LooseProblem {
        LooseProblem {
            offset: self.at,
            message,
        }
    }

    fn rest(&self) -> &'r str {
        &self.text[self.at..]
    }

    fn space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn peek(&mut self) -> Option<char> {
        self.space();
        self.rest().chars().next()
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

    fn end(&mut self) -> Result<()> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.error("data after the value")),
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value<'static>> {
        if depth > MAX_DEPTH {
            return Err(self.error("nested too deeply"));
        }
        match self.peek() {
            None => Err(self.error("expected a value")),
            Some('{') => self.object(depth),
            Some('[') => self.list(depth, ']'),
            Some('(') if self.words == Words::Literals => self.list(depth, ')'),
            Some(_) => match self.string()? {
                Some(text) => Ok(Value::Text(Text::plain(text))),
                None => {
                    let word = self.word()?;
                    match (constant(word), self.words) {
                        (Some(value), _) => Ok(value),
                        (None, Words::Text) => Ok(Value::Text(owned(word))),
                        (None, Words::Literals) => Err(self.error("expected a literal")),
                    }
                }
            },
        }
    }

    fn list(&mut self, depth: usize, close: char) -> Result<Value<'static>> {
        self.at += 1;
        let mut items = Vec::new();
        while !self.takes(close) {
            items.push(self.value(depth + 1)?);
            if !self.takes(',') {
                self.expect(close, "expected ',' or the end of the list")?;
                break;
            }
        }
        Ok(Value::Array(items))
    }

    fn object(&mut self, depth: usize) -> Result<Value<'static>> {
        self.at += 1;
        let mut object = Object::default();
        while !self.takes('}') {
            let key = match self.string()? {
                Some(key) => key,
                None => {
                    self.space();
                    let rest = self.rest();
                    let length = rest.find([':', ',', '{', '}', '\n']);
                    match length.filter(|&length| length > 0 && rest[length..].starts_with(':')) {
                        Some(length) => {
                            let key = rest[..length].trim().to_owned();
                            self.at += length;
                            key
                        }
                        None => return Err(self.error("expected a key")),
                    }
                }
            };
            self.expect(':', "expected ':'")?;
            let quoted = ['{', '[', '"', '\''];
            let next = self.peek();
            let pair = self
                .pairs
                .iter()
                .any(|(open, _)| self.rest().starts_with(open));
            let bare = depth == 0 && !pair && next.is_some_and(|c| !quoted.contains(&c));
            let value = match bare {
                true => {
                    let before = self.at;
                    let word = self.word()?;
                    match (self.word)(&key, word) {
                        Some(value) => value,
                        None => {
                            self.at = before;
                            self.value(depth + 1)?
                        }
                    }
                }
                false => self.value(depth + 1)?,
            };
            object.insert(Text::plain(key), value);
            if !self.takes(',') {
                self.expect('}', "expected ',' or the end of the object")?;
                break;
            }
        }
        Ok(Value::Object(object))
    }

    /// A word up to what ends a value.
    fn word(&mut self) -> Result<&'r str> {
        self.space();
        let from = self.at;
        let rest = &self.text[from..];
        let length = rest.find([',', '}', ']', ')']).unwrap_or(rest.len());
        let word = rest[..length].trim_end();
        if word.is_empty() {
            return Err(self.error("expected a value"));
        }
        self.at = from + word.len();
        Ok(&self.text[from..from + word.len()])
    }

    /// A string, if one begins here.
    fn string(&mut self) -> Result<Option<String>> {
        let first = self.peek();
        for (open, close) in self.pairs {
            if !self.rest().starts_with(open.as_str()) {
                continue;
            }
            let from = self.at + open.len();
            let Some(length) = self.text[from..].find(close.as_str()) else {
                return Err(self.error("unterminated string"));
            };
            self.at = from + length + close.len();
            return Ok(Some(self.text[from..from + length].to_owned()));
        }
        let Some(quote @ ('"' | '\'')) = first else {
            return Ok(None);
        };
        let mut out = String::new();
        let mut units: Vec<u16> = Vec::new();
        self.at += 1;
        loop {
            let Some(c) = self.rest().chars().next() else {
                return Err(self.error("unterminated string"));
            };
            self.at += c.len_utf8();
            if c == '\\' {
                if let Some(unit) = self.escaped_unit() {
                    units.push(unit);
                    continue;
                }
                out.push_str(&String::from_utf16_lossy(&std::mem::take(&mut units)));
                self.escape(&mut out)?;
                continue;
            }
            out.push_str(&String::from_utf16_lossy(&std::mem::take(&mut units)));
            if c == quote {
                return Ok(Some(out));
            }
            out.push(c);
        }
    }

    /// The unit of `\uXXXX`, whose backslash is behind.
    fn escaped_unit(&mut self) -> Option<u16> {
        let digits = self.rest().strip_prefix('u')?.get(..4)?;
        let unit = u16::from_str_radix(digits, 16).ok()?;
        self.at += 5;
        Some(unit)
    }

    /// Any other escape, whose backslash is behind.
    fn escape(&mut self, out: &mut String) -> Result<()> {
        let Some(c) = self.rest().chars().next() else {
            return Err(self.error("unterminated string"));
        };
        self.at += c.len_utf8();
        match c {
            'n' => out.push('\n'),
            't' => out.push('\t'),
            'r' => out.push('\r'),
            'b' => out.push('\u{8}'),
            'f' => out.push('\u{c}'),
            '\\' | '\'' | '"' | '/' => out.push(c),
            '\n' if self.words == Words::Literals => {}
            'x' => {
                let code = self
                    .rest()
                    .get(..2)
                    .and_then(|d| u8::from_str_radix(d, 16).ok());
                match code {
                    Some(code) => {
                        self.at += 2;
                        out.push(char::from(code));
                    }
                    None => return Err(self.error("bad escape in a string")),
                }
            }
            // Python keeps what it does not know.
            other => {
                out.push('\\');
                out.push(other);
            }
        }
        Ok(())
    }

    fn call(&mut self) -> Result<Value<'static>> {
        self.space();
        let rest = self.rest();
        let length = rest
            .find(|c: char| !(c.is_alphanumeric() || "_.-".contains(c)))
            .unwrap_or(rest.len());
        let name = owned(&rest[..length]);
        if length == 0 {
            return Err(self.error("expected a call"));
        }
        self.at += length;
        let arguments = self.arguments()?;
        let mut call = Object::default();
        call.insert(Text::plain("name"), Value::Text(name));
        call.insert(Text::plain("arguments"), Value::Object(arguments));
        Ok(Value::Object(call))
    }

    fn arguments(&mut self) -> Result<Object<'static>> {
        self.expect('(', "expected '(' behind a name")?;
        let mut arguments = Object::default();
        while !self.takes(')') {
            self.space();
            let rest = self.rest();
            let length = rest
                .find(|c: char| !(c.is_alphanumeric() || c == '_'))
                .unwrap_or(rest.len());
            let key = owned(&rest[..length]);
            if length == 0 {
                return Err(self.error("expected an argument's name"));
            }
            self.at += length;
            self.expect('=', "expected '=' behind an argument's name")?;
            let value = self.value(0)?;
            arguments.insert(key, value);
            if !self.takes(',') {
                self.expect(')', "expected ',' or ')' behind an argument")?;
                break;
            }
        }
        Ok(arguments)
    }
}

/// A literal that is neither a string nor a container, as JSON or Python writes it.
pub(super) fn constant(word: &str) -> Option<Value<'static>> {
    Some(match word {
        "true" | "True" => Value::Bool(true),
        "false" | "False" => Value::Bool(false),
        "null" | "None" => Value::Null,
        _ => return number(word),
    })
}

/// A number as JSON or Python writes it: with a digit, and nothing that only Python's `float` takes.
pub(super) fn number(word: &str) -> Option<Value<'static>> {
    let digit = |c: char| c.is_ascii_digit();
    if !word.contains(digit) || !word.chars().all(|c| digit(c) || "+-.eE".contains(c)) {
        return None;
    }
    if let Some(n) = scalar::integer(word) {
        return Some(Value::Int(n));
    }
    let n = scalar::float(word).filter(|n| n.is_finite())?;
    Some(Value::Float(n))
}

/// A whole number, also with a fraction of zeros.
pub(super) fn whole(word: &str) -> Option<Int> {
    match number(word)? {
        Value::Int(n) => Some(n),
        Value::Float(n) if n.fract() == 0.0 => Some(Int::from_whole(n)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Beyond;
    use serde_json::json;

    fn json(value: Result<Value<'_>>) -> serde_json::Value {
        match value.map(|value| value.into_json(Beyond::Tag)) {
            Ok(Ok(value)) => value,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn keys_and_words_need_no_quotes() {
        let pairs = [("<|\"|>".to_owned(), "<|\"|>".to_owned())];
        let none = |_: &str, _: &str| None;
        for (text, expected) in [
            ("{}", json!({})),
            (
                "{my key:1,B-c:{Two Words:[1,]}}",
                json!({"my key": 1, "B-c": {"Two Words": [1]}}),
            ),
            (
                "{a:<|\"|>x,y:{\"<|\"|>, b: True ,c:Paris}",
                json!({"a": "x,y:{\"", "b": true, "c": "Paris"}),
            ),
            (
                r#"{"a":"x,b: y {c:1}", d: ['e', None, -1.5e3]}"#,
                json!({"a": "x,b: y {c:1}", "d": ["e", null, -1500.0]}),
            ),
        ] {
            assert_eq!(json(value(text, &pairs, &none)), expected, "{text}");
        }
        for text in [
            "{",
            "{a}",
            "{a:}",
            "{a:1}}",
            "{a:<|\"|>x}",
            "{:1}",
            "{a:1,,b:2}",
        ] {
            assert!(value(text, &pairs, &none).is_err(), "{text}");
        }
        let deep = "[".repeat(100_000);
        assert!(value(&deep, &pairs, &none).is_err());
    }

    #[test]
    fn calls_as_python_writes_them() {
        let text = r#"[f(a='it\'s', b="\u00e9\ud83c\udf38", c=(1, -2.5), d={'k': None}), g.h()]"#;
        let expected = json!([
            {"name": "f", "arguments": {"a": "it's", "b": "é🌸", "c": [1, -2.5], "d": {"k": null}}},
            {"name": "g.h", "arguments": {}}
        ]);
        assert_eq!(json(calls(text)), expected);
        for text in ["[f(1)]", "[f(a=b)]", "[f(a=1]", "f()", "[f]", "[f(a=1)] x"] {
            assert!(calls(text).is_err(), "{text}");
        }
        assert!(literal("True").is_ok() && literal("x").is_err());
        assert_eq!(
            json(lines("f(a=')\n')\n g.h()\n")),
            json!([
                {"name": "f", "arguments": {"a": ")\n"}},
                {"name": "g.h", "arguments": {}}
            ])
        );
        assert_eq!(json(lines(" \n")), json!([]));
        assert!(lines("f(a=1) x").is_err() && lines("[f()]").is_err());
        assert_eq!(
            json(arguments(" (a='x', b=[None])")),
            json!({"a": "x", "b": [null]})
        );
        assert!(arguments("(a=1) b").is_err() && arguments("f(a=1)").is_err());
    }
}
