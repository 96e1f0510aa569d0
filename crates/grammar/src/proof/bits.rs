//! Sets of terminals as bits.
//!
//! For example, the terminals that may come behind `(` are a set.

pub(super) use crate::compile::class_set::ClassSet;

/// The number of no set, because there are fewer.
pub(super) const NOWHERE: u32 = u32::MAX;

/// Stands for a JSON value in a set, as the number of the dead state, which no set has.
pub(super) const JSON: u32 = 0;

/// A set of terminals.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Bits(Vec<u64>);

impl Bits {
    pub(super) fn new(len: usize) -> Bits {
        Bits(vec![0; len.div_ceil(64)])
    }

    /// All of so many.
    pub(super) fn full(len: usize) -> Bits {
        let mut all = Bits(vec![u64::MAX; len.div_ceil(64)]);
        if let Some(last) = all.0.last_mut() {
            *last >>= (64 - len % 64) % 64;
        }
        all
    }

    pub(super) fn has(&self, at: u32) -> bool {
        self.0[at as usize / 64] >> (at % 64) & 1 == 1
    }

    pub(super) fn set(&mut self, at: u32) {
        self.0[at as usize / 64] |= 1 << (at % 64);
    }

    pub(super) fn remove(&mut self, other: &Bits) {
        let words = self.0.iter_mut().zip(&other.0);
        words.for_each(|(own, other)| *own &= !other);
    }

    /// Returns those that are not in another.
    pub(super) fn without(&self, other: &Bits) -> Bits {
        let words = self.0.iter().zip(&other.0);
        Bits(words.map(|(own, other)| own & !other).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    /// Tells whether all of it is in another.
    pub(super) fn is_in(&self, other: &Bits) -> bool {
        self.0
            .iter()
            .zip(&other.0)
            .all(|(own, other)| own & !other == 0)
    }

    /// Takes away what is not in another.
    pub(super) fn and(&mut self, other: &Bits) {
        self.0
            .iter_mut()
            .zip(&other.0)
            .for_each(|(own, other)| *own &= other);
    }

    /// Returns those in the set, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.0).flat_map(|(at, &word)| {
            let bits = std::iter::successors(Some(word), |left| Some(left & left.wrapping_sub(1)));
            let bits = bits.take_while(|left| *left != 0);
            bits.map(move |left| at * 64 + left.trailing_zeros())
        })
    }

    /// Tells whether that changed anything.
    pub(super) fn or(&mut self, other: &Bits) -> bool {
        let mut changed = false;
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            changed |= *other & !*own != 0;
            *own |= other;
        }
        changed
    }
}
