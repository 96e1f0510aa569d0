//! Greedy lexing can forbid what must come: a lexeme that has to take the next byte takes it from
//! the one that should begin there. True if a configuration can be finished all the same is proved
//! when the grammar is compiled (`greedy/proof.rs`), for most grammars of all configurations, else
//! of those with some states on top; a search tells of the others.

mod json;
pub(crate) mod proof;
mod sets;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet, VecDeque};

use foldhash::fast::FixedState;

use crate::machine::Inner;
use crate::run::caches::{Caches, JSON, Life, Thread};
use crate::run::finish::Said;

/// Configurations that one search looks at: where none of so many leads to the end, what
/// was asked for is refused.
const MAX_SEARCH: usize = 300;

impl Caches {
    /// Tells whether a configuration can be finished.
    #[inline]
    pub(crate) fn is_live(&mut self, config: u32, inner: &Inner) -> bool {
        let own = &self.configs[config];
        let life = own.life;
        self.least = self.least.min(own.life_least);
        match life {
            Life::Live => true,
            Life::Stuck => false,
            Life::Unknown => self.find_life(config, inner),
        }
    }

    #[inline(never)]
    fn find_life(&mut self, config: u32, inner: &Inner) -> bool {
        if self.lives_by_top(config, inner) {
            self.configs[config].life = Life::Live;
            return true;
        }
        let before = std::mem::replace(&mut self.least, u32::MAX);
        let mut found = None;
        if !self.has_no_json(config) {
            // Values have many texts, of which the shortest mostly leads on.
            self.look_everywhere();
            let way = self.way(config, inner);
            found = way.filter(|way| self.leads_to_end(config, way, inner));
        }
        let found = found.is_some()
            || self.search(config, inner).unwrap_or_else(|| {
                // Far away.
                self.look_everywhere();
                self.greedy_way(config, inner).is_some()
            });
        let looked = self.least;
        self.least = before.min(looked);
        let own = &mut self.configs[config];
        own.life = if found { Life::Live } else { Life::Stuck };
        own.life_least = looked;
        found
    }

    /// All of the stacks, and of the values, are looked at.
    fn look_everywhere(&mut self) {
        self.least = 0;
        self.walk.has_looked_everywhere = true;
    }

    /// Tells whether a way is open, to its end.
    fn leads_to_end(&mut self, config: u32, way: &[Said], inner: &Inner) -> bool {
        let (furthest, done) = self.follow(config, way, inner);
        done == way && self.is_accepting(furthest, inner)
    }

    /// Tells whether what is begun ends in a state from which every stack can be finished.
    fn lives_by_top(&mut self, config: u32, inner: &Inner) -> bool {
        let threads = self.configs.threads(config).to_vec();
        threads
            .iter()
            .any(|&thread| self.thread_lives(thread, inner))
    }

    fn thread_lives(&mut self, Thread { place, front }: Thread, inner: &Inner) -> bool {
        if place & JSON != 0 {
            return self.safe_behind(front, self.json_terminal(place), inner);
        }
        for at in 0..self.lexes[place as usize].members.len() {
            let mut state = self.lexes[place as usize].members[at];
            let terminal = inner.lexer.terminal[state as usize];
            if !self.safe_behind(front, terminal, inner) {
                continue;
            }
            if !inner.proof.has_lazy {
                return true;
            }
            // A lexeme that ends at its first end may cut it short.
            let mut lex = place;
            let mut is_cut = false;
            while !is_cut
                && inner.lexer.distance[state as usize] != 0
                && let Some((next, class)) = inner.lexer.nearer(state)
            {
                state = next;
                lex = self.lex_step(lex, class, inner);
                let lazy = &self.lexes[lex as usize].lazy;
                is_cut = !lazy.is_empty() && !lazy.contains(&terminal);
            }
            if !is_cut {
                return true;
            }
        }
        false
    }

    /// Tells whether some stack of a front can be finished, whatever is below, once a terminal has
    /// come there.
    pub(crate) fn safe_behind(&self, front: u32, terminal: u32, inner: &Inner) -> bool {
        let is_ignored = inner.cfg.is_ignored(terminal);
        let nodes = self.fronts.nodes(front);
        nodes.iter().any(|&node| {
            let state = self.nodes.get(node).state;
            match inner.tables.states[state as usize].shift(terminal) {
                _ if is_ignored => inner.proof.is_safe(state),
                Some(to) => inner.proof.is_safe(to),
                None => false,
            }
        })
    }

    /// Tells whether something near can be finished; nothing if it is too far to be told so.
    fn search(&mut self, config: u32, inner: &Inner) -> Option<bool> {
        let mut seen: HashSet<u32, FixedState> = HashSet::from_iter([config]);
        let mut open = VecDeque::from([config]);
        while let Some(at) = open.pop_front() {
            let ends = self.ends_at(at, inner);
            if ends {
                return Some(true);
            }
            for said in everything(inner) {
                let next = self.say(at, &said, inner);
                if next == 0 || !seen.insert(next) {
                    continue;
                }
                let own = &self.configs[next];
                let (life, least) = (own.life, own.life_least);
                if life != Life::Unknown {
                    self.least = self.least.min(least);
                } else if self.lives_by_top(next, inner) {
                    self.configs[next].life = Life::Live;
                } else {
                    open.push_back(next);
                }
                if self.configs[next].life == Life::Live {
                    return Some(true);
                }
            }
            if seen.len() > MAX_SEARCH {
                return None;
            }
        }
        Some(false)
    }

    fn say(&mut self, config: u32, said: &Said, inner: &Inner) -> u32 {
        match said {
            Said::Bytes(bytes) => bytes.iter().fold(config, |at, &byte| match at {
                0 => 0,
                at => self.raw_step(at, byte, inner),
            }),
            Said::Special(special) => self.step_special(config, *special, inner),
        }
    }

    /// A short way to the end that greedy lexing leaves open.
    pub(crate) fn greedy_way(&mut self, config: u32, inner: &Inner) -> Option<Vec<Said>> {
        let mut open = BinaryHeap::new();
        let mut before: HashMap<u32, (u32, Vec<Said>), FixedState> = HashMap::default();
        let mut ways: HashMap<u32, Vec<Said>, FixedState> = HashMap::default();
        let first = self.way(config, inner)?;
        open.push((Reverse(length(&first)), 0usize, config));
        before.insert(config, (config, Vec::new()));
        ways.insert(config, first);
        let mut looked_at = 0;
        while let Some((_, gone, at)) = open.pop() {
            let Some(way) = ways.remove(&at) else {
                continue;
            };
            let (furthest, done) = self.follow(at, &way, inner);
            if done == way && self.is_accepting(furthest, inner) {
                let mut pieces = vec![way];
                let mut on = at;
                while on != config {
                    let (from, said) = &before[&on];
                    pieces.push(said.clone());
                    on = *from;
                }
                return Some(joined(pieces.into_iter().rev().flatten()));
            }
            looked_at += 1;
            if looked_at > MAX_SEARCH || self.configs[at].life == Life::Stuck {
                continue;
            }
            let mut offer = |this: &mut Caches, next: u32, said: Vec<Said>| {
                if next == 0 || before.contains_key(&next) {
                    return;
                }
                let Some(way) = this.way(next, inner) else {
                    return;
                };
                let gone = gone + length(&said);
                before.insert(next, (at, said));
                open.push((Reverse(gone + length(&way)), gone, next));
                ways.insert(next, way);
            };
            // Where the way ends something else may come between.
            offer(self, furthest, done);
            for said in everything(inner) {
                let next = self.say(at, &said, inner);
                offer(self, next, vec![said]);
            }
        }
        None
    }

    /// Goes along a way as far as it is open: where that leads, and what was said.
    pub(crate) fn follow(&mut self, config: u32, way: &[Said], inner: &Inner) -> (u32, Vec<Said>) {
        let mut at = config;
        let mut done = Vec::new();
        for said in way {
            match said {
                Said::Bytes(bytes) => {
                    for (offset, &byte) in bytes.iter().enumerate() {
                        let next = self.raw_step(at, byte, inner);
                        if next == 0 {
                            if offset > 0 {
                                done.push(Said::Bytes(bytes[..offset].to_vec()));
                            }
                            return (at, done);
                        }
                        at = next;
                    }
                }
                Said::Special(special) => {
                    let next = self.step_special(at, *special, inner);
                    if next == 0 {
                        return (at, done);
                    }
                    at = next;
                }
            }
            done.push(said.clone());
        }
        (at, done)
    }
}

/// Each byte of a class, and each special token.
fn everything(inner: &Inner) -> impl Iterator<Item = Said> {
    let bytes = inner.lexer.bytes.iter();
    let specials = (0..inner.cfg.specials.len() as u32).map(Said::Special);
    bytes.map(|&byte| Said::Bytes(vec![byte])).chain(specials)
}

fn length(way: &[Said]) -> usize {
    let lengths = way.iter().map(|said| match said {
        Said::Bytes(bytes) => bytes.len(),
        Said::Special(_) => 1,
    });
    lengths.sum()
}

fn joined(pieces: impl Iterator<Item = Said>) -> Vec<Said> {
    let mut out: Vec<Said> = Vec::new();
    for piece in pieces {
        match (out.last_mut(), piece) {
            (Some(Said::Bytes(before)), Said::Bytes(bytes)) => before.extend(bytes),
            (_, piece) => out.push(piece),
        }
    }
    out
}
