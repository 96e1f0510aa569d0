//! What the topmost level of the stack tells of a row, and what it leaves open.

use std::sync::Arc;

use super::texts::stretched;
use super::{Masks, Thing, Work, clear, is_free};
use crate::budget::Watch;
use crate::cache::Generation;
use crate::changed::{Bits, Changes};
use crate::part::{Open, OpenRest, Part};
use crate::unstepped::{Free, From, Known};
use crate::vocabulary::{CutRef, Kinds, Trie};
use crate::{Behind, ByteAutomaton, Cursor, Error, FreeText, TextLoop};

/// Which trie a subtree is in: the vocabulary's own, or by the number of its class
/// that of the rests of a cut.
pub(super) const OWN: u32 = u32::MAX;
/// One that has no number.
const NO_TRIE: u32 = u32::MAX - 1;

/// Subtrees of fewer nodes are walked through each time.
pub(super) const WORTH_A_KEY: u32 = 100;

impl<A: ByteAutomaton> Masks<'_, A> {
    /// Whether the topmost level tells most of the row at `cursor`, and `text`,
    /// if any, is a loop that no token leaves by its length, or whose cursors are
    /// alike.
    pub(super) fn tells_on_top(
        &self,
        cursor: Cursor,
        text: Option<TextLoop>,
        work: &mut Work<A>,
    ) -> bool {
        let longest = self.vocabulary.trie().max_depth();
        text.is_none_or(|text| is_free(text, cursor, longest) || text.alike)
            && self.automaton.top_tells(cursor, &mut work.scratch)
    }

    /// The part that the topmost level tells of the row at `cursor`; the rest of
    /// the row is then the changes of the working memory.
    pub(super) fn part_on_top(
        &self,
        cursor: Cursor,
        text: Option<TextLoop>,
        work: &mut Work<A>,
        known: &Generation,
        watch: &mut impl Watch,
    ) -> Result<Arc<Part>, Error> {
        let part = if !self.key(cursor, Thing::Part as u32, 1, work) {
            self.fresh_part(cursor, text, work, known, watch)?
        } else if let Some(part) = known.part(&work.key) {
            part
        } else {
            let key = work.key.clone();
            let part = self.fresh_part(cursor, text, work, known, watch)?;
            known.add_part(&key, part.clone());
            part
        };
        work.changes.clear();
        let before = work.walker.visited();
        let trie = self.vocabulary.trie();
        let mut way = Way::new(cursor);
        for open in &part.open {
            let own = (OWN, trie);
            self.open_below(own, open, &mut way, work, known, |token, to| {
                to.allow(token);
            });
        }
        if let Some((cut, rests)) = &part.open_rests {
            // Rests have numbers of their own for each class.
            let which = text.map_or(NO_TRIE, |text| text.class.0);
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
        (which, trie): (u32, &Trie),
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
        if which == NO_TRIE || first.end - open.node < WORTH_A_KEY {
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
        (which, trie): (u32, &Trie),
        node: u32,
        cursor: Cursor,
        work: &mut Work<A>,
        known: &Generation,
    ) -> Arc<[u32]> {
        let key = |depth, work: &mut Work<A>| {
            let keyed = self.key(cursor, Thing::Below as u32, depth, work);
            work.key.extend([which, node]);
            keyed
        };
        let get = |depth, work: &mut Work<A>| key(depth, work).then(|| known.rests.get(&work.key));
        let put = |depth, rests, work: &mut Work<A>| {
            key(depth, work).then(|| known.rests.put(&work.key, rests))
        };
        let counted = self.automaton.count_depth(cursor, &mut work.scratch);
        if let Some(before) = counted
            && let Some((tokens, depth)) = self.look_up(cursor, work, get)
        {
            self.automaton.count_on(before, depth, &mut work.scratch);
            return tokens;
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
        if let Some(before) = counted {
            let used = self.automaton.depth_used(scratch).max(1);
            self.remember(&tokens, (cursor, used), work, put);
            self.automaton.count_on(before, used, &mut work.scratch);
        }
        tokens
    }

    /// The part at `cursor`, which is not known to this index yet: another one
    /// with the same vocabulary may know it.
    fn fresh_part(
        &self,
        cursor: Cursor,
        text: Option<TextLoop>,
        work: &mut Work<A>,
        known: &Generation,
        watch: &mut impl Watch,
    ) -> Result<Arc<Part>, Error> {
        let horizon = self.vocabulary.trie().horizon();
        let Work { scratch, key, .. } = work;
        key.clear();
        let Some(language) = self.automaton.common_key(cursor, 1, horizon, scratch, key) else {
            return Ok(Arc::new(self.part(cursor, text, work, known, watch)?));
        };
        if let Some(part) = self.vocabulary.common_part(language, key) {
            return Ok(part);
        }
        let key = key.clone();
        let part = Arc::new(self.part(cursor, text, work, known, watch)?);
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
        text: Option<TextLoop>,
        work: &mut Work<A>,
        known: &Generation,
        watch: &mut impl Watch,
    ) -> Result<Part, Error> {
        let mut class = text.map(|text| text.class);
        let cut = class.and_then(|class| {
            let class = self.automaton.text_class(class);
            self.vocabulary.cut(class, self.text_runs, self.cutter)
        });
        let longest = self.vocabulary.trie().max_depth();
        let is_free = |text: &TextLoop| is_free(*text, cursor, longest);
        if let (Some(text), Some(cut)) = (text.filter(|text| !is_free(text)), &cut) {
            return self.counted_part(cursor, text, cut.clone(), work, known, watch);
        }
        // Where the loop is no help yet, free text may be.
        let mut free = None;
        if cut.is_none() {
            free = self.automaton.free_text(cursor, &mut work.scratch);
        }
        class = class.or(free.map(|free| free.class));
        let unstepped = self.unstepped(text.filter(is_free), free);
        let Work {
            scratch,
            walker,
            words,
            ..
        } = work;
        clear(words, self.vocabulary.width());
        let trie = self.vocabulary.trie();
        let Some(cut) = cut else {
            if let Some(free) = &unstepped {
                words.copy_from_slice(&self.vocabulary.within(free.kinds, free.bytes));
            }
            let hit = |token| words.allow(token);
            let (visited, open) = walker.walk_on_top(
                self.automaton,
                cursor,
                scratch,
                (trie, &[], unstepped.as_ref()),
                watch,
                hit,
            );
            watch.walked(visited)?;
            if let Some(class) = class {
                let class = self.automaton.text_class(class);
                self.vocabulary.spend(class, visited);
            }
            return Ok(Part::new(words, open, None));
        };
        cut.put_plain(usize::MAX, words);
        let hit = |rest| cut.put_rest(rest, 1, usize::MAX, words.as_mut_slice());
        let rests = (cut.rests(), &[][..], None);
        let (visited, open_rests) =
            walker.walk_on_top(self.automaton, cursor, scratch, rests, watch, hit);
        watch.walked(visited)?;
        let hit = |token| words.allow(token);
        let others = (trie, cut.heads(), None);
        let (visited, open) =
            walker.walk_on_top(self.automaton, cursor, scratch, others, watch, hit);
        watch.walked(visited)?;
        let open_rests = open_rests.into_iter().map(|open| OpenRest {
            open,
            from: 1,
            to: usize::MAX,
            lead: 0,
        });
        Ok(Part::new(words, open, Some((cut, open_rests.collect()))))
    }

    /// The part of the row at `cursor` that the topmost level tells, in a text whose
    /// characters are counted: see [`Masks::put_together`].
    fn counted_part(
        &self,
        cursor: Cursor,
        text: TextLoop,
        cut: CutRef,
        work: &mut Work<A>,
        known: &Generation,
        watch: &mut impl Watch,
    ) -> Result<Part, Error> {
        let mut stretches = Vec::new();
        let bound = self.chain(cursor, text, &cut, work, &mut stretches, |next, work| {
            self.rests_on_top(next, text.class, &cut, work, known, watch)
        })?;
        let Some(bound) = bound else {
            // Some characters of the class go on in another way.
            return self.part(cursor, None, work, known, watch);
        };
        let free = self.automaton.free_text(cursor, &mut work.scratch);
        let free = self.unstepped(None, free);
        let Work {
            scratch,
            walker,
            words,
            ..
        } = work;
        clear(words, self.vocabulary.width());
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
        let hit = |token| words.allow(token);
        // Of the tokens that begin with the beginning of a character most may come.
        let free = free.map(|free| Free {
            known: Known::None,
            ..free
        });
        let others = (self.vocabulary.trie(), cut.heads(), free.as_ref());
        let (visited, open) =
            walker.walk_on_top(self.automaton, cursor, scratch, others, watch, hit);
        watch.walked(visited)?;
        Ok(Part::new(words, open, Some((cut, open_rests))))
    }

    /// What need not be stepped through, where text of the class of a loop or free
    /// text may come: of two the one with more kinds of characters.
    fn unstepped(&self, text: Option<TextLoop>, free: Option<FreeText>) -> Option<Free> {
        let kinds = |class| Kinds::within(self.automaton.text_class(class));
        let text = text.map(|text| Free {
            kinds: kinds(text.class),
            from: From::Start,
            bytes: usize::MAX,
            ends: false,
            known: Known::OfTheKinds,
        });
        let free = free.map(|free| Free {
            kinds: kinds(free.class),
            from: match free.behind {
                Behind::AnyText => From::AnyText,
                Behind::ItsClass => From::ItsClass,
            },
            // No text has more characters than bytes.
            bytes: free.chars,
            ends: free.ends,
            known: Known::OfTheKinds,
        });
        let both = text.into_iter().chain(free);
        both.filter(|free| free.kinds.count() > 0)
            .max_by_key(|free| free.kinds.count())
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
