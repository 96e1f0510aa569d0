//! Automata over code points: stepping, what a partial character can still
//! become, which text is free, and how long the texts are that remain.

use std::collections::VecDeque;
use std::sync::OnceLock;

use fsm_tables::{Alphabet, Sources, Symbols, Table};

use crate::budget::Limit;
use crate::budget::TooBig;
use crate::language::product::{Part, Product};
use crate::language::re::Re;

pub(crate) use fsm_tables::NONE as DEAD;

/// A deterministic automaton over code points of which every state can still
/// accept.
#[derive(Debug)]
pub(crate) struct CharDfa {
    alphabet: Alphabet,
    /// The class of each character of a byte.
    ascii: Box<[u32; 128]>,
    table: Table<u64>,
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
        let table = product.minimal(wanted, limit)?;
        Ok(CharDfa::of(
            product.alphabet.clone(),
            table.labelled(u64::from),
        ))
    }

    /// The texts that one expression matches.
    pub(crate) fn of_part(part: &Part) -> CharDfa {
        CharDfa::of(
            part.alphabet.clone(),
            part.table.clone().labelled(u64::from),
        )
    }

    /// The texts that any of several automata accepts.
    pub(crate) fn union(all: &[&CharDfa], limit: Limit<'_>) -> Result<CharDfa, TooBig> {
        let parts = all.iter().map(|dfa| dfa.part()).collect();
        Ok(CharDfa::of_part(&Part::union(parts, limit)?))
    }

    /// The same, to be met with others.
    pub(crate) fn part(&self) -> Part {
        Part {
            alphabet: self.alphabet.clone(),
            table: self.table.clone().labelled(|label| label != 0),
            is_any: false,
        }
    }

    /// No text at all.
    pub(crate) fn never() -> CharDfa {
        let (alphabet, _) = Alphabet::common(&[]);
        let table = Table::new(alphabet.len(), Vec::new(), Vec::new());
        CharDfa::of(alphabet, table)
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
        Ok(CharDfa::of(product.alphabet, product.table))
    }

    fn of(alphabet: Alphabet, table: Table<u64>) -> CharDfa {
        let mut ascii = Box::new([DEAD; 128]);
        for (first, last, class) in alphabet.runs_within(0, 127) {
            ascii[first as usize..=last as usize].fill(class);
        }
        CharDfa {
            alphabet,
            ascii,
            table,
            amounts: OnceLock::new(),
            far: OnceLock::new(),
            dead: OnceLock::new(),
        }
    }

    /// As [`CharDfa::tables`] gives it, but for labels, of a smallest automaton; `None` if
    /// they are of none.
    pub(crate) fn of_tables(
        (starts, classes): (Vec<u32>, Vec<u32>),
        next: Vec<u32>,
        accepts: &[bool],
    ) -> Option<CharDfa> {
        let alphabet = Alphabet::from_tables(Symbols::Chars, starts, classes)?;
        let is_whole = next.len() == alphabet.len().checked_mul(accepts.len())?;
        let labels = accepts.iter().map(|yes| u64::from(*yes)).collect();
        let table = is_whole.then(|| Table::new(alphabet.len(), next, labels))?;
        Some(CharDfa::of(alphabet, table))
    }

    /// Everything that it is made of: where classes of characters start, the
    /// classes, where each state leads by each class, and labels.
    pub(crate) fn tables(&self) -> (&[u32], &[u32], &[u32], &[u64]) {
        let (starts, classes) = self.alphabet.tables();
        (starts, classes, self.table.cells(), self.table.labels())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.table.states() == 0
    }

    pub(crate) fn states(&self) -> usize {
        self.table.states()
    }

    pub(crate) fn label(&self, state: u32) -> u64 {
        self.table.labels()[state as usize]
    }

    pub(crate) fn accepts(&self, state: u32) -> bool {
        self.table.labels()[state as usize] != 0
    }

    pub(crate) fn step(&self, state: u32, c: u32) -> u32 {
        let class = match self.ascii.get(c as usize) {
            Some(class) => Some(*class),
            None => self.alphabet.class_of(c),
        };
        class.map_or(DEAD, |class| self.table.next(state, class))
    }

    /// The ends of a range around a code point, of which all lead to the same from each
    /// state.
    pub(crate) fn alike(&self, c: u32) -> (u32, u32) {
        let (first, last, _) = self.alphabet.run(self.alphabet.run_of(c));
        (first, last)
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
        self.alphabet.runs_within(lo, hi).any(|(_, _, class)| {
            let to = self.table.next(state, class);
            to != DEAD && good(to)
        })
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
                for &next in self.table.row(met[at]) {
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
        self.ranges_of(|class| self.table.next(state, class) == state)
    }

    /// The code points that lead from each state of `among` to another one of
    /// them.
    pub(crate) fn free_class(&self, among: impl Fn(u32) -> bool) -> Vec<(u32, u32)> {
        let states: Vec<u32> = (0..self.states() as u32).filter(|s| among(*s)).collect();
        let mut free = vec![!states.is_empty(); self.table.width()];
        for state in states {
            for (free, to) in free.iter_mut().zip(self.table.row(state)) {
                *free &= *to != DEAD && among(*to);
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
        let mut free = vec![true; self.table.width()];
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
            for (symbol, &to) in self.table.row(here).iter().enumerate() {
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
        let row = self.table.row(state).iter();
        let mut class: Vec<bool> = row.map(|to| good(*to)).collect();
        let weights = self.weights();
        // One symbol at least is left out each time.
        for _ in 0..=self.table.width() {
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
        let mut held = vec![0u64; self.table.width()];
        for &(from, to) in class {
            self.each_symbol(from, to, |symbol, count| held[symbol] += count);
        }
        let is_in: Vec<bool> = held.iter().map(|count| *count > 0).collect();
        let mut states = vec![state];
        for length in 0..MAX_RUN {
            let mut next: Vec<u32> = Vec::new();
            let mut leads_on = vec![false; self.table.width()];
            for state in &states {
                let row = self.table.row(*state).iter().enumerate();
                for (symbol, &to) in row.filter(|cell| is_in[cell.0]) {
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
        let symbols = || (0..self.table.width()).filter(|symbol| class[*symbol]);
        let mut met = vec![false; self.states()];
        met[state as usize] = true;
        // Each with the symbol that led there.
        let mut states = vec![(state, None)];
        let mut from = 0;
        for _ in 0..steps {
            let to = states.len();
            for at in from..to {
                let (here, via) = states[at];
                let next = |symbol: usize| self.table.next(here, symbol as u32);
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
        let mut weights = vec![1; self.table.width()];
        for symbol in self.ascii.iter() {
            weights[*symbol as usize] += 1;
        }
        weights
    }

    fn ranges_of(&self, wanted: impl Fn(u32) -> bool) -> Vec<(u32, u32)> {
        let wanted = self.alphabet.runs().filter(|run| wanted(run.2));
        joined(wanted.map(|(first, last, _)| (first, last)))
    }

    /// The code points of a class that have wanted symbols.
    fn ranges_in(&self, class: &[(u32, u32)], wanted: impl Fn(usize) -> bool) -> Vec<(u32, u32)> {
        let within = |range: &(u32, u32)| self.alphabet.runs_within(range.0, range.1);
        let wanted = class
            .iter()
            .flat_map(within)
            .filter(|run| wanted(run.2 as usize));
        joined(wanted.map(|(first, last, _)| (first, last)))
    }

    /// The code points that lead from no state to one that something `follows`, which is
    /// the same each time; and control characters, which strings do not have as they are.
    pub(crate) fn dead_class(&self, follows: impl Fn(u32) -> bool) -> &[(u32, u32)] {
        self.dead.get_or_init(|| {
            let mut lives = vec![false; self.table.width()];
            for row in self.table.rows() {
                for (lives, to) in lives.iter_mut().zip(row) {
                    *lives |= *to != DEAD && follows(*to);
                }
            }
            let runs = (0..self.alphabet.run_count()).map(|run| self.alphabet.run(run));
            let dead = runs.filter(|run| lives.get(run.2 as usize) != Some(&true));
            let dead = dead.map(|(first, last, _)| (first.max(0x20), last));
            let dead = dead.filter(|(first, last)| first <= last);
            joined(std::iter::once((0, 0x1F)).chain(dead)).into()
        })
    }

    /// A code point of each symbol, a visible one where there is one.
    pub(crate) fn representatives(&self) -> Vec<u32> {
        let mut out = vec![u32::MAX; self.table.width()];
        for c in (0x20..0x7F).rev().filter(|c| ![0x22, 0x5C].contains(c)) {
            out[self.ascii[c as usize] as usize] = c;
        }
        for (first, _, class) in self.alphabet.runs() {
            let slot = &mut out[class as usize];
            *slot = if *slot == u32::MAX { first } else { *slot };
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
        for s in 0..self.states() as u32 {
            for &to in self.table.row(s) {
                if to != DEAD && met[to as usize] != s + 1 {
                    met[to as usize] = s + 1;
                    all.to.push(to);
                }
            }
            all.begin.push(all.to.len() as u32);
        }
        all
    }

    /// How many characters each symbol has.
    pub(crate) fn symbol_sizes(&self) -> Vec<u64> {
        let mut out = vec![0; self.table.width()];
        self.each_symbol(0, 0x10_FFFF, |symbol, count| out[symbol] += count);
        out
    }

    /// Calls `each` with the symbols of a range of code points and how many each has there.
    pub(crate) fn each_symbol(&self, from: u32, to: u32, mut each: impl FnMut(usize, u64)) {
        for (first, last, class) in self.alphabet.runs_within(from, to) {
            each(class as usize, u64::from(last - first + 1));
        }
    }

    /// Where a state leads by each symbol.
    pub(crate) fn targets(&self, state: u32) -> impl Iterator<Item = (usize, u32)> {
        self.table.row(state).iter().copied().enumerate()
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
            let accepts: Vec<bool> = self
                .table
                .labels()
                .iter()
                .map(|label| *label != 0)
                .collect();
            distances(&accepts, arrows)
        });
        far.get(state as usize).copied().unwrap_or(u32::MAX)
    }

    /// Where a state leads, and by which range of code points.
    pub(crate) fn arrows(&self, state: u32) -> impl Iterator<Item = (u32, u32, u32)> + '_ {
        let runs = self.alphabet.runs();
        let to = runs.map(move |(first, last, class)| (self.table.next(state, class), first, last));
        to.filter(|arrow| arrow.0 != DEAD)
    }

    /// Where states lead, and by how many characters, each pair once.
    pub(crate) fn weighted_arrows(&self) -> Vec<(u32, u32, u64)> {
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

    /// Whether more than so many texts of some lengths are accepted, as far as that is seen
    /// by counting those of one length after another. `false` is no proof of the contrary.
    pub(crate) fn has_more_than(&self, many: u64, min: u64, max: Option<u64>) -> bool {
        let longest = max.unwrap_or(LONGEST_COUNTED).min(LONGEST_COUNTED);
        if self.is_empty() || self.table.cells().len() > MAX_COUNTED {
            return false;
        }
        let sizes = self.symbol_sizes();
        // How many texts lead to each state, those of one length.
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

/// Ranges in ascending order, those that touch as one.
fn joined(ranges: impl Iterator<Item = (u32, u32)>) -> Vec<(u32, u32)> {
    let mut out: Vec<(u32, u32)> = Vec::new();
    for (first, last) in ranges {
        match out.last_mut() {
            Some(before) if before.1 + 1 == first => before.1 = last,
            _ => out.push((first, last)),
        }
    }
    out
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
