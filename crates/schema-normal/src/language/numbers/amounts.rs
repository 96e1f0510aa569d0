//! Counts of the values that follow the states of an automaton of numbers.
//!
//! For example, of `[0-9]|[1-4][0-9]|50` two values follow behind `5`.

use fsm_tables::Sources;

use crate::language::char_dfa::DEAD;

/// The symbol of the point, as an automaton numbers it.
pub(super) const POINT: usize = 12;

/// For each state how many values follow; `None` is no end.
#[derive(Debug)]
pub(super) struct Amounts {
    /// Inside of an integer part: values with these digits and more.
    pub(super) whole: Box<[Option<u64>]>,
    /// Inside of a fraction: values with one more digit at least that is no zero.
    pub(super) part: Box<[Option<u64>]>,
    /// True if zeros lead to acceptance, none at all included.
    pub(super) zeros: Box<[bool]>,
    /// The number of bytes that lead at least to acceptance.
    pub(super) far: Box<[u32]>,
    /// True if some number may have an exponent.
    pub(super) has_exponents: bool,
}

/// Adds up what states have and what those have that they lead to; `None` where that is
/// without end.
fn sums(states: usize, arrows: &[(u32, u32)], own: &[Option<u64>]) -> Box<[Option<u64>]> {
    let sources = Sources::new(states, arrows.iter().copied());
    let mut live: Vec<bool> = own.iter().map(|n| *n != Some(0)).collect();
    sources.spread(&mut live);
    let mut open = vec![0usize; states];
    let mut sums: Vec<Option<u64>> = own.to_vec();
    for &(from, _) in arrows.iter().filter(|(_, to)| live[*to as usize]) {
        open[from as usize] += 1;
    }
    let mut done = vec![false; states];
    let is_ready = |s: &u32| live[*s as usize] && open[*s as usize] == 0;
    let mut todo: Vec<u32> = (0..states as u32).filter(is_ready).collect();
    while let Some(s) = todo.pop() {
        done[s as usize] = true;
        for &before in sources.of(s) {
            let at = before as usize;
            sums[at] = match (sums[at], sums[s as usize]) {
                (Some(a), Some(b)) => Some(a.saturating_add(b)),
                _ => None,
            };
            open[at] -= 1;
            if open[at] == 0 {
                todo.push(before);
            }
        }
    }
    let all = sums.into_iter().zip(live).zip(done);
    all.map(|((sum, live), done)| match (live, done) {
        (false, _) => Some(0),
        (true, true) => sum,
        (true, false) => None,
    })
    .collect()
}

impl Amounts {
    /// From the targets of each state by each symbol, and whether it accepts.
    pub(super) fn new(next: &[[u32; 16]], accept: &[bool]) -> Amounts {
        let states = next.len();
        let mut digits: Vec<(u32, u32)> = Vec::new();
        let mut all: Vec<(u32, u32)> = Vec::new();
        for (from, row) in (0..).zip(next) {
            let live = row.iter().enumerate().filter(|(_, to)| **to != DEAD);
            for (symbol, &to) in live {
                all.push((from, to));
                if symbol < 10 {
                    digits.push((from, to));
                }
            }
        }
        let mut zeros = accept.to_vec();
        let by_zero = digits.iter().copied();
        let by_zero = by_zero.filter(|(from, to)| next[*from as usize][0] == *to);
        Sources::new(states, by_zero).spread(&mut zeros);
        let ends = |row: &[u32; 16]| {
            let to = row[1..10].iter().filter(|to| **to != DEAD);
            to.filter(|to| zeros[**to as usize]).count() as u64
        };
        let own: Vec<Option<u64>> = next.iter().map(|row| Some(ends(row))).collect();
        let part = sums(states, &digits, &own);
        let here = next.iter().zip(accept).map(|(row, accepts)| {
            let dot = row[POINT];
            if dot == DEAD {
                return Some(u64::from(*accepts));
            }
            let is_value = *accepts || zeros[dot as usize];
            part[dot as usize].map(|n| n.saturating_add(u64::from(is_value)))
        });
        let here: Vec<Option<u64>> = here.collect();
        let whole = sums(states, &digits, &here);
        Amounts {
            whole,
            part,
            zeros: zeros.into(),
            far: Sources::new(states, all.iter().copied()).distances(accept),
            has_exponents: next.iter().any(|row| row[13] != DEAD || row[14] != DEAD),
        }
    }
}
