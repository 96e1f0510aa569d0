//! Rows that many automata have, remembered for all indexes of a vocabulary: for most places in
//! most schemas some other schema has a place like it. For example, the inside of a string without
//! limits is the same in every schema.

use std::sync::Arc;

use super::{Missed, RowMaker, Work};
use crate::cache::{Generation, MAX_DEPTH, Thing};
use crate::rows::Row;
use crate::{ByteAutomaton, Cursor, TextRuns};

impl<A: ByteAutomaton> RowMaker<'_, A> {
    /// The row at `cursor`, if another automaton had one like it; how many levels it
    /// depends on is noted. Or else the depth of the first key of which nothing is known.
    pub(super) fn find_shared(
        &self,
        cursor: Cursor,
        shared: &Generation,
        work: &mut Work<A>,
    ) -> Result<Arc<Row>, usize> {
        let key = |depth, work: &mut Work<A>| self.shared_row_key(cursor, depth, work);
        let (row, depth) = self.look_up(cursor, &shared.rows, work, key)?;
        work.remembered = depth;
        Ok(row)
    }

    /// Remembers the row at `cursor`, which was just computed, for other automata; it was
    /// missed at such a depth.
    pub(super) fn keep_shared(
        &self,
        cursor: Cursor,
        shared: &Generation,
        row: &Arc<Row>,
        missed: usize,
        work: &mut Work<A>,
    ) {
        let used = self.depth_used(work);
        let key = |depth, work: &mut Work<A>| self.shared_row_key(cursor, depth, work);
        if missed > MAX_DEPTH {
            // It has no key that means anything to others.
            return;
        }
        shared.charge(row);
        self.remember(&shared.rows, row, used, Missed::at(missed), work, key);
    }

    /// Puts the key of a row in words that other automata use, too, into the working
    /// memory.
    fn shared_row_key(&self, cursor: Cursor, depth: usize, work: &mut Work<A>) -> bool {
        if self.text_runs == TextRuns::Never || self.dead_ends.is_some() {
            return false;
        }
        let horizon = self.vocabulary.trie().horizon();
        let Work { scratch, key, .. } = work;
        let is_told = self.shared_key(cursor, Thing::Row, depth, horizon, scratch, key);
        key.push(u32::try_from(self.sparse).unwrap_or(u32::MAX));
        is_told
    }
}
