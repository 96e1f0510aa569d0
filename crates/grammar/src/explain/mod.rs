//! The place of a text in a grammar, for people.
//!
//! For example, behind `1 +` of a sum: between lexemes, in `sum (line 1): num "+" • sum`.

use std::fmt::Write as _;

use fsm_index::Place;

use crate::compile::cfg::{Matter, Symbol};
use crate::machine::Machine;
use crate::run::caches::Caches;
use crate::run::configs::Thread;
use crate::run::step::Steps;

/// Alternatives that are listed, because nobody reads more.
const MAX_LISTED: usize = 40;

/// Symbols of one alternative that are shown on either side of the place, so that it stays on a
/// line.
const MAX_SYMBOLS: usize = 8;

/// Returns where a configuration stands: the lexemes that have begun, and the alternatives that
/// have, with a dot at the place.
pub(crate) fn place(machine: &Machine, caches: &Caches, config: u32) -> Place {
    let (configs, stacks) = (caches.configs(), caches.stacks());
    let names = Names(machine);
    let lexer = machine.lexer();
    let fresh = configs[config].fresh;
    let mut begun: Vec<String> = Vec::new();
    let mut is_between = fresh != 0;
    for thread in configs.threads(config) {
        if thread.is_in_json() {
            begun.push(names.terminal(caches.json().terminal(thread.place)));
            continue;
        }
        for &state in &caches.lexes()[thread.place].members {
            let terminal = lexer.terminal[state as usize];
            // Some are only about to begin.
            match state == lexer.starts[terminal as usize] {
                true => is_between = true,
                false => begun.push(names.terminal(terminal)),
            }
        }
    }
    begun.sort_unstable();
    begun.dedup();
    begun.truncate(MAX_LISTED);
    let state = match (begun.is_empty(), is_between) {
        (true, _) => "between lexemes".to_owned(),
        (false, false) => format!("in {}", begun.join(" or ")),
        (false, true) => format!("in {}, or between lexemes", begun.join(" or ")),
    };
    let fronts = configs.threads(config).iter().map(|thread| thread.front);
    let nodes = fronts
        .chain([fresh])
        .flat_map(|front| stacks.topmost(front));
    let mut states: Vec<u32> = nodes.map(|&node| stacks.node(node).state).collect();
    states.sort_unstable();
    states.dedup();
    let mut locations: Vec<String> = Vec::new();
    for state in states {
        for item in &machine.tables().states[state as usize].finishes {
            let line = names.item(item.production, usize::from(item.dot));
            if !locations.contains(&line) {
                locations.push(line);
            }
        }
    }
    locations.truncate(MAX_LISTED);
    Place { state, locations }
}

/// Returns the lexemes that may come or go on at a configuration.
pub(crate) fn expected(machine: &Machine, caches: &mut Caches, config: u32) -> Vec<String> {
    let names = Names(machine);
    let terminals = possible(machine, caches, config).into_iter();
    let mut shown: Vec<String> = terminals.map(|t| names.terminal(t)).collect();
    shown.dedup();
    shown
}

/// Returns the highest temperature of the lexemes that may come or go on at a configuration.
pub(crate) fn temperature(machine: &Machine, caches: &mut Caches, config: u32) -> Option<f64> {
    let all = &machine.cfg().terminals;
    let terminals = possible(machine, caches, config).into_iter();
    let given = terminals.filter_map(|t| all[t as usize].sampling.temperature);
    given.max_by(f64::total_cmp)
}

/// The terminals that may come or go on at a configuration, ascending.
fn possible(machine: &Machine, caches: &mut Caches, config: u32) -> Vec<u32> {
    let standing = Steps::new(machine, caches).standing(config);
    let of_lex = |lex: u32| caches.lexes()[lex].terminals(machine);
    let mut terminals: Vec<u32> = Vec::new();
    for thread @ &Thread { place, .. } in caches.configs().threads(config) {
        match thread.is_in_json() {
            true => terminals.push(caches.json().terminal(place)),
            false => terminals.extend(of_lex(place)),
        }
    }
    let next = caches.stacks().next(standing);
    terminals.extend(next.json.iter().chain(&*next.specials));
    terminals.extend(of_lex(next.start));
    terminals.sort_unstable();
    terminals.dedup();
    terminals
}

/// The names of what a grammar has.
struct Names<'a>(&'a Machine);

impl Names<'_> {
    /// Returns a terminal's name, or its text.
    fn terminal(&self, terminal: u32) -> String {
        let own = &self.0.cfg().terminals[terminal as usize];
        if self.0.cfg().is_ignored(terminal) {
            return "ignored text".to_owned();
        }
        match (&own.matter, own.name.is_empty()) {
            (Matter::Special(special), _) => self.0.cfg().specials[*special as usize].to_string(),
            (_, true) => "a text".to_owned(),
            (_, false) => own.name.clone(),
        }
    }

    /// Returns an alternative with a dot in it.
    fn item(&self, production: u32, dot: usize) -> String {
        let production = &self.0.cfg().productions[production as usize];
        let rule = &self.0.cfg().rules[production.left as usize];
        let mut line = match rule.name.is_empty() {
            true => "(a group)".to_owned(),
            false => match self.0.line(production.left) {
                0 => rule.name.clone(),
                line => format!("{} (line {line})", rule.name),
            },
        };
        line.push(':');
        let (before, behind) = production.right.split_at(dot);
        if before.len() > MAX_SYMBOLS {
            line.push_str(" ..");
        }
        for &symbol in &before[before.len().saturating_sub(MAX_SYMBOLS)..] {
            let _ = write!(line, " {}", self.symbol(symbol));
        }
        line.push_str(" \u{2022}");
        for &symbol in behind.iter().take(MAX_SYMBOLS) {
            let _ = write!(line, " {}", self.symbol(symbol));
        }
        if behind.len() > MAX_SYMBOLS {
            line.push_str(" ..");
        }
        line
    }

    fn symbol(&self, symbol: Symbol) -> String {
        match symbol.split() {
            Ok(terminal) => self.terminal(terminal),
            Err(rule) => match &*self.0.cfg().rules[rule as usize].name {
                "" => "(..)".to_owned(),
                name => name.to_owned(),
            },
        }
    }
}
