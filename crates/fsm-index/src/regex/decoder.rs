//! From bytes to classes of symbols: the UTF-8 (RFC 3629) spellings of an
//! alphabet, as a tree whose equal subtrees are stored once.
//!
//! It is kept beside an automaton over symbols instead of being multiplied
//! into it: a counted repetition of a thousand characters is then a thousand
//! states, and not a thousand copies of the spellings.
//!
//! For example, over the classes of `[a-z]` and `é` the byte 0xC3 leads to an inner node, whose
//! byte 0xA9 is the class of `é`.

/// The target of a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// No symbol has this spelling.
    Invalid,
    /// The symbol is complete, of this class.
    Class(u16),
    /// More bytes follow; nodes count from 1.
    Node(u16),
}

/// The most classes and inner nodes that a decoder may have together, so that their codes fit into
/// 16 bits.
pub(crate) const MAX_ENTRIES: usize = 65_000;

/// Reads symbols byte by byte and says their class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decoder {
    classes: u16,
    /// The codes of the entries for the first byte of a symbol: 0 is invalid,
    /// 1 to `classes` are classes, greater ones are nodes.
    first: Box<[u16; 256]>,
    /// The ranges of node n are `starts[n - 1]..starts[n]`.
    starts: Box<[u32]>,
    /// The last continuation byte of each range, less 0x80.
    lasts: Box<[u8]>,
    /// The code of what a range leads to.
    codes: Box<[u16]>,
    /// Which classes a node can lead to: `words` for each node.
    reach: Box<[u64]>,
    words: usize,
}

impl Decoder {
    /// Codes as they are stored; `nodes[n - 1]` are those of node n for the
    /// continuation bytes 80..BF, and come after the nodes that they name.
    pub(crate) fn new(classes: usize, first: &[u16; 256], nodes: &[[u16; 64]]) -> Decoder {
        debug_assert!(classes + nodes.len() <= MAX_ENTRIES);
        let mut starts = vec![0u32];
        let mut lasts = Vec::new();
        let mut codes = Vec::new();
        for entries in nodes {
            for (at, &code) in entries.iter().enumerate() {
                if at == 63 || entries[at + 1] != code {
                    lasts.push(at as u8);
                    codes.push(code);
                }
            }
            starts.push(lasts.len() as u32);
        }
        Decoder::from_parts(
            classes,
            Box::new(*first),
            starts.into(),
            lasts.into(),
            codes.into(),
        )
    }

    /// A decoder from its tables, which hang together: see [`Decoder::check`].
    pub(crate) fn from_parts(
        classes: usize,
        first: Box<[u16; 256]>,
        starts: Box<[u32]>,
        lasts: Box<[u8]>,
        codes: Box<[u16]>,
    ) -> Decoder {
        let words = classes.div_ceil(64);
        let nodes = starts.len() - 1;
        let mut reach = vec![0u64; nodes * words];
        for node in 0..nodes {
            for range in starts[node] as usize..starts[node + 1] as usize {
                match codes[range] as usize {
                    0 => {}
                    code if code <= classes => {
                        reach[node * words + (code - 1) / 64] |= 1 << ((code - 1) % 64);
                    }
                    code => {
                        let (below, own) = reach.split_at_mut(node * words);
                        let from = (code - classes - 1) * words;
                        for (own, below) in own.iter_mut().zip(&below[from..from + words]) {
                            *own |= below;
                        }
                    }
                }
            }
        }
        Decoder {
            classes: classes as u16,
            first,
            starts,
            lasts,
            codes,
            reach: reach.into(),
            words,
        }
    }

    /// Tells whether tables from a file can be given to [`Decoder::from_parts`].
    pub(crate) fn check(
        classes: usize,
        first: &[u16; 256],
        starts: &[u32],
        lasts: &[u8],
        codes: &[u16],
    ) -> bool {
        let nodes = starts.len().saturating_sub(1);
        let most = classes + nodes;
        let whole = |node: usize| {
            let lasts = &lasts[starts[node] as usize..starts[node + 1] as usize];
            lasts.last() == Some(&63) && lasts.is_sorted_by(|a, b| a < b)
        };
        let backward = |node: usize| {
            let codes = &codes[starts[node] as usize..starts[node + 1] as usize];
            codes.iter().all(|&code| (code as usize) <= classes + node)
        };
        // A character has at most four bytes, so three nodes lead to its class.
        let mut depths = vec![0u8; nodes];
        let mut shallow = |node: usize| {
            let codes = &codes[starts[node] as usize..starts[node + 1] as usize];
            let below = codes.iter().filter(|&&code| code as usize > classes);
            let below = below.map(|&code| depths[code as usize - classes - 1]);
            depths[node] = 1 + below.max().unwrap_or(0);
            depths[node] <= 3
        };
        (1..=MAX_ENTRIES).contains(&classes)
            && most <= MAX_ENTRIES
            && starts.first() == Some(&0)
            && starts.is_sorted()
            && starts.last().copied() == Some(lasts.len() as u32)
            && lasts.len() == codes.len()
            && first.iter().all(|&code| (code as usize) <= most)
            && (0..nodes).all(|node| whole(node) && backward(node) && shallow(node))
    }

    /// Returns the target of `byte` at `node`; node 0 is between two symbols.
    #[inline]
    pub(crate) fn step(&self, node: u32, byte: u8) -> Entry {
        let code = match node {
            0 => self.first[byte as usize],
            _ => self.inside(node, byte),
        };
        self.entry(code)
    }

    #[inline]
    fn entry(&self, code: u16) -> Entry {
        match code {
            0 => Entry::Invalid,
            code if code <= self.classes => Entry::Class(code - 1),
            code => Entry::Node(code - self.classes),
        }
    }

    /// Returns the targets at a node of runs of bytes, ascending: of all bytes between two symbols, and of 80 to BF
    /// inside of one.
    pub(crate) fn runs(&self, node: u32) -> impl Iterator<Item = (u8, u8, Entry)> + '_ {
        let own = match node {
            0 => 0..0,
            _ => self.starts[node as usize - 1] as usize..self.starts[node as usize] as usize,
        };
        let mut first = 0x80;
        let inside = own.map(move |at| {
            let last = self.lasts[at] | 0x80;
            let begin = std::mem::replace(&mut first, last + 1);
            (begin, last, self.entry(self.codes[at]))
        });
        let bytes = &self.first[..if node == 0 { 256 } else { 0 }];
        let between = bytes.chunk_by(|a, b| a == b);
        let mut begin = 0;
        let between = between.map(move |run| {
            let last = begin + (run.len() - 1) as u8;
            let first = std::mem::replace(&mut begin, last.wrapping_add(1));
            (first, last, self.entry(run[0]))
        });
        between.chain(inside)
    }

    /// The class of a symbol that is this one byte, if it is one.
    #[inline]
    pub(crate) fn single(&self, byte: u8) -> Option<usize> {
        let code = self.first[byte as usize].wrapping_sub(1);
        (code < self.classes).then_some(code as usize)
    }

    fn inside(&self, node: u32, byte: u8) -> u16 {
        let byte = byte ^ 0x80;
        if byte >= 64 {
            return 0;
        }
        // Each node has a range that ends with 63, so the search ends.
        let mut at = self.starts[node as usize - 1] as usize;
        while self.lasts[at] < byte {
            at += 1;
        }
        self.codes[at]
    }

    pub(crate) fn class_count(&self) -> usize {
        self.classes as usize
    }

    pub(crate) fn node_count(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the number of words that the set of classes of a node has.
    pub(crate) fn words(&self) -> usize {
        self.words
    }

    /// Which classes a node (from 1) can lead to, a bit for each.
    #[inline]
    pub(crate) fn reach(&self, node: u32) -> &[u64] {
        let at = (node as usize - 1) * self.words;
        &self.reach[at..at + self.words]
    }

    /// The tables: first bytes, starts, lasts, codes.
    pub(crate) fn parts(&self) -> (&[u16; 256], &[u32], &[u8], &[u16]) {
        (&self.first, &self.starts, &self.lasts, &self.codes)
    }

    /// Bytes of memory.
    pub(crate) fn memory(&self) -> usize {
        512 + self.starts.len() * 4 + self.lasts.len() * 3 + self.reach.len() * 8
    }
}
