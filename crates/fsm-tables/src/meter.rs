//! Limits of constructions. For example, a meter that allows 1,000 steps ends a determinization
//! that would take 2^30 states.

use std::convert::Infallible;

/// A meter counts the cost of a construction, and ends it if that is too much.
///
/// All algorithms here ask it before they spend. A step is some nanoseconds: a state that
/// is visited, a cell that is written.
///
/// ```
/// use fsm_tables::{Builder, Meter, Symbols};
///
/// struct AtMost(usize);
///
/// impl Meter for AtMost {
///     type Error = &'static str;
///
///     fn work(&mut self, steps: usize) -> Result<(), &'static str> {
///         self.0 = self.0.checked_sub(steps).ok_or("too much work")?;
///         Ok(())
///     }
/// }
///
/// let mut meter = AtMost(2);
/// let mut builder = Builder::new(&mut meter);
/// let error = (0..9).try_fold(0, |next, _| builder.symbol(vec![(97, 97)], next));
/// assert_eq!(error, Err("too much work"));
/// ```
pub trait Meter {
    /// The error if a limit is passed.
    type Error;

    /// Takes time.
    ///
    /// # Errors
    ///
    /// There is no more.
    fn work(&mut self, steps: usize) -> Result<(), Self::Error>;

    /// Takes memory, before it is allocated.
    ///
    /// # Errors
    ///
    /// There is no more.
    fn hold(&mut self, bytes: usize) -> Result<(), Self::Error> {
        let _ = bytes;
        Ok(())
    }

    /// Tells whether a nondeterministic automaton may have so many states.
    ///
    /// # Errors
    ///
    /// It may not.
    fn nfa_states(&mut self, states: usize) -> Result<(), Self::Error> {
        let _ = states;
        Ok(())
    }

    /// Tells whether a table may have so many states.
    ///
    /// # Errors
    ///
    /// It may not.
    fn states(&mut self, states: usize) -> Result<(), Self::Error> {
        let _ = states;
        Ok(())
    }
}

/// A meter without limits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unlimited;

impl Meter for Unlimited {
    type Error = Infallible;

    fn work(&mut self, _: usize) -> Result<(), Infallible> {
        Ok(())
    }
}
