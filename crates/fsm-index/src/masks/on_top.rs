//! What the topmost level of the stack tells of a row, and what it leaves open.

use crate::automaton::Parts;
use std::sync::Arc;

use super::met::{All, Met};
use super::texts::{Half, stretched};
use super::{Masks, Missed, Thing, Work, is_free};
use crate::budget::Watch;
use crate::cache::Generation;
use crate::changed::{Bits, Changes};
use crate::part::{Open, OpenRest, Part};
use crate::unstepped::Free;
use crate::vocabulary::{CutRef, Trie};
use crate::walk_on_top::Ground;
use crate::{ByteAutomaton, ClassId, Cursor, Error, FreeText, TextLoop, TextRuns, TopText};

/// Which trie a subtree is in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TrieId {
    /// The vocabulary's own.
    Own,
    /// That of one half of the cut by a class.
    Half(Half, ClassId),
    /// One that has no name.
    Unnamed,
}

impl TrieId {
    /// The same as words of a key.
    fn words(self) -> [u32; 2] {
        match self {
            TrieId::Own => [0, 0],
            TrieId::Half(Half::Rests, class) => [1, class.0],
            TrieId::Half(Half::Others, class) => [2, class.0],
            TrieId::Unnamed => [3, 0],
        }
    }
}

/// Subtrees of fewer nodes are walked through each time.
pub(super) const WORTH_A_KEY: u32 = 100;

/// Of subtrees of fewer nodes it is not asked which text is free.
const MUCH: u32 = 256;

impl<A: ByteAutomaton> Masks<'_, A> {
    /// Whether `text`, if any, is a loop that no token leaves by its length, or whose cursors
    /// are alike: then what the topmost level tells of it is the same for all of them.
    pub(super) fn is_even(&self, text: Option<TextLoop>, cursor: Cursor) -> bool {
        let longest = self.vocabulary.trie().max_depth();
        text.is_none_or(|text| is_free(text, cursor, longest) || text.alike)
    }

    /// The part that the topmost level tells of the row at `cursor`; the rest of
    /// the row is then the changes of the working memory.
    pub(super) fn part_on_top(
        &self,
        cursor: Cursor,
        top: TopText,
        work: &mut Work<A>,
        known: &Generation,
        watch: &mut impl Watch,
    ) -> Result<Arc<Part>, Error> {
        let part = if !self.key(cursor, Thing::Part, 1, work) {
            self.fresh_part(cursor, top, work, known, watch)?
        } else if let Some(part) = known.part(&work.key) {
            part
        } else {
            let key = work.key.clone();
            let part = self.fresh_part(cursor, top, work, known, watch)?;
            known.add_part(&key, part.clone());
            part
        };
        work.changes.clear();
        let before = work.walker.visited();
        let all = self.vocabulary.trie();
        let half = |half| {
            top.text
                .map_or(TrieId::Unnamed, |text| TrieId::Half(half, text.class))
        };
        let own = match &part.open_rests {
            Some((cut, _)) => (half(Half::Others), cut.others(all).0),
            None => (TrieId::Own, all),
        };
        let mut way = Way::new(cursor);
        for open in &part.open {
            self.open_below(own, open, &mut way, work, known, |token, to| {
                to.allow(token);
            });
        }
        if let Some((cut, rests)) = &part.open_rests {
            let which = half(Half::Rests);
            for rest in rests {
                let lead = (0..rest.lead).flat_map(|_| cut.sample().iter().copied());
                let Work {
                    scratch, walker, ..
                } = work;
                let mut way = Way::new(walker.lead(self.automaton, cursor, scratch, lead));
                let here = (which, cut.rests());
                self.open_below(here, &rest.open, &mut way, work, known, |id, to| {
                    cut.put_rest(id, rest.from, rest.to, to);
                });
            }
        }
        watch.walked(work.walker.visited() - before)?;
        Ok(part)
    }

    /// Puts the tokens of a subtree that was left open, and that may come, into the
    /// changes of the working memory.
    fn open_below(
        &self,
        (which, trie): (TrieId, &Trie),
        open: &Open,
        way: &mut Way,
        work: &mut Work<A>,
        known: &Generation,
        mut put: impl FnMut(u32, &mut Changes),
    ) {
        let first = &trie.nodes()[open.node as usize];
        let Work {
            scratch, walker, ..
        } = work;
        let cursor = way.behind(&open.path, |cursor, byte| {
            walker.lead(self.automaton, cursor, scratch, [byte].into_iter())
        });
        let cursor = walker.lead(self.automaton, cursor, scratch, [first.byte].into_iter());
        if cursor.is_dead() {
            return;
        }
        if which == TrieId::Unnamed || first.end - open.node < WORTH_A_KEY {
            let here = (trie, open.node as usize);
            let changes = &mut work.changes;
            let hit = |token| put(token, changes);
            walker.walk_below(self.automaton, cursor, scratch, here, hit);
            return;
        }
        let tokens = self.below((which, trie), open.node, cursor, work, known);
        tokens
            .iter()
            .for_each(|&token| put(token, &mut work.changes));
    }

    /// The tokens of a subtree that may come, of whose first node `cursor` is the one
    /// behind its byte. They depend on the levels of that cursor's stack, whatever
    /// the levels are where the walk began.
    pub(super) fn below(
        &self,
        (which, trie): (TrieId, &Trie),
        node: u32,
        cursor: Cursor,
        work: &mut Work<A>,
        known: &Generation,
    ) -> Arc<[u32]> {
        let key = |depth, work: &mut Work<A>| {
            let keyed = self.key(cursor, Thing::Below, depth, work);
            work.key.extend(which.words());
            work.key.push(node);
            keyed
        };
        let get = |depth, work: &mut Work<A>| key(depth, work).then(|| known.rests.get(&work.key));
        let counted = self.automaton.count_depth(cursor, &mut work.scratch);
        let mut missed = None;
        if let Some(before) = counted {
            match self.look_up(work, get) {
                Ok((tokens, depth)) => {
                    self.automaton.count_on(before, depth, &mut work.scratch);
                    return tokens;
                }
                // Nothing but a walk comes between.
                Err(depth) => {
                    let key = Some(());
                    missed = Some((before, Missed { depth, key }));
                }
            }
        }
        let mut tokens = Vec::new();
        let Work {
            scratch, walker, ..
        } = work;
        // Steps that are remembered would not tell how deep they looked.
        walker.begin::<A>();
        let hit = |token| tokens.push(token);
        walker.walk_below(self.automaton, cursor, scratch, (trie, node as usize), hit);
        let tokens = known.pool_rests(tokens);
        if let Some((before, missed)) = missed {
            let used = self.automaton.depth_used(scratch).max(1);
            let key = |depth, work: &mut Work<A>| key(depth, work).then_some(());
            let put = |(), rests, key: &[u32]| known.rests.put(key, rests);
            self.remember(&tokens, (used, missed), work, key, put);
            self.automaton.count_on(before, used, &mut work.scratch);
        }
        tokens
    }

    /// The part at `cursor`, which is not known to this index yet: another one
    /// with the same vocabulary may know it.
    fn fresh_part(
        &self,
        cursor: Cursor,
        top: TopText,
        work: &mut Work<A>,
        known: &Generation,
        watch: &mut impl Watch,
    ) -> Result<Arc<Part>, Error> {
        let horizon = self.vocabulary.trie().horizon();
        let Work { scratch, key, .. } = work;
        key.clear();
        let Some(language) = self.common_key(cursor, 1, horizon, scratch, key) else {
            return Ok(Arc::new(self.part(cursor, top, work, known, watch)?));
        };
        if let Some(part) = self.vocabulary.common_part(language, key) {
            return Ok(part);
        }
        let key = key.clone();
        let part = Arc::new(self.part(cursor, top, work, known, watch)?);
        self.vocabulary
            .add_common_part(language, &key, part.clone());
        Ok(part)
    }

    /// The part of the row at `cursor` that the topmost level tells: from the
    /// vocabulary cut by a class of characters where text is read in a loop, or
    /// else by a walk.
    fn part(
        &self,
        cursor: Cursor,
        top: TopText,
        work: &mut Work<A>,
        known: &Generation,
        watch: &mut impl Watch,
    ) -> Result<Part, Error> {
        let TopText { text, free } = top;
        if let Some(text) = text {
            let class = self.automaton.text_class(text.class);
            if let Some(cut) = self.vocabulary.cut(class, self.text_runs, self.cutter) {
                return self.cut_part(cursor, (top, text), cut, work, known, watch);
            }
        }
        // Where the loop is no help yet, free text may be.
        let longest = self.vocabulary.trie().max_depth();
        let of_loop = text.filter(|text| is_free(*text, cursor, longest));
        let unstepped = self.unstepped(of_loop, free);
        let Work {
            scratch,
            walker,
            tokens,
            words,
            ..
        } = work;
        let mut met = Met::none(tokens, words, (self.vocabulary.width(), Part::FEW));
        if let Some(free) = &unstepped {
            met = met.with(&self.vocabulary.within(free.kinds(), free.longest()));
        }
        let all = Ground {
            free: unstepped,
            ..self.ground(self.vocabulary.trie(), &[])
        };
        let hit = |token| met.put(token);
        let (visited, open) = walker.walk_on_top(self.automaton, cursor, scratch, all, watch, hit);
        watch.walked(visited)?;
        if let Some(text) = text {
            let class = self.automaton.text_class(text.class);
            self.vocabulary.spend(class, visited);
        }
        Ok(match met.all() {
            All::Many(words) => Part::new(words, open, None),
            All::Few(tokens) => Part::of_few(tokens, open),
        })
    }

    /// The part of the row at `cursor` that the topmost level tells, where text is read in
    /// a loop over the class of a cut: see [`Masks::put_together`].
    fn cut_part(
        &self,
        cursor: Cursor,
        (top, text): (TopText, TextLoop),
        cut: CutRef,
        work: &mut Work<A>,
        known: &Generation,
        watch: &mut impl Watch,
    ) -> Result<Part, Error> {
        let mut stretches = Vec::new();
        let bound = self.chain(cursor, text, &cut, work, &mut stretches, |next, work| {
            self.half_on_top(next, (Half::Rests, text.class), &cut, work, known, watch)
        })?;
        let Some(bound) = bound else {
            // Some characters of the class go on in another way.
            let top = TopText { text: None, ..top };
            return self.part(cursor, top, work, known, watch);
        };
        let half = (Half::Others, text.class);
        let others = self.half_on_top(cursor, half, &cut, work, known, watch)?;
        let words = &mut work.words;
        cut.put_plain(bound, words);
        let mut open_rests: Vec<OpenRest> = Vec::new();
        for (from, to, rests) in stretched(&stretches, bound) {
            for &rest in &rests.sure {
                cut.put_rest(rest, from, to, words.as_mut_slice());
            }
            for open in &rests.open {
                // All lead to the same, so that one walk does for them.
                let same = |other: &&mut OpenRest| other.to == from && other.open == *open;
                match open_rests.iter_mut().find(same) {
                    Some(before) => before.to = to,
                    None => open_rests.push(OpenRest {
                        open: open.clone(),
                        from,
                        to,
                        lead: from,
                    }),
                }
            }
        }
        for &token in &others.sure {
            words.allow(token);
        }
        Ok(Part::new(
            words,
            others.open.to_vec(),
            Some((cut, open_rests)),
        ))
    }

    /// What need not be stepped through, where text of the class of a loop or free
    /// text may come: of two the one with more kinds of characters.
    fn unstepped(&self, text: Option<TextLoop>, free: Option<FreeText>) -> Option<Free> {
        let kinds = |class| self.language.kinds(self.automaton.text_class(class));
        let text = text.map(|text| Free::in_loop(kinds(text.class)));
        let free = free.map(|free| Free::at_start(kinds(free.class), free));
        let both = text.into_iter().chain(free);
        both.filter(|free| free.kinds().count() > 0)
            .max_by_key(|free| free.kinds().count())
    }

    /// Where a walk goes that leaves out ranges of nodes.
    pub(super) fn ground<'t>(&'t self, trie: &'t Trie, skip: &'t [(u32, u32)]) -> Ground<'t> {
        Ground {
            trie,
            skip,
            free: None,
            language: self.language,
            much: match self.text_runs {
                TextRuns::Always => 1,
                _ => MUCH,
            },
        }
    }
}

/// The way to a place behind a cursor: places come in the order of the trie, so that
/// most of it is the way to the one before.
struct Way {
    bytes: Vec<u8>,
    /// Before the first byte and behind each.
    cursors: Vec<Cursor>,
}

impl Way {
    fn new(cursor: Cursor) -> Way {
        Way {
            bytes: Vec::new(),
            cursors: vec![cursor],
        }
    }

    fn behind(&mut self, path: &[u8], mut step: impl FnMut(Cursor, u8) -> Cursor) -> Cursor {
        let same = self.bytes.iter().zip(path).take_while(|(a, b)| a == b);
        let same = same.count();
        self.bytes.truncate(same);
        self.cursors.truncate(same + 1);
        let mut cursor = self.cursors[same];
        for &byte in &path[same..] {
            cursor = step(cursor, byte);
            self.bytes.push(byte);
            self.cursors.push(cursor);
        }
        cursor
    }
}
