//! What an input may cost.

use std::time::Duration;

/// A process may take so long as a whole, walks and checks included. Wall clock.
pub(crate) const WALL: Duration = Duration::from_secs(30);

/// A process may have so much address space, in bytes. A vocabulary is part of it.
pub(crate) const ADDRESS_SPACE: u64 = 2 << 30;

/// One call (a compile, a rendering, a file read, a response parsed) may take so many
/// seconds on a processor.
pub(crate) const CALL: f64 = 1.0;

/// One mask may take so many seconds on a processor.
pub(crate) const MASK: f64 = 0.05;

/// An input may take so much memory beyond what the process had before it, in bytes.
pub(crate) const MEMORY: u64 = 256 << 20;

/// The longest message of an error, in bytes.
pub(crate) const MESSAGE: usize = 8_192;

/// The bounds, for people.
pub(crate) const DESCRIPTION: &str = "bounds: a call 1 s, a mask 50 ms (time on a processor), \
     256 MiB beyond what was there before, messages of 8 KiB; a process 30 s and 2 GiB of \
     address space";
