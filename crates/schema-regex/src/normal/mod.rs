//! The normal form of a schema: what a set of locations demands of the values of one
//! kind, as alternatives without any choice left in them. Both printers, of the
//! expression and of the automaton, start here.
//!
//! - [`conjunctions`]: sets of locations that hold together, each with a number.
//! - [`normaliser`]: the alternatives of each set, found once; limits and errors.
//! - [`search`]: how they are found: what is certain is applied, and what is left is
//!   split on.
//! - [`keywords`]: what each keyword does, and what its complement does, a file a family.
//! - [`alternative`]: what is found; [`demands`]: what it says of members and items.

pub(crate) mod alternative;
mod closed;
pub(crate) mod conjunctions;
pub(crate) mod demands;
pub(crate) mod in_place;
pub(crate) mod keywords;
pub(crate) mod member_order;
pub(crate) mod members;
pub(crate) mod normaliser;
pub(crate) mod search;
pub(crate) mod synthetic;
pub(crate) mod tagged;
