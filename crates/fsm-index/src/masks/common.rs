//! Rows that many automata have, remembered with the vocabulary: for most places in most
//! schemas some other schema has a place like it.

use std::sync::Arc;

use super::{Masks, Work};
use crate::row::{CommonRow, Row};
use crate::suffixes::MAX_DEPTH;
use crate::{ByteAutomaton, Cursor, KeyLanguage, TextRuns};

impl<A: ByteAutomaton> Masks<'_, A> {
    /// The row at `cursor`, if another automaton had one like it; how many levels it
    /// depends on is noted.
    pub(super) fn find_common(&self, cursor: Cursor, work: &mut Work<A>) -> Option<Arc<Row>> {
        let mut depth = self.automaton.least_depth(cursor, &work.scratch);
        while depth <= MAX_DEPTH {
            let language = self.common_row_key(cursor, depth, work)?;
            match &*self.vocabulary.common_row(language, &work.key)? {
                CommonRow::Row(row) => {
                    work.remembered = depth;
                    return Some(row.clone());
                }
                CommonRow::Deeper(least) => depth = (*least).max(depth + 1),
            }
        }
        None
    }

    /// Remembers the row at `cursor`, which was just computed, for other automata.
    pub(super) fn keep_common(&self, cursor: Cursor, row: &Arc<Row>, work: &mut Work<A>) {
        let least = self.automaton.least_depth(cursor, &work.scratch);
        let used = self.depth_used(work).max(least);
        if used > MAX_DEPTH {
            return;
        }
        // Keys of fewer levels exist where those of more do.
        let Some(language) = self.common_row_key(cursor, used, work) else {
            return;
        };
        let add = |key: &[u32], row| self.vocabulary.add_common_row(language, key, row);
        add(&work.key, CommonRow::Row(row.clone()));
        for depth in least..used {
            if self.common_row_key(cursor, depth, work).is_some() {
                add(&work.key, CommonRow::Deeper(used));
            }
        }
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
