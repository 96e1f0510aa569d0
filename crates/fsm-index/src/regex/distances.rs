//! The ways from the states of a table of symbols to the end of a text.
//!
//! For example, behind the `a` of `abc|ad` the nearest end is one byte away, and `d` leads there.

use std::collections::VecDeque;

use super::decoder::{Decoder, Entry};
use super::symbol_table::SymbolTable;

/// The shortest ways to finish texts.
#[derive(Clone, Debug)]
pub(super) struct Distances {
    /// The bytes from each state to acceptance; the dead one is infinitely far.
    pub(super) states: Box<[u32]>,
    /// A shortest spelling of each class, the first by its bytes; none where there is none.
    pub(super) spellings: Box<[Box<[u8]>]>,
}

impl Distances {
    /// The distances to acceptance, breadth first along reversed edges. An
    /// edge is as long as the shortest spelling of its class.
    pub(super) fn of(table: &SymbolTable) -> Distances {
        let spellings = spellings(&table.decoder);
        let lengths = spelling_lengths(&table.decoder);
        let stride = table.decoder.class_count();
        let mut incoming = vec![Vec::new(); table.states()];
        for from in 1..table.states() {
            for (class, &length) in lengths.iter().enumerate() {
                let to = table.cell(from * stride + class);
                if to != 0 && length != 0 {
                    incoming[to as usize].push((from, length));
                }
            }
        }
        let mut distances = vec![u32::MAX; table.states()].into_boxed_slice();
        // Edges are 1 to 4 bytes long: four queues, one for each remainder.
        let mut queues: [VecDeque<(usize, u32)>; 5] = Default::default();
        queues[0] = (0..table.states())
            .filter(|&s| table.accepts_in(s as u32))
            .map(|s| (s, 0))
            .collect();
        let mut distance = 0u32;
        while queues.iter().any(|queue| !queue.is_empty()) {
            while let Some((to, _)) = queues[distance as usize % 5].pop_front() {
                if distances[to] != u32::MAX {
                    continue;
                }
                distances[to] = distance;
                for &(from, length) in &incoming[to] {
                    if distances[from] == u32::MAX {
                        queues[(distance + length) as usize % 5].push_back((from, length));
                    }
                }
            }
            distance += 1;
        }
        Distances {
            states: distances,
            spellings,
        }
    }
}

/// Tells whether every state but the dead one reaches acceptance by symbols that have a
/// spelling. So it is of whatever is built here; a file may say otherwise, and then completions
/// and forced texts would have no end.
pub(super) fn is_live(table: &SymbolTable) -> bool {
    let lengths = spelling_lengths(&table.decoder);
    let stride = table.decoder.class_count();
    let edges = |from: usize| {
        let row = lengths.iter().enumerate().filter(|class| *class.1 != 0);
        row.map(move |(class, _)| table.cell(from * stride + class) as usize)
    };
    // The start of the edges into each state, in one list of all.
    let mut first = vec![0u32; table.states() + 1];
    for to in (1..table.states()).flat_map(edges) {
        first[to] += 1;
    }
    let mut sum = 0u32;
    for count in &mut first {
        sum += *count;
        *count = sum;
    }
    let mut tails = vec![0u32; sum as usize];
    for from in 1..table.states() {
        for to in edges(from) {
            first[to] -= 1;
            tails[first[to] as usize] = from as u32;
        }
    }
    let mut live: Vec<bool> = (0..table.states() as u32)
        .map(|state| state != 0 && table.accepts_in(state))
        .collect();
    let mut open: Vec<usize> = (0..table.states()).filter(|&state| live[state]).collect();
    let mut found = open.len();
    while let Some(to) = open.pop() {
        for &from in &tails[first[to] as usize..first[to + 1] as usize] {
            if !std::mem::replace(&mut live[from as usize], true) {
                open.push(from as usize);
                found += 1;
            }
        }
    }
    found == table.states() - 1
}

/// A shortest spelling of each class, the first by its bytes.
fn spellings(decoder: &Decoder) -> Box<[Box<[u8]>]> {
    let mut spellings: Vec<Box<[u8]>> = vec![Box::default(); decoder.class_count()];
    let mut open: Vec<(u32, Vec<u8>)> = vec![(0, Vec::new())];
    let mut seen = vec![false; decoder.node_count() + 1];
    while !open.is_empty() {
        for (node, text) in std::mem::take(&mut open) {
            for byte in 0..=255u8 {
                let spelt = || [text.as_slice(), &[byte]].concat();
                match decoder.step(node, byte) {
                    Entry::Class(class) if spellings[class as usize].is_empty() => {
                        spellings[class as usize] = spelt().into();
                    }
                    Entry::Node(node) if !std::mem::replace(&mut seen[node as usize], true) => {
                        open.push((node.into(), spelt()));
                    }
                    _ => {}
                }
            }
        }
    }
    spellings.into()
}

/// The bytes of the shortest symbol of each class; 0 for one without.
fn spelling_lengths(decoder: &Decoder) -> Vec<u32> {
    let mut lengths = vec![0u32; decoder.class_count()];
    let mut nodes = vec![0u32];
    let mut seen = vec![false; decoder.node_count() + 1];
    for length in 1..=4 {
        let mut inner = Vec::new();
        for &node in &nodes {
            for byte in 0..=255u8 {
                match decoder.step(node, byte) {
                    Entry::Class(class) if lengths[class as usize] == 0 => {
                        lengths[class as usize] = length;
                    }
                    Entry::Node(node) if !std::mem::replace(&mut seen[node as usize], true) => {
                        inner.push(u32::from(node));
                    }
                    _ => {}
                }
            }
        }
        nodes = inner;
    }
    lengths
}
