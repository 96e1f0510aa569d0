use std::collections::HashMap;
use std::fmt::Write as _;

use super::Costs;
use crate::regex::nfa::Ranges;
use crate::{Error, Symbols};

/// The symbols of an automaton, cut into classes that it never tells apart.
///
/// A symbol is a Unicode scalar value, or a byte for [`Symbols::Bytes`]. Class
/// 0 is what no transition takes. The class of the largest symbol is called
/// "anything else" when people look at it: `[^"]` takes anything else but `"`,
/// and `[a-z]` stops at anything else.
///
/// ```
/// use fsm_index::Dfa;
///
/// let dfa = Dfa::new("[a-c]x")?;
/// let alphabet = dfa.alphabet();
/// assert_eq!(alphabet.class_of('a' as u32), alphabet.class_of('c' as u32));
/// assert_ne!(alphabet.class_of('a' as u32), alphabet.class_of('x' as u32));
/// # Ok::<(), fsm_index::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Alphabet {
    symbols: Symbols,
    /// Where each run of one class begins; the first begins at 0.
    starts: Vec<u32>,
    classes: Vec<u32>,
    len: usize,
}

impl Alphabet {
    /// The coarsest alphabet that keeps each of `sets` whole, and for each
    /// set the classes it is made of.
    pub(crate) fn new(
        symbols: Symbols,
        sets: &[Ranges],
        costs: &mut Costs<'_>,
    ) -> Result<(Self, Vec<Vec<u32>>), Error> {
        let end = symbols.end();
        let ranges: usize = sets.iter().map(|set| set.len()).sum();
        // Edges, and what they are sorted by; a run of symbols begins at each.
        costs.hold(ranges.saturating_mul(2 * (8 + 4 + 8)))?;
        costs.work(ranges.saturating_mul(4))?;
        let mut edges: Vec<(u32, u32)> = Vec::with_capacity(2 * ranges + 2);
        for (id, set) in sets.iter().enumerate() {
            for &(first, last) in set {
                edges.push((first, id as u32));
                edges.push((last + 1, id as u32));
            }
        }
        if symbols == Symbols::Chars {
            // Surrogates are no characters: they get runs of their own, so
            // that no run that reaches over them is taken for them too.
            edges.push((0xD800, u32::MAX));
            edges.push((0xE000, u32::MAX));
        }
        edges.sort_unstable();
        let words = sets.len().div_ceil(64);
        let mut signature = vec![0u64; words];
        let mut surrogate = false;
        let mut ids: HashMap<Vec<u64>, u32> = HashMap::from([(signature.clone(), 0)]);
        let mut starts = Vec::new();
        let mut classes: Vec<u32> = Vec::new();
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); sets.len()];
        let mut at = 0;
        let mut i = 0;
        while at < end {
            while i < edges.len() && edges[i].0 == at {
                match edges[i].1 {
                    u32::MAX => surrogate = !surrogate,
                    id => signature[id as usize / 64] ^= 1 << (id % 64),
                }
                i += 1;
            }
            costs.work(1 + words / 4)?;
            let class = if surrogate {
                0
            } else if let Some(&id) = ids.get(&signature) {
                id
            } else {
                let id = ids.len() as u32;
                // A list's memory grows to twice its length, as the map's does.
                costs.hold(2 * (words * 8 + 40))?;
                for (word, &bits) in signature.iter().enumerate() {
                    let mut bits = bits;
                    costs.hold(bits.count_ones() as usize * 8)?;
                    costs.work(bits.count_ones() as usize)?;
                    while bits != 0 {
                        members[word * 64 + bits.trailing_zeros() as usize].push(id);
                        bits &= bits - 1;
                    }
                }
                ids.insert(signature.clone(), id);
                id
            };
            starts.push(at);
            classes.push(class);
            at = edges.get(i).map_or(end, |e| e.0.min(end));
        }
        let len = ids.len();
        Ok((
            Alphabet {
                symbols,
                starts,
                classes,
                len,
            },
            members,
        ))
    }

    /// What a symbol is.
    pub fn symbols(&self) -> Symbols {
        self.symbols
    }

    /// How many classes there are, "anything else" included.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Always false: every symbol has a class.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The class that is called "anything else".
    pub fn anything_else(&self) -> usize {
        self.class_of(self.symbols.end() - 1)
    }

    /// The class of a code point, or of a byte for [`Symbols::Bytes`].
    pub fn class_of(&self, symbol: u32) -> usize {
        let run = self.starts.partition_point(|&s| s <= symbol);
        match run {
            0 => 0,
            run => self.classes[run - 1] as usize,
        }
    }

    /// How many runs of symbols there are.
    pub(crate) fn run_count(&self) -> usize {
        self.starts.len()
    }

    /// The runs of symbols `(first, last, class)`, in ascending order.
    pub fn runs(&self) -> impl Iterator<Item = (u32, u32, usize)> + '_ {
        (0..self.starts.len()).map(|i| {
            let end = self
                .starts
                .get(i + 1)
                .copied()
                .unwrap_or(self.symbols.end());
            (self.starts[i], end - 1, self.classes[i] as usize)
        })
    }

    /// The class of the whole of `first..=last`, if it is one.
    pub(crate) fn class_of_range(&self, first: u32, last: u32) -> Option<usize> {
        let run = self.starts.partition_point(|&s| s <= first) - 1;
        let end = self
            .starts
            .get(run + 1)
            .copied()
            .unwrap_or(self.symbols.end());
        (last < end).then(|| self.classes[run] as usize)
    }

    /// The classes as people write them: `a`, `[0-9]`, `anything else`, and
    /// nothing for a class without symbols. A label of more than `max_ranges`
    /// ranges is cut short with `..`.
    ///
    /// ```
    /// use fsm_index::Dfa;
    ///
    /// let labels = Dfa::new("A[0-9]")?.alphabet().labels(9);
    /// assert!(labels.contains(&"A".to_owned()) && labels.contains(&"[0-9]".to_owned()));
    /// # Ok::<(), fsm_index::Error>(())
    /// ```
    pub fn labels(&self, max_ranges: usize) -> Vec<String> {
        let mut ranges: Vec<Vec<(u32, u32)>> = vec![Vec::new(); self.len];
        for (first, last, class) in self.runs() {
            if self.symbols == Symbols::Chars && first == 0xD800 {
                continue; // Surrogates are no characters.
            }
            match ranges[class].last_mut() {
                Some(r) if r.1 + 1 == first => r.1 = last,
                _ => ranges[class].push((first, last)),
            }
        }
        let mut labels: Vec<String> = ranges
            .iter()
            .map(|r| self.label(r, max_ranges.max(1)))
            .collect();
        labels[self.anything_else()] = "anything else".to_owned();
        labels
    }

    fn label(&self, ranges: &[(u32, u32)], max_ranges: usize) -> String {
        match ranges {
            [] => return String::new(),
            [(first, last)] if first == last => return self.symbol(*first),
            _ => {}
        }
        let mut label = "[".to_owned();
        for &(first, last) in ranges.iter().take(max_ranges) {
            label += &self.symbol(first);
            if last > first {
                if last > first + 1 {
                    label.push('-');
                }
                label += &self.symbol(last);
            }
        }
        if ranges.len() > max_ranges {
            label += "..";
        }
        label.push(']');
        label
    }

    /// One symbol, printable whatever it is.
    pub(crate) fn symbol(&self, symbol: u32) -> String {
        let mut text = String::new();
        let shown = match self.symbols {
            Symbols::Chars => char::from_u32(symbol),
            Symbols::Bytes => char::from_u32(symbol).filter(char::is_ascii),
        };
        match shown {
            Some(' ') => text.push('␠'),
            Some(c) if c.is_ascii_graphic() || (!c.is_ascii() && c.is_alphanumeric()) => {
                text.push(c);
            }
            Some('\n') => text.push_str("\\n"),
            Some('\t') => text.push_str("\\t"),
            Some('\r') => text.push_str("\\r"),
            _ if symbol < 0x100 => {
                let _ = write!(text, "\\x{symbol:02X}");
            }
            _ => {
                let _ = write!(text, "\\u{{{symbol:X}}}");
            }
        }
        text
    }
}
