//! Working memory of walks, and the pool in which it waits for the next one.
//!
//! For example, a guide's second mask takes the memory of its first one out of the pool, which
//! knows the steps that both take.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use fsm_index::Horizon;

use crate::completion::live::Live;
use crate::hints::keys::Keys;
use crate::hints::text::Hints;
use crate::hints::{Known, Lexemes};
use crate::machine::Machine;
use crate::run::caches::Caches;
use crate::run::saved::Saved;
use crate::run::step::Steps;

/// Scratches that are kept for the next walk. More threads than that seldom walk at a time, and
/// each may hold [`Config::max_cache_bytes`](crate::Config::max_cache_bytes), so that more are not
/// kept.
const MAX_POOL: usize = 4;

/// All that one scratch has learnt of a grammar.
#[derive(Default)]
pub(super) struct Learnt {
    caches: Caches,
    known: Known,
}

/// The memory of scratches that were given back.
#[derive(Default)]
#[allow(clippy::vec_box, reason = "a scratch takes its box as it is")]
pub(super) struct Pool(Mutex<Vec<Box<Learnt>>>);

/// Working memory of a walk, which remembers what it learns about a grammar.
pub struct Scratch {
    learnt: Option<Box<Learnt>>,
    home: Arc<Pool>,
}

impl Learnt {
    /// Returns the number of a saved configuration. Forgets all before if too much is remembered.
    pub(super) fn load(&mut self, saved: &Arc<Saved>, machine: &Machine) -> u32 {
        if let Some(known) = self.caches.known(saved) {
            return known;
        }
        if self.bytes() > machine.max_cache_bytes() {
            self.caches.reset();
            self.known = Known::default();
        }
        self.caches.load(saved, machine)
    }

    pub(super) fn caches(&mut self) -> &mut Caches {
        &mut self.caches
    }

    #[inline]
    pub(super) fn steps<'a>(&'a mut self, machine: &'a Machine) -> Steps<'a> {
        Steps::new(machine, &mut self.caches)
    }

    #[inline]
    pub(super) fn live<'a>(&'a mut self, machine: &'a Machine) -> Live<'a> {
        Live::new(machine, &mut self.caches)
    }

    pub(super) fn hints<'a>(&'a mut self, machine: &'a Machine) -> Hints<'a> {
        Hints::new(machine, &mut self.caches, &mut self.known)
    }

    pub(super) fn lexemes<'a>(&'a mut self, machine: &'a Machine) -> Lexemes<'a> {
        Lexemes::new(machine, &mut self.caches, &mut self.known)
    }

    pub(super) fn keys<'a>(
        &'a mut self,
        machine: &'a Machine,
        horizon: Horizon<'a>,
        depth: usize,
    ) -> Keys<'a> {
        Keys::new(machine, &mut self.caches, horizon, depth)
    }

    /// Begins a walk. Returns the configuration as it is there.
    pub(super) fn begin_walk(&mut self, saved: &Arc<Saved>, machine: &Machine) -> u32 {
        let config = self.load(saved, machine);
        let config = self.steps(machine).begin_walk(config);
        self.known.begin_walk(self.caches.height(config));
        config
    }

    fn bytes(&self) -> usize {
        self.caches.bytes() + self.known.bytes()
    }
}

impl Pool {
    /// Makes a pool with the memory that has compiled a grammar.
    pub(super) fn of(learnt: Box<Learnt>) -> Pool {
        Pool(Mutex::new(vec![learnt]))
    }

    /// Returns a scratch, which comes back when it is dropped.
    pub(super) fn scratch(self: &Arc<Pool>) -> Scratch {
        let mut pool = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Scratch {
            learnt: Some(pool.pop().unwrap_or_default()),
            home: self.clone(),
        }
    }

    /// Returns the bytes that it takes, about.
    pub(super) fn memory(&self) -> usize {
        let pool = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pool.iter().map(|learnt| learnt.bytes()).sum()
    }
}

impl Scratch {
    #[inline]
    pub(super) fn learnt(&mut self) -> &mut Learnt {
        self.learnt.get_or_insert_default()
    }

    /// Returns the number of levels that the walk has looked at.
    pub(super) fn depth_used(&self, machine: &Machine) -> usize {
        let learnt = self.learnt.as_ref();
        learnt.map_or(1, |learnt| learnt.caches.depth_used(machine))
    }

    /// Returns the number of places in JSON that outlive walks.
    #[cfg(test)]
    pub(crate) fn json_places(&mut self) -> usize {
        self.learnt().caches.json().len()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Some(learnt) = self.learnt.take() {
            let mut pool = self.home.0.lock().unwrap_or_else(PoisonError::into_inner);
            if pool.len() < MAX_POOL {
                pool.push(learnt);
            }
        }
    }
}

impl fmt::Debug for Scratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.learnt.as_ref().map_or(0, |learnt| learnt.bytes());
        write!(f, "Scratch({bytes} bytes)")
    }
}
