//! The inside of strings of one alternative and of further names, read without the
//! rest of the automaton: what walks take most of their steps in.
//!
//! For example, behind `"ab` of a string with `"maxLength": 5` the reader is at length two, and
//! needs no more than that and the escape that is open.

use fsm_index::{
    ClassId, Cursor, FreeText, Horizon, PlainText, ReadText, Spot, TextAt, TextBounds, TextPlace,
    TextReader, TextStep,
};
use schema_normal::language::char_dfa::lengths::Lengths;
use schema_normal::language::char_dfa::{CharDfa, DEAD};
use schema_normal::options::Escapes;

use crate::automaton::machine::SchemaAutomaton;
use crate::automaton::machine::loop_classes::{Loops, MANY_NAMES};
use crate::automaton::machine::objects::{KeyMachine, NO_CLASS};
use crate::automaton::machine::strings::{StringDemand, StringMachine};
use crate::automaton::run::config::{Config, Key, Str, Top, UNKNOWN, is_kept};
use crate::automaton::run::hints::free_texts::text_up_to;
use crate::automaton::run::hints::without_characters::is_fine_without;
use crate::automaton::run::hints::{Hints, hints};
use crate::automaton::run::member_names;
use crate::automaton::run::scratch::{Noted, Scratch};
use crate::automaton::run::string_bytes as text;
use crate::automaton::run::string_bytes::{LEAST, Partial, Sink};

impl PlainText<Scratch> for SchemaAutomaton {
    fn class(&self, class: ClassId) -> &[(u32, u32)] {
        self.machine.loops().ranges(class)
    }

    fn reader(
        &self,
        cursor: Cursor,
        horizon: Horizon<'_>,
        x: &mut Scratch,
    ) -> Option<TextReader<'_>> {
        hints(self, x).reader(cursor, horizon)
    }

    fn cursor_at(&self, cursor: Cursor, at: TextAt, x: &mut Scratch) -> Cursor {
        hints(self, x).behind_text(cursor, at)
    }

    fn free_text(&self, at: Spot, x: &mut Scratch) -> Option<FreeText> {
        match at {
            Spot::Cursor(cursor) | Spot::Top(cursor) => hints(self, x).free_text(cursor),
            Spot::Lexeme(_) => None,
        }
    }

    fn can_do_without(&self, chars: &[(u32, u32)]) -> bool {
        is_fine_without(&self.machine, chars)
    }
}

impl<'m> Hints<'m, '_> {
    /// Returns a reader of the text that is open which needs nothing else of the automaton, where there is one.
    fn reader(&mut self, cursor: Cursor, horizon: Horizon<'_>) -> Option<TextReader<'m>> {
        if cursor.is_dead() {
            return None;
        }
        let config = *self.x.config(cursor);
        if is_kept(config.item) {
            return None;
        }
        match config.top {
            Top::String { node, set, text } if text.partial == Partial::None => {
                let m = self.machine.string(node)?;
                let start = TextState {
                    state: text.state,
                    length: text.length,
                };
                let rules =
                    string_rules(m, self.machine.loops(), &self.x.list(set), text, horizon)?;
                let bounds = rules.bounds(start);
                Some(rules.read(start, self.machine.value_escapes(), bounds))
            }
            Top::Key(key)
                if key.partial == Partial::None && key.is_further() && key.text == UNKNOWN =>
            {
                let top = Noted::told_by_key(config.stack);
                let classes = member_names::usable(self.machine, top, self.x).classes;
                let frame = self.x.peek(top).frame;
                let m = self.machine.object(frame.node)?;
                if classes == 0 || (m.keys.is_some() && key.state == DEAD) {
                    return None;
                }
                let start = TextState {
                    state: key.state,
                    length: 0,
                };
                let rules = NameRules {
                    keys: m.keys.as_ref(),
                    loops: self.machine.loops(),
                    classes,
                    are_few: self.x.seen(frame.seen).list.len() < MANY_NAMES,
                };
                let bounds = rules.bounds(start);
                Some(rules.read(start, self.machine.name_escapes(), bounds))
            }
            _ => None,
        }
    }

    /// The cursor where such a text stands.
    fn behind_text(&mut self, cursor: Cursor, at: TextAt) -> Cursor {
        let config = *self.x.config(cursor);
        let (place, partial) = unpack(at);
        let top = match config.top {
            Top::String { node, set, text } => {
                let m = self.machine.string(node);
                let text = Str {
                    state: place.state,
                    // Single characters are counted up to the cap.
                    length: text.length.max(m.map_or(0, |m| m.longer(0, place.length))),
                    partial,
                    ..text
                };
                Top::String { node, set, text }
            }
            Top::Key(key) => Top::Key(Key {
                state: place.state,
                partial,
                ..key
            }),
            other => other,
        };
        self.x.cursor(Config { top, ..config })
    }
}

/// Between two characters.
#[derive(Clone, Copy, PartialEq, Eq)]
struct TextState {
    state: u32,
    length: u32,
}

/// The rules for the characters that may come.
trait TextRules {
    /// The state of the automaton behind a character; [`DEAD`] if there is none.
    fn next(&self, state: u32, c: u32) -> u32;

    /// The ends of a range around a code point, of which all lead to the same.
    fn alike(&self, c: u32) -> (u32, u32);

    /// Tells whether some character of a range leads to a place that lives.
    fn some(&self, place: TextState, lo: u32, hi: u32) -> bool;

    /// Tells whether a text may go on, or end.
    fn lives(&self, place: TextState) -> bool;

    /// Tells whether a text may end with a quote.
    fn ends(&self, place: TextState) -> bool;

    /// Tells whether the number of characters makes a difference.
    fn counts(&self) -> bool;

    /// Tells whether it does so anywhere, be it behind the longest token.
    fn is_bounded(&self) -> bool;

    /// Returns the text that may come from a place on, whatever it is.
    fn free_text(&self, place: TextState) -> Option<FreeText>;

    /// Numbers that tell these rules from others of the same automaton.
    fn name(&self) -> [u64; 4];

    /// Returns what reads a text by these rules.
    fn read<'a>(self, start: TextState, escapes: Escapes, bounds: TextBounds<'a>) -> TextReader<'a>
    where
        Self: Sized + 'a,
    {
        let [first, a, b, c] = self.name();
        // No address goes as far as that.
        let first = first ^ (escapes as u64) << 60;
        TextReader {
            at: pack(start, Partial::None),
            language: Some([first, a, b, c]),
            bounds,
            steps: Box::new(RuleReader {
                escapes,
                start,
                rules: self,
            }),
        }
    }
}

/// Strings of one alternative, or of several that ask the same, of which none is listed or
/// left out.
struct StringRules<'a> {
    /// With the number of its first loop.
    dfa: Option<(&'a CharDfa, u32)>,
    loops: &'a Loops,
    /// The bounds met with the automaton, if both matter.
    lengths: Option<&'a Lengths>,
    /// The least and the greatest number of characters.
    min: u64,
    max: u64,
    counts: bool,
}

fn string_rules<'m>(
    m: &'m StringMachine,
    loops: &'m Loops,
    wanted: &[u32],
    text: Str,
    horizon: Horizon<'_>,
) -> Option<StringRules<'m>> {
    let mut leaves = m.leaves.iter().filter(|leaf| wanted.contains(&leaf.goal));
    let leaf = leaves.next()?;
    let asked = leaf.demand.numbers();
    // Others that ask the same of the text are read with it.
    if !m.words.is_empty() || !leaves.all(|other| other.demand.numbers() == asked) {
        return None;
    }
    if m.is_free() {
        return Some(StringRules {
            dfa: None,
            loops,
            lengths: None,
            min: 0,
            max: u64::MAX,
            counts: false,
        });
    }
    let (dfa, lengths) = match &leaf.demand {
        StringDemand::Read { dfa, lengths, .. } if m.dfas.len() == 1 && text.state != DEAD => {
            (Some(m.looping(*dfa)?), lengths.as_deref())
        }
        StringDemand::Counted { .. } if m.dfas.is_empty() => (None, None),
        _ => return None,
    };
    let (min, max) = leaf.demand.bounds();
    let far = lengths.is_none_or(|l| l.are_far(text.length.into(), horizon.bytes() as u64));
    Some(StringRules {
        dfa,
        loops,
        lengths,
        min,
        max: max.unwrap_or(u64::MAX),
        counts: match dfa {
            Some(_) => !far,
            None => min > 0 || max.is_some(),
        },
    })
}

impl<'a> StringRules<'a> {
    /// Returns the bounds on the text from a place on.
    fn bounds(&self, start: TextState) -> TextBounds<'a> {
        let missing = self.min.saturating_sub(u64::from(start.length));
        let missing = match self.is_bounded() {
            true => usize::try_from(missing).unwrap_or(usize::MAX),
            false => 0,
        };
        let way = self.dfa.map_or(0, |(dfa, _)| dfa.far(start.state) as usize);
        let dead = self.dfa.map(|(dfa, _)| dfa.dead_class(|_| true));
        TextBounds {
            dead: dead.unwrap_or(&CONTROLS),
            least_chars: way.max(missing),
        }
    }
}

impl TextRules for StringRules<'_> {
    #[inline]
    fn next(&self, state: u32, c: u32) -> u32 {
        self.dfa.map_or(0, |(dfa, _)| dfa.step(state, c))
    }

    fn alike(&self, c: u32) -> (u32, u32) {
        self.dfa.map_or((0, 0x10_FFFF), |(dfa, _)| dfa.alike(c))
    }

    fn some(&self, place: TextState, lo: u32, hi: u32) -> bool {
        let lives = |state| {
            let length = place.length + 1;
            self.lives(TextState { state, length })
        };
        match self.dfa {
            Some((dfa, _)) => dfa.some_in(place.state, lo, hi, lives),
            None => lives(0),
        }
    }

    #[inline]
    fn lives(&self, place: TextState) -> bool {
        if place.state == DEAD {
            return false;
        }
        if !self.counts {
            return true;
        }
        let length = u64::from(place.length);
        match (self.dfa, self.lengths) {
            (Some(_), Some(lengths)) => lengths.live(place.state, length),
            (Some(_), None) => true,
            (None, _) => length <= self.max,
        }
    }

    fn ends(&self, place: TextState) -> bool {
        let length = u64::from(place.length);
        match self.dfa {
            Some((dfa, _)) => {
                dfa.accepts(place.state) && self.lengths.is_none_or(|l| l.accepts(length))
            }
            None => (self.min..=self.max).contains(&length),
        }
    }

    fn counts(&self) -> bool {
        self.counts
    }

    fn is_bounded(&self) -> bool {
        match self.dfa {
            Some(_) => self.lengths.is_some(),
            None => self.counts,
        }
    }

    fn free_text(&self, place: TextState) -> Option<FreeText> {
        match self.dfa {
            Some((dfa, first)) => {
                let bounds = (self.lengths, place.length);
                self.loops.free_within(dfa, (first, place.state), bounds)
            }
            None => text_up_to(self.max, place.length),
        }
    }

    /// The parts of the rules live as long as the automaton, so that their addresses name them.
    fn name(&self) -> [u64; 4] {
        let dfa = self
            .dfa
            .map_or(0, |(dfa, _)| std::ptr::from_ref(dfa).addr());
        let lengths = self
            .lengths
            .map_or(0, |lengths| std::ptr::from_ref(lengths).addr());
        let bounds = match self.is_bounded() {
            true => [self.min, self.max],
            false => [0, u64::MAX],
        };
        // The last bit tells strings from names.
        let counts = 2 * u64::from(self.counts);
        [dfa as u64 ^ counts, lengths as u64, bounds[0], bounds[1]]
    }
}

/// Names that are neither declared nor used.
struct NameRules<'a> {
    keys: Option<&'a KeyMachine>,
    loops: &'a Loops,
    /// The classes of names that may come, as bits.
    classes: u64,
    /// True if there are fewer than [`MANY_NAMES`] before them.
    are_few: bool,
}

impl<'a> NameRules<'a> {
    /// Returns the bounds on the text from a place on.
    fn bounds(&self, start: TextState) -> TextBounds<'a> {
        let dead = self.keys.map(|keys| {
            let follows = |state: u32| keys.left(u64::MAX, state).any(|n| n != Some(0));
            keys.dfa.dead_class(follows)
        });
        let ends = |state| self.ends(TextState { state, ..start });
        let way = self.keys.map(|keys| keys.dfa.way_to(start.state, ends));
        TextBounds {
            dead: dead.unwrap_or(&CONTROLS),
            least_chars: way.unwrap_or(0),
        }
    }
}

impl TextRules for NameRules<'_> {
    #[inline]
    fn next(&self, state: u32, c: u32) -> u32 {
        self.keys.map_or(0, |keys| keys.dfa.step(state, c))
    }

    fn alike(&self, c: u32) -> (u32, u32) {
        self.keys.map_or((0, 0x10_FFFF), |keys| keys.dfa.alike(c))
    }

    fn some(&self, place: TextState, lo: u32, hi: u32) -> bool {
        let lives = |state| self.lives(TextState { state, ..place });
        match self.keys {
            Some(keys) => keys.dfa.some_in(place.state, lo, hi, lives),
            None => true,
        }
    }

    fn lives(&self, place: TextState) -> bool {
        let Some(keys) = self.keys else { return true };
        keys.left(self.classes, place.state).any(|n| n != Some(0))
    }

    fn ends(&self, place: TextState) -> bool {
        let class = match self.keys {
            Some(keys) => keys.class_at(place.state),
            None => 0,
        };
        class != NO_CLASS && self.classes & (1 << class) != 0
    }

    fn counts(&self) -> bool {
        false
    }

    fn is_bounded(&self) -> bool {
        false
    }

    fn free_text(&self, place: TextState) -> Option<FreeText> {
        match self.keys {
            Some(_) if !self.are_few => None,
            Some(keys) => self.loops.free_name(keys, place.state, self.classes),
            None => text_up_to(u64::MAX, 0),
        }
    }

    fn name(&self) -> [u64; 4] {
        match self.keys {
            Some(keys) => {
                let keys = std::ptr::from_ref(keys).addr();
                [keys as u64 | 1, self.classes, u64::from(self.are_few), 0]
            }
            // Any name may come, as any string may.
            None => [0, 0, 0, u64::MAX],
        }
    }
}

struct RuleReader<R> {
    escapes: Escapes,
    start: TextState,
    rules: R,
}

/// Reads characters by the rules.
struct Follow<'r, R>(&'r R);

impl<R: TextRules> Sink for Follow<'_, R> {
    type State = TextState;

    #[inline]
    fn put(&mut self, place: TextState, c: u32) -> Option<TextState> {
        let next = TextState {
            state: self.0.next(place.state, c),
            // Places that mean the same are to be one.
            length: place.length + u32::from(self.0.is_bounded()),
        };
        self.0.lives(next).then_some(next)
    }

    fn some(&mut self, place: TextState, lo: u32, hi: u32) -> bool {
        self.0.some(place, lo, hi)
    }
}

impl<R: TextRules> ReadText for RuleReader<R> {
    #[inline]
    fn step(&self, at: TextAt, byte: u8) -> TextStep {
        let (place, partial) = unpack(at);
        if partial == Partial::None && byte == b'"' {
            return match self.rules.ends(place) {
                true => TextStep::Leaves,
                false => TextStep::Dead,
            };
        }
        let mut sink = Follow(&self.rules);
        match text::read(&mut sink, self.escapes, partial, place, byte) {
            Some((partial, place)) => {
                TextStep::To(pack(place, alike(partial, |c| self.rules.alike(c))))
            }
            None => TextStep::Dead,
        }
    }

    fn place(&self, at: TextAt) -> TextPlace {
        let (place, partial) = unpack(at);
        if partial != Partial::None {
            return TextPlace::default();
        }
        let beyond = [(0x80, 0xD7FF), (0xE000, 0x10_FFFF)];
        let reads = |(lo, hi)| self.rules.some(place, lo, hi);
        let is_at_start = place.state == self.start.state;
        TextPlace {
            free: self.rules.free_text(place),
            is_back: is_at_start && (!self.rules.counts() || place == self.start),
            is_ascii_next: !beyond.into_iter().any(reads),
        }
    }
}

/// One of the beginnings of characters from which all goes on alike: texts then meet in
/// few places. `range` gives the ends of a range around a code point, of which all lead
/// to the same.
fn alike(partial: Partial, range: impl Fn(u32) -> (u32, u32)) -> Partial {
    let Partial::Utf8 { bits, left, least } = partial else {
        return partial;
    };
    let size = 1 << (6 * u32::from(left));
    let first = bits * size;
    let (from, to) = range(first);
    let from = from.max(LEAST[1]).next_multiple_of(size);
    // All that begin so are characters.
    let are_all = |first: u32| {
        let last = first + (size - 1);
        last <= to && (last < 0xD800 || first > 0xDFFF)
    };
    match first >= least && are_all(first) && are_all(from) {
        true => Partial::Utf8 {
            bits: from / size,
            left,
            least: LEAST[1],
        },
        false => partial,
    }
}

fn pack(place: TextState, partial: Partial) -> TextAt {
    let [kind, more] = partial.packed();
    TextAt([place.state, place.length, kind, more])
}

fn unpack(TextAt([state, length, kind, more]): TextAt) -> (TextState, Partial) {
    (TextState { state, length }, Partial::unpacked([kind, more]))
}

/// The control characters: no string has them as they are (RFC 8259, section 7).
const CONTROLS: [(u32, u32); 1] = [(0, 0x1F)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginnings_that_go_on_alike_are_one() {
        let utf8 = |bits, left, least| Partial::Utf8 { bits, left, least };
        let all = |_| (0, 0x10_FFFF);
        let first = utf8(2, 1, 0x80);
        for (bits, least) in [(2, 0x80), (0x1F, 0x80), (0x20, 0x800), (0x400, 0x1_0000)] {
            assert!(alike(utf8(bits, 1, least), all) == first, "{bits:x}");
        }
        assert!(alike(utf8(1, 2, 0x800), all) == alike(utf8(0xF, 2, 0x800), all));
        // Where the character may be too short, a surrogate, or beyond all, that counts.
        for partial in [
            utf8(0, 2, 0x800),
            utf8(0xD, 2, 0x800),
            utf8(0x360, 1, 0x800),
            utf8(4, 3, 0x1_0000),
            Partial::Escape,
        ] {
            assert!(alike(partial, all) == partial, "{partial:?}");
        }
        // As far as the characters are alike.
        let from = |c| {
            if c < 0x3000 {
                (0, 0x2FFF)
            } else {
                (0x3000, 0x3FFF)
            }
        };
        let later = alike(utf8(0xC5, 1, 0x800), from);
        assert!(later == utf8(0xC0, 1, 0x80) && alike(utf8(0xC0, 1, 0x800), from) == later);
        let split = |_| (0x3001, 0x303E);
        assert!(alike(utf8(0xC0, 1, 0x800), split) == utf8(0xC0, 1, 0x800));
    }

    #[test]
    fn places_are_packed_and_unpacked() {
        let place = TextState {
            state: u32::MAX,
            length: 7,
        };
        let utf8 = |bits, left, least| Partial::Utf8 { bits, left, least };
        let hex = |value, digits, high| Partial::Hex {
            value,
            digits,
            high,
        };
        let high = 0xDBFF;
        for partial in [
            Partial::None,
            Partial::Escape,
            utf8(0x1F, 1, 0x80),
            utf8(0x0F_FF, 1, 0x800),
            utf8(0x7_FFFF, 1, 0x1_0000),
            utf8(7, 3, 0x1_0000),
            hex(0, 0, 0),
            hex(0xFFF, 3, high),
            Partial::HighEscape { high },
            Partial::HighU { high },
        ] {
            let (again, read) = unpack(pack(place, partial));
            assert!(again == place && read == partial, "{partial:?}");
        }
    }
}
