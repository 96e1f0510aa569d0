//! Shortest ways to the end (Dijkstra 1959, over a parser's states on top of nodes).
//!
//! For example, behind `(1 +` of a sum the way has a shortest number, and what finishes the group
//! that is open below.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use foldhash::fast::FixedState;
use fsm_index::ByteAutomaton;
use schema_regex::automaton::{SchemaAutomaton, State as JsonState};

use crate::compile::cfg::{Matter, Symbol};
use crate::compile::lr::Finish;
use crate::machine::Machine;
use crate::run::caches::Caches;
use crate::run::step::Steps;

/// The work of a place that is offered, because it is looked up as an edge is.
const OFFER_WORK: usize = 1;

/// A piece of a way to the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Bytes(Vec<u8>),
    Special(u32),
}

/// The step by which a place on the way was reached.
#[derive(Clone, Copy)]
enum From {
    /// By the end of a lexeme that has begun: in an automaton, or in JSON.
    Lex(u32),
    Json(u32),
    /// It stands there.
    Fresh,
    /// By what finishes a nonterminal, from another place.
    Finish(StackPlace, Finish),
}

/// A state on top of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct StackPlace {
    state: u32,
    parent: u32,
}

/// A search for a shortest way: each place is settled once.
struct Ways<'a> {
    machine: &'a Machine,
    caches: &'a mut Caches,
    /// The places that were offered, however often, and what was below others.
    work: usize,
    froms: HashMap<StackPlace, From, FixedState>,
    costs: HashMap<StackPlace, u32, FixedState>,
    open: BinaryHeap<Reverse<(u32, StackPlace)>>,
    /// The cheapest way to the bottom, behind which the whole text comes.
    whole: Option<(u32, From)>,
}

/// Returns a shortest way from a configuration to the end if every split counts, by pieces;
/// under greedy lexing it may be none, but no way is shorter.
pub(crate) fn way(machine: &Machine, caches: &mut Caches, config: u32) -> Option<Vec<Said>> {
    let standing = Steps::new(machine, caches).standing(config);
    let mut ways = Ways {
        machine,
        caches,
        work: 0,
        froms: HashMap::default(),
        costs: HashMap::default(),
        open: BinaryHeap::new(),
        whole: None,
    };
    for node in ways.caches.stacks().topmost(standing).to_vec() {
        ways.stay(node, 0, From::Fresh);
    }
    ways.begin(config);
    let goal = ways.settle();
    let (way, work) = (ways.told(goal), ways.work);
    ways.caches.work_mut().charge(work);
    way
}

impl Ways<'_> {
    fn offer(&mut self, place: StackPlace, cost: u32, from: From) {
        self.work += OFFER_WORK;
        let known = self.costs.entry(place).or_insert(u32::MAX);
        if cost < *known {
            *known = cost;
            self.froms.insert(place, from);
            self.open.push(Reverse((cost, place)));
        }
    }

    /// Offers a node that stands there.
    fn stay(&mut self, node: u32, cost: u32, from: From) {
        let stacks = self.caches.stacks();
        let (state, parents) = (stacks.node(node).state, stacks.parents(node).to_vec());
        if parents.is_empty() {
            let tables = self.machine.tables();
            let cost = cost.saturating_add(tables.least[tables.whole as usize]);
            if self.whole.is_none_or(|known| cost < known.0) {
                self.whole = Some((cost, from));
            }
        }
        for parent in parents {
            self.offer(StackPlace { state, parent }, cost, from);
        }
    }

    /// Offers what a terminal leads to on top of a front.
    fn shift(&mut self, front: u32, terminal: u32, cost: u32, from: From) {
        let is_ignored = self.machine.cfg().is_ignored(terminal);
        for parent in self.caches.stacks().topmost(front).to_vec() {
            let state = self.caches.stacks().node(parent).state;
            if is_ignored {
                self.stay(parent, cost, from);
            } else if let Some(state) = self.machine.tables().states[state as usize].shift(terminal)
            {
                self.offer(StackPlace { state, parent }, cost, from);
            }
        }
    }

    /// Offers the ends of all lexemes that have begun.
    fn begin(&mut self, config: u32) {
        let lexer = self.machine.lexer();
        for thread in self.caches.configs().threads(config).to_vec() {
            if thread.is_in_json() {
                let text = json_text(
                    self.caches.json().state(thread.place, self.machine),
                    self.machine,
                );
                let terminal = self.caches.json().terminal(thread.place);
                let cost = text.len() as u32;
                self.shift(thread.front, terminal, cost, From::Json(thread.place));
                continue;
            }
            for state in self.caches.lexes()[thread.place].members.clone() {
                let terminal = lexer.terminal[state as usize];
                let cost = lexer.distance[state as usize];
                self.shift(thread.front, terminal, cost, From::Lex(state));
            }
        }
    }

    /// Settles places by their costs up to the end. Returns the last one, if the way does not lead
    /// by the bottom.
    fn settle(&mut self) -> Option<StackPlace> {
        let tables = self.machine.tables();
        let mut bases = Vec::new();
        while let Some(Reverse((cost, place))) = self.open.pop() {
            if self.whole.is_some_and(|whole| whole.0 <= cost) {
                return None;
            }
            if self.costs.get(&place).is_some_and(|&known| known < cost) {
                continue;
            }
            let state = &tables.states[place.state as usize];
            if state.accepts {
                return Some(place);
            }
            for &finish in &state.finishes {
                if finish.held == 0 {
                    continue;
                }
                let cost = cost.saturating_add(finish.cost);
                let stacks = self.caches.stacks_mut();
                stacks.below(place.parent, finish.held - 1, &mut bases);
                self.work += bases.len();
                for &parent in &bases {
                    let below = self.caches.stacks().node(parent).state;
                    if let Some(state) = tables.states[below as usize].goto(finish.rule) {
                        self.offer(
                            StackPlace { state, parent },
                            cost,
                            From::Finish(place, finish),
                        );
                    }
                }
            }
        }
        None
    }

    /// Returns the way that was found, by pieces.
    fn told(&self, goal: Option<StackPlace>) -> Option<Vec<Said>> {
        let mut out = Vec::new();
        let Some(mut at) = goal else {
            // Only from the bottom, or from nowhere.
            self.say_from(self.whole?.1, &mut out);
            let whole = Symbol::rule(self.machine.tables().whole);
            spell(self.machine, &[whole], &mut out);
            return Some(out);
        };
        let mut parts: Vec<From> = Vec::new();
        while let Some(&from) = self.froms.get(&at) {
            parts.push(from);
            match from {
                From::Finish(before, _) => at = before,
                _ => break,
            }
        }
        for from in parts.into_iter().rev() {
            self.say_from(from, &mut out);
        }
        Some(out)
    }

    /// Appends what leads along one part of a way.
    fn say_from(&self, from: From, out: &mut Vec<Said>) {
        match from {
            From::Fresh => {}
            From::Lex(state) => say(finished(self.machine, state), out),
            From::Json(place) => {
                let state = self.caches.json().state(place, self.machine);
                say(json_text(state, self.machine), out);
            }
            From::Finish(_, finish) => {
                let right = &self.machine.tables().rights[finish.production as usize];
                spell(self.machine, &right[usize::from(finish.dot)..], out);
            }
        }
    }
}

/// Returns a shortest text to the end of a terminal.
pub(super) fn finished(machine: &Machine, state: u32) -> Vec<u8> {
    let mut text = Vec::new();
    machine.lexer().finish(state, &mut text);
    text
}

/// Returns the terminals of a shortest text of symbols.
pub(super) fn shortest<'a>(
    machine: &'a Machine,
    symbols: &[Symbol],
) -> impl Iterator<Item = u32> + use<'a> {
    let tables = machine.tables();
    let mut open: Vec<Symbol> = symbols.iter().rev().copied().collect();
    std::iter::from_fn(move || {
        loop {
            match open.pop()?.split() {
                // A rule that may be empty is left out, however many use it.
                Err(rule) if tables.least[rule as usize] == 0 => {}
                Err(rule) => {
                    let production = tables.best[rule as usize];
                    open.extend(tables.rights[production as usize].iter().rev());
                }
                Ok(terminal) => return Some(terminal),
            }
        }
    })
}

/// Appends shortest texts of symbols.
pub(crate) fn spell(machine: &Machine, symbols: &[Symbol], out: &mut Vec<Said>) {
    for terminal in shortest(machine, symbols) {
        match &machine.cfg().terminals[terminal as usize].matter {
            Matter::Table(_) => {
                let start = machine.lexer().starts[terminal as usize];
                say(finished(machine, start), out);
            }
            Matter::Json(automaton) => say(completed(automaton, &automaton.start()), out),
            Matter::Special(special) => out.push(Said::Special(*special)),
        }
    }
}

/// Returns a shortest text to the end of a value; none where that is not known.
fn json_text(state: Option<(u32, JsonState)>, machine: &Machine) -> Vec<u8> {
    let automaton = state.and_then(|(terminal, state)| Some((machine.json(terminal)?, state)));
    automaton.map_or_else(Vec::new, |(automaton, state)| completed(automaton, &state))
}

fn completed(automaton: &SchemaAutomaton, state: &JsonState) -> Vec<u8> {
    let mut text = Vec::new();
    automaton.completion(state, fsm_index::MAX_COMPLETION, &mut text);
    text
}

/// Appends a text to a way.
fn say(text: Vec<u8>, out: &mut Vec<Said>) {
    match out.last_mut() {
        Some(Said::Bytes(before)) => before.extend(text),
        _ => out.push(Said::Bytes(text)),
    }
}
