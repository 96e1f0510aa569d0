//! Text on the way of a walk, read without cursors: by a [`ReadText`], of which a
//! table keeps the steps where many are taken.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use crate::{ByteAutomaton, Cursor, Horizon, ReadText, TextAt, TextStep};

/// A text, on the way to the current node of a walk.
pub(crate) struct Text<'a> {
    reader: Box<dyn ReadText + 'a>,
    /// Where it begins, and how deep in the trie that is.
    pub(crate) cursor: Cursor,
    pub(crate) depth: usize,
    /// The depth of the last node on the way that is inside.
    inside: usize,
    /// Steps that were taken without the table.
    steps: u32,
}

/// Working memory of texts: that of the last one counts.
#[derive(Debug, Default)]
pub(crate) struct Readings {
    /// The places before the first byte and after each.
    way: Vec<Stop>,
    table: Table,
}

/// A place on the way, and its number in the table if it is known.
#[derive(Clone, Copy, Debug)]
struct Stop {
    place: TextAt,
    number: u32,
}

/// The steps from places by each byte, as a lazy automaton keeps them.
#[derive(Debug, Default)]
struct Table {
    /// By number.
    places: Vec<(TextAt, Option<Row>)>,
    numbers: HashMap<TextAt, u32, FixedState>,
    rows: Vec<[u32; 256]>,
    /// Whose steps these are, if others take the same.
    language: Option<u32>,
}

/// The number of a row.
#[derive(Clone, Copy, Debug)]
struct Row(u32);

/// No number of a place.
const NO_NUMBER: u32 = u32::MAX;

/// What a row holds instead of the number of a place.
const UNKNOWN: u32 = u32::MAX;
const DEAD: u32 = u32::MAX - 1;
const LEAVES: u32 = u32::MAX - 2;

/// So many steps of a text are taken without the table: most texts of a walk are
/// left before it would pay.
const FEW_STEPS: u32 = 16;

/// No more rows than these, 1 KiB each, are kept.
const MAX_ROWS: usize = 1 << 10;

impl<'a> Text<'a> {
    /// The text that begins at a cursor in some depth of the trie, if there is one
    /// that can be read.
    pub(crate) fn at<A: ByteAutomaton>(
        automaton: &'a A,
        (cursor, depth): (Cursor, usize),
        horizon: Horizon<'_>,
        scratch: &mut A::Scratch,
        readings: &mut Readings,
    ) -> Option<Self> {
        let reader = automaton.text_reader(cursor, horizon, scratch)?;
        let start = Stop {
            place: reader.start(),
            number: NO_NUMBER,
        };
        let longest = horizon.bytes();
        // What stands further on is put there before it is looked at.
        let length = readings.way.len().max(longest + 1);
        readings.way.resize(length, start);
        readings.way[0] = start;
        readings.table.begin(reader.language());
        let known = !readings.table.places.is_empty();
        Some(Text {
            reader,
            cursor,
            depth,
            inside: depth,
            steps: if known { FEW_STEPS } else { 0 },
        })
    }

    /// Reads the byte of a node of this depth: `None` if the text was left before.
    #[inline]
    pub(crate) fn step(
        &mut self,
        depth: usize,
        byte: u8,
        readings: &mut Readings,
    ) -> Option<TextStep> {
        if self.inside < depth - 1 {
            return None;
        }
        let Readings { way, table } = readings;
        self.inside = depth - 1;
        let at = depth - 1 - self.depth;
        let stop = &mut way[at];
        // The bytes behind the first of a character come from too many places.
        let next = if self.steps < FEW_STEPS || matches!(byte, 0x80..=0xBF) {
            self.steps = self.steps.saturating_add(1);
            match self.reader.step(stop.place, byte) {
                TextStep::To(place) => Stop {
                    place,
                    number: NO_NUMBER,
                },
                other => return Some(other),
            }
        } else {
            match table.step(&*self.reader, stop, byte) {
                Ok(next) => next,
                Err(other) => return Some(other),
            }
        };
        way[at + 1] = next;
        self.inside = depth;
        Some(TextStep::To(next.place))
    }

    /// The place of the node on the way in this depth, which is inside.
    pub(crate) fn place(&self, depth: usize, readings: &Readings) -> TextAt {
        readings.way[depth - self.depth].place
    }

    /// The text has been left.
    pub(crate) fn leave(&mut self, depth: usize) {
        self.inside = self.inside.min(depth - 1);
    }

    /// Whether the text before a node leads back to where the whole walk began.
    pub(crate) fn is_back(&self, depth: usize, readings: &Readings) -> bool {
        self.depth == 0
            && self.inside >= depth - 1
            && self.reader.is_back(self.place(depth - 1, readings))
    }
}

impl Table {
    /// Forgets all steps but those that the next text takes too.
    fn begin(&mut self, language: Option<u32>) {
        if language.is_some() && language == self.language {
            return;
        }
        self.language = language;
        self.places.clear();
        self.numbers.clear();
        self.rows.clear();
    }

    /// The next stop, or what else the step leads to.
    #[inline]
    fn step(&mut self, reader: &dyn ReadText, from: &mut Stop, byte: u8) -> Result<Stop, TextStep> {
        if from.number == NO_NUMBER {
            from.number = self.number(from.place);
        }
        if let Some(row) = self.places[from.number as usize].1 {
            let next = self.rows[row.0 as usize][usize::from(byte)];
            if let Some((place, _)) = self.places.get(next as usize) {
                return Ok(Stop {
                    place: *place,
                    number: next,
                });
            }
            match next {
                DEAD => return Err(TextStep::Dead),
                LEAVES => return Err(TextStep::Leaves),
                _ => {}
            }
        }
        self.fresh_step(reader, *from, byte)
    }

    #[cold]
    fn fresh_step(
        &mut self,
        reader: &dyn ReadText,
        from: Stop,
        byte: u8,
    ) -> Result<Stop, TextStep> {
        let step = reader.step(from.place, byte);
        let (known, next) = match step {
            TextStep::Dead => (DEAD, Err(step)),
            TextStep::Leaves => (LEAVES, Err(step)),
            TextStep::To(place) => {
                let number = self.number(place);
                (number, Ok(Stop { place, number }))
            }
        };
        let mut row = self.places[from.number as usize].1;
        if row.is_none() && self.rows.len() < MAX_ROWS {
            row = Some(Row(self.rows.len() as u32));
            self.rows.push([UNKNOWN; 256]);
            self.places[from.number as usize].1 = row;
        }
        if let Some(row) = row {
            self.rows[row.0 as usize][usize::from(byte)] = known;
        }
        next
    }

    fn number(&mut self, place: TextAt) -> u32 {
        let fresh = self.places.len() as u32;
        let number = *self.numbers.entry(place).or_insert(fresh);
        if number == fresh {
            self.places.push((place, None));
        }
        number
    }
}
