//! A schema automaton as those see it who walk over tokens: the traits of [`fsm_index`].
//!
//! For example, `step` reads one byte at a cursor for the walk that makes a mask, and `advance`
//! reads the bytes of a token that was chosen.

use fsm_index::{
    ByteAutomaton, ByteSet, ClassId, Cursor, Description, Ending, Exception, FreeText, Growth,
    Horizon, KeyLanguage, Leaf, Lexicon, Nearer, Overlay, Parts, Place, PlainText, ReadText, Scope,
    Spot, Stack, TextAt,
};

use crate::automaton::SchemaAutomaton;
use crate::automaton::Scratch;
use crate::automaton::State;
use crate::automaton::completion::ending;
use crate::automaton::completion::finish::Finisher;
use crate::automaton::hints::without_characters;
use crate::automaton::keys::key::Keys;
use crate::automaton::run::config::Config;
use crate::automaton::run::state::{self, Load};
use crate::automaton::run::{item_told_apart, step, text_runs};

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
        if text_runs::is_free_text(&self.machine, state, bytes) {
            return Ok(());
        }
        x.tidy();
        if state.item().is_some()
            && let Some(done) = item_told_apart::advance_apart(&self.machine, state, bytes, x)
        {
            return done;
        }
        let before = state::load(&self.machine, state, x, Load::Text);
        let config = text_runs::read_on(&self.machine, before, bytes, x)?;
        if config != before || !state.is_in(x) {
            state::store(&self.machine, config, &before, state, x);
        }
        Ok(())
    }

    fn completion(&self, state: &State, max_bytes: usize, out: &mut Vec<u8>) -> bool {
        let before = out.len();
        let mut x = Scratch::new();
        let config = state::load(&self.machine, state, &mut x, Load::Text);
        let is_found = Finisher::new(&self.machine, &mut x, out).finish(config, max_bytes);
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
        Keys::new(&self.machine, horizon, x, out).key(cursor, scope, depth)
    }

    fn next_bytes(&self, cursor: Cursor, x: &mut Scratch) -> ByteSet {
        self.hints(x).next_bytes(cursor)
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

impl Overlay<State> for SchemaAutomaton {
    /// An item that must differ may become one of those before it, or the next
    /// ones may; and a name that is open may come again behind its own end, within one token:
    /// a walk does not know how they began.
    fn exceptions(&self, state: &State, each: &mut dyn FnMut(Exception<'_>)) {
        if state.is_in_name() {
            // Its end, and the name between its quotes.
            each(Exception::Often {
                byte: b'"',
                times: 3,
            });
        }
        if state.item().is_some() {
            item_told_apart::item_exceptions(&self.machine, state, each);
        }
    }

    fn is_suspect(&self, state: &State, token: &[u8]) -> bool {
        (state.is_in_name() && state::may_come_again(&self.machine, state, token))
            || item_told_apart::may_double(&self.machine, state, token)
    }
}

impl PlainText<Scratch> for SchemaAutomaton {
    fn lexicon(&self) -> Lexicon {
        SchemaAutomaton::LEXICON
    }

    fn class(&self, class: ClassId) -> &[(u32, u32)] {
        self.machine.loops().ranges(class)
    }

    fn reader(
        &self,
        cursor: Cursor,
        horizon: Horizon<'_>,
        x: &mut Scratch,
    ) -> Option<Box<dyn ReadText + '_>> {
        self.hints(x).reader(cursor, horizon)
    }

    fn cursor_at(&self, cursor: Cursor, at: TextAt, x: &mut Scratch) -> Cursor {
        self.hints(x).behind_text(cursor, at)
    }

    fn free_text(&self, at: Spot, x: &mut Scratch) -> Option<FreeText> {
        match at {
            Spot::Cursor(cursor) | Spot::Top(cursor) => self.hints(x).free_text(cursor),
            Spot::Lexeme(_) => None,
        }
    }

    fn can_do_without(&self, chars: &[(u32, u32)]) -> bool {
        without_characters::is_fine_without(&self.machine, chars)
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

    fn next_bytes_on_top(&self, cursor: Cursor, x: &mut Scratch) -> ByteSet {
        let bytes = x.on_top(|x| self.hints(x).next_bytes(cursor));
        bytes.unwrap_or(ByteSet::ALL)
    }
}

impl Ending<Scratch> for SchemaAutomaton {
    fn nearer(&self, cursor: Cursor, x: &mut Scratch, out: &mut Vec<u8>) -> Nearer {
        ending::nearer(&self.machine, cursor, x, out)
    }

    fn narrower(&self, cursor: Cursor, x: &mut Scratch) -> Option<Cursor> {
        ending::narrower(&self.machine, cursor, x)
    }

    fn begun(&self, from: Cursor, to: Cursor, x: &mut Scratch) -> u32 {
        ending::begun(from, to, x)
    }

    fn is_in_text(&self, cursor: Cursor, x: &mut Scratch) -> bool {
        ending::is_in_text(&self.machine, cursor, x)
    }

    fn growth(&self, cost: &dyn Fn(&[u8]) -> usize) -> Growth {
        ending::growth(&self.machine, cost)
    }

    fn levels(&self, cursor: Cursor, x: &mut Scratch) -> usize {
        if cursor.is_dead() {
            return 0;
        }
        x.depth(x.config(cursor).stack) as usize
    }
}
