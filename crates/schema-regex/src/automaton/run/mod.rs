//! The automaton at work: at a byte, or when bytes are committed. Its doors stand here; who compiles,
//! explains or walks over tokens sees no more of it.
//!
//! - [`config`]: where a text stands, and [`scratch`]: the working memory of a walk, with all that a cursor
//!   stands for. [`found`] has what was found out in it, [`allowance`] what it may still do,
//!   [`texts`] the texts that it keeps.
//! - [`state`]: what a guide remembers, and how it becomes a configuration and back;
//!   [`levels`] has the arrays and objects that are open in it.
//! - [`mod@step`]: one byte, from a configuration to the next.
//! - [`string_bytes`]: the bytes of a string become code points; [`string_leaves`] tells
//!   which goals the string can still satisfy, [`text_runs`] reads many characters at once.
//! - [`number_bytes`]: the inside of a number.
//! - [`member_names`]: which names may come in an object, and reading one. [`plain_object`]
//!   tells it of objects that one thread reads ([`object_summary`] what keys say of them), [`object_steps`] of those that several
//!   read.
//! - [`unique_items`]: whether an item that must differ can still become one that may come.
//!   [`equality`] has one spelling for each value, [`open_value`] what a value that was begun
//!   tells of it, [`begun`] which items before it that leaves, [`item_places`] remembers both,
//!   [`string_texts`] which strings it can become, [`ways_on`] how it goes on;
//!   [`another_value`] writes one, [`listed_values`] all there are, [`item_told_apart`] reads on items that differ already, [`forgotten`] without their texts.
//! - [`seen`]: the names and items that may not come again, in sets that grow ([`sorted`]), and
//!   [`span`] those of sorted texts that begin with what was read.
//! - [`mod@location`]: where a text stands, for people. Views of a scratch with folders of their own: [`keys`], by which
//!   masks are remembered, [`hints`], which make them fast, and [`completion`], a way to the end.
//!
//! For example, `[` leads from "before a value" to "at the start of an array", with a new frame on
//! the stack, and `]` from there to the end.

mod allowance;
mod another_value;
mod begun;
pub(super) mod completion;
mod config;
mod equality;
mod forgotten;
mod found;
pub(super) mod hints;
mod item_places;
mod item_told_apart;
pub(super) mod keys;
mod levels;
pub(super) mod listed_values;
mod location;
mod member_names;
mod number_bytes;
mod object_steps;
mod object_summary;
mod open_value;
mod plain_object;
mod scratch;
mod seen;
mod sorted;
mod span;
mod state;
mod step;
mod string_bytes;
mod string_leaves;
mod string_texts;
mod text_runs;
mod texts;
mod unique_items;
mod ways_on;

use fsm_index::{Cursor, Leaf, Place, Stack};

use crate::automaton::machine::origin::Origin;
use crate::automaton::machine::{Machine, SchemaAutomaton};
use crate::automaton::run::config::{Config, Top};
use crate::automaton::run::state::Load;

pub use self::scratch::Scratch;
pub use self::state::State;

/// Returns the state before a text.
pub(super) fn start() -> State {
    State::of(Config::first())
}

/// Tells whether the text of a state may end there.
pub(super) fn is_accepting(state: &State) -> bool {
    state.accepting
}

/// Tells whether a state stands inside of a string or of a name.
pub(super) fn is_in_text(state: &State) -> bool {
    matches!(state.top, Top::String { .. } | Top::Key(_))
}

/// Commits bytes: makes a state that behind them.
///
/// # Errors
///
/// The place of the first byte that may not come.
pub(super) fn advance(
    machine: &Machine,
    state: &mut State,
    bytes: &[u8],
    x: &mut Scratch,
) -> Result<(), usize> {
    if text_runs::is_free_text(machine, state, bytes) {
        return Ok(());
    }
    x.tidy();
    if state.item().is_some()
        && let Some(done) = item_told_apart::advance_apart(machine, state, bytes, x)
    {
        return done;
    }
    let before = state::load(machine, state, x, Load::Text);
    let config = text_runs::read_on(machine, before, bytes, x)?;
    if config != before || !state.is_in(x) {
        state::store(machine, config, &before, state, x);
    }
    Ok(())
}

/// Tells whether a text is admitted as a whole.
pub(super) fn is_match(machine: &Machine, text: &[u8]) -> bool {
    let mut x = Scratch::new();
    // The text tells itself how it goes on: items that must differ are compared at their ends.
    x.while_searching(|x| {
        let end = text_runs::read_on(machine, Config::first(), text, x);
        end.is_ok_and(|end| state::ends_at(machine, end, x))
    })
}

/// Begins a walk at a state.
pub(super) fn enter(machine: &Machine, state: &State, x: &mut Scratch) -> Cursor {
    x.begin_walk();
    let config = state::load(machine, state, x, Load::Walk);
    x.cursor(config)
}

/// Returns the cursor behind a byte.
#[inline]
pub(super) fn step(machine: &Machine, cursor: Cursor, byte: u8, x: &mut Scratch) -> Cursor {
    if cursor.is_dead() {
        return Cursor::DEAD;
    }
    let config = *x.config(cursor);
    match step::next(machine, config, byte, x) {
        Some(next) => x.cursor(next),
        None => Cursor::DEAD,
    }
}

/// Returns the token that is read at `state`, and the locations that the next one must satisfy. O(size of
/// the state).
pub(super) fn location(machine: &Machine, origin: &Origin, state: &State) -> Place {
    let (what, node, goals) = location::innermost(machine, state);
    let asked = machine.nodes().get(node as usize);
    let locations = asked.map_or(Vec::new(), |node| origin.locations(node, &goals));
    let depth = match state.depth() {
        0 => String::new(),
        1 => ", 1 level deep".to_owned(),
        depth => format!(", {depth} levels deep"),
    };
    Place {
        state: format!("{what}{depth}"),
        locations,
    }
}

impl Leaf for SchemaAutomaton {
    const CURSORS_ARE_DENSE: bool = true;

    fn ends_at_cursor(&self, cursor: Cursor, x: &mut Scratch) -> bool {
        !cursor.is_dead() && state::ends_at(&self.machine, *x.config(cursor), x)
    }
}

impl Stack<Scratch> for SchemaAutomaton {
    fn depth_used(&self, x: &Scratch) -> usize {
        x.levels_looked_at()
    }

    fn step_on_top(&self, cursor: Cursor, byte: u8, x: &mut Scratch) -> Option<Cursor> {
        x.on_top(|x| step(&self.machine, cursor, byte, x))
    }
}
