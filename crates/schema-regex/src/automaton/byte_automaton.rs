//! A schema automaton as those see it who walk over tokens: the traits of [`fsm_index`].
//!
//! For example, `step` reads one byte at a cursor for the walk that makes a mask, and `advance`
//! reads the bytes of a token that was chosen.

use fsm_index::{
    ByteAutomaton, ByteSet, Completed, Cursor, Description, Horizon, KeyLanguage, Parts, Place,
    Report, Scope, Spot,
};

use crate::automaton::machine::lexicon::LEXICON;
use crate::automaton::run::{self, completion, hints, keys};
use crate::automaton::{SchemaAutomaton, Scratch, State};

impl Report<State> for SchemaAutomaton {
    fn place(&self, state: &State) -> Option<Place> {
        Some(self.location(state))
    }
}

impl ByteAutomaton for SchemaAutomaton {
    type State = State;
    type Scratch = Scratch;

    fn scratch(&self) -> Scratch {
        Scratch::new()
    }

    fn start(&self) -> State {
        run::start()
    }

    fn is_accepting(&self, state: &State) -> bool {
        run::is_accepting(state)
    }

    fn advance(&self, state: &mut State, bytes: &[u8], x: &mut Scratch) -> Result<(), usize> {
        run::advance(&self.machine, state, bytes, x)
    }

    fn completion(&self, state: &State, max_bytes: usize, out: &mut Vec<u8>) -> Option<Completed> {
        let is_found = completion::finish(&self.machine, state, max_bytes, out);
        is_found.then_some(Completed::Whole)
    }

    fn enter(&self, state: &State, x: &mut Scratch) -> Cursor {
        run::enter(&self.machine, state, x)
    }

    fn step(&self, cursor: Cursor, byte: u8, x: &mut Scratch) -> Cursor {
        run::step(&self.machine, cursor, byte, x)
    }

    fn describe(&self, cursor: Cursor, horizon: Horizon<'_>, x: &mut Scratch) -> Description {
        hints::describe(self, cursor, horizon, x)
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
        hints::next_bytes(self, at, x)
    }

    #[inline]
    fn parts(&self) -> Parts<'_, State, Scratch> {
        Parts {
            overlay: Some(self),
            plain_text: Some(self),
            stack: Some(self),
            ending: Some(self),
            lexicon: LEXICON,
            report: Some(self),
            ..Parts::default()
        }
    }
}
