//! On how many threads a model reads.
//!
//! candle shares out each product among threads that wait for one another without sleeping.
//! A small product is done before the others have begun; and where the cores have other work,
//! one that was put aside is waited for through whole time slices: under load a model of 135
//! million parameters reads several times faster on one thread than on two.
//!
//! For example, one token of a model of two million parameters is read on one thread.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Condvar, Mutex, PoisonError};

use candle_core::Result;
use candle_core::utils::barrier_pool;

/// Products of fewer multiplications than this (a feed-forward matrix times the tokens that are
/// read) are not shared out: they take some hundred microseconds, so that waking and waiting for
/// threads costs more than it saves.
const WORTH_SHARING: usize = 1 << 22;

/// Runs what multiplies so often, on one thread if that is little.
pub(super) fn run<R: Send>(
    multiplications: usize,
    work: impl FnOnce() -> Result<R> + Send,
) -> Result<R> {
    match multiplications < WORTH_SHARING {
        true => on_one_thread(work),
        false => work(),
    }
}

/// Runs work on a thread of candle's pool, where products are not shared out again. The
/// caller sleeps.
fn on_one_thread<R: Send>(work: impl FnOnce() -> Result<R> + Send) -> Result<R> {
    let work = Mutex::new(Some(work));
    let result = Mutex::new(None);
    let done = Done::default();
    let caller = std::thread::current().id();
    barrier_pool().execute(|number| {
        // With one core the caller is the only thread, and the first.
        if number == 0 {
            let _tells = Tells(&done);
            let work = work.lock().unwrap_or_else(PoisonError::into_inner).take();
            // A panic that went through the pool would leave it broken for ever.
            let value = work.map(|work| catch_unwind(AssertUnwindSafe(work)));
            *result.lock().unwrap_or_else(PoisonError::into_inner) = value;
        } else if std::thread::current().id() == caller {
            done.wait();
        }
    });
    match result.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(Ok(value)) => value,
        Some(Err(panic)) => resume_unwind(panic),
        None => candle_core::bail!("no thread did the work"),
    }
}

/// True if the work is done.
#[derive(Default)]
struct Done {
    is: Mutex<bool>,
    told: Condvar,
}

impl Done {
    fn wait(&self) {
        let is = self.is.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.told.wait_while(is, |is| !*is);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

/// Tells so when it is dropped, by a panic too.
struct Tells<'d>(&'d Done);

impl Drop for Tells<'_> {
    fn drop(&mut self) {
        *self.0.is.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.told.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_little_runs_on_one_thread() {
        let value = run(0, || {
            // Products inside do not wait for the pool that they run on.
            let met = Mutex::new(std::collections::HashSet::new());
            barrier_pool().execute_chunked(64, |range| {
                let mut met = met.lock().unwrap();
                range.for_each(|_| {
                    met.insert(std::thread::current().id());
                });
            });
            Ok(met.into_inner().unwrap().len())
        });
        // A pool without workers has the caller alone.
        assert_eq!(value.unwrap(), 1);
        assert_eq!(run(usize::MAX, || Ok(7)).unwrap(), 7);
        let error = run(0, || -> Result<()> { candle_core::bail!("no") });
        assert!(error.unwrap_err().to_string().contains("no"));
    }

    #[test]
    fn a_panic_reaches_the_caller() {
        let caught = std::panic::catch_unwind(|| run(0, || -> Result<()> { panic!("here") }));
        assert!(caught.is_err());
        assert_eq!(run(0, || Ok(1)).unwrap(), 1, "and the pool goes on");
    }
}
