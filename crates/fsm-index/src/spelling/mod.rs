//! The places at which a vocabulary without a token for each byte can go on.
//!
//! A state that bytes can finish is no use if no tokens have these bytes. There are three
//! answers, from the cheapest on:
//!
//! 1. Nothing is lost: tokens spell what the automaton needs, whatever else is missing
//!    ([`PlainText::can_do_without`](crate::PlainText::can_do_without)).
//! 2. The dead ends of a finite automaton are listed once ([`dead_ends`]).
//! 3. States to which tokens lead are searched ([`Search`]): each once, since rows and verdicts are
//!    remembered by all that a state is.
//!
//! For example, the JSON grammar of llama.cpp does without control characters, a regular
//! expression `a~|b` has a dead end behind `a` where no token has a `~`, and a schema with a
//! member that must be `"~"` is searched.

mod dead_ends;
mod search;

use crate::automaton::AskParts;
use std::collections::HashSet;

pub(crate) use dead_ends::dead_ends;
pub(crate) use search::{Search, full_key, whole_key};

use crate::{ByteAutomaton, Cursor, Error, Vocabulary};

/// The facts that an index has to look at if bytes are missing.
#[derive(Debug, Default)]
pub(crate) enum Spelling {
    /// Nothing.
    #[default]
    Whole,
    /// The cursors from which no tokens lead on.
    DeadEnds(HashSet<Cursor>),
    /// The states to which tokens lead.
    Searched(Search),
}

impl Spelling {
    /// That of an automaton which need not be finite.
    ///
    /// # Errors
    ///
    /// No tokens spell a text that it accepts, or none was found.
    pub(crate) fn of<A: ByteAutomaton>(
        automaton: &A,
        vocabulary: &Vocabulary,
    ) -> Result<Spelling, Error> {
        if vocabulary.missing_bytes().is_empty() {
            return Ok(Spelling::Whole);
        }
        let spellable = vocabulary.spellable();
        let every = !automaton.can_do_without(spellable.unspellable());
        if !every && spellable.cut_short().is_empty() {
            return Ok(Spelling::Whole);
        }
        let search = Search::new(every);
        search.check_start(automaton, vocabulary)?;
        Ok(Spelling::Searched(search))
    }

    pub(crate) fn search(&self) -> Option<&Search> {
        match self {
            Spelling::Searched(search) => Some(search),
            Spelling::Whole | Spelling::DeadEnds(_) => None,
        }
    }

    pub(crate) fn dead_ends(&self) -> Option<&HashSet<Cursor>> {
        match self {
            Spelling::DeadEnds(dead_ends) => Some(dead_ends),
            Spelling::Whole | Spelling::Searched(_) => None,
        }
    }
}
