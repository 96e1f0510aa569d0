//! The symbols that a terminal is read by in its text: classes of characters, and marks where the
//! lexeme begins and ends.
//!
//! For example, `a` in `b|a|b` with the marks as `|` is three classes and two marks.

use fsm_tables::{Builder, Meter, NfaId, Shape, State, Syntax};

use super::parts::{Mark, Part, Reads};
use crate::error::Error;
use crate::terminals::table::TableLimits;

/// Counts the steps of one terminal.
pub(super) struct Counted {
    pub(super) limits: TableLimits,
    work: usize,
}

impl Counted {
    pub(super) fn new(limits: TableLimits) -> Counted {
        Counted { limits, work: 0 }
    }
}

impl Meter for Counted {
    type Error = Error;

    fn work(&mut self, steps: usize) -> Result<(), Error> {
        self.work += steps;
        match self.work > self.limits.work {
            true => Err(Error::limit("max_work", "steps", self.limits.work)),
            false => Ok(()),
        }
    }

    fn nfa_states(&mut self, states: usize) -> Result<(), Error> {
        self.limits.nfa_states(states)
    }

    fn states(&mut self, states: usize) -> Result<(), Error> {
        self.limits.states(states)
    }
}

/// The symbols that texts with marks consist of: classes of characters by number, and behind them
/// the two marks.
pub(super) struct Symbolic {
    /// By set of characters: its classes as ranges.
    pub(super) sets: Vec<Vec<(u32, u32)>>,
    /// The number of classes there are.
    pub(super) classes: u32,
}

impl Symbolic {
    pub(super) fn mark(&self, mark: Mark) -> (u32, u32) {
        let symbol = self.classes + u32::from(mark == Mark::End);
        (symbol, symbol)
    }

    /// Any text in front of a state.
    pub(super) fn any(
        &self,
        builder: &mut Builder<'_, Counted>,
        next: NfaId,
    ) -> Result<NfaId, Error> {
        let split = builder.push(State::Split(next, next))?;
        let all = match self.classes {
            0 => Vec::new(),
            count => vec![(0, count - 1)],
        };
        let char = builder.symbol(all, split)?;
        builder.set_state(split, State::Split(char, next));
        Ok(split)
    }
}

impl Syntax<Counted> for &Symbolic {
    type Expression = Part;

    fn shape<'e>(&self, of: &'e Part) -> Shape<'e, Part> {
        match of {
            Part::Char(..) | Part::Mark(_) | Part::OverMarks => Shape::Leaf,
            Part::Seq(all) => Shape::Concat(all),
            Part::Alt(all) => Shape::Alternation(all),
            Part::Repeat(of, min, max) => Shape::Repeat {
                of,
                min: *min,
                max: *max,
            },
            Part::Lazy(of, min, max) => Shape::Lazy {
                of,
                min: *min,
                max: *max,
            },
            Part::Look(look, of) => Shape::Look { look: *look, of },
        }
    }

    fn leaf(
        &mut self,
        builder: &mut Builder<'_, Counted>,
        leaf: &Part,
        next: NfaId,
    ) -> Result<NfaId, Error> {
        let begin = match leaf {
            Part::Char(set, reads) => {
                let begin = builder.symbol(self.sets[*set].clone(), next)?;
                if *reads == Reads::Lexeme {
                    return Ok(begin);
                }
                begin
            }
            Part::Mark(mark) => return builder.symbol(vec![self.mark(*mark)], next),
            _ => next,
        };
        let marks = (self.mark(Mark::Begin).0, self.mark(Mark::End).0);
        let over = builder.symbol(vec![marks], begin)?;
        builder.push(State::Split(begin, over))
    }
}
