//! Minimisation in O(m log n) for n states and m transitions: Antti Valmari,
//! "Fast brief practical DFA minimization", Information Processing Letters
//! 112(6), 2012. States that cannot be reached or cannot reach acceptance are
//! dropped on the way, so every state that remains is live.

use super::determinize::Raw;
use super::{Costs, NONE};
use crate::Error;

/// What a transition takes: its tail, label, head and place among those that lead to the
/// same state, and its place, block and marks in the partition of all.
const TRANSITION_BYTES: usize = 44;

/// What a state takes in the partition of states.
const STATE_BYTES: usize = 40;

/// Steps for a transition: it is sorted, and moved some times between blocks.
const TRANSITION_STEPS: usize = 10;

/// The smallest automaton of the same language; states are numbered in the
/// order in which a breadth-first search from the start meets them. `None` if
/// nothing is accepted.
///
/// # Errors
///
/// It takes more than a limit.
pub(super) fn minimize(
    raw: &Raw,
    width: usize,
    costs: &mut Costs<'_>,
) -> Result<Option<Raw>, Error> {
    let transitions = raw.next.iter().filter(|&&head| head != NONE).count();
    let states = raw.accepting.len();
    costs.hold(transitions * TRANSITION_BYTES + states * STATE_BYTES)?;
    costs.work(transitions * TRANSITION_STEPS + raw.next.len() / 8)?;
    let live = live(raw, width);
    if !live[0] {
        return Ok(None);
    }
    // Transitions between live states alone: tail, label, head.
    let mut tails = Vec::new();
    let mut labels = Vec::new();
    let mut heads = Vec::new();
    for tail in (0..raw.accepting.len()).filter(|&s| live[s]) {
        for label in 0..width {
            let head = raw.next[tail * width + label];
            if head != NONE && live[head as usize] {
                tails.push(tail as u32);
                labels.push(label as u32);
                heads.push(head);
            }
        }
    }
    let mut blocks = Partition::new(states);
    for (state, &live) in live.iter().enumerate() {
        if !live {
            blocks.mark(state as u32);
        }
    }
    // Dead states become a block of their own, which no transition touches.
    blocks.split();
    for (state, &accepting) in raw.accepting.iter().enumerate() {
        if accepting {
            blocks.mark(state as u32);
        }
    }
    blocks.split();

    let mut cords = Partition::by_label(&labels);
    let incoming = Incoming::new(states, &heads);
    let mut splitters = 0;
    let mut cord = 0;
    while cord < cords.len() {
        for i in cords.range(cord) {
            blocks.mark(tails[cords.elements[i] as usize]);
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

    drop((cords, incoming, tails, heads));
    Ok(Some(renumber(raw, width, &live, &blocks)))
}

/// Which states are both reachable and able to reach acceptance.
fn live(raw: &Raw, width: usize) -> Vec<bool> {
    let states = raw.accepting.len();
    let incoming = Incoming::tails(raw, width);
    let mut live = raw.accepting.clone();
    let mut stack: Vec<u32> = (0..states as u32).filter(|&s| live[s as usize]).collect();
    while let Some(state) = stack.pop() {
        for &tail in incoming.of(state) {
            if !std::mem::replace(&mut live[tail as usize], true) {
                stack.push(tail);
            }
        }
    }
    live
}

fn renumber(raw: &Raw, width: usize, live: &[bool], blocks: &Partition) -> Raw {
    let mut number = vec![NONE; blocks.len()];
    let mut order = vec![0u32];
    number[blocks.block[0] as usize] = 0;
    let mut next = Vec::new();
    let mut accepting = Vec::new();
    let mut at = 0;
    while at < order.len() {
        let state = order[at] as usize;
        accepting.push(raw.accepting[state]);
        for class in 0..width {
            let head = raw.next[state * width + class];
            if head == NONE || !live[head as usize] {
                next.push(NONE);
                continue;
            }
            let number = &mut number[blocks.block[head as usize] as usize];
            if *number == NONE {
                *number = order.len() as u32;
                order.push(head);
            }
            next.push(*number);
        }
        at += 1;
    }
    Raw { next, accepting }
}

/// For each state, the transitions that lead into it, or their tails.
struct Incoming {
    first: Vec<u32>,
    transitions: Vec<u32>,
}

impl Incoming {
    /// For each state, the states with transitions into it.
    fn tails(raw: &Raw, width: usize) -> Self {
        let states = raw.accepting.len();
        let mut first = vec![0u32; states + 1];
        for &head in raw.next.iter().filter(|&&head| head != NONE) {
            first[head as usize] += 1;
        }
        let mut sum = 0;
        for f in &mut first {
            sum += *f;
            *f = sum;
        }
        let mut transitions = vec![0u32; sum as usize];
        for (tail, row) in raw.next.chunks_exact(width).enumerate().rev() {
            for &head in row.iter().filter(|&&head| head != NONE) {
                let f = &mut first[head as usize];
                *f -= 1;
                transitions[*f as usize] = tail as u32;
            }
        }
        Incoming { first, transitions }
    }

    fn new(states: usize, heads: &[u32]) -> Self {
        let mut first = vec![0u32; states + 1];
        for &head in heads {
            first[head as usize] += 1;
        }
        let mut sum = 0;
        for f in &mut first {
            sum += *f;
            *f = sum;
        }
        let mut transitions = vec![0u32; heads.len()];
        for (transition, &head) in heads.iter().enumerate().rev() {
            let f = &mut first[head as usize];
            *f -= 1;
            transitions[*f as usize] = transition as u32;
        }
        Incoming { first, transitions }
    }

    fn of(&self, state: u32) -> &[u32] {
        let s = state as usize;
        &self.transitions[self.first[s] as usize..self.first[s + 1] as usize]
    }
}

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

    /// One block for each label.
    fn by_label(labels: &[u32]) -> Self {
        let mut partition = Partition::new(labels.len());
        partition.elements.sort_by_key(|&e| labels[e as usize]);
        partition.first.clear();
        partition.past.clear();
        partition.marked.clear();
        let mut previous = None;
        for i in 0..labels.len() {
            let element = partition.elements[i] as usize;
            if previous != Some(labels[element]) {
                previous = Some(labels[element]);
                if !partition.first.is_empty() {
                    partition.past.push(i as u32);
                }
                partition.first.push(i as u32);
                partition.marked.push(0);
            }
            partition.block[element] = partition.first.len() as u32 - 1;
            partition.place[element] = i as u32;
        }
        if !labels.is_empty() {
            partition.past.push(labels.len() as u32);
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
