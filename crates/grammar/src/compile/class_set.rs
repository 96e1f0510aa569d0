//! Sets of classes of bytes as bits.
//!
//! For example, the bytes with which terminals begin are a set.

use std::ops::Range;

/// A set of classes of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ClassSet([u64; 4]);

impl ClassSet {
    pub(crate) fn has(&self, class: usize) -> bool {
        self.0[class / 64] >> (class % 64) & 1 == 1
    }

    /// Adds some classes.
    pub(crate) fn fill(&mut self, classes: Range<usize>) {
        for (word, first) in self.0.iter_mut().zip((0..).step_by(64)) {
            let (begin, end) = (classes.start.max(first), classes.end.min(first + 64));
            if begin < end {
                *word |= u64::MAX >> (64 - (end - begin)) << (begin - first);
            }
        }
    }

    fn set(&mut self, class: usize) {
        self.0[class / 64] |= 1 << (class % 64);
    }

    /// Tells whether they have a class in common.
    pub(crate) fn meets(&self, other: &ClassSet) -> bool {
        let ([a, b, c, d], [e, f, g, h]) = (self.0, other.0);
        a & e | b & f | c & g | d & h != 0
    }

    /// Returns those that are in both.
    pub(crate) fn and(&self, other: &ClassSet) -> ClassSet {
        ClassSet(std::array::from_fn(|word| self.0[word] & other.0[word]))
    }

    /// Returns those that are not in another.
    pub(crate) fn without(&self, other: &ClassSet) -> ClassSet {
        ClassSet(std::array::from_fn(|word| self.0[word] & !other.0[word]))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0 == [0; 4]
    }

    pub(crate) fn or(&mut self, other: &ClassSet) {
        self.0
            .iter_mut()
            .zip(other.0)
            .for_each(|(own, other)| *own |= other);
    }

    /// Returns the classes, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> + use<> {
        self.within(0..256)
    }

    /// Returns those in a range, ascending.
    pub(crate) fn within(&self, range: Range<usize>) -> impl Iterator<Item = usize> + use<> {
        let all = *self;
        let next = move |class: &usize| all.next_from(class + 1);
        let from = std::iter::successors(all.next_from(range.start), next);
        from.take_while(move |&class| class < range.end)
    }

    /// Returns the first class from a number on.
    pub(crate) fn next_from(&self, from: usize) -> Option<usize> {
        let first = (from < 256).then(|| self.0[from / 64] >> (from % 64) << (from % 64))?;
        if first != 0 {
            return Some(from / 64 * 64 + first.trailing_zeros() as usize);
        }
        let more = (from / 64 + 1..4).find(|&word| self.0[word] != 0)?;
        Some(more * 64 + self.0[more].trailing_zeros() as usize)
    }
}

impl FromIterator<usize> for ClassSet {
    fn from_iter<I: IntoIterator<Item = usize>>(classes: I) -> ClassSet {
        let mut set = ClassSet::default();
        classes.into_iter().for_each(|class| set.set(class));
        set
    }
}
