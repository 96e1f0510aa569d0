//! The classes of symbols of an expression: for example, `[a-c]x` has one of `a` to `c`.

use std::fmt::Write as _;

use fsm_tables::{Ranges, Rest};

use super::Costs;
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
pub struct Alphabet(fsm_tables::Alphabet);

impl Alphabet {
    /// The coarsest alphabet that keeps each of `sets` whole, and for each
    /// set the classes it is made of.
    pub(crate) fn new(
        symbols: Symbols,
        sets: &[Ranges],
        costs: &mut Costs<'_>,
    ) -> Result<(Self, Vec<Vec<u32>>), Error> {
        let (alphabet, members) = fsm_tables::Alphabet::new(symbols, Rest::First, sets, costs)?;
        Ok((Alphabet(alphabet), members))
    }

    /// Returns the kind of the symbols.
    pub fn symbols(&self) -> Symbols {
        self.0.symbols()
    }

    /// Returns the number of classes , "anything else" included.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Always false: every symbol has a class.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The class that is called "anything else".
    pub fn anything_else(&self) -> usize {
        self.class_of(self.symbols().end() - 1)
    }

    /// The class of a code point, or of a byte for [`Symbols::Bytes`].
    pub fn class_of(&self, symbol: u32) -> usize {
        self.0.class_of(symbol).unwrap_or(0) as usize
    }

    /// Returns the number of runs of symbols.
    pub(crate) fn run_count(&self) -> usize {
        self.0.run_count()
    }

    /// The runs of symbols `(first, last, class)`, in ascending order; not those of
    /// surrogates, which are no characters.
    pub fn runs(&self) -> impl Iterator<Item = (u32, u32, usize)> + '_ {
        let runs = self.0.runs();
        runs.map(|(first, last, class)| (first, last, class as usize))
    }

    /// The same as far as they lie within `first..=last`.
    pub(crate) fn runs_within(
        &self,
        first: u32,
        last: u32,
    ) -> impl Iterator<Item = (u32, u32, u32)> + '_ {
        self.0.runs_within(first, last)
    }

    /// The class of the whole of `first..=last`, if it is one.
    pub(crate) fn class_of_range(&self, first: u32, last: u32) -> Option<usize> {
        let (_, end, class) = self.0.run(self.0.run_of(first));
        (last <= end).then_some(class as usize)
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
        let mut ranges: Vec<Vec<(u32, u32)>> = vec![Vec::new(); self.len()];
        for (first, last, class) in self.runs() {
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
        let shown = match self.symbols() {
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
