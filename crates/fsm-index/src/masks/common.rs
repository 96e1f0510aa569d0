//! Rows that many automata have, remembered with the vocabulary: for most places in most
//! schemas some other schema has a place like it.

use std::sync::Arc;

use super::{Masks, Work};
use crate::row::Row;
use crate::{ByteAutomaton, Cursor, KeyLanguage, TextRuns};

impl<A: ByteAutomaton> Masks<'_, A> {
    /// The row at `cursor`, if another automaton had one like it; how many levels it
    /// depends on is noted.
    pub(super) fn find_common(&self, cursor: Cursor, work: &mut Work<A>) -> Option<Arc<Row>> {
        let (row, depth) = self.look_up(cursor, work, |depth, work| {
            let language = self.common_row_key(cursor, depth, work)?;
            Some(self.vocabulary.common_row(language, &work.key))
        })?;
        work.remembered = depth;
        Some(row)
    }

    /// Remembers the row at `cursor`, which was just computed, for other automata.
    pub(super) fn keep_common(&self, cursor: Cursor, row: &Arc<Row>, work: &mut Work<A>) {
        let used = self.depth_used(work);
        self.remember(row, (cursor, used), work, |depth, row, work| {
            let language = self.common_row_key(cursor, depth, work)?;
            self.vocabulary.add_common_row(language, &work.key, row);
            Some(())
        });
    }

    /// Puts the key of a row in words that other automata use, too, into the working
    /// memory.
    fn common_row_key(
        &self,
        cursor: Cursor,
        depth: usize,
        work: &mut Work<A>,
    ) -> Option<KeyLanguage> {
        if self.text_runs == TextRuns::Never || self.dead_ends.is_some() {
            return None;
        }
        let sparse = u32::try_from(self.sparse).unwrap_or(u32::MAX);
        work.key.clear();
        work.key.extend([depth as u32, sparse]);
        let horizon = self.vocabulary.trie().horizon();
        let Work { scratch, key, .. } = work;
        self.automaton
            .common_key(cursor, depth, horizon, scratch, key)
    }
}
