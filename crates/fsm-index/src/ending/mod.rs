//! Texts that end in time: how many tokens each place is away from the end.
//!
//! A guide with a token budget allows a token if and only if the text can be completed in the
//! tokens that are left behind it. For example, with three tokens left behind `{"a": "x` of an
//! object that needs nothing more, `"}` may come, and so may `yz`, but not `", "b": "`.
//!
//! - [`ways`] finds the tokens of a shortest completion of a cursor, a piece at a time, and
//!   remembers them for each cursor that a completion passes: completions soon meet.
//! - [`profile`] sorts the tokens of a mask by how many tokens the end is away behind them. Which
//!   tokens fit into any number of tokens is then a matter of a comparison.
//! - [`memory`] remembers the profiles of an index by the full keys of states.

mod memory;
mod profile;
mod ways;

pub(crate) use memory::Endings;
pub(crate) use profile::{NEVER, Profile, Rule};
pub(crate) use ways::{Ways, spelt_pieces};
