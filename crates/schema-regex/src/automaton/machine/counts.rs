//! The conditions of which an array counts the items that satisfy them, and the counts so far.
//!
//! For example, `{"contains": {"type": "string"}, "minContains": 2}` counts strings up to two: from
//! there on all counts are alike.

/// The conditions of which items are counted. The counts of all of them are one number, a digit for each: its
/// radix is one more than the highest count that is told apart.
#[derive(Debug, Default)]
pub(crate) struct ItemCounts(Box<[Counter]>);

/// Bounds on a count.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counter {
    pub(super) min: u32,
    pub(super) max: Option<u32>,
}

impl Counter {
    pub(super) fn radix(self) -> u32 {
        self.max.unwrap_or(self.min) + 1
    }
}

impl ItemCounts {
    /// From the bounds on each count; `None` where they are too large to be followed in arrays whose lengths are
    /// told apart up to `lengths`.
    pub(crate) fn new(
        bounds: impl Iterator<Item = (u64, Option<u64>)>,
        lengths: u64,
    ) -> Option<ItemCounts> {
        // Bounds are less than all numbers.
        let clamp = |bound| u32::try_from(bound).unwrap_or(u32::MAX - 1);
        let counters = bounds.map(|(min, max)| Counter {
            min: clamp(min),
            max: max.map(clamp),
        });
        let counts = ItemCounts(counters.collect());
        let followed = match counts.0.len() {
            0 | 1 => counts.states(),
            _ => counts
                .states()
                .saturating_mul(lengths.saturating_add(1))
                .saturating_mul(MANY_COUNTS),
        };
        (followed <= MAX_COUNTS).then_some(counts)
    }

    /// Tells whether nothing is counted.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the bounds on each count.
    pub(super) fn all(&self) -> &[Counter] {
        &self.0
    }

    /// Returns the number of combinations of counts.
    pub(super) fn states(&self) -> u64 {
        let radixes = self.0.iter().map(|c| u64::from(c.radix()));
        radixes.fold(1, u64::saturating_mul)
    }

    /// Returns the number of items that all counts need, if none has two of them.
    pub(super) fn needed(&self) -> u64 {
        self.0.iter().map(|c| u64::from(c.min)).sum()
    }

    /// Returns the counts after an item that raises some, which are bits; `None` where one is too
    /// high.
    pub(super) fn raise(&self, counts: u32, take: u32) -> Option<u32> {
        if take == 0 {
            return Some(counts);
        }
        let mut unit = 1u32;
        let mut out = counts;
        for (at, (counter, now)) in self.digits(counts).enumerate() {
            if take & (1 << at) != 0 {
                if now + 1 < counter.radix() {
                    out += unit;
                } else if counter.max.is_some() {
                    return None;
                }
            }
            unit = unit.saturating_mul(counter.radix());
        }
        Some(out)
    }

    /// Tells whether each count is as high as it must be.
    pub(super) fn hold(&self, counts: u32) -> bool {
        self.digits(counts).all(|(counter, now)| now >= counter.min)
    }

    /// Returns the number by which counts are too low, all together.
    pub(crate) fn lacking(&self, counts: u32) -> u32 {
        let digits = self.digits(counts);
        digits
            .map(|(counter, now)| counter.min.saturating_sub(now))
            .sum()
    }

    /// Returns each condition with its count.
    fn digits(&self, mut counts: u32) -> impl Iterator<Item = (Counter, u32)> {
        self.0.iter().map(move |counter| {
            let now = counts % counter.radix();
            counts /= counter.radix();
            (*counter, now)
        })
    }
}

/// The factor by which following several counts takes longer than one, because one needs no search.
const MANY_COUNTS: u64 = 64;

/// The most combinations of counts and lengths that are followed, because each may be a state.
const MAX_COUNTS: u64 = 1 << 22;
