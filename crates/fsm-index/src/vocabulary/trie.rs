use crate::{Horizon, Reach, TokenId};

/// No token ends at a node.
pub(crate) const NO_TOKEN: u32 = u32::MAX;

/// A node of the vocabulary's trie. Nodes lie in depth-first order, so a
/// node's subtree is the nodes from itself up to `end`, and leaving a subtree
/// out is one jump.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    /// One past the last node of the subtree.
    pub(crate) end: u32,
    /// A token whose bytes end here, or [`NO_TOKEN`].
    pub(crate) token: u32,
    /// How many bytes lead here.
    pub(crate) depth: u16,
    /// The last of them.
    pub(crate) byte: u8,
}

/// The text tokens of a vocabulary by their bytes.
#[derive(Debug, Default)]
pub(crate) struct Trie {
    nodes: Vec<Node>,
    /// `(first, other)`: tokens with the same bytes; only `first` is in a node.
    duplicates: Vec<(u32, u32)>,
    max_depth: usize,
    reaches: Reaches,
    /// One more than the node of each first byte; 0 for none.
    first: Vec<u32>,
}

/// By byte.
#[derive(Debug)]
struct Reaches(Box<[Reach; 256]>);

impl Default for Reaches {
    fn default() -> Self {
        Reaches(Box::new([Reach::default(); 256]))
    }
}

impl Reaches {
    /// `counts` are zero before and after.
    fn note(&mut self, token: &[u8], counts: &mut [u16; 256]) {
        for (at, &byte) in token.iter().enumerate() {
            let count = &mut counts[usize::from(byte)];
            *count = count.saturating_add(1);
            let reach = &mut self.0[usize::from(byte)];
            reach.occurrences = reach.occurrences.max(*count);
            let behind = u16::try_from(token.len() - at).unwrap_or(u16::MAX);
            reach.behind = reach.behind.max(behind);
        }
        for &byte in token {
            counts[usize::from(byte)] = 0;
        }
    }
}

impl Trie {
    /// `tokens` need no order; tokens without bytes are left out.
    pub(crate) fn new<'a>(tokens: impl Iterator<Item = (TokenId, &'a [u8])>) -> Trie {
        let mut tokens: Vec<(&[u8], u32)> = tokens
            .filter(|(_, bytes)| !bytes.is_empty())
            .map(|(id, bytes)| (bytes, id.get()))
            .collect();
        tokens.sort_unstable();
        let mut trie = Trie::default();
        let mut open: Vec<u32> = Vec::new();
        let mut previous: &[u8] = &[];
        let mut counts = [0; 256];
        for (bytes, id) in tokens {
            trie.reaches.note(bytes, &mut counts);
            let shared = bytes
                .iter()
                .zip(previous)
                .take_while(|(a, b)| a == b)
                .count();
            if shared == bytes.len() && !previous.is_empty() && bytes.len() == previous.len() {
                let first = trie.nodes[*open.last().unwrap_or(&0) as usize].token;
                trie.duplicates.push((first, id));
                continue;
            }
            trie.close(&mut open, shared);
            for (depth, &byte) in bytes.iter().enumerate().skip(shared) {
                open.push(trie.nodes.len() as u32);
                trie.nodes.push(Node {
                    end: 0,
                    token: NO_TOKEN,
                    depth: depth as u16 + 1,
                    byte,
                });
            }
            if let Some(node) = trie.nodes.last_mut() {
                node.token = id;
            }
            trie.max_depth = trie.max_depth.max(bytes.len());
            previous = bytes;
        }
        trie.close(&mut open, 0);
        let mut first = vec![0; 256];
        for node in trie.children(None) {
            first[trie.nodes[node].byte as usize] = node as u32 + 1;
        }
        trie.first = first;
        trie
    }

    fn close(&mut self, open: &mut Vec<u32>, keep: usize) {
        let end = self.nodes.len() as u32;
        while open.len() > keep {
            if let Some(node) = open.pop() {
                self.nodes[node as usize].end = end;
            }
        }
    }

    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    pub(crate) fn duplicates(&self) -> &[(u32, u32)] {
        &self.duplicates
    }

    /// The length of the longest token in bytes.
    pub(crate) fn max_depth(&self) -> usize {
        self.max_depth
    }

    /// What no token exceeds.
    pub(crate) fn horizon(&self) -> Horizon<'_> {
        Horizon::new(self.max_depth, &self.reaches.0)
    }

    /// The children of a node, or of the root for `None`.
    pub(crate) fn children(&self, of: Option<usize>) -> Children<'_> {
        let (at, end) = match of {
            Some(node) => (node + 1, self.nodes[node].end as usize),
            None => (0, self.nodes.len()),
        };
        Children {
            nodes: &self.nodes,
            at,
            end,
        }
    }

    /// The child of a node, or of the root for `None`, by a byte.
    pub(crate) fn child(&self, of: Option<usize>, byte: u8) -> Option<usize> {
        match of {
            None => self.first[byte as usize]
                .checked_sub(1)
                .map(|at| at as usize),
            Some(_) => self
                .children(of)
                .take_while(|&child| self.nodes[child].byte <= byte)
                .find(|&child| self.nodes[child].byte == byte),
        }
    }

    /// The node that `bytes` lead to, if any token begins with them.
    pub(crate) fn find(&self, bytes: &[u8]) -> Option<usize> {
        let (&first, rest) = bytes.split_first()?;
        let mut at = self.first[first as usize].checked_sub(1)? as usize;
        for &byte in rest {
            at = self.child(Some(at), byte)?;
        }
        Some(at)
    }

    pub(crate) fn memory(&self) -> usize {
        size_of_val(self.nodes.as_slice())
            + size_of_val(self.duplicates.as_slice())
            + size_of_val(self.first.as_slice())
    }
}

/// The numbers of a node's children.
pub(crate) struct Children<'a> {
    nodes: &'a [Node],
    at: usize,
    end: usize,
}

impl Iterator for Children<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.at >= self.end {
            return None;
        }
        let child = self.at;
        self.at = self.nodes[child].end as usize;
        Some(child)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_lie_depth_first_and_know_their_end() {
        let words: [&[u8]; 6] = [b"ab", b"a", b"abc", b"", b"b", b"ab"];
        let trie = Trie::new(
            words
                .iter()
                .enumerate()
                .map(|(i, w)| (TokenId::new(i as u32), *w)),
        );
        let seen: Vec<_> = trie
            .nodes()
            .iter()
            .map(|n| (n.byte as char, n.depth, n.token, n.end))
            .collect();
        assert_eq!(
            seen,
            [
                ('a', 1, 1, 3),
                ('b', 2, 0, 3),
                ('c', 3, 2, 3),
                ('b', 1, 4, 4)
            ]
        );
        assert_eq!(trie.duplicates(), [(0, 5)]);
        assert_eq!(trie.max_depth(), 3);
        let horizon = trie.horizon();
        assert_eq!(horizon.bytes(), 3);
        assert_eq!([b'b', b'z'].map(|b| horizon.occurrences(b)), [1, 0]);
        assert_eq!([b'b', b'z'].map(|b| horizon.behind(b)), [2, 0]);
        assert_eq!(trie.find(b"ab"), Some(1));
        assert_eq!(trie.find(b"ac"), None);
        assert_eq!(trie.children(None).collect::<Vec<_>>(), [0, 3]);
    }
}
