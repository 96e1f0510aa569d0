//! The costs of a compile, counted at the place at which they arise. For example, `a{1000}` is
//! charged for a thousand states before they are made.

use fsm_tables::Meter;

use super::Config;
use crate::Error;

/// The bytes that a character of a pattern takes at most, because the syntax tree has a node for
/// each. Measured.
const PATTERN_BYTE: usize = 130;

/// The steps for reading a character of a pattern: some, because it is parsed into two trees.
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

impl Costs<'_> {
    /// Takes what reading the same pattern once more costs: what it took before is free.
    ///
    /// # Errors
    ///
    /// That is more than a limit.
    pub(crate) fn pattern_again(&mut self, bytes: usize) -> Result<(), Error> {
        self.work(bytes.saturating_mul(PATTERN_STEPS))
    }
}

impl Meter for Costs<'_> {
    type Error = Error;

    /// That is more than `max_work`.
    #[inline]
    fn work(&mut self, steps: usize) -> Result<(), Error> {
        self.work = self.work.saturating_add(steps);
        match self.work > self.config.max_work {
            true => Err(Error::limit("max_work", "steps", self.config.max_work)),
            false => Ok(()),
        }
    }

    /// With what is held, that is more than `max_table_bytes`.
    #[inline]
    fn hold(&mut self, bytes: usize) -> Result<(), Error> {
        self.bytes = self.bytes.saturating_add(bytes);
        let most = self.config.max_table_bytes;
        match self.bytes > most {
            true => Err(Error::limit("max_table_bytes", "bytes", most)),
            false => Ok(()),
        }
    }

    #[inline]
    fn nfa_states(&mut self, states: usize) -> Result<(), Error> {
        let most = self.config.max_nfa_states;
        match states > most {
            true => Err(Error::limit("max_nfa_states", "states", most)),
            false => Ok(()),
        }
    }

    fn states(&mut self, states: usize) -> Result<(), Error> {
        let most = self.config.max_states;
        match states > most {
            true => Err(Error::limit("max_states", "states", most)),
            false => Ok(()),
        }
    }
}
