//! The brackets whose closing ones do not all let the same text follow: each opening one is known to be closed
//! in its own production.
//!
//! For example, in `text: "\"" (/[^"\\]+/ | "\\(" sum ")")* "\""` with `sum: "(" sum ")" | ..` text of nearly
//! any characters comes behind a `)` that closes `\(`, and an operator behind one that closes `(`.

use super::bits::Bits;
use super::followers::Followers;
use crate::compile::cfg::{Cfg, Matter, Symbol};

/// The part that a terminal has in its production.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Plain,
    /// It opens a bracket, which is closed at that place of the production.
    Opens(usize),
    Closes,
}

/// The terminals that close brackets, each with those that open them.
pub(super) struct Brackets(Vec<(u32, Vec<u32>)>);

impl Brackets {
    /// `known` are the uses that are told apart by the text behind them, and `wide` the terminals with which text
    /// of nearly any characters begins.
    pub(super) fn new(cfg: &Cfg, known: &Followers, wide: &Bits) -> Brackets {
        let wide_behind = |&used: &u32| {
            let mut behind = known.terminals_of(&known.follow[used as usize]);
            behind.and(wide);
            behind
        };
        let is_closing = |terminal: &u32| {
            let matter = &cfg.terminals[*terminal as usize].matter;
            let mut behind = known.uses[*terminal as usize].iter().map(wide_behind);
            let first = behind.next();
            behind.any(|other| Some(&other) != first.as_ref()) && matches!(matter, Matter::Table(_))
        };
        let closing: Vec<u32> = (0..cfg.terminals.len() as u32).filter(is_closing).collect();
        let all = closing.iter().filter_map(|&close| {
            let openers = openers(cfg, close, &closing);
            (!openers.is_empty()).then_some((close, openers))
        });
        Brackets(all.collect())
    }

    /// Returns the part of each symbol of a production.
    pub(super) fn parts(&self, right: &[Symbol]) -> Box<[Part]> {
        let mut parts: Box<[Part]> = vec![Part::Plain; right.len()].into();
        let mut open: Vec<(usize, u32)> = Vec::new();
        for (at, symbol) in right.iter().enumerate() {
            let Ok(terminal) = symbol.split() else {
                continue;
            };
            if self
                .0
                .iter()
                .any(|(_, openers)| openers.contains(&terminal))
            {
                open.push((at, terminal));
            }
            let own = self.0.iter().find(|(close, _)| *close == terminal);
            if let Some((_, openers)) = own
                && let Some(&(opened, by)) = open.last()
                && openers.contains(&by)
            {
                open.pop();
                parts[opened] = Part::Opens(at);
                parts[at] = Part::Closes;
            }
        }
        parts
    }
}

/// Returns the terminals that stand before a closing one where no other terminal does.
fn openers(cfg: &Cfg, close: u32, closing: &[u32]) -> Vec<u32> {
    let mut openers = Vec::new();
    for production in &cfg.productions {
        let terminals = production
            .right
            .iter()
            .filter_map(|symbol| symbol.split().ok());
        let terminals: Vec<u32> = terminals.collect();
        let ends = terminals.iter().position(|&terminal| terminal == close);
        if let Some([opener]) = ends.map(|end| &terminals[..end])
            && !closing.contains(opener)
            && !openers.contains(opener)
        {
            openers.push(*opener);
        }
    }
    openers
}
