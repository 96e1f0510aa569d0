//! For people: where a text stands, how two values differ, and why a schema has none.
//!
//! For example, behind `{"a": ` the place is "before a value", of `/properties/a`.

pub(crate) mod contradiction;
pub(crate) mod difference;
pub(crate) mod location;
