//! Conjunctions and complements of what a schema says, as alternatives.

pub(crate) mod conjunction;
pub(crate) mod shape;
