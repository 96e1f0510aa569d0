//! Automata over the bytes of numbers. For example, `-?[0-9]{1,3}` reads `-123`, and has no way on
//! behind it.

use std::sync::OnceLock;

use fsm_tables::{Keep, Table, product};

use crate::budget::{Limit, TooBig};
use crate::language::char_dfa::{CharDfa, DEAD, MAX_MET};
use crate::language::numbers::amounts::Amounts;

/// Numbers as an automaton over bytes; symbol 15 is every other byte.
#[derive(Debug)]
pub struct NumberDfa {
    next: Vec<[u32; 16]>,
    accept: Vec<bool>,
    /// The number of an automaton that every schema may have.
    common: Option<u32>,
    /// The number of values that follow, once that was asked.
    amounts: OnceLock<Box<Amounts>>,
}

fn number_symbol(byte: u8) -> usize {
    match byte {
        b'0'..=b'9' => (byte - b'0') as usize,
        b'-' => 10,
        b'+' => 11,
        b'.' => 12,
        b'e' => 13,
        b'E' => 14,
        _ => 15,
    }
}

impl NumberDfa {
    /// Returns the target of each state by each symbol, and whether it accepts.
    pub fn tables(&self) -> (&[[u32; 16]], &[bool]) {
        (&self.next, &self.accept)
    }

    /// Returns the numbers of texts behind each state. They are counted once.
    pub(super) fn amounts(&self) -> &Amounts {
        let counted = || Box::new(Amounts::new(&self.next, &self.accept));
        self.amounts.get_or_init(counted)
    }

    /// Returns the number of digits that may come one after another from a state on, whichever they
    /// are: as many as `most` if that has an end, and [`usize::MAX`] if it has none.
    pub fn run_of_digits(&self, state: u32, most: usize) -> usize {
        let symbols = number_symbol(b'0')..=number_symbol(b'9');
        if state as usize >= self.next.len() {
            return 0;
        }
        let mut met = vec![state];
        let mut from = 0;
        for length in 0..most {
            let to = met.len();
            for at in from..to {
                for &next in &self.next[met[at] as usize][symbols.clone()] {
                    if next == DEAD {
                        return length;
                    }
                    if !met.contains(&next) {
                        met.push(next);
                    }
                }
            }
            if met.len() == to {
                return usize::MAX;
            }
            if met.len() > MAX_MET {
                return length + 1;
            }
            from = to;
        }
        most
    }

    /// Returns the automaton over bytes of one over the characters of numbers.
    pub(super) fn new(dfa: &CharDfa) -> NumberDfa {
        let mut next = vec![[DEAD; 16]; dfa.states()];
        for (s, row) in next.iter_mut().enumerate() {
            for byte in b"0123456789-+.eE" {
                row[number_symbol(*byte)] = dfa.step(s as u32, u32::from(*byte));
            }
        }
        let accept = (0..dfa.states() as u32).map(|s| dfa.accepts(s)).collect();
        NumberDfa::of_rows(next, accept)
    }

    /// Makes an automaton of the target of each state by each symbol, and whether it accepts; texts
    /// of which no number comes lead nowhere.
    pub(super) fn of_rows(next: Vec<[u32; 16]>, accept: Vec<bool>) -> NumberDfa {
        NumberDfa {
            next,
            accept,
            common: None,
            amounts: OnceLock::new(),
        }
    }

    /// An automaton of which the dead states are cut off.
    pub(super) fn trimmed(next: Vec<[u32; 16]>, accept: Vec<bool>) -> NumberDfa {
        NumberDfa::of_table(Table::new(16, next.into_flattened(), accept).trimmed())
    }

    /// The same, with the number of an automaton that every schema may have.
    pub(super) fn with_common(self, common: Option<u32>) -> NumberDfa {
        NumberDfa { common, ..self }
    }

    /// Returns the number of an automaton that every schema may have.
    pub fn common(&self) -> Option<u32> {
        self.common
    }

    fn of_table(table: Table<bool>) -> NumberDfa {
        let (next, accept) = table.into_parts();
        let (rows, _) = next.as_chunks::<16>();
        NumberDfa::of_rows(rows.to_vec(), accept)
    }

    fn table(&self) -> Table<bool> {
        Table::new(16, self.next.as_flattened().to_vec(), self.accept.clone())
    }

    /// The numbers that this or another one accepts.
    pub(super) fn or(&self, other: &NumberDfa, limit: Limit<'_>) -> Result<NumberDfa, TooBig> {
        self.beside(other, Keep::Every, |a, b| a || b, limit)
    }

    /// The numbers that this accepts and another one does not; `None` past `limit` states.
    pub(super) fn without(&self, other: &NumberDfa, limit: Limit<'_>) -> Option<NumberDfa> {
        self.beside(other, Keep::First, |a, b| a && !b, limit).ok()
    }

    /// This and another one side by side: a number is accepted by what both say of it.
    fn beside(
        &self,
        other: &NumberDfa,
        keep: Keep,
        accepts: impl Fn(bool, bool) -> bool,
        mut limit: Limit<'_>,
    ) -> Result<NumberDfa, TooBig> {
        let label =
            |a: Option<&bool>, b: Option<&bool>| accepts(a == Some(&true), b == Some(&true));
        let (a, b) = (self.table(), other.table());
        let both = product(&a, &b, keep, label, &mut limit)?;
        Ok(NumberDfa::of_table(both.trimmed()))
    }

    /// Returns the number of digits that the texts have at least, if they may have any number from there on.
    pub fn endless_digits(&self) -> Option<u32> {
        self.least_digits().filter(|_| self.is_endless())
    }

    /// Tells whether states come again.
    fn is_endless(&self) -> bool {
        // States that lead to each other are never left without a source.
        let mut sources = vec![0usize; self.next.len()];
        let targets = |state: usize| self.next[state].iter().filter(|to| **to != DEAD);
        for state in 0..self.next.len() {
            targets(state).for_each(|to| sources[*to as usize] += 1);
        }
        let mut todo: Vec<usize> = (0..sources.len()).filter(|s| sources[*s] == 0).collect();
        let mut left = sources.len();
        while let Some(state) = todo.pop() {
            left -= 1;
            for to in targets(state) {
                sources[*to as usize] -= 1;
                if sources[*to as usize] == 0 {
                    todo.push(*to as usize);
                }
            }
        }
        left > 0
    }

    /// Returns the number of digits that the texts have at least; `None` where there are none.
    fn least_digits(&self) -> Option<u32> {
        let mut met = vec![false; self.next.len()];
        let (mut now, mut later) = (vec![0u32], Vec::new());
        let mut digits = 0;
        while !now.is_empty() {
            while let Some(state) = now.pop() {
                if std::mem::replace(met.get_mut(state as usize)?, true) {
                    continue;
                }
                if self.accept[state as usize] {
                    return Some(digits);
                }
                for (symbol, to) in self.next[state as usize].iter().enumerate() {
                    match (*to == DEAD, symbol <= number_symbol(b'9')) {
                        (true, _) => {}
                        (false, true) => later.push(*to),
                        (false, false) => now.push(*to),
                    }
                }
            }
            now.append(&mut later);
            digits += 1;
        }
        None
    }

    /// The texts with so many digits at most; `None` past `limit` states.
    pub fn of_digits(&self, most: u32, mut limit: Limit<'_>) -> Option<NumberDfa> {
        if self.next.len().saturating_mul(most as usize + 1) > limit.states {
            return None;
        }
        let count = (0..=most).map(|digits| {
            let mut row = [digits; 16];
            let more = if digits < most { digits + 1 } else { DEAD };
            row[number_symbol(b'0')..=number_symbol(b'9')].fill(more);
            row
        });
        let next: Vec<[u32; 16]> = count.collect();
        let counter = Table::new(16, next.into_flattened(), vec![true; most as usize + 1]);
        let accepts = |a: Option<&bool>, b: Option<&bool>| a == Some(&true) && b == Some(&true);
        let both = product(&self.table(), &counter, Keep::Both, accepts, &mut limit).ok()?;
        Some(NumberDfa::of_table(both.trimmed()))
    }

    /// Returns the state behind a byte, `DEAD` where there is none. O(1).
    pub fn step(&self, state: u32, byte: u8) -> u32 {
        self.next[state as usize][number_symbol(byte)]
    }

    /// Tells whether a number may end at a state.
    pub fn accepts(&self, state: u32) -> bool {
        self.accept[state as usize]
    }

    /// Tells whether there is no number.
    pub fn is_empty(&self) -> bool {
        self.accept.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Integers of up to so many digits.
    fn up_to(digits: usize) -> NumberDfa {
        let next = (1..=digits as u32).map(|to| {
            let mut row = [DEAD; 16];
            row[..10].fill(to);
            row
        });
        let next: Vec<[u32; 16]> = next.chain([[DEAD; 16]]).collect();
        let accept = (0..next.len()).map(|state| state > 0).collect();
        NumberDfa::of_rows(next, accept)
    }

    #[test]
    fn digits_are_bounded() {
        let bounded = up_to(5);
        assert!(!bounded.is_endless());
        assert_eq!(bounded.least_digits(), Some(1));
        // `-`, and then one digit or more.
        let mut endless = up_to(1).next;
        endless[1][..10].fill(1);
        let mut first = [DEAD; 16];
        first[10] = 1;
        let next = vec![
            first,
            endless[0].map(|to| if to == DEAD { DEAD } else { 2 }),
            endless[1].map(|to| if to == DEAD { DEAD } else { 2 }),
        ];
        let endless = NumberDfa::of_rows(next, vec![false, false, true]);
        assert!(endless.is_endless());
        assert_eq!(endless.least_digits(), Some(1));
        let three = endless.of_digits(3, Limit::from(100)).unwrap();
        let accepts = |text: &str| {
            let mut state = 0;
            for byte in text.bytes() {
                state = three.step(state, byte);
                if state == DEAD {
                    return false;
                }
            }
            three.accepts(state)
        };
        assert!(accepts("-1") && accepts("-123"));
        assert!(!accepts("-1234") && !accepts("-") && !accepts("1"));
        assert!(!three.is_endless());
        assert!(endless.of_digits(3, Limit::from(11)).is_none());
    }

    #[test]
    fn digits_are_counted() {
        let numbers = up_to(5);
        assert_eq!(
            [0, 3, 5].map(|state| numbers.run_of_digits(state, 9)),
            [5, 2, 0]
        );
        assert_eq!(numbers.run_of_digits(0, 4), 4, "no more are asked for");
        assert_eq!(up_to(500).run_of_digits(0, 400), MAX_MET);
        let mut next = up_to(2).next;
        next[2][..10].fill(2);
        let endless = NumberDfa::of_rows(next.clone(), vec![true; 3]);
        assert_eq!(endless.run_of_digits(1, 9), usize::MAX);
        next[1][7] = DEAD;
        let numbers = NumberDfa::of_rows(next, vec![true; 3]);
        assert_eq!(
            [0, 1, 2].map(|state| numbers.run_of_digits(state, 9)),
            [1, 0, usize::MAX]
        );
        assert_eq!(
            NumberDfa::of_rows(Vec::new(), Vec::new()).run_of_digits(0, 9),
            0
        );
    }
}
