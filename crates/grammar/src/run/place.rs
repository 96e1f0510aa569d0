//! Where a text has come to in a grammar, for people.

use std::fmt::Write as _;

use fsm_index::Place;

use crate::compile::cfg::{Matter, Symbol};
use crate::machine::Inner;
use crate::run::caches::{Caches, JSON};

/// More alternatives are not listed.
const MAX_LISTED: usize = 40;

/// More symbols of one alternative are not shown on either side of the place.
const MAX_SYMBOLS: usize = 8;

impl Caches {
    /// Where a configuration stands: the lexemes that have begun, and the alternatives that
    /// have, with a dot at the place.
    pub(crate) fn place(&mut self, config: u32, inner: &Inner) -> Place {
        let mut fronts: Vec<u32> = Vec::new();
        let mut begun: Vec<String> = Vec::new();
        let mut is_between = self.configs[config].fresh != 0;
        for thread in self.configs.threads(config).to_vec() {
            fronts.push(thread.front);
            let terminals: Vec<u32> = match thread.place & JSON != 0 {
                true => vec![self.json_terminal(thread.place)],
                false => {
                    let members = self.lexes[thread.place as usize].members.iter();
                    let lexer = &inner.lexer;
                    let all = members.map(|&state| (state, lexer.terminal[state as usize]));
                    // Some are only about to begin.
                    let (starting, begun): (Vec<_>, Vec<_>) = all
                        .partition(|&(state, terminal)| state == lexer.starts[terminal as usize]);
                    is_between |= !starting.is_empty();
                    begun.into_iter().map(|(_, terminal)| terminal).collect()
                }
            };
            begun.extend(terminals.into_iter().map(|terminal| inner.shown(terminal)));
        }
        fronts.push(self.configs[config].fresh);
        begun.sort_unstable();
        begun.dedup();
        begun.truncate(MAX_LISTED);
        let state = match (begun.is_empty(), is_between) {
            (true, _) => "between lexemes".to_owned(),
            (false, false) => format!("in {}", begun.join(" or ")),
            (false, true) => format!("in {}, or between lexemes", begun.join(" or ")),
        };
        let nodes = fronts.iter().flat_map(|&front| self.fronts.nodes(front));
        let mut states: Vec<u32> = nodes.map(|&node| self.nodes.get(node).state).collect();
        states.sort_unstable();
        states.dedup();
        let mut locations: Vec<String> = Vec::new();
        for state in states {
            for item in &inner.tables.states[state as usize].finishes {
                let line = inner.item(item.production, usize::from(item.dot));
                if !locations.contains(&line) {
                    locations.push(line);
                }
            }
        }
        locations.truncate(MAX_LISTED);
        Place { state, locations }
    }

    /// The lexemes that may come or go on at a configuration.
    pub(crate) fn expected(&mut self, config: u32, inner: &Inner) -> Vec<String> {
        let mut terminals: Vec<u32> = Vec::new();
        for thread in self.configs.threads(config) {
            match thread.place & JSON != 0 {
                true => terminals.push(self.json_terminal(thread.place)),
                false => {
                    let members = self.lexes[thread.place as usize].members.iter();
                    terminals.extend(members.map(|&state| inner.lexer.terminal[state as usize]));
                }
            }
        }
        let standing = self.standing(config, inner);
        let front = self.fronts.next(standing);
        terminals.extend(front.json.iter().chain(&*front.specials));
        let start = &self.lexes[front.start as usize].members;
        terminals.extend(
            start
                .iter()
                .map(|&state| inner.lexer.terminal[state as usize]),
        );
        terminals.sort_unstable();
        terminals.dedup();
        let mut names: Vec<String> = terminals.into_iter().map(|t| inner.shown(t)).collect();
        names.dedup();
        names
    }
}

impl Inner {
    /// A terminal by its name, or its text.
    fn shown(&self, terminal: u32) -> String {
        let own = &self.cfg.terminals[terminal as usize];
        if self.cfg.is_ignored(terminal) {
            return "ignored text".to_owned();
        }
        match (&own.matter, own.name.is_empty()) {
            (Matter::Special(special), _) => self.cfg.specials[*special as usize].to_string(),
            (_, true) => "a text".to_owned(),
            (_, false) => own.name.clone(),
        }
    }

    /// An alternative with a dot in it.
    fn item(&self, production: u32, dot: usize) -> String {
        let production = &self.cfg.productions[production as usize];
        let rule = &self.cfg.rules[production.left as usize];
        let mut line = match rule.name.is_empty() {
            true => "(a group)".to_owned(),
            false => match self.lines.get(production.left as usize) {
                Some(line) if *line > 0 => format!("{} (line {line})", rule.name),
                _ => rule.name.clone(),
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
            Ok(terminal) => self.shown(terminal),
            Err(rule) => match &*self.cfg.rules[rule as usize].name {
                "" => "(..)".to_owned(),
                name => name.to_owned(),
            },
        }
    }
}
