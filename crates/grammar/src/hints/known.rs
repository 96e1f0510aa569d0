//! The memory of hints: all that one scratch has found out of a grammar's texts.
//!
//! For example, that letters lead on inside of names is found once, at the first name.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use foldhash::fast::FixedState;
use fsm_index::{ClassId, LexemePlace};
use indexmap::IndexMap;

use crate::hints::finder::CodePoints;
use crate::machine::Ranges;

/// A class of which any text leads on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Free {
    pub(super) class: ClassId,
    /// The number of its ASCII characters.
    pub(super) count: usize,
    /// The number of characters that the text may have, at least.
    pub(super) chars: usize,
    /// True if more of them do not lead on.
    pub(super) ends: bool,
    /// The ones of its characters that lead into a loop, or to the next of the states that count them.
    pub(super) leading: CharsBetween,
}

/// Characters that lead from two states to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct CharsBetween {
    /// The ones of ASCII, as bits.
    pub(super) ascii: u128,
    /// The states, which tell the others.
    pub(super) from: (u32, u32),
    pub(super) to: u32,
}

/// Text that may come over the ends of lexemes.
#[derive(Clone, Copy, Debug)]
pub(super) struct FreeWords {
    pub(super) class: ClassId,
    /// The least height of the stacks that tells it.
    pub(super) looked: u32,
    /// True if nearly all characters are of the class.
    pub(super) is_nearly_all: bool,
}

/// The text at a place, as far as it is known.
#[derive(Clone, Copy, Debug)]
pub(super) enum TextKind {
    /// Every character of a class leads back, as the topmost level tells.
    LoopOnTop(ClassId),
    /// The same, as lower levels tell, too: down to a height.
    Loop {
        class: ClassId,
        looked: u32,
    },
    /// Nearly the same may come as at another place, which is a loop.
    Like(u32),
    Other,
}

/// Characters that lead from some places in lexemes to the same ones.
#[derive(Debug)]
pub(super) struct Alike {
    /// The bytes of one of them.
    pub(super) sample: Vec<u8>,
    pub(super) all: Ranges,
}

/// The characters that lead on from some places, each among others that lead to the same.
pub(super) type Characters = Arc<[Alike]>;

/// The ignored text that may come on some stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Reach {
    All,
    /// All but that behind which too little can come: see [`Narrow`](crate::proof::Narrow).
    Wide,
}

/// Text of a class that may come behind a place in a lexeme.
#[derive(Debug)]
pub(super) struct Text {
    pub(super) class: ClassId,
    /// The number of its characters.
    pub(super) chars: u32,
    /// The places to which it leads, ascending.
    pub(super) places: Box<[u32]>,
    /// The [questions](super::questions) at these, ascending.
    pub(super) questions: Box<[u32]>,
}

impl Text {
    /// Tells whether it leads to a place.
    pub(super) fn leads_to(&self, lex: u32) -> bool {
        self.places.binary_search(&lex).is_ok()
    }
}

/// A place in a lexeme.
#[derive(Debug)]
pub(super) struct LexPlace {
    pub(super) lex: u32,
    /// The set in which the lexemes begin that may come on the same stacks; 0 where nothing that is
    /// begun may be ignored.
    pub(super) start: u32,
    pub(super) reach: Reach,
    /// The number of the questions that the stacks answer; 0 where they were not asked.
    pub(super) granted: u32,
    pub(super) told: LexemePlace,
    /// Its number in all scratches, as far as that was asked for.
    pub(super) number: Option<u32>,
}

/// The places that a scratch knows.
#[derive(Debug, Default)]
pub(super) struct LexPlaces {
    pub(super) all: Vec<LexPlace>,
    /// By place, and by class of bytes: the place behind it, as far as that was asked for.
    pub(super) rows: Vec<u32>,
    pub(super) ids: HashMap<(u32, u32, Reach, u32), u32, FixedState>,
    /// Terminals, and [questions](super::questions), by their [number](crate::run::lexes::Lexes::number_of_ends).
    pub(super) terminals: HashMap<u32, Arc<[u32]>, FixedState>,
    /// By set, as far as that was asked for: the [question](super::questions) at it.
    pub(super) questions: HashMap<u32, Option<u32>, FixedState>,
    /// By set and class, as far as that was asked for: the text that may come behind it.
    pub(super) texts: HashMap<(u32, ClassId), Option<Arc<Text>>, FixedState>,
    /// The questions that stacks have answered together, with texts that have no others.
    pub(super) granted: IndexMap<Box<[u32]>, Vec<Arc<Text>>, FixedState>,
    /// By front, as far as that was asked for: the configuration between two lexemes, if letters are
    /// lexemes of their own there.
    pub(super) letters_at: HashMap<u32, Option<u32>, FixedState>,
}

/// The memory of hints, which outlives walks.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// By configuration.
    pub(super) readings: HashMap<u32, TextKind, FixedState>,
    /// By configuration: the text over the ends of lexemes that may come.
    pub(super) words: HashMap<u32, Option<FreeWords>, FixedState>,
    /// Configurations where not nearly any text may come over the ends of lexemes.
    pub(super) no_words: HashSet<u32, FixedState>,
    /// By the places of threads: the characters that lead back to a configuration that the
    /// topmost level tells of.
    pub(super) loops: HashMap<Box<[u32]>, ClassId, FixedState>,
    /// By places in lexemes: which characters lead on to the same.
    pub(super) alike: HashMap<Box<[u32]>, Option<Characters>, FixedState>,
    /// By state of a terminal.
    pub(super) free_from: HashMap<u32, Option<Free>, FixedState>,
    /// By state of a terminal, as far as text is counted there.
    pub(super) counted_from: HashMap<u32, Option<Free>, FixedState>,
    /// By two states of a terminal, and that of a loop: whether any text that leads from the second one
    /// to the loop leads on from the first one.
    pub(super) follows: HashMap<((u32, u32), u32), bool, FixedState>,
    /// By the state of a loop: the code points that lead there, from another state as well.
    pub(super) into_loops: HashMap<u32, CodePoints<(u32, u32)>, FixedState>,
    /// By characters: the class of these.
    pub(super) classes: HashMap<CharsBetween, Option<ClassId>, FixedState>,
    /// By two states and another one: the characters beyond ASCII that lead from both to that.
    pub(super) beyond_ascii: HashMap<((u32, u32), u32), Ranges, FixedState>,
    /// By [`Lex`](crate::run::lexes::Lex), as far as that was asked for.
    pub(super) free_of: Vec<Option<Option<Free>>>,
    /// True if no lazy lexeme ends in text of a class, by where it begins.
    pub(super) stay_open: HashMap<(u32, ClassId), bool, FixedState>,
    /// By terminal, once that was asked for: whether some state of it may cut text short.
    pub(super) troubled: Option<Box<[bool]>>,
    /// By state of a terminal: whether text stays open behind it whatever comes.
    pub(super) untroubled: HashMap<u32, bool, FixedState>,
    pub(super) places: LexPlaces,
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
