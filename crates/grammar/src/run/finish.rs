//! Shortest ways to the end.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use foldhash::fast::FixedState;
use fsm_index::ByteAutomaton;

use crate::compile::cfg::{Matter, Symbol};
use crate::compile::lr::Finish;
use crate::machine::Inner;
use crate::run::caches::{Caches, JSON};

/// What is said next on a way to the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Bytes(Vec<u8>),
    Special(u32),
}

/// How a place on the way was reached.
#[derive(Clone, Copy)]
enum From {
    /// By the end of a lexeme that has begun: in an automaton, or in JSON.
    Lex(u32),
    Json(u32),
    /// It stands there.
    Fresh,
    /// By what finishes a nonterminal, from another place.
    Finish((u32, u32), Finish),
}

impl Caches {
    /// A shortest way from a configuration to the end if every split counts, by pieces;
    /// under greedy lexing it may be none, but no way is shorter.
    ///
    /// A place is a state on top of a node: each is settled once.
    pub(crate) fn way(&mut self, config: u32, inner: &Inner) -> Option<Vec<Said>> {
        let tables = &inner.tables;
        let mut froms: HashMap<(u32, u32), From, FixedState> = HashMap::default();
        let mut costs: HashMap<(u32, u32), u32, FixedState> = HashMap::default();
        let mut open: BinaryHeap<Reverse<(u32, (u32, u32))>> = BinaryHeap::new();
        let mut offer = |place, cost, from, open: &mut BinaryHeap<_>| {
            let known = costs.entry(place).or_insert(u32::MAX);
            if cost < *known {
                *known = cost;
                froms.insert(place, from);
                open.push(Reverse((cost, place)));
            }
        };
        let standing = self.standing(config, inner);
        // From the bottom the whole text comes.
        let mut whole = None;
        for &node in self.fronts.nodes(standing) {
            let own = self.nodes.get(node);
            let parents = self.nodes.parents(node);
            if parents.is_empty() {
                whole = Some((tables.least[tables.whole as usize], From::Fresh));
            }
            for &parent in parents {
                offer((own.state, parent), 0, From::Fresh, &mut open);
            }
        }
        for thread in self.configs.threads(config) {
            let nodes = self.fronts.nodes(thread.front);
            let mut shift = |terminal: u32, cost: u32, from: From, open: &mut BinaryHeap<_>| {
                let is_ignored = inner.cfg.is_ignored(terminal);
                for &node in nodes {
                    let own = self.nodes.get(node);
                    if is_ignored {
                        let parents = self.nodes.parents(node);
                        for &parent in parents {
                            offer((own.state, parent), cost, from, open);
                        }
                        if parents.is_empty() {
                            let cost = cost.saturating_add(tables.least[tables.whole as usize]);
                            if whole.is_none_or(|known| cost < known.0) {
                                whole = Some((cost, from));
                            }
                        }
                    } else if let Some(to) = tables.states[own.state as usize].shift(terminal) {
                        offer((to, node), cost, from, open);
                    }
                }
            };
            match thread.place & JSON != 0 {
                true => {
                    let text = self.json_completion(thread.place, inner);
                    let terminal = self.json_terminal(thread.place);
                    let from = From::Json(thread.place);
                    shift(terminal, text.len() as u32, from, &mut open);
                }
                false => {
                    for &state in &self.lexes[thread.place as usize].members {
                        let terminal = inner.lexer.terminal[state as usize];
                        let cost = inner.lexer.distance[state as usize];
                        shift(terminal, cost, From::Lex(state), &mut open);
                    }
                }
            }
        }
        let mut goal = None;
        let mut bases = Vec::new();
        while let Some(Reverse((cost, place))) = open.pop() {
            if whole.is_some_and(|whole| whole.0 <= cost) {
                break;
            }
            if costs.get(&place).is_some_and(|&known| known < cost) {
                continue;
            }
            let (state, parent) = place;
            if tables.states[state as usize].accepts {
                goal = Some(place);
                break;
            }
            for &finish in &tables.states[state as usize].finishes {
                if finish.held == 0 {
                    continue;
                }
                let cost = cost.saturating_add(finish.cost);
                self.nodes.below(parent, finish.held - 1, &mut bases);
                for &base in &bases {
                    let below = self.nodes.get(base).state;
                    if let Some(to) = tables.states[below as usize].goto(finish.rule) {
                        let known = costs.get(&(to, base)).copied().unwrap_or(u32::MAX);
                        if cost < known {
                            costs.insert((to, base), cost);
                            froms.insert((to, base), From::Finish(place, finish));
                            open.push(Reverse((cost, (to, base))));
                        }
                    }
                }
            }
        }
        let mut out = Vec::new();
        let Some(mut at) = goal else {
            // Only from the bottom, or from nowhere.
            self.say_from(whole?.1, inner, &mut out);
            self.spell(&[Symbol::rule(tables.whole)], inner, &mut out);
            return Some(out);
        };
        let mut parts: Vec<From> = Vec::new();
        while let Some(&from) = froms.get(&at) {
            parts.push(from);
            match from {
                From::Finish(before, _) => at = before,
                _ => break,
            }
        }
        for from in parts.into_iter().rev() {
            self.say_from(from, inner, &mut out);
        }
        Some(out)
    }

    /// A shortest text to the end of a value.
    fn json_completion(&self, place: u32, inner: &Inner) -> Vec<u8> {
        let mut text = Vec::new();
        if let Some((terminal, state)) = self.json_state(place, inner)
            && let Some(automaton) = inner.json(terminal)
        {
            automaton.completion(&state, fsm_index::MAX_COMPLETION, &mut text);
        }
        text
    }

    /// Appends what leads along one part of a way.
    fn say_from(&self, from: From, inner: &Inner, out: &mut Vec<Said>) {
        match from {
            From::Fresh => {}
            From::Lex(state) => {
                let mut text = Vec::new();
                inner.lexer.finish(state, &mut text);
                say(text, out);
            }
            From::Json(place) => say(self.json_completion(place, inner), out),
            From::Finish(_, finish) => {
                let right = &inner.tables.rights[finish.production as usize];
                self.spell(&right[usize::from(finish.dot)..], inner, out);
            }
        }
    }

    /// Appends shortest texts of symbols.
    fn spell(&self, symbols: &[Symbol], inner: &Inner, out: &mut Vec<Said>) {
        let mut open: Vec<Symbol> = symbols.iter().rev().copied().collect();
        while let Some(symbol) = open.pop() {
            match symbol.split() {
                Err(rule) => {
                    let production = inner.tables.best[rule as usize];
                    let right = &inner.tables.rights[production as usize];
                    open.extend(right.iter().rev());
                }
                Ok(terminal) => match &inner.cfg.terminals[terminal as usize].matter {
                    Matter::Table(_) => {
                        let mut text = Vec::new();
                        inner
                            .lexer
                            .finish(inner.lexer.starts[terminal as usize], &mut text);
                        say(text, out);
                    }
                    Matter::Json(automaton) => {
                        let mut text = Vec::new();
                        automaton.completion(
                            &automaton.start(),
                            fsm_index::MAX_COMPLETION,
                            &mut text,
                        );
                        say(text, out);
                    }
                    Matter::Special(special) => out.push(Said::Special(*special)),
                },
            }
        }
    }
}

fn say(text: Vec<u8>, out: &mut Vec<Said>) {
    match out.last_mut() {
        Some(Said::Bytes(before)) => before.extend(text),
        _ => out.push(Said::Bytes(text)),
    }
}
