//! The costs of sets of states, as the constructions tell them to a [`Meter`](crate::Meter).
//!
//! For example, a construction that remembers 1,000 sets holds 120,000 bytes beside their numbers.

/// The bytes that a set of states takes beside its numbers, because it has its own place, one in a
/// list, and one in a map that is half empty.
pub(crate) const SUBSET_BYTES: usize = 120;

/// Steps for remembering a set of states: many, because it is hashed, copied and put into a map.
pub(crate) const SUBSET_STEPS: usize = 100;

/// Steps for asking whether the target of a class is known: some, because it is a look-up in a map.
pub(crate) const TARGET_STEPS: usize = 8;
