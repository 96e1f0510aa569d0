//! What one scratch knows of a grammar's configurations: numbers for contents, and where
//! bytes lead.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::FixedState;
use fsm_index::{ByteAutomaton, ClassId};
use schema_regex::automaton::State as JsonState;

use crate::compile::cfg::Matter;
use crate::machine::Inner;
use crate::run::behind::Shifted;
use crate::run::characters::Characters;
use crate::run::configs::{Configs, Step, UNKNOWN, WALK};
pub(crate) use crate::run::configs::{JSON, Life, Thread};
use crate::run::fronts::Fronts;
use crate::run::json_walk::JsonWalk;
use crate::run::lexemes::Places;
use crate::run::stack::{Closing, Nodes};
use crate::run::state::NodeRef;
use crate::run::text::Reading;

/// A set of states of terminals that have read the same text.
#[derive(Debug)]
pub(crate) struct Lex {
    /// Ascending.
    pub(crate) members: Box<[u32]>,
    /// Terminals that may end here, ascending.
    pub(crate) accepts: Box<[u32]>,
    /// Those of them that end here whatever comes.
    pub(crate) lazy: Box<[u32]>,
    /// The number of the terminals that end here: of the lazy ones, if there are any. 0 for
    /// none.
    pub(crate) ends: u32,
    /// By guard of what begins behind them: the terminals that end here. Empty where none has
    /// one.
    pub(crate) guarded: Box<[(u32, Box<[u32]>)]>,
    /// The same without the states from which no byte leads on; 0 if there are no others.
    pub(crate) open: u32,
    /// A class of which any text leads on, with its size, once that was asked for.
    pub(crate) free: Option<Option<(usize, ClassId)>>,
    row: Box<[u32]>,
}

/// The terminals that end in some states, by the guard of what begins behind them: nothing where
/// none has one.
fn guarded_ends(members: &[u32], inner: &Inner) -> Box<[(u32, Box<[u32]>)]> {
    let lexer = &inner.lexer;
    let ended = members
        .iter()
        .filter(|&&state| lexer.accepting[state as usize]);
    let mut ends: Vec<(u32, u32)> = ended
        .map(|&state| (lexer.guards[state as usize], lexer.terminal[state as usize]))
        .collect();
    if ends.iter().all(|end| end.0 == 0) {
        return Box::default();
    }
    ends.sort_unstable();
    ends.dedup();
    let groups = ends.chunk_by(|a, b| a.0 == b.0);
    groups
        .map(|group| (group[0].0, group.iter().map(|end| end.1).collect()))
        .collect()
}

#[derive(Default)]
pub(crate) struct Caches {
    pub(crate) nodes: Nodes,
    pub(crate) lexes: Vec<Lex>,
    lex_ids: HashMap<Box<[u32]>, u32, FixedState>,
    /// By where lexemes begin, and by guard.
    under_guards: HashMap<(u32, u32), u32, FixedState>,
    pub(crate) fronts: Fronts,
    pub(crate) configs: Configs,
    /// Terminals that end at the same places, by number.
    pub(crate) end_ids: HashMap<Box<[u32]>, u32, FixedState>,
    /// Stacks behind the terminals of such a number on top of a front.
    pub(crate) shifted: Shifted,
    /// The least height that the step that is being computed has looked at.
    pub(crate) looked: u32,
    /// The least height that a walk has looked at.
    pub(crate) least: u32,
    /// The height of the stacks with which the walk began.
    pub(crate) top: u32,
    /// The height of those whose topmost level is asked: of what was described last.
    pub(crate) level: u32,
    pub(crate) json: Vec<(u32, JsonState)>,
    /// By a hash of terminal and state the last place with it.
    pub(crate) json_ids: HashMap<u64, u32, FixedState>,
    pub(crate) json_next: HashMap<(u32, u8), u32, FixedState>,
    pub(crate) json_starts: HashMap<u32, u32>,
    pub(crate) walk: JsonWalk,
    pub(crate) closing: Closing,
    /// What is known of texts, by configuration.
    pub(crate) readings: HashMap<u32, Reading, FixedState>,
    /// By the places of threads: the characters that lead back to a configuration that the
    /// topmost level tells of.
    pub(crate) loops: HashMap<Box<[u32]>, ClassId, FixedState>,
    /// By places in lexemes: which characters lead on to the same.
    pub(crate) alike: HashMap<Box<[u32]>, Option<Characters>, FixedState>,
    /// By state of a terminal: a class of which any text leads on, with its size.
    pub(crate) free: HashMap<u32, Option<(usize, ClassId)>, FixedState>,
    /// True if no lazy lexeme ends in text of a class, by where it begins.
    pub(crate) stay_open: HashMap<(u32, ClassId), bool, FixedState>,
    pub(crate) places: Places,
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
        let mut configs = std::mem::take(&mut self.configs);
        configs.clear();
        *self = Caches {
            configs,
            ..Caches::default()
        };
        // Numbers 0 stand for nothing.
        self.lexes.push(Lex {
            members: Box::default(),
            accepts: Box::default(),
            lazy: Box::default(),
            ends: 0,
            guarded: Box::default(),
            open: 0,
            free: None,
            row: Box::default(),
        });
        self.end_ids.insert(Box::default(), 0);
        self.lex_ids.insert(Box::default(), 0);
        self.configs.intern(Vec::new(), 0, &mut self.bytes);
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
        let lazy: Box<[u32]> = accepts.iter().filter(is_lazy).copied().collect();
        let ending = if lazy.is_empty() { &*accepts } else { &*lazy };
        let count = self.end_ids.len() as u32;
        let ends = *self.end_ids.entry(ending.into()).or_insert(count);
        let guarded = guarded_ends(&members, inner);
        let id = self.lexes.len() as u32;
        self.bytes += 150 + 8 * members.len();
        self.lexes.push(Lex {
            members: members.clone(),
            accepts: accepts.into(),
            lazy,
            ends,
            guarded,
            open: id,
            free: None,
            row: Box::default(),
        });
        // Those behind which the text must go on are looked at when it ends.
        let is_open =
            |state: &&u32| !lexer.is_final[**state as usize] || lexer.goes_on[**state as usize];
        let open: Vec<u32> = members.iter().filter(is_open).copied().collect();
        let are_open = open.len() == members.len();
        self.lex_ids.insert(members, id);
        if !are_open {
            self.lexes[id as usize].open = self.lex(open, inner);
        }
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
        let mut next: Vec<u32> = next.filter(|&state| state != 0).collect();
        let takes = |&state: &u32| !inner.lexer.is_trap(state);
        if !inner.cfg.is_greedy || next.iter().any(takes) {
            next.retain(|&state| !inner.lexer.is_trap(state));
        }
        let next = self.lex(next, inner);
        let row = &mut self.lexes[lex as usize].row;
        if row.is_empty() {
            *row = vec![UNKNOWN; inner.lexer.width()].into();
            self.bytes += 4 * inner.lexer.width();
        }
        row[usize::from(class)] = next;
        next
    }

    /// Says whether what was begun was followed by what must not follow it.
    #[inline]
    pub(crate) fn is_trapped(&self, lex: u32, inner: &Inner) -> bool {
        let first = self.lexes[lex as usize].members.first();
        first.is_some_and(|&state| inner.lexer.is_trap(state))
    }

    /// The configuration before the first byte.
    pub(crate) fn begin(&mut self, inner: &Inner) -> u32 {
        let bottom = self.nodes.intern(0, std::iter::empty());
        let front = self.front(&[bottom], inner);
        let mut threads = Vec::new();
        self.begin_lexemes(front, inner.cfg.initial_skip, &mut threads, inner);
        self.intern(threads, front, inner)
    }

    /// The configuration between two lexemes.
    pub(crate) fn between(&mut self, front: u32, inner: &Inner) -> u32 {
        let mut threads = Vec::new();
        self.begin_lexemes(front, true, &mut threads, inner);
        self.intern(threads, front, inner)
    }

    pub(crate) fn begin_lexemes(
        &mut self,
        front: u32,
        skips: bool,
        out: &mut Vec<Thread>,
        inner: &Inner,
    ) {
        let own = self.fronts.next(front);
        let place = if skips { own.start } else { own.bare };
        if place != 0 {
            out.push(Thread { place, front });
        }
        for at in 0..own.json.len() {
            let terminal = self.fronts.next(front).json[at];
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

    /// The same behind ignored text that goes as far as it can.
    pub(crate) fn begin_guarded(
        &mut self,
        front: u32,
        guard: u32,
        out: &mut Vec<Thread>,
        inner: &Inner,
    ) {
        let from = out.len();
        self.begin_lexemes(front, true, out, inner);
        for at in (from..out.len()).rev() {
            if out[at].place & JSON == 0 {
                match self.under_guard(out[at].place, guard, inner) {
                    0 => drop(out.remove(at)),
                    place => out[at].place = place,
                }
            }
        }
    }

    /// Where some lexemes begin under a guard; 0 if none can.
    pub(crate) fn under_guard(&mut self, start: u32, guard: u32, inner: &Inner) -> u32 {
        if guard == 0 {
            return start;
        }
        if let Some(&known) = self.under_guards.get(&(start, guard)) {
            return known;
        }
        let members = self.lexes[start as usize].members.iter();
        let members = members.map(|&state| inner.lexer.start_under(state, guard));
        let members = members.filter(|&state| state != 0).collect();
        let place = self.lex(members, inner);
        self.bytes += 24;
        self.under_guards.insert((start, guard), place);
        place
    }

    pub(crate) fn intern(&mut self, mut threads: Vec<Thread>, fresh: u32, inner: &Inner) -> u32 {
        self.enter_json(&mut threads, inner);
        threads.sort_unstable();
        threads.dedup();
        self.configs.intern(threads, fresh, &mut self.bytes)
    }

    /// Where some bytes lead that are committed, or which of them may not come.
    pub(crate) fn advance(
        &mut self,
        config: u32,
        bytes: &[u8],
        inner: &Inner,
    ) -> Result<u32, usize> {
        if let Some(next) = self.advance_json(config, bytes, inner) {
            return Ok(next);
        }
        let mut at = config;
        for (offset, &byte) in bytes.iter().enumerate() {
            at = self.step(at, byte, inner);
            if at == 0 {
                return Err(offset);
            }
        }
        Ok(at)
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
        let known = self.configs.known(config, class, inner.lexer.width());
        let step = match known {
            Some(step) => step,
            None => self.long_step(config, byte, class, inner),
        };
        self.least = self.least.min(step.looked);
        step.to
    }

    /// A step that is not known.
    #[inline(never)]
    fn long_step(&mut self, config: u32, byte: u8, class: u8, inner: &Inner) -> Step {
        let there = self.in_walk(config, inner);
        if there != config {
            let known = self.configs.known(there, class, inner.lexer.width());
            return match known {
                Some(step) => step,
                None => self.long_step(there, byte, class, inner),
            };
        }
        let before = std::mem::replace(&mut self.looked, u32::MAX);
        let was_deep = std::mem::replace(&mut self.walk.is_deep, false);
        let to = match inner.cfg.is_greedy {
            true => self.step_greedy(config, byte, class, inner),
            false => self.step_splits(config, byte, class, inner),
        };
        let looked = std::mem::replace(&mut self.looked, before);
        let step = Step { to, looked };
        // What is met in JSON means something in one walk alone; and what looks below the topmost
        // level of a value is looked at anew.
        let is_of_walk = config & WALK != 0;
        let is_kept = is_of_walk || to & WALK == 0 && self.has_no_json(config);
        if is_kept && !self.walk.is_deep {
            let width = inner.lexer.width();
            self.configs
                .keep(config, class, width, step, &mut self.bytes);
        }
        self.walk.is_deep |= was_deep;
        step
    }

    /// Lexemes that have begun go on. Where none of them can go on further, they end: what
    /// comes next is looked up in fewer levels then. `None` if none takes the byte.
    fn go_on(&mut self, config: u32, byte: u8, class: u8, inner: &Inner) -> Option<u32> {
        let mut next_threads = Vec::new();
        let mut is_trapped = false;
        for at in 0..self.configs.threads(config).len() {
            let Thread { place, front } = self.configs.threads(config)[at];
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
            if self.is_trapped(next, inner) {
                is_trapped = true;
                continue;
            }
            if !self.lexes[next as usize].lazy.is_empty() {
                let fresh = self.behind_lex(next, front, inner);
                return Some(self.between(fresh, inner)).filter(|&next| next != 0);
            }
            next_threads.push(Thread { place: next, front });
        }
        let are_over = next_threads
            .iter()
            .all(|thread| thread.place & JSON == 0 && self.lexes[thread.place as usize].open == 0);
        let next = self.intern(next_threads, 0, inner);
        if next == 0 {
            return is_trapped.then_some(0);
        }
        if !are_over {
            return Some(next);
        }
        Some(match self.ended(next, inner) {
            0 => next,
            front => self.between(front, inner),
        })
    }

    fn step_greedy(&mut self, config: u32, byte: u8, class: u8, inner: &Inner) -> u32 {
        if let Some(next) = self.go_on(config, byte, class, inner) {
            return next;
        }
        let front = self.ended(config, inner);
        if front == 0 {
            return 0;
        }
        // The same wherever a lexeme ends with these stacks.
        let between = self.between(front, inner);
        let known = self.configs.known(between, class, inner.lexer.width());
        let step = match known {
            Some(step) => step,
            None => self.long_step(between, byte, class, inner),
        };
        self.looked = self.looked.min(step.looked);
        step.to
    }

    /// Under greedy lexing: the stacks if the lexeme ends here; 0 if none can.
    pub(crate) fn ended(&mut self, config: u32, inner: &Inner) -> u32 {
        let own = &self.configs[config];
        if own.ended != UNKNOWN {
            self.looked = self.looked.min(own.ended_least);
            return own.ended;
        }
        let before = std::mem::replace(&mut self.looked, u32::MAX);
        let front = match *self.configs.threads(config) {
            [Thread { place, front }] if place & JSON == 0 => {
                match self.lexes[place as usize].ends {
                    0 => 0,
                    _ => self.behind_lex(place, front, inner),
                }
            }
            _ => self.ended_of_many(config, inner),
        };
        self.configs[config].ended = front;
        self.configs[config].ended_least = self.looked;
        self.looked = self.looked.min(before);
        front
    }

    fn ended_of_many(&mut self, config: u32, inner: &Inner) -> u32 {
        let mut ends = Vec::new();
        for at in 0..self.configs.threads(config).len() {
            let Thread { place, front } = self.configs.threads(config)[at];
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
        if ends.is_empty() {
            return 0;
        }
        self.behind(&ends, inner)
    }

    /// The stacks that stand between lexemes if nothing more comes; 0 if none do.
    pub(crate) fn standing(&mut self, config: u32, inner: &Inner) -> u32 {
        match self.configs[config].fresh {
            0 if inner.cfg.is_greedy => self.ended(config, inner),
            fresh => fresh,
        }
    }

    /// The same where no byte comes, as at the end of the text: lexemes that must be followed
    /// by one do not end here.
    pub(crate) fn standing_at_end(&mut self, config: u32, inner: &Inner) -> u32 {
        if !inner.lexer.has_open_ends || self.configs[config].fresh != 0 {
            return self.standing(config, inner);
        }
        let lexer = &inner.lexer;
        let (mut ends, mut are_all) = (Vec::new(), true);
        for at in 0..self.configs.threads(config).len() {
            let Thread { place, front } = self.configs.threads(config)[at];
            if place & JSON != 0 {
                let terminals = self.json_accepts(place, inner);
                ends.extend(terminals.map(|terminal| (front, terminal)));
                continue;
            }
            for &state in &self.lexes[place as usize].members {
                if !lexer.accepting[state as usize] {
                    continue;
                }
                match lexer.goes_on[state as usize] {
                    true => are_all = false,
                    false => ends.push((front, lexer.terminal[state as usize])),
                }
            }
        }
        match are_all {
            true => self.standing(config, inner),
            false => self.behind(&ends, inner),
        }
    }

    /// Tells whether the text may end here.
    pub(crate) fn is_accepting(&mut self, config: u32, inner: &Inner) -> bool {
        let front = self.standing_at_end(config, inner);
        self.fronts.next(front).accepts
    }

    /// The same in a walk, which has looked at the stacks for it.
    pub(crate) fn ends_at(&mut self, config: u32, inner: &Inner) -> bool {
        let before = std::mem::replace(&mut self.looked, u32::MAX);
        let ends = self.is_accepting(config, inner);
        if inner.lexer.has_open_ends {
            self.least = self.least.min(self.looked);
        }
        self.looked = before.min(self.looked);
        if inner.cfg.is_greedy {
            self.least = self.least.min(self.configs[config].ended_least);
        }
        ends
    }

    /// Behind a special token; 0 if it may not come.
    pub(crate) fn step_special(&mut self, config: u32, special: u32, inner: &Inner) -> u32 {
        let front = self.standing_at_end(config, inner);
        let named = |terminal: &&u32| matches!(inner.cfg.terminals[**terminal as usize].matter, Matter::Special(s) if s == special);
        let terminals = self.fronts.next(front).specials.iter().filter(named);
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

#[cfg(test)]
mod tests {
    use fsm_index::ByteAutomaton as _;

    use crate::{Config, Dialect, Grammar};

    #[test]
    fn texts_inside_of_json_that_go_on_alike_have_one_place() {
        let text = r#"start: %json {"type": "array", "items": {"type": "string"}}"#;
        let automaton = Grammar::compile(text, Dialect::Lark, &Config::default()).unwrap();
        let mut scratch = automaton.scratch();
        let mut state = automaton.start();
        let mut say = |text: &str| {
            let said = automaton.advance(&mut state, text.as_bytes(), &mut scratch);
            assert!(said.is_ok(), "{text}");
            scratch.caches().json.len()
        };
        let once = say("[\"aé日");
        assert_eq!(say("bé日é日日a"), once);
        let item = say("\",\"aé日");
        assert!(say("é日\",\"b日\"]") < 2 * item);
    }
}
