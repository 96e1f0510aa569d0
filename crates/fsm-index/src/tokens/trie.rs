//! The vocabulary as a trie, in depth-first order. For example, `ab` and `ac` are children of the
//! node of `a`.

use std::ops::Range;
use std::sync::OnceLock;

use super::kinds::{AllBelow, Below, ByKinds, Kinds};
use super::name_heads::NameHeads;
use crate::{ByteSet, Horizon, NameMarks, Reach, TokenId};

/// The mark of a node at which no token ends: the largest number, because vocabularies are far
/// smaller.
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
    /// The number of its first child, or of the next one in the order of parents: see [`Siblings`].
    children: u32,
    /// The number of bytes that lead here.
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
    /// The tokens of the nodes, in their order.
    order: Vec<u32>,
    max_depth: usize,
    reaches: Reaches,
    /// With what names begin that are written so, once that was asked for.
    name_heads: OnceLock<(NameMarks, NameHeads)>,
    /// By byte, how often a token has it at most, once that was asked for.
    most_of: OnceLock<Box<[u16; 256]>>,
    /// The last bytes of all children, a node's ascending.
    child_bytes: Vec<u8>,
    children: Vec<Child>,
    below: AllBelow,
    /// Its tokens by their characters, once they were asked for.
    by_kinds: OnceLock<ByKinds>,
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
    /// `met` holds how often each byte was met and where first: all zero before and after.
    fn note(&mut self, token: &[u8], met: &mut [(u16, usize); 256]) {
        let length = |bytes: usize| u16::try_from(bytes).unwrap_or(u16::MAX);
        for (at, &byte) in token.iter().enumerate() {
            let (count, first) = &mut met[usize::from(byte)];
            *count = count.saturating_add(1);
            if *count == 1 {
                *first = at;
            }
            let reach = &mut self.0[usize::from(byte)];
            reach.occurrences = reach.occurrences.max(*count);
            reach.behind = reach.behind.max(length(token.len() - at));
            reach.before = reach.before.max(length(at));
            reach.apart = reach.apart.max(length(at - *first));
        }
        for &byte in token {
            met[usize::from(byte)] = (0, 0);
        }
    }
}

/// The part of a trie that is walked.
#[derive(Clone, Copy)]
pub(crate) struct Area<'a> {
    pub(crate) trie: &'a Trie,
    /// Ranges of nodes that are left out, ascending, whole subtrees.
    pub(crate) skip: &'a [(u32, u32)],
}

impl<'a> Area<'a> {
    /// All of it.
    pub(crate) fn all(trie: &'a Trie) -> Area<'a> {
        Area { trie, skip: &[] }
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
        let mut met = [(0, 0); 256];
        for (bytes, id) in tokens {
            trie.reaches.note(bytes, &mut met);
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
                    children: 0,
                    depth: depth as u16 + 1,
                    byte,
                });
            }
            if let Some(node) = trie.nodes.last_mut() {
                node.token = id;
                trie.order.push(id);
            }
            trie.max_depth = trie.max_depth.max(bytes.len());
            previous = bytes;
        }
        trie.close(&mut open, 0);
        let (below, by_node) = AllBelow::new(&trie.nodes);
        trie.below = below;
        trie.list_children(&by_node);
        trie
    }

    /// A walk goes from node to node, but who looks for one byte would have to go
    /// past all children before.
    fn list_children(&mut self, below: &[Below]) {
        let count = self.nodes.len();
        let mut parents: Vec<u32> = Vec::with_capacity(count);
        let mut open: Vec<u32> = vec![0];
        let mut starts = vec![0u32; count + 2];
        for (at, node) in (1..).zip(&self.nodes) {
            open.truncate(usize::from(node.depth));
            let parent = open.last().copied().unwrap_or(0);
            parents.push(parent);
            starts[parent as usize + 1] += 1;
            open.push(at);
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut free = starts.clone();
        self.child_bytes = vec![0; count];
        self.children = vec![Child::default(); count];
        for (at, (node, parent)) in (0..).zip(self.nodes.iter().zip(parents)) {
            let place = &mut free[parent as usize];
            self.child_bytes[*place as usize] = node.byte;
            let first = starts[at as usize + 1];
            let Below { kinds, longest } = below[at as usize];
            self.children[*place as usize] = Child {
                kinds,
                node: at,
                token: node.token,
                first,
                count: (starts[at as usize + 2] - first) as u16,
                longest,
            };
            *place += 1;
        }
        for (node, start) in self.nodes.iter_mut().zip(&starts[1..]) {
            node.children = *start;
        }
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

    /// The tokens of the nodes, in their order.
    pub(crate) fn order(&self) -> &[u32] {
        &self.order
    }

    pub(crate) fn duplicates(&self) -> &[(u32, u32)] {
        &self.duplicates
    }

    /// The length of the longest token in bytes.
    pub(crate) fn max_depth(&self) -> usize {
        self.max_depth
    }

    /// Returns the bounds that no token exceeds.
    pub(crate) fn horizon(&self) -> Horizon<'_> {
        Horizon::of_trie(self, self.max_depth, &self.reaches.0)
    }

    /// Returns the number of some bytes that one token has, at most: for example, two brackets
    /// that open where `[[` is the token with most of them. The bytes are counted one by one, so
    /// that it may be fewer. O(nodes) when first asked.
    pub(crate) fn most_of(&self, bytes: &[u8]) -> usize {
        let most = self.most_of.get_or_init(|| {
            let mut most = Box::new([0u16; 256]);
            // The bytes on the way to a node, and how often each is among them: each node is on the way to a token.
            let mut counts = [0u16; 256];
            let mut path: Vec<u8> = Vec::with_capacity(self.max_depth);
            for node in &self.nodes {
                for left in path.drain(usize::from(node.depth) - 1..) {
                    counts[usize::from(left)] -= 1;
                }
                path.push(node.byte);
                let byte = usize::from(node.byte);
                counts[byte] += 1;
                most[byte] = most[byte].max(counts[byte]);
            }
            most
        });
        bytes
            .iter()
            .map(|&byte| usize::from(most[usize::from(byte)]))
            .sum()
    }

    /// With what names of members begin in tokens: see [`Horizon::name_heads`].
    pub(crate) fn name_heads(&self, marks: &NameMarks) -> Option<ByteSet> {
        let (known, heads) = self.name_heads.get_or_init(|| {
            let mut heads = NameHeads::default();
            let mut token = Vec::with_capacity(self.max_depth);
            for node in &self.nodes {
                token.truncate(usize::from(node.depth) - 1);
                token.push(node.byte);
                if node.token != NO_TOKEN {
                    heads.note(&token, marks);
                }
            }
            (*marks, heads)
        });
        (known == marks).then(|| heads.get()).flatten()
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

    /// The children of all nodes, each node's side by side.
    pub(crate) fn siblings(&self) -> Siblings<'_> {
        Siblings {
            nodes: &self.nodes,
            bytes: &self.child_bytes,
            children: &self.children,
        }
    }

    /// The children of a node, or of the root for `None`, with their bytes, each with where its
    /// subtree ends: that is where the next one begins.
    pub(crate) fn subtrees(&self, of: Option<usize>) -> impl Iterator<Item = (Child, u8, u32)> {
        let children = self.siblings().of(of);
        let children = children.start as usize..children.end as usize;
        let last = of.map_or(self.nodes.len() as u32, |node| self.nodes[node].end);
        let all = &self.children[children.clone()];
        let starts = all.iter().skip(1).map(|child| child.node);
        let ends = starts.chain([last]);
        let bytes = self.child_bytes[children].iter();
        let all = all.iter().zip(bytes).zip(ends);
        all.map(|((child, byte), end)| (*child, *byte, end))
    }

    pub(crate) fn below(&self) -> &AllBelow {
        &self.below
    }

    /// Its tokens by their characters.
    pub(crate) fn by_kinds(&self) -> &ByKinds {
        self.by_kinds.get_or_init(|| ByKinds::new(&self.nodes))
    }

    /// The tokens of a node and below it that have so many characters at most. O(tokens).
    pub(crate) fn tokens_below(&self, node: usize, most: usize) -> impl Iterator<Item = u32> {
        let below = &self.below;
        let end = self.nodes[node].end as usize;
        let before = |node| below.before(node).unwrap_or(self.order.len());
        let tokens = before(node)..before(end);
        let all = self.order[tokens.clone()]
            .iter()
            .zip(&below.chars()[tokens]);
        let short = all.filter(move |(_, chars)| usize::from(**chars) <= most);
        short.map(|(token, _)| *token)
    }

    /// Calls `hit` with the tokens in the subtrees below a node, the largest ones, that have
    /// characters of some kinds alone, and to which no others lead. O(such tokens, and the nodes
    /// on the way).
    pub(crate) fn tokens_within(&self, node: u32, kinds: Kinds, mut hit: impl FnMut(u32)) {
        let siblings = self.siblings();
        let mut open = vec![siblings.of(Some(node as usize))];
        while let Some(children) = open.pop() {
            for child in children {
                let child = siblings.child(child as usize);
                let node = child.node as usize;
                if child.kinds.are_within(kinds) {
                    self.tokens_below(node, usize::MAX).for_each(&mut hit);
                } else if self.below.leads_within(node, kinds) {
                    open.push(child.children());
                }
            }
        }
    }

    /// The node that `bytes` lead to, if any token begins with them.
    pub(crate) fn find(&self, bytes: &[u8]) -> Option<usize> {
        let siblings = self.siblings();
        let mut at = None;
        let mut children = siblings.of(None);
        for &byte in bytes {
            let child = siblings.find(children, byte)?;
            at = Some(child.node as usize);
            children = child.children();
        }
        at
    }

    pub(crate) fn memory(&self) -> usize {
        size_of_val(self.nodes.as_slice())
            + size_of_val(self.duplicates.as_slice())
            + size_of_val(self.order.as_slice())
            + size_of_val(self.child_bytes.as_slice())
            + size_of_val(self.children.as_slice())
            + self.below.memory()
            + self.by_kinds.get().map_or(0, ByKinds::memory)
    }
}

/// The children of the nodes of a trie, each node's side by side and their bytes
/// ascending: to look for those by which a text goes on, the others' nodes, which lie far
/// apart, need not be touched.
#[derive(Clone, Copy)]
pub(crate) struct Siblings<'a> {
    nodes: &'a [Node],
    bytes: &'a [u8],
    children: &'a [Child],
}

/// A node among those of the same parent, with what a walk wants of it: half a line of a
/// cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(align(32))]
pub(crate) struct Child {
    /// The kinds of the characters that end at the node or below it.
    pub(crate) kinds: Kinds,
    pub(crate) node: u32,
    /// As in [`Node`].
    pub(crate) token: u32,
    /// The number of its own first child.
    first: u32,
    /// The number of children that it has.
    count: u16,
    /// The number of characters that the longest token at the node or below it has: see
    /// [`chars`](super::chars).
    pub(crate) longest: u16,
}

impl Child {
    /// The numbers of its children.
    #[inline]
    pub(crate) fn children(&self) -> Range<u32> {
        self.first..self.first + u32::from(self.count)
    }
}

const _: () = assert!(size_of::<Child>() == 32);

impl<'a> Siblings<'a> {
    /// The numbers of the children of a node, or of the root's for `None`.
    pub(crate) fn of(self, node: Option<usize>) -> Range<u32> {
        let end = self.bytes.len() as u32;
        let start = |at: usize| self.nodes.get(at).map_or(end, |node| node.children);
        match node {
            Some(node) => start(node)..start(node + 1),
            None => 0..start(0),
        }
    }

    /// Returns the child with a byte, among children by their numbers. O(log children).
    #[inline]
    pub(crate) fn find(self, children: Range<u32>, byte: u8) -> Option<Child> {
        let bytes = &self.bytes[children.start as usize..children.end as usize];
        let at = bytes.binary_search(&byte).ok()?;
        Some(self.children[children.start as usize + at])
    }

    /// By the number of a child, its byte.
    #[inline]
    pub(crate) fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    #[inline]
    pub(crate) fn child(self, number: usize) -> Child {
        self.children[number]
    }

    /// By the number of a child.
    #[inline]
    pub(crate) fn all(self) -> &'a [Child] {
        self.children
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
    fn children_lie_side_by_side() {
        let words: [&[u8]; 5] = [b"ab", b"ac", b"b", b"ca", b"d"];
        let tokens = words.iter().zip(0..).map(|(w, id)| (TokenId::new(id), *w));
        let trie = Trie::new(tokens);
        let siblings = trie.siblings();
        // a, ab, ac, b, c, ca, d.
        let of = |children: Range<u32>| {
            let children = children.map(|child| child as usize);
            let child = |child: usize| (siblings.bytes()[child], siblings.child(child).node);
            children.map(child).collect::<Vec<_>>()
        };
        assert_eq!(
            of(siblings.of(None)),
            [(b'a', 0), (b'b', 3), (b'c', 4), (b'd', 6)]
        );
        assert_eq!(of(siblings.child(0).children()), [(b'b', 1), (b'c', 2)]);
        assert_eq!(of(siblings.child(3).children()), []);
        assert!(Trie::default().siblings().of(None).is_empty());
        let subtrees = |of| {
            let all = trie.subtrees(of);
            all.map(|(child, byte, end)| (byte, child.node, end))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            subtrees(None),
            [(b'a', 0, 3), (b'b', 3, 4), (b'c', 4, 6), (b'd', 6, 7)]
        );
        assert_eq!(subtrees(Some(0)), [(b'b', 1, 2), (b'c', 2, 3)]);
        assert_eq!(subtrees(Some(6)), []);
    }

    #[test]
    fn the_last_of_a_byte_counts() {
        let trie = Trie::new([(TokenId::new(0), &b"xayaz"[..])].into_iter());
        let horizon = trie.horizon();
        assert_eq!([b'a', b'z', b'b'].map(|b| horizon.before(b)), [3, 4, 0]);
        assert_eq!([b'a', b'z', b'b'].map(|b| horizon.apart(b)), [2, 0, 0]);
    }

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
        assert_eq!([b'c', b'a'].map(|b| horizon.before(b)), [2, 0]);
        assert_eq!(trie.find(b"ab"), Some(1));
        assert_eq!(trie.find(b"ac"), None);
        assert_eq!(trie.find(b"abc"), Some(2));
        assert_eq!(
            [&b"b"[..], b"c", b"bb"].map(|b| trie.find(b)),
            [Some(3), None, None]
        );
        assert_eq!(Trie::default().find(b"a"), None);
        assert_eq!(trie.children(None).collect::<Vec<_>>(), [0, 3]);
    }
}
