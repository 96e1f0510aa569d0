//! A pattern as a program: the instructions of the machine. For example, `a*` is one [`Inst::Run`], and `(a)*` a
//! [`Inst::Loop`] around two [`Inst::Save`] with an [`Inst::Char`] between them.

use crate::pyre::syntax::class::{CharSet, Fold};
use crate::pyre::syntax::tree::Assertion;

/// No position: the largest number, because texts of that length are refused.
pub(super) const NONE: u32 = u32::MAX;

/// A compiled pattern.
#[derive(Debug)]
pub(in crate::pyre) struct Program {
    pub(super) insts: Vec<Inst>,
    pub(super) sets: Vec<CharSet>,
    pub(super) groups: usize,
    pub(super) loops: usize,
    pub(super) marks: usize,
    /// A match can only start at the start of the text.
    pub(super) anchored: bool,
    /// The first character of a match, where that is known and no match is empty.
    pub(super) first: Option<CharSet>,
    pub(super) word: CharSet,
    pub(super) ascii_word: CharSet,
    /// In an empty text `\B` holds.
    pub(super) empty_is_no_edge: bool,
    /// Instructions that read only what lies before the place that is asked about.
    pub(super) quiet: Vec<bool>,
}

#[derive(Debug)]
pub(super) enum Inst {
    Char(char),
    Set(usize),
    Assert(Assertion),
    Save(u32),
    Jump(usize),
    /// Go on at the first; the second is left as a choice.
    Split(usize, usize),
    /// Takes as many characters of a set as it may, and gives them back one by one.
    Run(SetRun),
    /// Takes as few characters of a set as it may, and takes more one by one.
    LazyRun(SetRun),
    Backref(usize, Fold),
    /// Go on, or at the target if the group has not taken part.
    IfGroup(usize, usize),
    LoopEnter(usize),
    /// Takes the next instruction, the body, as long as it may, else the exit.
    Loop(Repetition),
    /// Takes the exit as soon as it may; the next instruction is a `LoopTake`.
    LazyLoop(Repetition),
    LoopTake(usize),
    /// Remembers the height of the stack and the position.
    Mark(usize),
    /// Steps back over that many characters.
    Back(usize),
    /// Steps back over `least` characters, and over more if that fails.
    BackFrom {
        least: u32,
        most: u32,
    },
    /// Goes on only at the marked position.
    AtMark(usize),
    /// Drops the choices made since the mark.
    Commit(usize),
    /// As `Commit`, and back to the marked position.
    CommitAt(usize),
    /// Undoes everything since the mark, then fails.
    Reject(usize),
    Match,
}

/// A set of characters, repeated.
#[derive(Debug)]
pub(super) struct SetRun {
    pub(super) set: usize,
    pub(super) min: u32,
    pub(super) max: u32,
}

/// A loop around instructions: the register that counts its iterations, and its bounds.
#[derive(Debug)]
pub(super) struct Repetition {
    pub(super) register: usize,
    pub(super) min: u32,
    pub(super) max: u32,
    pub(super) exit: usize,
}
