//! Working memory of walks, and the pool in which it waits for the next one.
//!
//! For example, a guide's second mask takes the memory of its first one out of the pool, which
//! knows the steps that both take.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

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
pub(super) struct Learnt {
    /// The grammar, with what is proved of it: what was learnt hangs on that.
    machine: Arc<Machine>,
    caches: Caches,
    known: Known,
}

/// The memory of scratches that were given back, and what is proved of the grammar by now.
pub(super) struct Pool {
    /// The grammar as it was compiled.
    compiled: Arc<Machine>,
    /// The same with all that can be proved, if that is more, from when it is proved.
    proved: OnceLock<Option<Arc<Machine>>>,
    #[allow(clippy::vec_box, reason = "a scratch takes its box as it is")]
    free: Mutex<Vec<Box<Learnt>>>,
}

/// Working memory of a walk, which remembers what it learns about a grammar.
pub struct Scratch {
    learnt: Option<Box<Learnt>>,
    home: Arc<Pool>,
}

impl Learnt {
    pub(super) fn new(machine: Arc<Machine>) -> Learnt {
        Learnt {
            machine,
            caches: Caches::default(),
            known: Known::default(),
        }
    }

    /// Returns the number of a saved configuration. Forgets all before if too much is remembered.
    pub(super) fn load(&mut self, saved: &Arc<Saved>) -> u32 {
        if let Some(known) = self.caches.known(saved) {
            return known;
        }
        if self.bytes() > self.machine.max_cache_bytes() {
            self.caches.reset();
            self.known = Known::default();
        }
        self.caches.load(saved, &self.machine)
    }

    /// Returns a configuration that outlives the scratch.
    pub(super) fn save(&mut self, config: u32) -> Arc<Saved> {
        self.caches.save(config, &self.machine)
    }

    pub(super) fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Returns the grammar, and what is known of configurations.
    pub(super) fn parts(&mut self) -> (&Machine, &mut Caches) {
        (&self.machine, &mut self.caches)
    }

    pub(super) fn caches(&mut self) -> &mut Caches {
        &mut self.caches
    }

    #[inline]
    pub(super) fn steps(&mut self) -> Steps<'_> {
        Steps::new(&self.machine, &mut self.caches)
    }

    #[inline]
    pub(super) fn live(&mut self) -> Live<'_> {
        Live::new(&self.machine, &mut self.caches)
    }

    pub(super) fn hints(&mut self) -> Hints<'_> {
        Hints::new(&self.machine, &mut self.caches, &mut self.known)
    }

    pub(super) fn lexemes(&mut self) -> Lexemes<'_> {
        Lexemes::new(&self.machine, &mut self.caches, &mut self.known)
    }

    pub(super) fn keys<'a>(&'a mut self, horizon: Horizon<'a>, depth: usize) -> Keys<'a> {
        Keys::new(&self.machine, &mut self.caches, horizon, depth)
    }

    /// Begins a walk. Returns the configuration as it is there.
    pub(super) fn begin_walk(&mut self, saved: &Arc<Saved>) -> u32 {
        let config = self.load(saved);
        let config = self.steps().begin_walk(config);
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
        Pool {
            compiled: learnt.machine.clone(),
            proved: OnceLock::new(),
            free: Mutex::new(vec![learnt]),
        }
    }

    /// Returns the grammar as it was compiled.
    pub(super) fn compiled(&self) -> &Machine {
        &self.compiled
    }

    /// Returns the grammar with what is proved of it by now.
    fn newest(&self) -> &Arc<Machine> {
        let proved = self.proved.get().and_then(Option::as_ref);
        proved.unwrap_or(&self.compiled)
    }

    /// Returns the grammar with all that can be proved of it: proves it, or waits until that is done.
    pub(super) fn proved(&self) -> &Machine {
        let proved = || self.compiled.proved().map(Arc::new);
        let proved = self.proved.get_or_init(proved).as_ref();
        proved.unwrap_or(&self.compiled)
    }

    /// Begins to prove what compiling has left, on another thread if there are such. Nobody waits for it, and nothing is proved of
    /// a grammar that is gone before.
    pub(super) fn prove(self: &Arc<Pool>) {
        if self.compiled.is_proved() {
            return;
        }
        let pool = Arc::downgrade(self);
        let prove = move || {
            if let Some(pool) = pool.upgrade() {
                pool.proved();
            }
        };
        #[cfg(feature = "rayon")]
        rayon::spawn(prove);
        #[cfg(not(feature = "rayon"))]
        prove();
    }

    /// Returns a scratch, which comes back when it is dropped.
    pub(super) fn scratch(self: &Arc<Pool>) -> Scratch {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        Scratch {
            learnt: free.pop(),
            home: self.clone(),
        }
    }

    /// Returns the bytes that it takes, about.
    pub(super) fn memory(&self) -> usize {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.iter().map(|learnt| learnt.bytes()).sum()
    }
}

impl Scratch {
    #[inline]
    pub(super) fn learnt(&mut self) -> &mut Learnt {
        let home = &self.home;
        let new = || Box::new(Learnt::new(home.newest().clone()));
        self.learnt.get_or_insert_with(new)
    }

    /// Returns the memory for a new walk: another one if more was proved since, because what was learnt hangs on that.
    pub(super) fn newest(&mut self) -> &mut Learnt {
        let newest = self.home.newest();
        self.learnt
            .take_if(|learnt| !Arc::ptr_eq(&learnt.machine, newest));
        self.learnt()
    }

    /// Returns the number of levels that the walk has looked at.
    pub(super) fn depth_used(&self) -> usize {
        let learnt = self.learnt.as_ref();
        learnt.map_or(1, |learnt| learnt.caches.depth_used(&learnt.machine))
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
            let free = self.home.free.lock();
            let mut free = free.unwrap_or_else(PoisonError::into_inner);
            if free.len() < MAX_POOL {
                free.push(learnt);
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
