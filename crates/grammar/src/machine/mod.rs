//! A compiled grammar: tables that nothing changes, and names for what walks find in it.
//!
//! For example, `root ::= "(" root ")" | "x"` becomes a lexer with three terminals and a parser
//! whose states say which of them may come.

mod classes;
mod numbers;

use std::sync::{Arc, Mutex, PoisonError};

use fsm_index::{ByteAutomaton as _, ByteSet, MAX_COMPLETION};
use schema_regex::automaton::{SchemaAutomaton, Scratch as JsonScratch, State as JsonState};

use crate::compile::cfg::{Cfg, Matter, Nonterminal};
use crate::compile::lexer::Lexer;
use crate::compile::lr::{self, Tables};
use crate::config::Config;
use crate::error::{Error, ErrorKind};
use crate::proof::{self, Effort, Origins, Proof};

pub(crate) use self::classes::{Classes, Ranges};
pub(crate) use self::numbers::Numbers;

/// Scratches of values that are kept for the next one: enough for some threads with some
/// terminals each, because each may take a few megabytes.
const MAX_JSON_SCRATCHES: usize = 16;

/// A compiled grammar, with what is proved of it.
pub(crate) struct Machine {
    fixed: Arc<Fixed>,
    proof: Proof,
    /// True if nothing more can be proved.
    is_proved: bool,
    numbers: Numbers,
}

/// The tables of a grammar, whatever is proved of it.
struct Fixed {
    cfg: Cfg,
    lexer: Lexer,
    tables: Tables,
    classes: Classes,
    /// By terminal: see [`Machine::bytes_behind`].
    bytes_behind: Box<[ByteSet]>,
    /// By nonterminal: the line of its rule, from 1; 0 where there is none.
    lines: Box<[usize]>,
    has_json: bool,
    has_budgets: bool,
    max_cache_bytes: usize,
    /// Each with its terminal.
    json_scratches: Mutex<Vec<(u32, JsonScratch)>>,
}

/// Tells whether nobody completes a text of so many bytes: a guide that has begun one could not end.
fn is_too_long(bytes: u32) -> bool {
    bytes as usize > MAX_COMPLETION
}

/// Returns the error of a grammar whose shortest text is too long, about the rule that is closest to the
/// limit: the innermost one.
#[cold]
fn too_long(cfg: &Cfg, tables: &Tables, text: &str) -> Error {
    let rules = cfg.rules.iter().zip(&tables.least);
    let named = rules.filter(|(rule, least)| !rule.name.is_empty() && is_too_long(**least));
    let message = |name: &str| {
        format!(
            "the shortest text of {name} has more than {MAX_COMPLETION} bytes, and no text so long is completed: repeat less"
        )
    };
    match named.min_by_key(|(_, least)| **least) {
        Some((rule, _)) => {
            let message = message(&format!("`{}`", rule.name));
            let error = Error::new(ErrorKind::LimitExceeded, message);
            error.at(text, rule.at).in_rule(&rule.name)
        }
        None => Error::new(ErrorKind::LimitExceeded, message("the grammar")),
    }
}

impl Machine {
    /// Makes the tables of a grammar.
    ///
    /// # Errors
    ///
    /// They exceed a limit.
    pub(crate) fn new(cfg: Cfg, text: &str, config: &Config) -> Result<Machine, Error> {
        let lexer = Lexer::new(&cfg, config.max_states)?;
        let least = lexer.least(&cfg);
        let tables = lr::build(&cfg, least, config.max_parser_states, config.max_work)?;
        if is_too_long(tables.least[tables.whole as usize]) {
            return Err(too_long(&cfg, &tables, text));
        }
        // Which hints are given when some lexemes are lazy hangs on the proof.
        let has_lazy = cfg.terminals.iter().any(|terminal| terminal.is_lazy);
        let effort = match has_lazy {
            true => Effort::endless(),
            false => Effort::new(config.max_proof_work),
        };
        let proof = match cfg.is_greedy {
            true => proof::prove(&cfg, &lexer, &tables, ByteSet::ALL, &effort),
            false => proof::prove_guards(&cfg, &lexer, &tables),
        };
        let breaks: Vec<usize> = text.match_indices('\n').map(|found| found.0).collect();
        let line = |rule: &Nonterminal| match rule.name.is_empty() {
            true => 0,
            false => breaks.partition_point(|&at| at < rule.at) + 1,
        };
        let fixed = Fixed {
            bytes_behind: proof::bytes_behind(&cfg, &lexer),
            lines: cfg.rules.iter().map(line).collect(),
            lexer,
            tables,
            classes: Classes::default(),
            has_json: cfg.has_json(),
            has_budgets: cfg
                .terminals
                .iter()
                .any(|terminal| terminal.sampling.max_tokens.is_some()),
            cfg,
            max_cache_bytes: config.max_cache_bytes,
            json_scratches: Mutex::default(),
        };
        Ok(Machine {
            fixed: Arc::new(fixed),
            proof,
            is_proved: !effort.is_over(),
            numbers: Numbers::default(),
        })
    }

    /// Tells whether nothing more can be proved.
    pub(crate) fn is_proved(&self) -> bool {
        self.is_proved
    }

    /// Returns the same grammar with all that can be proved of it. `None` if that is no more.
    pub(crate) fn proved(&self) -> Option<Machine> {
        if self.is_proved {
            return None;
        }
        let Fixed {
            cfg, lexer, tables, ..
        } = &*self.fixed;
        let proof = proof::prove(cfg, lexer, tables, ByteSet::ALL, &Effort::endless());
        proof.is_better(&self.proof).then(|| Machine {
            fixed: self.fixed.clone(),
            proof,
            is_proved: true,
            numbers: self.numbers.others(),
        })
    }

    #[inline]
    pub(crate) fn cfg(&self) -> &Cfg {
        &self.fixed.cfg
    }

    /// Returns the grammar, to be rewritten; `None` if others need it.
    pub(crate) fn into_cfg(self) -> Option<Cfg> {
        Arc::into_inner(self.fixed).map(|fixed| fixed.cfg)
    }

    #[inline]
    pub(crate) fn lexer(&self) -> &Lexer {
        &self.fixed.lexer
    }

    #[inline]
    pub(crate) fn tables(&self) -> &Tables {
        &self.fixed.tables
    }

    #[inline]
    pub(crate) fn proof(&self) -> &Proof {
        &self.proof
    }

    /// Returns the classes of characters that descriptions name.
    pub(crate) fn classes(&self) -> &Classes {
        &self.fixed.classes
    }

    /// By terminal: the bytes that may come behind it, whatever the stacks are.
    pub(crate) fn bytes_behind(&self) -> &[ByteSet] {
        &self.fixed.bytes_behind
    }

    /// Returns the numbers of places in lexemes.
    pub(crate) fn numbers(&self) -> &Numbers {
        &self.numbers
    }

    /// Returns the line of a nonterminal's rule, from 1; 0 where there is none.
    pub(crate) fn line(&self, rule: u32) -> usize {
        self.fixed.lines[rule as usize]
    }

    /// Returns the bytes that one scratch may remember.
    pub(crate) fn max_cache_bytes(&self) -> usize {
        self.fixed.max_cache_bytes
    }

    /// Tells whether the longest match counts.
    #[inline]
    pub(crate) fn is_greedy(&self) -> bool {
        self.cfg().is_greedy
    }

    /// Tells whether some terminal is of JSON.
    #[inline]
    pub(crate) fn has_json(&self) -> bool {
        self.fixed.has_json
    }

    /// Tells whether some lexemes have a budget of tokens.
    #[inline]
    pub(crate) fn has_budgets(&self) -> bool {
        self.fixed.has_budgets
    }

    /// Returns those of the states of terminals that have read the same text which perhaps cannot be finished, if
    /// that has begun in one of some contexts.
    pub(crate) fn unsure_among(&self, states: &[u32], origins: Origins) -> Box<[u32]> {
        self.proof
            .unsure_among(states, origins, self.cfg(), self.lexer())
    }

    /// Tells whether greedy lexing, or ignored text that goes as far as it can, may leave
    /// something that cannot be finished.
    #[inline]
    pub(crate) fn checks_live(&self) -> bool {
        !self.proof.is_whole
    }

    /// Returns the automaton of a terminal of JSON.
    pub(crate) fn json(&self, terminal: u32) -> Option<&SchemaAutomaton> {
        match &self.cfg().terminals[terminal as usize].matter {
            Matter::Json(automaton) => Some(automaton),
            _ => None,
        }
    }

    /// Leads a state of a terminal of JSON along some bytes. Returns `false` where they may not
    /// come.
    pub(crate) fn advance_json(&self, terminal: u32, state: &mut JsonState, bytes: &[u8]) -> bool {
        let Some(automaton) = self.json(terminal) else {
            return false;
        };
        let lock = || self.fixed.json_scratches.lock();
        let mut pool = lock().unwrap_or_else(PoisonError::into_inner);
        let known = pool.iter().position(|known| known.0 == terminal);
        let known = known.map(|at| pool.swap_remove(at).1);
        drop(pool);
        let mut scratch = known.unwrap_or_else(|| automaton.scratch());
        let is_alive = automaton.advance(state, bytes, &mut scratch).is_ok();
        let mut pool = lock().unwrap_or_else(PoisonError::into_inner);
        if pool.len() < MAX_JSON_SCRATCHES {
            pool.push((terminal, scratch));
        }
        is_alive
    }
}
