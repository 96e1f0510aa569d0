//! For people: where a text stands, how two values differ, and why a schema has none.

pub(crate) mod contradiction;
pub(crate) mod difference;
pub(crate) mod location;
