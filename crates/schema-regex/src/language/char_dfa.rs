//! Automata over code points: stepping, what a partial character can still
//! become, which text is free, and how long the texts are that remain.

use std::collections::VecDeque;
use std::sync::OnceLock;

use crate::budget::Limit;
use crate::budget::TooBig;
use crate::language::product::{CharTable, Part, Product};
use crate::language::re::Re;
use crate::language::sources::Sources;

pub(crate) const DEAD: u32 = u32::MAX;

/// A deterministic automaton over code points of which every state can still
/// accept.
#[derive(Debug)]
pub(crate) struct CharDfa {
    starts: Vec<u32>,
    symbols: Vec<u32>,
    ascii: Box<[u32; 128]>,
    width: usize,
    next: Vec<u32>,
    labels: Vec<u64>,
    /// How many texts are accepted from each state, `None` for no end, once that was asked.
    amounts: OnceLock<Box<[Option<u64>]>>,
    /// How many characters lead at least from each state to acceptance, once that was asked.
    far: OnceLock<Box<[u32]>>,
    /// The code points that lead nowhere from any state, once they were asked for.
    dead: OnceLock<Box<[(u32, u32)]>>,
}

impl CharDfa {
    /// The texts whose verdict about several expressions is wanted.
    pub(crate) fn trimmed(
        product: &Product,
        wanted: impl Fn(u64) -> bool,
        limit: Limit<'_>,
    ) -> Result<CharDfa, TooBig> {
        Ok(CharDfa::of_table(product.table(wanted, limit)?))
    }

    /// The texts that one expression matches.
    pub(crate) fn of_part(part: &Part) -> CharDfa {
        CharDfa::of_table(part.table())
    }

    /// The texts that any of several automata accepts.
    pub(crate) fn union(all: &[&CharDfa], limit: Limit<'_>) -> Result<CharDfa, TooBig> {
        let parts = all.iter().map(|dfa| dfa.part()).collect();
        Ok(CharDfa::of_part(&Part::union(parts, limit)?))
    }

    /// The same, to be met with others.
    pub(crate) fn part(&self) -> Part {
        let accept = self.labels.iter().map(|l| *l != 0).collect();
        Part::of_table(&self.starts, &self.symbols, self.width, &self.next, accept)
    }

    /// No text at all.
    pub(crate) fn never() -> CharDfa {
        CharDfa {
            starts: vec![0],
            symbols: vec![0],
            ascii: Box::new([0; 128]),
            width: 1,
            next: Vec::new(),
            labels: Vec::new(),
            amounts: OnceLock::new(),
            far: OnceLock::new(),
            dead: OnceLock::new(),
        }
    }

    /// The texts that all positive expressions and no negative one match.
    pub(crate) fn new<'b>(
        parts: &[(&Re, bool)],
        limit: impl Into<Limit<'b>>,
    ) -> Result<CharDfa, TooBig> {
        let limit = limit.into();
        if let [(re, true)] = parts {
            return Ok(CharDfa::of_part(&Part::new(re, limit)?));
        }
        let res: Vec<&Re> = parts.iter().map(|(re, _)| *re).collect();
        let mut want = 0u64;
        for (i, (_, positive)) in parts.iter().enumerate() {
            want |= u64::from(*positive) << i;
        }
        let product = Product::new(&res, limit)?;
        CharDfa::trimmed(&product, |v| v == want, limit)
    }

    /// All verdicts about several expressions; states are not trimmed.
    pub(crate) fn labelled(parts: &[&Part], limit: Limit<'_>) -> Result<CharDfa, TooBig> {
        let product = Product::of(parts, limit)?;
        Ok(CharDfa::of_table(product.into_labelled()))
    }

    fn of_table(table: CharTable) -> CharDfa {
        let mut ascii = Box::new([u32::MAX; 128]);
        for (c, slot) in ascii.iter_mut().enumerate() {
            let at = table.starts.partition_point(|&s| s <= c as u32) - 1;
            *slot = table.symbols[at];
        }
        CharDfa {
            starts: table.starts,
            symbols: table.symbols,
            ascii,
            width: table.width,
            next: table.next,
            labels: table.labels,
            amounts: OnceLock::new(),
            far: OnceLock::new(),
            dead: OnceLock::new(),
        }
    }

    /// As [`CharDfa::tables`] gives it, but for labels, of a smallest automaton.
    pub(crate) fn of_tables(
        (starts, symbols): (Vec<u32>, Vec<u32>),
        width: usize,
        next: Vec<u32>,
        accepts: &[bool],
    ) -> CharDfa {
        CharDfa::of_table(CharTable {
            starts,
            symbols,
            width,
            next,
            labels: accepts.iter().map(|yes| u64::from(*yes)).collect(),
        })
    }

    /// Everything that it is made of: where classes of characters start, the
    /// symbols of the classes, where each state leads by each symbol, and labels.
    pub(crate) fn tables(&self) -> (&[u32], &[u32], &[u32], &[u64]) {
        (&self.starts, &self.symbols, &self.next, &self.labels)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    pub(crate) fn states(&self) -> usize {
        self.labels.len()
    }

    pub(crate) fn label(&self, state: u32) -> u64 {
        self.labels[state as usize]
    }

    pub(crate) fn accepts(&self, state: u32) -> bool {
        self.labels[state as usize] != 0
    }

    pub(crate) fn step(&self, state: u32, c: u32) -> u32 {
        let symbol = if c < 128 {
            self.ascii[c as usize]
        } else {
            let at = self.starts.partition_point(|&s| s <= c) - 1;
            self.symbols[at]
        };
        if symbol == u32::MAX {
            return DEAD;
        }
        self.next[state as usize * self.width + symbol as usize]
    }

    /// The ends of a range around a code point, of which all lead to the same from each
    /// state.
    pub(crate) fn alike(&self, c: u32) -> (u32, u32) {
        let at = self.starts.partition_point(|&s| s <= c) - 1;
        let next = self.starts.get(at + 1);
        (self.starts[at], next.map_or(0x10_FFFF, |next| next - 1))
    }

    pub(crate) fn run(&self, text: &str) -> u32 {
        let mut state = if self.is_empty() { DEAD } else { 0 };
        for c in text.chars() {
            if state == DEAD {
                return DEAD;
            }
            state = self.step(state, u32::from(c));
        }
        state
    }

    /// Whether some character of `lo..=hi` leads to a state that `good` admits.
    pub(crate) fn some_in(
        &self,
        state: u32,
        lo: u32,
        hi: u32,
        mut good: impl FnMut(u32) -> bool,
    ) -> bool {
        let mut at = self.starts.partition_point(|&s| s <= lo) - 1;
        while at < self.starts.len() && self.starts[at] <= hi {
            let symbol = self.symbols[at];
            if symbol != u32::MAX {
                let to = self.next[state as usize * self.width + symbol as usize];
                if to != DEAD && good(to) {
                    return true;
                }
            }
            at += 1;
        }
        false
    }

    /// How many characters lead at least from a state to one of some others: no more than
    /// can be said of the first [`MAX_MET`] states that are met.
    pub(crate) fn way_to(&self, state: u32, ends: impl Fn(u32) -> bool) -> usize {
        let mut is_met = vec![false; self.states()];
        is_met[state as usize] = true;
        let mut met = vec![state];
        let (mut from, mut steps) = (0, 0);
        while from < met.len() {
            let to = met.len();
            if met[from..to].iter().any(|state| ends(*state)) {
                return steps;
            }
            for at in from..to {
                let row = met[at] as usize * self.width;
                for &next in &self.next[row..row + self.width] {
                    if next != DEAD && !std::mem::replace(&mut is_met[next as usize], true) {
                        met.push(next);
                    }
                }
                if met.len() > MAX_MET {
                    return steps + 1;
                }
            }
            from = to;
            steps += 1;
        }
        usize::MAX
    }

    /// The characters after which `state` is where it was, as ranges without
    /// surrogates.
    pub(crate) fn loop_class(&self, state: u32) -> Vec<(u32, u32)> {
        let row = state as usize * self.width;
        self.ranges_of(|symbol| self.next[row + symbol as usize] == state)
    }

    /// The code points that lead from each state of `among` to another one of
    /// them.
    pub(crate) fn free_class(&self, among: impl Fn(u32) -> bool) -> Vec<(u32, u32)> {
        let states: Vec<u32> = (0..self.states() as u32).filter(|s| among(*s)).collect();
        let mut free = vec![!states.is_empty(); self.width];
        for state in &states {
            for (symbol, free) in free.iter_mut().enumerate() {
                let to = self.next[*state as usize * self.width + symbol];
                *free &= to != DEAD && among(to);
            }
        }
        self.ranges_of(|symbol| free[symbol as usize])
    }

    /// The code points of which any text may come behind `state`, and behind what
    /// else may come there, and how many characters of all that: of any number
    /// where that is a class of `least` code points or more, or else of `steps`.
    pub(crate) fn free_class_from(
        &self,
        state: u32,
        (least, steps): (u32, usize),
        follows: impl Fn(u32) -> Follows,
    ) -> (Vec<(u32, u32)>, usize) {
        let sizes = self.symbol_sizes();
        let within = |steps| self.free_class_within(state, steps, (least, &sizes), &follows);
        match within(usize::MAX) {
            Some(class) => (class, usize::MAX),
            None => (within(steps).unwrap_or_default(), steps),
        }
    }

    /// The code points that lead from each state within `steps` of `state`, that
    /// one included, to one that much can follow; none if little follows one of
    /// those states, they are many, or the code points are fewer than `least`. States that
    /// nothing follows do not count: no text leads there. `sizes` are those of the symbols.
    fn free_class_within(
        &self,
        state: u32,
        steps: usize,
        (least, sizes): (u32, &[u64]),
        follows: &impl Fn(u32) -> Follows,
    ) -> Option<Vec<(u32, u32)>> {
        let good = |state: u32| state != DEAD && follows(state) == Follows::Much;
        let mut free = vec![true; self.width];
        let mut size: u64 = sizes.iter().sum();
        let mut met = vec![false; self.states()];
        met[state as usize] = true;
        let mut states = vec![state];
        // Where the states end that are one step nearer than the last ones.
        let mut nearer = 1;
        let mut left = steps;
        let mut at = 0;
        // Most classes are soon too small, long before all states have been met.
        while let Some(&here) = states.get(at) {
            if at == nearer {
                nearer = states.len();
                left -= 1;
            }
            at += 1;
            if !good(here) || states.len() > MAX_FREE {
                return None;
            }
            let row = here as usize * self.width;
            let next = &self.next[row..row + self.width];
            for (symbol, &to) in next.iter().enumerate() {
                if free[symbol] && !good(to) {
                    free[symbol] = false;
                    size -= sizes[symbol];
                }
                let is_new = left > 1 && to != DEAD && !met[to as usize];
                if is_new && follows(to) != Follows::Nothing {
                    met[to as usize] = true;
                    states.push(to);
                }
            }
            if size < u64::from(least) {
                return None;
            }
        }
        Some(self.ranges_of(|symbol| free[symbol as usize]))
    }

    /// The code points of which up to `steps` may come one after another from
    /// `state` on, whichever they are, so that much can follow. Where some may not
    /// come behind another one, the fewer are left out.
    pub(crate) fn free_class_alone(
        &self,
        state: u32,
        steps: usize,
        follows: impl Fn(u32) -> Follows,
    ) -> Vec<(u32, u32)> {
        let good = |state: u32| state != DEAD && follows(state) == Follows::Much;
        let mut class = vec![true; self.width];
        for (symbol, is) in class.iter_mut().enumerate() {
            *is = good(self.next[state as usize * self.width + symbol]);
        }
        let weights = self.weights();
        // One symbol at least is left out each time.
        for _ in 0..=self.width {
            match self.first_conflict(state, steps, (&class, &weights), good) {
                Ok(None) => return self.ranges_of(|symbol| class[symbol as usize]),
                Ok(Some(symbols)) => symbols.iter().for_each(|&symbol| class[symbol] = false),
                Err(TooBig) => break,
            }
        }
        Vec::new()
    }

    /// How many characters of a class may come one after another from `state` on,
    /// whichever they are, so that much can follow, if no more of them may come then,
    /// whichever came; and the class, without those that may come then.
    pub(crate) fn run_of(
        &self,
        state: u32,
        class: &[(u32, u32)],
        follows: impl Fn(u32) -> Follows,
    ) -> Option<(usize, Vec<(u32, u32)>)> {
        let mut held = vec![0u64; self.width];
        for &(from, to) in class {
            self.each_symbol(from, to, |symbol, count| held[symbol] += count);
        }
        let is_in: Vec<bool> = held.iter().map(|count| *count > 0).collect();
        let mut states = vec![state];
        for length in 0..MAX_RUN {
            let mut next: Vec<u32> = Vec::new();
            let mut leads_on = vec![false; self.width];
            for state in &states {
                let row = *state as usize * self.width;
                for symbol in (0..self.width).filter(|symbol| is_in[*symbol]) {
                    let to = self.next[row + symbol];
                    let is_dead = to == DEAD || follows(to) == Follows::Nothing;
                    leads_on[symbol] |= !is_dead;
                    next.push(if is_dead { DEAD } else { to });
                }
            }
            next.sort_unstable();
            next.dedup();
            match next[..] {
                [] => return None,
                [.., DEAD] if length > 0 => {
                    return Some((length, self.ranges_in(class, |symbol| !leads_on[symbol])));
                }
                [.., DEAD] => return None,
                _ if next.len() > MAX_ALONE => return None,
                _ if next.iter().any(|to| follows(*to) != Follows::Much) => return None,
                _ => states = next,
            }
        }
        None
    }

    /// What is to be left out of a class so that it may come in one state that it
    /// leads to.
    fn first_conflict(
        &self,
        state: u32,
        steps: usize,
        (class, weights): (&[bool], &[usize]),
        good: impl Fn(u32) -> bool,
    ) -> Result<Option<Vec<usize>>, TooBig> {
        let symbols = || (0..self.width).filter(|symbol| class[*symbol]);
        let mut met = vec![false; self.states()];
        met[state as usize] = true;
        // Each with the symbol that led there.
        let mut states = vec![(state, None)];
        let mut from = 0;
        for _ in 0..steps {
            let to = states.len();
            for at in from..to {
                let (here, via) = states[at];
                let next = |symbol: usize| self.next[here as usize * self.width + symbol];
                let refused: Vec<usize> = symbols().filter(|s| !good(next(*s))).collect();
                if !refused.is_empty() {
                    let weight: usize = refused.iter().map(|symbol| weights[*symbol]).sum();
                    return Ok(Some(match via {
                        Some(via) if weights[via] < weight => vec![via],
                        _ => refused,
                    }));
                }
                for symbol in symbols() {
                    let next = next(symbol);
                    if !std::mem::replace(&mut met[next as usize], true) {
                        states.push((next, Some(symbol)));
                    }
                }
            }
            if states.len() > MAX_ALONE {
                return Err(TooBig);
            }
            if states.len() == to {
                break;
            }
            from = to;
        }
        Ok(None)
    }

    /// How many characters of a byte each symbol has, and one for all others.
    fn weights(&self) -> Vec<usize> {
        let mut weights = vec![1; self.width];
        for symbol in self.ascii.iter().filter(|symbol| **symbol != u32::MAX) {
            weights[*symbol as usize] += 1;
        }
        weights
    }

    fn ranges_of(&self, wanted: impl Fn(u32) -> bool) -> Vec<(u32, u32)> {
        let mut out: Vec<(u32, u32)> = Vec::new();
        for (i, &start) in self.starts.iter().enumerate() {
            let symbol = self.symbols[i];
            if symbol == u32::MAX || !wanted(symbol) {
                continue;
            }
            let end = self.starts.get(i + 1).map_or(0x10_FFFF, |s| s - 1);
            match out.last_mut() {
                Some(last) if last.1 + 1 == start => last.1 = end,
                _ => out.push((start, end)),
            }
        }
        out
    }

    /// The code points of a class that have wanted symbols.
    fn ranges_in(&self, class: &[(u32, u32)], wanted: impl Fn(usize) -> bool) -> Vec<(u32, u32)> {
        let mut out: Vec<(u32, u32)> = Vec::new();
        for &(from, to) in class {
            let mut at = self.starts.partition_point(|&start| start <= from) - 1;
            while at < self.starts.len() && self.starts[at] <= to {
                let end = self.starts.get(at + 1).map_or(0x10_FFFF, |next| next - 1);
                let (lo, hi) = (self.starts[at].max(from), end.min(to));
                let symbol = self.symbols[at];
                at += 1;
                if symbol == u32::MAX || !wanted(symbol as usize) {
                    continue;
                }
                match out.last_mut() {
                    Some(last) if last.1 + 1 == lo => last.1 = hi,
                    _ => out.push((lo, hi)),
                }
            }
        }
        out
    }

    /// The code points that lead from no state to one that something `follows`, which is
    /// the same each time; and control characters, which strings do not have as they are.
    pub(crate) fn dead_class(&self, follows: impl Fn(u32) -> bool) -> &[(u32, u32)] {
        self.dead.get_or_init(|| {
            let mut lives = vec![false; self.width];
            for row in self.next.chunks_exact(self.width.max(1)) {
                for (lives, to) in lives.iter_mut().zip(row) {
                    *lives |= *to != DEAD && follows(*to);
                }
            }
            let mut out: Vec<(u32, u32)> = vec![(0, 0x1F)];
            for (i, &start) in self.starts.iter().enumerate() {
                let symbol = self.symbols[i];
                let end = self.starts.get(i + 1).map_or(0x10_FFFF, |s| s - 1);
                let start = start.max(0x20);
                if start > end || (symbol != u32::MAX && lives[symbol as usize]) {
                    continue;
                }
                match out.last_mut() {
                    Some(last) if last.1 + 1 == start => last.1 = end,
                    _ => out.push((start, end)),
                }
            }
            out.into()
        })
    }

    /// A code point of each symbol, a visible one where there is one.
    pub(crate) fn representatives(&self) -> Vec<u32> {
        let mut out = vec![u32::MAX; self.width];
        for c in (0x20..0x7F).rev() {
            if c != 0x22 && c != 0x5C && self.ascii[c as usize] != u32::MAX {
                out[self.ascii[c as usize] as usize] = c;
            }
        }
        for (i, &start) in self.starts.iter().enumerate() {
            if self.symbols[i] != u32::MAX {
                let slot = &mut out[self.symbols[i] as usize];
                if *slot == u32::MAX {
                    *slot = start;
                }
            }
        }
        out
    }

    /// For each state the next states, each once.
    pub(crate) fn successors(&self) -> Successors {
        let mut all = Successors {
            begin: Vec::with_capacity(self.states() + 1),
            to: Vec::new(),
        };
        // For each state one more than the last one that led to it.
        let mut met = vec![0u32; self.states()];
        all.begin.push(0);
        for s in 0..self.states() {
            for &to in &self.next[s * self.width..(s + 1) * self.width] {
                if to != DEAD && met[to as usize] != s as u32 + 1 {
                    met[to as usize] = s as u32 + 1;
                    all.to.push(to);
                }
            }
            all.begin.push(all.to.len() as u32);
        }
        all
    }

    /// How many characters each symbol has.
    pub(crate) fn symbol_sizes(&self) -> Vec<u64> {
        let mut out = vec![0; self.width];
        for (i, &start) in self.starts.iter().enumerate() {
            let end = self.starts.get(i + 1).map_or(0x11_0000, |s| *s);
            if self.symbols[i] != u32::MAX {
                out[self.symbols[i] as usize] += u64::from(end - start);
            }
        }
        out
    }

    /// Calls `each` with the symbols of a range of code points and how many each has there.
    pub(crate) fn each_symbol(&self, from: u32, to: u32, mut each: impl FnMut(usize, u64)) {
        let mut at = self.starts.partition_point(|&start| start <= from) - 1;
        while at < self.starts.len() && self.starts[at] <= to {
            let end = self.starts.get(at + 1).map_or(0x10_FFFF, |next| next - 1);
            if self.symbols[at] != u32::MAX {
                let count = end.min(to) - self.starts[at].max(from) + 1;
                each(self.symbols[at] as usize, u64::from(count));
            }
            at += 1;
        }
    }

    /// Where a state leads by each symbol.
    pub(crate) fn targets(&self, state: u32) -> impl Iterator<Item = (usize, u32)> {
        let row = state as usize * self.width;
        self.next[row..row + self.width].iter().copied().enumerate()
    }

    /// Whether endlessly many texts are accepted from a state.
    pub(crate) fn is_endless(&self, state: u32) -> bool {
        (state as usize) < self.states() && self.amount(state).is_none()
    }

    /// How many texts are accepted from a state; `None` is no end.
    pub(crate) fn amount(&self, state: u32) -> Option<u64> {
        let amounts = self
            .amounts
            .get_or_init(|| self.counts(|label| label != 0).into());
        amounts.get(state as usize).copied().unwrap_or(Some(0))
    }

    /// How many characters lead at least from a state to acceptance.
    pub(crate) fn far(&self, state: u32) -> u32 {
        let far = self.far.get_or_init(|| {
            let next = self.successors();
            let arrows = (0..self.states() as u32).flat_map(|from| {
                let to = next.of(from).iter();
                to.map(move |to| (from, *to))
            });
            let accepts: Vec<bool> = self.labels.iter().map(|label| *label != 0).collect();
            distances(&accepts, arrows)
        });
        far.get(state as usize).copied().unwrap_or(u32::MAX)
    }

    /// Where a state leads, and by which range of code points.
    pub(crate) fn arrows(&self, state: u32) -> impl Iterator<Item = (u32, u32, u32)> + '_ {
        let row = state as usize * self.width;
        self.starts
            .iter()
            .enumerate()
            .filter_map(move |(i, &start)| {
                let symbol = self.symbols[i];
                if symbol == u32::MAX {
                    return None;
                }
                let to = self.next[row + symbol as usize];
                let end = self.starts.get(i + 1).map_or(0x10_FFFF, |s| s - 1);
                (to != DEAD).then_some((to, start, end))
            })
    }

    /// Where states lead, and by how many characters, each pair once.
    pub(crate) fn weighted_arrows(&self) -> Vec<(u32, u32, u64)> {
        let sizes = self.symbol_sizes();
        let rows = (0..).zip(self.next.chunks_exact(self.width.max(1)));
        let mut out: Vec<(u32, u32, u64)> = Vec::new();
        for (from, row) in rows {
            let first = out.len();
            for (&to, &size) in row.iter().zip(&sizes).filter(|(to, _)| **to != DEAD) {
                match out[first..].iter_mut().find(|arrow| arrow.1 == to) {
                    Some(known) => known.2 += size,
                    None => out.push((from, to, size)),
                }
            }
        }
        out
    }

    /// Whether more than so many texts of some lengths are accepted, as far as that is seen
    /// by counting those of one length after another. `false` is no proof of the contrary.
    pub(crate) fn has_more_than(&self, many: u64, min: u64, max: Option<u64>) -> bool {
        let longest = max.unwrap_or(LONGEST_COUNTED).min(LONGEST_COUNTED);
        if self.is_empty() || self.next.len() > MAX_COUNTED {
            return false;
        }
        let sizes = self.symbol_sizes();
        // How many texts lead to each state, those of one length.
        let mut texts = vec![0u64; self.states()];
        texts[0] = 1;
        let mut accepted = 0u64;
        for length in 0..=longest {
            if length >= min {
                let here = texts.iter().zip(&self.labels);
                let here = here.filter(|(_, label)| **label != 0);
                accepted = here.fold(accepted, |sum, (n, _)| sum.saturating_add(*n));
            }
            if accepted > many {
                return true;
            }
            let mut longer = vec![0u64; self.states()];
            for (n, row) in texts.iter().zip(self.next.chunks_exact(self.width)) {
                for (to, size) in row
                    .iter()
                    .zip(&sizes)
                    .filter(|(to, _)| **to != DEAD && *n > 0)
                {
                    let sum = &mut longer[*to as usize];
                    *sum = sum.saturating_add(n.saturating_mul(*size));
                }
            }
            texts = longer;
        }
        false
    }

    /// How many texts lead from each state to a label that `good` admits;
    /// `None` where they are without end.
    pub(crate) fn counts(&self, good: impl Fn(u64) -> bool) -> Vec<Option<u64>> {
        self.counts_by(&self.successors(), good)
    }

    pub(crate) fn counts_by(
        &self,
        next: &Successors,
        good: impl Fn(u64) -> bool,
    ) -> Vec<Option<u64>> {
        let n = self.states();
        let arrows = (0..n as u32).flat_map(|from| {
            let to = next.of(from).iter();
            to.map(move |to| (from, *to))
        });
        let sources = Sources::new(n, arrows);
        // Live: some good label can be reached.
        let mut live: Vec<bool> = self.labels.iter().map(|&l| good(l)).collect();
        sources.spread(&mut live);
        // Peel from the end: what is left over lies on a way into a cycle.
        let live_targets = |s| next.of(s).iter().filter(|t| live[**t as usize]).count();
        let mut open: Vec<usize> = (0..n as u32).map(live_targets).collect();
        let sizes = self.symbol_sizes();
        let mut counts: Vec<Option<u64>> = vec![None; n];
        let mut todo: Vec<u32> = (0..n as u32).filter(|s| open[*s as usize] == 0).collect();
        while let Some(s) = todo.pop() {
            let mut count = u64::from(good(self.labels[s as usize]));
            let row = &self.next[s as usize * self.width..(s as usize + 1) * self.width];
            for (symbol, &t) in row.iter().enumerate() {
                if t != DEAD && live[t as usize] {
                    let below = counts[t as usize].unwrap_or(0);
                    count = count.saturating_add(below.saturating_mul(sizes[symbol]));
                }
            }
            counts[s as usize] = Some(count);
            if live[s as usize] {
                for &p in sources.of(s) {
                    open[p as usize] -= 1;
                    if open[p as usize] == 0 && counts[p as usize].is_none() {
                        todo.push(p);
                    }
                }
            }
        }
        for (s, count) in counts.iter_mut().enumerate() {
            if !live[s] {
                *count = Some(0);
            }
        }
        counts
    }
}

/// How many arrows lead at least from each state to one that is marked.
pub(crate) fn distances(
    marked: &[bool],
    arrows: impl Iterator<Item = (u32, u32)> + Clone,
) -> Box<[u32]> {
    let sources = Sources::new(marked.len(), arrows);
    let far = marked.iter().map(|is| if *is { 0 } else { u32::MAX });
    let mut far: Box<[u32]> = far.collect();
    let all = (0..).zip(marked);
    let mut todo: VecDeque<u32> = all.filter(|(_, is)| **is).map(|(s, _)| s).collect();
    while let Some(state) = todo.pop_front() {
        let next = far[state as usize] + 1;
        for &source in sources.of(state) {
            if far[source as usize] == u32::MAX {
                far[source as usize] = next;
                todo.push_back(source);
            }
        }
    }
    far
}

/// The states that each state leads to.
pub(crate) struct Successors {
    /// Where the list of each state begins; behind the last one where it ends.
    begin: Vec<u32>,
    to: Vec<u32>,
}

impl Successors {
    pub(crate) fn of(&self, state: u32) -> &[u32] {
        let at = state as usize;
        &self.to[self.begin[at] as usize..self.begin[at + 1] as usize]
    }
}

/// How many texts can follow a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Follows {
    Nothing,
    Little,
    Much,
}

/// So many states are looked through for what comes behind them.
pub(crate) const MAX_MET: usize = 64;

/// The most states of which it is asked what is free behind them.
const MAX_FREE: usize = 2_048;

/// The same of what may come alone.
const MAX_ALONE: usize = 1_024;

/// The longest texts that are counted one length after another.
const LONGEST_COUNTED: u64 = 64;

/// The most steps between states with which that is done.
const MAX_COUNTED: usize = 1 << 14;

/// Longer runs are not looked for: few tokens are longer.
const MAX_RUN: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::pattern;

    fn dfa(source: &str) -> CharDfa {
        let re = pattern::whole(source).unwrap();
        CharDfa::new(&[(&re, true)], 10_000).unwrap()
    }

    #[test]
    fn the_way_to_an_end_is_the_shortest() {
        let way = |source: &str| {
            let dfa = dfa(source);
            dfa.way_to(0, |state| dfa.accepts(state))
        };
        assert_eq!(["a*", "abc|de", "x{30}"].map(way), [0, 2, 30]);
        assert!(
            (MAX_MET - 1..=MAX_MET).contains(&way("x{500}")),
            "as far as is looked"
        );
        assert_eq!(dfa("a").way_to(0, |_| false), usize::MAX);
    }

    #[test]
    fn what_no_state_reads_is_dead() {
        let hex = dfa("[0-9a-f]{2}é?");
        let dead = hex.dead_class(|_| true);
        let has = |c: char| {
            dead.iter()
                .any(|range| (range.0..=range.1).contains(&u32::from(c)))
        };
        assert!(
            ['\0', '\u{1F}', 'g', 'A', 'è', '\u{10FFFF}']
                .into_iter()
                .all(has)
        );
        assert!(!['0', '9', 'a', 'f', 'é'].into_iter().any(has));
        assert!(
            dead.windows(2).all(|pair| pair[0].1 + 1 < pair[1].0),
            "{dead:?}"
        );
        // Surrogates are no characters.
        let all = dfa("[\\s\\S]*");
        assert_eq!(all.dead_class(|_| true), [(0, 0x1F), (0xD800, 0xDFFF)]);
        assert_eq!(CharDfa::never().dead_class(|_| true), [(0, 0x10_FFFF)]);
    }
}
