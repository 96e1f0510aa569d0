//! One automaton inside of another: values of an automaton with a stack between marks, of which
//! the outer automaton knows nothing but where they may end.

use std::sync::Arc;

use fsm_index::contract::{Effort, check};
use fsm_index::{
    ByteAutomaton, ByteSet, ClassId, Completed, Cursor, Description, EachException, Horizon,
    KeyLanguage, Leaf, Met, Nested, Outer, Overlay, Parts, PlainText, Scope, Slots, Spot, Stack,
    TextAt, TextReader, TokenId, Vocabulary,
};
use proptest::prelude::*;

use crate::json_like::{JsonLike, State as LeafState};

/// Values between `<` and `>`, one after another.
#[derive(Clone, Default)]
struct Marked(Arc<JsonLike>);

/// Where a text stands.
#[derive(Clone, PartialEq)]
enum State {
    /// Between two values.
    Between,
    /// In a value.
    Inside(LeafState),
}

/// The same in a walk: a cursor is a place in the list of them, and one more.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Between,
    Inside { slot: u32, inner: Cursor },
}

#[derive(Default)]
struct Scratch {
    slots: Slots<JsonLike, ()>,
    places: Vec<Place>,
}

impl Scratch {
    fn place(&self, cursor: Cursor) -> Place {
        self.places[cursor.0 as usize - 1]
    }

    fn cursor(&mut self, place: Place) -> Cursor {
        let known = match place {
            Place::Between => self.places.iter().position(|known| *known == place),
            Place::Inside { slot, inner } => self
                .slots
                .known(slot, inner)
                .map(|known| known as usize - 1),
        };
        let at = known.unwrap_or_else(|| {
            self.places.push(place);
            self.places.len() - 1
        });
        if let Place::Inside { slot, inner } = place {
            self.slots.remember(slot, inner, at as u32 + 1);
        }
        Cursor(at as u32 + 1)
    }
}

/// Around a value in a walk.
struct Around<'a, 'x> {
    leaf: &'a JsonLike,
    slot: u32,
    x: &'x mut Scratch,
}

impl<'a> Outer<'a> for Around<'a, '_> {
    type Leaf = JsonLike;
    type Around = ();

    fn slots(&mut self) -> &mut Slots<JsonLike, ()> {
        &mut self.x.slots
    }

    /// Behind a value `>` may come, of which the inner automaton knows nothing.
    fn cursor(&mut self, inner: Cursor) -> Option<Cursor> {
        let slot = self.slot;
        let scratch = self.x.slots.scratch(slot);
        let ends = inner.is_dead() || self.leaf.ends_at_cursor(inner, scratch);
        (!ends).then(|| self.x.cursor(Place::Inside { slot, inner }))
    }
}

impl Marked {
    /// The value at a cursor.
    fn value<'a, 'x>(
        &'a self,
        cursor: Cursor,
        x: &'x mut Scratch,
    ) -> Option<Nested<'a, Around<'a, 'x>>> {
        let Place::Inside { slot, inner } = x.place(cursor) else {
            return None;
        };
        let leaf = &*self.0;
        Some(Nested::new(Around { leaf, slot, x }, leaf, slot, inner))
    }

    /// The same, if it cannot end there.
    fn unended<'a, 'x>(
        &'a self,
        cursor: Cursor,
        x: &'x mut Scratch,
    ) -> Option<Nested<'a, Around<'a, 'x>>> {
        let mut value = self.value(cursor, x)?;
        (!value.ends()).then_some(value)
    }
}

impl ByteAutomaton for Marked {
    type State = State;
    type Scratch = Scratch;

    fn scratch(&self) -> Scratch {
        Scratch::default()
    }

    fn start(&self) -> State {
        State::Between
    }

    fn is_accepting(&self, state: &State) -> bool {
        *state == State::Between
    }

    fn advance(&self, state: &mut State, bytes: &[u8], x: &mut Scratch) -> Result<(), usize> {
        let mut at = state.clone();
        for (offset, &byte) in bytes.iter().enumerate() {
            at = match (at, byte) {
                (State::Between, b'<') => State::Inside(self.0.start()),
                (State::Between, _) => return Err(offset),
                (State::Inside(inner), b'>') if self.0.is_accepting(&inner) => State::Between,
                (State::Inside(mut inner), byte) => {
                    let scratch = x.slots.scratch_of(3, &self.0);
                    let taken = self.0.advance(&mut inner, &[byte], scratch);
                    taken.map_err(|_| offset)?;
                    State::Inside(inner)
                }
            };
        }
        *state = at;
        Ok(())
    }

    fn completion(&self, state: &State, max_bytes: usize, out: &mut Vec<u8>) -> Option<Completed> {
        let State::Inside(inner) = state else {
            return Some(Completed::Whole);
        };
        let fits = max_bytes > 0 && self.0.completion(inner, max_bytes - 1, out).is_some();
        out.extend(fits.then_some(b'>'));
        fits.then_some(Completed::Whole)
    }

    fn enter(&self, state: &State, x: &mut Scratch) -> Cursor {
        x.slots.clear();
        x.places.clear();
        let place = match state {
            State::Between => Place::Between,
            State::Inside(state) => {
                let slot = x.slots.take(3, &self.0, Met::Within, ());
                let inner = self.0.enter(state, x.slots.scratch(slot));
                Place::Inside { slot, inner }
            }
        };
        x.cursor(place)
    }

    fn step(&self, cursor: Cursor, byte: u8, x: &mut Scratch) -> Cursor {
        if cursor.is_dead() {
            return Cursor::DEAD;
        }
        let next = match (x.place(cursor), byte) {
            (Place::Between, b'<') => {
                let slot = x.slots.take(3, &self.0, Met::Ahead, ());
                let inner = self.0.enter(&self.0.start(), x.slots.scratch(slot));
                Place::Inside { slot, inner }
            }
            (Place::Between, _) => return Cursor::DEAD,
            (Place::Inside { slot, inner }, byte) => {
                let scratch = x.slots.scratch(slot);
                match byte == b'>' && self.0.ends_at_cursor(inner, scratch) {
                    true => Place::Between,
                    false => match self.0.step(inner, byte, scratch) {
                        Cursor::DEAD => return Cursor::DEAD,
                        inner => Place::Inside { slot, inner },
                    },
                }
            }
        };
        x.cursor(next)
    }

    fn describe(&self, cursor: Cursor, horizon: Horizon<'_>, x: &mut Scratch) -> Description {
        let value = self.unended(cursor, x);
        value.map_or(Description::Unknown, |mut value| value.describe(horizon))
    }

    fn key(
        &self,
        cursor: Cursor,
        scope: Scope,
        depth: usize,
        horizon: Horizon<'_>,
        x: &mut Scratch,
        out: &mut Vec<u32>,
    ) -> Option<KeyLanguage> {
        match self.value(cursor, x) {
            Some(mut value) => value.key(scope, depth, horizon, out),
            None => (scope == Scope::Index).then_some(KeyLanguage::OWN),
        }
    }

    fn next_bytes(&self, at: Spot, x: &mut Scratch) -> ByteSet {
        let Spot::Cursor(cursor) = at else {
            return ByteSet::ALL;
        };
        let value = self.unended(cursor, x);
        value.map_or(ByteSet::ALL, |mut value| value.next_bytes())
    }

    #[inline]
    fn parts(&self) -> Parts<'_, State, Scratch> {
        Parts {
            overlay: Some(self),
            plain_text: Some(self),
            stack: Some(self),
            ..Parts::default()
        }
    }
}

impl Overlay<State> for Marked {
    fn exceptions(&self, state: &State, each: &mut EachException<'_>) {
        if let (State::Inside(inner), Some(overlay)) = (state, self.0.parts().overlay) {
            overlay.exceptions(inner, each);
        }
    }
}

impl PlainText<Scratch> for Marked {
    fn class(&self, class: ClassId) -> &[(u32, u32)] {
        match class.split() {
            (3, Some(class)) => PlainText::class(&*self.0, class),
            other => panic!("nobody has the class {other:?}"),
        }
    }

    fn reader(
        &self,
        cursor: Cursor,
        horizon: Horizon<'_>,
        x: &mut Scratch,
    ) -> Option<TextReader<'_>> {
        self.unended(cursor, x)?.reader(horizon)
    }

    fn cursor_at(&self, cursor: Cursor, at: TextAt, x: &mut Scratch) -> Cursor {
        let value = self.unended(cursor, x);
        value.map_or(cursor, |mut value| value.cursor_at(at))
    }
}

impl Stack<Scratch> for Marked {
    fn depth_used(&self, x: &Scratch) -> usize {
        let depths = x.slots.met_within();
        let depths = depths.map(|(_, _, scratch)| Stack::depth_used(&*self.0, scratch));
        depths.max().unwrap_or(1)
    }

    fn step_on_top(&self, cursor: Cursor, byte: u8, x: &mut Scratch) -> Option<Cursor> {
        match self.unended(cursor, x) {
            Some(mut value) => value.step_on_top(byte),
            None => None,
        }
    }
}

fn vocabulary(words: &[String]) -> Vocabulary {
    let bytes = (0..=255u8).map(|byte| vec![byte]);
    let words = bytes.chain(words.iter().map(|word| word.clone().into_bytes()));
    Vocabulary::new(words.zip((0..).map(TokenId::new)), [TokenId::new(5_000)]).unwrap()
}

const BEGINNINGS: [&str; 7] = [
    "<{\"short\": \"some",
    "<[{\"long\":\"é",
    "<{\"a\":[{\"free\":\"b",
    "<{\"code\":\"a-",
    "<1",
    "<\"ab\"><",
    "<{\"kind\":\"al",
];

#[test]
fn masks_of_inner_texts_are_exact() {
    let words = [
        "\">",
        "\"}>",
        "}>",
        "]>",
        "]}>",
        "><",
        "><\"",
        "\"><{\"",
        "<{\"",
        "1>",
        "1><2",
        "abc",
        "a b",
        "\":\"",
        "\",\"",
        "é\"",
        "\"free\":",
        "bet",
        "alphabet\"}>",
        "{\"",
        "}]",
        "[[",
    ];
    let effort = Effort {
        walks: 30,
        tokens: 14,
        seed: 7,
    };
    let vocabulary = vocabulary(&words.map(String::from));
    check(&Marked::default(), &vocabulary, &BEGINNINGS, effort).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn masks_are_exact_whatever_the_tokens(
        words in proptest::collection::vec("[\\[\\]{}\",:<>a-c1é ]{2,6}", 0..60),
        seed in 0u64..1_000,
    ) {
        let effort = Effort { walks: 8, tokens: 8, seed };
        let checked = check(&Marked::default(), &vocabulary(&words), &BEGINNINGS, effort);
        prop_assert_eq!(checked, Ok(()));
    }
}
