//! The normal form of a schema: what a set of locations demands of the values of one
//! kind, as alternatives without any choice left in them. Both printers, of the
//! expression and of the automaton, start here.
//!
//! - [`conjunctions`]: sets of locations that hold together, each with a number.
//! - [`normaliser`]: the alternatives of each set, found once; limits and errors.
//! - [`search`]: how they are found: what is certain is applied, and what is left is
//!   split on.
//! - [`keywords`]: what each keyword does, and what its complement does, a file a family.
//! - [`in_place`]: which locations apply to the same value, and whether they come back to
//!   themselves; [`synthetic`]: locations that a schema implies without writing them.
//! - [`tagged`]: alternatives that exclude each other, so that they need no complements;
//!   [`closed`]: objects without further members, of which names settle what is asked;
//!   [`closing`]: objects that have none because the options say so; [`chosen_names`]: the
//!   names that their branches declare;
//!   [`repeated`]: large choices that a schema says again.
//! - [`conditions`]: what is said of members and kept as it is, where alternatives would
//!   multiply.
//! - [`alternative`]: what is found; [`demands`]: what it says of members and items;
//!   [`members`]: which keywords it looks at; [`member_order`]: the order of its members.

pub(crate) mod alternative;
mod chosen_names;
mod closed;
mod closing;
pub(crate) mod conditions;
pub(crate) mod conjunctions;
pub(crate) mod demands;
pub(crate) mod in_place;
pub(crate) mod keywords;
pub(crate) mod member_order;
pub(crate) mod members;
pub(crate) mod normaliser;
mod repeated;
pub(crate) mod search;
pub(crate) mod synthetic;
pub(crate) mod tagged;
