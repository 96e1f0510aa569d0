//! Classes of symbols. For example, for the ranges `a-z` and `a-f` the letters fall into `a-f`,
//! `g-z` and the rest.

use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::{Meter, NONE, Ranges, packed};

/// The symbols of an automaton.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Symbols {
    /// Unicode scalar values. Fast for large classes; the language must be
    /// UTF-8 text.
    #[default]
    Chars,
    /// Bytes. Needed for patterns such as `(?-u:\xFF)`.
    Bytes,
}

impl Symbols {
    /// One more than the largest symbol.
    pub fn end(self) -> u32 {
        match self {
            Symbols::Chars => 0x11_0000,
            Symbols::Bytes => 0x100,
        }
    }
}

/// The number of the class whose symbols no set holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// It is class 0, even where there are no such symbols.
    First,
    /// As others are: by the first of its symbols, if there is one.
    AsMet,
}

/// The symbols of automata, cut into classes that these never tell apart.
///
/// Classes are numbered by their first symbols. Surrogates, which are no characters, have
/// none.
///
/// ```
/// use fsm_tables::{Alphabet, Rest, Symbols, Unlimited};
///
/// let digits = Box::from([(48, 57)]);
/// let hex = Box::from([(48, 57), (97, 102)]);
/// let (alphabet, members) = Alphabet::new(Symbols::Bytes, Rest::First, &[digits, hex], &mut Unlimited)?;
/// assert_eq!(alphabet.len(), 3);
/// assert_eq!(alphabet.class_of(u32::from(b'0')), Some(1));
/// assert_eq!(alphabet.class_of(u32::from(b'f')), Some(2));
/// assert_eq!(alphabet.class_of(u32::from(b'x')), Some(0));
/// assert_eq!(members, [vec![1], vec![1, 2]]);
/// # Ok::<(), std::convert::Infallible>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alphabet {
    symbols: Symbols,
    /// The first symbol of each run of one class; that of the first run is 0.
    starts: Vec<u32>,
    /// The class of each run, [`NONE`] for surrogates.
    classes: Vec<u32>,
    len: usize,
}

/// The bytes that a run takes while classes are found, because its edges are kept before they are
/// sorted, its start and its class twice, and for each class that it may be the facts that are
/// known.
const RUN_BYTES: usize = 40;

/// The bytes that a class takes among the members of a set, because the list grows to twice its
/// length.
const MEMBER_BYTES: usize = 8;

impl Alphabet {
    /// The coarsest alphabet that keeps each of `sets` whole, and for each set the classes
    /// that it is made of, in ascending order.
    ///
    /// Each set cuts the classes of its runs in two (as partitions are refined by Paige and
    /// Tarjan, "Three Partition Refinement Algorithms", 1987). Time and memory are as the
    /// runs in all sets together.
    ///
    /// # Errors
    ///
    /// The errors are those of the meter.
    pub fn new<M: Meter>(
        symbols: Symbols,
        rest: Rest,
        sets: &[Ranges],
        meter: &mut M,
    ) -> Result<(Alphabet, Vec<Vec<u32>>), M::Error> {
        let ranges: usize = sets.iter().map(|set| set.len()).sum();
        meter.hold(ranges.saturating_mul(2 * RUN_BYTES))?;
        meter.work(ranges.saturating_mul(4))?;
        let mut starts = first_starts(symbols);
        let edges = sets.iter().flat_map(|set| set.iter());
        starts.extend(edges.flat_map(|&(first, last)| [first, last + 1]));
        starts.retain(|start| *start < symbols.end());
        // The edges of each set ascend, which a sort that merges makes use of.
        starts.sort();
        starts.dedup();
        let mut classes = vec![0u32; starts.len()];
        // For each class the number of its runs, the number of those that the set has, and the
        // class of these.
        let mut cuts = vec![(starts.len(), 0usize, 0u32)];
        let mut met: Vec<u32> = Vec::new();
        for set in sets {
            for runs in runs_of(set, &starts) {
                // They lie side by side.
                meter.work(runs.len() / 4 + 1)?;
                for run in runs {
                    let class = classes[run];
                    let cut = &mut cuts[class as usize];
                    cut.1 += 1;
                    if cut.1 == 1 {
                        met.push(class);
                    }
                }
            }
            for class in met.drain(..) {
                let fresh = cuts.len() as u32;
                let cut = &mut cuts[class as usize];
                let inside = std::mem::take(&mut cut.1);
                cut.2 = class;
                // The first class remains that of what no set has.
                if inside < cut.0 || class == 0 {
                    cut.0 -= inside;
                    cut.2 = fresh;
                    cuts.push((inside, 0, fresh));
                }
            }
            for run in runs_of(set, &starts).flatten() {
                classes[run] = cuts[classes[run] as usize].2;
            }
        }
        // They are numbered by their first runs.
        let mut numbers = vec![NONE; cuts.len()];
        let mut len = 0;
        if rest == Rest::First {
            numbers[0] = 0;
            len = 1;
        }
        for (start, class) in starts.iter().zip(&mut classes) {
            if is_surrogate(symbols, *start) {
                *class = NONE;
                continue;
            }
            let number = &mut numbers[*class as usize];
            if *number == NONE {
                *number = len;
                len += 1;
            }
            *class = *number;
        }
        let mut members = Vec::with_capacity(sets.len());
        let mut last_set = vec![usize::MAX; len as usize];
        for (id, set) in sets.iter().enumerate() {
            let mut of_set: Vec<u32> = Vec::new();
            for &class in runs_of(set, &starts).flat_map(|runs| &classes[runs]) {
                if class != NONE && std::mem::replace(&mut last_set[class as usize], id) != id {
                    of_set.push(class);
                }
            }
            meter.hold(of_set.len() * MEMBER_BYTES)?;
            of_set.sort_unstable();
            members.push(of_set);
        }
        let alphabet = Alphabet {
            symbols,
            starts,
            classes,
            len: len as usize,
        };
        Ok((alphabet, members))
    }

    /// The symbols that none of several alphabets of characters tells apart, and for each of
    /// these which of its classes each class is. Time is as their runs.
    ///
    /// ```
    /// use fsm_tables::{Alphabet, Rest, Symbols, Unlimited};
    ///
    /// let of = |first, last| {
    ///     let sets = [Box::from([(first, last)])];
    ///     Alphabet::new(Symbols::Chars, Rest::AsMet, &sets, &mut Unlimited)
    /// };
    /// let (digits, _) = of(48, 57)?;
    /// let (ascii, _) = of(0, 127)?;
    /// let (both, classes) = Alphabet::common(&[&digits, &ascii]);
    /// assert_eq!(both.len(), 3);
    /// let five = both.class_of(u32::from('5')).unwrap() as usize;
    /// assert_eq!(Some(classes[0][five]), digits.class_of(u32::from('5')));
    /// assert_eq!(Some(classes[1][five]), ascii.class_of(u32::from('5')));
    /// # Ok::<(), std::convert::Infallible>(())
    /// ```
    pub fn common(all: &[&Alphabet]) -> (Alphabet, Vec<Vec<u32>>) {
        if let [one] = all {
            let same = (0..one.len as u32).collect();
            return ((*one).clone(), vec![same]);
        }
        let symbols = all.first().map_or(Symbols::Chars, |one| one.symbols);
        let mut starts = first_starts(symbols);
        starts.extend(all.iter().flat_map(|one| &one.starts));
        starts.sort_unstable();
        starts.dedup();
        let class = |start: &u32| match is_surrogate(symbols, *start) {
            true => NONE,
            false => 0,
        };
        let mut classes: Vec<u32> = starts.iter().map(class).collect();
        let mut len = 1;
        let mut known: FxHashMap<u64, u32> = FxHashMap::default();
        for one in all {
            known.clear();
            for (class, own) in classes.iter_mut().zip(one.along(&starts)) {
                if *class != NONE {
                    let fresh = known.len() as u32;
                    *class = *known.entry(packed(*class, own)).or_insert(fresh);
                }
            }
            len = known.len();
        }
        let own_classes = |one: &&Alphabet| {
            let mut of_class = vec![0; len];
            for (class, own) in classes.iter().zip(one.along(&starts)) {
                if *class != NONE {
                    of_class[*class as usize] = own;
                }
            }
            of_class
        };
        let of_classes = all.iter().map(own_classes).collect();
        let common = Alphabet {
            symbols,
            starts,
            classes,
            len,
        };
        (common, of_classes)
    }

    /// The class of each of some runs, of which none is cut by a run here.
    fn along(&self, starts: &[u32]) -> impl Iterator<Item = u32> {
        let mut at = 0;
        starts.iter().map(move |start| {
            while self.starts.get(at + 1).is_some_and(|next| next <= start) {
                at += 1;
            }
            self.classes[at]
        })
    }

    /// Returns the kind of the symbols.
    pub fn symbols(&self) -> Symbols {
        self.symbols
    }

    /// Returns the number of classes.
    #[allow(clippy::len_without_is_empty, reason = "no alphabet is empty")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns the first symbol of each run of one class, and its class: [`NONE`] for surrogates.
    pub fn tables(&self) -> (&[u32], &[u32]) {
        (&self.starts, &self.classes)
    }

    /// The alphabet of which [`Alphabet::tables`] are these; `None` if they are of none.
    ///
    /// ```
    /// use fsm_tables::{Alphabet, Symbols};
    ///
    /// let hex = Alphabet::from_tables(Symbols::Bytes, vec![0, 48, 58], vec![0, 1, 0]);
    /// assert_eq!(hex.unwrap().class_of(50), Some(1));
    /// assert!(Alphabet::from_tables(Symbols::Bytes, vec![7], vec![0]).is_none());
    /// ```
    pub fn from_tables(symbols: Symbols, starts: Vec<u32>, classes: Vec<u32>) -> Option<Alphabet> {
        let known = classes.iter().filter(|class| **class != NONE);
        let len = known.max().map_or(0, |last| *last as usize + 1);
        let is_one = starts.first() == Some(&0)
            && starts.len() == classes.len()
            && starts.is_sorted_by(|a, b| a < b)
            && starts.last() < Some(&symbols.end())
            && len <= starts.len() + 1;
        is_one.then_some(Alphabet {
            symbols,
            starts,
            classes,
            len,
        })
    }

    /// The class of a symbol; a surrogate has none. O(log of the runs).
    #[inline]
    pub fn class_of(&self, symbol: u32) -> Option<u32> {
        let class = self.classes[self.run_of(symbol)];
        (class != NONE).then_some(class)
    }

    /// The number of the run that a symbol is in. O(log of the runs).
    #[inline]
    pub fn run_of(&self, symbol: u32) -> usize {
        self.starts.partition_point(|start| *start <= symbol) - 1
    }

    /// Returns the number of runs.
    pub fn run_count(&self) -> usize {
        self.starts.len()
    }

    /// The first and the last symbol of a run, and its class; [`NONE`] for surrogates.
    ///
    /// # Panics
    ///
    /// There are not so many runs.
    #[inline]
    pub fn run(&self, number: usize) -> (u32, u32, u32) {
        let next = self.starts.get(number + 1).copied();
        let end = next.unwrap_or(self.symbols.end());
        (self.starts[number], end - 1, self.classes[number])
    }

    /// All runs `(first, last, class)` that have a class, in ascending order.
    ///
    /// ```
    /// use fsm_tables::{Alphabet, Rest, Symbols, Unlimited};
    ///
    /// let sets = [Box::from([(97, 122)])];
    /// let (alphabet, _) = Alphabet::new(Symbols::Chars, Rest::AsMet, &sets, &mut Unlimited)?;
    /// let runs: Vec<_> = alphabet.runs().take(2).collect();
    /// assert_eq!(runs, [(0, 96, 0), (97, 122, 1)]);
    /// # Ok::<(), std::convert::Infallible>(())
    /// ```
    pub fn runs(&self) -> impl Iterator<Item = (u32, u32, u32)> + '_ {
        self.runs_within(0, self.symbols.end() - 1)
    }

    /// The same as far as they lie within `first..=last`.
    pub fn runs_within(&self, first: u32, last: u32) -> impl Iterator<Item = (u32, u32, u32)> + '_ {
        let all = (self.run_of(first)..self.starts.len()).map(|number| self.run(number));
        let within = all.take_while(move |run| run.0 <= last);
        let with_class = within.filter(|run| run.2 != NONE);
        with_class.map(move |run| (run.0.max(first), run.1.min(last), run.2))
    }
}

/// Returns the numbers of the runs that each range of a set has, which ascend as the ranges do.
fn runs_of<'a>(
    set: &'a [(u32, u32)],
    starts: &'a [u32],
) -> impl Iterator<Item = Range<usize>> + 'a {
    let mut at = 0;
    set.iter().map(move |&(first, last)| {
        let from = seek(starts, at, first);
        at = seek(starts, from, last + 1);
        from..at
    })
}

/// Returns the place of the first start that is not below a symbol, from a place on. Most lie near: steps that double
/// find it (Bentley and Yao, 1976).
fn seek(starts: &[u32], from: usize, symbol: u32) -> usize {
    let mut step = 1;
    while starts
        .get(from + step - 1)
        .is_some_and(|start| *start < symbol)
    {
        step *= 2;
    }
    let begin = from + step / 2;
    let end = starts.len().min(from + step - 1);
    begin + starts[begin..end].partition_point(|start| *start < symbol)
}

/// Returns the places at which runs begin in each alphabet, because a run that reached over
/// surrogates would be taken for them too.
fn first_starts(symbols: Symbols) -> Vec<u32> {
    match symbols {
        Symbols::Chars => vec![0, SURROGATES, 0xE000],
        Symbols::Bytes => vec![0],
    }
}

/// The first code point that is no character: runs are cut there, because automata of characters
/// have no surrogates.
const SURROGATES: u32 = 0xD800;

fn is_surrogate(symbols: Symbols, start: u32) -> bool {
    symbols == Symbols::Chars && (SURROGATES..0xE000).contains(&start)
}
