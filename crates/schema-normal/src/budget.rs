//! The budget of one compilation: steps, which are charged at the place at which the work arises.
//!
//! For example, the automaton of a `pattern` takes steps for its states, and the error about spent
//! steps names the pattern's place.

use std::cell::Cell;
use std::rc::Rc;

use fsm_tables::Meter;

/// The automaton or the expression would pass its budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooBig;

/// The number of units of work in one step, because the least work is smaller than the step of an
/// option. A unit is about what looking up a number in a table takes; a step, at the default of
/// `Options::max_steps`, about a microsecond.
pub const STEP: usize = 32;

/// The work that is left of [`crate::options::Options::max_steps`]. Clones share it.
#[derive(Clone, Debug)]
pub struct Budget {
    left: Rc<Cell<usize>>,
    spent: Rc<Cell<bool>>,
}

impl Budget {
    /// Returns a budget of so many steps.
    pub(crate) fn new(steps: usize) -> Budget {
        Budget {
            left: Rc::new(Cell::new(steps.saturating_mul(STEP))),
            spent: Rc::new(Cell::new(false)),
        }
    }

    /// Takes units of work; `false` where fewer are left.
    pub(crate) fn take(&self, work: usize) -> bool {
        match self.left.get().checked_sub(work) {
            Some(left) => {
                self.left.set(left);
                true
            }
            None => {
                self.left.set(0);
                self.spent.set(true);
                false
            }
        }
    }

    /// Attempts something whose work is not charged where it comes to nothing.
    pub(crate) fn attempt<T>(&self, work: impl FnOnce() -> Option<T>) -> Option<T> {
        let left = self.left.get();
        let done = work();
        if done.is_none() {
            self.left.set(left);
            self.spent.set(false);
        }
        done
    }

    /// Tells whether more was asked for than there was.
    pub fn is_spent(&self) -> bool {
        self.spent.get()
    }
}

/// The number of states that an automaton may have, and the work that making it may take.
#[derive(Clone, Copy, Debug)]
pub struct Limit<'b> {
    /// The most states.
    pub states: usize,
    budget: Option<&'b Budget>,
}

impl From<usize> for Limit<'_> {
    /// A number of states alone: for what is no part of a compilation.
    fn from(states: usize) -> Self {
        Limit {
            states,
            budget: None,
        }
    }
}

impl<'b> Limit<'b> {
    /// Returns a number of states beside the work that a compilation has left.
    pub fn new(states: usize, budget: &'b Budget) -> Limit<'b> {
        Limit {
            states,
            budget: Some(budget),
        }
    }

    /// So many times the states; the work is the same.
    pub fn times(self, n: usize) -> Limit<'b> {
        Limit {
            states: self.states.saturating_mul(n),
            ..self
        }
    }

    /// Charges units of work.
    pub fn charge(&self, units: usize) -> Result<(), TooBig> {
        match self.budget {
            Some(budget) if !budget.take(units) => Err(TooBig),
            _ => Ok(()),
        }
    }
}

/// The number of steps of the kit of automata in a unit of work here, because they are visits
/// beside each other.
const VISITS: usize = 4;

/// An automaton before its determinisation may have so many times the states, because most of them
/// become one in the result.
const NFA_STATES: usize = 10;

impl Meter for Limit<'_> {
    type Error = TooBig;

    fn work(&mut self, steps: usize) -> Result<(), TooBig> {
        self.charge(steps.div_ceil(VISITS))
    }

    fn nfa_states(&mut self, states: usize) -> Result<(), TooBig> {
        self.times(NFA_STATES).states(states)
    }

    fn states(&mut self, states: usize) -> Result<(), TooBig> {
        match states > self.states.max(1) {
            true => Err(TooBig),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::budget::{Budget, Limit, STEP};

    #[test]
    fn clones_and_limits_share_what_is_left() {
        let budget = Budget::new(2);
        let other = budget.clone();
        let limit = Limit::new(5, &budget).times(3);
        assert_eq!(limit.states, 15);
        assert!(other.take(STEP) && limit.charge(STEP).is_ok());
        assert!(!budget.is_spent());
        assert!(limit.charge(1).is_err());
        assert!(budget.is_spent() && other.is_spent());
        assert!(Limit::from(5).charge(usize::MAX).is_ok());
    }
}
