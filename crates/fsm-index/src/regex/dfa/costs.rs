//! What a compile costs, counted where the cost arises.

use super::Config;
use crate::Error;

/// What a character of a pattern takes at most in its syntax tree, in bytes. Measured.
const PATTERN_BYTE: usize = 130;

/// Steps for reading a character of a pattern.
const PATTERN_STEPS: usize = 10;

/// The time and memory that a compile has taken, held against its configuration.
///
/// Time is counted in steps that take some nanoseconds each, twenty where memory is far
/// away. Memory is what lies side by side at one time: what goes is given back.
pub(crate) struct Costs<'c> {
    pub(crate) config: &'c Config,
    work: usize,
    bytes: usize,
}

impl<'c> Costs<'c> {
    pub(crate) fn new(config: &'c Config) -> Costs<'c> {
        Costs {
            config,
            work: 0,
            bytes: 0,
        }
    }

    /// Takes `steps` of time.
    ///
    /// # Errors
    ///
    /// That is more than `max_work`.
    #[inline]
    pub(crate) fn work(&mut self, steps: usize) -> Result<(), Error> {
        self.work = self.work.saturating_add(steps);
        match self.work > self.config.max_work {
            true => Err(Error::limit("max_work", "steps", self.config.max_work)),
            false => Ok(()),
        }
    }

    /// Takes memory, before it is allocated.
    ///
    /// # Errors
    ///
    /// With what is held, that is more than `max_table_bytes`.
    #[inline]
    pub(crate) fn hold(&mut self, bytes: usize) -> Result<(), Error> {
        self.bytes = self.bytes.saturating_add(bytes);
        match self.bytes > self.config.max_table_bytes {
            true => Err(Error::limit(
                "max_table_bytes",
                "bytes",
                self.config.max_table_bytes,
            )),
            false => Ok(()),
        }
    }

    /// Gives all memory back but so many bytes.
    pub(crate) fn keep(&mut self, bytes: usize) {
        self.bytes = bytes;
    }

    /// Takes what reading a pattern of so many bytes costs.
    ///
    /// # Errors
    ///
    /// That is more than a limit.
    pub(crate) fn pattern(&mut self, bytes: usize) -> Result<(), Error> {
        self.work(bytes.saturating_mul(PATTERN_STEPS))?;
        self.hold(bytes.saturating_mul(PATTERN_BYTE))
    }
}
