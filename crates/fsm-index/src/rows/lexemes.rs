//! The parts of rows that lexemes decide, if some have begun. For example, of the token `a)` the
//! place in a name decides that the name may end before `)`, and `)` is a rest.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Part;
use crate::tokens::{Kinds, Trie};
use crate::{ByteSet, Cursor};

/// The tokens that may come where lexemes have begun: those that end in them, and rests of tokens
/// behind their ends, which the stacks decide.
#[derive(Debug)]
pub(crate) struct LexemePart {
    pub(crate) sure: Arc<Part>,
    pub(crate) ends: Box<[LexemeEnd]>,
    pub(crate) asks: Box<[LexemeAsk]>,
    /// The free text that may come for sure beside that.
    pub(crate) free: Box<[FreeBelow]>,
    is_wide: AtomicBool,
}

/// The tokens below a node whose characters behind it are of some kinds:
/// [`Trie::tokens_within`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FreeBelow {
    pub(crate) node: u32,
    pub(crate) kinds: Kinds,
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

/// The rests of tokens behind lexemes that have ended in one way: subtrees of the trie that are
/// read from their first byte on.
#[derive(Debug)]
pub(crate) struct Rests {
    /// No other rests of a generation have it.
    pub(crate) number: u32,
    /// By first byte.
    nodes: Arc<[u32]>,
    /// By first byte, ascending.
    groups: Box<[Group]>,
    first_bytes: ByteSet,
    /// The nodes of the trie at and below them.
    size: u32,
}

/// Rests of tokens, with the cursor from which they are walked.
#[derive(Debug)]
pub(crate) struct TextRests {
    pub(crate) cursor: Cursor,
    pub(crate) rests: Arc<Rests>,
}

/// The rests with one first byte.
#[derive(Debug)]
struct Group {
    byte: u8,
    /// The end of their nodes.
    end: u32,
    /// That of their nodes, where these have much below; 0 otherwise.
    number: u32,
}

/// The same, with their nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RestGroup<'a> {
    pub(crate) byte: u8,
    pub(crate) nodes: &'a [u32],
    pub(crate) number: u32,
}

/// The size of the trie at and below some nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    /// It is quickly walked.
    Small,
    /// It is worth knowing again.
    Large,
}

/// The number of a node alone.
pub(crate) fn number_of_node(node: u32) -> u32 {
    1 << 31 | node
}

impl Rests {
    /// `nodes` need no order. `number` gives equal lists one number, below that of all nodes.
    pub(crate) fn new(
        mut nodes: Vec<u32>,
        trie: &Trie,
        size: impl Fn(&[u32]) -> Size,
        mut number: impl FnMut(&[u32]) -> (Arc<[u32]>, u32),
    ) -> Rests {
        let byte = |node: u32| trie.nodes()[node as usize].byte;
        // They come in few runs, which this sort merges.
        nodes.sort();
        nodes.dedup();
        let below = |&node: &u32| trie.nodes()[node as usize].end - node;
        let in_all = nodes.iter().map(below).sum();
        let nodes = by_byte(&nodes, byte);
        let mut end = 0;
        let groups = nodes.chunk_by(|&a, &b| byte(a) == byte(b)).map(|own| {
            end += own.len() as u32;
            let number = match (size(own), own) {
                (Size::Small, _) => 0,
                (Size::Large, &[node]) => number_of_node(node),
                (Size::Large, _) => number(own).1,
            };
            Group {
                byte: byte(own[0]),
                end,
                number,
            }
        });
        let groups: Box<[Group]> = groups.collect();
        let first_bytes: Vec<u8> = groups.iter().map(|group| group.byte).collect();
        let (nodes, number) = number(&nodes);
        Rests {
            number,
            nodes,
            groups,
            first_bytes: ByteSet::of(&first_bytes),
            size: in_all,
        }
    }

    /// Tells whether some rest begins with one of these bytes.
    pub(crate) fn begin_with_any(&self, bytes: ByteSet) -> bool {
        self.first_bytes.meets(bytes)
    }

    /// Returns the number of nodes of the trie at and below all of them.
    pub(crate) fn size(&self) -> u32 {
        self.size
    }

    /// All of their nodes.
    pub(crate) fn nodes(&self) -> &[u32] {
        &self.nodes
    }

    /// The groups of a size.
    pub(crate) fn groups(&self, size: Size) -> impl Iterator<Item = RestGroup<'_>> {
        let groups = self.all_groups();
        groups.filter(move |group| (group.number != 0) == (size == Size::Large))
    }

    /// All groups.
    pub(crate) fn all_groups(&self) -> impl Iterator<Item = RestGroup<'_>> {
        let mut from = 0;
        self.groups.iter().map(move |group| {
            let nodes = &self.nodes[from as usize..group.end as usize];
            from = group.end;
            RestGroup {
                byte: group.byte,
                nodes,
                number: group.number,
            }
        })
    }

    /// Without the nodes, of which equal rests have one list.
    fn memory(&self) -> usize {
        size_of::<Rests>() + self.groups.len() * size_of::<Group>()
    }
}

/// Nodes by their byte, each byte's in the order in which they come. O(nodes).
fn by_byte(nodes: &[u32], byte: impl Fn(u32) -> u8) -> Vec<u32> {
    let mut places = [0usize; 257];
    for &node in nodes {
        places[usize::from(byte(node)) + 1] += 1;
    }
    for at in 1..places.len() {
        places[at] += places[at - 1];
    }
    let mut sorted = vec![0; nodes.len()];
    for &node in nodes {
        let place = &mut places[usize::from(byte(node))];
        sorted[*place] = node;
        *place += 1;
    }
    sorted
}

impl LexemePart {
    pub(crate) fn new(
        sure: Part,
        free: Vec<FreeBelow>,
        ends: Vec<LexemeEnd>,
        asks: Vec<LexemeAsk>,
    ) -> LexemePart {
        LexemePart {
            free: free.into(),
            sure: Arc::new(sure),
            ends: ends.into(),
            asks: asks.into(),
            is_wide: AtomicBool::new(false),
        }
    }

    /// One that is not told, because there is too much behind ends.
    pub(crate) fn wide() -> LexemePart {
        let sure = Part::of_few(&mut [], Vec::new());
        let part = LexemePart::new(sure, Vec::new(), Vec::new(), Vec::new());
        part.set_wide();
        part
    }

    /// Nodes behind ends, without end where that is not told.
    pub(crate) fn rests(&self) -> usize {
        match self.is_wide() {
            true => usize::MAX,
            false => self.ends.iter().map(|end| end.rests.nodes.len()).sum(),
        }
    }

    /// Tells whether more lexemes were met behind these than are worth following.
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
        let free = size_of_val(&*self.free);
        self.sure.memory() + free + self.ends.iter().map(end).sum::<usize>()
    }
}
