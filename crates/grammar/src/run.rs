//! What one scratch knows of a grammar's configurations: numbers for contents, and where
//! bytes lead.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::FixedState;
use fsm_index::{ByteAutomaton, ClassId};
use schema_regex::automaton::State as JsonState;

use crate::cfg::Matter;
use crate::machine::Inner;
use crate::stack::{Closing, Nodes};
use crate::state::{NodeRef, Saved};
use crate::text::Reading;

/// Not known yet.
const UNKNOWN: u32 = u32::MAX;
/// Marks the number of a place in JSON.
const JSON: u32 = 1 << 31;

/// A set of states of terminals that have read the same text.
#[derive(Debug)]
pub(crate) struct Lex {
    /// Ascending.
    pub(crate) members: Box<[u32]>,
    /// Terminals that may end here, ascending.
    pub(crate) accepts: Box<[u32]>,
    /// Those of them that end here whatever comes.
    pub(crate) lazy: Box<[u32]>,
    row: Box<[u32]>,
}

/// Stacks between two lexemes.
#[derive(Debug)]
pub(crate) struct Front {
    pub(crate) nodes: Box<[u32]>,
    /// Whether the text may end.
    pub(crate) accepts: bool,
    /// Where the lexemes begin that may come, ignored ones included.
    pub(crate) start: u32,
    /// The same without ignored ones.
    pub(crate) bare: u32,
    /// Terminals of JSON that may come.
    pub(crate) json: Box<[u32]>,
    /// Terminals of special tokens that may come.
    pub(crate) specials: Box<[u32]>,
}

/// Stacks with a lexeme that has begun on top of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Thread {
    /// A [`Lex`], or a place in JSON.
    pub(crate) place: u32,
    pub(crate) front: u32,
}

/// All that a text can have become.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) threads: Box<[Thread]>,
    /// The stacks between lexemes that stand here; 0 if none do.
    pub(crate) fresh: u32,
    /// Under greedy lexing: the stacks if the lexeme ends here.
    ended: u32,
    /// The least height of a node that was looked at for that.
    pub(crate) ended_least: u32,
    /// Under greedy lexing: whether a completion was found.
    pub(crate) life: Life,
    /// The least height of a node that was looked at for that.
    pub(crate) life_least: u32,
    /// By class: where it leads, and the least height of a node that was looked at.
    row: Box<[(u32, u32)]>,
    pub(crate) saved: Option<Arc<Saved>>,
}

/// Whether a configuration can be finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    Unknown,
    Live,
    /// No way to the end was found.
    Stuck,
}

#[derive(Default)]
pub(crate) struct Caches {
    pub(crate) nodes: Nodes,
    pub(crate) lexes: Vec<Lex>,
    lex_ids: HashMap<Box<[u32]>, u32, FixedState>,
    pub(crate) fronts: Vec<Front>,
    front_ids: HashMap<Box<[u32]>, u32, FixedState>,
    pub(crate) configs: Vec<Config>,
    config_ids: HashMap<(Box<[Thread]>, u32), u32, FixedState>,
    /// Stacks behind a lexeme of a thread, with the least height that was looked at.
    shifted: HashMap<(u32, u32), (u32, u32), FixedState>,
    /// The least height that the step that is being computed has looked at.
    looked: u32,
    /// The least height that a walk has looked at.
    pub(crate) least: u32,
    /// The height of the stacks with which the walk began.
    pub(crate) top: u32,
    pub(crate) json: Vec<(u32, JsonState)>,
    json_next: HashMap<(u32, u8), u32, FixedState>,
    json_starts: HashMap<u32, u32>,
    closing: Closing,
    /// What is known of texts, by configuration.
    pub(crate) readings: HashMap<u32, Reading, FixedState>,
    /// By state of a terminal: a class of which any text leads on, with its size.
    pub(crate) free: HashMap<u32, Option<(usize, ClassId)>, FixedState>,
    /// Saved nodes by their address, and by number; the former are kept alive here.
    pub(crate) node_of: HashMap<usize, u32, FixedState>,
    pub(crate) saved_nodes: HashMap<u32, Arc<NodeRef>, FixedState>,
    /// Nodes that are kept alive beside others of the same content.
    pub(crate) also: Vec<Arc<NodeRef>>,
    pub(crate) config_of: HashMap<usize, u32, FixedState>,
    /// About how many bytes all of this takes.
    pub(crate) bytes: usize,
}

impl Caches {
    pub(crate) fn new() -> Caches {
        let mut caches = Caches::default();
        caches.reset();
        caches
    }

    /// Forgets everything.
    pub(crate) fn reset(&mut self) {
        *self = Caches::default();
        // Numbers 0 stand for nothing.
        self.lexes.push(Lex {
            members: Box::default(),
            accepts: Box::default(),
            lazy: Box::default(),
            row: Box::default(),
        });
        self.lex_ids.insert(Box::default(), 0);
        self.fronts.push(Front {
            nodes: Box::default(),
            accepts: false,
            start: 0,
            bare: 0,
            json: Box::default(),
            specials: Box::default(),
        });
        self.front_ids.insert(Box::default(), 0);
        self.add_config(Vec::new(), 0);
    }

    fn add_config(&mut self, threads: Vec<Thread>, fresh: u32) -> u32 {
        let key = (threads.into_boxed_slice(), fresh);
        if let Some(&id) = self.config_ids.get(&key) {
            return id;
        }
        let id = self.configs.len() as u32;
        self.bytes += 200 + 16 * key.0.len();
        self.configs.push(Config {
            threads: key.0.clone(),
            fresh,
            ended: UNKNOWN,
            ended_least: u32::MAX,
            life: Life::Unknown,
            life_least: u32::MAX,
            row: Box::default(),
            saved: None,
        });
        self.config_ids.insert(key, id);
        id
    }

    pub(crate) fn lex(&mut self, mut members: Vec<u32>, inner: &Inner) -> u32 {
        members.sort_unstable();
        members.dedup();
        let members = members.into_boxed_slice();
        if let Some(&id) = self.lex_ids.get(&members) {
            return id;
        }
        let lexer = &inner.lexer;
        let ends = members
            .iter()
            .filter(|&&state| lexer.accepting[state as usize]);
        let mut accepts: Vec<u32> = ends.map(|&state| lexer.terminal[state as usize]).collect();
        accepts.sort_unstable();
        accepts.dedup();
        let is_lazy = |terminal: &&u32| inner.cfg.terminals[**terminal as usize].is_lazy;
        let lazy = accepts.iter().filter(is_lazy).copied().collect();
        let id = self.lexes.len() as u32;
        self.bytes += 150 + 8 * members.len();
        self.lexes.push(Lex {
            members: members.clone(),
            accepts: accepts.into(),
            lazy,
            row: Box::default(),
        });
        self.lex_ids.insert(members, id);
        id
    }

    pub(crate) fn lex_step(&mut self, lex: u32, class: u8, inner: &Inner) -> u32 {
        if lex == 0 {
            return 0;
        }
        let known = self.lexes[lex as usize].row.get(usize::from(class));
        if let Some(&known) = known
            && known != UNKNOWN
        {
            return known;
        }
        let members = self.lexes[lex as usize].members.iter();
        let next = members.map(|&state| inner.lexer.step(state, class));
        let next = self.lex(next.filter(|&state| state != 0).collect(), inner);
        let row = &mut self.lexes[lex as usize].row;
        if row.is_empty() {
            *row = vec![UNKNOWN; inner.lexer.width()].into();
            self.bytes += 4 * inner.lexer.width();
        }
        row[usize::from(class)] = next;
        next
    }

    /// The stacks with these topmost nodes.
    pub(crate) fn front(&mut self, nodes: Vec<u32>, inner: &Inner) -> u32 {
        let nodes = nodes.into_boxed_slice();
        if let Some(&id) = self.front_ids.get(&nodes) {
            return id;
        }
        let mut accepts = false;
        let mut terminals = Vec::new();
        for &node in &nodes {
            let state = &inner.tables.states[self.nodes.get(node).state as usize];
            accepts |= state.accepts;
            terminals.extend(state.shifts.iter().map(|shift| shift.0));
        }
        terminals.sort_unstable();
        terminals.dedup();
        let (mut json, mut specials, mut members) = (Vec::new(), Vec::new(), Vec::new());
        let mut ignored = Vec::new();
        let cfg = &inner.cfg;
        for &terminal in &terminals {
            ignored.extend(cfg.ignored[cfg.terminals[terminal as usize].domain as usize]);
            match cfg.terminals[terminal as usize].matter {
                Matter::Table(_) => members.push(inner.lexer.starts[terminal as usize]),
                Matter::Json(_) => json.push(terminal),
                Matter::Special(_) => specials.push(terminal),
            }
        }
        if accepts && cfg.trailing_skip {
            ignored.extend(cfg.ignored.first().copied().flatten());
        }
        let bare = self.lex(members.clone(), inner);
        members.extend(ignored.iter().map(|&i| inner.lexer.starts[i as usize]));
        let start = self.lex(members, inner);
        let id = self.fronts.len() as u32;
        self.bytes += 200 + 12 * nodes.len();
        self.fronts.push(Front {
            nodes: nodes.clone(),
            accepts,
            start,
            bare,
            json: json.into(),
            specials: specials.into(),
        });
        self.front_ids.insert(nodes, id);
        id
    }

    /// The configuration before the first byte.
    pub(crate) fn begin(&mut self, inner: &Inner) -> u32 {
        let bottom = self.nodes.intern(0, Vec::new());
        let front = self.front(vec![bottom], inner);
        let mut threads = Vec::new();
        self.begin_lexemes(front, inner.cfg.initial_skip, &mut threads, inner);
        self.intern(threads, front)
    }

    /// The configuration between two lexemes.
    pub(crate) fn between(&mut self, front: u32, inner: &Inner) -> u32 {
        let mut threads = Vec::new();
        self.begin_lexemes(front, true, &mut threads, inner);
        self.intern(threads, front)
    }

    fn begin_lexemes(&mut self, front: u32, skips: bool, out: &mut Vec<Thread>, inner: &Inner) {
        let own = &self.fronts[front as usize];
        let place = if skips { own.start } else { own.bare };
        if place != 0 {
            out.push(Thread { place, front });
        }
        for at in 0..own.json.len() {
            let terminal = self.fronts[front as usize].json[at];
            let place = match self.json_starts.get(&terminal) {
                Some(&place) => place,
                None => {
                    let Matter::Json(automaton) = &inner.cfg.terminals[terminal as usize].matter
                    else {
                        continue;
                    };
                    let place = self.json_place(terminal, automaton.start());
                    self.json_starts.insert(terminal, place);
                    place
                }
            };
            out.push(Thread { place, front });
        }
    }

    pub(crate) fn json_place(&mut self, terminal: u32, state: JsonState) -> u32 {
        self.json.push((terminal, state));
        self.bytes += 300;
        JSON | (self.json.len() as u32 - 1)
    }

    pub(crate) fn intern(&mut self, mut threads: Vec<Thread>, fresh: u32) -> u32 {
        threads.sort_unstable();
        threads.dedup();
        self.add_config(threads, fresh)
    }

    fn json_step(&mut self, place: u32, byte: u8, inner: &Inner) -> u32 {
        if let Some(&next) = self.json_next.get(&(place, byte)) {
            return next;
        }
        let (terminal, state) = &self.json[(place & !JSON) as usize];
        let terminal = *terminal;
        let Matter::Json(automaton) = &inner.cfg.terminals[terminal as usize].matter else {
            return 0;
        };
        let mut next = state.clone();
        let mut scratch = inner.json_scratch(terminal, automaton);
        let is_alive = automaton.advance(&mut next, &[byte], &mut scratch).is_ok();
        inner.give_json_scratch(terminal, scratch);
        let next = match is_alive {
            false => 0,
            true if *state == next => place,
            true => self.json_place(terminal, next),
        };
        self.bytes += 40;
        self.json_next.insert((place, byte), next);
        next
    }

    fn json_accepts(&self, place: u32, inner: &Inner) -> Option<u32> {
        let (terminal, state) = &self.json[(place & !JSON) as usize];
        match &inner.cfg.terminals[*terminal as usize].matter {
            Matter::Json(automaton) if automaton.is_accepting(state) => Some(*terminal),
            _ => None,
        }
    }

    /// The JSON state that a thread stands in, if in one.
    pub(crate) fn json_of(&self, place: u32) -> Option<&(u32, JsonState)> {
        (place & JSON != 0).then(|| &self.json[(place & !JSON) as usize])
    }

    /// Where a byte leads: to number 0 if no text goes on so.
    #[inline]
    pub(crate) fn step(&mut self, config: u32, byte: u8, inner: &Inner) -> u32 {
        let next = self.raw_step(config, byte, inner);
        match inner.checks_live && next != 0 && !self.is_live(next, inner) {
            true => 0,
            false => next,
        }
    }

    /// Where a byte leads, whether or not greedy lexing lets that be finished.
    #[inline]
    pub(crate) fn raw_step(&mut self, config: u32, byte: u8, inner: &Inner) -> u32 {
        let class = inner.lexer.classes[usize::from(byte)];
        match self.configs[config as usize].row.get(usize::from(class)) {
            Some(&(next, looked)) if next != UNKNOWN => {
                self.least = self.least.min(looked);
                next
            }
            _ => self.long_step(config, byte, class, inner),
        }
    }

    /// A step that is not known.
    #[inline(never)]
    fn long_step(&mut self, config: u32, byte: u8, class: u8, inner: &Inner) -> u32 {
        self.looked = u32::MAX;
        let next = match inner.cfg.is_greedy {
            true => self.step_greedy(config, byte, class, inner),
            false => self.step_splits(config, byte, class, inner),
        };
        let looked = std::mem::replace(&mut self.looked, u32::MAX);
        self.least = self.least.min(looked);
        let row = &mut self.configs[config as usize].row;
        if row.is_empty() {
            *row = vec![(UNKNOWN, u32::MAX); inner.lexer.width()].into();
            self.bytes += 8 * inner.lexer.width();
        }
        row[usize::from(class)] = (next, looked);
        next
    }

    /// Puts a terminal on each stack of a front that takes it.
    fn shift(&mut self, front: u32, terminal: u32, closing: &mut Closing, inner: &Inner) {
        let is_ignored = inner.cfg.ignored.contains(&Some(terminal));
        for &node in &self.fronts[front as usize].nodes {
            if is_ignored {
                closing.add_node(node);
            } else if let Some(to) =
                inner.tables.states[self.nodes.get(node).state as usize].shift(terminal)
            {
                closing.add(to, node);
            }
        }
    }

    fn close(&mut self, closing: &mut Closing, inner: &Inner) -> u32 {
        if closing.is_empty() {
            return 0;
        }
        let before = self.nodes.len();
        let top = closing.close(&inner.tables, &mut self.nodes);
        self.bytes += 120 * (self.nodes.len() - before);
        let front = self.front(top, inner);
        self.looked = self.looked.min(closing.least);
        closing.clear();
        front
    }

    /// The stacks behind the lexemes that end in some places of one front.
    fn behind(&mut self, ends: &[(u32, u32)], inner: &Inner) -> u32 {
        let mut closing = std::mem::take(&mut self.closing);
        closing.clear();
        for &(front, terminal) in ends {
            self.shift(front, terminal, &mut closing, inner);
        }
        let front = self.close(&mut closing, inner);
        self.closing = closing;
        front
    }

    fn step_splits(&mut self, config: u32, byte: u8, class: u8, inner: &Inner) -> u32 {
        let mut threads = Vec::new();
        let mut ends: Vec<(u32, u32)> = Vec::new();
        let mut only = None;
        for at in 0..self.configs[config as usize].threads.len() {
            let Thread { place, front } = self.configs[config as usize].threads[at];
            if place & JSON != 0 {
                let next = self.json_step(place, byte, inner);
                if next != 0 {
                    threads.push(Thread { place: next, front });
                    ends.extend(
                        self.json_accepts(next, inner)
                            .map(|terminal| (front, terminal)),
                    );
                    only = Some((0, 0));
                }
                continue;
            }
            let next = self.lex_step(place, class, inner);
            if next == 0 {
                continue;
            }
            let lex = &self.lexes[next as usize];
            let terminals = match lex.lazy.is_empty() {
                true => {
                    threads.push(Thread { place: next, front });
                    &lex.accepts
                }
                // It ends here, and nothing else that began with it goes on.
                false => &lex.lazy,
            };
            if !terminals.is_empty() {
                only = match only {
                    None => Some((next, front)),
                    Some(_) => Some((0, 0)),
                };
                ends.extend(terminals.iter().map(|&terminal| (front, terminal)));
            }
        }
        let fresh = match only {
            Some((next, front)) if next != 0 => match self.shifted.get(&(next, front)) {
                Some(&(fresh, least)) => {
                    self.looked = self.looked.min(least);
                    fresh
                }
                None => {
                    let before = std::mem::replace(&mut self.looked, u32::MAX);
                    let fresh = self.behind(&ends, inner);
                    self.shifted.insert((next, front), (fresh, self.looked));
                    self.bytes += 32;
                    self.looked = self.looked.min(before);
                    fresh
                }
            },
            _ if ends.is_empty() => 0,
            _ => self.behind(&ends, inner),
        };
        if fresh != 0 {
            self.begin_lexemes(fresh, true, &mut threads, inner);
        }
        self.intern(threads, fresh)
    }

    /// Lexemes that have begun go on.
    fn go_on(&mut self, threads: &[Thread], byte: u8, class: u8, inner: &Inner) -> u32 {
        let mut next_threads = Vec::new();
        for &Thread { place, front } in threads {
            if place & JSON != 0 {
                let next = self.json_step(place, byte, inner);
                if next != 0 {
                    next_threads.push(Thread { place: next, front });
                }
                continue;
            }
            let next = self.lex_step(place, class, inner);
            if next == 0 {
                continue;
            }
            if !self.lexes[next as usize].lazy.is_empty() {
                let lazy = self.lexes[next as usize].lazy.clone();
                let ends: Vec<(u32, u32)> =
                    lazy.iter().map(|&terminal| (front, terminal)).collect();
                let fresh = self.behind(&ends, inner);
                return self.between(fresh, inner);
            }
            next_threads.push(Thread { place: next, front });
        }
        self.intern(next_threads, 0)
    }

    fn step_greedy(&mut self, config: u32, byte: u8, class: u8, inner: &Inner) -> u32 {
        let threads = self.configs[config as usize].threads.clone();
        let next = self.go_on(&threads, byte, class, inner);
        if next != 0 {
            return next;
        }
        let front = self.ended(config, inner);
        if front == 0 {
            return 0;
        }
        let mut threads = Vec::new();
        self.begin_lexemes(front, true, &mut threads, inner);
        self.go_on(&threads, byte, class, inner)
    }

    /// Under greedy lexing: the stacks if the lexeme ends here; 0 if none can.
    pub(crate) fn ended(&mut self, config: u32, inner: &Inner) -> u32 {
        let own = &self.configs[config as usize];
        if own.ended != UNKNOWN {
            self.looked = self.looked.min(own.ended_least);
            return own.ended;
        }
        let mut ends = Vec::new();
        for &Thread { place, front } in &own.threads {
            if place & JSON != 0 {
                ends.extend(
                    self.json_accepts(place, inner)
                        .map(|terminal| (front, terminal)),
                );
            } else {
                let accepts = self.lexes[place as usize].accepts.iter();
                ends.extend(accepts.map(|&terminal| (front, terminal)));
            }
        }
        let before = std::mem::replace(&mut self.looked, u32::MAX);
        let front = if ends.is_empty() {
            0
        } else {
            self.behind(&ends, inner)
        };
        self.configs[config as usize].ended = front;
        self.configs[config as usize].ended_least = self.looked;
        self.looked = self.looked.min(before);
        front
    }

    /// The stacks that stand between lexemes if nothing more comes; 0 if none do.
    pub(crate) fn standing(&mut self, config: u32, inner: &Inner) -> u32 {
        match self.configs[config as usize].fresh {
            0 if inner.cfg.is_greedy => self.ended(config, inner),
            fresh => fresh,
        }
    }

    /// Whether the text may end here.
    pub(crate) fn is_accepting(&mut self, config: u32, inner: &Inner) -> bool {
        let front = self.standing(config, inner);
        self.fronts[front as usize].accepts
    }

    /// Behind a special token; 0 if it may not come.
    pub(crate) fn step_special(&mut self, config: u32, special: u32, inner: &Inner) -> u32 {
        let front = self.standing(config, inner);
        let named = |terminal: &&u32| matches!(inner.cfg.terminals[**terminal as usize].matter, Matter::Special(s) if s == special);
        let terminals = self.fronts[front as usize].specials.iter().filter(named);
        let ends: Vec<(u32, u32)> = terminals.map(|&terminal| (front, terminal)).collect();
        if ends.is_empty() {
            return 0;
        }
        self.looked = u32::MAX;
        let front = self.behind(&ends, inner);
        self.least = self
            .least
            .min(std::mem::replace(&mut self.looked, u32::MAX));
        self.between(front, inner)
    }
}
