//! Which states tokens can finish, found by a search from each.
//!
//! From a state, breadth first: the tokens that may come, one for all that lead to the same
//! cursor, and where they lead. It ends well where the shortest completion in bytes can be
//! cut into tokens, which most states' can. So whatever is allowed has a text of tokens
//! that finishes it, and the first token of that text is allowed, too.
//!
//! For example, where no token has a `~`, a state of `a|b~` behind `b` is dead, and one behind `a`
//! is live. Both verdicts are remembered by the [keys](whole_key) of states, because the same
//! states are met for mask after mask.

use crate::automaton::{AskParts, MAX_COMPLETION, Piece, pieces};
use foldhash::HashMap;
use std::collections::{HashSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::bits::Bits;
use crate::budget::Meter;
use crate::plan::Work;
use crate::tokens::{Area, segment_ends};
use crate::walk::Walker;
use crate::{
    ByteAutomaton, Cursor, Error, ErrorKind, Exception, Horizon, Scope, SpecialId, TokenId,
    Vocabulary,
};

/// The nodes of the vocabulary's trie behind which a search gives up: some hundredths of a second,
/// because a mask waits for it. Then no token leads to the state, though perhaps one could.
const MAX_NODES: u64 = 4_000_000;

/// The longest shortest completion that is looked at, in bytes, because each of its bytes is a
/// state to search from.
const MAX_TRIED: usize = 1 << 16;

/// Verdicts are forgotten when they and their keys take more bytes than this: 16 MiB, because
/// keys of deep stacks have hundreds of words, and a text of a thousand tokens meets some
/// thousand states.
const MAX_REMEMBERED: usize = 16 << 20;

/// The bytes of memory that a verdict takes beside its key, because a map keeps an entry for it and
/// may be half empty.
const VERDICT: usize = 48;

/// Finds out which states tokens can finish.
#[derive(Debug, Default)]
pub(crate) struct Search {
    /// True if any token may lead to where none goes on, or only one that ends inside a character.
    every: bool,
    verdicts: Mutex<Verdicts>,
    /// Nodes that searches have visited.
    visited: AtomicU64,
}

/// True if tokens can finish states, by their keys.
#[derive(Debug, Default)]
struct Verdicts {
    by_key: HashMap<Box<[u32]>, Verdict>,
    bytes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Live,
    Dead,
}

/// The end of a search.
enum Found {
    /// With what finishes the text.
    Text(Vec<u8>),
    /// With a state that is known to be live, where nobody asked for the text.
    Live,
    Nothing,
    /// Nothing in [`MAX_NODES`].
    GivenUp,
}

/// The answer that a search is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    Verdict,
    Text,
}

/// A step of a search.
enum Taken {
    Token(u32),
    Special(SpecialId),
}

/// A state that was reached, from another one.
struct Reached<S> {
    state: S,
    from: usize,
    taken: Taken,
}

impl Search {
    pub(super) fn new(every: bool) -> Search {
        Search {
            every,
            ..Search::default()
        }
    }

    /// Nodes of tries that searches have visited so far.
    pub(crate) fn visited(&self) -> u64 {
        self.visited.load(Ordering::Relaxed)
    }

    /// Bytes of memory.
    pub(crate) fn memory(&self) -> usize {
        self.verdicts().bytes
    }

    /// Tells whether tokens can finish what begins at the start.
    pub(super) fn check_start<A: ByteAutomaton>(
        &self,
        automaton: &A,
        vocabulary: &Vocabulary,
    ) -> Result<(), Error> {
        let start = automaton.start();
        match self.search(automaton, vocabulary, &start, Asked::Verdict) {
            Found::Text(_) | Found::Live => Ok(()),
            Found::Nothing => Err(nothing_left(automaton, vocabulary)),
            Found::GivenUp => Err(Error::new(
                ErrorKind::LimitExceeded,
                format!(
                    "the vocabulary has no token for some bytes, and no accepted text that tokens \
                     spell was found within {MAX_NODES} nodes; use a vocabulary with a token for \
                     each byte"
                ),
            )),
        }
    }

    /// Tells whether tokens can finish the text. A text for which a search gave up counts as one
    /// that tokens cannot spell.
    pub(crate) fn is_live<A: ByteAutomaton>(
        &self,
        automaton: &A,
        vocabulary: &Vocabulary,
        state: &A::State,
    ) -> bool {
        let found = self.search(automaton, vocabulary, state, Asked::Verdict);
        matches!(found, Found::Text(_) | Found::Live)
    }

    /// A text that finishes this one and that tokens spell, if one is found.
    pub(crate) fn completion<A: ByteAutomaton>(
        &self,
        automaton: &A,
        vocabulary: &Vocabulary,
        state: &A::State,
    ) -> Option<Vec<u8>> {
        match self.search(automaton, vocabulary, state, Asked::Text) {
            Found::Text(text) => Some(text),
            Found::Live | Found::Nothing | Found::GivenUp => None,
        }
    }

    /// Which tokens may come, into `words`; tokens with the same bytes once. `cursor` is that
    /// of `state`, which the scratch has just entered. `false`, and the words mean nothing, if
    /// [`Search::forbidden`] tells enough.
    pub(crate) fn allowed<A: ByteAutomaton>(
        &self,
        automaton: &A,
        vocabulary: &Vocabulary,
        state: &A::State,
        cursor: Cursor,
        work: &mut Work<A>,
        words: &mut [u32],
    ) -> Result<bool, Error> {
        if !self.every {
            return Ok(false);
        }
        let mut landings: Vec<(Cursor, u32)> = Vec::new();
        let (scratch, walker, meter) = work.parts();
        walker.begin::<A>();
        let hit = |token, to| landings.push((to, token));
        let trie = Area::all(vocabulary.trie());
        let visited = walker.walk(automaton, cursor, scratch, trie, meter, hit);
        meter.walked(visited)?;
        landings.sort_unstable();
        for group in landings.chunk_by(|a, b| a.0 == b.0) {
            // Tokens that the state's exceptions refuse are taken out elsewhere.
            let mut tokens = group.iter().map(|&(_, token)| token);
            let landed =
                tokens.find_map(|token| behind(automaton, vocabulary, state, token, scratch));
            if landed.is_some_and(|after| self.is_live(automaton, vocabulary, &after)) {
                group.iter().for_each(|&(_, token)| words.allow(token));
            }
        }
        Ok(true)
    }

    /// Returns those tokens that end inside a character and lead to a place from which none leads
    /// on.
    pub(crate) fn forbidden<A: ByteAutomaton>(
        &self,
        automaton: &A,
        vocabulary: &Vocabulary,
        state: &A::State,
        mut is_allowed: impl FnMut(u32) -> bool,
    ) -> Vec<u32> {
        let mut scratch = automaton.scratch();
        let tokens = vocabulary.spellable().cut_short().iter().copied();
        let tokens = tokens.filter(|&token| {
            is_allowed(token)
                && behind(automaton, vocabulary, state, token, &mut scratch)
                    .is_none_or(|after| !self.is_live(automaton, vocabulary, &after))
        });
        tokens.collect()
    }

    fn search<A: ByteAutomaton>(
        &self,
        automaton: &A,
        vocabulary: &Vocabulary,
        state: &A::State,
        asked: Asked,
    ) -> Found {
        let mut scratch = automaton.scratch();
        let start = full_key(automaton, state, &mut scratch);
        match self.known(start.as_deref()) {
            Some(Verdict::Dead) => return Found::Nothing,
            Some(Verdict::Live) if asked == Asked::Verdict => return Found::Live,
            _ => {}
        }
        if let Some(text) = spelt_completion(automaton, vocabulary, state) {
            self.remember(start, Verdict::Live);
            return Found::Text(text);
        }
        let mut met: HashSet<Box<[u32]>> = start.iter().cloned().collect();
        let mut walker = Walker::default();
        let mut visited = 0;
        let mut reached: Vec<Reached<A::State>> = Vec::new();
        let mut open: VecDeque<usize> = VecDeque::from([usize::MAX]);
        let mut landings: Vec<(Cursor, u32)> = Vec::new();
        let mut specials: Vec<SpecialId> = Vec::new();
        while let Some(at) = open.pop_front() {
            let state = reached.get(at).map_or(state, |r| &r.state).clone();
            let cursor = automaton.enter(&state, &mut scratch);
            landings.clear();
            walker.begin::<A>();
            let trie = Area::all(vocabulary.trie());
            let hit = |token, to| landings.push((to, token));
            let meter = &mut Meter::default();
            let nodes = walker.walk(automaton, cursor, &mut scratch, trie, meter, hit);
            self.visited.fetch_add(nodes, Ordering::Relaxed);
            visited += nodes;
            landings.sort_unstable_by_key(|&(to, token)| (to, length(vocabulary, token), token));
            specials.clear();
            automaton.allowed_specials(&state, &mut specials);
            let tokens = landings.chunk_by(|a, b| a.0 == b.0).filter_map(|group| {
                group.iter().find_map(|&(_, token)| {
                    let after = behind(automaton, vocabulary, &state, token, &mut scratch)?;
                    Some((after, Taken::Token(token)))
                })
            });
            let mut next: Vec<(A::State, Taken)> = tokens.collect();
            next.extend(specials.iter().filter_map(|&special| {
                let mut after = state.clone();
                let taken = automaton.advance_special(&mut after, special);
                taken.then_some((after, Taken::Special(special)))
            }));
            for (after, taken) in next {
                let key = full_key(automaton, &after, &mut scratch);
                match self.known(key.as_deref()) {
                    Some(Verdict::Dead) => continue,
                    Some(Verdict::Live) if asked == Asked::Verdict => {
                        self.remember(start, Verdict::Live);
                        return Found::Live;
                    }
                    _ => {}
                }
                if key.as_ref().is_some_and(|key| met.contains(key)) {
                    continue;
                }
                let end = spelt_completion(automaton, vocabulary, &after);
                reached.push(Reached {
                    state: after,
                    from: at,
                    taken,
                });
                let last = reached.len() - 1;
                if let Some(end) = end {
                    let mut text = path(automaton, vocabulary, &reached, last);
                    text.extend(end);
                    self.remember([start, key].into_iter().flatten(), Verdict::Live);
                    return Found::Text(text);
                }
                met.extend(key);
                open.push_back(last);
            }
            if visited > MAX_NODES {
                self.remember(start, Verdict::Dead);
                return Found::GivenUp;
            }
        }
        // From none of them a way leads on.
        self.remember(met, Verdict::Dead);
        Found::Nothing
    }

    fn known(&self, key: Option<&[u32]>) -> Option<Verdict> {
        self.verdicts().by_key.get(key?).copied()
    }

    fn remember(&self, keys: impl IntoIterator<Item = Box<[u32]>>, verdict: Verdict) {
        let mut verdicts = self.verdicts();
        if verdicts.bytes > MAX_REMEMBERED {
            *verdicts = Verdicts::default();
        }
        for key in keys {
            verdicts.bytes += key.len() * 4 + VERDICT;
            verdicts.by_key.insert(key, verdict);
        }
    }

    /// A panic elsewhere leaves what is remembered whole: it changes by one insert.
    fn verdicts(&self) -> MutexGuard<'_, Verdicts> {
        self.verdicts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The state behind a token, if it may come.
fn behind<A: ByteAutomaton>(
    automaton: &A,
    vocabulary: &Vocabulary,
    state: &A::State,
    token: u32,
    scratch: &mut A::Scratch,
) -> Option<A::State> {
    let bytes = vocabulary.token_bytes(TokenId::new(token))?;
    let mut after = state.clone();
    let done = automaton.advance(&mut after, bytes, scratch);
    done.ok().map(|()| after)
}

fn length(vocabulary: &Vocabulary, token: u32) -> usize {
    vocabulary
        .token_bytes(TokenId::new(token))
        .map_or(0, <[u8]>::len)
}

/// The [whole key](whole_key) of a state.
pub(crate) fn full_key<A: ByteAutomaton>(
    automaton: &A,
    state: &A::State,
    scratch: &mut A::Scratch,
) -> Option<Box<[u32]>> {
    let mut key = Vec::new();
    let cursor = automaton.enter(state, scratch);
    whole_key(automaton, state, cursor, scratch, &mut key).then(|| key.into())
}

/// Appends to `key` the words that tell a state from all whose texts go on otherwise: the key of
/// all levels of its stack for tokens of any length, and what was said before. `false` where
/// the automaton has no such key. `cursor` is that of `state`, which the scratch has just entered.
pub(crate) fn whole_key<A: ByteAutomaton>(
    automaton: &A,
    state: &A::State,
    cursor: Cursor,
    scratch: &mut A::Scratch,
    key: &mut Vec<u32>,
) -> bool {
    key.push(u32::from(automaton.is_accepting(state)));
    let any_token = Horizon::of_bytes(u32::MAX as usize / 4);
    let all = usize::MAX;
    let told = automaton.key(cursor, Scope::Index, all, any_token, scratch, key);
    if told.is_none() {
        return false;
    }
    automaton.exceptions(state, &mut |exception, _| {
        let (tag, bytes) = match exception {
            Exception::Begins(text) => (1, text),
            Exception::Contains(text) => (2, text),
            Exception::InOrder(order) => (3, order),
            Exception::Often { byte, times } => {
                key.extend([4, u32::from(byte), u32::try_from(times).unwrap_or(u32::MAX)]);
                return;
            }
        };
        key.extend([tag, u32::try_from(bytes.len()).unwrap_or(u32::MAX)]);
        key.extend(bytes.iter().copied().map(u32::from));
    });
    true
}

/// The shortest completion, if tokens spell it.
fn spelt_completion<A: ByteAutomaton>(
    automaton: &A,
    vocabulary: &Vocabulary,
    state: &A::State,
) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    for piece in pieces(automaton, state, MAX_TRIED)? {
        match piece {
            Piece::Text(text) => {
                if segment_ends(vocabulary.trie(), &text).last() != Some(&true) {
                    return None;
                }
                out.extend(text);
            }
            Piece::Special(name) => out.extend_from_slice(name.as_bytes()),
        }
    }
    Some(out)
}

/// The text that leads to what was reached.
fn path<A: ByteAutomaton>(
    automaton: &A,
    vocabulary: &Vocabulary,
    reached: &[Reached<A::State>],
    mut at: usize,
) -> Vec<u8> {
    let mut taken: Vec<&[u8]> = Vec::new();
    while let Some(r) = reached.get(at) {
        taken.push(match r.taken {
            Taken::Token(token) => vocabulary
                .token_bytes(TokenId::new(token))
                .unwrap_or_default(),
            Taken::Special(special) => automaton
                .parts()
                .special_names
                .names
                .get(special.0 as usize)
                .map_or(&[], |name| name.as_bytes()),
        });
        at = r.from;
    }
    taken.reverse();
    taken.concat()
}

/// Names what is in the way of a shortest text.
#[cold]
fn nothing_left<A: ByteAutomaton>(automaton: &A, vocabulary: &Vocabulary) -> Error {
    let mut text = Vec::new();
    automaton.completion(&automaton.start(), MAX_COMPLETION, &mut text);
    let ends = segment_ends(vocabulary.trie(), &text);
    let at = ends.iter().rposition(|&is| is).unwrap_or(0);
    let missing = vocabulary.missing_bytes();
    let mut needed: Vec<u8> = text.clone();
    needed.retain(|byte| missing.contains(byte));
    needed.sort_unstable();
    needed.dedup();
    let mut so = "so no accepted text can be spelt".to_owned();
    let mut state = automaton.start();
    let mut scratch = automaton.scratch();
    if automaton
        .advance(&mut state, &text[..at], &mut scratch)
        .is_ok()
        && let Some(report) = automaton.parts().report
        && let Some(place) = report.place(&state)
        && let Some(location) = place.locations.first()
    {
        so.push_str(&format!(
            ": see {location:?}, behind byte {at} of a shortest text"
        ));
    }
    so.push_str("; use a vocabulary with a token for each byte");
    Error::cannot_spell(&needed, &so)
}
