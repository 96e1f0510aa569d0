//! Numbers of things by a hash of their content. A map with the contents as keys holds them once
//! more, and looks at all of them when it grows: in the middle of a mask.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, Hash};

use foldhash::fast::FixedState;

#[derive(Debug, Default)]
pub(crate) struct ByHash {
    /// The last one with a hash.
    last: HashMap<u64, u32, FixedState>,
    /// The one before it, of the few that have one.
    before: HashMap<u32, u32, FixedState>,
}

impl ByHash {
    pub(crate) fn hash(&self, content: impl Hash) -> u64 {
        self.last.hasher().hash_one(content)
    }

    /// The number with a hash that `is` that of the content.
    pub(crate) fn find(&self, hash: u64, mut is: impl FnMut(u32) -> bool) -> Option<u32> {
        let mut at = self.last.get(&hash).copied();
        while let Some(number) = at {
            if is(number) {
                return at;
            }
            at = self.before.get(&number).copied();
        }
        None
    }

    pub(crate) fn add(&mut self, hash: u64, number: u32) {
        if let Some(before) = self.last.insert(hash, number) {
            self.before.insert(number, before);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.last.clear();
        self.before.clear();
    }
}
