//! The normal form of a schema: what a set of locations demands of the values of one
//! kind, as alternatives without any choice left in them. Both printers, of the
//! expression and of the automaton, start here.
//!
//! This folder is the ground: what is known of locations without a search. Above it stand two folders:
//!
//! - [`keywords`]: the effect of each keyword, and that of its complement, a file a family.
//! - [`search`]: finds the alternatives. Certain terms are applied, and the rest is split
//!   on; [`search::shapes`] asks for them, once for each set and kind.
//!
//! On the ground:
//!
//! - [`locations`]: the locations, sets of them ([`conjunctions`]), work and errors;
//!   [`synthetic`]: locations that a schema implies without writing them.
//! - [`normaliser`]: the locations and what was found of them.
//! - [`alternative`]: what is found; [`demands`]: what it says of members and items;
//!   [`members`]: which keywords it looks at; [`member_order`]: the order of its members.
//! - [`in_place`]: which locations apply to the same value, and whether they come back to
//!   themselves.
//! - [`tagged`]: alternatives that exclude each other, so that they need no complements;
//!   [`closed`]: objects without further members, of which names settle what is asked;
//!   [`closing`]: objects that have none because the options say so; [`chosen_names`]: the
//!   names that their branches declare.
//! - [`conditions`]: what is said of members and kept as it is; [`kept`]: which choices are kept,
//!   because their alternatives would multiply.
//!
//! For example `{"enum": [1, "a"], "type": "string"}` has one alternative of strings, `"a"`, and none
//! of numbers.

mod allowed;
pub(crate) mod alternative;
mod applied;
pub(crate) mod chosen_names;
pub(crate) mod closed;
pub(crate) mod closing;
pub(crate) mod conditions;
pub(crate) mod conjunctions;
pub(crate) mod demands;
pub(crate) mod in_place;
pub(crate) mod kept;
pub(crate) mod keywords;
pub(crate) mod known;
pub(crate) mod locations;
pub(crate) mod member_order;
pub(crate) mod members;
pub(crate) mod normaliser;
pub(crate) mod partial;
mod plain;
mod repeated;
pub(crate) mod search;
pub(crate) mod shape_table;
pub(crate) mod synthetic;
pub(crate) mod tagged;
