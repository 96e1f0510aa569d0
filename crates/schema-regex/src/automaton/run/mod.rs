//! At a byte, or when bytes are committed.

pub(crate) mod after_names;
pub(crate) mod begun;
pub(crate) mod equality;
pub(crate) mod item_told_apart;
pub(crate) mod levels;
pub(crate) mod member_names;
pub(crate) mod number_bytes;
pub(crate) mod object_steps;
pub(crate) mod plain_object;
pub(crate) mod scratch;
pub(crate) mod state;
pub(crate) mod step;
pub(crate) mod string_bytes;
pub(crate) mod string_leaves;
pub(crate) mod string_texts;
pub(crate) mod text_runs;
pub(crate) mod unique_items;
pub(crate) mod ways_on;
