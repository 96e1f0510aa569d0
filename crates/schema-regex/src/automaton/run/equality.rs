//! Equality of JSON values (2020-12 core, section 4.2.2) by one spelling for each value.
//!
//! For example, `{"b":1.0,"a":"\u0041"}` has the spelling `{"a":"A","b":1}`.

use std::borrow::Cow;

use schema_normal::decimal::Decimal;

/// A spelling that two JSON texts share just if their values are equal.
pub(super) fn canonical(text: &[u8]) -> String {
    let mut out = String::new();
    Reader::new(text, Members::Sorted).value(&mut out, 0);
    out
}

/// Returns a spelling that differs for beginnings of texts that still differ once complete values
/// are spelled alike.
pub(super) fn canonical_beginning(text: &[u8]) -> String {
    let mut out = String::new();
    let mut reader = Reader::new(text, Members::AsWritten);
    while reader.peek() != 0 {
        let at = reader.at;
        reader.value(&mut out, 0);
        if reader.at == at {
            out.push(char::from(reader.peek()));
            reader.skip();
        }
    }
    out
}

/// Reads a text that is known to be JSON or to begin as JSON.
pub(super) struct Reader<'t> {
    pub(super) text: &'t [u8],
    pub(super) at: usize,
    members: Members,
    /// True if the string that was read last has its end.
    pub(super) is_closed: bool,
}

/// In which order the members of objects are spelled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Members {
    Sorted,
    /// The last one may not be complete.
    AsWritten,
}

impl<'t> Reader<'t> {
    pub(super) fn new(text: &'t [u8], members: Members) -> Self {
        Reader {
            text,
            at: 0,
            members,
            is_closed: true,
        }
    }

    pub(super) fn peek(&mut self) -> u8 {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
        self.text.get(self.at).copied().unwrap_or(0)
    }

    /// Past one more byte, or at the end of a text that was cut.
    pub(super) fn skip(&mut self) {
        self.at = (self.at + 1).min(self.text.len());
    }

    pub(super) fn string(&mut self) -> String {
        let start = self.at;
        self.skip();
        self.is_closed = false;
        while let Some(b) = self.text.get(self.at) {
            self.skip();
            match b {
                b'\\' => self.skip(),
                b'"' => {
                    self.is_closed = true;
                    break;
                }
                _ => {}
            }
        }
        let text = &self.text[start..self.at];
        // One that was cut stands for itself.
        serde_json::from_slice(text).unwrap_or_else(|_| String::from_utf8_lossy(text).into_owned())
    }

    fn value(&mut self, out: &mut String, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        match self.peek() {
            b'"' => {
                let text = self.string();
                out.push_str(&spelled(&text));
            }
            b'[' => {
                self.skip();
                out.push('[');
                while !matches!(self.peek(), b']' | 0) {
                    self.value(out, depth + 1);
                    out.push(',');
                    if self.peek() == b',' {
                        self.skip();
                    }
                }
                self.skip();
                out.push(']');
            }
            b'{' => {
                self.skip();
                let mut members: Vec<(String, String)> = Vec::new();
                while self.peek() == b'"' {
                    let name = self.string();
                    if self.peek() == b':' {
                        self.skip();
                    }
                    let mut value = String::new();
                    self.value(&mut value, depth + 1);
                    members.push((name, value));
                    if self.peek() == b',' {
                        self.skip();
                    }
                }
                self.skip();
                if self.members == Members::Sorted {
                    members.sort();
                }
                out.push('{');
                for (name, value) in members {
                    out.push_str(&spelled(&name));
                    out.push(':');
                    out.push_str(&value);
                    out.push(',');
                }
                out.push('}');
            }
            _ => {
                let word = self.word();
                out.push_str(&word_spelled(&word));
            }
        }
    }

    /// A number or unit, as far as it goes.
    pub(super) fn word(&mut self) -> Cow<'t, str> {
        let start = self.at;
        while let Some(b) = self.text.get(self.at) {
            if b",]} \t\n\r".contains(b) {
                break;
            }
            self.at += 1;
        }
        String::from_utf8_lossy(&self.text[start..self.at])
    }
}

/// A member of an object in its canonical spelling, with the comma behind it.
pub(super) struct SpelledMember<'t> {
    pub(super) text: &'t str,
    /// The place where its value begins.
    colon: usize,
}

impl<'t> SpelledMember<'t> {
    /// The name with what ends it.
    pub(super) fn before_value(&self) -> &'t str {
        &self.text[..self.colon]
    }

    pub(super) fn value(&self) -> &'t str {
        &self.text[self.colon..]
    }
}

/// The members of an object in its canonical spelling; none of any other value. O(length).
pub(super) fn members_of(whole: &str) -> Vec<SpelledMember<'_>> {
    let inside = whole.strip_prefix('{').and_then(|t| t.strip_suffix('}'));
    let inside = inside.unwrap_or_default();
    let mut out = Vec::new();
    let (mut from, mut value, mut depth) = (0, 0, 0usize);
    let (mut is_string, mut is_escaped) = (false, false);
    for (at, byte) in inside.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => is_string = !is_string,
            _ if is_string => {}
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            b':' if depth == 0 => value = at + 1,
            b',' if depth == 0 => {
                out.push(SpelledMember {
                    text: &inside[from..=at],
                    colon: value - from,
                });
                from = at + 1;
            }
            _ => {}
        }
    }
    out
}

/// The sign and the digits of a number with which a canonical spelling begins, without the zeros
/// before and behind them; `None` of anything else.
pub(super) fn significant_digits(whole: &str) -> Option<String> {
    let end = whole.find([',', ']', '}']).unwrap_or(whole.len());
    let number = &whole[..end];
    if !number.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
        return None;
    }
    let mut out = signed_digits(number);
    out.truncate(out.trim_end_matches('0').len());
    Some(out)
}

/// The sign and the digits of a number, without the zeros before them.
pub(super) fn signed_digits(number: &str) -> String {
    let sign = if number.starts_with('-') { '-' } else { '+' };
    let digits = number.chars().filter(char::is_ascii_digit);
    let digits = digits.skip_while(|digit| *digit == '0');
    std::iter::once(sign).chain(digits).collect()
}

/// The characters of a string that was begun, as far as they are complete.
pub(super) fn begun_string(text: &[u8]) -> String {
    let mut reader = Reader::new(text, Members::AsWritten);
    reader.peek();
    let (begun, _) = cut_string(&text[reader.at..]);
    serde_json::from_str(&(begun + "\"")).unwrap_or_default()
}

/// Returns the spelling of a string's beginning, as far as that is certain, and the bytes of a
/// character behind it that is not complete.
pub(super) fn cut_string(begun: &[u8]) -> (String, &[u8]) {
    let end = match std::str::from_utf8(begun) {
        Ok(_) => begun.len(),
        Err(e) => e.valid_up_to(),
    };
    let (valid, rest) = begun.split_at(end);
    let valid = std::str::from_utf8(valid).unwrap_or_default();
    let Some(first) = valid.find('\\') else {
        return (valid.to_owned(), rest);
    };
    // The last escape may not be complete, nor the pair that it is half of.
    let last = valid.rfind('\\').unwrap_or(first);
    let ends = [
        valid.len(),
        last,
        last.saturating_sub(1),
        last.saturating_sub(6),
    ];
    let whole = ends.iter().filter(|end| **end > first).find_map(|&end| {
        let text = serde_json::from_str::<String>(&(valid.get(..end)?.to_owned() + "\"")).ok()?;
        Some((text, end))
    });
    match whole {
        Some((text, end)) => {
            let mut spelled = spelled(&text);
            spelled.pop();
            (spelled, if end == valid.len() { rest } else { &[] })
        }
        None => (valid[..first].to_owned(), &[]),
    }
}

pub(super) fn spelled(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A number or unit that is complete.
pub(super) fn word_spelled(word: &str) -> String {
    Decimal::parse(word).map_or_else(|| word.to_owned(), |d| d.plain())
}

/// The deepest nesting that is compared, because the reader calls itself at each level.
pub(super) const MAX_DEPTH: usize = 2_000;

#[cfg(test)]
mod tests {
    use crate::automaton::run::equality::canonical;

    #[test]
    fn equal_values_are_spelled_alike() {
        for (a, b) in [
            ("1", "1.0"),
            ("10e-1", "1"),
            ("-0", "0"),
            ("0e999999", "0"),
            ("\"a\"", "\"\\u0061\""),
            ("[1, {\"a\":2,\"b\" : 3}]", "[1.00,{\"b\":3,\"a\":2}]"),
        ] {
            assert_eq!(canonical(a.as_bytes()), canonical(b.as_bytes()), "{a} {b}");
        }
        for (a, b) in [
            ("1", "\"1\""),
            ("[1]", "1"),
            ("[[1],2]", "[[1,2]]"),
            ("false", "0"),
            ("{\"a\":1}", "{\"a\":2}"),
            ("12345678901234567890123", "12345678901234567890124"),
        ] {
            assert_ne!(canonical(a.as_bytes()), canonical(b.as_bytes()), "{a} {b}");
        }
    }
}
