//! Constraints that were compiled, kept for the next request that names the same. For example, a
//! thousand requests with one schema compile it once, and share the masks that are known.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use constraint::{Automaton, Constraint, Error};

use super::metrics::Metrics;
use fsm_index::{IndexConfig, Vocabulary};

/// A constraint that is being compiled or is there.
type Place = Arc<OnceLock<Result<Constraint, Arc<Error>>>>;

struct Kept {
    place: Place,
    /// The bytes of its key.
    text: usize,
    /// The number of the request that used it last.
    used: u64,
}

#[derive(Default)]
struct CacheState {
    kept: HashMap<Arc<str>, Kept>,
    requests: u64,
}

/// The constraints of a server.
pub(super) struct Cache {
    state: Mutex<CacheState>,
    max_bytes: usize,
    metrics: Arc<Metrics>,
}

impl Cache {
    /// A cache of at most so many bytes, about: of all of them the most recent one is kept in any
    /// case.
    pub(super) fn new(max_bytes: usize, metrics: &Arc<Metrics>) -> Cache {
        Cache {
            state: Mutex::default(),
            max_bytes,
            metrics: metrics.clone(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, CacheState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the constraint that `key` names, compiled by one caller while others wait for it. A
    /// failure is not kept.
    pub(super) fn get(
        &self,
        key: &str,
        vocabulary: &Vocabulary,
        compile: impl FnOnce() -> Result<Automaton, Error>,
    ) -> Result<Constraint, Arc<Error>> {
        let place = {
            let mut state = self.lock();
            state.requests += 1;
            let used = state.requests;
            let kept = state.kept.entry(key.into()).or_insert_with(|| Kept {
                place: Place::default(),
                text: key.len(),
                used,
            });
            kept.used = used;
            kept.place.clone()
        };
        let made = place.get_or_init(|| {
            let began = Instant::now();
            let made = compile().and_then(|made| made.index(vocabulary, &IndexConfig::default()));
            self.metrics.compiled(began.elapsed());
            made.map_err(Arc::new)
        });
        let mut state = self.lock();
        if made.is_err() {
            state.kept.remove(key);
        }
        state.shrink(self.max_bytes, &self.metrics);
        made.clone()
    }
}

impl CacheState {
    /// Drops those that were not used for longest, until the others fit. Their masks are counted
    /// anew, because they grow as they are used.
    fn shrink(&mut self, max_bytes: usize, metrics: &Metrics) {
        let mut sizes: Vec<(u64, Arc<str>, usize)> = self
            .kept
            .iter()
            .filter_map(|(key, kept)| {
                let made = kept.place.get()?.as_ref().ok()?;
                Some((kept.used, key.clone(), made.memory(kept.text) + key.len()))
            })
            .collect();
        sizes.sort_unstable_by_key(|(used, ..)| std::cmp::Reverse(*used));
        let mut bytes = 0;
        for (at, (_, key, size)) in sizes.iter().enumerate() {
            if at > 0 && bytes + size > max_bytes {
                self.kept.remove(key);
            } else {
                bytes += size;
            }
        }
        metrics.kept(bytes);
    }
}
