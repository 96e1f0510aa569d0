//! Minimal automata. For example, the states behind `a` and `b` of `ac|bc` become one.

use crate::{Meter, NONE, Sources, Table};

/// The bytes that a transition takes, because its tail, head and place among those that lead to the
/// same state are kept, and its place, block and marks in the partition of all.
const TRANSITION_BYTES: usize = 44;

/// The bytes that a state takes in the partition of states, because its place, block and marks are
/// kept.
const STATE_BYTES: usize = 40;

/// Steps for a transition: some, because it is sorted and moved a few times between blocks.
const TRANSITION_STEPS: usize = 10;

impl Table<bool> {
    /// The smallest table of the same texts; without states if there are none. States are
    /// numbered as a breadth-first search from the start meets them, and all are live.
    ///
    /// This is Hopcroft's algorithm ("An n log n algorithm for minimizing states in a finite
    /// automaton", 1971) as Antti Valmari brought it to tables with gaps ("Fast brief
    /// practical DFA minimization", Information Processing Letters 112(6), 2012): O(m log n)
    /// for n states and m transitions. Few states without cycles but loops are compared
    /// with each other, from the last to the first (Revuz, "Minimisation of acyclic
    /// deterministic automata in linear time", 1992).
    ///
    /// ```
    /// use fsm_tables::{NONE, Table};
    ///
    /// // States 1 and 2 are alike, and from state 3 nothing is accepted.
    /// let next = vec![1, 2, NONE, 3, NONE, NONE, 3, 3];
    /// let table = Table::new(2, next, vec![false, true, true, false]);
    /// let least = table.minimized(&mut fsm_tables::Unlimited)?;
    /// assert_eq!(least, Table::new(2, vec![1, 1, NONE, NONE], vec![false, true]));
    /// # Ok::<(), std::convert::Infallible>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors are those of the meter.
    pub fn minimized<M: Meter>(&self, meter: &mut M) -> Result<Table<bool>, M::Error> {
        let transitions = self.next.iter().filter(|&&head| head != NONE).count();
        meter.hold(transitions * TRANSITION_BYTES + self.states() * STATE_BYTES)?;
        meter.work(transitions * TRANSITION_STEPS + self.next.len() / 8)?;
        if let Some(order) = self.last_first() {
            let live = self.live_in_order(&order);
            let (blocks, count) = self.blocks_in_order(&order, &live);
            return Ok(self.merged(&live, &blocks, count));
        }
        let live = self.live();
        if !live[0] {
            return Ok(Table::new(self.width, Vec::new(), Vec::new()));
        }
        let blocks = self.blocks(&live);
        Ok(self.merged(&live, &blocks.block, blocks.len()))
    }

    /// The coarsest partition of the live states that tells accepting ones apart and that
    /// classes respect.
    fn blocks(&self, live: &[bool]) -> Partition {
        // Transitions between live states alone, those of each class side by side.
        let is_live = |head: &u32| *head != NONE && live[*head as usize];
        let tails = || (0..).zip(self.rows()).filter(|row| live[row.0 as usize]);
        let mut ends = vec![0; self.width];
        for (_, row) in tails() {
            for (end, head) in ends.iter_mut().zip(row) {
                *end += usize::from(is_live(head));
            }
        }
        let mut all = 0;
        for end in &mut ends {
            all += std::mem::replace(end, all);
        }
        let mut tail_of = vec![0u32; all];
        let mut heads = vec![0u32; all];
        for (tail, row) in tails() {
            for (end, head) in ends.iter_mut().zip(row).filter(|cell| is_live(cell.1)) {
                tail_of[*end] = tail;
                heads[*end] = *head;
                *end += 1;
            }
        }
        let mut cords = Partition::of_runs(all, &ends);
        let incoming = Sources::new(self.states(), (0..).zip(heads.iter().copied()));
        drop(heads);
        let mut blocks = Partition::new(self.states());
        for (state, &live) in (0..).zip(live) {
            if !live {
                blocks.mark(state);
            }
        }
        // Dead states become a block of their own, which no transition touches.
        blocks.split();
        for (state, &accepting) in (0..).zip(&self.labels) {
            if accepting {
                blocks.mark(state);
            }
        }
        blocks.split();

        let mut splitters = 0;
        let mut cord = 0;
        while cord < cords.len() {
            for i in cords.range(cord) {
                blocks.mark(tail_of[cords.elements[i] as usize]);
            }
            blocks.split();
            cord += 1;
            while splitters < blocks.len() {
                for i in blocks.range(splitters) {
                    for &transition in incoming.of(blocks.elements[i]) {
                        cords.mark(transition);
                    }
                }
                cords.split();
                splitters += 1;
            }
        }
        blocks
    }

    /// Few states, each behind those to which it leads, where none is met again on the
    /// way from it but at once: so are the automata of most numbers and of many patterns.
    fn last_first(&self) -> Option<Vec<u32>> {
        let states = self.states();
        if states > FEW {
            return None;
        }
        let (mut seen, mut done) = (0u64, 0u64);
        let mut order = Vec::with_capacity(states);
        // The way to a state, each with how many of its classes were looked at.
        let mut path: Vec<(usize, usize)> = Vec::with_capacity(states);
        for start in 0..states {
            if seen & 1 << start == 0 {
                seen |= 1 << start;
                path.push((start, 0));
            }
            while let Some((at, looked)) = path.last_mut() {
                let at = *at;
                if *looked == self.width {
                    done |= 1 << at;
                    order.push(at as u32);
                    path.pop();
                    continue;
                }
                let to = self.next[at * self.width + *looked];
                *looked += 1;
                if to == NONE {
                    continue;
                }
                let to = to as usize;
                if seen & 1 << to == 0 {
                    seen |= 1 << to;
                    path.push((to, 0));
                } else if done & 1 << to == 0 && to != at {
                    return None;
                }
            }
        }
        Some(order)
    }

    /// Returns the answer of [`Table::live`]; in the order, the states to which a state leads come
    /// before it.
    fn live_in_order(&self, order: &[u32]) -> Vec<bool> {
        let mut live = self.labels.clone();
        for &s in order {
            let leads_on = |to: &u32| *to != NONE && live[*to as usize];
            let is_live = self.labels[s as usize] || self.row(s).iter().any(leads_on);
            live[s as usize] = is_live;
        }
        live
    }

    /// Returns the blocks of [`Table::blocks`], and their number; the states to which a state leads
    /// come before it, so that states are alike if they lead to blocks that are the same.
    fn blocks_in_order(&self, order: &[u32], live: &[bool]) -> (Vec<u32>, usize) {
        // Dead states have no block, as what is missing.
        let mut blocks = vec![NONE; self.states()];
        // The first state of each block.
        let mut firsts: Vec<u32> = Vec::new();
        for &s in order.iter().filter(|s| live[**s as usize]) {
            let block_of = |to: u32| blocks.get(to as usize).copied().unwrap_or(NONE);
            let is_like = |(block, first): (u32, &u32)| {
                let leads_alike = |(to, like): (&u32, &u32)| {
                    let to = if *to == s { block } else { block_of(*to) };
                    to == block_of(*like)
                };
                self.labels[s as usize] == self.labels[*first as usize]
                    && self.row(s).iter().zip(self.row(*first)).all(leads_alike)
            };
            let known = (0..).zip(&firsts).position(is_like);
            let block = known.unwrap_or_else(|| {
                firsts.push(s);
                firsts.len() - 1
            });
            blocks[s as usize] = block as u32;
        }
        (blocks, firsts.len())
    }
}

/// The most states that are compared with each other: 64, because sets of them are the bits of a
/// word.
const FEW: usize = 64;

/// A refinable partition of `0..n`: the elements of a block lie together, the
/// marked ones first.
struct Partition {
    elements: Vec<u32>,
    place: Vec<u32>,
    block: Vec<u32>,
    first: Vec<u32>,
    past: Vec<u32>,
    marked: Vec<u32>,
    touched: Vec<u32>,
}

impl Partition {
    fn new(n: usize) -> Self {
        Partition {
            elements: (0..n as u32).collect(),
            place: (0..n as u32).collect(),
            block: vec![0; n],
            first: vec![0],
            past: vec![n as u32],
            marked: vec![0],
            touched: Vec::new(),
        }
    }

    /// One block for each run of numbers, which end there.
    fn of_runs(n: usize, ends: &[usize]) -> Self {
        let mut partition = Partition::new(n);
        partition.first.clear();
        partition.past.clear();
        partition.marked.clear();
        let mut first = 0;
        for &end in ends {
            if end > first {
                partition.block[first..end].fill(partition.first.len() as u32);
                partition.first.push(first as u32);
                partition.past.push(end as u32);
                partition.marked.push(0);
                first = end;
            }
        }
        partition
    }

    fn len(&self) -> usize {
        self.first.len()
    }

    fn range(&self, block: usize) -> std::ops::Range<usize> {
        self.first[block] as usize..self.past[block] as usize
    }

    fn mark(&mut self, element: u32) {
        let block = self.block[element as usize] as usize;
        let from = self.place[element as usize];
        let to = self.first[block] + self.marked[block];
        if from < to {
            return; // Marked before.
        }
        let other = self.elements[to as usize];
        self.elements[from as usize] = other;
        self.place[other as usize] = from;
        self.elements[to as usize] = element;
        self.place[element as usize] = to;
        if self.marked[block] == 0 {
            self.touched.push(block as u32);
        }
        self.marked[block] += 1;
    }

    /// Makes the smaller part of each touched block a block of its own.
    fn split(&mut self) {
        while let Some(block) = self.touched.pop() {
            let block = block as usize;
            let middle = self.first[block] + self.marked[block];
            if middle == self.past[block] {
                self.marked[block] = 0;
                continue;
            }
            let new = self.first.len() as u32;
            if self.marked[block] <= self.past[block] - middle {
                self.first.push(self.first[block]);
                self.past.push(middle);
                self.first[block] = middle;
            } else {
                self.first.push(middle);
                self.past.push(self.past[block]);
                self.past[block] = middle;
            }
            self.marked[block] = 0;
            self.marked.push(0);
            for i in self.range(new as usize) {
                self.block[self.elements[i] as usize] = new;
            }
        }
    }
}
