//! Where a text has come to: configurations of stacks and lexemes, as scratches number them.

pub(crate) mod behind;
pub(crate) mod by_hash;
pub(crate) mod caches;
pub(crate) mod characters;
pub(crate) mod configs;
pub(crate) mod finish;
pub(crate) mod fronts;
pub(crate) mod hints;
pub(crate) mod json_places;
pub(crate) mod json_walk;
pub(crate) mod lexemes;
pub(crate) mod lists;
pub(crate) mod place;
pub(crate) mod splits;
pub(crate) mod stack;
pub(crate) mod state;
pub(crate) mod text;
