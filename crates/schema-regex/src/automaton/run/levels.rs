//! The arrays and objects that are open in a state: shared between states, because a token
//! leaves most of them as they are.
//!
//! For example, behind `[[1,` a token `2` leaves both arrays as they are, so that the states before
//! and behind it share them.

use std::fmt;
use std::sync::Arc;

use crate::automaton::run::config::{EMPTY_LIST, FIXED_LISTS, Frame};
use crate::automaton::run::scratch::{Noted, Scratch};
use crate::automaton::run::seen::Seen;
use crate::automaton::run::sorted::TextSet;

/// Open arrays and objects, the innermost first.
#[derive(Clone, Default)]
pub(super) struct Levels(Option<Arc<OpenLevel>>);

pub(super) struct OpenLevel {
    /// The fixed lists that it refers to are there; others, and what was seen, are kept.
    pub(super) frame: Frame,
    kept: Option<Box<KeptLevel>>,
    /// Its number, from 1 on.
    pub(super) depth: u32,
    below: Levels,
}

/// The lists of a frame that have another number in each scratch.
struct KeptLevel {
    threads: Option<Arc<[u32]>>,
    used: Option<Arc<[u32]>>,
    seen: Seen,
}

impl Levels {
    pub(super) fn iter(&self) -> impl Iterator<Item = &OpenLevel> {
        std::iter::successors(self.0.as_deref(), |level| level.below.0.as_deref())
    }

    pub(super) fn depth(&self) -> u32 {
        self.0.as_ref().map_or(0, |level| level.depth)
    }

    /// The levels of a stack: those of another stack, which these are, as far as they are
    /// the same.
    pub(super) fn of_stack(&self, here: u32, stack: u32, x: &mut Scratch) -> Levels {
        let mut shared = self;
        let (mut here, mut at) = (here, stack);
        let mut path = x.take_path();
        while at != here {
            let (known, wanted) = (
                x.peek(Noted::beside_masks(here)),
                x.peek(Noted::beside_masks(at)),
            );
            if known.depth >= wanted.depth {
                here = known.below;
                shared = shared.0.as_ref().map_or(shared, |level| &level.below);
            }
            if wanted.depth >= known.depth {
                path.push(at);
                at = wanted.below;
            }
        }
        let mut levels = shared.clone();
        for stack in path.iter().rev() {
            levels = levels.with(x.peek(Noted::beside_masks(*stack)).frame, x);
        }
        x.put_path(path);
        levels
    }

    fn with(self, mut frame: Frame, x: &Scratch) -> Levels {
        let mut kept = None;
        if frame.threads >= FIXED_LISTS || frame.used >= FIXED_LISTS || frame.seen != 0 {
            let list = |id: u32| (id >= FIXED_LISTS).then(|| x.list(id));
            kept = Some(Box::new(KeptLevel {
                threads: list(frame.threads),
                used: list(frame.used),
                seen: x.seen(frame.seen).clone(),
            }));
            let fixed = |id: u32| if id < FIXED_LISTS { id } else { EMPTY_LIST };
            frame.threads = fixed(frame.threads);
            frame.used = fixed(frame.used);
            frame.seen = 0;
        }
        Levels(Some(Arc::new(OpenLevel {
            frame,
            kept,
            depth: self.depth() + 1,
            below: self,
        })))
    }

    /// The stack in a scratch.
    pub(super) fn stack(&self, x: &mut Scratch) -> u32 {
        let levels: Vec<&OpenLevel> = self.iter().collect();
        let frames = levels.into_iter().rev();
        frames.fold(0, |below, level| {
            let mut frame = level.frame;
            if let Some(kept) = &level.kept {
                if let Some(threads) = &kept.threads {
                    frame.threads = x.add_list(threads);
                }
                if let Some(used) = &kept.used {
                    frame.used = x.add_list(used);
                }
                frame.seen = x.add_seen(kept.seen.clone());
            }
            x.push(frame, below)
        })
    }
}

impl OpenLevel {
    /// The further names, or the items that must differ.
    pub(super) fn seen(&self) -> Option<&TextSet> {
        self.kept.as_ref().map(|kept| &kept.seen.list)
    }
}

impl fmt::Debug for Levels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let frames = self.iter().map(|level| &level.frame);
        f.debug_list().entries(frames).finish()
    }
}

impl Drop for Levels {
    /// One after another: deep nesting must not nest a drop in each drop.
    fn drop(&mut self) {
        let mut next = self.0.take();
        while let Some(mut level) = next.and_then(Arc::into_inner) {
            next = level.below.0.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use fsm_index::ByteAutomaton;
    use serde_json::json;

    use crate::Options;
    use crate::automaton::SchemaAutomaton;

    #[test]
    fn deep_nesting_is_opened_closed_and_dropped() {
        let options = Options::default().with_max_nesting(40_000);
        let automaton = SchemaAutomaton::new(&json!({}), &options).unwrap();
        let depth = 30_000;
        let mut x = automaton.scratch();
        let mut state = automaton.start();
        automaton
            .advance(&mut state, &vec![b'['; depth], &mut x)
            .unwrap();
        assert_eq!(state.depth(), depth);
        let open = state.clone();
        automaton
            .advance(&mut state, &vec![b']'; depth], &mut x)
            .unwrap();
        assert!(automaton.is_accepting(&state) && state.depth() == 0);
        // In a scratch that does not know it.
        let mut other = automaton.scratch();
        let mut again = open.clone();
        automaton.advance(&mut again, b"]]", &mut other).unwrap();
        assert_eq!(again.depth(), depth - 2);
        drop((open, again));
    }
}
