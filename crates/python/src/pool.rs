//! The threads that fill the masks of a batch. For example, a fill with two threads makes a pool of
//! two, which the next fill finds.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::of_kind;

/// A pool, in the process that made it: threads do not survive a fork.
struct Known {
    process: u32,
    pool: Arc<ThreadPool>,
}

/// The pool that was made last: one of a process, because threads are dear to start and servers
/// always ask for the same number.
static POOL: Mutex<Option<Known>> = Mutex::new(None);

/// Returns the number of threads that this process may use at once: what the machine, the affinity
/// mask and the control group allow. Asked once: to read the control group's files takes longer
/// than to fill a batch.
#[pyfunction]
pub(crate) fn available_threads() -> usize {
    /// The number is kept, since it is asked for at each fill.
    static KNOWN: OnceLock<usize> = OnceLock::new();
    *KNOWN.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// The pool of so many threads; made anew where another number was asked for last.
pub(crate) fn pool(threads: usize) -> PyResult<Arc<ThreadPool>> {
    let process = std::process::id();
    // A panic elsewhere leaves it whole: it changes by one assignment.
    let mut known = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = &*known
        && known.process == process
        && known.pool.current_num_threads() == threads
    {
        return Ok(known.pool.clone());
    }
    let name = |at| format!("tokenmold-{at}");
    let built = ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(name)
        .build();
    let pool = built.map_err(|error| of_kind("threads", format!("no threads: {error}")))?;
    let pool = Arc::new(pool);
    let before = known.replace(Known {
        process,
        pool: pool.clone(),
    });
    if let Some(before) = before.filter(|before| before.process != process) {
        // Its threads are in the parent process: there is nothing to wait for here.
        std::mem::forget(before);
    }
    Ok(pool)
}
