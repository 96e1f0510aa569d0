//! Tables from steps. For example, counting letters modulo 3 by `|state, _| (state + 1) % 3` gives
//! three states.

use std::hash::Hash;

use rustc_hash::FxHashMap;

use crate::{Meter, NONE, Table};

/// The table of an automaton that is known by its steps: `step` says where a state leads by
/// each of `width` classes, and `label` what is known of it. States are numbered as a
/// breadth-first search meets them.
///
/// Time is as the cells, a look-up each.
///
/// ```
/// use fsm_tables::{Unlimited, explore};
///
/// // Bits of numbers that 3 divides.
/// let step = |rest: &u32, bit: usize| Some((2 * rest + bit as u32) % 3);
/// let table = explore(2, 0, step, |rest| *rest == 0, &mut Unlimited)?;
/// assert_eq!(table.cells(), [0, 1, 2, 0, 1, 2]);
/// assert_eq!(table.labels(), [true, false, false]);
/// # Ok::<(), std::convert::Infallible>(())
/// ```
///
/// # Errors
///
/// The errors are those of the meter.
pub fn explore<S: Clone + Eq + Hash, L, M: Meter>(
    width: usize,
    start: S,
    step: impl Fn(&S, usize) -> Option<S>,
    label: impl Fn(&S) -> L,
    meter: &mut M,
) -> Result<Table<L>, M::Error> {
    let mut known: FxHashMap<S, u32> = FxHashMap::from_iter([(start.clone(), 0)]);
    let mut states = vec![start];
    let mut next = Vec::new();
    let mut labels = Vec::new();
    while labels.len() < states.len() {
        let state = states[labels.len()].clone();
        meter.work(4 * width)?;
        for class in 0..width {
            let to = step(&state, class).map(|to| match known.get(&to) {
                Some(&number) => number,
                None => {
                    let number = states.len() as u32;
                    known.insert(to.clone(), number);
                    states.push(to);
                    number
                }
            });
            next.push(to.unwrap_or(NONE));
        }
        labels.push(label(&state));
        meter.states(states.len())?;
    }
    Ok(Table::new(width, next, labels))
}
