//! The fewest tokens to the end of a text, along its shortest completion. For example, `"}]` takes
//! one token if there is such a token, and three if there are only single bytes.

use foldhash::fast::FixedState;
use std::collections::HashMap;

use crate::automaton::{Ending, Nearer, Piece};
use crate::tokens::{NO_TOKEN, Trie};
use crate::{ByteAutomaton, Cursor};

use super::profile::NEVER;

/// A completion with more bytes is not followed, because nobody gives a text a budget of so many tokens
/// as its rest alone would take.
const MAX_BYTES: usize = 1 << 16;

/// The way from a place to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    /// The number of tokens that it takes; [`NEVER`] where tokens do not spell it.
    pub(crate) tokens: u32,
    /// The number of parts (members, items) that it begins.
    pub(crate) parts: u32,
}

/// The number of the piece behind which nothing comes: 0, because pieces are counted from 1.
const END: u32 = 0;

/// A piece of a completion.
#[derive(Clone, Copy, Debug)]
struct CompletionPiece {
    /// Its bytes among all.
    from: u32,
    to: u32,
    /// The piece behind it.
    next: u32,
    /// The parts that it and the pieces behind it begin.
    parts: u32,
    /// The tokens that it and the pieces behind it may take beside those that their bytes tell.
    varies: u32,
}

/// Ways to the end from the cursors of one walk.
///
/// The pieces from different cursors end in common ones: with the tokens that each place in a piece
/// is away from the end (the shortest segmentation of the text behind it, by dynamic programming
/// from the end on), a further cursor costs its own pieces alone.
#[derive(Debug)]
pub(crate) struct Ways {
    /// By cursor its piece; `None` where no completion is known.
    known: HashMap<Cursor, Option<u32>, FixedState>,
    steps: Vec<CompletionPiece>,
    bytes: Vec<u8>,
    /// By byte, how many tokens the end is away from before it.
    tokens: Vec<u32>,
}

impl Default for Ways {
    fn default() -> Ways {
        let end = CompletionPiece {
            from: 0,
            to: 0,
            next: END,
            parts: 0,
            varies: 0,
        };
        Ways {
            known: HashMap::default(),
            steps: vec![end],
            bytes: Vec::new(),
            tokens: Vec::new(),
        }
    }
}

impl Ways {
    /// Forgets all: cursors of an earlier walk mean nothing.
    pub(crate) fn begin(&mut self) {
        self.known.clear();
        self.steps.truncate(1);
        self.bytes.clear();
        self.tokens.clear();
    }

    /// The way from a cursor; `None` if the automaton does not find it piece by piece. O(bytes of
    /// the pieces that were not met before x bytes of the longest token).
    pub(crate) fn way<A: ByteAutomaton>(
        &mut self,
        ending: &dyn Ending<A::Scratch>,
        trie: &Trie,
        cursor: Cursor,
        scratch: &mut A::Scratch,
    ) -> Option<Way> {
        let way = self.way_along::<A>(ending, trie, cursor, scratch);
        let narrower = ending.narrower(cursor, scratch);
        let other = narrower.and_then(|at| self.way_along::<A>(ending, trie, at, scratch));
        way.into_iter().chain(other).min_by_key(|way| way.tokens)
    }

    fn way_along<A: ByteAutomaton>(
        &mut self,
        ending: &dyn Ending<A::Scratch>,
        trie: &Trie,
        cursor: Cursor,
        scratch: &mut A::Scratch,
    ) -> Option<Way> {
        let step = match self.known.get(&cursor) {
            Some(known) => *known,
            None => self.follow::<A>(ending, trie, cursor, scratch),
        }?;
        let CompletionPiece { parts, varies, .. } = self.steps[step as usize];
        Some(Way {
            tokens: self.before(step).saturating_add(varies),
            parts,
        })
    }

    /// The tokens of the way from a cursor, if it is told piece by piece and every text has it that leads there.
    pub(crate) fn spelt<A: ByteAutomaton>(
        &mut self,
        ending: &dyn Ending<A::Scratch>,
        trie: &Trie,
        cursor: Cursor,
        scratch: &mut A::Scratch,
    ) -> Option<Vec<u32>> {
        let best = self.way::<A>(ending, trie, cursor, scratch)?;
        let narrower = ending.narrower(cursor, scratch);
        let found = std::iter::once(cursor).chain(narrower).find_map(|at| {
            let way = self.way_along::<A>(ending, trie, at, scratch)?;
            (way == best).then(|| self.known.get(&at).copied().flatten())?
        })?;
        let CompletionPiece { varies, .. } = self.steps[found as usize];
        (varies == 0 && best.tokens != NEVER).then(|| self.tokens_from(trie, found))
    }

    /// The tokens from the beginning of a piece to the end.
    fn tokens_from(&self, trie: &Trie, step: u32) -> Vec<u32> {
        let mut out = Vec::new();
        let mut at = Some((step, self.steps[step as usize].from));
        while let Some((step, byte)) = at {
            let mut best = None;
            self.each_token(trie, step, byte, |token, behind, place| {
                if best.is_none_or(|(_, least, _)| behind < least) {
                    best = Some((token, behind, place));
                }
            });
            at = best.map(|(token, _, place)| {
                out.push(token);
                place
            });
        }
        out
    }

    /// Follows pieces to the end, or to a cursor that is known.
    fn follow<A: ByteAutomaton>(
        &mut self,
        ending: &dyn Ending<A::Scratch>,
        trie: &Trie,
        cursor: Cursor,
        scratch: &mut A::Scratch,
    ) -> Option<u32> {
        let first = self.steps.len();
        let mut passed: Vec<Cursor> = Vec::new();
        let began = self.bytes.len();
        let mut at = cursor;
        let found = loop {
            if let Some(known) = self.known.get(&at) {
                break *known;
            }
            let from = self.bytes.len();
            let (next, varies) = match ending.nearer(at, scratch, &mut self.bytes) {
                Nearer::End => {
                    self.known.insert(at, Some(END));
                    break Some(END);
                }
                Nearer::To(next) => (next, 0),
                // Another text with as many bytes takes a token for each of them at most, and one more where
                // a token reached over its beginning.
                Nearer::Like(next) => (next, (self.bytes.len() - from + 1) as u32),
                Nearer::Unknown => break None,
            };
            // Until it is known, whoever comes by goes round in a circle.
            self.known.insert(at, None);
            let parts = ending.begun(at, next, scratch);
            self.steps.push(CompletionPiece {
                from: from as u32,
                to: self.bytes.len() as u32,
                next: END,
                parts,
                varies,
            });
            passed.push(at);
            at = next;
            if self.bytes.len() - began > MAX_BYTES {
                break None;
            }
        };
        let Some(mut next) = found else {
            self.steps.truncate(first);
            self.bytes.truncate(began);
            self.known.insert(cursor, None);
            // The cursors that were passed on the way are asked again, from nearer.
            for at in passed.into_iter().skip(1) {
                self.known.remove(&at);
            }
            return None;
        };
        self.tokens.resize(self.bytes.len(), NEVER);
        for (step, cursor) in passed.iter().enumerate().rev() {
            let step = first + step;
            let behind = self.steps[next as usize];
            let at = &mut self.steps[step];
            at.next = next;
            at.parts += behind.parts;
            at.varies += behind.varies;
            next = step as u32;
            let CompletionPiece { from, to, .. } = self.steps[step];
            for byte in (from..to).rev() {
                self.tokens[byte as usize] = self.least(trie, next, byte);
            }
            self.known.insert(*cursor, Some(next));
        }
        Some(next)
    }

    /// The tokens from the beginning of a piece to the end.
    fn before(&self, mut step: u32) -> u32 {
        while step != END {
            let CompletionPiece { from, to, next, .. } = self.steps[step as usize];
            if from < to {
                return self.tokens[from as usize];
            }
            step = next;
        }
        0
    }

    /// The fewest tokens from a byte of a piece to the end, if they are known of all bytes behind it.
    fn least(&self, trie: &Trie, step: u32, byte: u32) -> u32 {
        let mut least = NEVER;
        self.each_token(trie, step, byte, |_, behind, _| {
            least = least.min(behind.saturating_add(1));
        });
        least
    }

    /// Calls `each` with the tokens that spell what comes from a byte of a piece on, the tokens from
    /// behind it to the end, and the place there.
    fn each_token(
        &self,
        trie: &Trie,
        mut step: u32,
        mut byte: u32,
        mut each: impl FnMut(u32, u32, (u32, u32)),
    ) {
        let siblings = trie.siblings();
        let mut node = None;
        loop {
            let mut here = self.steps[step as usize];
            while byte == here.to {
                if step == END {
                    return;
                }
                step = here.next;
                here = self.steps[step as usize];
                byte = here.from;
            }
            let text = self.bytes[byte as usize];
            let Some(child) = siblings.find(siblings.of(node), text) else {
                return;
            };
            byte += 1;
            node = Some(child.node as usize);
            let token = trie.nodes()[child.node as usize].token;
            if token != NO_TOKEN {
                let behind = match byte < here.to {
                    true => self.tokens[byte as usize],
                    false => self.before(here.next),
                };
                each(token, behind, (step, byte));
            }
        }
    }
}

/// The fewest tokens of a completion that was found as a whole; `None` where tokens do not spell it.
/// `specials` are the tokens of special symbols, by their names.
pub(crate) fn spelt_pieces(
    pieces: &[Piece<'_>],
    trie: &Trie,
    special: impl Fn(&str) -> Option<u32>,
) -> Option<Vec<u32>> {
    let mut out = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Text(text) => out.extend(segments(trie, text)?),
            Piece::Special(name) => out.push(special(name)?),
        }
    }
    Some(out)
}

/// The most tokens that a text, or any rest of it, takes at least; its bytes where tokens do not spell it.
pub(super) fn most_tokens(trie: &Trie, text: &[u8]) -> usize {
    let best = from_each_byte(trie, text);
    let most = best.iter().map(|first| first.tokens).max();
    most.filter(|most| *most != NEVER)
        .map_or(text.len(), |most| most as usize)
}

/// The fewest tokens that spell a text. O(bytes x bytes of the longest token).
fn segments(trie: &Trie, text: &[u8]) -> Option<Vec<u32>> {
    let best = from_each_byte(trie, text);
    let mut out = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let First {
            tokens,
            token,
            next,
        } = best[at];
        if tokens == NEVER {
            return None;
        }
        out.push(token);
        at = next;
    }
    Some(out)
}

/// The first of the fewest tokens that spell a rest of a text.
#[derive(Clone, Copy)]
struct First {
    /// Their number; [`NEVER`] if there are none.
    tokens: u32,
    token: u32,
    /// The byte behind the first of them.
    next: usize,
}

/// By byte the fewest tokens to the end of a text, by dynamic programming from its end on.
fn from_each_byte(trie: &Trie, text: &[u8]) -> Vec<First> {
    let siblings = trie.siblings();
    let none = First {
        tokens: NEVER,
        token: NO_TOKEN,
        next: 0,
    };
    let mut best = vec![none; text.len() + 1];
    best[text.len()].tokens = 0;
    for from in (0..text.len()).rev() {
        let mut node = None;
        for (at, &byte) in text.iter().enumerate().skip(from) {
            let Some(child) = siblings.find(siblings.of(node), byte) else {
                break;
            };
            node = Some(child.node as usize);
            let token = trie.nodes()[child.node as usize].token;
            let tokens = best[at + 1].tokens.saturating_add(1);
            if token != NO_TOKEN && tokens < best[from].tokens {
                best[from] = First {
                    tokens,
                    token,
                    next: at + 1,
                };
            }
        }
    }
    best
}
