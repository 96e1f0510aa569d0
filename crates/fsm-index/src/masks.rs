//! How a row is computed where none is known: from a row nearly like it, from
//! the vocabulary cut by a class of characters, or by a walk.

use std::collections::HashSet;
use std::sync::Arc;

use crate::budget::Watch;
use crate::cache::Generation;
use crate::changed::{Bits, Changed, Changes};
use crate::part::{Open, OpenRest, Part, RestsOnTop};
use crate::row::Row;
use crate::suffixes::{Known, MAX_DEPTH};
use crate::vocabulary::{Cut, CutRef, Cutter, Kinds, Trie};
use crate::walk::{End, Free, From, Walker};
use crate::{
    Behind, ByteAutomaton, ClassId, Cursor, Differences, Error, FreeText, JSON_TEXT, TextLoop,
    TextRuns, Vocabulary,
};

/// Everything that rows are computed from.
pub(crate) struct Masks<'a, A> {
    pub(crate) automaton: &'a A,
    pub(crate) vocabulary: &'a Vocabulary,
    pub(crate) text_runs: TextRuns,
    /// Who makes cuts that pay.
    pub(crate) cutter: Cutter,
    /// Rows of at most so many tokens are packed.
    pub(crate) sparse: usize,
    /// Cursors from which the vocabulary cannot spell any way on.
    pub(crate) dead_ends: Option<&'a HashSet<Cursor>>,
}

/// Working memory of one thread.
pub(crate) struct Work<A: ByteAutomaton> {
    pub(crate) scratch: A::Scratch,
    walker: Walker,
    pub(crate) key: Vec<u32>,
    tokens: Vec<u32>,
    words: Vec<u32>,
    /// In what a row differs from the part that the topmost level tells.
    changes: Changes,
    differences: Differences,
    ends: Vec<End>,
    /// How many levels of the stack were looked at for what was remembered and
    /// is now a part of something else.
    remembered: usize,
}

impl<A: ByteAutomaton> Work<A> {
    pub(crate) fn new(automaton: &A) -> Work<A> {
        Work {
            scratch: automaton.scratch(),
            walker: Walker::default(),
            key: Vec::new(),
            tokens: Vec::new(),
            words: Vec::new(),
            changes: Changes::default(),
            differences: Differences::default(),
            ends: Vec::new(),
            remembered: 0,
        }
    }

    /// The nodes that were visited since this was asked last.
    pub(crate) fn take_visited(&mut self) -> u64 {
        self.walker.take_visited()
    }
}

/// A row with more changes than this is kept as a mask: it would not be smaller.
const MAX_CHANGES: usize = 2_048;

/// A row is remembered for those that resemble it if this many nodes were
/// visited behind its part.
const WORTH_A_ROW: u64 = 200;

/// What a key is the key of. Keys of different things never meet.
#[derive(Clone, Copy)]
enum Thing {
    /// The row of a state.
    Row = 0,
    /// A row whose end tokens mean nothing, because it was computed for a
    /// cursor that is no state's.
    Likeness = 1,
    /// The rests that may come, for a class.
    Rests = 2,
    /// What the topmost level says of a row.
    Part = 3,
    /// What the topmost level says of rests.
    RestsOnTop = 4,
    /// The tokens of a subtree.
    Below = 5,
}

/// Which trie a subtree is in: the vocabulary's own, or by the number of its class
/// that of the rests of a cut.
const OWN: u32 = u32::MAX;
/// One that has no number.
const NO_TRIE: u32 = u32::MAX - 1;

/// Subtrees of fewer nodes are walked through each time.
const WORTH_A_KEY: u32 = 100;

impl<A: ByteAutomaton> Masks<'_, A> {
    /// The row at `cursor`, which the scratch has just entered: remembered, or
    /// computed and remembered.
    pub(crate) fn row(
        &self,
        cursor: Cursor,
        accepting: bool,
        work: &mut Work<A>,
        known: &Generation,
        watch: &mut impl Watch,
    ) -> Result<Arc<Row>, Error> {
        if let Some(row) = self.find(cursor, Thing::Row, work, known) {
            return Ok(row);
        }
        work.remembered = 0;
        work.walker.begin::<A>();
        let row = self.compute(cursor, accepting, work, known, watch)?;
        Ok(self.keep(cursor, Thing::Row, row, work, known))
    }

    fn find(
        &self,
        cursor: Cursor,
        thing: Thing,
        work: &mut Work<A>,
        known: &Generation,
    ) -> Option<Arc<Row>> {
        for depth in 1..=MAX_DEPTH {
            if !self.key(cursor, thing as u32, depth, work) {
                return None;
            }
            match known.rows.get(&work.key) {
                Known::Value(row) => {
                    work.remembered = work.remembered.max(depth);
                    return Some(row);
                }
                Known::Deeper => {}
                Known::Nothing => return None,
            }
        }
        None
    }

    fn keep(
        &self,
        cursor: Cursor,
        thing: Thing,
        row: Row,
        work: &mut Work<A>,
        known: &Generation,
    ) -> Arc<Row> {
        let row = known.pool(row);
        let used = self.depth_used(work);
        for depth in 1..=used.min(MAX_DEPTH) {
            if !self.key(cursor, thing as u32, depth, work) {
                break;
            }
            let value = (depth == used).then(|| row.clone());
            known.rows.add(&work.key, value);
        }
        row
    }

    /// How many levels what was just computed can depend on.
    fn depth_used(&self, work: &Work<A>) -> usize {
        let looked = self.automaton.depth_used(&work.scratch);
        looked.max(work.remembered).max(1)
    }

    /// Puts the key of a thing into the working memory.
    fn key(&self, cursor: Cursor, thing: u32, depth: usize, work: &mut Work<A>) -> bool {
        work.key.clear();
        work.key.push(thing << 16 | depth as u32);
        let horizon = self.vocabulary.trie().horizon();
        let Work { scratch, key, .. } = work;
        self.automaton
            .mask_key(cursor, depth, horizon, scratch, key)
    }

    fn compute(
        &self,
        cursor: Cursor,
        accepting: bool,
        work: &mut Work<A>,
        known: &Generation,
        watch: &mut impl Watch,
    ) -> Result<Row, Error> {
        if let Some(dead_ends) = self.dead_ends {
            return self.walk_around(cursor, accepting, dead_ends, work, watch);
        }
        if self.text_runs != TextRuns::Never {
            let horizon = self.vocabulary.trie().horizon();
            let text = self.automaton.text_loop(cursor, horizon, &mut work.scratch);
            if self.tells_on_top(cursor, text, work) {
                let part = self.part_on_top(cursor, text, work, known, watch)?;
                return Ok(self.row_on_top(part, accepting, work));
            }
            if let Some(text) = text
                && self.put_together(cursor, text, work, known, watch)?
            {
                return Ok(self.row_of_words(accepting, work));
            }
            work.differences.clear();
            let Work {
                scratch,
                differences,
                ..
            } = work;
            if self.automaton.spells(cursor, scratch, differences) {
                return self.spell(cursor, accepting, work, known, watch);
            }
            if let Some(like) = self.automaton.resembles(cursor, &mut work.scratch) {
                return self.patch(cursor, like, accepting, work, known, watch);
            }
            return self.walk(cursor, text, accepting, work, watch);
        }
        self.walk(cursor, None, accepting, work, watch)
    }

    fn row_of_words(&self, accepting: bool, work: &Work<A>) -> Row {
        Row::from_words(&work.words, accepting, self.sparse, self.vocabulary)
    }

    /// The row of a part and of the changes in the working memory.
    fn row_on_top(&self, part: Arc<Part>, accepting: bool, work: &mut Work<A>) -> Row {
        if let Some(few) = part.few()
            && let Some(row) = self.row_of_few(few, accepting, work)
        {
            return row;
        }
        let Work { changes, words, .. } = work;
        if changes.len() > MAX_CHANGES {
            clear(words, self.vocabulary.width());
            part.lay_out(words);
            changes.apply(words);
            return self.row_of_words(accepting, work);
        }
        Row::Changed(Changed::new(part, changes, accepting))
    }

    /// The row of some tokens and of the changes in the working memory, if the
    /// changes only add to them and all are few.
    fn row_of_few(&self, few: &[u32], accepting: bool, work: &mut Work<A>) -> Option<Row> {
        let Work {
            changes, tokens, ..
        } = work;
        let more = changes.allowed()?;
        if few.len() + changes.len() > self.sparse {
            return None;
        }
        tokens.clear();
        tokens.extend(few);
        tokens.extend(more);
        Some(Row::from_tokens(tokens, accepting, self.vocabulary))
    }

    /// By a walk over the whole vocabulary, which a cut by the class of `text`
    /// would have spared.
    fn walk(
        &self,
        cursor: Cursor,
        text: Option<TextLoop>,
        accepting: bool,
        work: &mut Work<A>,
        watch: &mut impl Watch,
    ) -> Result<Row, Error> {
        let Work {
            scratch,
            walker,
            tokens,
            words,
            ..
        } = work;
        tokens.clear();
        let mut many = false;
        let trie = self.vocabulary.trie();
        let hit = |token: u32, _| {
            if many {
                words.allow(token);
                return;
            }
            tokens.push(token);
            if tokens.len() > self.sparse {
                many = true;
                clear(words, self.vocabulary.width());
                for token in tokens.iter() {
                    words.allow(*token);
                }
            }
        };
        let visited = walker.walk(self.automaton, cursor, scratch, (trie, &[]), watch, hit);
        watch.walked(visited)?;
        if let Some(text) = text {
            let class = self.automaton.text_class(text.class);
            self.vocabulary.spend(class, visited);
        }
        Ok(match many {
            true => self.row_of_words(accepting, work),
            false => Row::from_tokens(&work.tokens, accepting, self.vocabulary),
        })
    }

    /// By a walk that leaves out the tokens that lead to where no token leads
    /// on.
    fn walk_around(
        &self,
        cursor: Cursor,
        accepting: bool,
        dead_ends: &HashSet<Cursor>,
        work: &mut Work<A>,
        watch: &mut impl Watch,
    ) -> Result<Row, Error> {
        let Work {
            scratch,
            walker,
            words,
            ..
        } = work;
        clear(words, self.vocabulary.width());
        let trie = self.vocabulary.trie();
        let hit = |token: u32, to: Cursor| {
            if !dead_ends.contains(&to) {
                words.allow(token);
            }
        };
        let visited = walker.walk(self.automaton, cursor, scratch, (trie, &[]), watch, hit);
        watch.walked(visited)?;
        Ok(self.row_of_words(accepting, work))
    }

    /// Whether the topmost level tells most of the row at `cursor`, and `text`,
    /// if any, is a loop that no token leaves by its length, or whose cursors are
    /// alike.
    fn tells_on_top(&self, cursor: Cursor, text: Option<TextLoop>, work: &mut Work<A>) -> bool {
        let longest = self.vocabulary.trie().max_depth();
        text.is_none_or(|text| is_free(text, cursor, longest) || text.alike)
            && self.automaton.top_tells(cursor, &mut work.scratch)
    }

    /// The part that the topmost level tells of the row at `cursor`; the rest of
    /// the row is then the changes of the working memory.
    fn part_on_top(
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
    fn below(
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
        let counted = self.automaton.count_depth(cursor, &mut work.scratch);
        for depth in 1..=MAX_DEPTH {
            if counted.is_none() || !key(depth, work) {
                break;
            }
            match known.rests.get(&work.key) {
                Known::Value(tokens) => {
                    if let Some(before) = counted {
                        self.automaton.count_on(before, depth, &mut work.scratch);
                    }
                    return tokens;
                }
                Known::Deeper => {}
                Known::Nothing => break,
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
        if let Some(before) = counted {
            let used = self.automaton.depth_used(scratch).max(1);
            for depth in 1..=used.min(MAX_DEPTH) {
                if !key(depth, work) {
                    break;
                }
                let value = (depth == used).then(|| tokens.clone());
                known.rests.add(&work.key, value);
            }
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
        let Some(language) = self.automaton.common_key(cursor, horizon, scratch, key) else {
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
        let cut_by = |class: Option<ClassId>| {
            let class = self.automaton.text_class(class?);
            self.vocabulary.cut(class, self.text_runs, self.cutter)
        };
        let mut class = text.map(|text| text.class);
        let mut cut = cut_by(class);
        let longest = self.vocabulary.trie().max_depth();
        let is_free = |text: &TextLoop| is_free(*text, cursor, longest);
        if let (Some(text), Some(cut)) = (text.filter(|text| !is_free(text)), &cut) {
            return self.counted_part(cursor, text, cut.clone(), work, known, watch);
        }
        let mut text = text.filter(is_free);
        // Where the loop is no help yet, free text may be.
        let mut free = None;
        if cut.is_none() {
            free = self.automaton.free_text(cursor, &mut work.scratch);
            let always = free.filter(|free| free.chars >= longest);
            cut = cut_by(always.map(|free| free.class));
        }
        class = class.or(free.map(|free| free.class));
        let unstepped = self.unstepped(text, free);
        if free.is_some() {
            text = None;
        }
        let Work {
            scratch,
            walker,
            words,
            ..
        } = work;
        clear(words, self.vocabulary.width());
        let trie = self.vocabulary.trie();
        let Some(cut) = cut else {
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
        if text.is_none() {
            // Only what is not plain text as a whole has to be tried.
            let hit = |token| words.allow(token);
            let mixed = (trie, cut.plain(), None);
            let (visited, open) =
                walker.walk_on_top(self.automaton, cursor, scratch, mixed, watch, hit);
            watch.walked(visited)?;
            return Ok(Part::new(words, open, None));
        }
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
        let others = (self.vocabulary.trie(), cut.heads(), None);
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
        });
        let free = free.map(|free| Free {
            kinds: kinds(free.class),
            from: match free.behind {
                Behind::AnyText => From::AnyText,
                Behind::ItsClass => From::ItsClass,
            },
            // No text has more characters than bytes.
            bytes: free.chars,
        });
        let both = text.into_iter().chain(free);
        both.filter(|free| free.kinds.count() > 0)
            .max_by_key(|free| free.kinds.count())
    }

    /// From the row of a cursor at which nearly the same may come.
    fn patch(
        &self,
        cursor: Cursor,
        like: Cursor,
        accepting: bool,
        work: &mut Work<A>,
        known: &Generation,
        watch: &mut impl Watch,
    ) -> Result<Row, Error> {
        let row = match self.find(like, Thing::Likeness, work, known) {
            Some(row) => row,
            None => {
                let horizon = self.vocabulary.trie().horizon();
                let text = self.automaton.text_loop(like, horizon, &mut work.scratch);
                if self.tells_on_top(like, text, work) {
                    let before = work.walker.visited();
                    let part = self.part_on_top(like, text, work, known, watch)?;
                    if work.walker.visited() - before > WORTH_A_ROW {
                        let row = self.row_on_top(part.clone(), false, work);
                        self.keep(like, Thing::Likeness, row, work, known);
                    }
                    return self.patch_on_top(cursor, like, part, accepting, work, known, watch);
                }
                // That one may in turn be patched from another.
                let row = self.compute(like, false, work, known, watch)?;
                self.keep(like, Thing::Likeness, row, work, known)
            }
        };
        if let Row::Changed(changed) = &*row {
            work.changes.clone_from(changed.changes());
            let part = changed.part().clone();
            return self.patch_on_top(cursor, like, part, accepting, work, known, watch);
        }
        let mut words = std::mem::take(&mut work.words);
        words.resize(self.vocabulary.width().div_ceil(32), 0);
        row.lay_out(self.vocabulary, &mut words);
        let visited = self.differ(cursor, like, work, known, watch, words.as_mut_slice());
        work.words = words;
        watch.walked(visited)?;
        Ok(self.row_of_words(accepting, work))
    }

    /// From the part of `like` and its changes in the working memory.
    fn patch_on_top(
        &self,
        cursor: Cursor,
        like: Cursor,
        part: Arc<Part>,
        accepting: bool,
        work: &mut Work<A>,
        known: &Generation,
        watch: &mut impl Watch,
    ) -> Result<Row, Error> {
        let mut changes = std::mem::take(&mut work.changes);
        let visited = self.differ(cursor, like, work, known, watch, &mut changes);
        work.changes = changes;
        watch.walked(visited)?;
        Ok(self.row_on_top(part, accepting, work))
    }

    /// From the texts that may come, which are listed.
    fn spell(
        &self,
        cursor: Cursor,
        accepting: bool,
        work: &mut Work<A>,
        known: &Generation,
        watch: &mut impl Watch,
    ) -> Result<Row, Error> {
        let Work {
            scratch,
            walker,
            changes,
            differences,
            ends,
            ..
        } = work;
        changes.clear();
        let both = (cursor, Cursor::DEAD);
        let trie = self.vocabulary.trie();
        let before = walker.visited();
        walker.differ_behind(
            self.automaton,
            both,
            scratch,
            trie,
            differences,
            ends,
            changes,
        );
        let mut changes = std::mem::take(&mut work.changes);
        self.differ_at_ends(work, known, &mut changes);
        work.changes = changes;
        watch.walked(work.walker.visited() - before)?;
        if let Some(row) = self.row_of_few(&[], accepting, work) {
            return Ok(row);
        }
        clear(&mut work.words, self.vocabulary.width());
        work.changes.apply(&mut work.words);
        Ok(self.row_of_words(accepting, work))
    }

    /// Turns the bits of `like` into those of `cursor`; how many nodes that took.
    fn differ(
        &self,
        cursor: Cursor,
        like: Cursor,
        work: &mut Work<A>,
        known: &Generation,
        watch: &mut impl Watch,
        bits: &mut (impl Bits + ?Sized),
    ) -> u64 {
        let Work {
            scratch,
            walker,
            differences,
            ends,
            ..
        } = work;
        let trie = self.vocabulary.trie();
        let both = (cursor, like);
        differences.clear();
        let before = walker.visited();
        if self.automaton.differences(cursor, scratch, differences) {
            walker.differ_behind(self.automaton, both, scratch, trie, differences, ends, bits);
            self.differ_at_ends(work, known, bits);
        } else {
            walker.difference(self.automaton, both, scratch, trie, watch, bits);
        }
        work.walker.visited() - before
    }

    /// The differences behind the texts of a list, as many as end at a node of the
    /// trie.
    fn differ_at_ends(
        &self,
        work: &mut Work<A>,
        known: &Generation,
        bits: &mut (impl Bits + ?Sized),
    ) {
        let trie = self.vocabulary.trie();
        let ends = std::mem::take(&mut work.ends);
        for end in &ends {
            let Work {
                scratch, walker, ..
            } = work;
            let first = end.node as u32;
            if trie.nodes()[end.node].end - first < WORTH_A_KEY {
                walker.difference_at(self.automaton, end, scratch, trie, bits);
                continue;
            }
            let [tokens, before] = end.cursors.map(|cursor| match cursor.is_dead() {
                true => Arc::default(),
                false => self.below((OWN, trie), first, cursor, work, known),
            });
            // Both are in the order of the trie.
            let ranks = self.vocabulary.ranks();
            let mut tokens = tokens.iter().copied().peekable();
            for &other in before.iter() {
                let rank = ranks[other as usize];
                while let Some(token) = tokens.next_if(|&t| ranks[t as usize] < rank) {
                    bits.allow(token);
                }
                if tokens.next_if_eq(&other).is_none() {
                    bits.forbid(other);
                }
            }
            tokens.for_each(|token| bits.allow(token));
        }
        work.ends = ends;
    }

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
    fn put_together(
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
            for &rest in rests.iter() {
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
    fn chain<T: PartialEq>(
        &self,
        cursor: Cursor,
        text: TextLoop,
        cut: &Cut,
        work: &mut Work<A>,
        stretches: &mut Vec<(usize, Arc<T>)>,
        mut rests: impl FnMut(Cursor, &mut Work<A>) -> Result<Arc<T>, Error>,
    ) -> Result<Option<usize>, Error>
    where
        T: ?Sized,
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
        let thing = Thing::Rests as u32;
        for depth in 1..=MAX_DEPTH {
            if !self.key(cursor, thing, depth, work) {
                break;
            }
            work.key.push(class.0);
            match known.rests.get(&work.key) {
                Known::Value(rests) => {
                    work.remembered = work.remembered.max(depth);
                    return Ok(rests);
                }
                Known::Deeper => {}
                Known::Nothing => break,
            }
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
        for depth in 1..=used.min(MAX_DEPTH) {
            if !self.key(cursor, thing, depth, work) {
                break;
            }
            work.key.push(class.0);
            let value = (depth == used).then(|| rests.clone());
            known.rests.add(&work.key, value);
        }
        Ok(rests)
    }

    /// The rests of which the topmost level tells at a cursor.
    fn rests_on_top(
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
                .common_key(cursor, horizon, scratch, &mut common);
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

/// Whether no token leaves a loop by its length.
fn is_free(text: TextLoop, cursor: Cursor, longest: usize) -> bool {
    text.next == cursor || text.steady as usize >= longest
}

/// The stretches of a chain of so many characters: `from..to`, and their rests.
fn stretched<T: ?Sized>(
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

fn clear(words: &mut Vec<u32>, width: usize) {
    words.clear();
    words.resize(width.div_ceil(32), 0);
}
