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
}

impl Walker {
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
        let nodes = trie.nodes();
        let mut skips = skip.iter();
        let mut skip = skips.next();
        let mut visited = 0;
        let mut at = 0;
        loop {
            while let Some(&(from, to)) = skip
                && at >= from as usize
            {
                at = at.max(to as usize);
                skip = skips.next();
            }
            let Some(node) = nodes.get(at) else {
                break;
            };
            let depth = node.depth as usize;
            if depth == 1 && !watch.go_on(visited) {
                break;
            }
            visited += 1;
            let cursor = automaton.step(path[depth - 1], node.byte, scratch);
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
        let nodes = trie.nodes();
        let mut visited = 0;
        let mut at = 0;
        while let Some(node) = nodes.get(at) {
            let depth = node.depth as usize;
            if depth == 1 && !watch.go_on(visited) {
                break;
            }
            visited += 1;
            let cursor = automaton.step(path[depth - 1], node.byte, scratch);
            let before = automaton.step(other[depth - 1], node.byte, scratch);
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
