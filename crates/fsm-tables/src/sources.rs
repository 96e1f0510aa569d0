//! Transitions backwards. For example, with those from 0 to 1 and from 2 to 1 the sources of 1 are
//! 0 and 2.

use std::collections::VecDeque;

/// For each state what leads to it.
///
/// ```
/// use fsm_tables::Sources;
///
/// let sources = Sources::new(3, [(0, 1), (2, 1), (1, 2)].into_iter());
/// assert_eq!(sources.of(1), [0, 2]);
/// assert_eq!(*sources.distances(&[false, false, true]), [2, 1, 0]);
/// let mut marked = [false, false, true];
/// sources.spread(&mut marked);
/// assert_eq!(marked, [true, true, true]);
/// ```
#[derive(Clone, Debug)]
pub struct Sources {
    /// The beginning of the list of each state, and behind the last one its end.
    begin: Vec<u32>,
    from: Vec<u32>,
}

impl Sources {
    /// From the arrows, `(from, to)` each, between `states` states. Time is as the arrows,
    /// which are gone through twice.
    ///
    /// # Panics
    ///
    /// An arrow leads to a state that there is not.
    pub fn new(states: usize, arrows: impl Iterator<Item = (u32, u32)> + Clone) -> Sources {
        let mut begin = vec![0u32; states + 1];
        for (_, to) in arrows.clone() {
            begin[to as usize + 1] += 1;
        }
        for i in 0..states {
            begin[i + 1] += begin[i];
        }
        let mut at = begin.clone();
        let mut from = vec![0; begin[states] as usize];
        for (source, to) in arrows {
            let place = &mut at[to as usize];
            from[*place as usize] = source;
            *place += 1;
        }
        Sources { begin, from }
    }

    /// Returns the states that lead to this state, in the order of the arrows.
    ///
    /// # Panics
    ///
    /// There is no such state.
    #[inline]
    pub fn of(&self, state: u32) -> &[u32] {
        let at = state as usize;
        &self.from[self.begin[at] as usize..self.begin[at + 1] as usize]
    }

    /// Returns the number of arrows that lead at least from each state to one that is marked;
    /// `u32::MAX` where none do.
    ///
    /// # Panics
    ///
    /// There are more marks than states.
    pub fn distances(&self, marked: &[bool]) -> Box<[u32]> {
        let far = marked.iter().map(|is| if *is { 0 } else { u32::MAX });
        let mut far: Box<[u32]> = far.collect();
        let marked = (0..).zip(marked).filter(|(_, is)| **is);
        let mut todo: VecDeque<u32> = marked.map(|(s, _)| s).collect();
        while let Some(state) = todo.pop_front() {
            let next = far[state as usize] + 1;
            for &source in self.of(state) {
                if far[source as usize] == u32::MAX {
                    far[source as usize] = next;
                    todo.push_back(source);
                }
            }
        }
        far
    }

    /// Marks all states from which a marked one is reached.
    ///
    /// # Panics
    ///
    /// There are fewer marks than states.
    pub fn spread(&self, marked: &mut [bool]) {
        let all = (0..).zip(marked.iter());
        let mut todo: Vec<u32> = all.filter(|(_, m)| **m).map(|(s, _)| s).collect();
        while let Some(state) = todo.pop() {
            for &source in self.of(state) {
                if !std::mem::replace(&mut marked[source as usize], true) {
                    todo.push(source);
                }
            }
        }
    }
}
