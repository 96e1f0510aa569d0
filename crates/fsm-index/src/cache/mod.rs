//! The memory of an index, and that of all indexes of a vocabulary. For example, a row of one
//! schema's strings is kept in its index, and a row that any schema has in the vocabulary's memory.

mod generation;
mod hash_trie;
mod key;
mod shared_rows;

pub(crate) use generation::{Cache, Generation, Origin};
pub(crate) use hash_trie::{HashTrie, Known, MANY_ROOTS, MAX_DEPTH};
pub(crate) use key::{Key, Thing};
pub(crate) use shared_rows::Cutter;
pub use shared_rows::{SharedRows, SharedStats};
