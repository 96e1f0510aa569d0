//! The parts that every class of inputs uses: a case, its bounds, its process, a walk under masks. For example,
//! `walk` fills a mask at each place of a text, and `process` ends a child that takes too long.

pub(crate) mod bounds;
pub(crate) mod case;
pub(crate) mod process;
pub(crate) mod seen;
pub(crate) mod walk;
