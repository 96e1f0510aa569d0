//! What one scratch has found out of a grammar's texts.
//!
//! For example, that letters lead on inside of names is found once, at the first name.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use fsm_index::ClassId;

use crate::hints::characters::Characters;
use crate::hints::lexemes::Places;

/// A class of which any text leads on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Free {
    pub(super) class: ClassId,
    /// The number of ASCII characters that lead into a loop.
    pub(super) count: usize,
}

/// What is known of the text at a place.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reading {
    /// Every character of a class leads back, as the topmost level tells.
    LoopOnTop(ClassId),
    /// The same, as lower levels tell, too.
    Loop(ClassId),
    /// Nearly the same may come as at another place, which is a loop.
    Like(u32),
    Other,
}

/// The memory of hints, which outlives walks.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// By configuration.
    pub(super) readings: HashMap<u32, Reading, FixedState>,
    /// By the places of threads: the characters that lead back to a configuration that the
    /// topmost level tells of.
    pub(super) loops: HashMap<Box<[u32]>, ClassId, FixedState>,
    /// By places in lexemes: which characters lead on to the same.
    pub(super) alike: HashMap<Box<[u32]>, Option<Characters>, FixedState>,
    /// By state of a terminal.
    pub(super) free_from: HashMap<u32, Option<Free>, FixedState>,
    /// By [`Lex`](crate::run::lexes::Lex), as far as that was asked for.
    pub(super) free_of: Vec<Option<Option<Free>>>,
    /// True if no lazy lexeme ends in text of a class, by where it begins.
    pub(super) stay_open: HashMap<(u32, ClassId), bool, FixedState>,
    pub(super) places: Places,
    /// The height of the stacks whose topmost level is asked: of what was described last.
    pub(super) level: u32,
    pub(super) bytes: usize,
}

impl Known {
    /// Notes that a walk begins with stacks of some height.
    pub(crate) fn begin_walk(&mut self, height: u32) {
        self.level = height;
    }

    /// Returns the bytes that all of this takes, about.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}
