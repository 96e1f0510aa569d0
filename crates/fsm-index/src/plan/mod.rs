//! Plans how a row that is not known is computed: from the lexemes that have begun (`lexemes.rs`
//! and `lexeme_parts.rs`), from the part that the topmost level of the stack decides
//! (`top_level.rs`), from the vocabulary cut by a class of characters (`text.rs`), from texts that
//! are listed or a row nearly like it (`patch.rs`), or by a walk. For example, behind `{"kind": `
//! of an enumeration the texts `"a"` and `"b"` are listed, and only tokens along them are visited.

mod lexeme_parts;
mod lexemes;
mod patch;
mod shared;
mod text;
mod token_sink;
mod top_level;

use crate::automaton::AskParts;
use crate::tokens::{Area, Cut};
use std::collections::HashSet;
use std::sync::Arc;

use self::lexemes::LexemeRows;
use self::text::TextRows;
use self::token_sink::{MetTokens, TokenSink};
use self::top_level::TopRows;
use crate::bits::Bits;
use crate::budget::Meter;
use crate::cache::{
    Cutter, Generation, HashTrie, Key, Known, MAX_DEPTH, Origin, SharedRows, Thing,
};
use crate::rows::{Changes, EndTokens, Part, Row, RowDelta};
use crate::walk::{Free, Ground, Language, Walker, walk_tokens};
use crate::{
    ByteAutomaton, Cursor, Description, Error, FreeText, Horizon, Lexeme, Scope, Spot, TextLoop,
    TextRuns, Vocabulary,
};

/// Everything that rows are computed from.
pub(crate) struct RowMaker<'a, A> {
    pub(crate) automaton: &'a A,
    pub(crate) vocabulary: &'a Vocabulary,
    /// The spelling of the automaton's texts.
    pub(crate) language: &'a Language,
    pub(crate) text_runs: TextRuns,
    /// Who makes cuts that pay.
    pub(crate) cutter: Cutter,
    /// The memory of the index.
    pub(crate) known: &'a Generation,
    /// The memory of all indexes of the vocabulary.
    pub(crate) shared: &'a SharedRows,
    /// Rows of at most so many tokens are packed.
    pub(crate) sparse: usize,
    /// Cursors from which the vocabulary cannot spell any way on.
    pub(crate) dead_ends: Option<&'a HashSet<Cursor>>,
    /// True if rows mean in other automata what they mean here.
    pub(crate) shares: bool,
}

/// The end of a look-up that found nothing.
#[derive(Clone, Copy)]
pub(crate) struct Missed {
    /// The depth of the key that is not in the table.
    depth: usize,
    /// True if that key stands in the working memory when something is to be put under it.
    stands: bool,
}

impl Missed {
    /// With another key in the working memory.
    fn at(depth: usize) -> Missed {
        Missed {
            depth,
            stands: false,
        }
    }
}

/// The way in which a row is made.
enum RowPlan {
    /// These lexemes have begun.
    Lexemes(Vec<Lexeme>),
    Described(Description),
}

/// Working memory of one thread.
pub(crate) struct Work<A: ByteAutomaton> {
    pub(crate) scratch: A::Scratch,
    /// The cost that is left for the current mask.
    pub(crate) meter: Meter,
    walker: Walker,
    pub(crate) key: Key,
    /// That of a row which is computed.
    row_key: Key,
    tokens: Vec<u32>,
    words: Vec<u32>,
    /// The tokens of a row of lexemes, while what these tell is found out.
    row_words: Vec<u32>,
    /// In what a row differs from the part that the topmost level tells.
    changes: Changes,
    /// The number of levels of the stack that were looked at for a part that was remembered and is
    /// now in something else.
    remembered: usize,
    /// The source of the last row.
    origin: Origin,
}

impl<A: ByteAutomaton> Work<A> {
    pub(crate) fn new(automaton: &A) -> Work<A> {
        Work {
            scratch: automaton.scratch(),
            meter: Meter::default(),
            walker: Walker::default(),
            key: Key::default(),
            row_key: Key::default(),
            tokens: Vec::new(),
            words: Vec::new(),
            row_words: Vec::new(),
            changes: Changes::default(),
            remembered: 0,
            origin: Origin::Remembered,
        }
    }

    /// Returns the working memory of a walk.
    pub(crate) fn parts(&mut self) -> (&mut A::Scratch, &mut Walker, &mut Meter) {
        (&mut self.scratch, &mut self.walker, &mut self.meter)
    }

    /// Notes where a row is from that no [`RowMaker`] made.
    pub(crate) fn note_origin(&mut self, origin: Origin) {
        self.origin = origin;
    }

    /// Returns the source of the last row.
    pub(crate) fn origin(&self) -> Origin {
        self.origin
    }

    /// The nodes that were visited since this was asked last.
    pub(crate) fn take_visited(&mut self) -> u64 {
        self.walker.take_visited()
    }
}

/// The least number of nodes of a subtree for which the free text is asked for: a smaller one is
/// walked as fast, because the answer comes from a reader.
const MUCH: u32 = 256;

/// The same where an automaton tells it without a reader: less, because the answer costs less.
const LITTLE: u32 = 32;

/// A row with more changes than this is kept as a mask: it would not be smaller.
const MAX_CHANGES: usize = 2_048;

/// A row is remembered for those that resemble it if this many nodes were visited behind its part,
/// because fewer are walked as fast as the rows are compared.
const WORTH_A_ROW: u64 = 200;

impl<A: ByteAutomaton> RowMaker<'_, A> {
    /// The row at `cursor`, which the scratch has just entered: remembered, or
    /// computed and remembered.
    pub(crate) fn row(
        &self,
        cursor: Cursor,
        end_tokens: EndTokens,
        work: &mut Work<A>,
    ) -> Result<Arc<Row>, Error> {
        match self.known_row(cursor, work) {
            Ok(row) => Ok(row),
            Err(missed) => self.fresh_row(cursor, end_tokens, missed, work),
        }
    }

    /// The row at `cursor`, if the index remembers it; or what [`RowMaker::fresh_row`] must
    /// know, before anything else is asked.
    #[inline]
    pub(crate) fn known_row(&self, cursor: Cursor, work: &mut Work<A>) -> Result<Arc<Row>, Missed> {
        work.origin = Origin::Remembered;
        let row = self.find(cursor, Thing::Row, work);
        row.map_err(|depth| Missed {
            depth,
            stands: true,
        })
    }

    /// The row at `cursor`, which the index does not remember: from another index, or
    /// computed.
    pub(crate) fn fresh_row(
        &self,
        cursor: Cursor,
        end_tokens: EndTokens,
        missed: Missed,
        work: &mut Work<A>,
    ) -> Result<Arc<Row>, Error> {
        // The key under which the row is to be kept.
        std::mem::swap(&mut work.key, &mut work.row_key);
        work.remembered = 0;
        let shared = self.shared.newest();
        let (row, missed_at) = match self.find_shared(cursor, &shared, work) {
            Ok(row) => (self.known.pool(row), None),
            Err(depth) => {
                work.walker.begin::<A>();
                let row = self.compute(cursor, end_tokens, work)?;
                (self.known.pool(row), Some(depth))
            }
        };
        std::mem::swap(&mut work.key, &mut work.row_key);
        self.keep(cursor, Thing::Row, &row, missed, work);
        work.origin = Origin::Shared;
        if let Some(depth) = missed_at {
            work.origin = Origin::Computed;
            self.keep_shared(cursor, &shared, &row, depth, work);
        }
        Ok(row)
    }

    /// A row that is remembered; or else the depth of the first key of which nothing is
    /// known, which stands in the working memory.
    fn find(&self, cursor: Cursor, thing: Thing, work: &mut Work<A>) -> Result<Arc<Row>, usize> {
        let key = |depth, work: &mut Work<A>| self.key(cursor, thing, depth, work);
        let (row, depth) = self.look_up(cursor, &self.known.rows, work, key)?;
        work.remembered = work.remembered.max(depth);
        Ok(row)
    }

    /// Remembers a row that was just computed, or found elsewhere.
    fn keep(
        &self,
        cursor: Cursor,
        thing: Thing,
        row: &Arc<Row>,
        missed: Missed,
        work: &mut Work<A>,
    ) {
        let used = self.depth_used(work);
        let key = |depth, work: &mut Work<A>| self.key(cursor, thing, depth, work);
        self.remember(&self.known.rows, row, used, missed, work, key);
    }

    /// Returns the value that a table holds by ever deeper keys of one cursor, and the number of
    /// levels of its stack that the value depends on; or the depth of the first key that is not in
    /// the table. `key` puts the key of a depth into the working memory, if there is one.
    fn look_up<V: Clone>(
        &self,
        cursor: Cursor,
        table: &HashTrie<V>,
        work: &mut Work<A>,
        key: impl Fn(usize, &mut Work<A>) -> bool,
    ) -> Result<(V, usize), usize> {
        // A token can end what is on top of most levels: the topmost one tells a mask alone where no
        // other is open.
        let levels = self.automaton.levels(cursor, &mut work.scratch);
        let mut depth = 1 + usize::from(levels > 0);
        while depth <= MAX_DEPTH && key(depth, work) {
            match table.get(work.key.words()) {
                Known::Value(value) => return Ok((value, depth)),
                Known::Deeper(least) => depth = least.max(depth + 1),
                Known::Nothing => return Err(depth),
            }
        }
        // By no other key it would be found.
        Err(usize::MAX)
    }

    /// Adds a value that depends on the `used` topmost levels of a cursor's stack, so that
    /// [`look_up`](RowMaker::look_up), which missed it, finds it the next time.
    fn remember<V: Clone>(
        &self,
        table: &HashTrie<V>,
        value: &V,
        used: usize,
        missed: Missed,
        work: &mut Work<A>,
        key: impl Fn(usize, &mut Work<A>) -> bool,
    ) {
        let used = used.max(missed.depth);
        if used > MAX_DEPTH {
            return;
        }
        let stands = missed.stands && used == missed.depth;
        // Without a key of so many levels, nothing would be found by fewer.
        if !stands && !key(used, work) {
            return;
        }
        table.add(work.key.words(), value.clone());
        // The keys met before say from now on that more levels count.
        for depth in missed.depth..used {
            if key(depth, work) {
                table.add_deeper(work.key.words(), used);
            }
        }
    }

    /// Returns the number of levels that what was just computed can depend on.
    fn depth_used(&self, work: &Work<A>) -> usize {
        let looked = self.automaton.depth_used(&work.scratch);
        looked.max(work.remembered).max(1)
    }

    /// Puts the key of a thing into the working memory.
    fn key(&self, cursor: Cursor, thing: Thing, depth: usize, work: &mut Work<A>) -> bool {
        let horizon = self.vocabulary.trie().horizon();
        self.key_within(cursor, thing, depth, horizon, work)
    }

    /// The same of a thing that depends on no longer tokens than those of a horizon.
    fn key_within(
        &self,
        cursor: Cursor,
        thing: Thing,
        depth: usize,
        horizon: Horizon<'_>,
        work: &mut Work<A>,
    ) -> bool {
        let Work { scratch, key, .. } = work;
        let words = key.begin(thing, depth);
        let scope = Scope::Index;
        self.automaton
            .key(cursor, scope, depth, horizon, scratch, words)
            .is_some()
    }

    /// Writes a key that means the same in other automata, if there is one.
    fn shared_key(
        &self,
        cursor: Cursor,
        thing: Thing,
        depth: usize,
        horizon: Horizon<'_>,
        scratch: &mut A::Scratch,
        key: &mut Key,
    ) -> bool {
        let words = key.begin(thing, depth);
        let scope = Scope::Vocabulary;
        let language = match self.shares {
            true => self
                .automaton
                .key(cursor, scope, depth, horizon, scratch, words),
            false => None,
        };
        if let Some(language) = language {
            key.end_in(language);
        }
        language.is_some()
    }

    /// Returns the automaton's description of the texts that may come at a cursor.
    fn describe(&self, cursor: Cursor, work: &mut Work<A>) -> Description {
        let horizon = self.vocabulary.trie().horizon();
        self.automaton.describe(cursor, horizon, &mut work.scratch)
    }

    /// The row at a cursor, computed.
    fn compute(
        &self,
        cursor: Cursor,
        end_tokens: EndTokens,
        work: &mut Work<A>,
    ) -> Result<Row, Error> {
        if let Some(dead_ends) = self.dead_ends {
            return self.walk_around(cursor, end_tokens, dead_ends, work);
        }
        if self.text_runs == TextRuns::Never {
            return self.walk(cursor, None, end_tokens, work);
        }
        let way = match LexemeRows(self).begun(cursor, work) {
            Some(begun) => RowPlan::Lexemes(begun),
            None => RowPlan::Described(self.describe(cursor, work)),
        };
        self.make(cursor, way, end_tokens, work)
    }

    /// The row at a cursor.
    fn make(
        &self,
        cursor: Cursor,
        way: RowPlan,
        end_tokens: EndTokens,
        work: &mut Work<A>,
    ) -> Result<Row, Error> {
        let description = match way {
            RowPlan::Described(description) => description,
            RowPlan::Lexemes(begun) => {
                match LexemeRows(self).row(cursor, begun, end_tokens, work)? {
                    Some(row) => return Ok(row),
                    // Following them is not worth it.
                    None => self.describe(cursor, work),
                }
            }
        };
        match description {
            Description::Top(text) if TopRows(self).is_even(text, cursor) => {
                match TopRows(self).part_on_top(cursor, text, work)? {
                    Some(part) => Ok(self.row_on_top(part, end_tokens, work)),
                    None => self.walk(cursor, None, end_tokens, work),
                }
            }
            Description::Top(Some(text)) | Description::Text(text) => {
                if TextRows(self).put_together(cursor, text, work)? {
                    return Ok(self.row_of_words(end_tokens, work));
                }
                // A loop into one that stays where it is resembles that.
                let next = self.describe(text.next, work).text();
                match next {
                    Some(next) if next.next == text.next && text.next != cursor => {
                        self.patch(cursor, text.next, None, end_tokens, work)
                    }
                    _ => self.walk(cursor, Some(text), end_tokens, work),
                }
            }
            Description::Listed(texts) => self.spell(cursor, &texts, end_tokens, work),
            Description::Like {
                cursor: like,
                apart,
            } => self.patch(cursor, like, apart, end_tokens, work),
            Description::Top(None) | Description::Unknown => {
                self.walk(cursor, None, end_tokens, work)
            }
        }
    }

    /// The vocabulary cut by a class of characters, if it is, or should now be.
    fn cut(&self, class: &[(u32, u32)]) -> Option<Arc<Cut>> {
        let RowMaker {
            vocabulary,
            text_runs,
            cutter,
            ..
        } = *self;
        self.shared.cut(vocabulary, class, text_runs, cutter)
    }

    /// Returns the text that need not be stepped through, if text of the class of a loop or free
    /// text may come: of two the one with more kinds of characters.
    fn free_subtrees(
        &self,
        text: Option<TextLoop>,
        free: Option<FreeText>,
        work: &mut Work<A>,
    ) -> Option<Free> {
        let find = |class| self.language.kinds(self.automaton.text_class(class));
        let mut kinds = |class| work.walker.classes.kinds(class, find);
        let text = text.map(|text| Free::in_loop(kinds(text.class)));
        let free = free.map(|free| Free::at_start(kinds(free.class), free));
        let both = text.into_iter().chain(free);
        both.filter(|free| free.kinds().count() > 0)
            .max_by_key(|free| free.kinds().count())
    }

    /// Returns the bits of the tokens that are all free text.
    fn tokens_of(&self, free: &Free) -> Arc<[u32]> {
        let shared = self.shared;
        shared.within(self.vocabulary, free.kinds(), free.longest())
    }

    /// Returns the ground of a walk: the nodes that it goes over, and what is known of them.
    fn ground<'t>(&'t self, area: Area<'t>) -> Ground<'t> {
        Ground {
            area,
            free: None,
            language: self.language,
            much: match self.text_runs {
                TextRuns::Always => 1,
                _ if self.language.tells_free => LITTLE,
                _ => MUCH,
            },
        }
    }

    fn row_of_words(&self, end_tokens: EndTokens, work: &Work<A>) -> Row {
        Row::from_words(&work.words, end_tokens, self.sparse, self.vocabulary)
    }

    /// The row of a part and of the changes in the working memory.
    fn row_on_top(&self, part: Arc<Part>, end_tokens: EndTokens, work: &mut Work<A>) -> Row {
        if let Some(few) = part.few()
            && let Some(row) = self.row_of_few(few, end_tokens, work)
        {
            return row;
        }
        let Work { changes, words, .. } = work;
        if changes.len() > MAX_CHANGES {
            clear(words, self.vocabulary.width());
            part.lay_out(words);
            changes.apply(words);
            return self.row_of_words(end_tokens, work);
        }
        Row::Delta(RowDelta::new(part, changes, end_tokens))
    }

    /// The row of some tokens and of the changes in the working memory, if the
    /// changes only add to them and all are few.
    fn row_of_few(&self, few: &[u32], end_tokens: EndTokens, work: &mut Work<A>) -> Option<Row> {
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
        Some(Row::from_tokens(tokens, end_tokens, self.vocabulary))
    }

    /// By a walk over the whole vocabulary, which a cut by the class of `text`
    /// would have spared.
    fn walk(
        &self,
        cursor: Cursor,
        text: Option<TextLoop>,
        end_tokens: EndTokens,
        work: &mut Work<A>,
    ) -> Result<Row, Error> {
        let trie = self.vocabulary.trie();
        let of_loop = text.filter(|text| is_free(*text, cursor, trie.max_depth()));
        let any = match self.language.tells_free {
            true => self
                .automaton
                .free_text(Spot::Cursor(cursor), &mut work.scratch),
            false => None,
        };
        let free = self.free_subtrees(of_loop, any.filter(|any| !any.ends), work);
        let Work {
            meter,
            scratch,
            walker,
            tokens,
            words,
            ..
        } = work;
        let mut met = TokenSink::none(tokens, words, self.vocabulary.width(), self.sparse);
        if let Some(free) = &free {
            met = met.with(&self.tokens_of(free));
        }
        let all = Ground {
            free,
            ..self.ground(Area::all(trie))
        };
        let hit = |token| met.put(token);
        let visited = walk_tokens(walker, self.automaton, cursor, scratch, all, meter, hit);
        work.meter.walked(visited)?;
        if let Some(text) = text {
            let class = self.automaton.text_class(text.class);
            self.shared.spend(self.vocabulary, class, visited);
        }
        Ok(match met.all() {
            MetTokens::Many(words) => {
                Row::from_words(words, end_tokens, self.sparse, self.vocabulary)
            }
            MetTokens::Few(tokens) => Row::from_tokens(tokens, end_tokens, self.vocabulary),
        })
    }

    /// By a walk that leaves out the tokens that lead to where no token leads
    /// on.
    fn walk_around(
        &self,
        cursor: Cursor,
        end_tokens: EndTokens,
        dead_ends: &HashSet<Cursor>,
        work: &mut Work<A>,
    ) -> Result<Row, Error> {
        let Work {
            meter,
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
        let visited = walker.walk(self.automaton, cursor, scratch, Area::all(trie), meter, hit);
        work.meter.walked(visited)?;
        Ok(self.row_of_words(end_tokens, work))
    }
}

/// Tells whether no token leaves a loop by its length.
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
