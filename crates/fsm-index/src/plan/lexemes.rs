//! Rows of lexemes: how the vocabulary falls into them is known by the places where they
//! begin, and what may come behind each end is asked of the stacks.

use std::sync::Arc;

use super::token_sink::{TokenSink, Tokens};
use super::{MAX_CHANGES, RowMaker, Work, clear};
use crate::cache::{Known, Thing};
use crate::rows::{Bits, LexemeAsk, LexemeEnd, LexemePart, Part, Rests, Row};
use crate::vocabulary::Area;
use crate::walk::Ground;
use crate::{ByteAutomaton, Cursor, Error, Lexeme, LexemeBehind, Lexemes, TextRuns};

/// Ends of lexemes that are followed for one row: where there are more, the bytes of the
/// tokens are. Where every split counts, one token falls into lexemes in many ways.
const MAX_ENDS: usize = 5_000;
const MAX_ENDS_OF_SPLITS: usize = 100;

/// Nodes that may be visited for rests in such a row.
const MAX_VISITED_OF_SPLITS: u64 = 4_000;

/// Subtrees of more nodes are rests of their own: they are met behind many lexemes, and what is
/// told of one holds for all.
const ALONE: u32 = 8_000;

/// Tokens that are tried byte by byte for one row.
const MAX_TRIED: usize = 1_000;

/// Lexemes in which rests of tokens are to be read, with those rests.
type Following = Vec<(Lexeme, Arc<Rests>)>;

impl<A: ByteAutomaton> Work<A> {
    /// Allows tokens in the words of a row that is computed, and notes what changes.
    fn allow(&mut self, tokens: &[u32]) {
        for &token in tokens {
            if self.row_words[token as usize / 32] >> (token % 32) & 1 == 0 {
                self.row_words.as_mut_slice().allow(token);
                self.changes.allow(token);
            }
        }
    }
}

impl<A: ByteAutomaton> RowMaker<'_, A> {
    /// The row at a cursor by the lexemes that have begun there; none if that is not known, or
    /// not worth it.
    pub(super) fn row_of_lexemes(
        &self,
        cursor: Cursor,
        accepting: bool,
        work: &mut Work<A>,
    ) -> Result<Option<Row>, Error> {
        let Some(lexemes) = self.automaton.lexemes() else {
            return Ok(None);
        };
        let counts_splits = !lexemes.take_all();
        if counts_splits && !self.known.follows_splits() {
            return Ok(None);
        }
        let mut begun = Vec::new();
        if !lexemes.begun(cursor, &mut work.scratch, &mut begun) || begun.is_empty() {
            return Ok(None);
        }
        let part = self.part_of_lexemes(lexemes, &mut begun, work)?;
        if part.is_wide() {
            return Ok(None);
        }
        let (max_ends, max_visited) = match counts_splits {
            true => (MAX_ENDS_OF_SPLITS, MAX_VISITED_OF_SPLITS),
            false => (MAX_ENDS, u64::MAX),
        };
        let before = work.walker.visited();
        clear(&mut work.row_words, self.vocabulary.width());
        part.sure.lay_out(&mut work.row_words);
        work.changes.clear();
        let mut are_few = true;
        let (mut open, mut tried) = (Following::new(), Vec::new());
        let mut is_known = self.follow(lexemes, &begun, &part, work, &mut open, &mut tried);
        let mut followed = 0;
        while let Some((lexeme, rests)) = open.pop() {
            if !is_known {
                return Ok(None);
            }
            followed += 1;
            if followed > max_ends || work.walker.visited() - before > max_visited {
                part.set_wide();
                self.known.note_split(false);
                return Ok(None);
            }
            // To ask the stacks costs about as much as a node.
            work.meter.walked(1)?;
            let inner = self.part_of_rests(lexemes, lexeme, &rests, work)?;
            match inner.sure.few() {
                Some(tokens) => work.allow(tokens),
                None => {
                    inner.sure.add_to(&mut work.row_words);
                    are_few = false;
                }
            }
            is_known = self.follow(lexemes, &[lexeme], &inner, work, &mut open, &mut tried);
        }
        if !is_known || tried.len() > MAX_TRIED {
            return Ok(None);
        }
        if counts_splits {
            self.known.note_split(true);
        }
        for token in tried {
            let bytes = self.vocabulary.raw(token).iter().copied();
            let Work {
                scratch, walker, ..
            } = work;
            let to = walker.lead(self.automaton, cursor, scratch, bytes);
            if !to.is_dead() {
                work.allow(&[token]);
            }
        }
        let are_few = are_few && work.changes.len() <= MAX_CHANGES;
        Ok(Some(match are_few {
            true => self.row_on_top(part.sure.clone(), accepting, work),
            false => Row::from_words(&work.row_words, accepting, self.sparse, self.vocabulary),
        }))
    }

    /// Asks the stacks what a part leaves to them: tokens that may come are allowed, what
    /// may begin behind ends of lexemes is added to `open`, and what they do not know of
    /// tokens to `tried`. Whether all of the ends are known.
    fn follow(
        &self,
        lexemes: &dyn Lexemes<A::Scratch>,
        begun: &[Lexeme],
        part: &LexemePart,
        work: &mut Work<A>,
        open: &mut Following,
        tried: &mut Vec<u32>,
    ) -> bool {
        for ask in &part.asks {
            let below = begun[ask.lexeme as usize].below;
            match lexemes.answers(below, &ask.asked, &mut work.scratch) {
                true => work.allow(&ask.tokens),
                false => tried.extend_from_slice(&ask.tokens),
            }
        }
        for end in &part.ends {
            let below = begun[end.lexeme as usize].below;
            match lexemes.behind(below, &end.ended, &mut work.scratch) {
                LexemeBehind::Nothing => {}
                LexemeBehind::Begins(next) => {
                    let place = lexemes.place(next.place, &mut work.scratch);
                    // Of most rests the first byte tells that none may come.
                    if place.ends != 0 || end.rests.begin_with_any(place.next_bytes) {
                        open.push((next, end.rests.clone()));
                    }
                }
                LexemeBehind::Unknown => return false,
            }
        }
        true
    }

    /// What the lexemes tell of all tokens that have begun, which are put in order.
    fn part_of_lexemes(
        &self,
        lexemes: &dyn Lexemes<A::Scratch>,
        begun: &mut [Lexeme],
        work: &mut Work<A>,
    ) -> Result<Arc<LexemePart>, Error> {
        let Work { scratch, key, .. } = work;
        begun.sort_by_cached_key(|lexeme| lexemes.place(lexeme.place, scratch).number);
        let words = key.begin(Thing::Lexemes, 0);
        words.extend(begun.iter().map(|l| lexemes.place(l.place, scratch).number));
        if let Known::Value(part) = self.known.lexemes.get(work.key.words()) {
            return Ok(part);
        }
        if let &[lexeme] = &*begun {
            return self.fresh_part_of_lexeme(lexemes, lexeme.place, None, work);
        }
        let key = work.key.clone();
        let (mut ends, mut asks) = (Vec::new(), Vec::new());
        let mut parts: Vec<Arc<LexemePart>> = Vec::new();
        for (number, &lexeme) in (0..).zip(&*begun) {
            let part = self.part_of_lexemes(lexemes, &mut [lexeme], work)?;
            ends.extend(part.ends.iter().map(|end| LexemeEnd {
                lexeme: number,
                ..end.clone()
            }));
            asks.extend(part.asks.iter().map(|ask| LexemeAsk {
                lexeme: number,
                ..ask.clone()
            }));
            parts.push(part);
        }
        clear(&mut work.words, self.vocabulary.width());
        for part in &parts {
            part.sure.add_to(&mut work.words);
        }
        let sure = Part::new(&work.words, Vec::new(), None);
        let part = Arc::new(LexemePart::new(sure, ends, asks));
        self.known.add_lexemes(key.words(), part.clone());
        Ok(part)
    }

    /// What a lexeme that has just begun tells of rests of tokens.
    fn part_of_rests(
        &self,
        lexemes: &dyn Lexemes<A::Scratch>,
        lexeme: Lexeme,
        rests: &Rests,
        work: &mut Work<A>,
    ) -> Result<Arc<LexemePart>, Error> {
        let number = lexemes.place(lexeme.place, &mut work.scratch).number;
        let words = work.key.begin(Thing::Lexemes, 1);
        words.extend([number, rests.number]);
        match self.known.lexemes.get(work.key.words()) {
            Known::Value(part) => Ok(part),
            _ => self.fresh_part_of_lexeme(lexemes, lexeme.place, Some(rests), work),
        }
    }

    /// The same where it is not known, of rests or of all tokens. The key stands in the working
    /// memory.
    fn fresh_part_of_lexeme(
        &self,
        lexemes: &dyn Lexemes<A::Scratch>,
        place: u32,
        rests: Option<&Rests>,
        work: &mut Work<A>,
    ) -> Result<Arc<LexemePart>, Error> {
        let trie = self.vocabulary.trie();
        let key = work.key.clone();
        let (mut ends, mut asks) = (Vec::new(), Vec::new());
        let mut parts: Vec<Arc<LexemePart>> = Vec::new();
        let mut skip = Vec::new();
        if rests.is_none() {
            let lexeme = Lexeme { place, below: 0 };
            let large = trie.children(None).map(|node| node as u32);
            for node in large.filter(|&node| self.is_alone(node)) {
                let rests = Rests::alone(node, trie);
                parts.push(self.part_of_rests(lexemes, lexeme, &rests, work)?);
                skip.push((node, trie.nodes()[node as usize].end));
            }
        }
        let Work {
            meter,
            scratch,
            walker,
            tokens,
            words,
            ..
        } = work;
        let mut met = TokenSink::none(tokens, words, self.vocabulary.width(), Part::FEW);
        // Of tokens that are all free text there is a list.
        let free = match rests {
            None => lexemes.place(place, scratch).free,
            Some(_) => None,
        };
        let free = free.and_then(|free| self.free_subtrees(None, Some(free)));
        if let Some(free) = &free {
            let known = self
                .shared
                .within(self.vocabulary, free.kinds(), free.longest());
            met = met.with(&known);
        }
        let area = Area { trie, skip: &skip };
        let ground = Ground {
            free,
            ..self.ground(area)
        };
        let hit = |token| met.put(token);
        let of = (self.automaton, lexemes);
        let (visited, left) = walker.walk_lexemes(of, (place, rests), scratch, ground, meter, hit);
        let sure = match met.all() {
            Tokens::Few(tokens) if parts.is_empty() => {
                let mut all = tokens.to_vec();
                all.sort_unstable();
                all.dedup();
                Part::of_few(&mut all, Vec::new())
            }
            Tokens::Few(tokens) => {
                let few = tokens.to_vec();
                clear(words, self.vocabulary.width());
                few.iter().for_each(|&token| words.allow(token));
                self.sure_with(&parts, words)
            }
            Tokens::Many(_) => self.sure_with(&parts, words),
        };
        work.meter.walked(visited)?;
        for part in &parts {
            ends.extend_from_slice(&part.ends);
            asks.extend_from_slice(&part.asks);
        }
        for (number, tokens) in left.asks.all() {
            asks.push(LexemeAsk {
                lexeme: 0,
                asked: lexemes.told(number, &mut work.scratch),
                tokens: tokens.into(),
            });
        }
        for (number, nodes) in left.ends.all() {
            let ended = lexemes.told(number, &mut work.scratch);
            let mut end = |rests| {
                ends.push(LexemeEnd {
                    lexeme: 0,
                    ended: ended.clone(),
                    rests: Arc::new(rests),
                });
            };
            let (alone, others): (Vec<u32>, Vec<u32>) =
                nodes.iter().partition(|&&node| self.is_alone(node));
            alone.iter().for_each(|&node| end(Rests::alone(node, trie)));
            if !others.is_empty() {
                end(Rests::new(self.known.number_rests(), others, trie));
            }
        }
        let part = Arc::new(LexemePart::new(sure, ends, asks));
        self.known.add_lexemes(key.words(), part.clone());
        Ok(part)
    }

    /// Whether a subtree is rests of its own wherever it is met.
    fn is_alone(&self, node: u32) -> bool {
        let least = match self.text_runs {
            TextRuns::Always => 2,
            _ => ALONE,
        };
        self.vocabulary.trie().nodes()[node as usize].end - node > least
    }

    /// The tokens of some parts and of a mask.
    fn sure_with(&self, parts: &[Arc<LexemePart>], words: &mut [u32]) -> Part {
        for part in parts {
            part.sure.add_to(words);
        }
        Part::new(words, Vec::new(), None)
    }
}
