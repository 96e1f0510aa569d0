//! A bipartite matching of alike places of an array to values: each place has a value of its own.
//!
//! For example, two places with the values `1` and `2` are matched, and a third one beside them is not.

use std::collections::VecDeque;

/// Alike places of an array, and the values that they may have.
pub(super) struct Places {
    pub(super) values: Vec<u32>,
    pub(super) count: u64,
}

/// A matching that gives all places a value of their own.
pub(super) struct Matching {
    /// For each value one more than the number of the places that have it.
    pub(super) owner: Vec<u32>,
}

impl Matching {
    /// Gives some places one more value, along a way of values that change their places.
    pub(super) fn find(&mut self, places: &[Places], start: usize) -> bool {
        // From which places a value was met, and by which value other places were.
        let mut from: Vec<u32> = vec![u32::MAX; self.owner.len()];
        let mut via: Vec<u32> = vec![u32::MAX; places.len()];
        let mut queue = VecDeque::from([start]);
        while let Some(at) = queue.pop_front() {
            for &value in &places[at].values {
                if from[value as usize] != u32::MAX {
                    continue;
                }
                from[value as usize] = at as u32;
                let Some(owner) = self.owner[value as usize].checked_sub(1) else {
                    self.turn(value, &from, &via, start);
                    return true;
                };
                let owner = owner as usize;
                if owner != start && via[owner] == u32::MAX {
                    via[owner] = value;
                    queue.push_back(owner);
                }
            }
        }
        false
    }

    /// Hands values on along an augmenting path: the last one to the places that met it, which give
    /// up the one by which they were met.
    fn turn(&mut self, end: u32, from: &[u32], via: &[u32], start: usize) {
        let mut value = end as usize;
        loop {
            let at = from[value];
            self.owner[value] = at + 1;
            if at as usize == start {
                return;
            }
            value = via[at as usize] as usize;
        }
    }

    /// The values that some places have in every matching.
    pub(super) fn indispensable(&self, places: &[Places], taken: &[bool]) -> Vec<u32> {
        let mut free: Vec<bool> = self.owner.iter().map(|owner| *owner == 0).collect();
        for (free, taken) in free.iter_mut().zip(taken) {
            *free &= !taken;
        }
        let mut open: Vec<usize> = (0..places.len()).collect();
        loop {
            let before = open.len();
            open.retain(|&at| {
                let can = places[at].values.iter().any(|value| free[*value as usize]);
                if can {
                    let owned = self.owner.iter().enumerate();
                    for (value, _) in owned.filter(|(_, owner)| **owner == at as u32 + 1) {
                        free[value] = true;
                    }
                }
                !can
            });
            if open.len() == before {
                break;
            }
        }
        let owned = (0..).zip(&self.owner).filter(|(_, owner)| **owner != 0);
        owned
            .map(|(value, _)| value)
            .filter(|value: &u32| !free[*value as usize])
            .collect()
    }
}
