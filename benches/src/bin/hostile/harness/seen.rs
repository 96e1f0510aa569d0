//! The observations of one input's run. For example, a compile that took 1.2 s is seen as a call of
//! 1.2 s, which is over its bound.

use std::fmt::Display;

use serde::{Deserialize, Serialize};

use crate::harness::bounds;

/// The report of a process about its input.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(crate) struct Seen {
    /// The outcome: built, or refused and why.
    pub(crate) outcome: String,
    /// The longest call and the longest mask, in seconds.
    pub(crate) call: f64,
    pub(crate) mask: f64,
    /// The faults that count whatever the input cost.
    pub(crate) wrong: Vec<String>,
    /// The most memory that it took, in bytes.
    pub(crate) memory: u64,
    #[serde(skip)]
    base: u64,
}

impl Seen {
    /// Measures a call, whose error is a right answer.
    pub(crate) fn call<T, E: Display>(&mut self, run: impl FnOnce() -> Result<T, E>) -> Option<T> {
        if self.base == 0 {
            self.begin();
        }
        match self.timed(run) {
            Ok(done) => {
                self.outcome = "done".to_owned();
                Some(done)
            }
            Err(error) => {
                let message = error.to_string();
                if message.len() > bounds::MESSAGE {
                    self.wrong(format!("a message of {} bytes", message.len()));
                }
                self.outcome = format!("refused: {}", message.replace('\n', " "));
                None
            }
        }
    }

    /// Measures a mask.
    pub(crate) fn mask<T>(&mut self, run: impl FnOnce() -> T) -> T {
        let before = processor_seconds();
        let done = run();
        self.mask = self.mask.max(processor_seconds() - before);
        done
    }

    /// Runs what may cost as much as a call, whatever comes of it: a completion.
    pub(crate) fn timed<T>(&mut self, run: impl FnOnce() -> T) -> T {
        let before = processor_seconds();
        let done = run();
        self.call = self.call.max(processor_seconds() - before);
        done
    }

    /// Notes what must not be.
    pub(crate) fn wrong(&mut self, what: impl Into<String>) {
        self.wrong.push(what.into());
    }

    /// Memory counts from now on.
    pub(crate) fn begin(&mut self) {
        // The peak starts anew where the system lets it.
        let _ = std::fs::write("/proc/self/clear_refs", "5");
        self.base = status("VmRSS:").max(1);
    }

    /// Notes the most memory so far.
    pub(crate) fn end(&mut self) {
        self.memory = status("VmHWM:").saturating_sub(self.base);
    }

    /// Returns the bound that the input is over, if there is one.
    pub(crate) fn over(&self) -> Option<String> {
        if let Some(wrong) = self.wrong.first() {
            return Some(format!("{wrong} ({})", self.outcome));
        }
        if self.call > bounds::CALL {
            return Some(format!("a call of {:.2} s ({})", self.call, self.outcome));
        }
        if self.mask > bounds::MASK {
            return Some(format!(
                "a mask of {:.0} ms ({})",
                self.mask * 1e3,
                self.outcome
            ));
        }
        let memory = self.memory > bounds::MEMORY;
        memory.then(|| format!("{} MiB ({})", self.memory >> 20, self.outcome))
    }
}

/// A line of what the system says of this process, in bytes.
fn status(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

/// The seconds that this thread has been on a processor: other processes do not count.
fn processor_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
