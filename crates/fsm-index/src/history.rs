//! The states that a guide has come through, shared between its forks.

use std::sync::Arc;

/// States, the newest on top. A clone is O(1) and shares everything.
#[derive(Debug)]
pub(crate) struct History<S>(Option<Arc<Taken<S>>>);

#[derive(Debug)]
struct Taken<S> {
    before: S,
    len: usize,
    earlier: History<S>,
}

impl<S> History<S> {
    pub(crate) fn new() -> Self {
        History(None)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |taken| taken.len)
    }

    pub(crate) fn push(&mut self, before: S) {
        let earlier = History(self.0.take());
        self.0 = Some(Arc::new(Taken {
            before,
            len: earlier.len() + 1,
            earlier,
        }));
    }
}

impl<S: Clone> History<S> {
    /// Takes the last `n` states off and gives the oldest of them; `None`, and
    /// nothing taken, if there are fewer or `n` is 0. O(n).
    pub(crate) fn pop(&mut self, n: usize) -> Option<S> {
        let mut at = self.0.as_ref();
        for _ in 1..n {
            at = at?.earlier.0.as_ref();
        }
        let taken = at.filter(|_| n > 0)?.clone();
        *self = taken.earlier.clone();
        Some(taken.before.clone())
    }
}

impl<S> Clone for History<S> {
    fn clone(&self) -> Self {
        History(self.0.clone())
    }
}

impl<S> Drop for History<S> {
    /// One after another: a long history must not nest a drop in each drop.
    fn drop(&mut self) {
        let mut next = self.0.take();
        while let Some(mut taken) = next.and_then(Arc::into_inner) {
            next = taken.earlier.0.take();
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
}
