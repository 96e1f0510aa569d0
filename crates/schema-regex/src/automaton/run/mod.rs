//! The automaton at work: at a byte, or when bytes are committed.
//!
//! - [`config`]: where a text stands, and [`scratch`]: the working memory of a walk, with all that a cursor
//!   stands for. [`found`] has what was found out in it, [`allowance`] what it may still do,
//!   [`texts`] the texts that it keeps.
//! - [`state`]: what a guide remembers, and how it becomes a configuration and back;
//!   [`levels`] has the arrays and objects that are open in it.
//! - [`step`]: one byte, from a configuration to the next.
//! - [`string_bytes`]: the bytes of a string become code points; [`string_leaves`] tells
//!   which goals the string can still satisfy, [`text_runs`] reads many characters at once.
//! - [`number_bytes`]: the inside of a number.
//! - [`member_names`]: which names may come in an object, and reading one. [`plain_object`]
//!   tells it of objects that one thread reads ([`object_summary`] what keys say of them), [`object_steps`] of those that several
//!   read.
//! - [`unique_items`]: whether an item that must differ can still become one that may come.
//!   [`equality`] has one spelling for each value, [`open_value`] what a value that was begun
//!   tells of it, [`begun`] which items before it that leaves, [`item_places`] remembers both,
//!   [`string_texts`] which strings it can become, [`ways_on`] how it goes on;
//!   [`another_value`] writes one, [`listed_values`] all there are, [`item_told_apart`] reads on items that differ already, [`forgotten`] without their texts.
//! - [`seen`]: the names and items that may not come again, in sets that grow.
//!
//! For example, `[` leads from "before a value" to "at the start of an array", with a new frame on
//! the stack, and `]` from there to the end.

pub(crate) mod allowance;
pub(crate) mod another_value;
pub(crate) mod begun;
pub(crate) mod config;
pub(crate) mod equality;
pub(crate) mod forgotten;
pub(crate) mod found;
pub(crate) mod item_places;
pub(crate) mod item_told_apart;
pub(crate) mod levels;
pub(crate) mod listed_values;
pub(crate) mod member_names;
pub(crate) mod number_bytes;
pub(crate) mod object_steps;
pub(crate) mod object_summary;
pub(crate) mod open_value;
pub(crate) mod plain_object;
pub(crate) mod scratch;
pub(crate) mod seen;
pub(crate) mod state;
pub(crate) mod step;
pub(crate) mod string_bytes;
pub(crate) mod string_leaves;
pub(crate) mod string_texts;
pub(crate) mod text_runs;
pub(crate) mod texts;
pub(crate) mod unique_items;
pub(crate) mod ways_on;
