//! The parts of a text that rules with the option `capture` have read.
//!
//! For example, `start: "Name: " name` with `name[capture]: /[a-z]+/` has read `name` from byte 6 to 9 of `Name: bob`.
//!
//! Masks are made from a grammar that was rewritten: rules that are regular are joined, recursion is turned. So a text is
//! read again, when it is complete, by the rules as they were written (Earley 1970), with the same lexemes.

mod derivation;
mod reading;

use std::ops::Range;

use crate::compile::cfg::{Cfg, Symbol};
use crate::compile::lexer::Lexer;
use crate::config::Config;
use crate::error::Error;

/// A part of a text that a rule with the option `capture` has read.
///
/// ```
/// use grammar::Grammar;
///
/// let call = Grammar::from_lark("start: \"f(\" (x \",\"?)* \")\"\nx[capture=\"number\"]: /[0-9]+/")?;
/// let captures = call.captures("f(1,22)")?.unwrap();
/// let found: Vec<_> = captures.iter().map(|one| (one.name(), one.range())).collect();
/// assert_eq!(found, [("number", 2..3), ("number", 4..6)]);
/// # Ok::<(), grammar::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    name: String,
    range: Range<usize>,
}

impl Capture {
    /// The name that the option gives, or the rule's.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The bytes of the text.
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }
}

/// Returns by nonterminal the number of its circle: of those that may be read in each other without any text beside.
fn circles(cfg: &Cfg) -> Vec<u32> {
    let nullable = cfg.nullable();
    let takes_text = |symbol: &Symbol| !symbol.may_be_empty(&nullable);
    let mut to = vec![Vec::new(); cfg.rules.len()];
    for production in &cfg.productions {
        let own = &mut to[production.left as usize];
        let mut with_text = production.right.iter().filter(|symbol| takes_text(symbol));
        match (with_text.next(), with_text.next()) {
            (Some(only), None) => own.extend(only.split().err()),
            (None, _) => own.extend(
                production
                    .right
                    .iter()
                    .filter_map(|part| part.split().err()),
            ),
            _ => {}
        }
    }
    fsm_tables::component_of(&to)
}

/// Reads the texts of one grammar for its captures.
#[derive(Debug)]
pub(crate) struct Captures {
    cfg: Cfg,
    lexer: Lexer,
    /// By nonterminal: its productions, as they were written.
    by_left: Vec<Vec<usize>>,
    /// By nonterminal: its place in [`Cfg::captured`].
    captured: Vec<Option<usize>>,
    /// By nonterminal: the number of those that may be read in each other without any text beside.
    circles: Vec<u32>,
    max_work: usize,
}

impl Captures {
    /// Prepares a grammar whose rules are as they were written; nothing if none of them is captured.
    ///
    /// # Errors
    ///
    /// `max_states`.
    pub(crate) fn new(cfg: Cfg, config: &Config) -> Result<Option<Captures>, Error> {
        if cfg.captured.is_empty() {
            return Ok(None);
        }
        let lexer = Lexer::new(&cfg, config.max_states)?;
        let mut captured = vec![None; cfg.rules.len()];
        for (place, one) in cfg.captured.iter().enumerate() {
            captured[one.rule as usize] = Some(place);
        }
        Ok(Some(Captures {
            lexer,
            by_left: cfg.by_left(),
            circles: circles(&cfg),
            captured,
            cfg,
            max_work: config.max_work,
        }))
    }

    /// Bytes that it takes, about.
    pub(crate) fn memory(&self) -> usize {
        let symbols = self
            .cfg
            .productions
            .iter()
            .map(|one| 40 + 4 * one.right.len());
        self.lexer.memory() + symbols.sum::<usize>()
    }
}
