//! The beginning of a value as pieces that must stand in the spelling of the whole.
//!
//! For example, `{"b":[1,{"a":"x` becomes an object whose spelling has `"b":[1,{`, so that
//! `{"b":[2]}` is ruled out at once.

use std::borrow::Cow;

use crate::automaton::run::equality::{
    MAX_DEPTH, Members, Reader, cut_string, spelled, word_spelled,
};
use crate::automaton::run::sorted::TextSet;

/// The arrays and objects that are open in a value, up to a place between two of its tokens. A
/// value may have all of it and differ; one that lacks any of it does.
#[derive(Clone, Debug, Default)]
pub(super) struct Open {
    /// Arrays and objects, from the outermost on.
    pub(super) within: Vec<Within>,
}

#[derive(Clone, Debug)]
pub(super) struct Within {
    /// Its spelling with the text before it: an array up to the item that comes next, and nothing
    /// while an item is open that holds others; an object up to its first name.
    pub(super) text: String,
    pub(super) at: Anchor,
    /// The names and spelled members of an object.
    pub(super) members: Option<Vec<(String, String)>>,
    /// The name of the member that is open.
    name: String,
}

/// A text that must stand in the spelling of a value.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) text: String,
    pub(super) at: Anchor,
    pub(super) then: Then,
}

/// The text that follows a piece.
#[derive(Debug)]
pub(super) enum Then {
    Anything,
    /// A number that begins like this.
    Number(String),
    /// A character that begins with these bytes.
    Char(Vec<u8>),
}

/// The place of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Anywhere,
}

/// The token that is met in the place of a value.
enum Met {
    /// A scalar, spelled like this.
    Scalar(String),
    /// The bracket of an array or object.
    Opens(char),
    /// The end of the text, behind this.
    End(String, Then),
}

impl Open {
    /// Returns the beginning that text makes of it which goes on as JSON, up to the last place
    /// between two tokens, and the bytes up to there: nothing if there is none. Also returns the
    /// piece that is read behind that, or the whole value. O(length).
    pub(super) fn go_on(&self, text: &[u8]) -> (Option<(Open, usize)>, Piece) {
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

    /// Tells whether the value with this spelling may come of it.
    pub(super) fn may_be(&self, whole: &str) -> bool {
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
    pub(super) fn memory(&self) -> usize {
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

/// Returns the spelling in front of a member's value.
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

    /// Tells whether it is all of a text that is a string, which goes on behind a whole character
    /// that is no escape of several.
    pub(super) fn is_string_of(&self, text: &[u8]) -> bool {
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

    /// Tells whether the value with this spelling has it.
    pub(super) fn is_in(&self, whole: &str) -> bool {
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

    /// Tells whether one of several values has it, which are sorted, if it is all that is known of
    /// the value. Numbers are known to have no exponents, or are not.
    pub(super) fn is_in_some(&self, all: &TextSet, exponents: Exponents) -> bool {
        let before = match self.at {
            Anchor::Start => self.text.as_str(),
            Anchor::Anywhere => "",
        };
        if let (Then::Number(begun), true, Exponents::None) =
            (&self.then, before.is_empty(), exponents)
        {
            return may_be_plain(begun, all);
        }
        let mut alike = all.range(all.beginning_with(before));
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

impl Then {
    fn is_at(&self, rest: &str) -> bool {
        match self {
            Then::Anything => true,
            Then::Number(begun) => may_become(begun, rest),
            Then::Char(begun) => rest.as_bytes().starts_with(begun),
        }
    }
}

/// True if numbers may have exponents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exponents {
    None,
    Some,
}

/// Tells whether a number that was begun, and will have no exponent, may become one of some plain
/// spellings.
fn may_be_plain(begun: &str, all: &TextSet) -> bool {
    if !all.beginning_with(begun).is_empty() {
        return true;
    }
    // Zeros behind the point, and a minus before zero, say nothing.
    let short = match begun.contains('.') {
        true => begun.trim_end_matches('0').trim_end_matches('.'),
        false => begun,
    };
    all.has(short) || (matches!(short, "-" | "-0") && all.has("0"))
}

/// Tells whether a number that was begun may become the one, spelled plainly, with which `rest`
/// begins.
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
