//! The brackets of a grammar: terminals of which one always closes what another has opened in the same production.
//!
//! For example, in `text: "\"" (/[^"\\]+/ | "\\(" sum ")")* "\""` with `sum: "(" sum ")" | ..` a `)` closes `\(` and
//! `(`.

use crate::compile::cfg::{Cfg, Matter, Symbol};
use crate::compile::lexer::Lexer;

/// The part that a terminal has in its production.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BracketPart {
    Plain,
    /// It opens a bracket, which is closed at that place of the production.
    Opens(usize),
    Closes,
}

/// The terminals that close brackets, each with those that open them.
#[derive(Default)]
pub(super) struct Brackets(Vec<(u32, Vec<u32>)>);

impl Brackets {
    /// Words are no brackets, because names may be the same text.
    pub(super) fn new(cfg: &Cfg, lexer: &Lexer) -> Brackets {
        let is_mark = |terminal: &u32| {
            let start = lexer.starts[*terminal as usize];
            let takes = |byte: u8| lexer.step(start, lexer.classes[usize::from(byte)]) != 0;
            let matter = &cfg.terminals[*terminal as usize].matter;
            matches!(matter, Matter::Table(_)) && !(b'a'..=b'z').any(takes)
        };
        let marks: Vec<u32> = (0..cfg.terminals.len() as u32).filter(is_mark).collect();
        let mut brackets = Brackets::default();
        for opener in 0..cfg.terminals.len() as u32 {
            let Some(close) = always_behind(cfg, opener, &marks) else {
                continue;
            };
            match brackets.0.iter_mut().find(|own| own.0 == close) {
                Some((_, openers)) => openers.push(opener),
                None => brackets.0.push((close, vec![opener])),
            }
        }
        // One that is not always closed is none, and then others are left open.
        while let Some(open) = brackets.find_open(cfg) {
            for (close, openers) in &mut brackets.0 {
                openers.retain(|opener| ![*opener, *close].contains(&open));
            }
            brackets.0.retain(|(_, openers)| !openers.is_empty());
        }
        brackets
    }

    /// Finds a terminal that does not always close a bracket, or open one that is closed.
    fn find_open(&self, cfg: &Cfg) -> Option<u32> {
        cfg.productions.iter().find_map(|production| {
            let parts = self.parts(&production.right);
            let is_open = |(symbol, part): (&Symbol, &BracketPart)| {
                let terminal = symbol.split().ok()?;
                let is_one = self.closes(terminal).is_some() || self.opens(terminal);
                (is_one && *part == BracketPart::Plain).then_some(terminal)
            };
            production.right.iter().zip(&parts).find_map(is_open)
        })
    }

    /// Returns the terminals whose brackets one closes.
    fn closes(&self, terminal: u32) -> Option<&[u32]> {
        let own = self.0.iter().find(|(close, _)| *close == terminal);
        own.map(|(_, openers)| &openers[..])
    }

    fn opens(&self, terminal: u32) -> bool {
        self.0
            .iter()
            .any(|(_, openers)| openers.contains(&terminal))
    }

    /// Returns the part of each symbol of a production.
    pub(super) fn parts(&self, right: &[Symbol]) -> Box<[BracketPart]> {
        let mut parts: Box<[BracketPart]> = vec![BracketPart::Plain; right.len()].into();
        let mut open: Vec<(usize, u32)> = Vec::new();
        for (at, symbol) in right.iter().enumerate() {
            let Ok(terminal) = symbol.split() else {
                continue;
            };
            if self.opens(terminal) {
                open.push((at, terminal));
            }
            if let Some(openers) = self.closes(terminal)
                && let Some(&(opened, by)) = open.last()
                && openers.contains(&by)
            {
                open.pop();
                parts[opened] = BracketPart::Opens(at);
                parts[at] = BracketPart::Closes;
            }
        }
        parts
    }
}

/// Returns the last of some terminals that stand behind another one in each production where that stands: the
/// last, because commas stand before it. For example, `)` for the `(` of `"(" a "," b ")"`.
fn always_behind(cfg: &Cfg, first: u32, marks: &[u32]) -> Option<u32> {
    let terminal = |symbol: &Symbol| symbol.split().ok();
    let rights = cfg.productions.iter().filter_map(|production| {
        let mut rest = production.right.iter();
        let found = rest.any(|symbol| terminal(symbol) == Some(first));
        found.then(|| rest.filter_map(terminal).collect::<Vec<u32>>())
    });
    let mut rights: Vec<Vec<u32>> = rights.collect();
    let mut own = rights.pop()?;
    own.retain(|behind| *behind != first && marks.contains(behind));
    let last = own.iter().rev();
    last.copied()
        .find(|behind| rights.iter().all(|right| right.contains(behind)))
}
