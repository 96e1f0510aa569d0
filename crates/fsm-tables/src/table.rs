//! Deterministic automata as tables. For example, `a*` over one class is one state that leads to
//! itself, and is labelled `true`.

use crate::Sources;

/// No state, and no class: the largest number, because both are counted from 0.
pub const NONE: u32 = u32::MAX;

/// A deterministic automaton as a table: where each state leads by each class, and a label
/// of each state. The start is state 0; without states no text is accepted.
///
/// Labels are whether a state accepts, or for several languages read side by side
/// whatever is to be known there.
///
/// ```
/// use fsm_tables::{NONE, Table};
///
/// // Texts over one class whose length is 1.
/// let table = Table::new(1, vec![1, NONE], vec![false, true]);
/// assert_eq!(table.next(0, 0), 1);
/// assert_eq!(table.next(1, 0), NONE);
/// assert_eq!(table.labels(), [false, true]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table<L> {
    pub(crate) width: usize,
    pub(crate) next: Vec<u32>,
    pub(crate) labels: Vec<L>,
}

impl<L> Table<L> {
    /// A table with `width` places a state, each a state or [`NONE`].
    ///
    /// # Panics
    ///
    /// In builds with assertions, that are not so many places.
    pub fn new(width: usize, next: Vec<u32>, labels: Vec<L>) -> Table<L> {
        debug_assert_eq!(next.len(), width * labels.len());
        Table {
            width,
            next,
            labels,
        }
    }

    /// Returns the number of classes.
    #[inline]
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the number of states.
    #[inline]
    pub fn states(&self) -> usize {
        self.labels.len()
    }

    /// Returns the state to which a state leads by a class, [`NONE`] if there is none.
    ///
    /// # Panics
    ///
    /// There is no such state or class.
    #[inline]
    pub fn next(&self, state: u32, class: u32) -> u32 {
        self.next[state as usize * self.width + class as usize]
    }

    /// Returns the states to which a state leads, by class.
    ///
    /// # Panics
    ///
    /// There is no such state.
    #[inline]
    pub fn row(&self, state: u32) -> &[u32] {
        &self.next[state as usize * self.width..][..self.width]
    }

    /// The rows of all states.
    #[inline]
    pub fn rows(&self) -> impl Iterator<Item = &[u32]> + Clone {
        // Without classes there are no cells, and no rows are missed but empty ones.
        self.next.chunks_exact(self.width.max(1))
    }

    /// All rows, one behind the other.
    #[inline]
    pub fn cells(&self) -> &[u32] {
        &self.next
    }

    /// The labels of all states.
    #[inline]
    pub fn labels(&self) -> &[L] {
        &self.labels
    }

    /// The same states with other labels.
    pub fn labelled<N>(self, label: impl FnMut(L) -> N) -> Table<N> {
        let labels = self.labels.into_iter().map(label).collect();
        Table::new(self.width, self.next, labels)
    }

    /// All rows one behind the other, and the labels.
    pub fn into_parts(self) -> (Vec<u32>, Vec<L>) {
        (self.next, self.labels)
    }

    /// The same texts over finer classes: of each is given which of the classes here it is.
    pub fn over(&self, own_classes: &[u32]) -> Table<L>
    where
        L: Clone,
    {
        let row = |row| own_classes.iter().map(move |own: &u32| cell(row, *own));
        let next = self.rows().flat_map(row).collect();
        Table::new(own_classes.len(), next, self.labels.clone())
    }

    /// Returns the transitions, `(from, to)` once for each class that has one.
    pub fn arrows(&self) -> impl Iterator<Item = (u32, u32)> + Clone {
        let rows = (0..).zip(self.rows());
        rows.flat_map(|(from, row)| {
            let to = row.iter().filter(|to| **to != NONE);
            to.map(move |to| (from, *to))
        })
    }
}

fn cell(row: &[u32], class: u32) -> u32 {
    row[class as usize]
}

impl Table<bool> {
    /// Which states lead to one that accepts. Time is as the cells.
    pub fn live(&self) -> Vec<bool> {
        let mut live = self.labels.clone();
        Sources::new(self.states(), self.arrows()).spread(&mut live);
        live
    }

    /// Leaves out the states that are not reached or from which nothing is accepted. The
    /// others are numbered as a breadth-first search meets them. Time is as the cells.
    ///
    /// ```
    /// use fsm_tables::{NONE, Table};
    ///
    /// // State 1 leads nowhere, and nothing leads to state 2.
    /// let table = Table::new(2, vec![1, 0, NONE, NONE, 0, 0], vec![true, false, true]);
    /// assert_eq!(table.trimmed(), Table::new(2, vec![NONE, 0], vec![true]));
    /// ```
    pub fn trimmed(&self) -> Table<bool> {
        let blocks: Vec<u32> = (0..self.states() as u32).collect();
        self.merged(&self.live(), &blocks, self.states())
    }

    /// Returns one state of each block that is live and reached, numbered breadth first.
    pub(crate) fn merged(&self, live: &[bool], blocks: &[u32], count: usize) -> Table<bool> {
        let mut next = Vec::new();
        let mut labels = Vec::new();
        if live.first() != Some(&true) {
            return Table::new(self.width, next, labels);
        }
        let mut numbers = vec![NONE; count];
        numbers[blocks[0] as usize] = 0;
        let mut order = vec![0u32];
        while labels.len() < order.len() {
            let state = order[labels.len()];
            labels.push(self.labels[state as usize]);
            for &to in self.row(state) {
                if to == NONE || !live[to as usize] {
                    next.push(NONE);
                    continue;
                }
                let number = &mut numbers[blocks[to as usize] as usize];
                if *number == NONE {
                    *number = order.len() as u32;
                    order.push(to);
                }
                next.push(*number);
            }
        }
        Table::new(self.width, next, labels)
    }
}
