//! How a row is computed where none is known: from what the topmost level of the
//! stack tells (`on_top.rs`), from the vocabulary cut by a class of characters
//! (`texts.rs`), from texts that are listed or a row nearly like it (`alike.rs`), or
//! by a walk.

mod alike;
mod common;
mod met;
mod on_top;
mod texts;

use crate::automaton::Parts;
use std::collections::HashSet;
use std::sync::Arc;

use self::met::{All, Met};
use crate::budget::Watch;
use crate::cache::Generation;
use crate::changed::{Bits, Changed, Changes};
use crate::part::Part;
use crate::row::Row;
use crate::suffixes::{Known, MAX_DEPTH};
use crate::vocabulary::Cutter;
use crate::walk::Walker;
use crate::walk_on_top::Language;
use crate::{
    ByteAutomaton, Cursor, Description, Error, Horizon, KeyLanguage, Scope, TextLoop, TextRuns,
    TopText, Vocabulary,
};

/// Everything that rows are computed from.
pub(crate) struct Masks<'a, A> {
    pub(crate) automaton: &'a A,
    pub(crate) vocabulary: &'a Vocabulary,
    /// How the automaton's texts are written.
    pub(crate) language: &'a Language,
    pub(crate) text_runs: TextRuns,
    /// Who makes cuts that pay.
    pub(crate) cutter: Cutter,
    /// Rows of at most so many tokens are packed.
    pub(crate) sparse: usize,
    /// Cursors from which the vocabulary cannot spell any way on.
    pub(crate) dead_ends: Option<&'a HashSet<Cursor>>,
    /// Whether rows mean in other automata what they mean here.
    pub(crate) shares: bool,
}

/// Where a look-up ended.
#[derive(Clone, Copy)]
struct Missed<K> {
    /// Of the key of which nothing is known.
    depth: usize,
    /// What came of making that key, if it stands in the working memory when something is
    /// to be put under it.
    key: Option<K>,
}

impl<K> Missed<K> {
    /// With another key in the working memory.
    fn at(depth: usize) -> Missed<K> {
        Missed { depth, key: None }
    }
}

/// Working memory of one thread.
pub(crate) struct Work<A: ByteAutomaton> {
    pub(crate) scratch: A::Scratch,
    walker: Walker,
    pub(crate) key: Vec<u32>,
    /// That of a row which is computed.
    row_key: Vec<u32>,
    tokens: Vec<u32>,
    words: Vec<u32>,
    /// In what a row differs from the part that the topmost level tells.
    changes: Changes,
    /// How many levels of the stack were looked at for what was remembered and
    /// is now a part of something else.
    remembered: usize,
    /// Where the last row was from.
    origin: Origin,
}

/// Where a row is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The index remembered it.
    Remembered,
    /// The vocabulary keeps it for all its indexes.
    Common,
    /// It was computed.
    Computed,
}

impl<A: ByteAutomaton> Work<A> {
    pub(crate) fn new(automaton: &A) -> Work<A> {
        Work {
            scratch: automaton.scratch(),
            walker: Walker::default(),
            key: Vec::new(),
            row_key: Vec::new(),
            tokens: Vec::new(),
            words: Vec::new(),
            changes: Changes::default(),
            remembered: 0,
            origin: Origin::Remembered,
        }
    }

    /// What a walk needs.
    pub(crate) fn parts(&mut self) -> (&mut A::Scratch, &mut Walker) {
        (&mut self.scratch, &mut self.walker)
    }

    /// Where the last row was from.
    pub(crate) fn origin(&self) -> Origin {
        self.origin
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
    /// What the topmost level says of the rests of a cut.
    RestsOnTop = 4,
    /// The tokens of a subtree.
    Below = 5,
    /// What the topmost level says of the tokens that do not begin with the class of a cut.
    OthersOnTop = 6,
}

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
        let depth = match self.find(cursor, Thing::Row, work, known) {
            Ok(row) => {
                work.origin = Origin::Remembered;
                return Ok(row);
            }
            Err(depth) => depth,
        };
        // The key under which the row is to be kept.
        std::mem::swap(&mut work.key, &mut work.row_key);
        work.remembered = 0;
        let (row, common) = match self.find_common(cursor, work) {
            Ok(row) => (known.pool(row), None),
            Err(depth) => {
                work.walker.begin::<A>();
                let row = self.compute(cursor, accepting, work, known, watch)?;
                (known.pool(row), Some(depth))
            }
        };
        std::mem::swap(&mut work.key, &mut work.row_key);
        let missed = Missed {
            depth,
            key: Some(()),
        };
        self.keep((cursor, Thing::Row), &row, missed, work, known);
        work.origin = Origin::Common;
        if let Some(depth) = common {
            work.origin = Origin::Computed;
            self.keep_common(cursor, &row, depth, work);
        }
        Ok(row)
    }

    /// A row that is remembered; or else the depth of the first key of which nothing is
    /// known, which stands in the working memory.
    fn find(
        &self,
        cursor: Cursor,
        thing: Thing,
        work: &mut Work<A>,
        known: &Generation,
    ) -> Result<Arc<Row>, usize> {
        let (row, depth) = self.look_up(work, |depth, work| {
            let keyed = self.key(cursor, thing, depth, work);
            keyed.then(|| known.rows.get(&work.key))
        })?;
        work.remembered = work.remembered.max(depth);
        Ok(row)
    }

    /// Remembers a row that was just computed, or found elsewhere.
    fn keep(
        &self,
        (cursor, thing): (Cursor, Thing),
        row: &Arc<Row>,
        missed: Missed<()>,
        work: &mut Work<A>,
        known: &Generation,
    ) {
        let used = self.depth_used(work);
        let key = |depth, work: &mut Work<A>| self.key(cursor, thing, depth, work).then_some(());
        self.remember(row, (used, missed), work, key, |(), row, key| {
            known.rows.put(key, row);
        });
    }

    /// What a table holds by ever deeper keys of one cursor, and how many levels of its stack
    /// it depends on; or the depth of the first key of which nothing is known. `get` says
    /// what is known of the key of a depth, if there is one.
    fn look_up<V>(
        &self,
        work: &mut Work<A>,
        get: impl Fn(usize, &mut Work<A>) -> Option<Known<V>>,
    ) -> Result<(V, usize), usize> {
        let mut depth = 1;
        while depth <= MAX_DEPTH {
            match get(depth, work) {
                Some(Known::Value(value)) => return Ok((value, depth)),
                Some(Known::Deeper(least)) => depth = least.max(depth + 1),
                Some(Known::Nothing) => return Err(depth),
                None => break,
            }
        }
        // By no other key it would be found.
        Err(usize::MAX)
    }

    /// Puts what depends on so many levels of a cursor's stack where
    /// [`look_up`](Masks::look_up), which missed it, finds it. `key` makes the key of a
    /// depth, if there is one; `put` puts something under it.
    fn remember<V: Clone, K>(
        &self,
        value: &V,
        (used, missed): (usize, Missed<K>),
        work: &mut Work<A>,
        key: impl Fn(usize, &mut Work<A>) -> Option<K>,
        put: impl Fn(K, Known<V>, &[u32]),
    ) {
        let used = used.max(missed.depth);
        if used > MAX_DEPTH {
            return;
        }
        let stands = missed.key.filter(|_| used == missed.depth);
        // Where there is no key of so many levels, nothing would be found by fewer.
        let Some(made) = stands.or_else(|| key(used, work)) else {
            return;
        };
        put(made, Known::Value(value.clone()), &work.key);
        // What was met before that says already that more levels count.
        for depth in missed.depth..used {
            if let Some(made) = key(depth, work) {
                put(made, Known::Deeper(used), &work.key);
            }
        }
    }

    /// How many levels what was just computed can depend on.
    fn depth_used(&self, work: &Work<A>) -> usize {
        let looked = self.automaton.depth_used(&work.scratch);
        looked.max(work.remembered).max(1)
    }

    /// Puts the key of a thing into the working memory.
    fn key(&self, cursor: Cursor, thing: Thing, depth: usize, work: &mut Work<A>) -> bool {
        let horizon = self.vocabulary.trie().horizon();
        self.key_within(cursor, (thing, depth), horizon, work)
    }

    /// The same of a thing that depends on no longer tokens than those of a horizon.
    fn key_within(
        &self,
        cursor: Cursor,
        (thing, depth): (Thing, usize),
        horizon: Horizon<'_>,
        work: &mut Work<A>,
    ) -> bool {
        let Work { scratch, key, .. } = work;
        key.clear();
        key.push((thing as u32) << 16 | depth as u32);
        self.automaton
            .key(cursor, Scope::Index, depth, horizon, scratch, key)
            .is_some()
    }

    /// Appends a key that means the same in other automata, too.
    fn common_key(
        &self,
        cursor: Cursor,
        depth: usize,
        horizon: Horizon<'_>,
        scratch: &mut A::Scratch,
        key: &mut Vec<u32>,
    ) -> Option<KeyLanguage> {
        let scope = Scope::Vocabulary;
        let key = || {
            self.automaton
                .key(cursor, scope, depth, horizon, scratch, key)
        };
        self.shares.then(key).flatten()
    }

    /// What the automaton knows of the texts that may come at a cursor.
    fn describe(&self, cursor: Cursor, work: &mut Work<A>) -> Description {
        let horizon = self.vocabulary.trie().horizon();
        self.automaton.describe(cursor, horizon, &mut work.scratch)
    }

    /// The row at a cursor, computed.
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
        if self.text_runs == TextRuns::Never {
            return self.walk(cursor, None, accepting, work, watch);
        }
        let description = self.describe(cursor, work);
        self.make((cursor, description), accepting, work, known, watch)
    }

    /// The row at a cursor, by the way that its description names.
    fn make(
        &self,
        (cursor, description): (Cursor, Description),
        accepting: bool,
        work: &mut Work<A>,
        known: &Generation,
        watch: &mut impl Watch,
    ) -> Result<Row, Error> {
        match description {
            Description::Top(top) if self.is_even(top.text, cursor) => {
                let part = self.part_on_top(cursor, top, work, known, watch)?;
                Ok(self.row_on_top(part, accepting, work))
            }
            Description::Top(TopText {
                text: Some(text), ..
            })
            | Description::Text(text) => {
                if self.put_together(cursor, text, work, known, watch)? {
                    return Ok(self.row_of_words(accepting, work));
                }
                // A loop into one that stays where it is resembles that.
                let next = self.describe(text.next, work).text();
                match next {
                    Some(next) if next.next == text.next && text.next != cursor => {
                        let like = (text.next, None);
                        self.patch(cursor, like, accepting, work, known, watch)
                    }
                    _ => self.walk(cursor, Some(text), accepting, work, watch),
                }
            }
            Description::Listed(texts) => self.spell(cursor, &texts, accepting, work, known, watch),
            Description::Like {
                cursor: like,
                apart,
            } => self.patch(cursor, (like, apart), accepting, work, known, watch),
            Description::Top(_) | Description::Unknown => {
                self.walk(cursor, None, accepting, work, watch)
            }
        }
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
        let limits = (self.vocabulary.width(), self.sparse);
        let mut met = Met::none(tokens, words, limits);
        let trie = self.vocabulary.trie();
        let hit = |token: u32, _| met.put(token);
        let visited = walker.walk(self.automaton, cursor, scratch, (trie, &[]), watch, hit);
        watch.walked(visited)?;
        if let Some(text) = text {
            let class = self.automaton.text_class(text.class);
            self.vocabulary.spend(class, visited);
        }
        Ok(match met.all() {
            All::Many(words) => Row::from_words(words, accepting, self.sparse, self.vocabulary),
            All::Few(tokens) => Row::from_tokens(tokens, accepting, self.vocabulary),
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
}

/// Whether no token leaves a loop by its length.
fn is_free(text: TextLoop, cursor: Cursor, longest: usize) -> bool {
    text.next == cursor || text.steady as usize >= longest
}

fn clear(words: &mut Vec<u32>, width: usize) {
    let len = width.div_ceil(32);
    match words.len() == len {
        true => words.fill(0),
        false => *words = vec![0; len],
    }
}
