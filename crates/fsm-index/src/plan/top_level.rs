//! The part of a row that the topmost level of the stack decides, and the rest that it leaves open.
//! For example, inside of a string the level decides `abc`, and leaves `"}` open.

use crate::automaton::AskParts;
use std::sync::Arc;

use super::text::{Half, TextRows, stretched};
use super::token_sink::{MetTokens, TokenSink};
use super::{RowMaker, Work, is_free};

use crate::bits::Bits;
use crate::cache::{Known, Thing};
use crate::rows::{Changes, Open, OpenRest, Part};
use crate::tokens::{Area, Cut, Trie};
use crate::walk::{Ground, walk_below};
use crate::{ByteAutomaton, Cursor, Error, Spot, TextLoop, TextRuns};

/// The most tokens that are read one by one: more are met by a walk, because it reads the bytes
/// that they have in common once.
const MOST_LONG: usize = 1 << 13;
/// The least: fewer are met by a walk, because the longest tokens are runs of one character and
/// begin alike.
const LEAST_LONG: usize = 1 << 8;

/// The most subtrees that a part may leave open to the walks of rows: behind more of them one walk
/// over the vocabulary is shorter, because it knows in each which text is free.
const MOST_OPEN: usize = 2_000;

/// Rows from the part that the topmost level of the stack decides.
pub(super) struct TopRows<'m, A>(pub(super) &'m RowMaker<'m, A>);

impl<'m, A> std::ops::Deref for TopRows<'m, A> {
    type Target = RowMaker<'m, A>;

    fn deref(&self) -> &RowMaker<'m, A> {
        self.0
    }
}

impl<A: ByteAutomaton> TopRows<'_, A> {
    /// Tells whether `text`, if any, is a loop that no token leaves by its length, or whose cursors
    /// are alike: then what the topmost level tells of it is the same for all of them.
    pub(super) fn is_even(&self, text: Option<TextLoop>, cursor: Cursor) -> bool {
        let longest = self.vocabulary.trie().max_depth();
        text.is_none_or(|text| is_free(text, cursor, longest) || text.alike)
    }

    /// The part that the topmost level tells of the row at `cursor`; the rest of
    /// the row is then the changes of the working memory. None if the rest is too much.
    pub(super) fn part_on_top(
        &self,
        cursor: Cursor,
        text: Option<TextLoop>,
        work: &mut Work<A>,
    ) -> Result<Option<Arc<Part>>, Error> {
        let part = if !self.key(cursor, Thing::Part, 1, work) {
            self.fresh_part(cursor, text, work)?
        } else if let Known::Value(part) = self.known.parts.get(work.key.words()) {
            part
        } else {
            let key = work.key.clone();
            let part = self.fresh_part(cursor, text, work)?;
            self.known.add_part(key.words(), part.clone());
            part
        };
        if self.language.tells_free && part.open.len() > MOST_OPEN {
            return Ok(None);
        }
        work.changes.clear();
        let before = work.walker.visited();
        let all = self.vocabulary.trie();
        let own = match &part.open_rests {
            Some((cut, _)) => cut.others(all).trie,
            None => all,
        };
        let mut way = CursorPath::new(cursor);
        for open in &part.open {
            self.open_below(own, open, &mut way, work, |token, to| {
                to.allow(token);
            });
        }
        if let Some((cut, rests)) = &part.open_rests {
            for rest in rests {
                let lead = (0..rest.lead).flat_map(|_| cut.sample().iter().copied());
                let Work {
                    scratch, walker, ..
                } = work;
                let mut way = CursorPath::new(walker.lead(self.automaton, cursor, scratch, lead));
                self.open_below(cut.rests(), &rest.open, &mut way, work, |id, to| {
                    cut.put_rest(id, rest.from, rest.to, to);
                });
            }
        }
        work.meter.walked(work.walker.visited() - before)?;
        Ok(Some(part))
    }

    /// Puts the tokens of a subtree that was left open, and that may come, into the
    /// changes of the working memory.
    fn open_below(
        &self,
        trie: &Trie,
        open: &Open,
        way: &mut CursorPath,
        work: &mut Work<A>,
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
        let node = open.node as usize;
        let changes = &mut work.changes;
        let hit = |token| put(token, changes);
        let ground = self.ground(Area::all(trie));
        walk_below(walker, self.automaton, cursor, scratch, ground, node, hit);
    }

    /// The part at `cursor`, which is not known to this index yet: another one
    /// with the same vocabulary may know it.
    fn fresh_part(
        &self,
        cursor: Cursor,
        text: Option<TextLoop>,
        work: &mut Work<A>,
    ) -> Result<Arc<Part>, Error> {
        let horizon = self.vocabulary.trie().horizon();
        let Work { scratch, key, .. } = work;
        if !self.shared_key(cursor, Thing::Part, 1, horizon, scratch, key) {
            return Ok(Arc::new(self.part(cursor, text, work)?));
        }
        let shared = self.shared.newest();
        if let Known::Value(part) = shared.parts.get(key.words()) {
            return Ok(part);
        }
        let key = key.clone();
        let part = Arc::new(self.part(cursor, text, work)?);
        shared.add_part(key.words(), part.clone());
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
    ) -> Result<Part, Error> {
        if let Some(text) = text {
            let class = self.automaton.text_class(text.class);
            if let Some(cut) = self.cut(class) {
                return self.cut_part(cursor, text, cut, work);
            }
        }
        // If the loop is no help yet, free text may be.
        let longest = self.vocabulary.trie().max_depth();
        let of_loop = text.filter(|text| is_free(*text, cursor, longest));
        let free = self
            .automaton
            .free_text(Spot::Top(cursor), &mut work.scratch);
        let mut free = self.free_subtrees(of_loop, free, work);
        let Work {
            meter,
            scratch,
            walker,
            tokens,
            words,
            ..
        } = work;
        let mut met = TokenSink::none(tokens, words, self.vocabulary.width(), Part::FEW);
        if let Some(free) = &free {
            met = met.with(&self.tokens_of(free));
        }
        let trie = self.vocabulary.trie();
        let least = match self.text_runs {
            TextRuns::Always => 1,
            _ => LEAST_LONG,
        };
        let mut hit = |token| met.put(token);
        // Tokens that are too long are read one by one: most of a walk would be the way to
        // them.
        if let Some(known) = free.filter(|free| !free.ends())
            && let kinds = trie.by_kinds()
            && let Some(long) = kinds.longer(known.kinds(), known.longest(), (least, MOST_LONG))
        {
            let tokens = long
                .iter()
                .map(|token| (*token, self.vocabulary.raw(*token)));
            let metered = (trie, &mut *meter);
            let read = walker.read_each(self.automaton, cursor, scratch, tokens, metered, &mut hit);
            if let Some(bytes) = read {
                meter.walked(bytes)?;
                free = Some(known.with_long_apart());
            }
        }
        let all = Ground {
            free,
            ..self.ground(Area::all(trie))
        };
        let (visited, open) = walker.walk_on_top(self.automaton, cursor, scratch, all, meter, hit);
        work.meter.walked(visited)?;
        if let Some(text) = text {
            let class = self.automaton.text_class(text.class);
            self.shared.spend(self.vocabulary, class, visited);
        }
        Ok(match met.all() {
            MetTokens::Many(words) => Part::new(words, open, None),
            MetTokens::Few(tokens) => Part::of_few(tokens, open),
        })
    }

    /// The part of the row at `cursor` that the topmost level tells, where text is read in
    /// a loop over the class of a cut: see [`RowMaker::put_together`].
    fn cut_part(
        &self,
        cursor: Cursor,
        text: TextLoop,
        cut: Arc<Cut>,
        work: &mut Work<A>,
    ) -> Result<Part, Error> {
        let mut stretches = Vec::new();
        let bound =
            TextRows(self.0).chain(cursor, text, &cut, work, &mut stretches, |next, work| {
                TextRows(self.0).half_on_top(next, Half::Rests, text.class, &cut, work)
            })?;
        let Some(bound) = bound else {
            // Some characters of the class go on in another way.
            return self.part(cursor, None, work);
        };
        let others = TextRows(self.0).half_on_top(cursor, Half::Others, text.class, &cut, work)?;
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
}

/// The way to a place behind a cursor: places come in the order of the trie, so that
/// most of it is the way to the one before.
struct CursorPath {
    bytes: Vec<u8>,
    /// Before the first byte and behind each.
    cursors: Vec<Cursor>,
}

impl CursorPath {
    fn new(cursor: Cursor) -> CursorPath {
        CursorPath {
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
