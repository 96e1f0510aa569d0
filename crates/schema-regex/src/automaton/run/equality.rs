//! Equality of JSON values (2020-12 core, section 4.2.2) by one spelling for
//! each value, and what a value that was begun tells of what it can become.

use std::borrow::Cow;
use std::sync::Arc;

use crate::decimal::Decimal;

/// A spelling that two JSON texts share just if their values are equal.
pub(crate) fn canonical(text: &[u8]) -> String {
    let mut out = String::new();
    Reader::new(text, Members::Sorted).value(&mut out, 0);
    out
}

/// What is left to tell two beginnings of texts apart once the spellings of
/// complete values do not count.
pub(crate) fn canonical_beginning(text: &[u8]) -> String {
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
struct Reader<'t> {
    text: &'t [u8],
    at: usize,
    members: Members,
    /// Whether the string that was read last has its end.
    is_closed: bool,
}

/// In which order the members of objects are spelled.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Members {
    Sorted,
    /// The last one may not be complete.
    AsWritten,
}

impl<'t> Reader<'t> {
    fn new(text: &'t [u8], members: Members) -> Self {
        Reader {
            text,
            at: 0,
            members,
            is_closed: true,
        }
    }

    fn peek(&mut self) -> u8 {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
        self.text.get(self.at).copied().unwrap_or(0)
    }

    /// Past one more byte, or at the end of a text that was cut.
    fn skip(&mut self) {
        self.at = (self.at + 1).min(self.text.len());
    }

    fn string(&mut self) -> String {
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
    fn word(&mut self) -> Cow<'t, str> {
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

/// What must stand in the spelling of a value for a text that was begun to
/// become that value: what is complete in it, and the beginnings of what is not.
/// A value may have all that and differ; one that lacks any of it does.
#[derive(Debug, Default)]
pub(crate) struct Begun {
    pieces: Vec<Piece>,
}

#[derive(Debug)]
struct Piece {
    text: String,
    at: At,
    then: Then,
}

/// What follows a piece.
#[derive(Debug)]
enum Then {
    Anything,
    /// A number that begins like this.
    Number(String),
    /// A character that begins with these bytes.
    Char(Vec<u8>),
}

/// Where a piece stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Start,
    Anywhere,
}

impl Begun {
    /// Of a text that is JSON or begins as JSON. O(length).
    pub(crate) fn new(text: &[u8]) -> Begun {
        let mut begun = Begun::default();
        let mut reader = Reader::new(text, Members::Sorted);
        if let Some(whole) = begun.value(&mut reader, String::new(), At::Start, 0) {
            begun.add(whole, At::Start);
        }
        begun
    }

    /// Whether the value with this spelling may come of it.
    pub(crate) fn may_be(&self, whole: &str) -> bool {
        self.pieces.iter().all(|piece| piece.is_in(whole))
    }

    /// Whether one of several may come of it, which are sorted. Numbers are known to have no
    /// exponents, or are not.
    pub(crate) fn may_be_one_of(&self, all: &[Arc<str>], exponents: Exponents) -> bool {
        let start = self.pieces.iter().find(|piece| piece.at == At::Start);
        let before = start.map_or("", |piece| &piece.text);
        if let ([piece], Exponents::None) = (&self.pieces[..], exponents)
            && let (Then::Number(begun), true) = (&piece.then, before.is_empty())
        {
            return may_be_plain(begun, all);
        }
        let mut alike = beginning_with(all, before).iter();
        alike.any(|whole| self.may_be(whole))
    }

    fn add(&mut self, text: String, at: At) {
        let then = Then::Anything;
        self.pieces.push(Piece { text, at, then });
    }

    /// Adds the beginning of a string behind `before`.
    fn add_cut(&mut self, before: String, string: &[u8], at: At) {
        let (text, rest) = cut_string(string);
        let then = match rest {
            [] => Then::Anything,
            rest => Then::Char(rest.to_vec()),
        };
        let text = before + &text;
        self.pieces.push(Piece { text, at, then });
    }

    /// Reads a value behind `before`: its spelling with what is before it if it
    /// is complete, or else its pieces are added.
    fn value(
        &mut self,
        reader: &mut Reader<'_>,
        mut before: String,
        at: At,
        depth: usize,
    ) -> Option<String> {
        if depth > MAX_DEPTH {
            return None;
        }
        match reader.peek() {
            0 => {}
            b'"' => {
                let from = reader.at;
                let text = reader.string();
                if reader.is_closed {
                    before.push_str(&spelled(&text));
                    return Some(before);
                }
                self.add_cut(before, &reader.text[from..], at);
                return None;
            }
            b'[' => {
                reader.skip();
                before.push('[');
                loop {
                    match reader.peek() {
                        b']' => {
                            reader.skip();
                            before.push(']');
                            return Some(before);
                        }
                        0 => break,
                        _ => before = self.value(reader, before, at, depth + 1)?,
                    }
                    before.push(',');
                    if reader.peek() == b',' {
                        reader.skip();
                    }
                }
            }
            b'{' => {
                reader.skip();
                before.push('{');
                return self.members(reader, before, at, depth);
            }
            _ => {
                let word = reader.word();
                if reader.at < reader.text.len() {
                    before.push_str(&word_spelled(&word));
                    return Some(before);
                }
                if word.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
                    self.pieces.push(Piece {
                        text: before,
                        at,
                        then: Then::Number(word.into_owned()),
                    });
                    return None;
                }
                before.push_str(&word);
            }
        }
        self.add(before, at);
        None
    }

    /// The same of an object behind its bracket.
    fn members(
        &mut self,
        reader: &mut Reader<'_>,
        before: String,
        at: At,
        depth: usize,
    ) -> Option<String> {
        let mut members: Vec<(String, String)> = Vec::new();
        loop {
            match reader.peek() {
                b'}' => {
                    reader.skip();
                    members.sort();
                    let spelled = members.iter().map(|member| member.1.as_str());
                    return Some(before + &spelled.collect::<String>() + "}");
                }
                b'"' => {}
                _ => break,
            }
            let from = reader.at;
            let name = reader.string();
            if !reader.is_closed {
                self.add_cut(String::new(), &reader.text[from..], At::Anywhere);
                break;
            }
            let before = spelled(&name) + ":";
            match reader.peek() {
                b':' => reader.skip(),
                _ => {
                    self.add(before, At::Anywhere);
                    break;
                }
            }
            let Some(mut member) = self.value(reader, before, At::Anywhere, depth + 1) else {
                break;
            };
            member.push(',');
            members.push((name, member));
            if reader.peek() == b',' {
                reader.skip();
            }
        }
        self.add(before, at);
        for (_, member) in members {
            self.add(member, At::Anywhere);
        }
        None
    }
}

impl Piece {
    fn is_in(&self, whole: &str) -> bool {
        let text = self.text.as_str();
        match self.at {
            At::Start => whole
                .strip_prefix(text)
                .is_some_and(|rest| self.then.is_at(rest)),
            At::Anywhere => whole
                .match_indices(text)
                .any(|(at, _)| self.then.is_at(&whole[at + text.len()..])),
        }
    }
}

impl Then {
    fn is_at(&self, rest: &str) -> bool {
        match self {
            Then::Anything => true,
            Then::Number(begun) => may_become(begun, rest),
            Then::Char(begun) => rest.as_bytes().starts_with(begun),
        }
    }
}

/// Whether numbers may have exponents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exponents {
    None,
    Some,
}

/// Those of sorted texts that begin like this.
pub(crate) fn beginning_with<'a>(all: &'a [Arc<str>], before: &str) -> &'a [Arc<str>] {
    let from = all.partition_point(|whole| **whole < *before);
    let count = all[from..].partition_point(|whole| whole.starts_with(before));
    &all[from..from + count]
}

/// Whether a number that was begun, and will have no exponent, may become one of some
/// plain spellings.
fn may_be_plain(begun: &str, all: &[Arc<str>]) -> bool {
    let is_in = |text: &str| all.binary_search_by(|whole| (**whole).cmp(text)).is_ok();
    if !beginning_with(all, begun).is_empty() {
        return true;
    }
    // Zeros behind the point, and a minus before zero, say nothing.
    let short = match begun.contains('.') {
        true => begun.trim_end_matches('0').trim_end_matches('.'),
        false => begun,
    };
    is_in(short) || (matches!(short, "-" | "-0") && is_in("0"))
}

/// Whether a number that was begun may become the one, spelled plainly, with
/// which `rest` begins.
fn may_become(begun: &str, rest: &str) -> bool {
    let end = rest.find([',', ']', '}']).unwrap_or(rest.len());
    let whole = &rest[..end];
    if !whole.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
        return false;
    }
    // A number with an exponent that was begun has all its digits.
    let (mantissa, is_whole) = match begun.find(['e', 'E']) {
        Some(at) => (&begun[..at], true),
        None => (begun, false),
    };
    fn digits(number: &str) -> impl Iterator<Item = u8> + Clone {
        let digits = number.bytes().filter(u8::is_ascii_digit);
        digits.skip_while(|digit| *digit == b'0')
    }
    let mut theirs = digits(whole);
    let mut ours = digits(mantissa).peekable();
    if ours.peek().is_none() {
        return !is_whole || theirs.next().is_none();
    }
    let is_alike = ours.all(|digit| digit == theirs.next().unwrap_or(b'0'));
    begun.starts_with('-') == whole.starts_with('-')
        && is_alike
        && (!is_whole || theirs.all(|digit| digit == b'0'))
}

/// The characters of a string that was begun, as far as they are complete.
pub(crate) fn begun_string(text: &[u8]) -> String {
    let mut reader = Reader::new(text, Members::AsWritten);
    reader.peek();
    let (begun, _) = cut_string(&text[reader.at..]);
    serde_json::from_str(&(begun + "\"")).unwrap_or_default()
}

/// How the beginning of a string is spelled, as far as that is certain, and the
/// bytes of a character behind it that is not complete.
fn cut_string(begun: &[u8]) -> (String, &[u8]) {
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

pub(crate) fn spelled(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A number or unit that is complete.
pub(crate) fn word_spelled(word: &str) -> String {
    Decimal::parse(word).map_or_else(|| word.to_owned(), |d| d.plain())
}

/// The deepest nesting that is compared.
const MAX_DEPTH: usize = 2_000;

#[cfg(test)]
mod tests {
    use crate::automaton::run::equality::{Begun, canonical};

    fn may_equal(text: &[u8], whole: &str) -> bool {
        Begun::new(text).may_be(whole)
    }

    #[test]
    fn texts_that_are_cut_are_no_trouble() {
        let whole = r#"[{"a\"b":[1,"x\u0041\ud83d\ude00"],"c":{"a!":1,"a":0.5}},[],"é\\",-1.5e3]"#
            .as_bytes();
        for end in 0..=whole.len() {
            canonical(&whole[..end]);
            assert!(may_equal(&whole[..end], &canonical(whole)), "{end}");
        }
        assert!(!may_equal(b"[1,", "[2,3,]"));
        assert!(!may_equal(br#"{"a":1,"#, r#"{"a":2,}"#));
        assert!(!may_equal(b"\"ab", "\"ac\""));
        assert!(!may_equal(b"\"\xC3", "\"\u{4E2D}\"") && may_equal(b"\"\xE4", "\"\u{4E2D}\""));
        assert!(!may_equal(br#""\u0061b"#, "\"ac\""));
        assert!(!may_equal(br#"[1, {"a": "x\n"#, r#"[1,{"a":"x\"y",},]"#));
        assert!(!may_equal(
            br#"{"a": {"b": [1, 23"#,
            r#"{"a":{"b":[1,24,],},}"#
        ));
        assert!(!may_equal(b"1", "2") && !may_equal(b"-1", "1") && !may_equal(b"0.1", "2"));
        assert!(may_equal(b"1", "1000") && may_equal(b"0.0", "5") && may_equal(b"10", "1"));
        assert!(may_equal(b"5e", "5000") && !may_equal(b"50.1e", "5000"));
        assert!(!may_equal(b"tr", "1") && !may_equal(b"[", "{}") && !may_equal(b"{}", "[]"));
    }

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
