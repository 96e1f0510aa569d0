//! Numbers of things by a hash of their content. A map with the contents as keys holds them once
//! more, and moves all of its entries when it grows: in the middle of a mask.
//!
//! For example, a stack's node is found by the hash of its state and parents, and then compared.

use std::hash::{BuildHasher as _, Hash};

use foldhash::fast::FixedState;

/// An open table with linear probing, at most half full. When it grows, each number that is
/// added moves a few of the old ones.
#[derive(Debug, Default)]
pub(crate) struct ByHash {
    hasher: FixedState,
    slots: Vec<Slot>,
    /// The table before it grew, until all of it has moved.
    old: Vec<Slot>,
    /// So many slots of it have.
    moved: usize,
    count: usize,
}

/// The upper half of a hash, and one more than a number; 0 is free.
type Slot = u64;

/// The slots of the least table, because a smaller one would grow at once.
const LEAST: usize = 16;

/// Slots that move with each number that is added: twice as many would be free by then.
const MOVED: usize = 4;

impl ByHash {
    pub(crate) fn hash(&self, content: impl Hash) -> u64 {
        self.hasher.hash_one(content)
    }

    /// The number with a hash that `is` that of the content.
    #[inline]
    pub(crate) fn find(&self, hash: u64, mut is: impl FnMut(u32) -> bool) -> Option<u32> {
        let found = find_in(&self.slots, hash, &mut is);
        match self.old.is_empty() {
            true => found,
            false => found.or_else(|| find_in(&self.old, hash, is)),
        }
    }

    /// Adds the number of a content that was not found.
    pub(crate) fn add(&mut self, hash: u64, number: u32) {
        if self.count * 2 >= self.slots.len() {
            self.move_slots(self.old.len());
            let len = LEAST.max(2 * self.slots.len());
            self.old = std::mem::replace(&mut self.slots, vec![0; len]);
            self.moved = 0;
        }
        self.count += 1;
        put(&mut self.slots, hash >> 32 << 32 | (u64::from(number) + 1));
        self.move_slots(MOVED);
    }

    /// Moves so many slots of the old table, as far as there are some.
    fn move_slots(&mut self, count: usize) {
        if self.old.is_empty() {
            return;
        }
        let end = self.old.len().min(self.moved + count);
        let slots = self.old[self.moved..end].iter();
        slots
            .filter(|slot| **slot != 0)
            .for_each(|&slot| put(&mut self.slots, slot));
        self.moved = end;
        if end == self.old.len() {
            self.old = Vec::new();
        }
    }

    /// Forgets all of them, and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.slots.fill(0);
        self.old = Vec::new();
        self.count = 0;
    }
}

/// Returns the place at which the search for a slot begins.
fn first(slot: Slot, slots: &[Slot]) -> usize {
    (slot >> 32) as usize & (slots.len() - 1)
}

fn put(slots: &mut [Slot], slot: Slot) {
    let mut at = first(slot, slots);
    while slots[at] != 0 {
        at = (at + 1) & (slots.len() - 1);
    }
    slots[at] = slot;
}

#[inline]
fn find_in(slots: &[Slot], hash: u64, mut is: impl FnMut(u32) -> bool) -> Option<u32> {
    if slots.is_empty() {
        return None;
    }
    let mut at = first(hash, slots);
    while slots[at] != 0 {
        let number = slots[at] as u32;
        if slots[at] >> 32 == hash >> 32 && is(number - 1) {
            return Some(number - 1);
        }
        at = (at + 1) & (slots.len() - 1);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_is_found_while_the_table_grows() {
        let mut table = ByHash::default();
        // Few hashes, so that many have one.
        let hash = |table: &ByHash, number: u32| table.hash(number / 3);
        for number in 0..5_000 {
            let own = hash(&table, number);
            assert_eq!(table.find(own, |other| other == number), None);
            table.add(own, number);
            for other in [0, number / 2, number] {
                let own = hash(&table, other);
                assert_eq!(table.find(own, |found| found == other), Some(other));
            }
        }
        let all = (0..5_000).all(|n| table.find(hash(&table, n), |other| other == n).is_some());
        assert!(all && table.slots.len() < 5_000 * 4);
        table.clear();
        assert_eq!(table.find(hash(&table, 7), |_| true), None);
    }
}
