//! A compiled grammar as a byte automaton.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use fsm_index::{
    ByteAutomaton, ByteSet, ClassId, Cursor, Description, Exception, FreeText, Horizon,
    KeyLanguage, Leaf, Lexeme, LexemeBehind, LexemePlace, Lexemes, Lexicon, Overlay, Place,
    PlainText, ReadText, Scope, SpecialId, SpecialTokens, Spot, Stack, TextAt,
};
use schema_regex::automaton::{SchemaAutomaton, Scratch as JsonScratch, State as JsonState};

use crate::compile::cfg::{Cfg, Matter, Nonterminal};
use crate::compile::lexer::Lexer;
use crate::compile::lr::{self, Tables};
use crate::greedy::proof::{self, Proof};
use crate::run::caches::Caches;
use crate::run::finish::Said;
use crate::run::lexemes::Numbers;
use crate::run::state::Saved;
use crate::run::text::Classes;
use crate::{Config, Error, ErrorKind};

/// What a grammar is compiled to: a machine over bytes with stacks that share their parts.
///
/// Cloning it costs nothing. Memory: the tables of its parser and of its terminals, and what
/// its scratches have seen, each within [`Config::max_cache_bytes`].
///
/// ```
/// use std::sync::Arc;
///
/// use fsm_index::{Guide, Index, IndexConfig, TokenId, Vocabulary};
/// use grammar::Grammar;
///
/// let tokens = ["(", ")", "x", "()"].iter().zip(0..).map(|(s, id)| (s.as_bytes(), TokenId::new(id)));
/// let vocabulary = Vocabulary::new(tokens, [TokenId::new(4)])?;
/// let nested = Grammar::from_gbnf("root ::= \"(\" root \")\" | \"x\"")?;
/// let mut guide = Guide::new(Arc::new(Index::lazy(nested, &vocabulary, &IndexConfig::default())?));
/// guide.advance(TokenId::new(0))?;
/// assert_eq!(guide.allowed_tokens()?, [0, 2].map(TokenId::new)); // ( x
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct GrammarAutomaton {
    pub(crate) inner: Arc<Inner>,
    start: State,
}

pub(crate) struct Inner {
    pub(crate) cfg: Cfg,
    pub(crate) lexer: Lexer,
    pub(crate) tables: Tables,
    /// Says whether greedy lexing, or ignored text that goes as far as it can, may leave something
    /// that cannot be finished.
    pub(crate) checks_live: bool,
    /// True if some terminal is of JSON.
    pub(crate) has_json: bool,
    pub(crate) proof: Proof,
    pub(crate) classes: Classes,
    /// Of places in lexemes.
    pub(crate) numbers: Numbers,
    /// By nonterminal: the line of its rule, from 1; 0 where there is none.
    pub(crate) lines: Box<[usize]>,
    pub(crate) max_cache_bytes: usize,
    /// What scratches have learnt that were given back.
    #[allow(clippy::vec_box, reason = "a scratch takes its box as it is")]
    pool: Mutex<Vec<Box<Caches>>>,
    json_pool: Mutex<Vec<(u32, JsonScratch)>>,
}

/// Scratches that are kept for the next walk.
const MAX_POOL: usize = 4;

/// Where a text has come to. Cloning it costs nothing.
#[derive(Clone)]
pub struct State(Arc<Saved>);

/// Working memory of a walk, which remembers what it learns about a grammar.
pub struct Scratch {
    pub(crate) caches: Option<Box<Caches>>,
    home: Arc<Inner>,
}

impl Scratch {
    pub(crate) fn caches(&mut self) -> &mut Caches {
        self.caches.get_or_insert_with(|| Box::new(Caches::new()))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Some(caches) = self.caches.take() {
            let mut pool = self
                .home
                .pool
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            if pool.len() < MAX_POOL {
                pool.push(caches);
            }
        }
    }
}

impl Inner {
    /// The automaton of a terminal of JSON.
    pub(crate) fn json(&self, terminal: u32) -> Option<&SchemaAutomaton> {
        match &self.cfg.terminals[terminal as usize].matter {
            Matter::Json(automaton) => Some(automaton),
            _ => None,
        }
    }

    pub(crate) fn json_scratch(&self, terminal: u32, automaton: &SchemaAutomaton) -> JsonScratch {
        let mut pool = self
            .json_pool
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match pool.iter().position(|known| known.0 == terminal) {
            Some(at) => pool.swap_remove(at).1,
            None => automaton.scratch(),
        }
    }

    pub(crate) fn give_json_scratch(&self, terminal: u32, scratch: JsonScratch) {
        let mut pool = self
            .json_pool
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if pool.len() < 4 * MAX_POOL {
            pool.push((terminal, scratch));
        }
    }
}

impl GrammarAutomaton {
    pub(crate) fn new(cfg: Cfg, text: &str, config: &Config) -> Result<GrammarAutomaton, Error> {
        let lexer = Lexer::new(&cfg, config.max_states)?;
        let least = lexer.least(&cfg);
        let tables = lr::build(&cfg, least, config.max_parser_states, config.max_work)?;
        let proof = match cfg.is_greedy {
            true => proof::prove(&cfg, &lexer, &tables, ByteSet::ALL),
            false => proof::prove_guards(&cfg, &lexer, &tables),
        };
        let breaks: Vec<usize> = text.match_indices('\n').map(|found| found.0).collect();
        let line = |rule: &Nonterminal| match rule.name.is_empty() {
            true => 0,
            false => breaks.partition_point(|&at| at < rule.at) + 1,
        };
        let lines = cfg.rules.iter().map(line).collect();
        let mut inner = Inner {
            lines,
            lexer,
            tables,
            has_json: cfg.has_json(),
            checks_live: !proof.is_whole,
            proof,
            classes: Classes::default(),
            numbers: Numbers::default(),
            cfg,
            max_cache_bytes: config.max_cache_bytes,
            pool: Mutex::default(),
            json_pool: Mutex::default(),
        };
        let mut caches = Box::new(Caches::new());
        let begin = caches.begin(&inner);
        if inner.checks_live && !caches.is_live(begin, &inner) {
            let (mut message, mut at) = (
                "no text can be finished: the longest match always takes what must come next"
                    .to_owned(),
                None,
            );
            if let Some(conflict) = inner.proof.conflict {
                let [first, second] =
                    [conflict.first, conflict.second].map(|t| &inner.cfg.terminals[t as usize]);
                message.push_str(&format!(
                    ": {} takes every byte with which {} can begin; exclude it, or make the former a `[lazy]` rule",
                    first.name, second.name
                ));
                at = Some(first);
            }
            let error = Error::new(ErrorKind::EmptyLanguage, message);
            return Err(match at {
                Some(terminal) => error.at(text, terminal.at).in_rule(&terminal.name),
                None => error,
            });
        }
        let start = State(caches.save(begin, &inner));
        inner.pool = Mutex::new(vec![caches]);
        Ok(GrammarAutomaton {
            inner: Arc::new(inner),
            start,
        })
    }

    /// Tells whether a text is admitted as a whole.
    pub fn accepts(&self, text: impl AsRef<[u8]>) -> bool {
        fsm_index::is_match(self, text.as_ref())
    }

    /// Returns the number of states that the parser has.
    pub fn parser_states(&self) -> usize {
        self.inner.tables.states.len()
    }

    /// Returns the number of terminals.
    pub fn terminals(&self) -> usize {
        self.inner.cfg.terminals.len()
    }

    /// The lexemes that may come at a state, or go on there: names of terminals, or their
    /// texts.
    ///
    /// ```
    /// use fsm_index::ByteAutomaton;
    /// use grammar::Grammar;
    ///
    /// let sums = Grammar::from_gbnf("root ::= num (\"+\" num)*\nnum ::= [0-9]")?;
    /// let mut state = sums.start();
    /// assert_eq!(sums.expected(&state).len(), 1);
    /// sums.advance(&mut state, b"1", &mut sums.scratch()).unwrap();
    /// assert!(sums.is_accepting(&state));
    /// # Ok::<(), grammar::Error>(())
    /// ```
    pub fn expected(&self, state: &State) -> Vec<String> {
        let mut scratch = self.scratch();
        let caches = scratch.caches();
        let config = caches.load(&state.0, &self.inner);
        caches.expected(config, &self.inner)
    }

    /// Bytes that it takes, about: its tables, and what scratches that are not in use have
    /// learnt.
    pub fn memory(&self) -> usize {
        let states = self.inner.tables.states.iter().map(|state| {
            100 + 8 * (state.shifts.len() + state.gotos.len() + state.reduces.len())
                + 16 * state.finishes.len()
        });
        let pool = self.inner.pool.lock();
        let pool = pool.unwrap_or_else(PoisonError::into_inner);
        let learnt = pool.iter().map(|caches| caches.bytes);
        states.chain(learnt).sum::<usize>() + self.inner.lexer.memory()
    }

    /// Tells whether greedy lexing may forbid what must come, so that each step is looked at.
    pub fn checks_ends(&self) -> bool {
        self.inner.checks_live
    }

    /// What leads to the end.
    fn way(&self, state: &State) -> Vec<Said> {
        let mut scratch = self.scratch();
        let caches = scratch.caches();
        let config = caches.load(&state.0, &self.inner);
        // Under greedy lexing the shortest way may be forbidden: another is open then. So it may
        // be behind ignored text that goes as far as it can.
        let lexer = &self.inner.lexer;
        let way = match self.inner.cfg.is_greedy || lexer.guard_count() > 0 {
            true => caches.greedy_way(config, &self.inner),
            false => caches.way(config, &self.inner),
        };
        way.unwrap_or_default()
    }
}

impl ByteAutomaton for GrammarAutomaton {
    type State = State;
    type Scratch = Scratch;

    const STEPS_ARE_CHEAP: bool = true;

    fn scratch(&self) -> Scratch {
        let mut pool = self
            .inner
            .pool
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        Scratch {
            caches: Some(pool.pop().unwrap_or_else(|| Box::new(Caches::new()))),
            home: self.inner.clone(),
        }
    }

    fn start(&self) -> State {
        self.start.clone()
    }

    fn is_accepting(&self, state: &State) -> bool {
        state.0.accepting
    }

    fn advance(&self, state: &mut State, bytes: &[u8], scratch: &mut Scratch) -> Result<(), usize> {
        let caches = scratch.caches();
        let was_on = caches.walk.set_on(false);
        let from = caches.load(&state.0, &self.inner);
        let said = caches.advance(from, bytes, &self.inner);
        let said = said.map(|to| *state = State(caches.save(to, &self.inner)));
        caches.walk.set_on(was_on);
        said
    }

    fn completion(&self, state: &State, max_bytes: usize, out: &mut Vec<u8>) -> bool {
        match self.way(state).first() {
            Some(Said::Bytes(text)) if text.len() <= max_bytes => out.extend_from_slice(text),
            Some(Said::Special(_)) => {}
            Some(Said::Bytes(_)) => return false,
            None => return state.0.accepting,
        }
        true
    }

    fn enter(&self, state: &State, scratch: &mut Scratch) -> Cursor {
        let caches = scratch.caches();
        let config = caches.load(&state.0, &self.inner);
        Cursor(caches.begin_walk(config, &self.inner))
    }

    #[inline]
    fn step(&self, cursor: Cursor, byte: u8, scratch: &mut Scratch) -> Cursor {
        Cursor(scratch.caches().step(cursor.0, byte, &self.inner))
    }

    #[inline]
    fn goes_on(&self, cursor: Cursor, byte: u8, scratch: &mut Scratch) -> Option<bool> {
        // Under greedy lexing what ends a lexeme is a matter of the stacks.
        let inner = &self.inner;
        let is_told = !inner.cfg.is_greedy && !inner.has_json && !inner.checks_live;
        is_told.then(|| scratch.caches().goes_on(cursor.0, byte, &self.inner))
    }

    fn specials(&self) -> Option<&dyn SpecialTokens<State, Scratch>> {
        (!self.inner.cfg.specials.is_empty()).then_some(self)
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
        let caches = scratch.caches();
        match scope {
            Scope::Index => caches
                .key(cursor.0, depth, horizon, &self.inner, out)
                .then_some(KeyLanguage::OWN),
            // States of parsers have numbers of this grammar alone.
            Scope::Vocabulary => caches.common_key(cursor.0, depth, horizon, &self.inner, out),
        }
    }

    fn describe(&self, cursor: Cursor, horizon: Horizon<'_>, scratch: &mut Scratch) -> Description {
        scratch.caches().describe(cursor.0, horizon, &self.inner)
    }

    #[inline]
    fn next_bytes(&self, cursor: Cursor, scratch: &mut Scratch) -> ByteSet {
        let value = scratch.caches().unended(cursor.0, &self.inner);
        value.map_or(ByteSet::ALL, |mut value| value.next_bytes())
    }

    fn overlay(&self) -> Option<&dyn Overlay<State>> {
        self.inner.has_json.then_some(self)
    }

    fn plain_text(&self) -> Option<&dyn PlainText<Scratch>> {
        Some(self)
    }

    fn place(&self, state: &State) -> Option<Place> {
        let mut scratch = self.scratch();
        let caches = scratch.caches();
        let config = caches.load(&state.0, &self.inner);
        Some(caches.place(config, &self.inner))
    }

    fn stack(&self) -> Option<&dyn Stack<Scratch>> {
        Some(self)
    }

    fn lexemes(&self) -> Option<&dyn Lexemes<Scratch>> {
        self.inner.has_lexemes().then_some(self)
    }
}

impl Leaf for GrammarAutomaton {
    /// Configurations outlive walks.
    const CURSORS_ARE_DENSE: bool = false;

    fn ends_at_cursor(&self, cursor: Cursor, scratch: &mut Scratch) -> bool {
        cursor != Cursor::DEAD && scratch.caches().ends_at(cursor.0, &self.inner)
    }
}

impl Lexemes<Scratch> for GrammarAutomaton {
    fn take_all(&self) -> bool {
        self.inner.cfg.is_greedy
    }

    fn begun(&self, cursor: Cursor, scratch: &mut Scratch, out: &mut Vec<Lexeme>) -> bool {
        scratch.caches().begun(cursor.0, &self.inner, out)
    }

    fn place(&self, place: u32, scratch: &mut Scratch) -> LexemePlace {
        scratch.caches().lexeme_told(place)
    }

    #[inline]
    fn step(&self, place: u32, byte: u8, scratch: &mut Scratch) -> u32 {
        scratch.caches().lexeme_step(place, byte, &self.inner)
    }

    fn told(&self, number: u32, scratch: &mut Scratch) -> Arc<[u32]> {
        scratch.caches().lexeme_terminals(number)
    }

    fn answers(&self, below: u32, asked: &[u32], scratch: &mut Scratch) -> bool {
        scratch.caches().answers(below, asked, &self.inner)
    }

    fn behind(&self, below: u32, ended: &[u32], scratch: &mut Scratch) -> LexemeBehind {
        scratch.caches().behind_lexeme(below, ended, &self.inner)
    }
}

impl PlainText<Scratch> for GrammarAutomaton {
    /// That of JSON, where a part of the grammar is. Else nothing is the same in all grammars.
    fn lexicon(&self) -> Lexicon {
        let of_texts = match self.inner.has_json {
            true => SchemaAutomaton::LEXICON,
            false => Lexicon::default(),
        };
        Lexicon {
            tells_free: true,
            ..of_texts
        }
    }

    fn class(&self, class: ClassId) -> &[(u32, u32)] {
        match class.split() {
            (0, _) => self.inner.classes.get(class),
            (owner, class) => {
                let automaton = self.inner.json(owner - 1);
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
    ) -> Option<Box<dyn ReadText + '_>> {
        let value = scratch.caches().sure_value(cursor.0, &self.inner);
        value?.reader(horizon)
    }

    fn cursor_at(&self, cursor: Cursor, at: TextAt, scratch: &mut Scratch) -> Cursor {
        let value = scratch.caches().value(cursor.0, &self.inner);
        value.map_or(cursor, |mut value| value.cursor_at(at))
    }

    fn free_text(&self, at: Spot, scratch: &mut Scratch) -> Option<FreeText> {
        let caches = scratch.caches();
        match at {
            Spot::Cursor(cursor) => caches.free_text(cursor.0, &self.inner),
            Spot::Lexeme(place) => caches.lexeme_free(place, &self.inner),
        }
    }

    fn can_do_without(&self, chars: &[(u32, u32)]) -> bool {
        let Inner {
            cfg, lexer, tables, ..
        } = &*self.inner;
        if !cfg.can_do_without(chars) {
            return false;
        }
        // Where every split counts, each lexeme of a way to the end can be another text of its
        // terminal. Under greedy lexing that text must let the next one begin, too.
        !cfg.is_greedy || proof::prove(cfg, lexer, tables, usable(chars)).is_whole
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
        scratch
            .caches
            .as_ref()
            .map_or(1, |caches| caches.depth_used(&self.inner))
    }

    fn least_depth(&self, cursor: Cursor, scratch: &mut Scratch) -> usize {
        let value = scratch.caches().value(cursor.0, &self.inner);
        value.map_or(1, |mut value| value.least_depth())
    }

    fn step_on_top(&self, cursor: Cursor, byte: u8, scratch: &mut Scratch) -> Option<Cursor> {
        scratch
            .caches()
            .step_on_top(cursor.0, byte, &self.inner)
            .map(Cursor)
    }

    #[inline]
    fn next_bytes_on_top(&self, cursor: Cursor, scratch: &mut Scratch) -> ByteSet {
        let value = scratch.caches().unended(cursor.0, &self.inner);
        value.map_or(ByteSet::ALL, |mut value| value.next_bytes_on_top())
    }
}

impl Overlay<State> for GrammarAutomaton {
    fn exceptions(&self, state: &State, each: &mut dyn FnMut(Exception<'_>)) {
        // What one value may not read, something else might: then a token must be tried.
        let is_alone = state.0.is_alone();
        for (terminal, value) in state.0.json() {
            let Some(automaton) = self.inner.json(terminal) else {
                continue;
            };
            automaton.exceptions(value, &mut |exception| {
                each(match exception {
                    Exception::Begins(text) if !is_alone => Exception::Contains(text),
                    other => other,
                });
            });
        }
    }

    fn is_suspect(&self, state: &State, token: &[u8]) -> bool {
        let of_value = |(terminal, value): (u32, &JsonState)| {
            let automaton = self.inner.json(terminal);
            automaton.is_none_or(|automaton| automaton.is_suspect(value, token))
        };
        !state.0.is_alone() || state.0.json().any(of_value)
    }
}

impl PartialEq for State {
    fn eq(&self, other: &State) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl SpecialTokens<State, Scratch> for GrammarAutomaton {
    fn names(&self) -> &[Box<str>] {
        &self.inner.cfg.specials
    }

    fn allowed(&self, state: &State, out: &mut Vec<SpecialId>) {
        out.extend(state.0.specials.iter().map(|&special| SpecialId(special)));
    }

    fn advance(&self, state: &mut State, special: SpecialId) -> bool {
        let mut scratch = self.scratch();
        let caches = scratch.caches();
        let at = caches.load(&state.0, &self.inner);
        let next = caches.step_special(at, special.0, &self.inner);
        if next == 0 || self.inner.checks_live && !caches.is_live(next, &self.inner) {
            return false;
        }
        *state = State(caches.save(next, &self.inner));
        true
    }

    fn completion(&self, state: &State) -> Option<SpecialId> {
        match self.way(state).first() {
            Some(Said::Special(special)) => Some(SpecialId(*special)),
            _ => None,
        }
    }
}

impl fmt::Debug for GrammarAutomaton {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (terminals, states) = (self.terminals(), self.parser_states());
        write!(
            f,
            "GrammarAutomaton({terminals} terminals, {states} states of its parser)"
        )
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "State(accepting: {})", self.0.accepting)
    }
}

impl fmt::Debug for Scratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.caches.as_ref().map_or(0, |caches| caches.bytes);
        write!(f, "Scratch({bytes} bytes)")
    }
}
