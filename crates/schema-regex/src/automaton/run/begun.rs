//! What a value that was begun tells of what it can become: pieces that must stand in the
//! spelling of that.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::automaton::run::equality::{
    MAX_DEPTH, Members, Reader, cut_string, spelled, word_spelled,
};
use crate::automaton::run::scratch::{Frame, Scratch};
use crate::language::escapes::is_never_raw;

/// What is open in a value, up to a place between two of its tokens. A value may have all that
/// this says and differ; one that lacks any of it does.
#[derive(Clone, Debug, Default)]
pub(crate) struct Open {
    /// Arrays and objects, from the outermost on.
    within: Vec<Within>,
}

#[derive(Clone, Debug)]
struct Within {
    /// What it is spelled like, with what is before it: an array up to the item that comes
    /// next, and nothing while one is open that has others in it; an object up to its first
    /// name.
    text: String,
    at: Anchor,
    /// Of an object, names and spelled members.
    members: Option<Vec<(String, String)>>,
    /// The name of the member that is open.
    name: String,
}

/// What must stand in the spelling of a value.
#[derive(Debug)]
pub(crate) struct Piece {
    text: String,
    at: Anchor,
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
enum Anchor {
    Start,
    Anywhere,
}

/// What is met where a value comes.
enum Met {
    /// A scalar, spelled like this.
    Scalar(String),
    /// The bracket of an array or object.
    Opens(char),
    /// The end of the text, behind this.
    End(String, Then),
}

impl Open {
    /// What it becomes by text that goes on as JSON, up to the last place between two tokens,
    /// and behind how many bytes that is: nothing if there is none. And what is read behind
    /// that, or the whole value. O(length).
    pub(crate) fn go_on(&self, text: &[u8]) -> (Option<(Open, usize)>, Piece) {
        let mut open = Cow::Borrowed(self);
        let mut reader = Reader::new(text, Members::Sorted);
        let mut between = 0;
        let piece = loop {
            let Some(last) = open.within.last() else {
                match value(&mut reader) {
                    Met::Scalar(whole) => return (None, Piece::new(whole, Anchor::Start)),
                    Met::Opens(bracket) => open.to_mut().push(None, bracket),
                    Met::End(text, then) => {
                        let at = Anchor::Start;
                        break Piece { text, at, then };
                    }
                }
                between = reader.at;
                continue;
            };
            if reader.peek() == b',' {
                reader.skip();
                between = reader.at;
            }
            if reader.peek() == last.end() {
                reader.skip();
                if let Some(whole) = open.to_mut().close() {
                    return (None, Piece::new(whole, Anchor::Start));
                }
                between = reader.at;
                continue;
            }
            let name = match last.name(&mut reader) {
                Ok(name) => name,
                Err(piece) => break piece,
            };
            let too_deep = open.within.len() >= MAX_DEPTH;
            match value(&mut reader) {
                Met::Opens(_) if too_deep => break Piece::new(String::new(), Anchor::Anywhere),
                Met::Opens(bracket) => open.to_mut().push(name, bracket),
                Met::Scalar(text) => open.to_mut().put_scalar(name, &text),
                Met::End(rest, then) => {
                    let (text, at) = match name {
                        Some(name) => (before(&name) + &rest, Anchor::Anywhere),
                        None => (last.text.clone() + &rest, last.at),
                    };
                    break Piece { text, at, then };
                }
            }
            between = reader.at;
        };
        let further = (between > 0).then(|| (open.into_owned(), between));
        (further, piece)
    }

    /// Whether the value with this spelling may come of it.
    pub(crate) fn may_be(&self, whole: &str) -> bool {
        self.within.iter().all(|within| {
            let mut members = within.members.iter().flatten();
            within.at.has(&within.text, whole) && members.all(|(_, text)| whole.contains(text))
        })
    }

    fn push(&mut self, name: Option<String>, bracket: char) {
        let (mut text, at) = match (name, self.within.last_mut()) {
            (Some(name), Some(last)) => {
                let before = before(&name);
                last.name = name;
                (before, Anchor::Anywhere)
            }
            (None, Some(last)) => (std::mem::take(&mut last.text), last.at),
            (_, None) => (String::new(), Anchor::Start),
        };
        text.push(bracket);
        self.within.push(Within {
            text,
            at,
            members: (bracket == '{').then(Vec::new),
            name: String::new(),
        });
    }

    fn put_scalar(&mut self, name: Option<String>, text: &str) {
        let Some(last) = self.within.last_mut() else {
            return;
        };
        match (&mut last.members, name) {
            (Some(members), Some(name)) => {
                let member = before(&name) + text + ",";
                members.push((name, member));
            }
            _ => {
                last.text.push_str(text);
                last.text.push(',');
            }
        }
    }

    /// Closes the innermost array or object: the whole value if it was the outermost.
    fn close(&mut self) -> Option<String> {
        let closed = self.within.pop()?;
        let mut whole = closed.text;
        match closed.members {
            Some(mut members) => {
                members.sort();
                whole.extend(members.iter().map(|member| member.1.as_str()));
                whole.push('}');
            }
            None => whole.push(']'),
        }
        let Some(last) = self.within.last_mut() else {
            return Some(whole);
        };
        whole.push(',');
        match &mut last.members {
            Some(members) => members.push((std::mem::take(&mut last.name), whole)),
            None => last.text = whole,
        }
        None
    }

    /// Bytes of memory, about.
    fn memory(&self) -> usize {
        let of_members = |members: &Vec<(String, String)>| -> usize {
            let sizes = members.iter().map(|(name, text)| name.len() + text.len());
            sizes.sum::<usize>() + size_of_val(members.as_slice())
        };
        let sizes = self.within.iter().map(|within| {
            let members = within.members.as_ref().map_or(0, of_members);
            size_of_val(within) + within.text.len() + members
        });
        sizes.sum()
    }
}

impl Within {
    fn end(&self) -> u8 {
        if self.members.is_some() { b'}' } else { b']' }
    }

    /// The name of the member that comes next, if it is an object: the last piece where the
    /// text ends before its value.
    fn name(&self, reader: &mut Reader<'_>) -> Result<Option<String>, Piece> {
        if self.members.is_none() {
            return Ok(None);
        }
        if reader.peek() != b'"' {
            return Err(Piece::new(self.text.clone(), self.at));
        }
        let from = reader.at;
        let name = reader.string();
        if !reader.is_closed {
            let (text, then) = cut(&reader.text[from..]);
            let at = Anchor::Anywhere;
            return Err(Piece { text, at, then });
        }
        if reader.peek() != b':' {
            return Err(Piece::new(before(&name), Anchor::Anywhere));
        }
        reader.skip();
        Ok(Some(name))
    }
}

/// What stands before a member's value.
fn before(name: &str) -> String {
    spelled(name) + ":"
}

fn value(reader: &mut Reader<'_>) -> Met {
    match reader.peek() {
        0 => Met::End(String::new(), Then::Anything),
        b'"' => {
            let from = reader.at;
            let text = reader.string();
            if reader.is_closed {
                return Met::Scalar(spelled(&text));
            }
            let (text, then) = cut(&reader.text[from..]);
            Met::End(text, then)
        }
        bracket @ (b'[' | b'{') => {
            reader.skip();
            Met::Opens(char::from(bracket))
        }
        _ => {
            let word = reader.word();
            if reader.at < reader.text.len() {
                return Met::Scalar(word_spelled(&word));
            }
            match word.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
                true => Met::End(String::new(), Then::Number(word.into_owned())),
                false => Met::End(word.into_owned(), Then::Anything),
            }
        }
    }
}

/// The beginning of a string, and what follows it.
fn cut(string: &[u8]) -> (String, Then) {
    let (text, rest) = cut_string(string);
    let then = match rest {
        [] => Then::Anything,
        rest => Then::Char(rest.to_vec()),
    };
    (text, then)
}

impl Piece {
    fn new(text: String, at: Anchor) -> Piece {
        let then = Then::Anything;
        Piece { text, at, then }
    }

    /// Whether it is all of a text that is a string, which goes on behind a whole character that
    /// is no escape of several.
    fn is_string_of(&self, text: &[u8]) -> bool {
        if !self.text.starts_with('"') || !matches!(self.then, Then::Anything) {
            return false;
        }
        let mut bytes = text.trim_ascii_start().iter().skip(1);
        while let Some(byte) = bytes.next() {
            let goes_on = match byte {
                b'"' => false,
                b'\\' => bytes.next().is_some_and(|escape| *escape != b'u'),
                _ => true,
            };
            if !goes_on {
                return false;
            }
        }
        true
    }

    /// Whether the value with this spelling has it.
    pub(crate) fn is_in(&self, whole: &str) -> bool {
        let text = self.text.as_str();
        match (self.at, &self.then) {
            (Anchor::Anywhere, Then::Anything) => whole.contains(text),
            (Anchor::Start, then) => whole
                .strip_prefix(text)
                .is_some_and(|rest| then.is_at(rest)),
            (Anchor::Anywhere, then) => whole
                .match_indices(text)
                .any(|(at, _)| then.is_at(&whole[at + text.len()..])),
        }
    }

    /// Whether one of several has it, which are sorted, where it is all that is known. Numbers
    /// are known to have no exponents, or are not.
    fn is_in_some(&self, all: &[Arc<str>], exponents: Exponents) -> bool {
        let before = match self.at {
            Anchor::Start => self.text.as_str(),
            Anchor::Anywhere => "",
        };
        if let (Then::Number(begun), true, Exponents::None) =
            (&self.then, before.is_empty(), exponents)
        {
            return may_be_plain(begun, all);
        }
        let mut alike = beginning_with(all, before).iter();
        alike.any(|whole| self.is_in(whole))
    }
}

impl Anchor {
    fn has(self, text: &str, whole: &str) -> bool {
        match self {
            Anchor::Start => whole.starts_with(text),
            Anchor::Anywhere => whole.contains(text),
        }
    }
}

/// An item that was begun.
#[derive(Debug)]
pub(crate) struct Begun {
    /// What is open in it, if it is an array or object.
    place: Option<Arc<Container>>,
    last: Piece,
}

/// What is known of an item between two of its tokens.
#[derive(Debug)]
struct Container {
    open: Open,
    /// Those of the items before it that it may become.
    alike: Box<[u32]>,
}

impl Begun {
    /// Whether it may become one of those items before it.
    pub(crate) fn may_be_one_before(&self, seen: &[Arc<str>], exponents: Exponents) -> bool {
        match &self.place {
            Some(place) => {
                let mut alike = place.alike.iter();
                alike.any(|at| self.last.is_in(&seen[*at as usize]))
            }
            None => self.last.is_in_some(seen, exponents),
        }
    }

    /// The same of other values, which are sorted.
    pub(crate) fn may_be_one_of(&self, all: &[Arc<str>], exponents: Exponents) -> bool {
        match &self.place {
            Some(place) => {
                let is_in = |whole: &str| place.open.may_be(whole) && self.last.is_in(whole);
                all.iter().any(|whole| is_in(whole))
            }
            None => self.last.is_in_some(all, exponents),
        }
    }
}

/// Places of items by their text so far, where in the text they begin, and the items before
/// them: a walk goes on from each in many ways.
#[derive(Debug, Default)]
pub(crate) struct Places {
    known: FxHashMap<(u32, u32, u32), Arc<Container>>,
    /// The same of items that are strings, inside of these.
    strings: FxHashMap<(u32, u32, u32), Alike>,
    memory: usize,
}

/// The items that begin like a string that was begun.
#[derive(Clone, Copy, Debug)]
struct Alike {
    from: usize,
    to: usize,
    /// So many bytes of their spelling are those of the string.
    len: usize,
}

impl Alike {
    /// Those that begin like this, of all.
    fn of(all: &[Arc<str>], text: &str) -> Alike {
        let Range { start, end } = places_beginning_with(all, text);
        Alike {
            from: start,
            to: end,
            len: text.len(),
        }
    }

    /// Those that go on with a byte.
    fn with(self, all: &[Arc<str>], byte: u8) -> Alike {
        let Alike { from, to, len } = self;
        let next = |whole: &Arc<str>| whole.as_bytes().get(len).copied();
        let all = &all[from..to];
        Alike {
            from: from + all.partition_point(|whole| next(whole) < Some(byte)),
            to: from + all.partition_point(|whole| next(whole) <= Some(byte)),
            len: len + 1,
        }
    }
}

/// The most bytes that places are kept with.
const MAX_PLACES: usize = 1 << 22;

impl Places {
    fn add(&mut self, key: (u32, u32, u32), place: &Arc<Container>) {
        if self.has_room(place.open.memory() + size_of_val(&*place.alike)) {
            self.known.insert(key, Arc::clone(place));
        }
    }

    fn add_string(&mut self, key: (u32, u32, u32), alike: Alike) {
        if self.has_room(size_of_val(&key) + size_of::<Alike>()) {
            self.strings.insert(key, alike);
        }
    }

    /// Whether so many bytes may be added; if not, all is forgotten.
    fn has_room(&mut self, bytes: usize) -> bool {
        self.memory += bytes;
        let has_room = self.memory <= MAX_PLACES;
        if !has_room {
            self.known.clear();
            self.strings.clear();
            self.memory = 0;
        }
        has_room
    }
}

impl Scratch {
    /// Whether an open item of an array may become one before it, if it is a string, and that was
    /// asked before its last character. O(log items).
    pub(crate) fn string_may_be_one_before(&mut self, text: u32, array: &Frame) -> Option<bool> {
        let (start, seen) = (array.start, array.seen);
        let key = (text, start, seen);
        if let Some(known) = self.places.strings.get(&key) {
            return Some(known.from < known.to);
        }
        // It is a character, and spelled as it is.
        let is_spelled = |byte: &u8| byte.is_ascii() && !is_never_raw(*byte);
        let byte = self.last_byte(text).filter(is_spelled)?;
        let before = (self.text_before(text), start, seen);
        let before = self.places.strings.get(&before)?;
        let alike = before.with(&self.seen.get(seen).list, byte);
        self.may_compare = self.may_compare.saturating_sub(1);
        self.places.add_string(key, alike);
        Some(alike.from < alike.to)
    }

    /// An open item of an array, of a text of all that is open. O(bytes since the last place
    /// between two tokens of it that was asked for).
    pub(crate) fn begun(&mut self, text: u32, array: &Frame) -> Begun {
        let (start, seen) = (array.start, array.seen);
        let mut bytes: Vec<u8> = Vec::new();
        let mut texts = Vec::new();
        let mut place = None;
        let mut at = text;
        while self.text_length(at) > start {
            let byte = self.last_byte(at).unwrap_or_default();
            if is_last(byte) {
                place = self.places.known.get(&(at, start, seen)).map(Arc::clone);
                if place.is_some() {
                    break;
                }
            }
            bytes.push(byte);
            texts.push(at);
            at = self.text_before(at);
        }
        bytes.reverse();
        self.may_compare = self.may_compare.saturating_sub(bytes.len() as u64);
        let nothing = Open::default();
        let before: Option<&Container> = place.as_deref();
        let (further, last) = before.map_or(&nothing, |p| &p.open).go_on(&bytes);
        let Some((open, count)) = further else {
            if place.is_none() && last.is_string_of(&bytes) {
                let alike = Alike::of(&self.seen.get(seen).list, &last.text);
                self.places.add_string((text, start, seen), alike);
            }
            return Begun { place, last };
        };
        let items = &self.seen.get(seen).list;
        let may_be = |at: &u32| open.may_be(&items[*at as usize]);
        let alike = match before {
            Some(before) => before.alike.iter().copied().filter(may_be).collect(),
            None => (0..items.len() as u32).filter(may_be).collect(),
        };
        let place = Arc::new(Container { open, alike });
        if is_last(bytes[count - 1]) {
            let behind = texts[texts.len() - count];
            self.places.add((behind, start, seen), &place);
        }
        let place = Some(place);
        Begun { place, last }
    }
}

/// Whether a byte may be the last one before a place that is remembered.
fn is_last(byte: u8) -> bool {
    matches!(byte, b',' | b'[' | b'{' | b']' | b'}' | b'"')
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
    &all[places_beginning_with(all, before)]
}

/// Where they are.
fn places_beginning_with(all: &[Arc<str>], before: &str) -> Range<usize> {
    let from = all.partition_point(|whole| **whole < *before);
    let count = all[from..].partition_point(|whole| whole.starts_with(before));
    from..from + count
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::automaton::run::equality::canonical;

    /// Reads a text at once, and in two parts wherever it is between two tokens.
    fn may_equal(text: &[u8], whole: &str) -> bool {
        let told = |open: &Open, last: &Piece| open.may_be(whole) && last.is_in(whole);
        let start = Open::default();
        let (further, last) = start.go_on(text);
        let answer = told(further.as_ref().map_or(&start, |further| &further.0), &last);
        for end in 0..text.len() {
            let (Some((open, count)), _) = start.go_on(&text[..end]) else {
                continue;
            };
            let (further, last) = open.go_on(&text[count..]);
            let open = further.as_ref().map_or(&open, |further| &further.0);
            let again = told(open, &last);
            assert_eq!(
                again,
                answer,
                "{} in two parts at {count}",
                text.escape_ascii()
            );
        }
        answer
    }

    #[test]
    fn strings_go_on_byte_by_byte() {
        let items = ["", "a", "ab", "ab c", "abé", "b\\", "b\"x", "é"];
        let mut all: Vec<Arc<str>> = items.map(|item| spelled(item).into()).to_vec();
        all.sort_unstable();
        for item in items {
            let begun = spelled(item);
            let begun = begun.strip_suffix('"').unwrap();
            let here = Alike::of(&all, begun);
            for byte in (0x20..0x80).filter(|byte| !is_never_raw(*byte)) {
                let further = here.with(&all, byte);
                let text = format!("{begun}{}", char::from(byte));
                let again = Alike::of(&all, &text);
                assert_eq!(further.to - further.from, again.to - again.from, "{text}");
                let alike = &all[further.from..further.to];
                assert!(alike.iter().all(|whole| whole.starts_with(&text)), "{text}");
            }
        }
        let is_open = |text: &[u8]| {
            let (_, last) = Open::default().go_on(text);
            last.is_string_of(text)
        };
        let open: [&[u8]; 4] = [b"\"", b" \"a", b"\"\\\\", b"\"\xC3\xA9\\n"];
        assert!(open.into_iter().all(is_open));
        let others: [&[u8]; 8] = [
            b"\"a\"",
            b"\"\\",
            b"\"\\\\\\",
            b"\"\\u00e9",
            b"1",
            b"",
            b"[\"a",
            b"\"\xC3",
        ];
        assert!(!others.into_iter().any(is_open));
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
}
