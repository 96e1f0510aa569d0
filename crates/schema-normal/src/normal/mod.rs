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
pub mod alternative;
mod applied;
pub mod chosen_names;
pub mod closed;
pub mod closing;
pub mod conditions;
pub mod conjunctions;
pub mod demands;
mod found;
pub mod in_place;
mod item_counts;
pub mod kept;
pub mod keywords;
pub mod known;
pub mod locations;
pub mod member_order;
pub mod members;
pub mod normaliser;
pub mod partial;
mod plain;
mod repeated;
pub mod search;
pub mod shape_table;
pub mod synthetic;
pub mod tagged;
mod terms;
