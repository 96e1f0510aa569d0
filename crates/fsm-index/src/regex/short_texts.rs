//! States that agree on every text as short as a token.
//!
//! A mask looks no further than the longest token, so states that no text of
//! that many bytes tells apart share one row: all but the last few of the
//! thousand states of `.{0,1000}`. This is the refinement of Moore
//! ("Gedanken-experiments on Sequential Machines", 1956), stopped after as many
//! rounds as a token has bytes.
//!
//! For example, with tokens of at most 16 bytes all states of `.{0,1000}` but the last 16 share a
//! row.

use std::collections::HashMap;

/// The least number of states for which the search is made, because few states have few rows
/// anyway.
const WORTH: usize = 64;

/// The most signatures, each of a state's row, after which the search is given up: a fraction of a
/// second, because rows that are not shared cost more only if they are asked for.
const MOST_WORK: usize = 4_000_000;

/// For each state the smallest one that allows the same texts of at most
/// `rounds` symbols, and accepts if it does. `None` if that is always the state
/// itself, or not found within the budget. State 0 is dead; every other state
/// must be alive.
pub(crate) fn alike(
    states: usize,
    classes: usize,
    next: impl Fn(usize, usize) -> u32,
    accepting: impl Fn(usize) -> bool,
    rounds: usize,
) -> Option<Box<[u32]>> {
    if states < WORTH {
        return None;
    }
    let mut incoming: Vec<Vec<u32>> = vec![Vec::new(); states];
    for state in 1..states {
        let mut seen = 0;
        for class in 0..classes {
            let to = next(state, class);
            // Neighbouring classes often lead to the same state.
            if to != 0 && to != seen {
                incoming[to as usize].push(state as u32);
                seen = to;
            }
        }
    }
    // Block 0 is the dead state's; at first all live states are in block 1.
    let mut block: Vec<u32> = vec![1; states];
    block[0] = 0;
    let mut sizes = vec![1usize, states - 1];
    let mut touched: Vec<u32> = (1..states as u32).collect();
    let mut marks = vec![0u32; states];
    let mut work = 0;
    let signature = |block: &[u32], state: usize| -> Box<[u32]> {
        (0..classes)
            .map(|class| block[next(state, class) as usize])
            .collect()
    };
    for round in 1..=rounds as u32 {
        if touched.is_empty() {
            break;
        }
        work += touched.len() * (1 + classes / 8);
        if work > MOST_WORK {
            return None;
        }
        // For each block that is touched, its states by their targets.
        let mut groups: HashMap<(u32, Box<[u32]>), Vec<u32>> = HashMap::new();
        for &state in &touched {
            let key = (block[state as usize], signature(&block, state as usize));
            groups.entry(key).or_default().push(state);
        }
        let mut of_block: HashMap<u32, Vec<Vec<u32>>> = HashMap::new();
        for ((block, _), group) in groups {
            of_block.entry(block).or_default().push(group);
        }
        let mut changed = Vec::new();
        for (old, mut groups) in of_block {
            let whole: usize = groups.iter().map(Vec::len).sum();
            groups.sort_unstable();
            if whole == sizes[old as usize] {
                // The largest group keeps the block's number.
                let largest = (0..groups.len()).max_by_key(|&g| groups[g].len());
                groups.swap_remove(largest.unwrap_or(0));
            }
            for group in groups {
                let new = sizes.len() as u32;
                sizes.push(group.len());
                sizes[old as usize] -= group.len();
                changed.push((new, group));
            }
        }
        for (new, group) in &changed {
            for &state in group {
                block[state as usize] = *new;
            }
        }
        touched.clear();
        for state in changed.iter().flat_map(|c| &c.1) {
            for &from in &incoming[*state as usize] {
                if std::mem::replace(&mut marks[from as usize], round) != round {
                    touched.push(from);
                }
            }
        }
    }
    let mut first: HashMap<(u32, bool), u32> = HashMap::new();
    let alike: Box<[u32]> = (0..states)
        .map(|state| {
            let key = (block[state], state != 0 && accepting(state));
            *first.entry(key).or_insert(state as u32)
        })
        .collect();
    (first.len() < states).then_some(alike)
}
