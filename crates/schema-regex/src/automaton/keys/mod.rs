//! The keys by which masks are remembered.
//!
//! For example, behind `{"a":"x` and behind `{"b":"yz` a free string may go on in the same ways, so that
//! both places have one key and one mask.

pub(crate) mod common;
pub(crate) mod key;
pub(crate) mod object_summary;
pub(crate) mod printer;
pub(crate) mod tag;
pub(crate) mod value_summary;
