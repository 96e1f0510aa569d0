//! The rows that all guides of one index have found together, within a bound.
//!
//! Rows are remembered in a generation. When it has grown over the limit a new
//! one begins, and the old one goes with the last guide that still lends a row
//! from it: nothing is ever taken from under a reader, and readers take no
//! lock.
//!
//! For example, a row that was found by one guide behind `{"a": ` is found by its key in all other
//! guides of the index.

use std::borrow::Borrow;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::cache::{HashTrie, MANY_ROOTS};
use crate::rows::{HalfOnTop, LexemePart, Part, Row, RowPool};

/// The generations of an index, one after another.
#[derive(Debug)]
pub(crate) struct Cache {
    newest: Mutex<Arc<Generation>>,
    number: AtomicUsize,
    max_bytes: usize,
    /// Nodes that were visited for rows, of all generations.
    visited: AtomicU64,
    /// The number of times that a row was one that another index had.
    shared: AtomicU64,
    /// The number of times that a row was computed.
    computed: AtomicU64,
}

/// The rows that are remembered until the limit is reached.
#[derive(Debug, Default)]
pub(crate) struct Generation {
    number: usize,
    pub(crate) rows: HashTrie<Arc<Row>>,
    pub(crate) rests: HashTrie<Arc<[u32]>>,
    pub(crate) parts: HashTrie<Arc<Part>>,
    /// The answers of the topmost level about the halves of cuts.
    pub(crate) halves: HashTrie<Arc<HalfOnTop>>,
    /// The lexemes into which the vocabulary falls.
    pub(crate) lexemes: HashTrie<Arc<LexemePart>, MANY_ROOTS>,
    /// The numbers of rows of splits that were, and were not, told by them.
    splits: [AtomicU32; 2],
    pool: RowPool,
    /// Equal lists once, with their numbers.
    lists: Mutex<foldhash::HashMap<Arc<[u32]>, u32>>,
    /// Rows that are not pooled here.
    charged: AtomicUsize,
    /// The bytes of rows, parts and lists.
    bytes: AtomicUsize,
}

/// The origin of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The index remembered it.
    Remembered,
    /// Some index of the vocabulary had it.
    Shared,
    /// It was computed.
    Computed,
}

impl Cache {
    pub(crate) fn new(max_bytes: usize) -> Cache {
        Cache {
            newest: Mutex::default(),
            number: AtomicUsize::new(0),
            max_bytes,
            visited: AtomicU64::new(0),
            shared: AtomicU64::new(0),
            computed: AtomicU64::new(0),
        }
    }

    /// The generation to be used now. The first one that is asked after the
    /// limit was reached begins a new one.
    pub(crate) fn newest(&self) -> Arc<Generation> {
        // A panic elsewhere leaves the generation whole: it is replaced at once.
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        if newest.memory() > self.max_bytes {
            self.begin_anew(&mut newest);
        }
        newest.clone()
    }

    /// Forgets everything.
    pub(crate) fn clear(&self) {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        self.begin_anew(&mut newest);
    }

    fn begin_anew(&self, newest: &mut Arc<Generation>) {
        let number = newest.number + 1;
        let fresh = Arc::new(Generation {
            number,
            ..Generation::default()
        });
        let old = std::mem::replace(newest, fresh);
        self.number.store(number, Ordering::Release);
        // To give so much memory back takes longer than any mask: that is for another thread.
        #[cfg(feature = "rayon")]
        rayon::spawn(move || drop(old));
        #[cfg(not(feature = "rayon"))]
        drop(old);
    }

    /// Notes nodes that were visited for a row.
    pub(crate) fn visit(&self, nodes: u64) {
        self.visited.fetch_add(nodes, Ordering::Relaxed);
    }

    /// Nodes that were visited for rows so far.
    pub(crate) fn visited(&self) -> u64 {
        self.visited.load(Ordering::Relaxed)
    }

    /// Notes where a row was from.
    pub(crate) fn count(&self, origin: Origin) {
        match origin {
            Origin::Remembered => return,
            Origin::Shared => &self.shared,
            Origin::Computed => &self.computed,
        }
        .fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of times that a row was one that another index had, so far.
    pub(crate) fn shared(&self) -> u64 {
        self.shared.load(Ordering::Relaxed)
    }

    /// Returns the number of times that a row was computed so far.
    pub(crate) fn computed(&self) -> u64 {
        self.computed.load(Ordering::Relaxed)
    }

    /// Tells whether a generation is still the one to be used. Takes no lock.
    pub(crate) fn is_current(&self, generation: &Generation) -> bool {
        self.number.load(Ordering::Acquire) == generation.number
            && generation.memory() <= self.max_bytes
    }
}

impl Generation {
    /// The one copy of a row.
    pub(crate) fn pool(&self, row: impl Into<Arc<Row>> + Borrow<Row>) -> Arc<Row> {
        let (row, bytes) = self.pool.intern(row);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        row
    }

    pub(crate) fn add_part(&self, key: &[u32], part: Arc<Part>) {
        self.bytes.fetch_add(part.memory(), Ordering::Relaxed);
        self.parts.add(key, part);
    }

    pub(crate) fn add_half(&self, key: &[u32], half: Arc<HalfOnTop>) {
        self.bytes.fetch_add(half.memory(), Ordering::Relaxed);
        self.halves.add(key, half);
    }

    pub(crate) fn add_lexemes(&self, key: &[u32], part: Arc<LexemePart>) {
        self.bytes.fetch_add(part.memory(), Ordering::Relaxed);
        self.lexemes.add(key, part);
    }

    /// Tells whether lexemes are worth following where every split counts.
    pub(crate) fn follows_splits(&self) -> bool {
        let [told, not] = [0, 1].map(|at| self.splits[at].load(Ordering::Relaxed));
        not < 4 || not < told / 16
    }

    /// Notes that such a row was told by lexemes, or was not.
    pub(crate) fn note_split(&self, was_told: bool) {
        self.splits[usize::from(!was_told)].fetch_add(1, Ordering::Relaxed);
    }

    /// The one copy of a list, and its number, from 1.
    pub(crate) fn number_list(&self, list: &[u32]) -> (Arc<[u32]>, u32) {
        let mut all = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, &number)) = all.get_key_value(list) {
            return (known.clone(), number);
        }
        self.bytes.fetch_add(list.len() * 4 + 64, Ordering::Relaxed);
        let (list, number) = (Arc::<[u32]>::from(list), all.len() as u32 + 1);
        all.insert(list.clone(), number);
        (list, number)
    }

    /// Notes a row that some index has pooled already, and the part that it may be the last to
    /// hold.
    pub(crate) fn charge(&self, row: &Row) {
        let bytes = row.memory() + row.part().map_or(0, Part::memory);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.charged.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of rows , of equal ones in the pool one.
    pub(crate) fn row_count(&self) -> usize {
        self.pool.count() + self.charged.load(Ordering::Relaxed)
    }

    /// Bytes of memory.
    pub(crate) fn memory(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
            + self.rows.memory()
            + self.rests.memory()
            + self.parts.memory()
            + self.halves.memory()
            + self.lexemes.memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TokenMask;

    #[test]
    fn a_full_generation_is_followed_by_another() {
        let cache = Cache::new(1_000);
        let first = cache.newest();
        assert!(cache.is_current(&first));
        let row = first.pool(Row::Dense(TokenMask::none(32 * 1_000)));
        first.rows.add(&[1], row);
        assert!(!cache.is_current(&first), "it is over the limit");
        let second = cache.newest();
        assert!(cache.is_current(&second) && !cache.is_current(&first));
        assert_eq!((first.row_count(), second.row_count()), (1, 0));
        // Another thread lets go of it.
        let mut waits = 0;
        while Arc::strong_count(&first) > 1 && waits < 1_000 {
            std::thread::sleep(std::time::Duration::from_millis(10));
            waits += 1;
        }
        assert_eq!(Arc::strong_count(&first), 1, "only its reader keeps it");
    }
}
