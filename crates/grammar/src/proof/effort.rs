//! The work that a proof may take: for example, so much as a compilation waits for.

use std::cell::Cell;

use fsm_index::ByteSet;

use crate::compile::cfg::Cfg;
use crate::compile::lexer::Lexer;

/// The states in sets, or tests of lexemes behind others, that take as long as one set of states: some five microseconds.
pub(super) const STATES_OF_A_SET: usize = 50;

/// The grammar of which something is to be proved, with as much work as that may take.
#[derive(Clone, Copy)]
pub(super) struct Task<'a> {
    pub(super) cfg: &'a Cfg,
    pub(super) lexer: &'a Lexer,
    /// The bytes that a way to the end may take.
    pub(super) usable: ByteSet,
    pub(super) effort: &'a Effort,
}

/// Work that is left, in sets of states that are found, or met where lexemes are read.
pub(crate) struct Effort {
    left: Cell<usize>,
    is_over: Cell<bool>,
}

impl Effort {
    pub(crate) fn new(most: usize) -> Effort {
        Effort {
            left: Cell::new(most),
            is_over: Cell::new(false),
        }
    }

    /// Returns one that bounds nothing.
    pub(crate) fn endless() -> Effort {
        Effort::new(usize::MAX)
    }

    /// Returns the work that is left.
    pub(super) fn left(&self) -> usize {
        self.left.get()
    }

    /// Returns as much as there is.
    pub(super) fn another(&self) -> Effort {
        Effort::new(self.left.get())
    }

    /// Ends it, because it was not enough for something.
    pub(super) fn end(&self) {
        self.is_over.set(true);
    }

    /// Takes some of it. `None` if less is left: then it is over.
    #[must_use]
    pub(super) fn take(&self, work: usize) -> Option<()> {
        match self.left.get().checked_sub(work) {
            Some(left) if !self.is_over.get() => self.left.set(left),
            _ => self.is_over.set(true),
        }
        (!self.is_over.get()).then_some(())
    }

    /// Is over if less is left than will be needed at least, so that none is spent in vain.
    #[must_use]
    pub(super) fn need(&self, work: usize) -> Option<()> {
        if self.left.get() < work {
            self.end();
        }
        (!self.is_over.get()).then_some(())
    }

    /// Tells whether more was needed than there was.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.get()
    }
}
