//! Rows of lexemes: how the vocabulary falls into them is known by the places where they begin, and
//! what may come behind each end is asked of the stacks. For example, behind `x = ` of a program
//! the tokens of a name are known by the place where it begins, and `)` is asked of the stacks.

use std::sync::Arc;

use super::{MAX_CHANGES, RowMaker, Work, clear};
use crate::bits::Bits;
use crate::rows::{Changes, EndTokens, LexemePart, Rests, Row, TextRests};
use crate::tokens::Area;
use crate::{ByteAutomaton, Cursor, Error, Lexeme, LexemeBehind, Lexemes};

/// The most ends of lexemes that are followed for one row. If there are more, the row is made by
/// the bytes of the tokens, because each end asks the stacks.
const MAX_ENDS: usize = 5_000;
/// The same where every split counts: fewer, because one token then falls into lexemes in many
/// ways.
const MAX_ENDS_OF_SPLITS: usize = 100;

/// The most nodes that are visited for rests in such a row: with more, a walk over the tokens'
/// bytes is no slower, because it visits each node once.
const MAX_VISITED_OF_SPLITS: u64 = 4_000;

/// The most tokens that are tried byte by byte for one row, because a walk reads the bytes that
/// they have in common once.
const MAX_TRIED: usize = 10_000;

/// The rests that are still to be read for a row.
#[derive(Default)]
struct Following {
    /// Lexemes in which rests of tokens are to be read, with those rests.
    open: Vec<(Lexeme, Arc<Rests>)>,
    /// Rests that are to be walked.
    texts: Vec<TextRests>,
    /// Tokens that are to be tried byte by byte.
    tried: Vec<u32>,
}

impl<A: ByteAutomaton> Work<A> {
    /// Allows tokens in the words of a row that is computed, and notes what changes.
    fn allow(&mut self, tokens: &[u32]) {
        for &token in tokens {
            allow(token, &mut self.row_words, &mut self.changes);
        }
    }
}

/// Allows a token in the words of a row, and notes that as a change, unless there are more than are
/// kept: then the words alone count.
fn allow(token: u32, words: &mut [u32], changes: &mut Changes) {
    if words[token as usize / 32] >> (token % 32) & 1 == 0 {
        words.allow(token);
        if changes.len() <= MAX_CHANGES {
            changes.allow(token);
        }
    }
}

/// Rows from the lexemes that have begun.
pub(super) struct LexemeRows<'m, A>(pub(super) &'m RowMaker<'m, A>);

impl<'m, A> std::ops::Deref for LexemeRows<'m, A> {
    type Target = RowMaker<'m, A>;

    fn deref(&self) -> &RowMaker<'m, A> {
        self.0
    }
}

impl<A: ByteAutomaton> LexemeRows<'_, A> {
    /// The lexemes that have begun at a cursor; none where that is not known, or not asked any more.
    pub(super) fn begun(&self, cursor: Cursor, work: &mut Work<A>) -> Option<Vec<Lexeme>> {
        let lexemes = self.automaton.parts().lexemes?;
        if !self.automaton.parts().lexemes_take_all && !self.known.follows_splits() {
            return None;
        }
        let mut begun = Vec::new();
        let is_told = lexemes.begun(cursor, &mut work.scratch, &mut begun);
        (is_told && !begun.is_empty()).then_some(begun)
    }

    /// The row at a cursor by the lexemes that have begun there; none if that is not worth it.
    pub(super) fn row(
        &self,
        cursor: Cursor,
        mut begun: Vec<Lexeme>,
        end_tokens: EndTokens,
        work: &mut Work<A>,
    ) -> Result<Option<Row>, Error> {
        let Some(lexemes) = self.automaton.parts().lexemes else {
            return Ok(None);
        };
        let counts_splits = !self.automaton.parts().lexemes_take_all;
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
        let mut following = Following::default();
        self.follow(lexemes, &begun, &part, work, &mut following);
        let mut followed = 0;
        let is_too_much = |part: &LexemePart| {
            part.set_wide();
            self.known.note_split(false);
            Ok(None)
        };
        while let Some((lexeme, rests)) = following.open.pop() {
            followed += 1;
            if followed > max_ends || work.walker.visited() - before > max_visited {
                return is_too_much(&part);
            }
            // To ask the stacks costs about as much as a node.
            work.meter.walked(1)?;
            let inner = self.part_of_rests(lexemes, lexeme, &rests, work)?;
            if inner.is_wide() {
                return is_too_much(&part);
            }
            match inner.sure.few() {
                Some(tokens) => work.allow(tokens),
                None => {
                    inner.sure.add_to(&mut work.row_words);
                    are_few = false;
                }
            }
            self.follow(lexemes, &[lexeme], &inner, work, &mut following);
        }
        if following.tried.len() > MAX_TRIED {
            return Ok(None);
        }
        if counts_splits {
            self.known.note_split(true);
        }
        self.walk_texts(&following.texts, work)?;
        for token in following.tried {
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
            true => self.row_on_top(part.sure.clone(), end_tokens, work),
            false => Row::from_words(&work.row_words, end_tokens, self.sparse, self.vocabulary),
        }))
    }

    /// Walks rests of tokens that are text, and allows those that may come.
    fn walk_texts(&self, texts: &[TextRests], work: &mut Work<A>) -> Result<(), Error> {
        for of in texts {
            let ground = self.ground(Area::all(self.vocabulary.trie()));
            let Work {
                meter,
                scratch,
                walker,
                row_words,
                changes,
                ..
            } = work;
            let hit = |token| allow(token, row_words, changes);
            let visited = walker.walk_rests(self.automaton, of, scratch, ground, meter, hit);
            meter.walked(visited)?;
        }
        Ok(())
    }

    /// Asks the stacks what a part leaves to them: tokens that may come are allowed, and what may
    /// begin behind ends of lexemes is followed.
    fn follow(
        &self,
        lexemes: &dyn Lexemes<A::Scratch>,
        begun: &[Lexeme],
        part: &LexemePart,
        work: &mut Work<A>,
        following: &mut Following,
    ) {
        for ask in &part.asks {
            let below = begun[ask.lexeme as usize].below;
            match lexemes.answers(below, &ask.asked, &mut work.scratch) {
                true => work.allow(&ask.tokens),
                false => following.tried.extend_from_slice(&ask.tokens),
            }
        }
        for end in &part.ends {
            let below = begun[end.lexeme as usize].below;
            match lexemes.behind(below, &end.ended, end.rests.size(), &mut work.scratch) {
                LexemeBehind::Nothing => {}
                LexemeBehind::Begins(next) => {
                    let place = lexemes.place(next.place, &mut work.scratch);
                    // The first byte tells of most rests that none may come.
                    let may_end = place.ends != 0 && end.rests.begin_with_any(place.end_bytes);
                    if may_end || end.rests.begin_with_any(place.next_bytes) {
                        following.open.push((next, end.rests.clone()));
                    }
                }
                LexemeBehind::Text(cursor) => {
                    let rests = end.rests.clone();
                    following.texts.push(TextRests { cursor, rests });
                }
            }
        }
    }
}
