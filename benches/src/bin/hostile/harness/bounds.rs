//! The bounds on an input's cost. For example, a mask that takes 60 ms on a processor is over
//! [`MASK`].

use std::time::Duration;

/// A process may take so long as a whole, walks and checks included. Wall clock.
pub(crate) const WALL: Duration = Duration::from_secs(30);

/// The address space of a process, in bytes. It is more than [`MEMORY`] because a vocabulary and
/// the program itself are part of it.
pub(crate) const ADDRESS_SPACE: u64 = 2 << 30;

/// The seconds on a processor that one call (a compile, a rendering, a file read, a response
/// parsed) may take: a second, because a server's thread is held so long.
pub(crate) const CALL: f64 = 1.0;

/// The seconds on a processor that one mask may take: 50 ms, because each token waits for one.
pub(crate) const MASK: f64 = 0.05;

/// The memory that an input may take beyond what the process had before it, in bytes: a quarter of
/// a GiB, so that several bad inputs at once do not end a server.
pub(crate) const MEMORY: u64 = 256 << 20;

/// The longest message of an error, in bytes: people read it, and logs keep it, so that an input
/// must not be repeated whole.
pub(crate) const MESSAGE: usize = 8_192;

/// The bounds, for people. The figures stand here a second time because constants cannot be
/// formatted.
pub(crate) const DESCRIPTION: &str = "bounds: a call 1 s, a mask 50 ms (time on a processor), \
     256 MiB beyond what was there before, messages of 8 KiB; a process 30 s and 2 GiB of \
     address space";
