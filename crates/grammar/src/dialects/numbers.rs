//! The numbers and conditions of parametric rules, as llguidance documents them (`docs/parametric.md`
//! there): a rule has a number of 64 bits, of which the rules that it uses get another one. For example,
//! `set_bit(2)` of 1 is 5, and `is_ones([0:3])` holds for 7.

use std::cmp::Ordering;

/// Some bits of a number, from the lowest on: at least one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BitRange {
    from: u32,
    to: u32,
}

impl BitRange {
    /// All bits of a number.
    pub(crate) const ALL: BitRange = BitRange { from: 0, to: 64 };

    /// BitRange from one on up to another, which is not among them; `None` where there are none, or a
    /// number has fewer.
    pub(crate) fn new(from: u32, to: u32) -> Option<BitRange> {
        (from < to && to <= 64).then_some(BitRange { from, to })
    }

    fn ones(self) -> u64 {
        u64::MAX >> (64 - (self.to - self.from))
    }

    fn of(self, number: u64) -> u64 {
        (number >> self.from) & self.ones()
    }
}

/// A number that is made of a rule's own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum RuleNumber {
    Literal(u64),
    Own,
    /// These bits are set, too.
    Or(u64),
    /// These bits alone are kept.
    And(u64),
    /// One more in these bits, if they are not all set.
    Next(BitRange),
    /// One less in these bits, if any is set.
    Previous(BitRange),
}

impl RuleNumber {
    /// Returns the number, `None` where a rule's own is asked for and there is none.
    pub(crate) fn value(self, own: Option<u64>) -> Option<u64> {
        if let RuleNumber::Literal(number) = self {
            return Some(number);
        }
        let own = own?;
        Some(match self {
            RuleNumber::Literal(number) => number,
            RuleNumber::Own => own,
            RuleNumber::Or(bits) => own | bits,
            RuleNumber::And(bits) => own & bits,
            RuleNumber::Next(bits) if bits.of(own) == bits.ones() => own,
            RuleNumber::Next(bits) => own + (1 << bits.from),
            RuleNumber::Previous(bits) if bits.of(own) == 0 => own,
            RuleNumber::Previous(bits) => own - (1 << bits.from),
        })
    }
}

/// A condition on a rule's own number.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Condition {
    Always,
    /// Some bits, as a number, compare so with another one.
    Bits(BitRange, Comparison, u64),
    /// The number of bits that are set compares so with another one.
    Count(BitRange, Comparison, u64),
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Not(Box<Condition>),
}

/// A comparison of two numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Comparison {
    Is,
    IsNot,
    Less,
    AtMost,
    More,
    AtLeast,
}

impl Comparison {
    /// The comparisons by the names that they have in functions.
    pub(crate) fn named(name: &str) -> Option<Comparison> {
        Some(match name {
            "eq" => Comparison::Is,
            "ne" => Comparison::IsNot,
            "lt" => Comparison::Less,
            "le" => Comparison::AtMost,
            "gt" => Comparison::More,
            "ge" => Comparison::AtLeast,
            _ => return None,
        })
    }

    fn holds(self, ordering: Ordering) -> bool {
        match self {
            Comparison::Is => ordering.is_eq(),
            Comparison::IsNot => ordering.is_ne(),
            Comparison::Less => ordering.is_lt(),
            Comparison::AtMost => ordering.is_le(),
            Comparison::More => ordering.is_gt(),
            Comparison::AtLeast => ordering.is_ge(),
        }
    }
}

impl Condition {
    /// All bits of a range are set.
    pub(crate) fn ones(bits: BitRange) -> Condition {
        Condition::Bits(bits, Comparison::Is, bits.ones())
    }

    /// No bit of a range is set.
    pub(crate) fn zeros(bits: BitRange) -> Condition {
        Condition::Bits(bits, Comparison::Is, 0)
    }

    pub(crate) fn holds(&self, own: u64) -> bool {
        match self {
            Condition::Always => true,
            Condition::Bits(bits, how, other) => how.holds(bits.of(own).cmp(other)),
            Condition::Count(bits, how, other) => {
                how.holds(u64::from(bits.of(own).count_ones()).cmp(other))
            }
            Condition::All(all) => all.iter().all(|one| one.holds(own)),
            Condition::Any(all) => all.iter().any(|one| one.holds(own)),
            Condition::Not(one) => !one.holds(own),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_read_and_made() {
        let low = BitRange::new(0, 3).unwrap();
        assert!(BitRange::new(3, 3).is_none() && BitRange::new(0, 65).is_none());
        assert_eq!(RuleNumber::Next(low).value(Some(6)), Some(7));
        assert_eq!(RuleNumber::Next(low).value(Some(7)), Some(7));
        assert_eq!(RuleNumber::Previous(low).value(Some(8)), Some(8));
        assert_eq!(
            RuleNumber::Next(BitRange::ALL).value(Some(u64::MAX)),
            Some(u64::MAX)
        );
        assert_eq!(RuleNumber::And(!2).value(Some(7)), Some(5));
        assert_eq!(RuleNumber::Own.value(None), None);
        assert!(Condition::ones(low).holds(15) && !Condition::ones(low).holds(6));
        assert!(Condition::zeros(BitRange::new(3, 4).unwrap()).holds(7));
        let few = Condition::Count(BitRange::ALL, Comparison::AtMost, 2);
        assert!(few.holds(0b1010) && !few.holds(0b111));
    }
}
