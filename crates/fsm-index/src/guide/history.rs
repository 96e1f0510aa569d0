//! The states that a guide has come through, shared between its forks. For example, two forks that
//! took 100 tokens together keep those states once.

use std::sync::Arc;

/// States, the newest last. A clone shares all but the last few.
#[derive(Clone, Debug)]
pub(crate) struct History<S> {
    /// At most [`CHUNK`].
    newest: Vec<S>,
    earlier: Chunks<S>,
}

/// Full chunks of states, the newest on top.
#[derive(Debug)]
struct Chunks<S>(Option<Arc<Chunk<S>>>);

#[derive(Debug)]
struct Chunk<S> {
    states: Vec<S>,
    /// The number of states , earlier ones included.
    len: usize,
    earlier: Chunks<S>,
}

/// States of a chunk: enough that taking a token seldom asks for memory, and few enough that a fork
/// copies little. That is why it is small, because forks are made for each token that is proposed.
const CHUNK: usize = 16;

impl<S> History<S> {
    pub(crate) fn new() -> Self {
        History {
            newest: Vec::new(),
            earlier: Chunks(None),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.newest.len() + self.earlier.0.as_ref().map_or(0, |chunk| chunk.len)
    }

    /// The newest state.
    pub(crate) fn last(&self) -> Option<&S> {
        let earlier = self.earlier.0.as_ref();
        self.newest
            .last()
            .or_else(|| earlier.and_then(|chunk| chunk.states.last()))
    }

    pub(crate) fn push(&mut self, before: S) {
        if self.newest.len() == CHUNK {
            let states = std::mem::replace(&mut self.newest, Vec::with_capacity(CHUNK));
            self.earlier = Chunks(Some(Arc::new(Chunk {
                len: self.earlier.0.as_ref().map_or(0, |chunk| chunk.len) + states.len(),
                states,
                earlier: Chunks(self.earlier.0.take()),
            })));
        }
        self.newest.push(before);
    }
}

impl<S: Clone> History<S> {
    /// Takes the last `n` states off and gives the oldest of them; `None`, and
    /// nothing taken, if there are fewer or `n` is 0. O(n).
    pub(crate) fn pop(&mut self, n: usize) -> Option<S> {
        let left = self.len().checked_sub(n).filter(|_| n > 0)?;
        loop {
            let shared = self.len() - self.newest.len();
            if let Some(place) = left.checked_sub(shared) {
                let mut taken = self.newest.drain(place..);
                return taken.next();
            }
            let chunk = self.earlier.0.take()?;
            self.newest.clear();
            self.newest.extend_from_slice(&chunk.states);
            self.earlier = chunk.earlier.clone();
        }
    }
}

impl<S> Clone for Chunks<S> {
    fn clone(&self) -> Self {
        Chunks(self.0.clone())
    }
}

impl<S> Drop for Chunks<S> {
    /// One after another: a long history must not nest a drop in each drop.
    fn drop(&mut self) {
        let mut next = self.0.take();
        while let Some(mut chunk) = next.and_then(Arc::into_inner) {
            next = chunk.earlier.0.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forks_share_what_was_before() {
        let mut history = History::new();
        (0..5).for_each(|n| history.push(n));
        let mut fork = history.clone();
        assert_eq!(history.pop(6), None);
        assert_eq!(history.pop(0), None);
        assert_eq!(history.pop(2), Some(3));
        history.push(9);
        assert_eq!((history.len(), fork.len()), (4, 5));
        assert_eq!((history.pop(1), fork.pop(1)), (Some(9), Some(4)));
        assert_eq!(history.pop(3), Some(0));
    }

    #[test]
    fn a_long_history_is_dropped_without_nesting() {
        let mut history = History::new();
        (0..1_000_000).for_each(|n| history.push(n));
        let fork = history.clone();
        drop(history);
        assert_eq!(fork.len(), 1_000_000);
    }

    /// A plain list is what a history is like.
    #[test]
    fn a_history_is_a_list() {
        let mut histories = vec![(History::new(), Vec::new())];
        let mut chance = 1u64;
        for n in 0..20_000u64 {
            chance = chance.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
            let draw = (chance >> 33) as usize;
            let at = draw % histories.len();
            let (history, list) = &mut histories[at];
            match draw / 64 % 32 {
                0 => {
                    let fork = (history.clone(), list.clone());
                    histories.truncate(7);
                    histories.push(fork);
                }
                1..=3 => {
                    let back = draw / 2048 % 50;
                    let taken = match list.len().checked_sub(back) {
                        Some(left) if back > 0 => {
                            let taken = list[left];
                            list.truncate(left);
                            Some(taken)
                        }
                        _ => None,
                    };
                    assert_eq!(history.pop(back), taken);
                }
                _ => {
                    history.push(n);
                    list.push(n);
                }
            }
            let (history, list) = &histories[at];
            assert_eq!(history.len(), list.len());
        }
    }
}
