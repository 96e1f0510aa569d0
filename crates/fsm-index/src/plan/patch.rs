//! Rows from those that are nearly alike, and of texts that are listed. For example, the row of a
//! string of at least one character is that of any string without the tokens that begin with `"`.

use std::sync::Arc;

use super::top_level::TopRows;
use super::{Missed, RowMaker, RowPlan, Thing, WORTH_A_ROW, Work, clear};
use crate::bits::Bits;
use crate::rows::{EndTokens, Part, Row};
use crate::{ByteAutomaton, Cursor, Description, Error, Texts};

impl<A: ByteAutomaton> RowMaker<'_, A> {
    /// From the row of a cursor at which nearly the same may come, apart from some texts if
    /// these are known.
    pub(super) fn patch(
        &self,
        cursor: Cursor,
        like: Cursor,
        apart: Option<Texts>,
        end_tokens: EndTokens,
        work: &mut Work<A>,
    ) -> Result<Row, Error> {
        let row = match self.find(like, Thing::Likeness, work) {
            Ok(row) => row,
            Err(depth) => {
                let missed = Missed::at(depth);
                let description = self.describe(like, work);
                if let Description::Top(text) = description
                    && TopRows(self).is_even(text, like)
                    && let before = work.walker.visited()
                    && let Some(part) = TopRows(self).part_on_top(like, text, work)?
                {
                    if work.walker.visited() - before > WORTH_A_ROW {
                        let row = self.known.pool(self.row_on_top(
                            part.clone(),
                            EndTokens::Refused,
                            work,
                        ));
                        self.keep(like, Thing::Likeness, &row, missed, work);
                    }
                    return self.patch_on_top([cursor, like], apart, part, end_tokens, work);
                }
                // That one may in turn be patched from another.
                let row = self.make(
                    like,
                    RowPlan::Described(description),
                    EndTokens::Refused,
                    work,
                )?;
                let row = self.known.pool(row);
                self.keep(like, Thing::Likeness, &row, missed, work);
                row
            }
        };
        if let Row::Delta(changed) = &*row {
            work.changes.clone_from(changed.changes());
            let part = changed.part().clone();
            return self.patch_on_top([cursor, like], apart, part, end_tokens, work);
        }
        let mut words = std::mem::take(&mut work.words);
        words.resize(self.vocabulary.width().div_ceil(32), 0);
        row.lay_out(self.vocabulary, &mut words);
        let visited = self.differ([cursor, like], apart, work, words.as_mut_slice());
        work.words = words;
        work.meter.walked(visited)?;
        Ok(self.row_of_words(end_tokens, work))
    }

    /// From the part of `like` and its changes in the working memory.
    fn patch_on_top(
        &self,
        both: [Cursor; 2],
        apart: Option<Texts>,
        part: Arc<Part>,
        end_tokens: EndTokens,
        work: &mut Work<A>,
    ) -> Result<Row, Error> {
        let mut changes = std::mem::take(&mut work.changes);
        let visited = self.differ(both, apart, work, &mut changes);
        work.changes = changes;
        work.meter.walked(visited)?;
        Ok(self.row_on_top(part, end_tokens, work))
    }

    /// From the texts that may come, which are listed.
    pub(super) fn spell(
        &self,
        cursor: Cursor,
        texts: &Texts,
        end_tokens: EndTokens,
        work: &mut Work<A>,
    ) -> Result<Row, Error> {
        let Work {
            scratch,
            walker,
            changes,
            ..
        } = work;
        changes.clear();
        let both = [cursor, Cursor::DEAD];
        let trie = self.vocabulary.trie();
        let before = walker.visited();
        walker.differ_behind(self.automaton, both, scratch, trie, texts, changes);
        work.meter.walked(work.walker.visited() - before)?;
        if let Some(row) = self.row_of_few(&[], end_tokens, work) {
            return Ok(row);
        }
        clear(&mut work.words, self.vocabulary.width());
        work.changes.apply(&mut work.words);
        Ok(self.row_of_words(end_tokens, work))
    }

    /// Turns the bits of the second cursor into those of the first; how many nodes that took.
    fn differ(
        &self,
        both: [Cursor; 2],
        apart: Option<Texts>,
        work: &mut Work<A>,
        bits: &mut (impl Bits + ?Sized),
    ) -> u64 {
        let Work {
            meter,
            scratch,
            walker,
            ..
        } = work;
        let trie = self.vocabulary.trie();
        match apart {
            Some(texts) => walker.differ_behind(self.automaton, both, scratch, trie, &texts, bits),
            None => walker.difference(self.automaton, both, scratch, trie, meter, bits),
        }
    }
}
