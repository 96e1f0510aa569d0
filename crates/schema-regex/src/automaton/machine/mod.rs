//! What was compiled: nodes, their machines, and what is known of them.

pub(crate) mod decisions;
pub(crate) mod enough_values;
pub(crate) mod few;
pub(crate) mod lexicon;
pub(crate) mod live;
pub(crate) mod loop_classes;
pub(crate) mod node;
pub(crate) mod prints;
pub(crate) mod white_space;
