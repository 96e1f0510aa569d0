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

    /// Returns those that are not in another, ascending.
    pub(super) fn without(&self, other: &Bits) -> impl Iterator<Item = u32> {
        let words = self.0.iter().zip(&other.0);
        ones(words.map(|(own, other)| own & !other))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
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
        ones(self.0.iter().copied())
    }

    pub(super) fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
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

/// The bits of words, ascending.
fn ones(words: impl Iterator<Item = u64>) -> impl Iterator<Item = u32> {
    (0..).zip(words).flat_map(|(at, word)| {
        let bits = std::iter::successors(Some(word), |left| Some(left & left.wrapping_sub(1)));
        let bits = bits.take_while(|left| *left != 0);
        bits.map(move |left| at * 64 + left.trailing_zeros())
    })
}

/// Sets of terminals, by number, that lie one behind the other.
pub(super) struct BitRows {
    words: usize,
    all: Vec<u64>,
}

impl BitRows {
    /// So many empty sets of so many terminals.
    pub(super) fn new(rows: usize, len: usize) -> BitRows {
        let words = len.div_ceil(64);
        BitRows {
            words,
            all: vec![0; rows * words],
        }
    }

    fn row(&self, row: usize) -> &[u64] {
        &self.all[row * self.words..][..self.words]
    }

    /// Makes one the same as a set.
    pub(super) fn put(&mut self, row: usize, set: &Bits) {
        self.all[row * self.words..][..self.words].copy_from_slice(&set.0);
    }

    /// Takes away from one what is lacking of a set.
    pub(super) fn remove_lacking(&mut self, row: usize, set: &Bits, there: &Bits) {
        let own = &mut self.all[row * self.words..][..self.words];
        for ((own, wanted), there) in own.iter_mut().zip(&set.0).zip(&there.0) {
            *own &= !wanted | there;
        }
    }

    pub(super) fn is_empty(&self, row: usize) -> bool {
        self.row(row).iter().all(|&word| word == 0)
    }

    /// Tells whether all of a set is in one.
    pub(super) fn has_all(&self, row: usize, set: &Bits) -> bool {
        let words = set.0.iter().zip(self.row(row));
        words.fold(0, |lacking, (set, own)| lacking | set & !own) == 0
    }

    /// Takes away from a set what is not in one, and says how many are left.
    pub(super) fn and_into(&self, row: usize, set: &mut Bits) -> usize {
        let words = set.0.iter_mut().zip(self.row(row));
        let left = words.map(|(set, own)| {
            *set &= own;
            set.count_ones() as usize
        });
        left.sum()
    }

    /// Adds one to another. Tells whether that changed anything.
    pub(super) fn or(&mut self, row: usize, other: usize) -> bool {
        let mut changed = 0;
        for word in 0..self.words {
            let new = self.all[other * self.words + word];
            let own = &mut self.all[row * self.words + word];
            changed |= new & !*own;
            *own |= new;
        }
        changed != 0
    }
}
