//! Sets of terminals, and of classes of bytes, as bits.
//!
//! For example, the terminals that may come behind `(` are a set, and so are the bytes that they begin with.

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

/// A set of classes of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct ClassSet([u64; 4]);

impl ClassSet {
    pub(super) fn has(&self, class: usize) -> bool {
        self.0[class / 64] >> (class % 64) & 1 == 1
    }

    fn set(&mut self, class: usize) {
        self.0[class / 64] |= 1 << (class % 64);
    }

    /// Tells whether they have a class in common.
    pub(super) fn meets(&self, other: &ClassSet) -> bool {
        let ([a, b, c, d], [e, f, g, h]) = (self.0, other.0);
        a & e | b & f | c & g | d & h != 0
    }

    /// Returns those that are in both.
    pub(super) fn and(&self, other: &ClassSet) -> ClassSet {
        ClassSet(std::array::from_fn(|word| self.0[word] & other.0[word]))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0 == [0; 4]
    }

    pub(super) fn or(&mut self, other: &ClassSet) {
        self.0
            .iter_mut()
            .zip(other.0)
            .for_each(|(own, other)| *own |= other);
    }

    /// Returns the first class from a number on.
    pub(super) fn next_from(&self, from: usize) -> Option<usize> {
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
