//! Small subtrees, read node after node. For example, below `ab` the nodes of `abcd`, `abef` and
//! `abeg` are read as they lie.

use std::ops::Range;

use crate::Cursor;
use crate::tokens::{NO_TOKEN, Trie};

/// Calls `hit` with the tokens of some nodes, all that are below another one, that may come; `path`
/// has the cursors on the way there. If `step` cannot tell where a byte leads, `deep` is called
/// with the node and the bytes that lead to it from the other one on.
///
/// As the nodes lie in memory: levels of siblings, which say where text is free, cost more
/// than they spare among so few.
pub(super) fn read_few(
    trie: &Trie,
    few: Range<usize>,
    path: &mut [Cursor],
    mut step: impl FnMut(Cursor, u8) -> Option<Cursor>,
    hit: &mut impl FnMut(u32),
    mut deep: impl FnMut(u32, &[u8]),
) {
    let nodes = trie.nodes();
    let Range { start, end } = few;
    let mut at = start;
    while at < end {
        let node = &nodes[at];
        let depth = usize::from(node.depth);
        let before = path[depth - 1];
        let Some(cursor) = step(before, node.byte) else {
            deep(at as u32, &bytes_between(trie, start, at));
            at = node.end as usize;
            continue;
        };
        if cursor.is_dead() {
            at = node.end as usize;
            continue;
        }
        if node.token != NO_TOKEN {
            hit(node.token);
        }
        path[depth] = cursor;
        at += 1;
    }
}

/// The bytes that lead to a node from above another one, both of one subtree.
fn bytes_between(trie: &Trie, from: usize, to: usize) -> Vec<u8> {
    let nodes = trie.nodes();
    let mut depth = nodes[to].depth;
    let mut bytes = Vec::new();
    for node in nodes[from..to].iter().rev() {
        if node.depth < depth {
            depth = node.depth;
            bytes.push(node.byte);
        }
    }
    bytes.reverse();
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TokenId;

    #[test]
    fn bytes_lead_from_one_node_to_another() {
        let words: [&[u8]; 5] = [b"ab", b"abcd", b"abef", b"abeg", b"ah"];
        let tokens = words.iter().zip(0..).map(|(w, id)| (TokenId::new(id), *w));
        let trie = Trie::new(tokens);
        for word in words {
            let to = trie.find(word).unwrap();
            // What comes behind the first byte, the last one aside.
            assert_eq!(bytes_between(&trie, 1, to), word[1..word.len() - 1]);
        }
    }
}
