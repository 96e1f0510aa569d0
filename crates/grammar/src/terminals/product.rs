//! Two automata read side by side, run by run.
//!
//! For example, `/[a-z]+/ & ~"if"` stands behind `i` in both; behind `x` the second one is left, and the first goes on alone.

use fsm_tables::{Meter, Pairs, Sources};

use super::byte_classes::Run;
use super::table::{Table, TableLimits};
use crate::error::Error;

/// The texts that a product of two automata takes.
#[derive(Clone, Copy)]
enum ProductOf {
    /// Both take them.
    Both,
    /// The first one takes them, and the second one does not.
    FirstAlone,
}

/// The pairs of states that texts lead to, and their rows.
struct PairRows {
    of: ProductOf,
    pairs: Pairs,
    /// The first run of the row that is being made.
    begun: usize,
    runs: Vec<Run>,
}

impl PairRows {
    /// Adds a run to the row, as a part of the one before if that leads to the same.
    fn add(&mut self, first: u8, last: u8, own: u32, beside: u32) {
        let to = self.pairs.number((own, beside));
        match self.runs[self.begun..].last_mut() {
            Some(run) if run.to == to && run.last + 1 == first => run.last = last,
            _ => self.runs.push(Run { first, last, to }),
        }
    }

    /// Adds what a run of the first automaton becomes beside a row of the second one.
    fn cut(&mut self, run: &Run, others: &[Run]) {
        let is_alone = matches!(self.of, ProductOf::FirstAlone);
        let from = others.partition_point(|other| other.last < run.first);
        // The first byte that is left.
        let mut left = u16::from(run.first);
        for other in &others[from..] {
            if other.first > run.last {
                break;
            }
            let (first, last) = (other.first.max(run.first), other.last.min(run.last));
            if is_alone && left < u16::from(first) {
                self.add(left as u8, first - 1, run.to, 0);
            }
            self.add(first, last, run.to, other.to);
            left = u16::from(last) + 1;
        }
        if is_alone && left <= u16::from(run.last) {
            self.add(left as u8, run.last, run.to, 0);
        }
    }
}

impl Table {
    /// Returns the texts that both take.
    pub(crate) fn both(&self, other: &Table, limits: TableLimits) -> Result<Table, Error> {
        self.product(other, ProductOf::Both, limits)
    }

    /// The texts that it takes and the other does not.
    pub(crate) fn but(&self, other: &Table, limits: TableLimits) -> Result<Table, Error> {
        self.product(other, ProductOf::FirstAlone, limits)
    }

    /// All UTF-8 text that it does not take.
    pub(crate) fn complement(&self, limits: TableLimits) -> Result<Table, Error> {
        Table::of_pattern("(?s:.*)", limits)?.but(self, limits)
    }

    /// Returns the texts that it takes, no beginning of which it takes.
    pub(crate) fn first(&self) -> Table {
        let (mut runs, mut ends) = (Vec::new(), Vec::new());
        for state in 0..self.states() {
            if !self.accepting[state] {
                runs.extend_from_slice(self.row(state));
            }
            ends.push(runs.len() as u32);
        }
        live(self.start, &runs, &ends, &self.accepting)
    }

    /// Returns the texts that this automaton and another one take together: the product of Rabin and Scott (1959). Most rows have
    /// few runs, so it takes the time of these and not that of the bytes.
    ///
    /// # Errors
    ///
    /// More pairs of states are met than the limit allows.
    fn product(
        &self,
        other: &Table,
        of: ProductOf,
        mut limits: TableLimits,
    ) -> Result<Table, Error> {
        let mut rows = PairRows {
            of,
            pairs: Pairs::new(self.states(), other.states()),
            begun: 0,
            runs: Vec::new(),
        };
        rows.pairs.number((self.start, other.start));
        let (mut ends, mut accepting) = (Vec::new(), Vec::new());
        while ends.len() < rows.pairs.len() {
            let (own, beside) = rows.pairs.get(ends.len());
            rows.begun = rows.runs.len();
            for run in self.row(own as usize) {
                rows.cut(run, other.row(beside as usize));
            }
            ends.push(rows.runs.len() as u32);
            let is_beside = other.accepting[beside as usize];
            let accepts = match of {
                ProductOf::Both => is_beside,
                ProductOf::FirstAlone => !is_beside,
            };
            accepting.push(accepts && self.accepting[own as usize]);
            limits.states(rows.pairs.len())?;
        }
        Ok(live(0, &rows.runs, &ends, &accepting))
    }
}

/// Returns the table of states by their runs and the ends of these, without what is not reached or not live. States are
/// numbered breadth first.
fn live(start: u32, runs: &[Run], ends: &[u32], accepting: &[bool]) -> Table {
    let row = |state: u32| {
        let begin = state
            .checked_sub(1)
            .map_or(0, |before| ends[before as usize]);
        &runs[begin as usize..ends[state as usize] as usize]
    };
    let states = 0..ends.len() as u32;
    let arrows = states.flat_map(|state| row(state).iter().map(move |run| (state, run.to)));
    let mut live = accepting.to_vec();
    Sources::new(ends.len(), arrows).spread(&mut live);
    let mut table = Table::nothing();
    if live.get(start as usize) != Some(&true) {
        return table;
    }
    table.start = 1;
    // Numbers in the table; 0 for a state that was not met.
    let mut numbers = vec![0; ends.len()];
    numbers[start as usize] = 1;
    let mut order = vec![start];
    let mut at = 0;
    while let Some(&state) = order.get(at) {
        at += 1;
        for run in row(state).iter().filter(|run| live[run.to as usize]) {
            let number = &mut numbers[run.to as usize];
            if *number == 0 {
                order.push(run.to);
                *number = order.len() as u32;
            }
            table.push_run(Run {
                to: *number,
                ..*run
            });
        }
        table.end_row(accepting[state as usize]);
    }
    table
}
