//! From an automaton's state to the tokens it allows: a depth-first walk over
//! the vocabulary's trie that leaves a subtree out as soon as its bytes die.

use crate::budget::Watch;
use crate::vocabulary::{NO_TOKEN, Trie};
use crate::{ByteAutomaton, Cursor, TokenMask, Vocabulary};

/// Working memory of walks; keep it between them.
#[derive(Debug, Default)]
pub(crate) struct Walker {
    /// The cursor after the first, second, .. byte of the current node.
    path: Vec<Cursor>,
    /// The same of a second state.
    other: Vec<Cursor>,
    memo: Memo,
}

/// Steps of the automaton that were taken since it was last entered: a table
/// without chains, in which a newer step takes the place of an older.
#[derive(Debug, Default)]
struct Memo {
    /// What was stepped from, by which byte and in which walk; and where to.
    steps: Vec<(u64, Cursor)>,
    walk: u64,
}

/// Steps that are remembered.
const MEMO: usize = 1 << 12;

impl Memo {
    #[inline]
    fn step<A: ByteAutomaton>(
        &mut self,
        automaton: &A,
        cursor: Cursor,
        byte: u8,
        scratch: &mut A::Scratch,
    ) -> Cursor {
        if A::STEPS_ARE_CHEAP {
            return automaton.step(cursor, byte, scratch);
        }
        // 24 bits tell walks apart: a table is never as old as that, because
        // it is emptied when they have run out.
        let key = self.walk << 40 | u64::from(cursor.0) << 8 | u64::from(byte);
        let place = (key ^ (key >> 8).wrapping_mul(0x9E37)) as usize % MEMO;
        let known = &mut self.steps[place];
        if known.0 != key {
            *known = (key, automaton.step(cursor, byte, scratch));
        }
        known.1
    }
}

impl Walker {
    /// To be called when the automaton has been entered anew: cursors of
    /// before mean nothing any more.
    pub(crate) fn begin<A: ByteAutomaton>(&mut self) {
        if A::STEPS_ARE_CHEAP {
            return;
        }
        self.memo.walk = (self.memo.walk + 1) % (1 << 24);
        if self.memo.walk == 0 || self.memo.steps.is_empty() {
            self.memo.walk = 1;
            self.memo.steps.clear();
            self.memo.steps.resize(MEMO, (0, Cursor::DEAD));
        }
    }

    /// Calls `hit` with each token that may come at `start`, tokens with the
    /// same bytes once, and the cursor behind it. The nodes in the ranges
    /// `skip` (ascending, whole subtrees) are left out. How many nodes were
    /// visited; the walk ends early where `watch` says so.
    pub(crate) fn walk<A: ByteAutomaton>(
        &mut self,
        automaton: &A,
        start: Cursor,
        scratch: &mut A::Scratch,
        (trie, skip): (&Trie, &[(u32, u32)]),
        watch: &mut impl Watch,
        mut hit: impl FnMut(u32, Cursor),
    ) -> u64 {
        let path = fresh(&mut self.path, trie, start);
        let memo = &mut self.memo;
        let nodes = trie.nodes();
        let mut skips = skip.iter().copied();
        // The next range to be left out; none begins behind the last node.
        let mut skip = skips.next().unwrap_or((u32::MAX, u32::MAX));
        let mut visited = 0;
        let mut at = 0;
        loop {
            while at >= skip.0 as usize {
                at = at.max(skip.1 as usize);
                skip = skips.next().unwrap_or((u32::MAX, u32::MAX));
            }
            let Some(node) = nodes.get(at) else {
                break;
            };
            let depth = node.depth as usize;
            if depth == 1 && !watch.go_on(visited) {
                break;
            }
            visited += 1;
            let cursor = memo.step(automaton, path[depth - 1], node.byte, scratch);
            if cursor.is_dead() {
                at = node.end as usize;
                continue;
            }
            path[depth] = cursor;
            if node.token != NO_TOKEN {
                hit(node.token, cursor);
            }
            at += 1;
        }
        visited
    }

    /// Turns the mask of the cursor `known` into that of `cursor`, by a walk
    /// that leaves a subtree out as soon as both have met: what follows is then
    /// judged alike. How many nodes were visited, those on which they differ.
    pub(crate) fn difference<A: ByteAutomaton>(
        &mut self,
        automaton: &A,
        (cursor, known): (Cursor, Cursor),
        scratch: &mut A::Scratch,
        trie: &Trie,
        watch: &mut impl Watch,
        words: &mut [u32],
    ) -> u64 {
        let path = fresh(&mut self.path, trie, cursor);
        let other = fresh(&mut self.other, trie, known);
        let memo = &mut self.memo;
        let nodes = trie.nodes();
        let mut visited = 0;
        let mut at = 0;
        while let Some(node) = nodes.get(at) {
            let depth = node.depth as usize;
            if depth == 1 && !watch.go_on(visited) {
                break;
            }
            visited += 1;
            let cursor = memo.step(automaton, path[depth - 1], node.byte, scratch);
            let before = memo.step(automaton, other[depth - 1], node.byte, scratch);
            let end = node.end as usize;
            if cursor == before {
                at = end;
            } else if cursor.is_dead() {
                for node in nodes[at..end].iter().filter(|n| n.token != NO_TOKEN) {
                    words[node.token as usize / 32] &= !(1 << (node.token % 32));
                }
                at = end;
            } else {
                path[depth] = cursor;
                other[depth] = before;
                if node.token != NO_TOKEN {
                    words[node.token as usize / 32] |= 1 << (node.token % 32);
                }
                at += 1;
            }
        }
        visited
    }
}

/// A path as long as the longest token, with its first cursor.
fn fresh<'a>(path: &'a mut Vec<Cursor>, trie: &Trie, start: Cursor) -> &'a mut [Cursor] {
    path.clear();
    path.resize(trie.max_depth() + 1, Cursor::DEAD);
    path[0] = start;
    path
}

/// The mask at `state` by trying every token on its own: slow, and so plain
/// that it decides what is right. Every faster way must give the same bits.
///
/// Special tokens that the automaton reads are told by
/// [`ByteAutomaton::allowed_specials`] and their names. O(bytes of the
/// vocabulary).
pub fn brute_force_mask<A: ByteAutomaton>(
    automaton: &A,
    state: &A::State,
    vocabulary: &Vocabulary,
) -> TokenMask {
    let mut scratch = automaton.scratch();
    let mut mask = TokenMask::none(vocabulary.width());
    for (token, bytes) in vocabulary.texts() {
        let mut after = state.clone();
        if !bytes.is_empty() && automaton.advance(&mut after, bytes, &mut scratch).is_ok() {
            mask.allow(token);
        }
    }
    if automaton.is_accepting(state) {
        for &end in vocabulary.ends() {
            mask.allow(end);
        }
    }
    let mut specials = Vec::new();
    automaton.allowed_specials(state, &mut specials);
    for special in specials {
        let name = automaton.specials().get(special.0 as usize);
        if let Some(token) = name.and_then(|name| vocabulary.special(name)) {
            mask.allow(token);
        }
    }
    mask
}
