//! Steps of an automaton that one walk takes oftener than once. For example, from the cursor inside
//! of a string `a` leads back there, which is asked once and not for each token.

use crate::automaton::AskParts;
use crate::{ByteAutomaton, Cursor};

/// Steps of the automaton that were taken since it was last entered: a table
/// without chains, in which a newer step takes the place of an older; and of cursors
/// from which many are taken, all.
#[derive(Debug, Default)]
pub(crate) struct StepMemo {
    /// The cursor, byte and walk of each step, and the cursor that it leads to.
    steps: Vec<(u64, Cursor)>,
    walk: u64,
    /// By cursor: how many steps were asked for, or [`FIRST_ROW`] and the number of its
    /// row.
    asked: Vec<u32>,
    /// By byte, [`UNKNOWN`] where no step was taken yet.
    rows: Vec<[Cursor; 256]>,
}

/// The number of steps that are remembered: 16 KiB, so that the table stays in the first cache.
const MEMO: usize = 1 << 10;

/// The number of steps from one cursor that are worth a row: an eighth of its cells, because a row
/// has to be cleared first.
const MANY_STEPS: u32 = 32;
/// The most rows that are kept, 1 KiB each, because a walk seldom steps often from more cursors.
const MAX_ROWS: usize = 1 << 8;
/// As many are kept for the next walk, and memory for as many cursors.
const FEW_ROWS: usize = 16;
/// Memory for as many cursors is kept for the next walk, because a giant one is rare.
const FEW_CURSORS: usize = 1 << 14;
/// The number from which on an entry is a row and not a count: half of all, because no walk asks
/// for as many steps.
const FIRST_ROW: u32 = 1 << 31;
/// No cursor: the largest number, because walks count cursors from 0.
const UNKNOWN: Cursor = Cursor(u32::MAX);

impl StepMemo {
    /// Forgets all steps.
    pub(crate) fn begin(&mut self) {
        self.asked.clear();
        self.asked.shrink_to(FEW_CURSORS);
        // A giant walk is rare, and need not keep its memory.
        self.rows.clear();
        self.rows.shrink_to(FEW_ROWS);
        self.walk = (self.walk + 1) % (1 << 24);
        if self.walk == 0 || self.steps.is_empty() {
            self.walk = 1;
            self.steps.clear();
            self.steps.resize(MEMO, (0, Cursor::DEAD));
        }
    }

    #[inline]
    pub(crate) fn step<A: ByteAutomaton>(
        &mut self,
        automaton: &A,
        cursor: Cursor,
        byte: u8,
        scratch: &mut A::Scratch,
    ) -> Cursor {
        if A::STEPS_ARE_CHEAP {
            return automaton.step(cursor, byte, scratch);
        }
        if let Some(row) = self.row(cursor) {
            let known = &mut row[usize::from(byte)];
            if *known == UNKNOWN {
                *known = automaton.step(cursor, byte, scratch);
            }
            return *known;
        }
        let (key, place) = self.place(cursor, byte);
        let known = &mut self.steps[place];
        if known.0 != key {
            *known = (key, automaton.step(cursor, byte, scratch));
        }
        known.1
    }

    /// As [`StepMemo::step`], on the topmost level; what looks deeper is not
    /// remembered.
    #[inline]
    pub(crate) fn step_on_top<A: ByteAutomaton>(
        &mut self,
        automaton: &A,
        cursor: Cursor,
        byte: u8,
        scratch: &mut A::Scratch,
    ) -> Option<Cursor> {
        if A::STEPS_ARE_CHEAP {
            return automaton.step_on_top(cursor, byte, scratch);
        }
        if let Some(row) = self.row(cursor) {
            let known = &mut row[usize::from(byte)];
            if *known == UNKNOWN {
                *known = automaton.step_on_top(cursor, byte, scratch)?;
            }
            return Some(*known);
        }
        let (key, place) = self.place(cursor, byte);
        let known = &mut self.steps[place];
        if known.0 != key {
            *known = (key, automaton.step_on_top(cursor, byte, scratch)?);
        }
        Some(known.1)
    }

    /// The row of a cursor from which many steps are taken; this one is counted.
    #[inline]
    fn row(&mut self, cursor: Cursor) -> Option<&mut [Cursor; 256]> {
        let at = cursor.0 as usize;
        if at >= self.asked.len() {
            self.asked.resize(at + 1, 0);
        }
        let asked = &mut self.asked[at];
        if *asked < FIRST_ROW {
            *asked += 1;
            if *asked < MANY_STEPS || self.rows.len() >= MAX_ROWS {
                return None;
            }
            *asked = FIRST_ROW + self.rows.len() as u32;
            self.rows.push([UNKNOWN; 256]);
        }
        self.rows.get_mut((*asked - FIRST_ROW) as usize)
    }

    /// Tells whether a cursor has a row: then a step that was taken before costs nothing.
    #[inline]
    pub(crate) fn has_row(&self, cursor: Cursor) -> bool {
        let asked = self.asked.get(cursor.0 as usize);
        asked.is_some_and(|asked| *asked >= FIRST_ROW)
    }

    /// The key of a step, and where it is remembered.
    #[inline]
    fn place(&self, cursor: Cursor, byte: u8) -> (u64, usize) {
        // 24 bits tell walks apart: a table is never as old as that, because
        // it is emptied when they have run out.
        let key = self.walk << 40 | u64::from(cursor.0) << 8 | u64::from(byte);
        (key, (key ^ (key >> 8).wrapping_mul(0x9E37)) as usize % MEMO)
    }
}
