//! The traits of `fsm-index` for grammars: each question goes to the view that answers it.
//!
//! For example, a mask asks `describe` first, and steps through the trie where that tells nothing.

use std::sync::Arc;

use fsm_index::{
    ByteAutomaton, ByteSet, ClassId, Completed, Cursor, Description, EachException, Exception,
    FreeText, Horizon, KeyLanguage, Leaf, Lexeme, LexemeBehind, LexemePlace, Lexemes, Lexicon,
    Overlay, Parts, Place, PlainText, Report, Scope, SpecialId, SpecialNames, SpecialTokens, Spot,
    Stack, TextAt, TextReader,
};
use schema_regex::automaton::SchemaAutomaton;

use crate::automaton::scratch::Scratch;
use crate::automaton::{GrammarAutomaton, State};
use crate::completion::ways::Said;
use crate::explain;
use crate::hints::text::AskedLevels;
use crate::hints::{tell_masks, values};
use crate::proof::{self, Effort};
use crate::run::budgets::Taken;

impl ByteAutomaton for GrammarAutomaton {
    type State = State;
    type Scratch = Scratch;

    const STEPS_ARE_CHEAP: bool = true;

    fn scratch(&self) -> Scratch {
        self.pool.scratch()
    }

    fn start(&self) -> State {
        self.start.clone()
    }

    fn is_accepting(&self, state: &State) -> bool {
        state.saved.is_accepting()
    }

    fn advance(&self, state: &mut State, bytes: &[u8], scratch: &mut Scratch) -> Result<(), usize> {
        let learnt = scratch.learnt();
        let before = learnt.caches().pause_walk();
        let from = learnt.load(&state.saved);
        let mut live = learnt.live();
        let mut taken = state.taken.clone();
        let said = match self.machine().has_budgets() {
            true => live.advance_counting(from, bytes, &mut taken),
            false => live.advance(from, bytes),
        };
        let said = said.map(|to| {
            let saved = learnt.save(to);
            *state = State { saved, taken };
        });
        learnt.caches().resume_walk(before);
        said
    }

    fn end_token(&self, state: &State, scratch: &mut Scratch) -> Option<State> {
        let learnt = scratch.learnt();
        if state.taken.is_none() {
            return None;
        }
        let before = learnt.caches().pause_walk();
        let config = learnt.load(&state.saved);
        let mut ended = state.clone();
        let closed = learnt.steps().end_token(config, &mut ended.taken);
        let is_live =
            |config: &u32| !learnt.machine().checks_live() || learnt.live().is_live(*config);
        if let Some(closed) = closed.filter(is_live) {
            ended.saved = learnt.save(closed);
        }
        learnt.caches().resume_walk(before);
        Some(ended)
    }

    fn completion(&self, state: &State, max_bytes: usize, out: &mut Vec<u8>) -> Option<Completed> {
        let way = self.way(state);
        if way.is_empty() && !state.saved.is_accepting() {
            return None;
        }
        let (text, behind) = match way.as_slice() {
            [Said::Bytes(text), behind @ ..] => (text.as_slice(), behind),
            behind => (&[][..], behind),
        };
        (text.len() <= max_bytes).then(|| {
            out.extend_from_slice(text);
            match behind.first() {
                Some(Said::Special(special)) => Completed::Before(SpecialId(*special)),
                _ => Completed::Whole,
            }
        })
    }

    fn enter(&self, state: &State, scratch: &mut Scratch) -> Cursor {
        Cursor(scratch.newest().begin_walk(&state.saved))
    }

    #[inline]
    fn step(&self, cursor: Cursor, byte: u8, scratch: &mut Scratch) -> Cursor {
        let mut live = scratch.learnt().live();
        Cursor(live.step(cursor.0, byte))
    }

    /// The spelling is that of JSON, where a part of the grammar is. Else nothing is the same in all
    /// grammars.
    #[inline]
    fn parts(&self) -> Parts<'_, State, Scratch> {
        let of_texts = match self.machine().has_json() {
            true => SchemaAutomaton::LEXICON,
            false => Lexicon::default(),
        };
        Parts {
            specials: (!self.machine().cfg().specials.is_empty()).then_some(self),
            overlay: self.machine().has_json().then_some(self),
            plain_text: Some(self),
            stack: Some(self),
            lexemes: tell_masks(self.machine()).then_some(self),
            lexicon: Lexicon {
                tells_free: true,
                ..of_texts
            },
            special_names: SpecialNames {
                names: &self.machine().cfg().specials,
                heads: None,
            },
            lexemes_take_all: self.machine().is_greedy(),
            report: Some(self),
            ..Parts::default()
        }
    }

    fn key(
        &self,
        cursor: Cursor,
        scope: Scope,
        depth: usize,
        horizon: Horizon<'_>,
        scratch: &mut Scratch,
        out: &mut Vec<u32>,
    ) -> Option<KeyLanguage> {
        let mut keys = scratch.learnt().keys(horizon, depth);
        keys.key(cursor.0, scope, out)
    }

    fn describe(&self, cursor: Cursor, horizon: Horizon<'_>, scratch: &mut Scratch) -> Description {
        let mut hints = scratch.learnt().hints();
        hints.describe(cursor.0, horizon)
    }

    #[inline]
    fn next_bytes(&self, at: Spot, scratch: &mut Scratch) -> ByteSet {
        let (Spot::Cursor(cursor) | Spot::Top(cursor)) = at else {
            return ByteSet::ALL;
        };
        let (machine, caches) = scratch.learnt().parts();
        let value = values::unended(machine, caches, cursor.0);
        value.map_or(ByteSet::ALL, |mut value| match at {
            Spot::Top(_) => value.next_bytes_on_top(),
            _ => value.next_bytes(),
        })
    }
}

impl Report<State> for GrammarAutomaton {
    fn place(&self, state: &State) -> Option<Place> {
        Some(self.at(state, |learnt, config| {
            let (machine, caches) = learnt.parts();
            explain::place(machine, caches, config)
        }))
    }

    fn temperature(&self, state: &State) -> Option<f64> {
        GrammarAutomaton::temperature(self, state)
    }
}

impl Leaf for GrammarAutomaton {
    /// Configurations outlive walks.
    const CURSORS_ARE_DENSE: bool = false;

    fn ends_at_cursor(&self, cursor: Cursor, scratch: &mut Scratch) -> bool {
        cursor != Cursor::DEAD && scratch.learnt().steps().ends_at(cursor.0)
    }
}

impl Lexemes<Scratch> for GrammarAutomaton {
    fn begun(&self, cursor: Cursor, scratch: &mut Scratch, out: &mut Vec<Lexeme>) -> bool {
        scratch.learnt().lexemes().begun(cursor.0, out)
    }

    fn place(&self, place: u32, scratch: &mut Scratch) -> LexemePlace {
        scratch.learnt().lexemes().told(place)
    }

    fn number(&self, place: u32, scratch: &mut Scratch) -> u32 {
        scratch.learnt().lexemes().number(place)
    }

    #[inline]
    fn step(&self, place: u32, byte: u8, scratch: &mut Scratch) -> u32 {
        scratch.learnt().lexemes().step(place, byte)
    }

    fn told(&self, number: u32, scratch: &mut Scratch) -> Arc<[u32]> {
        scratch.learnt().lexemes().terminals(number)
    }

    fn answers(&self, below: u32, asked: &[u32], scratch: &mut Scratch) -> bool {
        scratch.learnt().lexemes().answers(below, asked)
    }

    fn behind(&self, below: u32, ended: &[u32], nodes: u32, scratch: &mut Scratch) -> LexemeBehind {
        let mut lexemes = scratch.learnt().lexemes();
        lexemes.behind(below, ended, nodes)
    }
}

impl PlainText<Scratch> for GrammarAutomaton {
    fn class(&self, class: ClassId) -> &[(u32, u32)] {
        match class.split() {
            (0, _) => self.machine().classes().get(class),
            (owner, class) => {
                let automaton = self.machine().json(owner - 1);
                let class = automaton.zip(class);
                class.map_or(&[], |(automaton, class)| automaton.class(class))
            }
        }
    }

    fn reader(
        &self,
        cursor: Cursor,
        horizon: Horizon<'_>,
        scratch: &mut Scratch,
    ) -> Option<TextReader<'_>> {
        // No more is proved of a grammar with values than when it was compiled.
        let value = values::sure_value(self.machine(), scratch.learnt().caches(), cursor.0);
        value?.reader(horizon)
    }

    fn cursor_at(&self, cursor: Cursor, at: TextAt, scratch: &mut Scratch) -> Cursor {
        let (machine, caches) = scratch.learnt().parts();
        let value = values::value(machine, caches, cursor.0);
        value.map_or(cursor, |mut value| value.cursor_at(at))
    }

    fn free_text(&self, at: Spot, scratch: &mut Scratch) -> Option<FreeText> {
        let learnt = scratch.learnt();
        let (cursor, levels) = match at {
            Spot::Cursor(cursor) => (cursor, AskedLevels::All),
            Spot::Top(cursor) => (cursor, AskedLevels::Top),
            Spot::Lexeme(place) => return learnt.lexemes().free_text(place),
        };
        learnt.hints().free_text(cursor.0, levels)
    }

    fn can_do_without(&self, chars: &[(u32, u32)]) -> bool {
        let cfg = self.machine().cfg();
        if !cfg.can_do_without(chars) {
            return false;
        }
        // If every split counts, each lexeme of a way to the end can be another text of its
        // terminal. Under greedy lexing that text must let the next one begin, too.
        let (lexer, tables) = (self.machine().lexer(), self.machine().tables());
        let effort = Effort::endless();
        !cfg.is_greedy || proof::prove(cfg, lexer, tables, usable(chars), &effort).is_whole
    }
}

/// The bytes with which only characters begin that are not among some, and those that go on.
fn usable(chars: &[(u32, u32)]) -> ByteSet {
    let mut usable = ByteSet::NONE;
    for byte in 0..=u8::MAX {
        let byte_of = |shift: u32, bits: u8| {
            let from = u32::from(byte & bits) << shift;
            (from, from | ((1 << shift) - 1))
        };
        let (from, to) = match byte {
            0x00..=0x7F => byte_of(0, 0x7F),
            0xC0..=0xDF => byte_of(6, 0x1F),
            0xE0..=0xEF => byte_of(12, 0x0F),
            0xF0..=0xF7 => byte_of(18, 0x07),
            _ => (u32::MAX, u32::MAX),
        };
        if !chars.iter().any(|&(a, b)| a <= to && from <= b) {
            usable = usable.with(byte);
        }
    }
    usable
}

impl Stack<Scratch> for GrammarAutomaton {
    fn depth_used(&self, scratch: &Scratch) -> usize {
        scratch.depth_used()
    }

    fn step_on_top(&self, cursor: Cursor, byte: u8, scratch: &mut Scratch) -> Option<Cursor> {
        let mut hints = scratch.learnt().hints();
        hints.step_on_top(cursor.0, byte).map(Cursor)
    }
}

impl Overlay<State> for GrammarAutomaton {
    fn exceptions(&self, state: &State, each: &mut EachException<'_>) {
        // Something else might read what one value may not: then a token must be tried.
        let is_alone = state.saved.is_alone();
        for (terminal, value) in state.saved.json() {
            let Some(automaton) = self.machine().json(terminal) else {
                continue;
            };
            automaton.exceptions(value, &mut |exception, can_be_refused| match exception {
                Exception::Begins(text) if !is_alone => each(Exception::Contains(text), &|_| true),
                other => each(other, can_be_refused),
            });
        }
    }
}

impl SpecialTokens<State, Scratch> for GrammarAutomaton {
    fn allowed(
        &self,
        state: &State,
        _: Option<(Cursor, &mut Scratch)>,
        out: &mut Vec<SpecialId>,
    ) -> Option<u32> {
        let specials = state.saved.specials().iter();
        out.extend(specials.map(|&special| SpecialId(special)));
        None
    }

    fn advance(&self, state: &mut State, special: SpecialId) -> bool {
        let next = self.at(state, |learnt, config| {
            let next = learnt.live().step_special(config, special.0);
            (next != 0).then(|| State {
                saved: learnt.save(next),
                taken: Taken::default(),
            })
        });
        match next {
            Some(next) => *state = next,
            None => return false,
        }
        true
    }
}
