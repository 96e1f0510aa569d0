//! From an automaton's state to the tokens it allows: a depth-first walk over
//! the vocabulary's trie that leaves a subtree out as soon as its bytes die.

use crate::vocabulary::{NO_TOKEN, Trie};
use crate::{ByteAutomaton, Cursor, DenseTable, TokenMask, Vocabulary};

/// Working memory of walks; keep it between them.
#[derive(Debug, Default)]
pub(crate) struct Walker {
    /// The cursor after the first, second, .. byte of the current node.
    path: Vec<Cursor>,
    /// The same of a second state.
    other: Vec<Cursor>,
}

impl Walker {
    /// Adds to `mask` the text tokens that may come at `state`, in O(nodes
    /// visited), and the end tokens if the text may end there.
    pub(crate) fn mask<A: ByteAutomaton>(
        &mut self,
        automaton: &A,
        state: &A::State,
        scratch: &mut A::Scratch,
        vocabulary: &Vocabulary,
        mask: &mut TokenMask,
    ) {
        let trie = vocabulary.trie();
        let words = mask.words_mut();
        self.walk(automaton, state, scratch, trie, |token, _| {
            words[token as usize / 32] |= 1 << (token % 32);
        });
        finish(automaton.is_accepting(state), vocabulary, mask);
    }

    /// Calls `hit` with each token that may come, tokens with the same bytes
    /// once, and the cursor behind it.
    pub(crate) fn walk<A: ByteAutomaton>(
        &mut self,
        automaton: &A,
        state: &A::State,
        scratch: &mut A::Scratch,
        trie: &Trie,
        hit: impl FnMut(u32, Cursor),
    ) {
        let start = automaton.enter(state, scratch);
        match automaton.table() {
            Some(table) => self.run(trie, start, |c, b| table.step(c, b), hit),
            None => self.run(trie, start, |c, b| automaton.step(c, b, scratch), hit),
        }
    }

    fn run(
        &mut self,
        trie: &Trie,
        start: Cursor,
        mut step: impl FnMut(Cursor, u8) -> Cursor,
        mut hit: impl FnMut(u32, Cursor),
    ) {
        let path = fresh(&mut self.path, trie, start);
        let nodes = trie.nodes();
        let mut at = 0;
        while let Some(node) = nodes.get(at) {
            let depth = node.depth as usize;
            let cursor = step(path[depth - 1], node.byte);
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
    }
}

impl Walker {
    /// Turns the mask of the state `known` into that of `state`, by a walk that
    /// leaves a subtree out as soon as both states have met: what follows is
    /// then judged alike. O(nodes on which they differ).
    pub(crate) fn difference(
        &mut self,
        table: DenseTable<'_>,
        (state, known): (Cursor, Cursor),
        trie: &Trie,
        words: &mut [u32],
    ) {
        let path = fresh(&mut self.path, trie, state);
        let other = fresh(&mut self.other, trie, known);
        let nodes = trie.nodes();
        let mut at = 0;
        while let Some(node) = nodes.get(at) {
            let depth = node.depth as usize;
            let cursor = table.step(path[depth - 1], node.byte);
            let before = table.step(other[depth - 1], node.byte);
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
    }
}

/// A path as long as the longest token, with its first cursor.
fn fresh<'a>(path: &'a mut Vec<Cursor>, trie: &Trie, start: Cursor) -> &'a mut [Cursor] {
    path.clear();
    path.resize(trie.max_depth() + 1, Cursor::DEAD);
    path[0] = start;
    path
}

/// Settles the tokens that a walk does not meet: those with the bytes of
/// another one, and the ends.
pub(crate) fn finish(accepting: bool, vocabulary: &Vocabulary, mask: &mut TokenMask) {
    let words = mask.words_mut();
    let put = |words: &mut [u32], token: u32, bit: u32| {
        let word = &mut words[token as usize / 32];
        *word = *word & !(1 << (token % 32)) | bit << (token % 32);
    };
    for &(first, other) in vocabulary.trie().duplicates() {
        put(words, other, words[first as usize / 32] >> (first % 32) & 1);
    }
    for end in vocabulary.ends() {
        put(words, end.get(), u32::from(accepting));
    }
}

/// The mask at `state` by trying every token on its own: slow, and so plain
/// that it decides what is right. Every faster way must give the same bits.
///
/// O(bytes of the vocabulary).
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
    mask
}
