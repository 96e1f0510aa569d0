//! The beginning of a value as pieces that must stand in the spelling of the whole.
//!
//! For example, `{"b":[1,{"a":"x` becomes an object whose spelling has `"b":[1,{`, so that
//! `{"b":[2]}` is ruled out at once.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use schema_normal::language::escapes::is_never_raw;

use crate::automaton::machine::sorted::TextSet;
use crate::automaton::run::config::Frame;
use crate::automaton::run::equality::{
    MAX_DEPTH, Members, Reader, cut_string, signed_digits, spelled, word_spelled,
};
use crate::automaton::run::scratch::Scratch;
use crate::automaton::run::seen::Seen;

/// The arrays and objects that are open in a value, up to a place between two of its tokens. A
/// value may have all of it and differ; one that lacks any of it does.
#[derive(Clone, Debug, Default)]
pub(crate) struct Open {
    /// Arrays and objects, from the outermost on.
    within: Vec<Within>,
}

#[derive(Clone, Debug)]
struct Within {
    /// Its spelling with the text before it: an array up to the item that comes next, and nothing
    /// while an item is open that holds others; an object up to its first name.
    text: String,
    at: Anchor,
    /// The names and spelled members of an object.
    members: Option<Vec<(String, String)>>,
    /// The name of the member that is open.
    name: String,
}

/// A text that must stand in the spelling of a value.
#[derive(Debug)]
pub(crate) struct Piece {
    text: String,
    at: Anchor,
    then: Then,
}

/// The text that follows a piece.
#[derive(Debug)]
enum Then {
    Anything,
    /// A number that begins like this.
    Number(String),
    /// A character that begins with these bytes.
    Char(Vec<u8>),
}

/// The place of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Anchor {
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
    fn is_in_some(&self, all: &TextSet, exponents: Exponents) -> bool {
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

/// An item that was begun.
#[derive(Debug)]
pub(crate) struct Begun {
    /// The arrays and objects that are open in it.
    place: Option<Arc<Open>>,
    last: Piece,
    /// Says whether a further character adds its own spelling to the last piece.
    is_in_string: bool,
}

impl Begun {
    /// The items that are alike so far, inside of an item that is a string, or of one of the strings
    /// of an object.
    fn string_alike(&self, seen: &Seen) -> Option<Alike> {
        let Piece { text, at, .. } = &self.last;
        match self.place.as_deref().map(|open| &open.within[..]) {
            _ if !self.is_in_string => None,
            None if *at == Anchor::Start => Some(Alike::of(seen, Of::Texts, text)),
            Some([object]) if *at == Anchor::Anywhere => Some(Alike {
                decides: object.members.as_ref().is_some_and(Vec::is_empty),
                ..Alike::of(seen, Of::Parts, text)
            }),
            _ => None,
        }
    }

    /// Says whether it may become one of the items before it. The items that are looked through are
    /// those of the piece which the fewest of them have.
    fn may_be_one_before(&self, seen: &Seen, exponents: Exponents) -> bool {
        let Some(open) = &self.place else {
            return match (&self.last.then, &*self.last.text, exponents) {
                (Then::Number(begun), "", Exponents::Some) => Among::of_number("", begun, seen)
                    .unwrap_or_else(|| Among::all(seen))
                    .items(seen)
                    .any(|whole| self.last.is_in(whole)),
                _ => self.last.is_in_some(&seen.list, exponents),
            };
        };
        let mut alike = open.narrowest(&self.last, seen, exponents).items(seen);
        alike.any(|whole| open.may_be(whole) && self.last.is_in(whole))
    }

    /// The same of other values.
    pub(super) fn may_be_one_of(&self, all: &TextSet, exponents: Exponents) -> bool {
        match &self.place {
            Some(open) => {
                let is_in = |whole: &str| open.may_be(whole) && self.last.is_in(whole);
                all.iter().any(|whole| is_in(whole))
            }
            None => self.last.is_in_some(all, exponents),
        }
    }
}

/// Items among which all are that have something: by their own texts, or by their parts.
struct Among {
    of: Of,
    places: [Range<usize>; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Texts,
    Parts,
}

impl Among {
    fn all(seen: &Seen) -> Among {
        Among::texts(0..seen.list.len())
    }

    fn texts(places: Range<usize>) -> Among {
        let places = [places, 0..0];
        Among {
            of: Of::Texts,
            places,
        }
    }

    /// Returns the items with a part that begins like this.
    fn parts(text: &str, seen: &Seen) -> Among {
        let places = [seen.parts_beginning_with(text), 0..0];
        Among {
            of: Of::Parts,
            places,
        }
    }

    /// Returns the items with a number behind a text that the number of a beginning may become, an
    /// exponent behind it included; `None` if its digits say nothing yet.
    fn of_number(before: &str, begun: &str, seen: &Seen) -> Option<Among> {
        let end = begun.find(['e', 'E']).unwrap_or(begun.len());
        let digits = signed_digits(&begun[..end]);
        (digits.len() > 1).then(|| Among {
            of: Of::Parts,
            places: seen.numbers_beginning_with(before, &digits),
        })
    }

    fn len(&self) -> usize {
        self.places.iter().map(ExactSizeIterator::len).sum()
    }

    fn items(self, seen: &Seen) -> impl Iterator<Item = &Arc<str>> {
        let [first, second] = self.places;
        let (texts, parts) = match self.of {
            Of::Texts => (first, [0..0, second]),
            Of::Parts => (0..0, [first, second]),
        };
        let parts = parts.into_iter().flat_map(|places| seen.items_of(places));
        seen.list.range(texts).chain(parts)
    }
}

impl Open {
    /// The fewest items among which all are that what is open may become, as far as one look tells.
    fn narrowest(&self, last: &Piece, seen: &Seen, exponents: Exponents) -> Among {
        let mut best = Among::all(seen);
        let mut offer = |among: Among| {
            if among.len() < best.len() {
                best = among;
            }
        };
        // The digits before the point stand in the spelling of a number without an exponent.
        let whole = match (&last.then, exponents) {
            (Then::Number(begun), Exponents::None) if !matches!(&**begun, "-" | "-0") => {
                let end = begun.find('.').unwrap_or(begun.len());
                match &begun[..end] {
                    "-0" => "",
                    whole => whole,
                }
            }
            _ => "",
        };
        let pieces = self.within.iter().map(|within| (within.at, &within.text));
        let pieces = pieces.filter(|(at, _)| *at == Anchor::Start);
        if let Some((_, text)) = pieces.max_by_key(|(_, text)| text.len()) {
            offer(Among::texts(seen.list.beginning_with(text)));
        }
        if last.at == Anchor::Start {
            let text = last.text.clone() + whole;
            offer(Among::texts(seen.list.beginning_with(&text)));
        }
        let Some(members) = self.within.first().and_then(|first| first.members.as_ref()) else {
            return best;
        };
        for (_, member) in members {
            offer(Among::parts(member, seen));
        }
        let is_inside = |within: &Within| within.members.is_none();
        match &self.within[1..] {
            [] if last.at == Anchor::Anywhere => {
                offer(Among::parts(&(last.text.clone() + whole), seen));
                if let (Then::Number(begun), Exponents::Some) = (&last.then, exponents)
                    && let Some(among) = Among::of_number(&last.text, begun, seen)
                {
                    offer(among);
                }
            }
            // All that is open of the member is arrays.
            inner if !inner.is_empty() && inner.iter().all(is_inside) => {
                offer(Among::parts(&(last.text.clone() + whole), seen));
            }
            // An array hands its text on to what is open in it.
            inner => {
                if let Some(within) = inner.iter().find(|within| !within.text.is_empty()) {
                    offer(Among::parts(&within.text, seen));
                }
            }
        }
        best
    }
}

/// Places of items by their text so far, where in the text they begin, and, where that counts, the
/// items before them: a walk goes on from each in many ways.
#[derive(Debug, Default)]
pub(crate) struct ItemPlaces {
    known: FxHashMap<(u32, u32), Arc<Open>>,
    /// The items before those that are strings, or have one open, from inside of these on.
    strings: FxHashMap<(u32, u32, u32), Alike>,
    /// The items that can become none before them: nor does what goes on from there.
    apart: FxHashSet<(u32, u32, u32)>,
    memory: usize,
}

/// The items that begin like a string that was begun, or have a member that does.
#[derive(Clone, Copy, Debug)]
struct Alike {
    of: Of,
    from: usize,
    to: usize,
    /// So many bytes of their spelling are those of the string.
    len: usize,
    /// Says whether the item may become any of them, whatever else is known of it.
    decides: bool,
}

impl Alike {
    /// Returns those of all items that begin like this.
    fn of(all: &Seen, of: Of, text: &str) -> Alike {
        let Range { start, end } = match of {
            Of::Texts => all.list.beginning_with(text),
            Of::Parts => all.parts_beginning_with(text),
        };
        Alike {
            of,
            from: start,
            to: end,
            len: text.len(),
            decides: of == Of::Texts,
        }
    }

    /// Returns the items that go on with a byte.
    fn with(self, all: &Seen, byte: u8) -> Alike {
        let Alike { from, to, len, .. } = self;
        let next = |whole: &str| whole.as_bytes().get(len).copied();
        let partition = |below: &dyn Fn(&str) -> bool| match self.of {
            Of::Texts => all.list.partition(from..to, |text| below(text)),
            Of::Parts => all.partition_parts(from..to, below),
        };
        Alike {
            from: partition(&|whole| next(whole) < Some(byte)),
            to: partition(&|whole| next(whole) <= Some(byte)),
            len: len + 1,
            ..self
        }
    }

    /// Says whether the item may become one of them; `None` where it takes more to tell.
    fn answer(self) -> Option<bool> {
        let is_some = self.from < self.to;
        (self.decides || !is_some).then_some(is_some)
    }
}

/// The most bytes that places are kept with, because one long text has many places.
const MAX_PLACES: usize = 1 << 22;

impl ItemPlaces {
    fn add(&mut self, key: (u32, u32), place: &Arc<Open>) {
        if self.has_room(place.memory()) {
            self.known.insert(key, Arc::clone(place));
        }
    }

    fn add_string(&mut self, key: (u32, u32, u32), alike: Alike) {
        if self.has_room(size_of_val(&key) + size_of::<Alike>()) {
            self.strings.insert(key, alike);
        }
    }

    fn add_apart(&mut self, key: (u32, u32, u32)) {
        if self.has_room(size_of_val(&key)) {
            self.apart.insert(key);
        }
    }

    /// Tells whether so many bytes may be added; if not, all is forgotten.
    fn has_room(&mut self, bytes: usize) -> bool {
        self.memory += bytes;
        let has_room = self.memory <= MAX_PLACES;
        if !has_room {
            self.known.clear();
            self.strings.clear();
            self.apart.clear();
            self.memory = 0;
        }
        has_room
    }
}

/// Says whether an open item of an array, of a text of all that is open, may become one before it.
/// O(log items) where that was asked before the last byte, and the item is a string or differs.
pub(super) fn may_be_one_before(
    x: &mut Scratch,
    text: u32,
    array: &Frame,
    exponents: Exponents,
) -> bool {
    let (start, seen) = (array.start, array.seen);
    if seen == 0 {
        return false;
    }
    let key = (text, start, seen);
    let before = (x.texts().before(text), start, seen);
    if x.texts().length(text) > start && x.found().places.apart.contains(&before) {
        x.found_mut().places.add_apart(key);
        return false;
    }
    let known = string_may_be_one_before(x, text, array);
    let may_be = known.unwrap_or_else(|| {
        let begun = begun(x, text, array);
        if let Some(alike) = begun.string_alike(x.seen(seen)) {
            x.found_mut().places.add_string(key, alike);
        }
        begun.may_be_one_before(x.seen(seen), exponents)
    });
    if !may_be {
        x.found_mut().places.add_apart(key);
    }
    may_be
}

/// The same inside of a string, if that was asked before its last character. O(log items).
fn string_may_be_one_before(x: &mut Scratch, text: u32, array: &Frame) -> Option<bool> {
    let (start, seen) = (array.start, array.seen);
    let key = (text, start, seen);
    if let Some(known) = x.found().places.strings.get(&key) {
        return known.answer();
    }
    // It is a character, and spelled as it is.
    let is_spelled = |byte: &u8| byte.is_ascii() && !is_never_raw(*byte);
    let byte = x.texts().last_byte(text).filter(is_spelled)?;
    let before = (x.texts().before(text), start, seen);
    let before = x.found().places.strings.get(&before)?;
    let alike = before.with(x.seen(seen), byte);
    x.allowance().compare(1);
    x.found_mut().places.add_string(key, alike);
    alike.answer()
}

/// An open item of an array, of a text of all that is open. O(bytes since the last place
/// between two tokens of it that was asked for).
pub(crate) fn begun(x: &mut Scratch, text: u32, array: &Frame) -> Begun {
    let start = array.start;
    let mut bytes: Vec<u8> = Vec::new();
    let mut texts = Vec::new();
    let mut place = None;
    let mut at = text;
    while x.texts().length(at) > start {
        let byte = x.texts().last_byte(at).unwrap_or_default();
        if is_last(byte) {
            place = x.found().places.known.get(&(at, start)).map(Arc::clone);
            if place.is_some() {
                break;
            }
        }
        bytes.push(byte);
        texts.push(at);
        at = x.texts().before(at);
    }
    bytes.reverse();
    x.allowance().compare(bytes.len() as u64);
    let nothing = Open::default();
    let (further, last) = place.as_deref().unwrap_or(&nothing).go_on(&bytes);
    let is_in_string = match (&place, &further) {
        (None, None) => last.is_string_of(&bytes),
        _ => matches!(last.then, Then::Anything) && is_in_plain_string(&bytes),
    };
    let Some((open, count)) = further else {
        return Begun {
            place,
            last,
            is_in_string,
        };
    };
    let place = Arc::new(open);
    if is_last(bytes[count - 1]) {
        let behind = texts[texts.len() - count];
        x.found_mut().places.add((behind, start), &place);
    }
    Begun {
        place: Some(place),
        last,
        is_in_string,
    }
}

/// Says whether a text from a place between two tokens on ends in a string, of which every character
/// is spelled as it is.
fn is_in_plain_string(text: &[u8]) -> bool {
    let quotes = text.iter().filter(|byte| **byte == b'"').count();
    quotes % 2 == 1 && !text.contains(&b'\\')
}

/// Tells whether a byte may be the last one before a place that is remembered.
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

/// True if numbers may have exponents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exponents {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::automaton::run::equality::canonical;

    /// How a value is written.
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Spelling {
        Plain,
        /// Members the last one first.
        Backwards,
        Exponents,
    }

    impl Spelling {
        fn of(self, value: &Value) -> String {
            let list = |all: Vec<String>| match self {
                Spelling::Backwards => all.into_iter().rev().collect::<Vec<_>>().join(","),
                _ => all.join(", "),
            };
            match value {
                Value::Array(items) => {
                    let items: Vec<String> = items.iter().map(|item| self.of(item)).collect();
                    format!("[{}]", items.join(","))
                }
                Value::Object(all) => {
                    let member = |(name, value): (&String, &Value)| {
                        format!("{}: {}", json!(name), self.of(value))
                    };
                    format!("{{{}}}", list(all.iter().map(member).collect()))
                }
                Value::Number(n) if n.is_i64() && self == Spelling::Exponents => {
                    format!("{n}0e-1")
                }
                other => other.to_string(),
            }
        }
    }

    /// What a string says byte by byte is what its whole beginning says.
    #[test]
    fn strings_in_objects_go_on_byte_by_byte() {
        let mut seen = Seen::default();
        for item in [
            json!({"a": "x", "b": 1}),
            json!({"a": "xy", "b": 2}),
            json!({"b": "xy"}),
            json!({"ab": "xyz"}),
            json!("a"),
        ] {
            let item = canonical(item.to_string().as_bytes());
            seen = seen.with_item(item).unwrap();
        }
        for text in [
            &br#"{"a":"xyz"#[..],
            br#"{ "ab": "xyz"#,
            br#"{"b": 2, "a": "xyz"#,
            br#"{"b":"xz"#,
        ] {
            let mut x = Scratch::new();
            let array = Frame {
                seen: x.add_seen(seen.clone()),
                ..Frame::first(0, 0)
            };
            let mut at = crate::automaton::run::config::EMPTY_TEXT;
            for (end, byte) in (1..).zip(text) {
                at = x.texts_mut().add(at, u32::from(*byte));
                let step = may_be_one_before(&mut x, at, &array, Exponents::Some);
                let mut other = Scratch::new();
                let array = Frame {
                    seen: other.add_seen(seen.clone()),
                    ..array
                };
                let bytes = text[..end].iter();
                let whole = bytes.fold(crate::automaton::run::config::EMPTY_TEXT, |t, b| {
                    other.texts_mut().add(t, u32::from(*b))
                });
                let at_once = may_be_one_before(&mut other, whole, &array, Exponents::Some);
                assert_eq!(step, at_once, "{}", text[..end].escape_ascii());
            }
        }
    }

    fn values() -> impl Strategy<Value = Value> {
        let numbers = [0.5, -0.5, 1.25, 0.05, 100.0, 12.5, -7.25];
        let leaf = prop_oneof![
            Just(json!(null)),
            Just(json!(true)),
            (-120..120i64).prop_map(|n| json!(n)),
            prop::sample::select(numbers.to_vec()).prop_map(|n| json!(n)),
            "[ab\"\\\\é,:{]{0,3}".prop_map(|text| json!(text)),
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(|items| json!(items)),
                prop::collection::btree_map("[ab\"]{1,2}", inner, 0..3).prop_map(|all| json!(all)),
            ]
        })
    }

    proptest! {
        /// What is found a walk over all items finds, too; and an item that is there is found
        /// behind every beginning of every spelling.
        #[test]
        fn what_is_looked_up_is_what_a_walk_finds(
            items in prop::collection::vec(values(), 0..40),
            other in values(),
        ) {
            let mut seen = Seen::default();
            for item in &items {
                seen = seen.with_item(canonical(item.to_string().as_bytes())).unwrap_or(seen);
            }
            let spellings = [Spelling::Plain, Spelling::Backwards, Spelling::Exponents];
            let all = items.iter().chain([&other]);
            for (item, spelling) in all.flat_map(|item| spellings.map(|spelling| (item, spelling))) {
                let text = spelling.of(item);
                let is_there = seen.list.has(&canonical(text.as_bytes()));
                for end in 0..=text.len() {
                    let (further, last) = Open::default().go_on(&text.as_bytes()[..end]);
                    let place = further.map(|(open, _)| Arc::new(open));
                    let open = place.as_deref().cloned().unwrap_or_default();
                    let is_in = |whole: &Arc<str>| open.may_be(whole) && last.is_in(whole);
                    let found = seen.list.iter().any(is_in);
                    let is_in_string = false;
                    let begun = Begun { place, last, is_in_string };
                    let looked_up = begun.may_be_one_before(&seen, Exponents::Some);
                    prop_assert!(found || !looked_up, "{} of {}", end, text);
                    prop_assert!(looked_up || !is_there, "{} of {}", end, text);
                    if is_there && spelling != Spelling::Exponents {
                        prop_assert!(begun.may_be_one_before(&seen, Exponents::None), "{} of {}", end, text);
                    }
                }
            }
        }
    }

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
        let mut seen = Seen::default();
        for item in &all {
            seen = seen.with_item(item.to_string()).unwrap();
        }
        for item in items {
            let begun = spelled(item);
            let begun = begun.strip_suffix('"').unwrap();
            let here = Alike::of(&seen, Of::Texts, begun);
            for byte in (0x20..0x80).filter(|byte| !is_never_raw(*byte)) {
                let further = here.with(&seen, byte);
                let text = format!("{begun}{}", char::from(byte));
                let again = Alike::of(&seen, Of::Texts, &text);
                assert_eq!(further.to - further.from, again.to - again.from, "{text}");
                let mut alike = seen.list.range(further.from..further.to);
                assert!(alike.all(|whole| whole.starts_with(&text)), "{text}");
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
