//! The values that are known by the top of an automaton's stack.
//!
//! A table of keys that is only ever added to, read without a lock: a trie over
//! the bits of the keys' hashes whose nodes, once set, never move (a hash trie;
//! Bagwell, "Ideal Hash Trees", 2001). It is thrown away as a whole.
//!
//! For example, the key `[7, 1]` of two levels may have a row, and `[7]` the note that more levels
//! count.

use std::hash::BuildHasher;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use foldhash::quality::RandomState;

/// The depth to which a walk into a stack may be remembered, in levels, because deeper keys take
/// more than the walk.
pub(crate) const MAX_DEPTH: usize = 64;

/// Values by the topmost levels of a stack: as many as each depends on.
#[derive(Debug)]
pub(crate) struct HashTrie<V, const ROOTS: usize = FEW_ROOTS> {
    /// By the lowest bits of a hash, once there is a value.
    roots: OnceLock<Box<[Slot<V>]>>,
    hasher: RandomState,
    bytes: AtomicUsize,
}

/// A place for a node, which stays empty or never moves.
type Slot<V> = OnceLock<Box<HashNode<V>>>;

#[derive(Debug)]
struct HashNode<V> {
    hash: u64,
    key: Box<[u32]>,
    /// `None`: it depends on more levels than this key tells.
    value: Option<V>,
    /// On how many at least; what was added later may depend on fewer.
    least: AtomicUsize,
    children: [Slot<V>; 4],
}

/// The number of nodes at which a look-up begins, because with one root it would follow three nodes
/// more.
const FEW_ROOTS: usize = 64;

/// The same of a table with tens of thousands of values, because a look-up follows two nodes fewer: masks of grammars make a
/// hundred each.
pub(crate) const MANY_ROOTS: usize = 1_024;

/// The knowledge about a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Known<V> {
    /// The value.
    Value(V),
    /// The value depends on more levels, as many as this at least.
    Deeper(usize),
    /// Nothing.
    Nothing,
}

impl<V, const ROOTS: usize> Default for HashTrie<V, ROOTS> {
    fn default() -> Self {
        HashTrie {
            roots: OnceLock::new(),
            hasher: RandomState::default(),
            bytes: AtomicUsize::new(0),
        }
    }
}

impl<V: Clone, const ROOTS: usize> HashTrie<V, ROOTS> {
    /// Returns the knowledge about `key`. Takes no lock.
    pub(crate) fn get(&self, key: &[u32]) -> Known<V> {
        let Some(roots) = self.roots.get() else {
            return Known::Nothing;
        };
        let hash = self.hasher.hash_one(key);
        let mut slot = &roots[hash as usize % ROOTS];
        let mut path = hash / ROOTS as u64;
        while let Some(node) = slot.get() {
            if node.hash == hash && *node.key == *key {
                return match &node.value {
                    Some(value) => Known::Value(value.clone()),
                    None => Known::Deeper(node.least.load(Ordering::Relaxed)),
                };
            }
            slot = &node.children[path as usize & 3];
            path >>= 2;
        }
        Known::Nothing
    }

    /// Adds a value. A value that is known already stays.
    pub(crate) fn add(&self, key: &[u32], value: V) {
        self.insert(key, Some(value), 0);
    }

    /// Adds that a value depends on so many levels, more than the key tells.
    pub(crate) fn add_deeper(&self, key: &[u32], depth: usize) {
        self.insert(key, None, depth);
    }

    fn insert(&self, key: &[u32], value: Option<V>, least: usize) {
        let hash = self.hasher.hash_one(key);
        let mut node = Box::new(HashNode {
            hash,
            key: key.into(),
            value,
            least: AtomicUsize::new(least),
            children: Default::default(),
        });
        let roots = self.roots.get_or_init(|| {
            let roots = (0..ROOTS).map(|_| OnceLock::new());
            let bytes = ROOTS * size_of::<Slot<V>>();
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
            roots.collect()
        });
        let mut slot = &roots[hash as usize % ROOTS];
        let mut path = hash / ROOTS as u64;
        loop {
            let Err(back) = slot.set(node) else {
                let bytes = size_of::<HashNode<V>>() + key.len() * 4;
                self.bytes.fetch_add(bytes, Ordering::Relaxed);
                return;
            };
            node = back;
            // The slot is taken, so it can be read.
            let Some(there) = slot.get() else { return };
            if there.hash == hash && there.key == node.key {
                there.least.fetch_min(least, Ordering::Relaxed);
                return;
            }
            slot = &there.children[path as usize & 3];
            path >>= 2;
        }
    }

    /// Bytes of memory, the values' own not counted.
    pub(crate) fn memory(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_is_found() {
        let table: HashTrie<u32> = HashTrie::default();
        for n in 0..2_000u32 {
            assert_eq!(table.get(&[1, n]), Known::Nothing);
            match n % 3 {
                0 => [7, 5, 6].map(|depth| table.add_deeper(&[1, n], depth)),
                _ => [n, 0, 0].map(|value| table.add(&[1, n], value)),
            };
        }
        for n in 0..2_000u32 {
            let known = match n % 3 {
                0 => Known::Deeper(5),
                _ => Known::Value(n),
            };
            assert_eq!(table.get(&[1, n]), known);
        }
        assert_eq!(table.get(&[1]), Known::Nothing);
        assert!(table.memory() > 2_000 * 8);
    }

    #[test]
    fn many_threads_agree() {
        let table: HashTrie<u32> = HashTrie::default();
        std::thread::scope(|scope| {
            for thread in 0..8u32 {
                let table = &table;
                scope.spawn(move || {
                    for n in 0..1_000u32 {
                        let n = (n * 37 + thread * 101) % 1_000;
                        table.add(&[n], n);
                        assert_eq!(table.get(&[n]), Known::Value(n));
                    }
                });
            }
        });
        let roots = FEW_ROOTS * size_of::<Slot<u32>>();
        let nodes = 1_000 * (size_of::<HashNode<u32>>() + 4);
        assert_eq!(table.memory(), roots + nodes);
    }
}
