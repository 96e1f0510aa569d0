//! The budget of computing masks, and the way to call it off. For example,
//! `Budget::time(Duration::from_millis(1))` ends a mask that takes longer by an error.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::{Error, ErrorKind};

/// The budget of one computation: a mask, or a whole index.
///
/// Asked at each subtree of the vocabulary's trie that one first byte begins, and every 1,024
/// nodes: it is exceeded by no more than so many. The clock is looked at once for those times that
/// are less than 32 nodes apart.
///
/// ```
/// use std::sync::Arc;
///
/// use fsm_index::{Budget, ErrorKind, Guide, Index, IndexConfig, TokenId, Vocabulary};
///
/// # let tokens = ["a", "b", "ab"];
/// # let tokens = tokens.iter().zip(0..).map(|(s, id)| (s.as_bytes(), TokenId::new(id)));
/// # let vocabulary = Vocabulary::new(tokens, [TokenId::new(3)])?;
/// let config = IndexConfig { fill: fsm_index::Fill::Lazy, ..IndexConfig::default() };
/// let index = Index::with_config("[ab]{3}", &vocabulary, &Default::default(), &config)?;
/// let mut guide = Guide::new(Arc::new(index));
/// let error = guide.mask_within(&Budget::steps(0)).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::LimitExceeded);
/// assert_eq!(guide.mask_within(&Budget::steps(1_000))?.count(), 3);
/// # Ok::<(), fsm_index::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Budget {
    /// Nodes of the vocabulary's trie that may be visited. Default: any number.
    pub max_steps: Option<u64>,
    /// The longest time that it may take, from the first node on. Default: any time.
    pub max_time: Option<Duration>,
    /// Calls the computation off as soon as another thread sets it. Default:
    /// nothing does.
    pub cancel: Option<Arc<AtomicBool>>,
}

impl Budget {
    /// A budget of so many nodes.
    pub fn steps(max_steps: u64) -> Budget {
        Budget {
            max_steps: Some(max_steps),
            ..Budget::default()
        }
    }

    /// A budget of so much time.
    pub fn time(max_time: Duration) -> Budget {
        Budget {
            max_time: Some(max_time),
            ..Budget::default()
        }
    }

    /// Tells whether there is nothing to be watched.
    pub(crate) fn is_unlimited(&self) -> bool {
        self.max_steps.is_none() && self.max_time.is_none() && self.cancel.is_none()
    }
}

/// A walk asks whether to go on whenever it has visited so many nodes.
pub(crate) const ASK_EVERY: u64 = 1_024;

/// Nobody looks at the clock before so many nodes more: it takes as long as some of them.
const LOOK_EVERY: u64 = 32;

/// Watches over a [`Budget`].
#[derive(Debug, Default)]
pub(crate) struct Meter {
    budget: Budget,
    spent: u64,
    /// When it was asked first.
    began: Option<Instant>,
    /// At so many nodes the clock is looked at again.
    look_at: u64,
    stop: Option<Stop>,
}

#[derive(Clone, Copy, Debug)]
enum Stop {
    Steps,
    Time,
    Cancelled,
}

impl Meter {
    pub(crate) fn new(budget: &Budget) -> Meter {
        Meter {
            budget: budget.clone(),
            ..Meter::default()
        }
    }

    /// Tells whether to go on, in a walk that has visited so many nodes.
    #[inline]
    pub(crate) fn go_on(&mut self, visited: u64) -> bool {
        self.budget.is_unlimited() || self.is_within(visited)
    }

    /// Kept out of the loops that ask.
    #[cold]
    #[inline(never)]
    fn is_within(&mut self, visited: u64) -> bool {
        if self.stop.is_some() {
            return false;
        }
        if self
            .budget
            .max_steps
            .is_some_and(|max| self.spent + visited > max)
        {
            self.stop = Some(Stop::Steps);
        }
        let nodes = self.spent + visited;
        if let Some(max) = self.budget.max_time
            && nodes >= self.look_at
        {
            self.look_at = nodes + LOOK_EVERY;
            if self.began.get_or_insert_with(Instant::now).elapsed() > max {
                self.stop = Some(Stop::Time);
            }
        }
        let cancel = self.budget.cancel.as_ref();
        if cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
            self.stop = Some(Stop::Cancelled);
        }
        self.stop.is_none()
    }

    /// Notes the nodes of a walk that has ended; an error if it was, or now is
    /// to be, stopped.
    pub(crate) fn walked(&mut self, visited: u64) -> Result<(), Error> {
        self.spent += visited;
        let _ = self.go_on(0);
        let Some(stop) = self.stop else {
            return Ok(());
        };
        Err(match stop {
            Stop::Steps => Error::new(
                ErrorKind::LimitExceeded,
                format!(
                    "limit `max_steps` of {} nodes exceeded; raise it, or let the masks be \
                     computed where more time is left",
                    self.budget.max_steps.unwrap_or_default()
                ),
            ),
            Stop::Time => Error::new(
                ErrorKind::LimitExceeded,
                format!(
                    "limit `max_time` of {:?} exceeded; raise it, or let the masks be computed \
                     where more time is left",
                    self.budget.max_time.unwrap_or_default()
                ),
            ),
            Stop::Cancelled => Error::new(
                ErrorKind::Cancelled,
                "the computation was called off; the guide is unchanged and may ask again",
            ),
        })
    }
}
