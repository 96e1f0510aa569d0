//! Shortest texts to the end.

pub(crate) mod another_value;
pub(crate) mod finish;
mod lacking;
mod shortest;
#[cfg(test)]
mod tests;
