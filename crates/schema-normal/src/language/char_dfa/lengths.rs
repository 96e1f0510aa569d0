//! The lengths of texts that an automaton reads: bounds on the length beside a pattern. For
//! example, of `a*b` with at most 3 characters the state behind `aa` is live at length 2, because
//! `b` is the third.

use std::sync::OnceLock;

use crate::budget::Limit;
use crate::budget::TooBig;
use crate::language::char_dfa::{CharDfa, DEAD};

/// Which numbers of further characters lead from each state to acceptance, as
/// far as a bound on the length asks.
#[derive(Debug)]
pub struct Lengths {
    min: u64,
    max: Option<u64>,
    /// The longest text from each state; `None` where there is no longest.
    longest: Vec<Option<u64>>,
    /// For each state a bit for each number up to `max`.
    exact: Vec<Vec<u64>>,
    /// Below this many characters a text may go on from every state.
    open: OnceLock<u64>,
    /// By state, what free text needs to go on, once that was asked.
    runs: Box<[OnceLock<Box<[Need]>>]>,
    /// The number of texts of each length that lead from each state to acceptance, once that was
    /// asked: by length, then by state.
    amounts: OnceLock<Vec<Box<[u64]>>>,
}

/// The number of characters that must be able to follow some text, whichever it is.
#[derive(Clone, Copy, Debug)]
struct Need {
    /// As many as the shortest way to an end has, at most.
    shortest: u64,
    /// As many as the longest has, at least.
    longest: u64,
}

/// The number of characters for which free text is looked at: few tokens are longer, so that
/// nothing would be won.
const MAX_RUN: usize = 32;

/// The most states that are looked at together, because all of them are stepped for each character.
const MAX_MET: usize = 1_024;

/// The most bits that [`Lengths`] keeps: 8 MiB, because there is one for each state and length.
const MAX_LENGTH_BITS: u64 = 1 << 26;

/// The most steps in which texts are counted by their lengths. Longer texts than that gives are not
/// counted, because each length goes over all transitions.
const MAX_AMOUNTS: usize = 1 << 22;

/// Sets the bits from one to another, both included.
fn set_bits(bits: &mut [u64], from: u64, to: u64) {
    let (first, last) = ((from / 64) as usize, (to / 64) as usize);
    for (i, word) in bits.iter_mut().enumerate().take(last + 1).skip(first) {
        let mut mask = u64::MAX;
        if i == first {
            mask &= u64::MAX << (from % 64);
        }
        if i == last {
            mask &= u64::MAX >> (63 - to % 64);
        }
        *word |= mask;
    }
}

impl Lengths {
    /// `None` where the bounds say nothing that the automaton does not.
    pub fn new(
        dfa: &CharDfa,
        min: u64,
        max: Option<u64>,
        limit: Limit<'_>,
    ) -> Result<Option<Lengths>, TooBig> {
        if min == 0 && max.is_none() {
            return Ok(None);
        }
        let n = dfa.states();
        limit.charge(4 * n)?;
        let next = dfa.successors();
        let finite = dfa.counts_by(&next, |l| l != 0);
        let mut longest: Vec<Option<u64>> = vec![None; n];
        // States whose texts are finitely many form no cycle.
        let mut order: Vec<u32> = Vec::new();
        let mut seen = vec![false; n];
        let mut todo: Vec<(u32, bool)> = Vec::new();
        for s in 0..n as u32 {
            todo.push((s, false));
            while let Some((s, after)) = todo.pop() {
                if after {
                    order.push(s);
                } else if !seen[s as usize] && finite[s as usize].is_some() {
                    seen[s as usize] = true;
                    todo.push((s, true));
                    todo.extend(next.of(s).iter().map(|t| (*t, false)));
                }
            }
        }
        for s in order {
            let targets = next.of(s).iter();
            let below = targets.filter_map(|t| longest[*t as usize]).max();
            let here = if dfa.accepts(s) { Some(0) } else { None };
            longest[s as usize] = below.map(|b| b + 1).max(here);
        }
        let max = max.filter(|m| longest.first().copied().flatten().is_none_or(|l| l > *m));
        if max.is_none() && min == 0 {
            return Ok(None);
        }
        let mut exact = Vec::new();
        if let Some(max) = max {
            if (max + 1).saturating_mul(n as u64) > MAX_LENGTH_BITS {
                return Err(TooBig);
            }
            let words = (max / 64 + 1) as usize;
            exact = vec![vec![0u64; words]; n];
            let mut now: Vec<bool> = (0..n as u32).map(|s| dfa.accepts(s)).collect();
            let mut then = vec![false; n];
            for k in 0..=max {
                limit.charge(n)?;
                for (to, state) in then.iter_mut().zip(0..) {
                    *to = next.of(state).iter().any(|t| now[*t as usize]);
                }
                // From where nothing changes any more it stays so.
                let settled = then == now;
                for (bits, _) in exact.iter_mut().zip(&now).filter(|(_, yes)| **yes) {
                    match settled {
                        true => set_bits(bits, k, max),
                        false => set_bits(bits, k, k),
                    }
                }
                if settled {
                    break;
                }
                std::mem::swap(&mut now, &mut then);
            }
        }
        Ok(Some(Lengths {
            min,
            max,
            longest,
            exact,
            open: OnceLock::new(),
            runs: (0..n).map(|_| OnceLock::new()).collect(),
            amounts: OnceLock::new(),
        }))
    }

    /// Tells whether a text may go on from `state` after `length` characters.
    pub fn live(&self, state: u32, length: u64) -> bool {
        let need = self.min.saturating_sub(length);
        let Some(max) = self.max else {
            return self.longest[state as usize].is_none_or(|l| l >= need);
        };
        if length > max {
            return false;
        }
        let room = max - length;
        if need > room {
            return false;
        }
        // The numbers from `need` to `room`, those of one word at a time.
        let bits = &self.exact[state as usize];
        let (first, last) = ((need / 64) as usize, (room / 64) as usize);
        (first..=last).any(|at| {
            let from = if at == first {
                u64::MAX << (need % 64)
            } else {
                u64::MAX
            };
            let to = if at == last {
                u64::MAX >> (63 - room % 64)
            } else {
                u64::MAX
            };
            bits[at] & from & to != 0
        })
    }

    /// At least how many texts may follow `length` characters that have led to a state:
    /// those of all lengths, or of the least ones where there are very many. `None` is no
    /// end.
    pub fn amount(&self, dfa: &CharDfa, state: u32, length: u64) -> Option<u64> {
        let need = self.min.saturating_sub(length);
        if self.max.is_none() && self.longest[state as usize].is_none() {
            return None;
        }
        let Some(room) = self
            .max
            .map_or(Some(u64::MAX), |max| max.checked_sub(length))
        else {
            return Some(0);
        };
        let amounts = self.amounts.get_or_init(|| self.texts_by_length(dfa));
        let within = (0..).zip(amounts).skip_while(|(k, _)| *k < need);
        let within = within.take_while(|(k, _)| *k <= room);
        let many = within.fold(0u64, |sum, (_, texts)| {
            sum.saturating_add(texts[state as usize])
        });
        // Longer ones than were counted: that there is one is known.
        Some(many.max(u64::from(self.live(state, length))))
    }

    /// Tells whether [`Lengths::amount`] counts texts of all lengths from the beginning on.
    pub fn counts_all(&self) -> bool {
        let amounts = self.amounts.get().map_or(0, Vec::len) as u64;
        let longest = self.max.or_else(|| self.longest.first().copied().flatten());
        longest.is_some_and(|longest| longest < amounts)
    }

    fn texts_by_length(&self, dfa: &CharDfa) -> Vec<Box<[u64]>> {
        let (states, arrows) = (dfa.states(), dfa.weighted_arrows());
        let longest = match self.max {
            Some(max) => max,
            None => self.longest.iter().flatten().max().copied().unwrap_or(0),
        };
        let most = MAX_AMOUNTS / (arrows.len() + states + 1);
        let mut out: Vec<Box<[u64]>> = Vec::new();
        let accepts = (0..states as u32).map(|s| u64::from(dfa.accepts(s)));
        out.push(accepts.collect());
        for _ in 0..longest.min(most as u64) {
            let mut next = vec![0u64; states];
            if let Some(last) = out.last() {
                for &(from, to, size) in &arrows {
                    let sum = &mut next[from as usize];
                    *sum = sum.saturating_add(last[to as usize].saturating_mul(size));
                }
            }
            out.push(next.into());
        }
        out
    }

    /// Texts of fewer characters may go on, whatever state they have led to.
    fn open(&self) -> u64 {
        *self.open.get_or_init(|| {
            let Some(max) = self.max else {
                return if self.longest.iter().all(Option::is_none) {
                    u64::MAX
                } else {
                    0
                };
            };
            // A state without any text is one that no text leads to.
            let met = self.exact.iter();
            let met = met.filter(|bits| bits.iter().any(|word| *word != 0));
            let firsts = met.map(|bits| self.first_dead(bits, max));
            firsts.min().unwrap_or(max).min(max)
        })
    }

    /// The least length after which a text does not go on from a state with these
    /// numbers of characters to come: from `min` to `max` characters would be left,
    /// less the length, and no number that the state has is among them.
    fn first_dead(&self, bits: &[u64], max: u64) -> u64 {
        let mut first = u64::MAX;
        let mut after = None;
        for (at, &word) in (0..).zip(bits) {
            let number = |bit: u32| at * 64 + u64::from(bit);
            let greatest = |word: u64| word.checked_ilog2().map(number);
            // No length falls between two numbers of which one follows the other.
            let follows = u64::from(after.is_some_and(|after| after + 1 == number(0)));
            let mut behind_gaps = word & !(word << 1 | follows);
            while behind_gaps != 0 {
                let bit = behind_gaps.trailing_zeros();
                let before = greatest(word & ((1 << bit) - 1)).or(after);
                // All that is left is less than this number, and more than the one before.
                let length = (max + 1).saturating_sub(number(bit));
                if before.is_none_or(|before| length + before < self.min) {
                    first = first.min(length);
                }
                behind_gaps &= behind_gaps - 1;
            }
            after = greatest(word).or(after);
        }
        // More than the greatest.
        if after.is_some_and(|after| after < self.min) {
            first = 0;
        }
        first
    }

    /// Returns the number of characters of free text that may come behind `length` ones that have
    /// led to a state, whichever they are: of a class, or `None` for any; and whether no more may
    /// come, because that is the greatest length. The class of a state is the same each time.
    pub fn room(
        &self,
        dfa: &CharDfa,
        (state, length): (u32, u64),
        class: Option<&[(u32, u32)]>,
    ) -> (usize, bool) {
        let Some(run) = self.runs.get(state as usize) else {
            return (0, false);
        };
        let needs = run.get_or_init(|| self.needs(dfa, state, class));
        let fits = |(need, total): &(&Need, u64)| {
            let max = self.max.unwrap_or(u64::MAX);
            total.saturating_add(need.shortest) <= max
                && total.saturating_add(need.longest) >= self.min
        };
        let totals = (1..).map(|chars| length.saturating_add(chars));
        let room = needs.iter().zip(totals).take_while(fits).count();
        (room, self.max == Some(length.saturating_add(room as u64)))
    }

    /// Returns the needs behind one, two, .. characters behind a state.
    fn needs(&self, dfa: &CharDfa, state: u32, class: Option<&[(u32, u32)]>) -> Box<[Need]> {
        let mut is_read = vec![class.is_none(); dfa.symbol_sizes().len()];
        for &(from, to) in class.unwrap_or_default() {
            dfa.each_symbol(from, to, |symbol, _| is_read[symbol] = true);
        }
        let mut states = vec![state];
        let mut needs = Vec::new();
        while needs.len() < MAX_RUN {
            let targets = states.iter().flat_map(|state| dfa.targets(*state));
            let targets = targets.filter(|(symbol, to)| is_read[*symbol] && *to != DEAD);
            let mut next: Vec<u32> = targets.map(|(_, to)| to).collect();
            next.sort_unstable();
            next.dedup();
            let spans: Option<Vec<_>> = next.iter().map(|state| self.span(*state)).collect();
            let Some(spans) = spans.filter(|spans| !spans.is_empty() && next.len() <= MAX_MET)
            else {
                break;
            };
            needs.push(Need {
                shortest: spans.iter().map(|span| span.0).max().unwrap_or(0),
                longest: spans.iter().map(|span| span.1).min().unwrap_or(0),
            });
            states = next;
        }
        needs.into()
    }

    /// The least and the greatest number of characters that lead from a state to acceptance,
    /// if each number between them does.
    fn span(&self, state: u32) -> Option<(u64, u64)> {
        let Some(max) = self.max else {
            return Some((0, self.longest[state as usize].unwrap_or(u64::MAX)));
        };
        let bits = self.exact.get(state as usize)?;
        let count: u64 = bits.iter().map(|word| u64::from(word.count_ones())).sum();
        let first = (0..).zip(bits).find(|(_, word)| **word != 0)?;
        let shortest = first.0 * 64 + u64::from(first.1.trailing_zeros());
        let last = (0..).zip(bits).filter(|(_, word)| **word != 0).last()?;
        let longest = last.0 * 64 + 63 - u64::from(last.1.leading_zeros());
        // No text is longer than the bound.
        let end = if longest == max { u64::MAX } else { longest };
        (longest - shortest + 1 == count).then_some((shortest, end))
    }

    /// Tells whether `more` characters behind `length` ones meet no bound.
    pub fn are_far(&self, length: u64, more: u64) -> bool {
        let behind = length.saturating_add(more);
        behind < self.open() && (self.min <= length || behind < self.min)
    }

    /// Tells whether a length is within the bounds.
    pub fn accepts(&self, length: u64) -> bool {
        length >= self.min && self.max.is_none_or(|m| length <= m)
    }

    /// The least and the greatest length.
    pub fn bounds(&self) -> (u64, Option<u64>) {
        (self.min, self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::pattern;

    /// The least length behind which some state of which texts are accepted at all is
    /// dead, by trying one length after another.
    fn first_dead(lengths: &Lengths, max: u64) -> u64 {
        let met = lengths.exact.iter();
        let met = (0..)
            .zip(met)
            .filter(|(_, bits)| bits.iter().any(|word| *word != 0));
        let met: Vec<u32> = met.map(|(state, _)| state).collect();
        let dead = |length: &u64| met.iter().any(|state| !lengths.live(*state, *length));
        (0..max).find(dead).unwrap_or(max)
    }

    /// How much room there is, by trying all texts of a class, which are few.
    fn tried(lengths: &Lengths, dfa: &CharDfa, at: (u32, u64), class: &[char]) -> (usize, bool) {
        let mut states = vec![at.0];
        let mut room = 0;
        loop {
            let steps = states.iter();
            let steps = steps.flat_map(|s| class.iter().map(|c| dfa.step(*s, u32::from(*c))));
            states = steps.filter(|state| *state != DEAD).collect();
            states.sort_unstable();
            states.dedup();
            let length = at.1 + room as u64 + 1;
            if states.is_empty() || states.iter().any(|s| !lengths.live(*s, length)) {
                return (room, lengths.max == Some(length - 1));
            }
            room += 1;
            if room == 32 {
                return (room, lengths.max == Some(length));
            }
        }
    }

    #[test]
    fn room_is_what_all_texts_leave() {
        let sources = [
            "[ab]*",
            "[ab]{3}a*",
            "b*a[ab]*",
            "([ab]{4})*",
            "(a|b{2,5})c?",
            "a[ab]*b{7}",
        ];
        let mut found = 0;
        for source in sources {
            let re = pattern::whole(source).unwrap();
            let dfa = CharDfa::new(&[(&re, true)], 10_000).unwrap();
            for (min, max) in [
                (0, Some(9)),
                (4, None),
                (3, Some(20)),
                (12, Some(12)),
                (0, Some(60)),
            ] {
                let Some(lengths) = Lengths::new(&dfa, min, max, 0.into()).unwrap() else {
                    continue;
                };
                for state in 0..dfa.states() as u32 {
                    for length in 0..14 {
                        if !lengths.live(state, length) {
                            continue;
                        }
                        let at = (state, length);
                        let class = [(u32::from('a'), u32::from('b'))];
                        let (room, is_all) = lengths.room(&dfa, at, Some(&class));
                        let expected = tried(&lengths, &dfa, at, &['a', 'b']);
                        // Less may be said where the lengths of texts have gaps.
                        assert!(room <= expected.0, "{source} {min} {max:?} {at:?}");
                        assert!(!is_all || expected == (room, true), "{source} {at:?}");
                        found += usize::from(room > 0 && (room, is_all) == expected);
                    }
                }
            }
        }
        assert!(found > 300, "{found}");
    }

    #[test]
    fn lengths_are_open_until_a_state_is_dead() {
        let patterns = [
            "a*",
            "(ab)*",
            "(abc|d{7})*e",
            "a{3,5}",
            "a|b{130}(c{64})*",
            "x?(y{9})*z*",
        ];
        for source in patterns {
            let re = pattern::whole(source).unwrap();
            let dfa = CharDfa::new(&[(&re, true)], 10_000).unwrap();
            for (min, max) in [
                (0, 1),
                (0, 40),
                (1, 40),
                (5, 5),
                (39, 40),
                (70, 200),
                (3, 513),
            ] {
                let Some(lengths) = Lengths::new(&dfa, min, Some(max), 0.into()).unwrap() else {
                    continue;
                };
                if lengths.max.is_some() {
                    let expected = first_dead(&lengths, max);
                    assert_eq!(lengths.open(), expected, "{source} {min} to {max}");
                }
            }
        }
    }
}
