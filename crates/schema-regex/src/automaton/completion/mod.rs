//! Shortest texts to the end.

pub(crate) mod another_value;
pub(crate) mod finish;
