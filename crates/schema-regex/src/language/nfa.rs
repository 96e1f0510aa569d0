//! Nondeterministic automata over classes of code points (Thompson, 1968), in few
//! lists: a state has at most one class that it reads.

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};
use rustc_hash::FxHashMap;

use crate::budget::Limit;
use crate::budget::TooBig;
use crate::language::pairs::packed;
use crate::language::re::{CharSet, Re};

/// Code points that no class of some expressions tells apart, numbered.
#[derive(Clone, Debug)]
pub(crate) struct Alphabet {
    /// Starts of the intervals, ascending, the first 0.
    pub(crate) starts: Vec<u32>,
    /// The symbol of each interval, numbered as they appear; [`NONE`] for surrogates.
    pub(crate) symbols: Vec<u32>,
    /// How many symbols there are.
    pub(crate) width: usize,
}

impl Alphabet {
    pub(crate) fn new(re: &Re, limit: Limit<'_>) -> Result<Self, TooBig> {
        let mut classes: Vec<&CharSet> = Vec::new();
        collect_classes(re, &mut classes);
        classes.sort_unstable_by(|a, b| a.ranges().cmp(b.ranges()));
        classes.dedup();
        let mut starts: Vec<u32> = vec![0, 0xD800, 0xE000];
        for class in &classes {
            for r in class.ranges() {
                starts.push(u32::from(r.start()));
                starts.push(u32::from(r.end()) + 1);
            }
        }
        starts.retain(|&s| s <= 0x10_FFFF);
        starts.sort_unstable();
        starts.dedup();
        let mut signatures: Vec<Vec<u32>> = vec![Vec::new(); starts.len()];
        for (k, class) in classes.iter().enumerate() {
            for r in class.ranges() {
                let from = starts.partition_point(|&s| s < u32::from(r.start()));
                let to = starts.partition_point(|&s| s <= u32::from(r.end()));
                limit.work(to - from + 1)?;
                for signature in &mut signatures[from..to] {
                    signature.push(k as u32);
                }
            }
        }
        let mut known: FxHashMap<Vec<u32>, u32> = FxHashMap::default();
        let mut symbols = Vec::with_capacity(starts.len());
        for (start, signature) in starts.iter().zip(signatures) {
            if is_surrogate(*start) {
                symbols.push(NONE);
                continue;
            }
            let fresh = known.len() as u32;
            symbols.push(*known.entry(signature).or_insert(fresh));
        }
        Ok(Alphabet {
            starts,
            symbols,
            width: known.len(),
        })
    }

    /// The code points that none of several alphabets tells apart, and for each of the
    /// alphabets which of its symbols each symbol is.
    pub(crate) fn common(all: &[&Alphabet]) -> (Alphabet, Vec<Vec<u32>>) {
        if let [one] = all {
            let same = (0..one.width as u32).collect();
            return ((*one).clone(), vec![same]);
        }
        let starts = all.iter().flat_map(|one| &one.starts);
        let mut starts: Vec<u32> = starts.copied().chain([0, 0xD800, 0xE000]).collect();
        starts.sort_unstable();
        starts.dedup();
        let mut symbols: Vec<u32> = starts
            .iter()
            .map(|start| if is_surrogate(*start) { NONE } else { 0 })
            .collect();
        let mut width = 1;
        let mut known: FxHashMap<u64, u32> = FxHashMap::default();
        for one in all {
            known.clear();
            for (symbol, own) in symbols.iter_mut().zip(one.along(&starts)) {
                if *symbol != NONE {
                    let fresh = known.len() as u32;
                    *symbol = *known.entry(packed(*symbol, own)).or_insert(fresh);
                }
            }
            width = known.len();
        }
        let own_symbols = |one: &&Alphabet| {
            let mut of_symbol = vec![0; width];
            for (symbol, own) in symbols.iter().zip(one.along(&starts)) {
                if *symbol != NONE {
                    of_symbol[*symbol as usize] = own;
                }
            }
            of_symbol
        };
        let of_symbols = all.iter().map(own_symbols).collect();
        let common = Alphabet {
            starts,
            symbols,
            width,
        };
        (common, of_symbols)
    }

    /// The symbol of each of some intervals, of which none is cut by an interval here.
    fn along(&self, starts: &[u32]) -> impl Iterator<Item = u32> {
        let mut at = 0;
        starts.iter().map(move |start| {
            while self.starts.get(at + 1).is_some_and(|next| next <= start) {
                at += 1;
            }
            self.symbols[at]
        })
    }

    /// The code points of each symbol.
    pub(crate) fn sets(&self) -> Vec<CharSet> {
        let mut ranges: Vec<Vec<ClassUnicodeRange>> = vec![Vec::new(); self.width];
        for (i, symbol) in self.symbols.iter().enumerate() {
            let end = self.starts.get(i + 1).map_or(0x10_FFFF, |s| s - 1);
            if let (Some(a), Some(b)) = (char::from_u32(self.starts[i]), char::from_u32(end)) {
                ranges[*symbol as usize].push(ClassUnicodeRange::new(a, b));
            }
        }
        ranges.into_iter().map(ClassUnicode::new).collect()
    }

    fn symbols_of(&self, class: &CharSet) -> Vec<u32> {
        let mut out = Vec::new();
        for r in class.ranges() {
            let from = self.starts.partition_point(|&s| s < u32::from(r.start()));
            let to = self.starts.partition_point(|&s| s <= u32::from(r.end()));
            out.extend(
                self.symbols[from..to]
                    .iter()
                    .copied()
                    .filter(|&s| s != NONE),
            );
        }
        out.sort_unstable();
        out.dedup();
        out
    }
}

/// Surrogates are an interval of every alphabet.
fn is_surrogate(start: u32) -> bool {
    start == 0xD800
}

/// Adds the classes of an expression, as often as they appear.
fn collect_classes<'a>(re: &'a Re, out: &mut Vec<&'a CharSet>) {
    match re {
        Re::Never | Re::Empty => {}
        Re::Class(set) => out.push(set),
        Re::Concat(parts) | Re::Alt(parts) => parts.iter().for_each(|p| collect_classes(p, out)),
        Re::Repeat(inner, ..) => collect_classes(inner, out),
    }
}

/// No class, no symbol, or the end of a list.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct State {
    /// Which class it reads, and where that leads.
    class: u32,
    to: u32,
    /// Where the list begins of what it leads to without reading.
    empty: u32,
}

#[derive(Debug)]
pub(crate) struct Nfa {
    states: Vec<State>,
    /// Steps without reading: where to, and the next one of the list.
    empty: Vec<(u32, u32)>,
    /// The symbols of all classes, those of one in order.
    symbols: Vec<u32>,
    /// Where the symbols of each class begin; behind the last one where they end.
    classes: Vec<u32>,
    pub(crate) start: u32,
    pub(crate) accept: u32,
}

struct Builder<'a> {
    nfa: Nfa,
    alphabet: &'a Alphabet,
    /// The classes that were met, by place.
    known: FxHashMap<*const CharSet, u32>,
    limit: Limit<'a>,
}

impl Builder<'_> {
    fn state(&mut self) -> Result<u32, TooBig> {
        if self.nfa.states.len() >= self.limit.states {
            return Err(TooBig);
        }
        self.limit.work(1)?;
        self.nfa.states.push(State {
            class: NONE,
            to: NONE,
            empty: NONE,
        });
        Ok(self.nfa.states.len() as u32 - 1)
    }

    /// Lets a state lead to another one without reading.
    fn lead(&mut self, from: u32, to: u32) {
        let list = &mut self.nfa.states[from as usize].empty;
        let next = std::mem::replace(list, self.nfa.empty.len() as u32);
        self.nfa.empty.push((to, next));
    }

    fn class(&mut self, set: &CharSet) -> u32 {
        let nfa = &mut self.nfa;
        *self
            .known
            .entry(std::ptr::from_ref(set))
            .or_insert_with(|| {
                nfa.symbols.extend(self.alphabet.symbols_of(set));
                nfa.classes.push(nfa.symbols.len() as u32);
                nfa.classes.len() as u32 - 2
            })
    }

    /// Adds `re` from `from`, which reads no class yet; answers where it ends.
    fn add(&mut self, re: &Re, from: u32) -> Result<u32, TooBig> {
        match re {
            Re::Never => self.state(),
            Re::Empty => Ok(from),
            Re::Class(set) => {
                let to = self.state()?;
                let class = self.class(set);
                let state = &mut self.nfa.states[from as usize];
                (state.class, state.to) = (class, to);
                Ok(to)
            }
            Re::Concat(parts) => parts.iter().try_fold(from, |at, part| self.add(part, at)),
            Re::Alt(parts) => {
                let end = self.state()?;
                for part in parts {
                    let begin = self.state()?;
                    self.lead(from, begin);
                    let last = self.add(part, begin)?;
                    self.lead(last, end);
                }
                Ok(end)
            }
            Re::Repeat(inner, min, max) => {
                let mut at = from;
                for _ in 0..*min {
                    at = self.add(inner, at)?;
                }
                match max {
                    None => {
                        let head = self.state()?;
                        self.lead(at, head);
                        let body = self.state()?;
                        self.lead(head, body);
                        let last = self.add(inner, body)?;
                        self.lead(last, head);
                        let end = self.state()?;
                        self.lead(head, end);
                        Ok(end)
                    }
                    Some(max) => {
                        let end = self.state()?;
                        self.lead(at, end);
                        for _ in *min..*max {
                            let begin = self.state()?;
                            self.lead(at, begin);
                            at = self.add(inner, begin)?;
                            self.lead(at, end);
                        }
                        Ok(end)
                    }
                }
            }
        }
    }
}

impl Nfa {
    pub(crate) fn new(re: &Re, alphabet: &Alphabet, limit: Limit<'_>) -> Result<Nfa, TooBig> {
        let nfa = Nfa {
            states: Vec::new(),
            empty: Vec::new(),
            symbols: Vec::new(),
            classes: vec![0],
            start: 0,
            accept: 0,
        };
        let mut builder = Builder {
            nfa,
            alphabet,
            known: FxHashMap::default(),
            limit,
        };
        let start = builder.state()?;
        let accept = builder.add(re, start)?;
        let mut nfa = builder.nfa;
        nfa.start = start;
        nfa.accept = accept;
        Ok(nfa)
    }

    pub(crate) fn states(&self) -> usize {
        self.states.len()
    }

    /// The symbols that a state reads, in order, and where they lead.
    pub(crate) fn reads(&self, state: u32) -> (&[u32], u32) {
        let state = self.states[state as usize];
        if state.class == NONE {
            return (&[], NONE);
        }
        let at = state.class as usize;
        let (from, to) = (self.classes[at] as usize, self.classes[at + 1] as usize);
        (&self.symbols[from..to], state.to)
    }

    /// Adds what is reached from a set without reading; in order, each once.
    pub(crate) fn closure(&self, set: &mut Vec<u32>, marks: &mut Marks) {
        set.retain(|s| marks.add(*s));
        let mut i = 0;
        while i < set.len() {
            let mut at = self.states[set[i] as usize].empty;
            while at != NONE {
                let (to, next) = self.empty[at as usize];
                if marks.add(to) {
                    set.push(to);
                }
                at = next;
            }
            i += 1;
        }
        marks.sort_and_clear(set);
    }
}

/// The members of a set of states, as bits.
pub(crate) struct Marks {
    words: Vec<u64>,
}

impl Marks {
    pub(crate) fn new(states: usize) -> Marks {
        Marks {
            words: vec![0; states.div_ceil(64)],
        }
    }

    /// Whether the state is new.
    fn add(&mut self, state: u32) -> bool {
        let word = &mut self.words[state as usize / 64];
        let bit = 1u64 << (state % 64);
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    /// Sorts a list of all marked states, each once, and takes the marks away.
    fn sort_and_clear(&mut self, list: &mut Vec<u32>) {
        // The bits are in order; reading them all pays unless they are few.
        if self.words.len() <= 2 * list.len() {
            list.clear();
            for (i, word) in self.words.iter_mut().enumerate() {
                let mut bits = std::mem::take(word);
                while bits != 0 {
                    list.push(i as u32 * 64 + bits.trailing_zeros());
                    bits &= bits - 1;
                }
            }
            return;
        }
        for state in list.iter() {
            self.words[*state as usize / 64] = 0;
        }
        list.sort_unstable();
    }
}
