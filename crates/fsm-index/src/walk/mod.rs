//! Walks over the trie of a vocabulary. For example, a walk by `[0-9]+` enters ten children of the
//! root, and leaves all other subtrees out.

mod descent;
mod few;
mod free_below;
mod free_subtrees;
mod ground;
mod lexemes;
mod step_memo;
mod text_table;
mod top_level;
mod walker;

pub(crate) use free_below::{walk_below, walk_tokens};
pub(crate) use free_subtrees::Free;
pub(crate) use ground::{Ground, Language};
pub(crate) use lexemes::{LexemeTokens, LexemesMet, ListsBy};
pub(crate) use walker::Walker;
pub use walker::brute_force_mask;
