//! For people: where a text stands, and how two values differ.

pub(crate) mod difference;
pub(crate) mod location;
