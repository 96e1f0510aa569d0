//! A schema automaton as those see it who walk over tokens: the traits of [`fsm_index`].
//!
//! For example, `step` reads one byte at a cursor for the walk that makes a mask, and `advance`
//! reads the bytes of a token that was chosen.

use fsm_index::{
    ByteAutomaton, ByteSet, Cursor, Description, Facts, Horizon, KeyLanguage, Leaf, Parts, Place,
    Scope, Spot, Stack,
};

use crate::automaton::SchemaAutomaton;
use crate::automaton::Scratch;
use crate::automaton::State;
use crate::automaton::completion;
use crate::automaton::keys;
use crate::automaton::machine::lexicon::LEXICON;
use crate::automaton::run::config::Config;
use crate::automaton::run::state::{self, Load};
use crate::automaton::run::{step, text_runs};

impl ByteAutomaton for SchemaAutomaton {
    type State = State;
    type Scratch = Scratch;

    fn scratch(&self) -> Scratch {
        Scratch::new()
    }

    fn start(&self) -> State {
        State::of(Config::first())
    }

    fn is_accepting(&self, state: &State) -> bool {
        state.accepting
    }

    fn advance(&self, state: &mut State, bytes: &[u8], x: &mut Scratch) -> Result<(), usize> {
        text_runs::advance(&self.machine, state, bytes, x)
    }

    fn completion(&self, state: &State, max_bytes: usize, out: &mut Vec<u8>) -> bool {
        let before = out.len();
        let mut x = Scratch::new();
        let config = state::load(&self.machine, state, &mut x, Load::Text);
        let is_found = completion::finish(&self.machine, config, max_bytes, &mut x, out);
        if !is_found {
            out.truncate(before);
        }
        is_found
    }

    fn place(&self, state: &State) -> Option<Place> {
        Some(self.location(state))
    }

    fn enter(&self, state: &State, x: &mut Scratch) -> Cursor {
        x.begin_walk();
        let config = state::load(&self.machine, state, x, Load::Walk);
        x.cursor(config)
    }

    fn step(&self, cursor: Cursor, byte: u8, x: &mut Scratch) -> Cursor {
        if cursor.is_dead() {
            return Cursor::DEAD;
        }
        let config = *x.config(cursor);
        match step::next(&self.machine, config, byte, x) {
            Some(next) => x.cursor(next),
            None => Cursor::DEAD,
        }
    }

    fn describe(&self, cursor: Cursor, horizon: Horizon<'_>, x: &mut Scratch) -> Description {
        self.hints(x).describe(cursor, horizon)
    }

    fn key(
        &self,
        cursor: Cursor,
        scope: Scope,
        depth: usize,
        horizon: Horizon<'_>,
        x: &mut Scratch,
        out: &mut Vec<u32>,
    ) -> Option<KeyLanguage> {
        keys::key(&self.machine, cursor, scope, depth, horizon, x, out)
    }

    fn next_bytes(&self, at: Spot, x: &mut Scratch) -> ByteSet {
        match at {
            Spot::Cursor(cursor) => self.hints(x).next_bytes(cursor),
            Spot::Top(cursor) => {
                let bytes = x.on_top(|x| self.hints(x).next_bytes(cursor));
                bytes.unwrap_or(ByteSet::ALL)
            }
            Spot::Lexeme(_) => ByteSet::ALL,
        }
    }

    #[inline]
    fn facts(&self) -> Facts<'_> {
        Facts {
            lexicon: LEXICON,
            ..Facts::default()
        }
    }

    #[inline]
    fn parts(&self) -> Parts<'_, State, Scratch> {
        Parts {
            overlay: Some(self),
            plain_text: Some(self),
            stack: Some(self),
            ending: Some(self),
            ..Parts::default()
        }
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
    fn least_depth(&self, cursor: Cursor, x: &mut Scratch) -> usize {
        // A token can end what is on top of most arrays and objects.
        match x.config(cursor).stack {
            0 => 1,
            _ => 2,
        }
    }

    fn step_on_top(&self, cursor: Cursor, byte: u8, x: &mut Scratch) -> Option<Cursor> {
        x.on_top(|x| self.step(cursor, byte, x))
    }
}
