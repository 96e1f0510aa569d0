//! Steps that leave a way to the end.
//!
//! Greedy lexing can forbid what must come: a lexeme that has to take the next byte takes it from
//! the one that should begin there. That a configuration can be finished all the same is proved
//! when the grammar is compiled (`proof/`), for most grammars of all configurations, else of those
//! with some states on top; a search tells of the others. For example, behind the name of
//! `start: /[a-z]+/ "x"` nothing is left that `"x"` could take, and the grammar is refused.

mod near;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

use foldhash::fast::FixedState;

use crate::completion::ways::{Said, way};
use crate::machine::Machine;
use crate::run::budgets::Taken;
use crate::run::caches::Caches;
use crate::run::configs::{Life, Thread};
use crate::run::step::Steps;

/// Configurations that one search looks at before it has closed something that was open, or the
/// whole text. If none of them leads there, what was asked for is refused, because a mask must not
/// wait for longer searches.
const MAX_SEARCH: usize = 300;

/// The same where a completion is asked for, because some hundred do not lead out of each of three
/// strings in brackets in strings, and nobody asks for one at each token.
pub(crate) const MAX_COMPLETION_SEARCH: usize = 5_000;

/// The longest text that is remembered because it led on, in bytes: few of Ruby's and Elixir's are longer, and to read one
/// takes as long as a search.
const MAX_LED_ON: usize = 64;

/// The bytes that a search tries in the time of an edge, because most of their steps are known.
const TRIES_OF_AN_EDGE: usize = 8;

/// The place that a search for the end looks at next.
#[derive(Clone, Copy)]
enum Order {
    /// The place by which the whole way is shortest.
    Shortest,
    /// The place from which the end is nearest, among those before which most of what was open is
    /// closed. A search for the shortest way would look at all ways that are as long, if each word
    /// needs a blank that the estimate does not know of, as in `end loop; end Lager;` of Ada; and
    /// one for the nearest end alone would begin anew on each level what it tried on the one above.
    Nearest,
}

/// A place that a search passes.
struct Passed {
    config: u32,
    /// The number of the one before it.
    before: usize,
    /// The byte that led from there; `None` at the first place, and behind special tokens.
    byte: Option<u8>,
}

impl Passed {
    fn first(config: u32) -> Passed {
        Passed {
            config,
            before: 0,
            byte: None,
        }
    }
}

/// Steps from configurations of a scratch to those that can be finished.
pub(crate) struct Live<'a> {
    machine: &'a Machine,
    caches: &'a mut Caches,
}

impl<'a> Live<'a> {
    #[inline]
    pub(crate) fn new(machine: &'a Machine, caches: &'a mut Caches) -> Self {
        Live { machine, caches }
    }

    #[inline]
    fn steps(&mut self) -> Steps<'_> {
        Steps::new(self.machine, self.caches)
    }

    /// Returns the configuration behind a byte: number 0 if no text goes on so.
    #[inline]
    pub(crate) fn step(&mut self, config: u32, byte: u8) -> u32 {
        let next = self.steps().step(config, byte);
        self.if_live(next)
    }

    /// Returns the configuration behind a special token; 0 if no text goes on so.
    pub(crate) fn step_special(&mut self, config: u32, special: u32) -> u32 {
        let next = self.steps().step_special(config, special);
        self.if_live(next)
    }

    /// Returns a configuration, or 0 if it cannot be finished.
    #[inline]
    fn if_live(&mut self, config: u32) -> u32 {
        match self.machine.checks_live() && config != 0 && !self.is_live(config) {
            true => 0,
            false => config,
        }
    }

    /// Returns the configuration behind bytes that are committed, or the number of those that may
    /// come.
    pub(crate) fn advance(&mut self, config: u32, bytes: &[u8]) -> Result<u32, usize> {
        if let Some(next) = self.advance_json(config, bytes) {
            return Ok(next);
        }
        let mut at = config;
        for (offset, &byte) in bytes.iter().enumerate() {
            at = self.step(at, byte);
            if at == 0 {
                return Err(offset);
            }
        }
        Ok(at)
    }

    /// The same for a grammar in which lexemes have budgets of tokens.
    pub(crate) fn advance_counting(
        &mut self,
        config: u32,
        bytes: &[u8],
        taken: &mut Taken,
    ) -> Result<u32, usize> {
        let mut at = config;
        for (offset, &byte) in bytes.iter().enumerate() {
            let next = self.step(at, byte);
            if next == 0 {
                return Err(offset);
            }
            *taken = self.steps().carry(taken, at, byte, next);
            at = next;
        }
        Ok(at)
    }

    /// Commits text inside of one value at once; `None` where it may be read otherwise.
    fn advance_json(&mut self, config: u32, bytes: &[u8]) -> Option<u32> {
        let &[thread] = self.caches.configs().threads(config) else {
            return None;
        };
        if !thread.is_in_json() || !self.machine.is_greedy() {
            return None;
        }
        let (terminal, mut state) = self.caches.json().state(thread.place, self.machine)?;
        if !self.machine.advance_json(terminal, &mut state, bytes) {
            return None;
        }
        let next = self.steps().in_json(thread.front, terminal, state);
        (!self.machine.checks_live() || self.is_live(next)).then_some(next)
    }

    /// Tells whether a configuration can be finished.
    #[inline]
    pub(crate) fn is_live(&mut self, config: u32) -> bool {
        let own = &self.caches.configs()[config];
        let (life, least) = (own.life, own.life_least);
        self.caches.least_mut().note(least);
        match life {
            Life::Live => true,
            Life::Stuck => false,
            Life::Unknown => self.find_life(config),
        }
    }

    #[inline(never)]
    fn find_life(&mut self, config: u32) -> bool {
        if self.known_life(config) == Life::Live {
            return true;
        }
        let before = self.caches.least_mut().anew();
        let mut found = None;
        if !self.caches.configs().has_no_json(config) {
            // Values have many texts, of which the shortest mostly leads on.
            self.caches.look_everywhere();
            let way = way(self.machine, self.caches, config);
            found = way.filter(|way| self.leads_to_end(config, way));
        }
        let found = found.is_some()
            || self.leads_near(config)
            || self.search(config).unwrap_or_else(|| {
                // Far away.
                self.caches.look_everywhere();
                let Some(way) = self.way(config, MAX_SEARCH) else {
                    return false;
                };
                self.mark_along(config, &way);
                if let [Said::Bytes(text)] = &way[..] {
                    self.keep_led_on(config, Some(text.clone()));
                }
                true
            });
        let looked = self.caches.least_mut().back(before);
        self.caches.least_mut().note(looked);
        let own = &mut self.caches.configs_mut()[config];
        own.life = if found { Life::Live } else { Life::Stuck };
        own.life_least = looked;
        found
    }

    /// Remembers of the places along a way to the end that they can be finished, because those
    /// beside them are asked for next: they need no way of their own then.
    fn mark_along(&mut self, config: u32, way: &[Said]) {
        let mut at = config;
        for said in way {
            let bytes = match said {
                Said::Bytes(bytes) => &bytes[..],
                Said::Special(special) => {
                    at = self.steps().step_special(at, *special);
                    &[]
                }
            };
            for &byte in bytes {
                at = self.steps().step(at, byte);
                let own = &mut self.caches.configs_mut()[at];
                if own.life == Life::Unknown {
                    // The way was found by looking at all of the stacks.
                    (own.life, own.life_least) = (Life::Live, 0);
                }
            }
        }
    }

    /// Tells whether a way is open, to its end.
    fn leads_to_end(&mut self, config: u32, way: &[Said]) -> bool {
        let (furthest, done) = self.follow(config, way);
        done == way && self.steps().is_accepting(furthest)
    }

    /// Returns what is known of a place, or what the states on top tell of it.
    fn known_life(&mut self, config: u32) -> Life {
        let own = &self.caches.configs()[config];
        let (life, least) = (own.life, own.life_least);
        if life != Life::Unknown {
            self.caches.least_mut().note(least);
            return life;
        }
        if self.lives_by_top(config) {
            self.caches.configs_mut()[config].life = Life::Live;
        }
        self.caches.configs()[config].life
    }

    /// Tells whether what is begun ends in a state from which every stack can be finished.
    fn lives_by_top(&mut self, config: u32) -> bool {
        let threads = self.caches.configs().threads(config).to_vec();
        self.caches.work_mut().charge(threads.len());
        threads.iter().any(|&thread| self.thread_lives(thread))
    }

    fn thread_lives(&mut self, thread: Thread) -> bool {
        let Thread { place, front } = thread;
        let Live { machine, caches } = self;
        if thread.is_in_json() {
            let terminal = caches.json().terminal(place);
            return caches.stacks().is_safe_behind(front, terminal, machine);
        }
        // The states on top tell it, and few sets of states are on top of many stacks.
        if let Some(known) = caches.stacks().life_by_top(front, place) {
            return known == Life::Live;
        }
        let life = match self.lexeme_lives(thread) {
            true => Life::Live,
            false => Life::Unknown,
        };
        self.caches.keep_life_by_top(thread, life);
        life == Life::Live
    }

    /// Tells whether a lexeme that has begun ends in a state from which every stack can be finished.
    fn lexeme_lives(&mut self, thread: Thread) -> bool {
        let Thread { place, front } = thread;
        let Live { machine, caches } = self;
        let members = caches.lexes()[place].members.len();
        caches.work_mut().charge(members);
        let lexer = machine.lexer();
        let sure: Vec<u32> = caches.lexes()[place].sure().collect();
        for mut state in sure {
            let terminal = lexer.terminal[state as usize];
            if !caches.stacks().is_safe_at(front, state, machine) {
                continue;
            }
            if !machine.proof().has_lazy {
                return true;
            }
            // A lexeme that ends at its first end may cut it short.
            let mut lex = place;
            let mut is_cut = false;
            while !is_cut
                && lexer.distance[state as usize] != 0
                && let Some((next, class)) = lexer.nearer(state)
            {
                state = next;
                lex = caches.lexes_mut().step(lex, class, machine);
                let lazy = &caches.lexes()[lex].lazy;
                is_cut = !lazy.is_empty() && !lazy.contains(&terminal);
            }
            if !is_cut {
                return true;
            }
        }
        false
    }

    /// Tells whether something near can be finished; nothing if it is too far to be told so. The
    /// places on the way are remembered with what is found, because they are asked for next.
    fn search(&mut self, config: u32) -> Option<bool> {
        let machine = self.machine;
        let tries = everything(machine).count().div_ceil(TRIES_OF_AN_EDGE);
        let mut met = vec![Passed::first(config)];
        let mut seen: HashSet<u32, FixedState> = HashSet::from_iter([config]);
        let mut first = 0;
        while let Some(&Passed { config: at, .. }) = met.get(first) {
            if self.steps().ends_at(at) {
                self.mark_before(&met, first);
                self.keep_led_on(config, text_up_to(&met, first));
                return Some(true);
            }
            self.caches.work_mut().charge(tries);
            for said in everything(machine) {
                let next = self.say(at, &said);
                if next == 0 || !seen.insert(next) {
                    continue;
                }
                self.caches.work_mut().charge(1);
                let life = self.known_life(next);
                if life == Life::Stuck {
                    continue;
                }
                met.push(Passed {
                    config: next,
                    before: first,
                    byte: match &said {
                        Said::Bytes(bytes) => bytes.first().copied(),
                        Said::Special(_) => None,
                    },
                });
                if life == Life::Live {
                    let last = met.len() - 1;
                    self.mark_before(&met, last);
                    self.keep_led_on(config, text_up_to(&met, last));
                    return Some(true);
                }
            }
            first += 1;
            if seen.len() > MAX_SEARCH || self.caches.work().is_over() {
                return None;
            }
        }
        // Nothing leads out of these but to others of them, and to what is stuck.
        let least = self.caches.least_mut().height();
        for Passed { config, .. } in met {
            // A value that is read has ways that no search tries.
            if !self.caches.configs().has_no_json(config) {
                continue;
            }
            let own = &mut self.caches.configs_mut()[config];
            (own.life, own.life_least) = (Life::Stuck, least);
        }
        Some(false)
    }

    /// Remembers the text that led from a place to what can be finished, for other stacks with the same states on top.
    fn keep_led_on(&mut self, config: u32, text: Option<Vec<u8>>) {
        let thread = self.lexeme_at(config);
        if let Some((thread, text)) = thread.zip(text.filter(|text| text.len() <= MAX_LED_ON)) {
            self.caches.stacks_mut().keep_led_on(thread, text);
        }
    }

    /// Returns the only thread of a place, if it is in a lexeme.
    fn lexeme_at(&self, config: u32) -> Option<Thread> {
        match self.caches.configs().threads(config) {
            &[thread] if !thread.is_in_json() => Some(thread),
            _ => None,
        }
    }

    /// Remembers of a place that was met, and of those before it, that they can be finished.
    fn mark_before(&mut self, met: &[Passed], mut at: usize) {
        let least = self.caches.least_mut().height();
        loop {
            let Passed { config, before, .. } = met[at];
            let own = &mut self.caches.configs_mut()[config];
            (own.life, own.life_least) = (Life::Live, least);
            if at == 0 {
                return;
            }
            at = before;
        }
    }

    fn say(&mut self, config: u32, said: &Said) -> u32 {
        let mut steps = self.steps();
        match said {
            Said::Bytes(bytes) => bytes.iter().fold(config, |at, &byte| match at {
                0 => 0,
                at => steps.step(at, byte),
            }),
            Said::Special(special) => steps.step_special(config, *special),
        }
    }

    /// Returns a way to the end that greedy lexing leaves open: a short one, or any where that is too
    /// far to be found. `limit` is that of the configurations that are looked at for any way.
    pub(crate) fn way(&mut self, config: u32, limit: usize) -> Option<Vec<Said>> {
        let short = self.way_by(config, Order::Shortest, MAX_SEARCH);
        short.or_else(|| self.way_by(config, Order::Nearest, limit))
    }

    /// The same by one order of search (A*, Hart, Nilsson and Raphael 1968: the shortest way if every
    /// split counted is the estimate).
    fn way_by(&mut self, config: u32, order: Order, limit: usize) -> Option<Vec<Said>> {
        let cost = |height: u32, gone: usize, left: usize| match order {
            Order::Shortest => (0, gone + left),
            Order::Nearest => (height, left),
        };
        let machine = self.machine;
        let mut open = BinaryHeap::new();
        let mut before: HashMap<u32, (u32, Vec<Said>), FixedState> = HashMap::default();
        let mut ways: HashMap<u32, Vec<Said>, FixedState> = HashMap::default();
        let tries = everything(machine).count().div_ceil(TRIES_OF_AN_EDGE);
        let first = way(machine, self.caches, config)?;
        let height = self.caches.height(config);
        open.push((Reverse(cost(height, 0, length(&first))), 0usize, config));
        before.insert(config, (config, Vec::new()));
        ways.insert(config, first);
        let (mut looked_at, mut least) = (0, height);
        while let Some((Reverse((height, _)), gone, at)) = open.pop()
            && !self.caches.work().is_over()
        {
            let Some(way_on) = ways.remove(&at) else {
                continue;
            };
            let (furthest, done) = self.follow(at, &way_on);
            if done == way_on && self.steps().is_accepting(furthest) {
                let mut pieces = vec![way_on];
                let mut on = at;
                while on != config {
                    let (from, said) = &before[&on];
                    pieces.push(said.clone());
                    on = *from;
                }
                return Some(joined(pieces.into_iter().rev().flatten()));
            }
            if height < least {
                (looked_at, least) = (0, height);
            }
            looked_at += 1;
            if looked_at > limit || self.caches.configs()[at].life == Life::Stuck {
                continue;
            }
            let mut offer = |caches: &mut Caches, next: u32, said: Vec<Said>| {
                if next == 0 || before.contains_key(&next) {
                    return;
                }
                let Some(way) = way(machine, caches, next) else {
                    return;
                };
                let gone = gone + length(&said);
                before.insert(next, (at, said));
                let height = height.min(caches.height(next));
                open.push((Reverse(cost(height, gone, length(&way))), gone, next));
                ways.insert(next, way);
            };
            // Something else may come between at the end of the way.
            offer(self.caches, furthest, done);
            self.caches.work_mut().charge(tries);
            for said in everything(machine) {
                let next = self.say(at, &said);
                offer(self.caches, next, vec![said]);
            }
        }
        None
    }

    /// Goes along a way as far as it is open. Returns where that leads, and what was said.
    fn follow(&mut self, config: u32, way: &[Said]) -> (u32, Vec<Said>) {
        let mut steps = self.steps();
        let mut at = config;
        let mut done = Vec::new();
        for said in way {
            match said {
                Said::Bytes(bytes) => {
                    for (offset, &byte) in bytes.iter().enumerate() {
                        let next = steps.step(at, byte);
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
                    let next = steps.step_special(at, *special);
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

/// Returns the bytes that led to a place that was passed; `None` if something else did.
fn text_up_to(met: &[Passed], mut at: usize) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    while at != 0 {
        text.push(met[at].byte?);
        at = met[at].before;
    }
    text.reverse();
    Some(text)
}

/// Returns each byte of a class, and each special token.
fn everything(machine: &Machine) -> impl Iterator<Item = Said> {
    let bytes = machine.lexer().bytes.iter();
    let specials = (0..machine.cfg().specials.len() as u32).map(Said::Special);
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
