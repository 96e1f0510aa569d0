//! Conditions on numbers: what the automaton of numbers and their expression are made from.
//!
//! For example, an integer of at least 7 that is less than 24 is `[7-9]|1[0-9]|2[0-3]`, or six
//! states.

use std::cmp::Ordering;

use crate::decimal::Decimal;
use crate::language::numbers::expressions::Bound;

/// A condition on a number.
pub enum NumberCondition {
    /// Not below a bound.
    From(Bound),
    /// Not above a bound.
    UpTo(Bound),
    /// An integer, or none.
    Integer(bool),
    /// A multiple of a divisor, or none.
    Multiple(Decimal, bool),
    /// One of these; the flag says that the schema wrote a fraction of zeros.
    OneOf(Vec<(Decimal, bool)>),
    /// Another number.
    Not(Decimal),
}

/// Conditions that a number satisfies together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct NumberConditions {
    pub(super) low: Option<Bound>,
    pub(super) high: Option<Bound>,
    /// `Some(true)`: integers; `Some(false)`: the others.
    pub(super) integer: Option<bool>,
    /// Divisors, and whether the number is a multiple.
    pub(super) multiples: Vec<(Decimal, bool)>,
    pub(super) allowed: Option<Vec<(Decimal, bool)>>,
    pub(super) excluded: Vec<Decimal>,
}

impl NumberConditions {
    /// Adds a condition. Tells whether bounds and fractions leave some number.
    pub fn add(&mut self, condition: NumberCondition) -> bool {
        match condition {
            NumberCondition::From(bound) => tighten(&mut self.low, bound, Ordering::Greater),
            NumberCondition::UpTo(bound) => tighten(&mut self.high, bound, Ordering::Less),
            NumberCondition::Integer(want) => return self.integer.replace(want) != Some(!want),
            NumberCondition::Multiple(divisor, want) => self.multiples.push((divisor, want)),
            NumberCondition::OneOf(list) => self.allowed = Some(list),
            NumberCondition::Not(value) => self.excluded.push(value),
        }
        match (&self.low, &self.high) {
            (Some(low), Some(high)) => match low.value.cmp(&high.value) {
                Ordering::Less => true,
                Ordering::Equal => !low.exclusive && !high.exclusive,
                Ordering::Greater => false,
            },
            _ => true,
        }
    }

    /// Returns whether all are integers, or none is, where a condition says so.
    pub fn integer(&self) -> Option<bool> {
        self.integer
    }

    /// Returns the list that numbers are from; a flag says that the schema wrote a fraction of
    /// zeros.
    pub fn listed(&self) -> Option<&[(Decimal, bool)]> {
        self.allowed.as_deref()
    }

    /// Returns the number of decimals that a copy copies.
    pub fn size(&self) -> usize {
        let listed = self.allowed.as_ref().map_or(0, Vec::len);
        self.multiples.len() + self.excluded.len() + listed
    }

    /// Tells whether numbers may be written in scientific notation: multiples and integers are
    /// decided by digits at their places, which an exponent moves, and one number needs one
    /// spelling.
    pub(super) fn has_exponents(&self) -> bool {
        let ends = self.low.as_ref().zip(self.high.as_ref());
        self.integer.is_none()
            && self.multiples.is_empty()
            && ends.is_none_or(|(low, high)| low.value != high.value)
    }
}

/// Sets a bound where none was, or one that was less tight: tighter is what is so to it.
fn tighten(known: &mut Option<Bound>, bound: Bound, tighter: Ordering) {
    let is_tighter = known
        .as_ref()
        .is_none_or(|k| match bound.value.cmp(&k.value) {
            Ordering::Equal => bound.exclusive,
            other => other == tighter,
        });
    if is_tighter {
        *known = Some(bound);
    }
}
