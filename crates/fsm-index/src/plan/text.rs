//! Rows inside text: from the vocabulary cut by a class of characters. For example, inside of a
//! JSON string `abc` is plain, and `abc",` is plain text and the rest `",`.

use crate::automaton::AskParts;
use std::sync::Arc;

use super::{Missed, RowMaker, Work};
use crate::bits::Bits;
use crate::cache::{Key, Known, Thing};
use crate::rows::HalfOnTop;
use crate::tokens::{Area, Cut};
use crate::walk::{walk_below, walk_tokens};
use crate::{ByteAutomaton, ClassId, Cursor, Description, Error, TextLoop};

/// Rows from the vocabulary cut by a class of characters.
pub(super) struct TextRows<'m, A>(pub(super) &'m RowMaker<'m, A>);

impl<'m, A> std::ops::Deref for TextRows<'m, A> {
    type Target = RowMaker<'m, A>;

    fn deref(&self) -> &RowMaker<'m, A> {
        self.0
    }
}

impl<A: ByteAutomaton> TextRows<'_, A> {
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
    ) -> Result<bool, Error> {
        let class = text.class;
        let ranges = self.automaton.text_class(class);
        let Some(cut) = self.cut(ranges) else {
            return Ok(false);
        };
        let mut stretches = Vec::new();
        let bound = self.chain(cursor, text, &cut, work, &mut stretches, |next, work| {
            self.rests(next, class, &cut, work)
        })?;
        let Some(bound) = bound else {
            return Ok(false);
        };
        let Work {
            meter,
            scratch,
            walker,
            words,
            ..
        } = work;
        cut.put_plain(bound, words);
        for (from, to, rests) in stretched(&stretches, bound) {
            for &rest in rests {
                cut.put_rest(rest, from, to, words.as_mut_slice());
            }
        }
        let others = self.ground(cut.others(self.vocabulary.trie()));
        let hit = |token| words.allow(token);
        let visited = walk_tokens(walker, self.automaton, cursor, scratch, others, meter, hit);
        work.meter.walked(visited)?;
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
        // The reach of the rests is what counts, and they are short.
        let horizon = cut.rests().horizon();
        let mut at = cursor;
        let mut chars = 0;
        while chars < cut.max_len() {
            let here = self.automaton.describe(at, horizon, &mut work.scratch);
            let Some(here) = here.text().filter(|text| text.class == class) else {
                let ends = !cut
                    .goes_on(|byte| !self.automaton.step(at, byte, &mut work.scratch).is_dead());
                return Ok(ends.then_some(chars));
            };
            let left = cut.max_len() - chars;
            // In a loop to itself no number of characters makes a difference.
            let steady = match here.next == at {
                true => left,
                false => left.min(here.steady as usize),
            };
            let (same, next) = match steady {
                0 => (1, here.next),
                _ => (steady, at),
            };
            // The rests behind the next `same` characters.
            let rests = rests(next, work)?;
            let is_same = |before: &Arc<T>| Arc::ptr_eq(before, &rests) || *before == rests;
            if !stretches.last().is_some_and(|s| is_same(&s.1)) {
                stretches.push((chars + 1, rests));
            }
            chars += same;
            if here.next != at {
                at = self.go_along(here.next, same - 1, cut, work);
            }
        }
        Ok(Some(usize::MAX))
    }

    /// The cursor behind so many characters of the class of a cut, of which any leads on.
    fn go_along(&self, from: Cursor, chars: usize, cut: &Cut, work: &mut Work<A>) -> Cursor {
        let sample = (0..chars).flat_map(|_| cut.sample());
        sample.fold(from, |at, byte| {
            self.automaton.step(at, *byte, &mut work.scratch)
        })
    }

    /// The rests that may come at a cursor, in the order of their trie.
    fn rests(
        &self,
        cursor: Cursor,
        class: ClassId,
        cut: &Cut,
        work: &mut Work<A>,
    ) -> Result<Arc<[u32]>, Error> {
        let key = |depth, work: &mut Work<A>| {
            let horizon = cut.rests().horizon();
            let keyed = self.key_within(cursor, Thing::Rests, depth, horizon, work);
            work.key.push(class.0);
            keyed
        };
        let missed = match self.look_up(cursor, &self.known.rests, work, key) {
            Ok((rests, depth)) => {
                work.remembered = work.remembered.max(depth);
                return Ok(rests);
            }
            Err(depth) => depth,
        };
        let horizon = cut.rests().horizon();
        let here = self.automaton.describe(cursor, horizon, &mut work.scratch);
        let rests = match here {
            Description::Top(_) => {
                let on_top = self.half_on_top(cursor, Half::Rests, class, cut, work)?;
                let mut rests = on_top.sure.to_vec();
                let mut visited = 0;
                for open in &on_top.open {
                    let Work {
                        scratch, walker, ..
                    } = work;
                    let trie = cut.rests();
                    let ground = self.ground(Area::all(trie));
                    let first = open.node as usize;
                    let lead = open.path.iter().copied().chain([trie.nodes()[first].byte]);
                    let behind = walker.lead(self.automaton, cursor, scratch, lead);
                    if !behind.is_dead() {
                        let hit = |rest| rests.push(rest);
                        visited +=
                            walk_below(walker, self.automaton, behind, scratch, ground, first, hit);
                    }
                }
                work.meter.walked(visited)?;
                rests
            }
            _ => {
                let mut rests = Vec::new();
                let Work {
                    meter,
                    scratch,
                    walker,
                    ..
                } = work;
                let all = self.ground(Area::all(cut.rests()));
                let hit = |rest| rests.push(rest);
                let visited = walk_tokens(walker, self.automaton, cursor, scratch, all, meter, hit);
                work.meter.walked(visited)?;
                rests
            }
        };
        let (rests, _) = self.known.number_list(&rests);
        let used = self.depth_used(work);
        let missed = Missed::at(missed);
        self.remember(&self.known.rests, &rests, used, missed, work, key);
        Ok(rests)
    }

    /// Returns the part that the topmost level decides at a cursor of one half of a cut. Its tokens
    /// are shorter than others, so that more cursors are alike.
    pub(super) fn half_on_top(
        &self,
        cursor: Cursor,
        half: Half,
        class: ClassId,
        cut: &Cut,
        work: &mut Work<A>,
    ) -> Result<Arc<HalfOnTop>, Error> {
        let (thing, area) = match half {
            Half::Rests => (Thing::RestsOnTop, Area::all(cut.rests())),
            Half::Others => (Thing::OthersOnTop, cut.others(self.vocabulary.trie())),
        };
        let horizon = area.trie.horizon();
        let keyed = self.key_within(cursor, thing, 1, horizon, work);
        work.key.push(class.0);
        if keyed && let Known::Value(half) = self.known.halves.get(work.key.words()) {
            return Ok(half);
        }
        // Numbers of classes mean something to one automaton alone.
        let mut shared_key = Key::default();
        let is_shared = self.automaton.text_class(class) == self.automaton.parts().lexicon.plain
            && {
                let scratch = &mut work.scratch;
                self.shared_key(cursor, thing, 1, horizon, scratch, &mut shared_key)
            };
        let shared = is_shared.then(|| self.shared.newest());
        if let Some(shared) = &shared
            && let Known::Value(half) = shared.halves.get(shared_key.words())
        {
            if keyed {
                self.known.add_half(work.key.words(), half.clone());
            }
            return Ok(half);
        }
        let mut sure = Vec::new();
        let Work {
            meter,
            scratch,
            walker,
            ..
        } = work;
        let all = self.ground(area);
        let hit = |token| sure.push(token);
        let (visited, open) = walker.walk_on_top(self.automaton, cursor, scratch, all, meter, hit);
        work.meter.walked(visited)?;
        let half = Arc::new(HalfOnTop {
            sure: sure.into(),
            open: open.into(),
        });
        if keyed {
            self.known.add_half(work.key.words(), half.clone());
        }
        if let Some(shared) = shared {
            shared.add_half(shared_key.words(), half.clone());
        }
        Ok(half)
    }
}

/// The halves of a cut of which masks are put together.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Half {
    /// The texts behind characters of the class.
    Rests,
    /// The tokens that do not begin with one.
    Others,
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
