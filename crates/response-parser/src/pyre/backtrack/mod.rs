//! A backtracking machine with the semantics of CPython's: everything that an automaton
//! cannot say, and a budget so that no pattern and no text keep it busy for ever.
//!
//! The machine is the classic one of Thompson-style instructions run depth first (Cox,
//! "Regular Expression Matching: the Virtual Machine Approach", 2009) with an explicit stack
//! that holds both the choices left and what to undo on the way back to them. Sets repeated
//! without a group are one instruction and one stack entry, however long the run.
//!
//! For example, `(a)\1` matches `aa`, and `(?=a)` looks at an `a` without taking it.

mod anchors;
mod attempt;
mod compile;
mod program;

use attempt::Attempt;
use program::NONE;

pub(crate) use attempt::Exhausted;

pub(super) use anchors::depends_on_end;
pub(super) use attempt::Memory;
pub(super) use compile::first_set;
pub(super) use program::Program;

/// The result of a search in an unfinished text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Partial {
    /// A match from here to there that no further text can change.
    Match(usize, usize),
    /// It depends on further text; a match starts here or later.
    Open(usize),
    /// No match in this text.
    None,
}

impl Program {
    /// The leftmost match that starts at `from` or later; its groups go to `slots`.
    ///
    /// With `advance` an empty match at `from` itself does not count. Every step is taken
    /// from `steps`.
    pub(super) fn search(
        &self,
        text: &str,
        from: usize,
        advance: bool,
        memory: &mut Memory,
        steps: &mut u64,
        slots: &mut Vec<Option<(usize, usize)>>,
    ) -> Result<bool, Exhausted> {
        let mut start = from;
        let barred = if advance { from as u32 } else { NONE };
        while let Some(place) = self.candidate(text, start, steps)? {
            if Attempt::new(self, text, memory, steps).run(place as u32, barred)? {
                memory.groups(slots);
                return Ok(true);
            }
            let Some(c) = text[place..].chars().next() else {
                return Ok(false);
            };
            start = place + c.len_utf8();
        }
        Ok(false)
    }

    /// The match that starts at `from` exactly; its groups go to `slots`.
    pub(super) fn match_at(
        &self,
        text: &str,
        from: usize,
        memory: &mut Memory,
        steps: &mut u64,
        slots: &mut Vec<Option<(usize, usize)>>,
    ) -> Result<bool, Exhausted> {
        if text.len() >= NONE as usize {
            return Err(Exhausted::Text);
        }
        let matched = Attempt::new(self, text, memory, steps).run(from as u32, NONE)?;
        if matched {
            memory.groups(slots);
        }
        Ok(matched)
    }

    /// The leftmost match that starts at `from` or later, in a text of which more may come.
    pub(super) fn search_partial(
        &self,
        text: &str,
        from: usize,
        memory: &mut Memory,
        steps: &mut u64,
    ) -> Result<Partial, Exhausted> {
        let mut start = from;
        while let Some(place) = self.candidate(text, start, steps)? {
            let matched = Attempt::new(self, text, memory, steps).run(place as u32, NONE)?;
            if memory.touched {
                return Ok(Partial::Open(place));
            }
            if matched {
                return Ok(Partial::Match(
                    memory.slots[0] as usize,
                    memory.slots[1] as usize,
                ));
            }
            let Some(c) = text[place..].chars().next() else {
                break;
            };
            start = place + c.len_utf8();
        }
        Ok(Partial::None)
    }

    /// The first place from `start` on where a match may start.
    fn candidate(
        &self,
        text: &str,
        start: usize,
        steps: &mut u64,
    ) -> Result<Option<usize>, Exhausted> {
        if text.len() >= NONE as usize {
            return Err(Exhausted::Text);
        }
        if self.anchored && start > 0 {
            return Ok(None);
        }
        let Some(first) = &self.first else {
            return Ok(Some(start));
        };
        let found = text[start..]
            .char_indices()
            .find(|&(_, c)| first.contains(c));
        let skip = found.map_or(text.len() - start, |(skip, _)| skip);
        *steps = steps.saturating_sub(skip as u64 / 8);
        Ok(found.map(|(skip, _)| start + skip))
    }
}
