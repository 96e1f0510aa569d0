//! The states from which others are reached.

/// For each state those with an arrow to it.
pub(crate) struct Sources {
    /// Where the list of each state begins.
    begin: Vec<u32>,
    from: Vec<u32>,
}

impl Sources {
    /// From the arrows, `(from, to)` each, between `states` states.
    pub(crate) fn new(states: usize, arrows: impl Iterator<Item = (u32, u32)> + Clone) -> Sources {
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

    /// The states with an arrow to this one, in order.
    pub(crate) fn of(&self, state: u32) -> &[u32] {
        let at = state as usize;
        &self.from[self.begin[at] as usize..self.begin[at + 1] as usize]
    }

    /// Marks all states from which a marked one is reached.
    pub(crate) fn spread(&self, marked: &mut [bool]) {
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

#[cfg(test)]
mod tests {
    use crate::language::sources::Sources;

    #[test]
    fn marks_spread_against_the_arrows() {
        let arrows = [(0, 1), (1, 2), (3, 3), (4, 1), (2, 0), (5, 3)];
        let sources = Sources::new(6, arrows.into_iter());
        assert_eq!(sources.of(1), [0, 4]);
        assert_eq!(sources.of(5), [] as [u32; 0]);
        let mut marked = [false, false, true, false, false, false];
        sources.spread(&mut marked);
        assert_eq!(marked, [true, true, true, false, true, false]);
    }
}
