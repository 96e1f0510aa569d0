//! Parts that add nothing where an equal one stands beside them.
//!
//! For example, of three thousand free texts in a row all could be at the same place of a text.
//! The first one admits whatever the others do, because it may end where it stands and they may
//! follow: it *covers* them.
//!
//! A part covers another one if their bodies are equal, and the junction behind it leads to the
//! junction behind the other one without a byte. Wherever both are read at the same place of their
//! bodies, the texts that the other one goes on with are then among those of the first.

use foldhash::HashSet;

use super::parts::Thread;

/// The parts that cover others.
#[derive(Debug, Default)]
pub(super) struct Covers {
    /// By part, those that it covers, ascending. Empty where no part covers another.
    by_part: Vec<Box<[u32]>>,
    /// By part, true if it covers one or is covered.
    is_in: Vec<bool>,
}

impl Covers {
    /// Makes the tables of what each part covers.
    pub(super) fn new(mut covered: Vec<Vec<u32>>) -> Covers {
        if covered.iter().all(Vec::is_empty) {
            return Covers::default();
        }
        let mut is_in = vec![false; covered.len()];
        for (part, others) in covered.iter_mut().enumerate() {
            others.sort_unstable();
            is_in[part] |= !others.is_empty();
            others
                .iter()
                .for_each(|&other| is_in[other as usize] = true);
        }
        Covers {
            by_part: covered.into_iter().map(Vec::into_boxed_slice).collect(),
            is_in,
        }
    }

    /// Tells whether no part covers another.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.by_part.is_empty()
    }

    /// Tells whether a part covers one or is covered.
    #[inline]
    pub(super) fn is_in(&self, part: u32) -> bool {
        self.is_in.get(part as usize).is_some_and(|is_in| *is_in)
    }

    /// Returns the parts that one covers.
    pub(super) fn of(&self, part: u32) -> &[u32] {
        self.by_part.get(part as usize).map_or(&[], |all| all)
    }

    /// Returns all parts that some other one covers.
    pub(super) fn covered(&self) -> HashSet<u32> {
        self.by_part.iter().flatten().copied().collect()
    }

    /// Tells whether a part can be left out beside another one: of two that cover each other, the
    /// first is kept.
    pub(super) fn can_drop(&self, other: u32, beside: u32) -> bool {
        let covers = |one: u32, other: u32| self.of(one).binary_search(&other).is_ok();
        covers(beside, other) && (beside < other || !covers(other, beside))
    }

    /// Leaves out the threads that others cover, which then are in any order.
    pub(super) fn prune(&self, kinds: impl Fn(u32) -> u32, threads: &mut Vec<Thread>) {
        let in_doubt = threads.iter().filter(|thread| self.is_in(thread.part));
        if in_doubt.take(2).count() < 2 {
            return;
        }
        let place = |t: &Thread| {
            let Thread {
                part,
                guard,
                slot,
                extra,
                tokens,
                stack,
                inner,
            } = *t;
            (kinds(part), guard, slot, extra, tokens, stack, inner)
        };
        threads.sort_unstable_by_key(|thread| (place(thread), thread.part));
        let mut kept = 0;
        let mut at = 0;
        while at < threads.len() {
            let here = place(&threads[at]);
            let begin = kept;
            while let Some(&thread) = threads.get(at).filter(|thread| place(thread) == here) {
                at += 1;
                let is_in = self.is_in(thread.part);
                let is_out = match threads[begin..kept].last() {
                    Some(last) if last.part == thread.part => true,
                    _ => {
                        let mut others = threads[begin..kept].iter();
                        is_in && others.any(|by| self.can_drop(thread.part, by.part))
                    }
                };
                if is_out {
                    continue;
                }
                // This one may cover some that stand before it.
                let in_doubt = if is_in { begin } else { kept };
                let mut to = in_doubt;
                for from in in_doubt..kept {
                    if !self.can_drop(threads[from].part, thread.part) {
                        threads[to] = threads[from];
                        to += 1;
                    }
                }
                threads[to] = thread;
                kept = to + 1;
            }
        }
        threads.truncate(kept);
    }
}
