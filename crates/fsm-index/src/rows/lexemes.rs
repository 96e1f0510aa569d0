//! How a vocabulary falls into lexemes, where some have begun.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Part;
use crate::ByteSet;
use crate::vocabulary::Trie;

/// What may come where lexemes have begun: tokens that end in them, and rests of tokens behind
/// their ends, which are a matter of the stacks.
#[derive(Debug)]
pub(crate) struct LexemePart {
    pub(crate) sure: Arc<Part>,
    pub(crate) ends: Box<[LexemeEnd]>,
    pub(crate) asks: Box<[LexemeAsk]>,
    is_wide: AtomicBool,
}

/// Tokens that end in a lexeme where the stacks are asked for them.
#[derive(Clone, Debug)]
pub(crate) struct LexemeAsk {
    /// As in [`LexemeEnd`].
    pub(crate) lexeme: u32,
    /// See [`Lexemes::told`](crate::Lexemes::told).
    pub(crate) asked: Arc<[u32]>,
    pub(crate) tokens: Arc<[u32]>,
}

/// One way in which a lexeme ends inside of tokens.
#[derive(Clone, Debug)]
pub(crate) struct LexemeEnd {
    /// Which of the lexemes it is, in the order of the key.
    pub(crate) lexeme: u32,
    /// See [`Lexemes::told`](crate::Lexemes::told).
    pub(crate) ended: Arc<[u32]>,
    pub(crate) rests: Arc<Rests>,
}

/// The rests of tokens behind lexemes that have ended in one way.
#[derive(Debug)]
pub(crate) struct Rests {
    /// No other rests of a generation have it.
    pub(crate) number: u32,
    /// Subtrees of the trie that are read from their first byte on, by that byte and node.
    nodes: Box<[u32]>,
    /// By first byte, ascending: where the nodes with it end.
    bytes: Box<[(u8, u32)]>,
    first_bytes: ByteSet,
}

impl Rests {
    /// One subtree.
    pub(crate) fn alone(node: u32, trie: &Trie) -> Rests {
        Rests::new(1 << 31 | node, vec![node], trie)
    }

    /// `nodes` need no order. The highest bit of the number is that of subtrees alone.
    pub(crate) fn new(number: u32, mut nodes: Vec<u32>, trie: &Trie) -> Rests {
        let byte = |node: u32| trie.nodes()[node as usize].byte;
        nodes.sort_unstable_by_key(|&node| (byte(node), node));
        nodes.dedup();
        let mut end = 0;
        let groups = nodes.chunk_by(|&a, &b| byte(a) == byte(b));
        let bytes = groups.map(|group| {
            end += group.len() as u32;
            (byte(group[0]), end)
        });
        let bytes: Box<[(u8, u32)]> = bytes.collect();
        let first_bytes: Vec<u8> = bytes.iter().map(|group| group.0).collect();
        Rests {
            number,
            bytes,
            first_bytes: ByteSet::of(&first_bytes),
            nodes: nodes.into(),
        }
    }

    /// Whether some rest begins with one of these bytes.
    pub(crate) fn begin_with_any(&self, bytes: ByteSet) -> bool {
        self.first_bytes.meets(bytes)
    }

    /// Each first byte, with the nodes that have it.
    pub(crate) fn by_byte(&self) -> impl Iterator<Item = (u8, &[u32])> {
        let mut from = 0;
        self.bytes.iter().map(move |&(byte, end)| {
            let nodes = &self.nodes[from..end as usize];
            from = end as usize;
            (byte, nodes)
        })
    }

    fn memory(&self) -> usize {
        size_of::<Rests>() + self.nodes.len() * 4 + self.bytes.len() * 8
    }
}

impl LexemePart {
    pub(crate) fn new(sure: Part, ends: Vec<LexemeEnd>, asks: Vec<LexemeAsk>) -> LexemePart {
        LexemePart {
            sure: Arc::new(sure),
            ends: ends.into(),
            asks: asks.into(),
            is_wide: AtomicBool::new(false),
        }
    }

    /// Whether more lexemes were met behind these than are worth following.
    pub(crate) fn is_wide(&self) -> bool {
        self.is_wide.load(Ordering::Relaxed)
    }

    pub(crate) fn set_wide(&self) {
        self.is_wide.store(true, Ordering::Relaxed);
    }

    /// Bytes of memory.
    pub(crate) fn memory(&self) -> usize {
        let end =
            |end: &LexemeEnd| size_of::<LexemeEnd>() + 4 * end.ended.len() + end.rests.memory();
        self.sure.memory() + self.ends.iter().map(end).sum::<usize>()
    }
}
