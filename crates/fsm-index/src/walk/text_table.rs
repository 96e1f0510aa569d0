//! Text on the way of a walk, read without cursors: by a [`ReadText`], of which a table keeps the
//! steps, as a lazy automaton does. For example, inside of a string the place behind `a` is the
//! place before it, so that a row of 256 bytes answers for most tokens.

use crate::automaton::AskParts;
use std::collections::HashMap;

use foldhash::fast::FixedState;

use crate::tokens::Kinds;
use crate::{
    ByteAutomaton, ClassId, Cursor, FreeText, Horizon, ReadText, TextAt, TextBounds, TextStep,
};

/// A text, on the way to the current node of a walk.
pub(crate) struct Text<'a> {
    reader: Box<dyn ReadText + 'a>,
    pub(crate) bounds: TextBounds<'a>,
    /// The cursor at the beginning of the text, and its depth in the trie.
    pub(crate) cursor: Cursor,
    pub(crate) depth: usize,
    pub(crate) start: PlaceId,
}

/// The number of a place in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlaceId(u32);

/// The step of a text by a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    Dead,
    /// It may be left.
    Leaves,
    To(PlaceId),
}

/// Working memory of texts, that of the last one counts: the steps from places by each
/// byte.
#[derive(Debug, Default)]
pub(crate) struct TextTable {
    /// By number.
    places: Vec<KnownPlace>,
    numbers: HashMap<TextAt, u32, FixedState>,
    rows: Vec<StepRow>,
    /// Text that is free somewhere, and the kinds that its class has.
    frees: Vec<(Kinds, FreeText)>,
    /// Whose steps these are, if others take the same.
    language: Option<[u64; 4]>,
}

/// The steps from one place.
#[derive(Debug)]
pub(crate) struct StepRow([u32; 256]);

impl StepRow {
    #[inline]
    pub(crate) fn is_dead(&self, byte: u8) -> bool {
        self.0[usize::from(byte)] == DEAD
    }

    /// The step by a byte, if it was taken before.
    #[inline]
    pub(crate) fn step(&self, byte: u8) -> Option<Read> {
        read(self.0[usize::from(byte)])
    }
}

#[derive(Clone, Copy, Debug)]
struct KnownPlace {
    at: TextAt,
    /// The number of its row, [`NO_ROW`] if it has none.
    row: u32,
    /// Steps that were taken before it had one.
    steps: u32,
    /// The number of the text that is free there, [`UNKNOWN`] if that was not asked, or
    /// [`NOTHING_FREE`].
    free: u32,
}

/// The place has no row: the largest number, because rows are counted from 0.
const NO_ROW: u32 = u32::MAX;

/// The entry of a row whose step was not taken yet: the largest numbers are such marks, because
/// places are counted from 0.
const UNKNOWN: u32 = u32::MAX;
/// The entry of a byte that cannot come; a mark as [`UNKNOWN`] is one.
const DEAD: u32 = u32::MAX - 1;
/// The entry of a byte that leaves the text; a mark as [`UNKNOWN`] is one.
const LEAVES: u32 = u32::MAX - 2;

/// No text is free; a mark as [`UNKNOWN`] is one.
const NOTHING_FREE: u32 = u32::MAX - 1;

/// A place has a row once so many steps were taken from it: most are left at once.
const FEW_STEPS: u32 = 8;

/// The same for a place inside a character: more, because there are many such places.
const FEW_INSIDE: u32 = 32;

/// The most rows that are kept, 1 KiB each, because a text seldom has more places that are met
/// often.
const MAX_ROWS: usize = 1 << 8;

/// As many are kept for a text that takes other steps.
const FEW_ROWS: usize = 16;

/// The most places that a table keeps for the next text: one with more is emptied and its memory
/// given back, because a giant text is rare.
const MAX_PLACES: usize = 1 << 12;

impl<'a> Text<'a> {
    /// The text that begins at a cursor in some depth of the trie, if there is one
    /// that can be read.
    pub(crate) fn at<A: ByteAutomaton>(
        automaton: &'a A,
        cursor: Cursor,
        depth: usize,
        horizon: Horizon<'_>,
        scratch: &mut A::Scratch,
        readings: &mut TextTable,
    ) -> Option<Self> {
        let reader = automaton.text_reader(cursor, horizon, scratch)?;
        readings.begin(reader.language);
        Some(Text {
            cursor,
            depth,
            start: readings.number(reader.at),
            reader: reader.steps,
            bounds: reader.bounds,
        })
    }

    /// The step from a place by a byte, which was not known.
    #[cold]
    pub(crate) fn step(&self, from: PlaceId, byte: u8, readings: &mut TextTable) -> Read {
        readings.fresh_step(&*self.reader, from, byte)
    }

    /// The text that is free at a place, and the kinds that its class has: `kinds` tells
    /// them.
    pub(crate) fn free(
        &self,
        place: PlaceId,
        kinds: impl FnOnce(ClassId) -> Kinds,
        readings: &mut TextTable,
    ) -> Option<(Kinds, FreeText)> {
        let TextTable { places, frees, .. } = readings;
        let place = &mut places[place.0 as usize];
        if place.free == UNKNOWN {
            let told = self.reader.place(place.at);
            let free = told.free.map(|free| (kinds(free.class), free));
            place.free = NOTHING_FREE;
            if let Some(free) = free.filter(|(kinds, _)| kinds.count() > 0) {
                place.free = frees.len() as u32;
                frees.push(free);
            }
        }
        frees.get(place.free as usize).copied()
    }

    /// Tells whether a place is where the text began.
    pub(crate) fn is_back(&self, place: PlaceId, readings: &TextTable) -> bool {
        self.reader.place(readings.place(place)).is_back
    }
}

impl TextTable {
    /// Forgets all steps but those that the next text takes too.
    fn begin(&mut self, language: Option<[u64; 4]>) {
        let same = language.is_some() && language == self.language;
        if same && self.places.len() <= MAX_PLACES {
            return;
        }
        self.language = language;
        self.places.clear();
        self.places.shrink_to(MAX_PLACES);
        self.numbers.clear();
        self.numbers.shrink_to(MAX_PLACES);
        self.rows.clear();
        self.rows.shrink_to(FEW_ROWS);
        self.frees.clear();
    }

    /// The steps from a place that were taken before, if they are kept.
    #[inline]
    pub(crate) fn row(&self, place: PlaceId) -> Option<&StepRow> {
        let row = self.places[place.0 as usize].row;
        self.rows.get(row as usize)
    }

    /// The place of a number.
    pub(crate) fn place(&self, id: PlaceId) -> TextAt {
        self.places[id.0 as usize].at
    }

    fn fresh_step(&mut self, reader: &dyn ReadText, from: PlaceId, byte: u8) -> Read {
        let place = &mut self.places[from.0 as usize];
        place.steps += 1;
        let at = place.at;
        let few = match byte {
            0x80..=0xBF => FEW_INSIDE,
            _ => FEW_STEPS,
        };
        if place.row == NO_ROW && place.steps > few && self.rows.len() < MAX_ROWS {
            place.row = self.rows.len() as u32;
            let mut row = StepRow([UNKNOWN; 256]);
            if reader.place(at).is_ascii_next {
                row.0[0x80..].fill(DEAD);
            }
            self.rows.push(row);
        }
        let row = place.row;
        let next = match reader.step(at, byte) {
            TextStep::Dead => DEAD,
            TextStep::Leaves => LEAVES,
            TextStep::To(to) if to == at => from.0,
            TextStep::To(to) => self.number(to).0,
        };
        if let Some(row) = self.rows.get_mut(row as usize) {
            row.0[usize::from(byte)] = next;
        }
        read(next).unwrap_or(Read::Dead)
    }

    fn number(&mut self, at: TextAt) -> PlaceId {
        let fresh = self.places.len() as u32;
        let number = *self.numbers.entry(at).or_insert(fresh);
        if number == fresh {
            self.places.push(KnownPlace {
                at,
                row: NO_ROW,
                steps: 0,
                free: UNKNOWN,
            });
        }
        PlaceId(number)
    }
}

/// Returns the step that a number in a row stands for.
#[inline]
fn read(number: u32) -> Option<Read> {
    match number {
        UNKNOWN => None,
        DEAD => Some(Read::Dead),
        LEAVES => Some(Read::Leaves),
        number => Some(Read::To(PlaceId(number))),
    }
}
