//! From symbols to bytes: the decoder of an alphabet, and the hints about text that a table over
//! characters gives for nothing. For example, the state inside of `"[^"]*"` loops over all
//! characters but one, which is a hint.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use fsm_tables::{Meter, NONE};

use super::{Alphabet, Config, Costs, Dfa, Symbols};
use crate::regex::byte_dfa::{Hints, MainText};
use crate::regex::decoder::{Decoder, MAX_ENTRIES};
use crate::tokens::CharRanges;
use crate::{ByteDfa, Error};

/// The spellings of an alphabet as a tree whose equal subtrees are shared, in
/// the codes of the [`Decoder`]: 0 is invalid, then classes, then nodes.
struct Spellings<'a> {
    alphabet: &'a Alphabet,
    first: [u16; 256],
    /// For each inner node, from node 1 on, what the continuation bytes 80..BF
    /// lead to.
    nodes: Vec<[u16; 64]>,
    ids: HashMap<[u16; 64], u16, FixedState>,
    /// The codes of the trees of one class alone, by class and depth.
    uniform: HashMap<(u16, u32), u16, FixedState>,
}

impl<'a> Spellings<'a> {
    /// `None` if there are more than [`MAX_ENTRIES`] classes and nodes.
    fn new(alphabet: &'a Alphabet) -> Option<Self> {
        let mut spellings = Spellings {
            alphabet,
            first: [0; 256],
            nodes: Vec::new(),
            ids: HashMap::default(),
            uniform: HashMap::default(),
        };
        // Unicode is 17,408 blocks of 64 code points, so codes stay below 2^16.
        if alphabet.len() > MAX_ENTRIES - 17_408 {
            return None;
        }
        let single = match alphabet.symbols() {
            Symbols::Bytes => 256,
            Symbols::Chars => 128,
        };
        for byte in 0..single {
            spellings.first[byte] = alphabet.class_of(byte as u32) as u16 + 1;
        }
        if alphabet.symbols() == Symbols::Bytes {
            return Some(spellings);
        }
        for byte in 0xC2..0xF5u32 {
            let (first, depth) = match byte {
                0xC2..0xE0 => ((byte & 0x1F) << 6, 1),
                0xE0..0xF0 => ((byte & 0x0F) << 12, 2),
                _ => ((byte & 0x07) << 18, 3),
            };
            spellings.first[byte as usize] = spellings.subtree(first, depth);
        }
        Some(spellings)
    }

    /// The tree of the code points `first..first + 64^depth`.
    fn subtree(&mut self, first: u32, depth: u32) -> u16 {
        if depth == 0 {
            let valid = char::from_u32(first).is_some();
            return match valid {
                true => self.alphabet.class_of(first) as u16 + 1,
                false => 0,
            };
        }
        let step = 64u32.pow(depth - 1);
        // Overlong spellings, surrogates and what lies above U+10FFFF are left
        // out below this level, so a range that holds any is never uniform.
        let shortest = [0x80, 0x800, 0x1_0000][depth as usize - 1];
        let last = first + step * 64 - 1;
        if first >= 0xD800 && last <= 0xDFFF {
            // Surrogates are no characters.
            return 0;
        }
        let whole = first >= shortest && last <= 0x10_FFFF && (last < 0xD800 || first > 0xDFFF);
        if whole && let Some(class) = self.alphabet.class_of_range(first, last) {
            return self.uniform(class as u16, depth);
        }
        let mut entries = [0; 64];
        if whole {
            let alphabet = self.alphabet;
            for (from, to, class) in alphabet.runs_within(first, last) {
                // The blocks that the run has whole, and one of which it has the first characters alone.
                let (begin, end) = ((from - first).div_ceil(step), (to + 1 - first) / step);
                if begin < end {
                    let own = self.uniform(class as u16, depth - 1);
                    entries[begin as usize..end as usize].fill(own);
                }
                if begin <= end && end * step + first <= to {
                    entries[end as usize] = self.subtree(end * step + first, depth - 1);
                }
            }
            return self.intern(entries);
        }
        for (entry, at) in entries.iter_mut().zip(0..) {
            let first = first + at * step;
            // Neither a shorter spelling, nor beyond the last code point.
            if first + step > shortest && first <= 0x10_FFFF {
                *entry = self.subtree(first, depth - 1);
            }
        }
        match entries == [0; 64] {
            true => 0,
            false => self.intern(entries),
        }
    }

    fn uniform(&mut self, class: u16, depth: u32) -> u16 {
        if depth == 0 {
            return class + 1;
        }
        if let Some(&code) = self.uniform.get(&(class, depth)) {
            return code;
        }
        let below = self.uniform(class, depth - 1);
        let code = self.intern([below; 64]);
        self.uniform.insert((class, depth), code);
        code
    }

    fn intern(&mut self, entries: [u16; 64]) -> u16 {
        let next = (self.alphabet.len() + self.nodes.len() + 1) as u16;
        let code = *self.ids.entry(entries).or_insert(next);
        if code == next {
            self.nodes.push(entries);
        }
        code
    }
}

impl Dfa {
    /// The same automaton over the bytes of UTF-8 text.
    ///
    /// O(states x classes), and the decoder of the alphabet.
    ///
    /// # Errors
    ///
    /// The alphabet has more than 47,000 classes, or there are so many states and places that a pair of them has
    /// no 32-bit number.
    ///
    /// ```
    /// use fsm_index::{Config, Dfa};
    ///
    /// let automaton = Dfa::new("[ä-ü]")?.to_bytes(&Config::default())?;
    /// assert!(automaton.accepts("ö") && !automaton.accepts("o"));
    /// # Ok::<(), fsm_index::Error>(())
    /// ```
    pub fn to_bytes(&self, config: &Config) -> Result<ByteDfa, Error> {
        let mut costs = Costs::new(config);
        let automaton = self.spelt(config, &mut costs)?;
        Ok(automaton.with_hints(self.text_loops(&mut costs)?))
    }

    /// The same, for a part of other automata: an index over it alone has no hints about text.
    ///
    /// # Errors
    ///
    /// As [`Dfa::to_bytes`].
    pub fn to_bytes_of_part(&self, config: &Config) -> Result<ByteDfa, Error> {
        self.spelt(config, &mut Costs::new(config))
    }

    fn spelt(&self, config: &Config, costs: &mut Costs<'_>) -> Result<ByteDfa, Error> {
        let spellings = Spellings::new(&self.alphabet)
            .ok_or_else(|| Error::limit("symbol classes", "classes", MAX_ENTRIES - 17_408))?;
        let width = self.alphabet.len();
        // Which classes a place in a spelling can lead to, and which go on from a state; the
        // cells once wide and once narrow.
        let words = width.div_ceil(64);
        costs.hold((spellings.nodes.len() + self.table.states()) * words * 8)?;
        costs.hold(self.table.cells().len() * (4 + 2))?;
        let decoder = Decoder::new(width, &spellings.first, &spellings.nodes);
        let dead = std::iter::repeat_n(0, width);
        let next = self
            .table
            .cells()
            .iter()
            .map(|&n| if n == NONE { 0 } else { n + 1 });
        let mut accepting = vec![false];
        accepting.extend_from_slice(self.table.labels());
        ByteDfa::new(decoder, dead.chain(next).collect(), &accepting, 1)
            .ok_or_else(|| Error::limit("max_states", "states", config.max_states))
    }

    /// For each state the target that takes the most characters, if they are
    /// many enough for text.
    ///
    /// # Errors
    ///
    /// So many states have text of their own that their classes take too much memory.
    fn text_loops(&self, costs: &mut Costs<'_>) -> Result<Hints, Error> {
        if self.alphabet.symbols() == Symbols::Bytes {
            return Ok(Hints {
                loops: Vec::new(),
                classes: Vec::new(),
            });
        }
        let width = self.alphabet.len();
        let mut sizes = vec![0u32; width];
        for (first, last, class) in self.alphabet.runs() {
            sizes[class] += last - first + 1;
        }
        let mut loops = vec![None];
        let mut classes = Vec::new();
        let mut ids: HashMap<Vec<u64>, u32, FixedState> = HashMap::default();
        let mut weights: HashMap<u32, u32, FixedState> = HashMap::default();
        for row in self.table.rows() {
            weights.clear();
            for (&next, size) in row.iter().zip(&sizes) {
                if next != NONE {
                    *weights.entry(next).or_default() += size;
                }
            }
            // The smaller state of equal weights, so that nothing depends on the order of the map.
            let best = weights.iter().max_by_key(|(next, size)| (**size, !**next));
            let Some((&next, _)) = best.filter(|best| *best.1 >= TEXT_CHARS) else {
                loops.push(None);
                continue;
            };
            let mut members = vec![0u64; width.div_ceil(64)];
            for (class, _) in row.iter().enumerate().filter(|cell| *cell.1 == next) {
                members[class / 64] |= 1 << (class % 64);
            }
            let class = match ids.get(&members) {
                Some(&class) => class,
                None => {
                    let ranges = self.ranges_of(&members);
                    costs.hold(members.len() * 8 + ranges.len() * 8 + 80)?;
                    costs.work(self.alphabet.run_count())?;
                    let class = classes.len() as u32;
                    classes.push(ranges);
                    ids.insert(members, class);
                    class
                }
            };
            loops.push(Some(MainText {
                class,
                next: next + 1,
            }));
        }
        Ok(Hints { loops, classes })
    }

    /// The characters of the classes that `members` has a bit for.
    fn ranges_of(&self, members: &[u64]) -> CharRanges {
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for (first, last, class) in self.alphabet.runs() {
            if members[class / 64] >> (class % 64) & 1 == 0 {
                continue;
            }
            match ranges.last_mut() {
                Some(range) if range.1 + 1 == first => range.1 = last,
                _ => ranges.push((first, last)),
            }
        }
        ranges.into()
    }
}

/// The least number of characters of a class that is text: the tokens over smaller ones (digits,
/// say) are not cut out, because they are few, and a walk finds them soon.
const TEXT_CHARS: u32 = 26;
