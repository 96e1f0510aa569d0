//! Text on the way of a walk, read without cursors: by a [`ReadText`], of which a
//! table keeps the steps, as a lazy automaton does.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use crate::vocabulary::Node;
use crate::{ByteAutomaton, Cursor, Horizon, ReadText, TextAt, TextStep};

/// A text, on the way to the current node of a walk.
pub(crate) struct Text<'a> {
    reader: Box<dyn ReadText + 'a>,
    /// Where it begins, and how deep in the trie that is.
    pub(crate) cursor: Cursor,
    pub(crate) depth: usize,
    /// The depth of the last node on the way that is inside.
    inside: usize,
}

/// Working memory of texts: that of the last one counts.
#[derive(Debug, Default)]
pub(crate) struct Readings {
    /// The numbers of the places before the first byte and after each.
    way: Vec<u32>,
    table: Table,
}

/// The steps from places by each byte.
#[derive(Debug, Default)]
struct Table {
    /// By number.
    places: Vec<Place>,
    numbers: HashMap<TextAt, u32, FixedState>,
    rows: Vec<[u32; 256]>,
    /// Whose steps these are, if others take the same.
    language: Option<[u64; 4]>,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    at: TextAt,
    /// The number of its row, [`NO_ROW`] if it has none.
    row: u32,
    /// Steps that were taken before it had one.
    steps: u32,
}

const NO_ROW: u32 = u32::MAX;

/// What a row holds instead of the number of a place.
const UNKNOWN: u32 = u32::MAX;
const DEAD: u32 = u32::MAX - 1;
const LEAVES: u32 = u32::MAX - 2;

/// A place has a row once so many steps were taken from it: most are left at once.
const FEW_STEPS: u32 = 8;

/// No more rows than these, 1 KiB each, are kept.
const MAX_ROWS: usize = 1 << 8;

/// As many are kept for a text that takes other steps.
const FEW_ROWS: usize = 16;

/// A table with more places is emptied for the next text, and its memory given back.
const MAX_PLACES: usize = 1 << 12;

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
        let Readings { way, table } = readings;
        table.begin(reader.language());
        // What stands further on is put there before it is looked at.
        way.resize(way.len().max(horizon.bytes() + 1), UNKNOWN);
        way[0] = table.number(reader.start());
        Some(Text {
            reader,
            cursor,
            depth,
            inside: depth,
        })
    }

    /// Whether the byte of a node of this depth is read by the text: it was not left
    /// before.
    #[inline]
    pub(crate) fn reads(&self, depth: usize) -> bool {
        self.inside >= depth - 1
    }

    /// Reads the bytes of nodes from `at` on, up to one that may leave the text, that `pass`
    /// leaves to the caller, that lies in no deeper depth than where it begins or at the
    /// root, or is `end`: the number of that one. Calls `inside` with each node that is in
    /// the text.
    ///
    /// `pass` is asked of each node but the first one what to do with its subtree, and can
    /// ask whether the text before it leads back to where the walk began.
    #[inline]
    pub(crate) fn run(
        &mut self,
        nodes: &[Node],
        (mut at, end): (usize, usize),
        readings: &mut Readings,
        mut pass: impl FnMut(usize, &Node, &dyn Fn() -> bool) -> Pass,
        mut inside: impl FnMut(&Node),
    ) -> (usize, u64) {
        let first = at;
        let mut visited = 0;
        while let Some(node) = nodes.get(at).filter(|_| at < end) {
            let depth = usize::from(node.depth);
            if at != first {
                if depth <= self.depth.max(1) {
                    break;
                }
                match pass(at, node, &|| self.is_back(depth, readings)) {
                    Pass::Read => {}
                    Pass::LeaveOut => {
                        at = node.end as usize;
                        visited += 1;
                        continue;
                    }
                    Pass::Leave => break,
                }
            }
            let Readings { way, table } = &mut *readings;
            let above = depth - 1 - self.depth;
            let next = match table.known(way[above], node.byte) {
                UNKNOWN => table.fresh_step(&*self.reader, way[above], node.byte),
                next => next,
            };
            self.inside = depth - 1;
            match next {
                LEAVES => break,
                DEAD => at = node.end as usize,
                next => {
                    way[above + 1] = next;
                    self.inside = depth;
                    inside(node);
                    at += 1;
                }
            }
            visited += 1;
        }
        (at, visited)
    }

    /// Whether a byte leads nowhere where the text begins.
    pub(crate) fn is_dead_first(&self, byte: u8, readings: &mut Readings) -> bool {
        let Readings { way, table } = readings;
        let next = match table.known(way[0], byte) {
            UNKNOWN => table.fresh_step(&*self.reader, way[0], byte),
            next => next,
        };
        next == DEAD
    }

    /// The place of the node on the way in this depth, which is inside.
    pub(crate) fn place(&self, depth: usize, readings: &Readings) -> TextAt {
        let number = readings.way[depth - self.depth];
        readings.table.places[number as usize].at
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

/// What to do with a subtree that begins in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pass {
    /// To read on.
    Read,
    /// Nothing: all is done.
    LeaveOut,
    /// What the caller knows.
    Leave,
}

impl Table {
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
    }

    /// What a row says of a step.
    #[inline]
    fn known(&self, from: u32, byte: u8) -> u32 {
        let row = self.places[from as usize].row;
        let row = self.rows.get(row as usize);
        row.map_or(UNKNOWN, |row| row[usize::from(byte)])
    }

    #[cold]
    fn fresh_step(&mut self, reader: &dyn ReadText, from: u32, byte: u8) -> u32 {
        let place = &mut self.places[from as usize];
        place.steps += 1;
        let at = place.at;
        // The bytes behind the first of a character come from too many places.
        let is_first = !matches!(byte, 0x80..=0xBF);
        if place.row == NO_ROW && place.steps > FEW_STEPS && is_first && self.rows.len() < MAX_ROWS
        {
            place.row = self.rows.len() as u32;
            let mut row = [UNKNOWN; 256];
            if reader.is_ascii_next(at) {
                row[0x80..].fill(DEAD);
            }
            self.rows.push(row);
        }
        let row = place.row;
        let next = match reader.step(at, byte) {
            TextStep::Dead => DEAD,
            TextStep::Leaves => LEAVES,
            TextStep::To(to) if to == at => from,
            TextStep::To(to) => self.number(to),
        };
        if let Some(row) = self.rows.get_mut(row as usize) {
            row[usize::from(byte)] = next;
        }
        next
    }

    fn number(&mut self, at: TextAt) -> u32 {
        let fresh = self.places.len() as u32;
        let number = *self.numbers.entry(at).or_insert(fresh);
        if number == fresh {
            self.places.push(Place {
                at,
                row: NO_ROW,
                steps: 0,
            });
        }
        number
    }
}
