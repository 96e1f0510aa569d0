//! The item that was begun in an array, and the items before it that it may become.
//!
//! For example, behind `[{"id":12},{"id":1` the item may become the first one.

use std::ops::Range;
use std::sync::Arc;

use schema_normal::language::escapes::is_never_raw;

use crate::automaton::run::config::Frame;
use crate::automaton::run::equality::signed_digits;
use crate::automaton::run::item_places::{Alike, Of};
use crate::automaton::run::open_value::{Anchor, Exponents, Open, Piece, Then, Within};
use crate::automaton::run::scratch::Scratch;
use crate::automaton::run::seen::Seen;
use crate::automaton::run::sorted::TextSet;

/// An item that was begun.
#[derive(Debug)]
pub(super) struct Begun {
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
pub(super) fn begun(x: &mut Scratch, text: u32, array: &Frame) -> Begun {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::automaton::run::equality::{canonical, spelled};

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
