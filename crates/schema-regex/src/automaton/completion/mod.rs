//! Shortest texts to the end.
//!
//! For example, `{"a": [1` has the completion `]}`.

pub(crate) mod another_value;
mod ending;
pub(crate) mod finish;
mod growth;
mod lacking;
mod names;
mod shortest;
#[cfg(test)]
mod tests;
