//! From symbols to bytes: each class of characters becomes the UTF-8 (RFC
//! 3629) spellings of its members, with the tails that classes share stored
//! once.

use std::collections::HashMap;

use super::{Alphabet, Config, Dfa, NONE, Symbols};
use crate::byte_dfa::MainText;
use crate::vocabulary::CharRanges;
use crate::{ByteDfa, Cursor, Error};

/// What a byte leads to, before an automaton's states come in.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Entry {
    /// No character has this spelling.
    Invalid,
    /// The character is complete, of this class.
    Class(u32),
    /// More bytes follow.
    Node(u32),
}

/// The spellings of an alphabet as a tree whose equal subtrees are shared.
struct Spellings {
    /// 256 entries for the first byte.
    root: Vec<Entry>,
    /// For each inner node, 64 entries for the continuation bytes 80..BF.
    nodes: Vec<[Entry; 64]>,
    ids: HashMap<[Entry; 64], u32>,
}

impl Spellings {
    fn new(alphabet: &Alphabet) -> Self {
        let mut spellings = Spellings {
            root: vec![Entry::Invalid; 256],
            nodes: Vec::new(),
            ids: HashMap::new(),
        };
        if alphabet.symbols() == Symbols::Bytes {
            for byte in 0..256 {
                spellings.root[byte] = Entry::Class(alphabet.class_of(byte as u32) as u32);
            }
            return spellings;
        }
        for byte in 0..0x80 {
            spellings.root[byte] = Entry::Class(alphabet.class_of(byte as u32) as u32);
        }
        for byte in 0xC2..0xF5u32 {
            let (first, depth) = match byte {
                0xC2..0xE0 => ((byte & 0x1F) << 6, 1),
                0xE0..0xF0 => ((byte & 0x0F) << 12, 2),
                _ => ((byte & 0x07) << 18, 3),
            };
            spellings.root[byte as usize] = spellings.subtree(alphabet, first, depth);
        }
        spellings
    }

    /// The tree of the code points `first..first + 64^depth`.
    fn subtree(&mut self, alphabet: &Alphabet, first: u32, depth: u32) -> Entry {
        if depth == 0 {
            let valid = char::from_u32(first).is_some();
            return match valid {
                true => Entry::Class(alphabet.class_of(first) as u32),
                false => Entry::Invalid,
            };
        }
        let step = 64u32.pow(depth - 1);
        // Overlong spellings, surrogates and what lies above U+10FFFF are left
        // out below this level, so a range that holds any is never uniform.
        let shortest = [0x80, 0x800, 0x1_0000][depth as usize - 1];
        let last = first + step * 64 - 1;
        let whole = first >= shortest && last <= 0x10_FFFF && (last < 0xD800 || first > 0xDFFF);
        let entries = match alphabet.class_of_range(first, last.min(0x10_FFFF)) {
            Some(class) if whole => {
                let mut entry = Entry::Class(class as u32);
                for _ in 1..depth {
                    entry = self.intern([entry; 64]);
                }
                [entry; 64]
            }
            _ => {
                let mut entries = [Entry::Invalid; 64];
                for (i, entry) in entries.iter_mut().enumerate() {
                    let first = first + i as u32 * step;
                    // A shorter spelling, or no code point at all.
                    if first + step - 1 < shortest || first > 0x10_FFFF {
                        continue;
                    }
                    *entry = self.subtree(alphabet, first, depth - 1);
                }
                entries
            }
        };
        if entries.iter().all(|&e| e == Entry::Invalid) {
            return Entry::Invalid;
        }
        self.intern(entries)
    }

    fn intern(&mut self, entries: [Entry; 64]) -> Entry {
        let next = self.nodes.len() as u32;
        let id = *self.ids.entry(entries).or_insert(next);
        if id == next {
            self.nodes.push(entries);
        }
        Entry::Node(id)
    }

    /// Bytes that no node tells apart get one class; class 0 is bytes that
    /// are never valid.
    fn byte_classes(&self) -> ([u8; 256], usize) {
        let mut ids: HashMap<Vec<Entry>, u8> = HashMap::new();
        let mut classes = [0u8; 256];
        for (byte, class) in classes.iter_mut().enumerate() {
            let mut column = vec![self.root[byte]];
            if (0x80..0xC0).contains(&byte) {
                column.extend(self.nodes.iter().map(|node| node[byte - 0x80]));
            }
            // A continuation byte of no node is as good as any other byte
            // that is never valid; the padding makes the columns comparable.
            column.resize(1 + self.nodes.len(), Entry::Invalid);
            // At most 256 columns differ, so the number fits.
            let next = ids.len() as u8;
            *class = *ids.entry(column).or_insert(next);
        }
        (classes, ids.len())
    }
}

impl Dfa {
    /// The same automaton over the bytes of UTF-8 text.
    ///
    /// O(states x byte classes). States in the middle of a character are
    /// added, and shared where the characters go on alike.
    ///
    /// # Errors
    ///
    /// The table would be larger than `config.max_table_bytes`, or have more
    /// states than `config.max_states`.
    pub fn to_bytes(&self, config: &Config) -> Result<ByteDfa, Error> {
        let spellings = Spellings::new(&self.alphabet);
        let (classes, stride) = spellings.byte_classes();
        let mut representative = vec![0u8; stride];
        for byte in (0..=255u8).rev() {
            representative[classes[byte as usize] as usize] = byte;
        }
        let states = self.state_count();
        let mut build = Build {
            dfa: self,
            spellings: &spellings,
            stride,
            representative,
            config,
            // Row 0 is dead; rows 1..=states are this automaton's states.
            next: vec![0; stride * (states + 1)],
            rows: HashMap::new(),
            of: HashMap::new(),
        };
        for state in 0..states {
            for class in 0..stride {
                let entry = spellings.root[build.representative[class] as usize];
                let target = build.target(state, entry)?;
                build.next[(state + 1) * stride + class] = target;
            }
        }
        let mut next = build.next;
        let mut accepting = vec![false];
        accepting.extend_from_slice(&self.accepting);
        accepting.resize(next.len() / stride, false);
        for target in &mut next {
            *target *= stride as u32;
        }
        let (loops, loop_classes) = self.text_loops(stride);
        let automaton = ByteDfa::from_parts(classes, stride, next, accepting, stride as u32);
        Ok(automaton.with_loops(loops, loop_classes))
    }

    /// For each state the target that takes the most characters, if they are
    /// many enough for text.
    fn text_loops(&self, stride: usize) -> (Vec<Option<MainText>>, Vec<CharRanges>) {
        if self.alphabet.symbols() == Symbols::Bytes {
            return (Vec::new(), Vec::new());
        }
        let width = self.alphabet.len();
        let mut sizes = vec![0u32; width];
        for (first, last, class) in self.alphabet.runs() {
            sizes[class] += last - first + 1;
        }
        let mut loops = vec![None];
        let mut classes = Vec::new();
        let mut ids: HashMap<Vec<bool>, u32> = HashMap::new();
        let mut weights: HashMap<u32, u32> = HashMap::new();
        for row in self.next.chunks_exact(width) {
            weights.clear();
            for (&next, size) in row.iter().zip(&sizes) {
                if next != NONE {
                    *weights.entry(next).or_default() += size;
                }
            }
            // Of equal weights the smaller state, so that nothing depends on
            // the order of the map.
            let best = weights.iter().max_by_key(|(next, size)| (**size, !**next));
            let Some((&next, _)) = best.filter(|best| *best.1 >= TEXT_CHARS) else {
                loops.push(None);
                continue;
            };
            let members: Vec<bool> = row.iter().map(|&n| n == next).collect();
            let id = ids.len() as u32;
            let class = *ids.entry(members).or_insert_with_key(|members| {
                let runs = self.alphabet.runs().filter(|run| members[run.2]);
                classes.push(runs.map(|run| (run.0, run.1)).collect());
                id
            });
            let next = Cursor((next + 1) * stride as u32);
            loops.push(Some(MainText { class, next }));
        }
        (loops, classes)
    }
}

/// A class of at least so many characters is text: the tokens over smaller
/// ones (digits, say) are few, and a walk finds them soon.
const TEXT_CHARS: u32 = 26;

struct Build<'a> {
    dfa: &'a Dfa,
    spellings: &'a Spellings,
    stride: usize,
    representative: Vec<u8>,
    config: &'a Config,
    next: Vec<u32>,
    /// Rows of states in the middle of a character, by what they hold.
    rows: HashMap<Box<[u32]>, u32>,
    /// The row of a state and a node, once known.
    of: HashMap<(u32, u32), u32>,
}

impl Build<'_> {
    /// The row that an entry leads to from a state; 0 is dead.
    fn target(&mut self, state: usize, entry: Entry) -> Result<u32, Error> {
        let node = match entry {
            Entry::Invalid => return Ok(0),
            Entry::Class(class) => {
                let next = self.dfa.next[state * self.dfa.alphabet.len() + class as usize];
                return Ok(if next == NONE { 0 } else { next + 1 });
            }
            Entry::Node(node) => node,
        };
        if let Some(&row) = self.of.get(&(state as u32, node)) {
            return Ok(row);
        }
        let entries = &self.spellings.nodes[node as usize];
        let mut row = vec![0u32; self.stride];
        let uniform = entries.iter().all(|e| e == &entries[0]);
        let shared = match uniform {
            true => Some(self.target(state, entries[0])?),
            false => None,
        };
        for (class, cell) in row.iter_mut().enumerate() {
            let byte = self.representative[class];
            if (0x80..0xC0).contains(&byte) {
                *cell = match shared {
                    Some(target) => target,
                    None => self.target(state, entries[byte as usize - 0x80])?,
                };
            }
        }
        let id = if row.iter().all(|&t| t == 0) {
            0
        } else if let Some(&id) = self.rows.get(row.as_slice()) {
            id
        } else {
            let id = self.next.len() / self.stride;
            if id > self.config.max_states {
                return Err(Error::limit("max_states", "states", self.config.max_states));
            }
            let bytes = (self.next.len() + self.stride) * 4;
            if bytes > self.config.max_table_bytes.min(u32::MAX as usize) {
                return Err(Error::limit(
                    "max_table_bytes",
                    "bytes",
                    self.config.max_table_bytes,
                ));
            }
            self.next.extend_from_slice(&row);
            self.rows.insert(row.into(), id as u32);
            id as u32
        };
        self.of.insert((state as u32, node), id);
        Ok(id)
    }
}
