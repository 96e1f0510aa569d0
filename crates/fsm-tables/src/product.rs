//! Products of two automata. For example, that of `a*` and `(aa)*` has two states, as the second
//! has.

use crate::{Meter, Pairs, Table};

/// Which pairs of states a product keeps; in a pair either may be missing, where a text has
/// left that automaton.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// All, so that no text leaves the product.
    Every,
    /// The pairs in which the first automaton has a state.
    First,
    /// The pairs in which both have one.
    Both,
}

/// Two automata over the same classes, read side by side: the product of Rabin and Scott
/// ("Finite Automata and Their Decision Problems", 1959). The label of a pair is made from
/// those of its states. States are numbered as a breadth-first search meets them.
///
/// Time and memory are as the pairs that are met, at most the product of both sizes.
///
/// ```
/// use fsm_tables::{Keep, NONE, Table, Unlimited, product};
///
/// let even = Table::new(1, vec![1, 0], vec![true, false]);
/// let short = Table::new(1, vec![1, 2, NONE], vec![true, true, true]);
/// let both = product(&even, &short, Keep::Both, |a, b| a == Some(&true) && b == Some(&true), &mut Unlimited)?;
/// assert_eq!(both, Table::new(1, vec![1, 2, NONE], vec![true, false, true]));
/// # Ok::<(), std::convert::Infallible>(())
/// ```
///
/// # Errors
///
/// The errors are those of the meter.
pub fn product<A, B, L, M: Meter>(
    a: &Table<A>,
    b: &Table<B>,
    keep: Keep,
    label: impl Fn(Option<&A>, Option<&B>) -> L,
    meter: &mut M,
) -> Result<Table<L>, M::Error> {
    let width = a.width();
    // The last number of each stands for no state, and its row leads nowhere.
    let (none_a, none_b) = (a.states() as u32, b.states() as u32);
    let nowhere = vec![crate::NONE; width];
    let is_kept = |pair: (u32, u32)| match keep {
        Keep::Every => true,
        Keep::First => pair.0 != none_a,
        Keep::Both => pair.0 != none_a && pair.1 != none_b,
    };
    let mut next = Vec::new();
    let mut labels = Vec::new();
    if !is_kept((0, 0)) {
        return Ok(Table::new(width, next, labels));
    }
    let mut pairs = Pairs::new(a.states() + 1, b.states() + 1);
    pairs.number((0, 0));
    while labels.len() < pairs.len() {
        let (of_a, of_b) = pairs.get(labels.len());
        meter.work(2 * width + 4)?;
        let label_a = a.labels().get(of_a as usize);
        let label_b = b.labels().get(of_b as usize);
        labels.push(label(label_a, label_b));
        let row_a = label_a.map_or(&nowhere[..], |_| a.row(of_a));
        let row_b = label_b.map_or(&nowhere[..], |_| b.row(of_b));
        for (to_a, to_b) in row_a.iter().zip(row_b) {
            let to = ((*to_a).min(none_a), (*to_b).min(none_b));
            next.push(match is_kept(to) {
                true => pairs.number(to),
                false => crate::NONE,
            });
        }
        meter.states(pairs.len())?;
    }
    Ok(Table::new(width, next, labels))
}
