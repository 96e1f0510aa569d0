//! Rows inside text: from the vocabulary cut by a class of characters.

use std::sync::Arc;

use super::{Masks, Thing, Work, clear};
use crate::budget::Watch;
use crate::cache::Generation;
use crate::changed::Bits;
use crate::part::RestsOnTop;
use crate::suffixes::Known;
use crate::vocabulary::Cut;
use crate::{ByteAutomaton, ClassId, Cursor, Error, JSON_TEXT, TextLoop};

impl<A: ByteAutomaton> Masks<'_, A> {
    /// From the vocabulary cut by the class that is read in a loop at
    /// `cursor`, into the words of the working memory.
    ///
    /// Plain parts lead along a chain of cursors, each the next one's
    /// predecessor by every character of the class; in a free string the chain
    /// is one cursor. A token of `n` plain characters and a rest may come if the
    /// chain is so long and the rest may come at its `n`th cursor.
    ///
    /// `false`, and nothing promised of the words, if there is no cut, or the
    /// chain ends where some characters of the class go on in another way: then
    /// only a walk tells.
    pub(super) fn put_together(
        &self,
        cursor: Cursor,
        text: TextLoop,
        work: &mut Work<A>,
        known: &Generation,
        watch: &mut impl Watch,
    ) -> Result<bool, Error> {
        let class = text.class;
        let ranges = self.automaton.text_class(class);
        let Some(cut) = self.vocabulary.cut(ranges, self.text_runs, self.cutter) else {
            return Ok(false);
        };
        let mut stretches = Vec::new();
        let bound = self.chain(cursor, text, &cut, work, &mut stretches, |next, work| {
            self.rests(next, class, &cut, work, known, watch)
        })?;
        let Some(bound) = bound else {
            return Ok(false);
        };
        let Work {
            scratch,
            walker,
            words,
            ..
        } = work;
        clear(words, self.vocabulary.width());
        cut.put_plain(bound, words);
        for (from, to, rests) in stretched(&stretches, bound) {
            for &rest in rests {
                cut.put_rest(rest, from, to, words.as_mut_slice());
            }
        }
        let others = (self.vocabulary.trie(), cut.heads());
        let hit = |token, _| words.allow(token);
        let visited = walker.walk(self.automaton, cursor, scratch, others, watch, hit);
        watch.walked(visited)?;
        Ok(true)
    }

    /// Goes along a chain of cursors; `rests` finds what may come behind one of them.
    /// Puts the stretches of the chain with the same rests into `stretches`, each
    /// with the number of characters before which it begins, and gives the number
    /// of characters that the chain has, [`usize::MAX`] where it has no end. `None`
    /// if it ends where some characters of the class go on in another way.
    pub(super) fn chain<T>(
        &self,
        cursor: Cursor,
        text: TextLoop,
        cut: &Cut,
        work: &mut Work<A>,
        stretches: &mut Vec<(usize, Arc<T>)>,
        mut rests: impl FnMut(Cursor, &mut Work<A>) -> Result<Arc<T>, Error>,
    ) -> Result<Option<usize>, Error>
    where
        T: PartialEq + ?Sized,
    {
        let class = text.class;
        let mut at = cursor;
        let mut chars = 0;
        let mut text = Some(text);
        while chars < cut.max_len() {
            let Some(here) = text.filter(|text| text.class == class) else {
                let ends = !cut
                    .goes_on(|byte| !self.automaton.step(at, byte, &mut work.scratch).is_dead());
                return Ok(ends.then_some(chars));
            };
            let left = cut.max_len() - chars;
            let steady = (here.steady as usize).min(left);
            let (same, next) = match steady {
                0 => (1, here.next),
                _ => (steady, at),
            };
            // The rests behind the next `same` characters.
            let rests = rests(next, work)?;
            if stretches.last().is_none_or(|s| s.1 != rests) {
                stretches.push((chars + 1, rests));
            }
            chars += same;
            at = here.next;
            for _ in 1..same {
                if at == here.next && here.next == next {
                    break; // A loop to itself: no character changes it.
                }
                for &byte in cut.sample() {
                    at = self.automaton.step(at, byte, &mut work.scratch);
                }
            }
            let horizon = self.vocabulary.trie().horizon();
            text = self.automaton.text_loop(at, horizon, &mut work.scratch);
        }
        Ok(Some(usize::MAX))
    }

    /// The rests that may come at a cursor, in the order of their trie.
    fn rests(
        &self,
        cursor: Cursor,
        class: ClassId,
        cut: &Cut,
        work: &mut Work<A>,
        known: &Generation,
        watch: &mut impl Watch,
    ) -> Result<Arc<[u32]>, Error> {
        let key = |depth, work: &mut Work<A>| {
            let keyed = self.key(cursor, Thing::Rests as u32, depth, work);
            work.key.push(class.0);
            keyed
        };
        let get = |depth, work: &mut Work<A>| key(depth, work).then(|| known.rests.get(&work.key));
        let put = |depth, rests, work: &mut Work<A>| {
            key(depth, work).then(|| known.rests.put(&work.key, rests))
        };
        if let Some((rests, depth)) = self.look_up(cursor, work, get) {
            work.remembered = work.remembered.max(depth);
            return Ok(rests);
        }
        let rests = match self.automaton.top_tells(cursor, &mut work.scratch) {
            true => {
                let on_top = self.rests_on_top(cursor, class, cut, work, known, watch)?;
                let mut rests = on_top.sure.to_vec();
                let mut visited = 0;
                for open in &on_top.open {
                    let Work {
                        scratch, walker, ..
                    } = work;
                    let trie = cut.rests();
                    let first = open.node as usize;
                    let lead = open.path.iter().copied().chain([trie.nodes()[first].byte]);
                    let behind = walker.lead(self.automaton, cursor, scratch, lead);
                    if !behind.is_dead() {
                        let hit = |rest| rests.push(rest);
                        let here = (trie, first);
                        visited += walker.walk_below(self.automaton, behind, scratch, here, hit);
                    }
                }
                watch.walked(visited)?;
                rests
            }
            false => {
                let mut rests = Vec::new();
                let Work {
                    scratch, walker, ..
                } = work;
                let all = (cut.rests(), &[][..]);
                let hit = |rest, _| rests.push(rest);
                let visited = walker.walk(self.automaton, cursor, scratch, all, watch, hit);
                watch.walked(visited)?;
                rests
            }
        };
        let rests = known.pool_rests(rests);
        let used = self.depth_used(work);
        self.remember(&rests, (cursor, used), work, put);
        Ok(rests)
    }

    /// The rests of which the topmost level tells at a cursor.
    pub(super) fn rests_on_top(
        &self,
        cursor: Cursor,
        class: ClassId,
        cut: &Cut,
        work: &mut Work<A>,
        known: &Generation,
        watch: &mut impl Watch,
    ) -> Result<Arc<RestsOnTop>, Error> {
        let keyed = self.key(cursor, Thing::RestsOnTop as u32, 1, work);
        work.key.push(class.0);
        if keyed && let Known::Value(rests) = known.rests_on_top.get(&work.key) {
            return Ok(rests);
        }
        // Numbers of classes mean something to one automaton alone.
        let mut common = Vec::new();
        let mut language = None;
        if self.automaton.text_class(class) == JSON_TEXT {
            let horizon = self.vocabulary.trie().horizon();
            let scratch = &mut work.scratch;
            language = self
                .automaton
                .common_key(cursor, 1, horizon, scratch, &mut common);
        }
        if let Some(language) = language
            && let Some(rests) = self.vocabulary.common_rests(language, &common)
        {
            if keyed {
                known.add_rests_on_top(&work.key, rests.clone());
            }
            return Ok(rests);
        }
        let mut sure = Vec::new();
        let Work {
            scratch, walker, ..
        } = work;
        let all = (cut.rests(), &[][..], None);
        let hit = |rest| sure.push(rest);
        let (visited, open) = walker.walk_on_top(self.automaton, cursor, scratch, all, watch, hit);
        watch.walked(visited)?;
        let rests = Arc::new(RestsOnTop {
            sure: sure.into(),
            open: open.into(),
        });
        if keyed {
            known.add_rests_on_top(&work.key, rests.clone());
        }
        if let Some(language) = language {
            self.vocabulary
                .add_common_rests(language, &common, rests.clone());
        }
        Ok(rests)
    }
}

/// The stretches of a chain of so many characters: `from..to`, and their rests.
pub(super) fn stretched<T: ?Sized>(
    stretches: &[(usize, Arc<T>)],
    bound: usize,
) -> impl Iterator<Item = (usize, usize, &T)> {
    let ends = stretches[1.min(stretches.len())..]
        .iter()
        .map(|next| next.0);
    let ends = ends.chain([bound.saturating_add(1)]);
    let stretches = stretches.iter().zip(ends);
    stretches.map(|((from, rests), to)| (*from, to, &**rests))
}
