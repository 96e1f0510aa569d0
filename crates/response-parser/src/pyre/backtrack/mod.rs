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
mod instruction;

use super::syntax::class::CharSet;
use attempt::{Attempt, Entry};
use instruction::Inst;

pub(super) use anchors::depends_on_end;
pub(super) use compile::first_set;

/// The most entries on the stack, 16 bytes each: 128 MiB, because a long text under nested loops
/// needs an entry for each character.
pub(super) const MAX_STACK: usize = 8 << 20;

/// The budget that a search hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exhausted {
    /// Steps of the machine.
    Steps,
    /// Entries on its stack.
    Stack,
    /// The text is longer than the machine can address.
    Text,
}

/// No position: the largest number, because texts of that length are refused.
const NONE: u32 = u32::MAX;

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct Program {
    insts: Vec<Inst>,
    sets: Vec<CharSet>,
    groups: usize,
    loops: usize,
    marks: usize,
    /// A match can only start at the start of the text.
    anchored: bool,
    /// The first character of a match, where that is known and no match is empty.
    first: Option<CharSet>,
    word: CharSet,
    ascii_word: CharSet,
    /// In an empty text `\B` holds.
    empty_is_no_edge: bool,
    /// Instructions that read only what lies before the place that is asked about.
    quiet: Vec<bool>,
}

/// The machine's memory, kept between searches.
#[derive(Debug, Default)]
pub(super) struct Memory {
    stack: Vec<Entry>,
    slots: Vec<u32>,
    loops: Vec<(u32, u32)>,
    marks: Vec<(usize, u32)>,
    /// The last attempt looked at the end of the text, so that more text might have led to
    /// another answer.
    touched: bool,
}

impl Memory {
    /// Makes the memory ready for an attempt at `start`.
    fn prepare(&mut self, program: &Program, start: u32) {
        self.touched = false;
        self.stack.clear();
        self.slots.clear();
        self.slots.resize(program.groups * 2, NONE);
        self.loops.clear();
        self.loops.resize(program.loops, (0, NONE));
        self.marks.clear();
        self.marks.resize(program.marks, (0, 0));
        self.slots[0] = start;
    }

    /// The groups of the match that was found.
    fn groups(&self, slots: &mut Vec<Option<(usize, usize)>>) {
        slots.clear();
        slots.extend(self.slots.chunks_exact(2).map(|pair| {
            let taken = pair[0] != NONE && pair[1] != NONE;
            taken.then_some((pair[0] as usize, pair[1] as usize))
        }));
    }
}

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
