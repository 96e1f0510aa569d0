//! Masks that are computed while the model reads.
//!
//! Once a token is chosen and the constraint has taken it, the next mask depends
//! on nothing that the model will say. The constraint is lent to a thread of
//! its own for the forward pass, which asks it for the mask, and comes back with
//! the mask remembered. The thread begins with the first mask that is not at
//! hand and ends with the text.
//!
//! For example, a mask of 3 ms beside a forward pass of 20 ms adds next to nothing to a step.

use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use crate::constraint::Constraint;

/// A constraint that goes back and forth.
type Lent<'c> = &'c mut (dyn Constraint + 'c);

/// A thread that computes masks beside the model.
pub(super) struct Overlap<'scope, 'env, 'c> {
    scope: &'scope Scope<'scope, 'env>,
    helper: Helper<'scope, 'c>,
    /// Time that the loop waited for a mask after the model was done.
    waited: Duration,
}

enum Helper<'scope, 'c> {
    /// No mask was missing yet.
    Unneeded,
    Running {
        lend: Sender<Lent<'c>>,
        back: Receiver<Lent<'c>>,
        thread: ScopedJoinHandle<'scope, ()>,
    },
    /// The system gives no thread.
    Unavailable,
}

impl<'scope, 'env, 'c: 'scope> Overlap<'scope, 'env, 'c> {
    pub(super) fn new(scope: &'scope Scope<'scope, 'env>) -> Self {
        Overlap {
            scope,
            helper: Helper::Unneeded,
            waited: Duration::ZERO,
        }
    }

    /// Runs the model, and has the mask of the constraint computed meanwhile if
    /// it is not at hand.
    ///
    /// An error of the mask is told to the caller that asks for it next. A panic of the constraint
    /// goes on in this thread.
    pub(super) fn during<T>(
        &mut self,
        constraint: &mut Option<Lent<'c>>,
        model: impl FnOnce() -> T,
    ) -> T {
        let Some(missing) = constraint.take_if(|constraint| !constraint.is_mask_known()) else {
            return model();
        };
        match self.lend(missing) {
            None => self.until_back(constraint, model),
            kept => {
                *constraint = kept;
                model()
            }
        }
    }

    /// Lends the constraint; it is given back where there is nobody to lend it
    /// to.
    fn lend(&mut self, constraint: Lent<'c>) -> Option<Lent<'c>> {
        if let Helper::Unneeded = self.helper {
            self.helper = Helper::start(self.scope);
        }
        match &self.helper {
            Helper::Running { lend, .. } => lend.send(constraint).err().map(|error| error.0),
            _ => Some(constraint),
        }
    }

    /// Runs the model and takes the constraint back.
    fn until_back<T>(&mut self, constraint: &mut Option<Lent<'c>>, model: impl FnOnce() -> T) -> T {
        let result = model();
        let began = Instant::now();
        if let Helper::Running { back, .. } = &self.helper {
            *constraint = back.recv().ok();
        }
        if constraint.is_none()
            && let Helper::Running { thread, .. } =
                std::mem::replace(&mut self.helper, Helper::Unavailable)
            && let Err(panic) = thread.join()
        {
            // It was lent and is not given back: its mask has panicked.
            resume_unwind(panic);
        }
        self.waited += began.elapsed();
        result
    }

    /// The time waited since this was asked last.
    pub(super) fn take_waited(&mut self) -> Duration {
        std::mem::take(&mut self.waited)
    }
}

impl<'scope, 'c: 'scope> Helper<'scope, 'c> {
    fn start(scope: &'scope Scope<'scope, '_>) -> Self {
        let (lend, lent) = channel::<Lent<'c>>();
        let (give, back) = channel();
        let masks = move || {
            for constraint in lent {
                // An error comes again when the loop asks.
                let _ = constraint.mask();
                if give.send(constraint).is_err() {
                    return;
                }
            }
        };
        match Builder::new().spawn_scoped(scope, masks) {
            Ok(thread) => Helper::Running { lend, back, thread },
            Err(_) => Helper::Unavailable,
        }
    }
}
