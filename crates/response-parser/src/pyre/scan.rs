//! Looking for a pattern in a text that arrives piece by piece. For example, of `</think>` the text
//! `.. </th` has the beginning: the match may start there, and further text will tell.

use super::backtrack::{Memory, Partial};
use super::threads::{Scanned, State};
use super::{Exhausted, Pattern};

/// The knowledge about the leftmost match from some place on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// It is this, whatever follows.
    Settled {
        /// The start of the match.
        start: usize,
        /// The end of the match.
        end: usize,
    },
    /// It may start here, or later; further text will tell.
    Open {
        /// The earliest place.
        start: usize,
    },
    /// There is none in the text so far.
    Nothing,
}

/// One search that goes on as the text grows.
#[derive(Debug, Default)]
pub(crate) struct Scanner {
    threads: State,
    memory: Memory,
    /// The backtracking machine knows that no match starts before this place.
    clear: usize,
    /// It looks again when the text is that long.
    wake: usize,
    settled: Option<(usize, usize)>,
}

/// An open match longer than this is looked at again only when the text has grown by an
/// eighth of it, so that the backtracking machine's work stays linear in the text.
const PATIENCE: usize = 512;

impl Pattern {
    /// Looks for the leftmost match from `from` on, in a text that may go on.
    ///
    /// `from` never falls between calls with the same scanner, and the text only grows. The
    /// sum of all calls is linear in the text if the pattern runs on the linear machine and
    /// few matches overlap; every step is taken from `steps`.
    pub(crate) fn scan(
        &self,
        scanner: &mut Scanner,
        text: &str,
        from: usize,
        steps: &mut u64,
    ) -> Result<Found, Exhausted> {
        if let Some((start, end)) = scanner.settled {
            if start >= from {
                return Ok(Found::Settled { start, end });
            }
            scanner.settled = None;
            scanner.threads.restart(from);
        }
        let found = match self.threads() {
            Some(threads) => {
                let state = &mut scanner.threads;
                if state.earliest().is_some_and(|start| start < from) || state.at() < from {
                    state.restart(from);
                }
                match threads.scan(text, state, steps) {
                    Scanned::Match(start, end) => Found::Settled { start, end },
                    Scanned::Open(start) => Found::Open { start },
                    Scanned::None => Found::Nothing,
                }
            }
            None => {
                if scanner.clear < from {
                    scanner.clear = from;
                    scanner.wake = 0;
                }
                if text.len() < scanner.wake {
                    return Ok(Found::Open {
                        start: scanner.clear,
                    });
                }
                let program = self.program();
                match program.search_partial(text, scanner.clear, &mut scanner.memory, steps)? {
                    Partial::Match(start, end) => Found::Settled { start, end },
                    Partial::Open(start) => {
                        scanner.clear = start;
                        let open = text.len() - start;
                        scanner.wake = text.len() + if open < PATIENCE { 1 } else { open / 8 };
                        Found::Open { start }
                    }
                    Partial::None => {
                        scanner.clear = text.len();
                        scanner.wake = 0;
                        Found::Nothing
                    }
                }
            }
        };
        if *steps == 0 {
            return Err(Exhausted::Steps);
        }
        if let Found::Settled { start, end } = found {
            scanner.settled = Some((start, end));
        }
        Ok(found)
    }
}
