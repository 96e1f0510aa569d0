//! What masks are remembered by.

pub(crate) mod common;
pub(crate) mod key;
pub(crate) mod object_summary;
pub(crate) mod printer;
pub(crate) mod tag;
pub(crate) mod value_summary;
