use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use fsm_index::{
    ByteAutomaton, Cursor, Description, Horizon, KeyLanguage, Scope, SpecialId, SpecialTokens,
    Stack, TopText,
};
use schema_regex::automaton::Scratch as JsonScratch;

use crate::cfg::Cfg;
use crate::finish::Said;
use crate::greedy;
use crate::lexer::Lexer;
use crate::lr::{self, Tables};
use crate::run::Caches;
use crate::state::Saved;
use crate::{Config, Error, ErrorKind};

/// What a grammar is compiled to: a machine over bytes with stacks that share their parts.
///
/// Cloning it costs nothing. Memory: the tables of its parser and of its terminals, and what
/// its scratches have seen, each within [`Config::max_cache_bytes`].
#[derive(Clone)]
pub struct GrammarAutomaton(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) cfg: Cfg,
    pub(crate) lexer: Lexer,
    pub(crate) tables: Tables,
    /// Whether greedy lexing may leave something that cannot be finished.
    pub(crate) checks_live: bool,
    pub(crate) max_cache_bytes: usize,
    /// What scratches have learnt that were given back.
    #[allow(clippy::vec_box, reason = "a scratch takes its box as it is")]
    pool: Mutex<Vec<Box<Caches>>>,
    json_pool: Mutex<Vec<(u32, JsonScratch)>>,
    start: Option<Arc<Saved>>,
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
    pub(crate) fn json_scratch(&self, terminal: u32) -> JsonScratch {
        let mut pool = self
            .json_pool
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match pool.iter().position(|known| known.0 == terminal) {
            Some(at) => pool.swap_remove(at).1,
            None => match &self.cfg.terminals[terminal as usize].matter {
                crate::cfg::Matter::Json(automaton) => automaton.scratch(),
                _ => unreachable!("only JSON has a scratch of its own"),
            },
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
        let lexer = Lexer::new(&cfg);
        let least = lexer.least(&cfg);
        let tables = lr::build(&cfg, least, config.max_parser_states, config.max_work)?;
        let conflict = match cfg.is_greedy {
            true => greedy::conflict(&cfg, &lexer),
            false => None,
        };
        let mut inner = Inner {
            cfg,
            lexer,
            tables,
            checks_live: conflict.is_some(),
            max_cache_bytes: config.max_cache_bytes,
            pool: Mutex::default(),
            json_pool: Mutex::default(),
            start: None,
        };
        let mut caches = Box::new(Caches::new());
        let begin = caches.begin(&inner);
        if inner.checks_live && !caches.is_live(begin, &inner) {
            let (mut message, mut at) = (
                "no text can be finished: the longest match always takes what must come next"
                    .to_owned(),
                None,
            );
            if let Some(conflict) = conflict.flatten() {
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
        inner.start = Some(caches.save(begin, &inner));
        inner.pool = Mutex::new(vec![caches]);
        Ok(GrammarAutomaton(Arc::new(inner)))
    }

    /// Whether a text is admitted as a whole.
    pub fn accepts(&self, text: impl AsRef<[u8]>) -> bool {
        let mut scratch = self.scratch();
        let mut state = self.start();
        ByteAutomaton::advance(self, &mut state, text.as_ref(), &mut scratch).is_ok()
            && self.is_accepting(&state)
    }

    /// How many states the parser has.
    pub fn parser_states(&self) -> usize {
        self.0.tables.states.len()
    }

    /// How many terminals there are.
    pub fn terminals(&self) -> usize {
        self.0.cfg.terminals.len()
    }

    /// Whether greedy lexing may forbid what must come, so that each step is looked at.
    pub fn checks_ends(&self) -> bool {
        self.0.checks_live
    }

    /// What leads to the end.
    fn way(&self, state: &State) -> Vec<Said> {
        let mut scratch = self.scratch();
        let caches = scratch.caches();
        let config = caches.load(&state.0, &self.0);
        let way = match self.0.checks_live {
            true => caches.greedy_way(config, &self.0),
            // Where nothing is forbidden that must come, a way can still be: another is.
            false => match caches.way(config, &self.0) {
                Some(way) if !self.0.cfg.is_greedy || caches.follow(config, &way, &self.0) => {
                    Some(way)
                }
                _ => caches.greedy_way(config, &self.0),
            },
        };
        way.unwrap_or_default()
    }
}

impl ByteAutomaton for GrammarAutomaton {
    type State = State;
    type Scratch = Scratch;

    const STEPS_ARE_CHEAP: bool = true;

    fn scratch(&self) -> Scratch {
        let mut pool = self.0.pool.lock().unwrap_or_else(PoisonError::into_inner);
        Scratch {
            caches: Some(pool.pop().unwrap_or_else(|| Box::new(Caches::new()))),
            home: self.0.clone(),
        }
    }

    fn start(&self) -> State {
        match &self.0.start {
            Some(start) => State(start.clone()),
            None => unreachable!("a grammar that was built has a start"),
        }
    }

    fn is_accepting(&self, state: &State) -> bool {
        state.0.accepting
    }

    fn advance(&self, state: &mut State, bytes: &[u8], scratch: &mut Scratch) -> Result<(), usize> {
        let caches = scratch.caches();
        let mut at = caches.load(&state.0, &self.0);
        for (offset, &byte) in bytes.iter().enumerate() {
            at = caches.step(at, byte, &self.0);
            if at == 0 {
                return Err(offset);
            }
        }
        *state = State(caches.save(at, &self.0));
        Ok(())
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
        let config = caches.load(&state.0, &self.0);
        caches.begin_walk(config);
        Cursor(config)
    }

    #[inline]
    fn step(&self, cursor: Cursor, byte: u8, scratch: &mut Scratch) -> Cursor {
        Cursor(scratch.caches().step(cursor.0, byte, &self.0))
    }

    fn specials(&self) -> Option<&dyn SpecialTokens<State, Scratch>> {
        (!self.0.cfg.specials.is_empty()).then_some(self)
    }

    fn key(
        &self,
        cursor: Cursor,
        scope: Scope,
        depth: usize,
        _horizon: Horizon<'_>,
        scratch: &mut Scratch,
        out: &mut Vec<u32>,
    ) -> Option<KeyLanguage> {
        // States of parsers have numbers of this grammar alone.
        let known = scope == Scope::Index && scratch.caches().key(cursor.0, depth, &self.0, out);
        known.then_some(KeyLanguage::OWN)
    }

    fn describe(
        &self,
        cursor: Cursor,
        _horizon: Horizon<'_>,
        scratch: &mut Scratch,
    ) -> Description {
        match scratch.caches().top_tells(cursor.0, &self.0) {
            true => Description::Top(TopText::default()),
            false => Description::Unknown,
        }
    }

    fn stack(&self) -> Option<&dyn Stack<Scratch>> {
        Some(self)
    }
}

impl Stack<Scratch> for GrammarAutomaton {
    fn depth_used(&self, scratch: &Scratch) -> usize {
        scratch
            .caches
            .as_ref()
            .map_or(1, |caches| caches.depth_used())
    }

    fn step_on_top(&self, cursor: Cursor, byte: u8, scratch: &mut Scratch) -> Option<Cursor> {
        scratch
            .caches()
            .step_on_top(cursor.0, byte, &self.0)
            .map(Cursor)
    }
}

impl PartialEq for State {
    fn eq(&self, other: &State) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl SpecialTokens<State, Scratch> for GrammarAutomaton {
    fn names(&self) -> &[Box<str>] {
        &self.0.cfg.specials
    }

    fn allowed(&self, state: &State, out: &mut Vec<SpecialId>) {
        out.extend(state.0.specials.iter().map(|&special| SpecialId(special)));
    }

    fn advance(&self, state: &mut State, special: SpecialId) -> bool {
        let mut scratch = self.scratch();
        let caches = scratch.caches();
        let at = caches.load(&state.0, &self.0);
        let next = caches.step_special(at, special.0, &self.0);
        if next == 0 || self.0.checks_live && !caches.is_live(next, &self.0) {
            return false;
        }
        *state = State(caches.save(next, &self.0));
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
