//! Rows that many automata have, remembered with the vocabulary: for most places in most
//! schemas some other schema has a place like it.

use std::sync::Arc;

use super::{Masks, Missed, Work};
use crate::row::Row;
use crate::{ByteAutomaton, Cursor, KeyLanguage, TextRuns};

impl<A: ByteAutomaton> Masks<'_, A> {
    /// The row at `cursor`, if another automaton had one like it; how many levels it
    /// depends on is noted. Or else the depth of the first key of which nothing is known.
    pub(super) fn find_common(
        &self,
        cursor: Cursor,
        work: &mut Work<A>,
    ) -> Result<Arc<Row>, usize> {
        let (row, depth) = self.look_up(work, |depth, work| {
            let language = self.common_row_key(cursor, depth, work)?;
            Some(self.vocabulary.common_row(language, &work.key))
        })?;
        work.remembered = depth;
        Ok(row)
    }

    /// Remembers the row at `cursor`, which was just computed, for other automata; it was
    /// missed at such a depth.
    pub(super) fn keep_common(
        &self,
        cursor: Cursor,
        row: &Arc<Row>,
        missed: usize,
        work: &mut Work<A>,
    ) {
        let used = self.depth_used(work);
        let key = |depth, work: &mut Work<A>| self.common_row_key(cursor, depth, work);
        let put = |language, row, key: &[u32]| self.vocabulary.add_common_row(language, key, row);
        self.remember(row, (used, Missed::at(missed)), work, key, put);
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
        self.common_key(cursor, depth, horizon, scratch, key)
    }
}
