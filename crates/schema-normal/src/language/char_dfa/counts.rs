//! The number of texts that follow a state, and how far the nearest end is. For example, from the
//! start of `[ab]{2}` four texts follow, and the nearest end is two characters away.

use fsm_tables::Sources;

use super::{CharDfa, DEAD, Successors};

/// The longest texts that are counted one length after another: few, because the number of texts
/// mostly grows with each character, and it is enough to know that there are many.
const LONGEST_COUNTED: u64 = 64;

/// The most steps between states with which that is done, because each length goes over all of
/// them.
const MAX_COUNTED: usize = 1 << 14;

impl CharDfa {
    /// Returns the number of texts that are accepted from a state; `None` is no end.
    pub fn amount(&self, state: u32) -> Option<u64> {
        let amounts = self
            .amounts
            .get_or_init(|| self.counts(|label| label != 0).into());
        amounts.get(state as usize).copied().unwrap_or(Some(0))
    }

    /// Tells whether each state leads to one that accepts by other code points than some.
    pub fn ends_without(&self, chars: &[(u32, u32)]) -> bool {
        let sizes = self.symbol_sizes();
        let mut missed = vec![0u64; sizes.len()];
        // No text has surrogates, which ranges may hold.
        for &(from, to) in chars.iter().chain(&[(0xD800, 0xDFFF)]) {
            self.each_symbol(from, to, |symbol, count| missed[symbol] += count);
        }
        let usable = |symbol: usize| missed[symbol] < sizes[symbol];
        let states = 0..self.states() as u32;
        let mut ends: Vec<bool> = states.clone().map(|state| self.accepts(state)).collect();
        // As many rounds as the longest shortest way has steps; most automata need few.
        loop {
            let before = ends.iter().filter(|&&is| is).count();
            if before == ends.len() {
                return true;
            }
            for state in states.clone().rev() {
                let leads = |to: u32| to != DEAD && ends[to as usize];
                if !ends[state as usize]
                    && self.targets(state).any(|(s, to)| usable(s) && leads(to))
                {
                    ends[state as usize] = true;
                }
            }
            if ends.iter().filter(|&&is| is).count() == before {
                return false;
            }
        }
    }

    /// Returns the number of characters that lead at least from a state to acceptance.
    pub fn far(&self, state: u32) -> u32 {
        let far = self.far.get_or_init(|| {
            let next = self.successors();
            let arrows = (0..self.states() as u32).flat_map(|from| {
                let to = next.of(from).iter();
                to.map(move |to| (from, *to))
            });
            let accepts: Vec<bool> = self
                .table
                .labels()
                .iter()
                .map(|label| *label != 0)
                .collect();
            Sources::new(accepts.len(), arrows).distances(&accepts)
        });
        far.get(state as usize).copied().unwrap_or(u32::MAX)
    }

    /// Returns the targets of states, and the number of characters by which they are reached, each
    /// pair once.
    pub(super) fn weighted_arrows(&self) -> Vec<(u32, u32, u64)> {
        let sizes = self.symbol_sizes();
        let rows = (0..).zip(self.table.rows());
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

    /// Tells whether more than so many texts of some lengths are accepted, as far as that is seen
    /// by counting those of one length after another. `false` is no proof of the contrary.
    pub fn has_more_than(&self, many: u64, min: u64, max: Option<u64>) -> bool {
        let longest = max.unwrap_or(LONGEST_COUNTED).min(LONGEST_COUNTED);
        if self.states() == 0 || self.table.cells().len() > MAX_COUNTED {
            return false;
        }
        let sizes = self.symbol_sizes();
        // The number of texts that lead to each state, those of one length.
        let mut texts = vec![0u64; self.states()];
        texts[0] = 1;
        let mut accepted = 0u64;
        for length in 0..=longest {
            if length >= min {
                let here = texts.iter().zip(self.table.labels());
                let here = here.filter(|(_, label)| **label != 0);
                accepted = here.fold(accepted, |sum, (n, _)| sum.saturating_add(*n));
            }
            if accepted > many {
                return true;
            }
            let mut longer = vec![0u64; self.states()];
            for (n, row) in texts.iter().zip(self.table.rows()) {
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

    /// Returns the number of texts that lead from each state to a label that `good` admits; `None`
    /// where they are without end.
    pub fn counts(&self, good: impl Fn(u64) -> bool) -> Vec<Option<u64>> {
        self.counts_by(&self.successors(), good)
    }

    pub(super) fn counts_by(
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
        let mut live: Vec<bool> = self.table.labels().iter().map(|&l| good(l)).collect();
        sources.spread(&mut live);
        // Peel from the end: what is left over lies on a way into a cycle.
        let live_targets = |s| next.of(s).iter().filter(|t| live[**t as usize]).count();
        let mut open: Vec<usize> = (0..n as u32).map(live_targets).collect();
        let sizes = self.symbol_sizes();
        let mut counts: Vec<Option<u64>> = vec![None; n];
        let mut todo: Vec<u32> = (0..n as u32).filter(|s| open[*s as usize] == 0).collect();
        while let Some(s) = todo.pop() {
            let mut count = u64::from(good(self.table.labels()[s as usize]));
            for (symbol, &t) in self.table.row(s).iter().enumerate() {
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
