//! Places in JSON: states of the schema's automaton, which outlive a walk, or cursors of one
//! walk (`json_walk.rs`).

use std::hash::BuildHasher as _;

use fsm_index::ByteAutomaton;
use schema_regex::automaton::State as JsonState;

use crate::machine::Inner;
use crate::run::caches::Caches;
use crate::run::configs::{JSON, Thread, WALK_PLACE};

impl Caches {
    /// The place of a state inside of JSON: a new one where it is not plain that the state
    /// has one.
    pub(crate) fn json_place(&mut self, terminal: u32, state: JsonState) -> u32 {
        let hash = self.json_ids.hasher().hash_one((terminal, &state));
        if let Some(&known) = self.json_ids.get(&hash) {
            let (of, like) = &self.json[known as usize];
            if *of == terminal && *like == state {
                return JSON | known;
            }
        }
        let number = self.json.len() as u32;
        self.json.push((terminal, state));
        self.json_ids.insert(hash, number);
        self.bytes += 340;
        JSON | number
    }

    /// Where a byte leads from a place, 0 if nowhere.
    pub(crate) fn json_step(&mut self, place: u32, byte: u8, inner: &Inner) -> u32 {
        if place & WALK_PLACE != 0 {
            return self.walk_step(place, byte, inner);
        }
        if let Some(&next) = self.json_next.get(&(place, byte)) {
            return next;
        }
        let (terminal, state) = &self.json[(place & !JSON) as usize];
        let terminal = *terminal;
        let Some(automaton) = inner.json(terminal) else {
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

    /// The terminal of a place, if its value may end there.
    pub(crate) fn json_accepts(&mut self, place: u32, inner: &Inner) -> Option<u32> {
        if place & WALK_PLACE != 0 {
            return self.walk_accepts(place, inner);
        }
        let (terminal, state) = &self.json[(place & !JSON) as usize];
        let automaton = inner.json(*terminal)?;
        automaton.is_accepting(state).then_some(*terminal)
    }

    /// The terminal of a place in JSON.
    pub(crate) fn json_terminal(&self, place: u32) -> u32 {
        match place & WALK_PLACE {
            0 => self.json[(place & !JSON) as usize].0,
            _ => self.walk.terminal(place),
        }
    }

    /// The terminal and the state of a place in JSON: of one of the walk, what its bytes lead
    /// to.
    pub(crate) fn json_state(&self, place: u32, inner: &Inner) -> Option<(u32, JsonState)> {
        if place & WALK_PLACE == 0 {
            return Some(self.json[(place & !JSON) as usize].clone());
        }
        let terminal = self.walk.terminal(place);
        let (start, text) = self.walk.text(place);
        let automaton = inner.json(terminal)?;
        let mut state = start.clone();
        let mut scratch = inner.json_scratch(terminal, automaton);
        let is_alive = automaton.advance(&mut state, &text, &mut scratch).is_ok();
        inner.give_json_scratch(terminal, scratch);
        is_alive.then_some((terminal, state))
    }

    /// Commits text inside of one value at once; `None` where it may be read otherwise.
    pub(crate) fn advance_json(&mut self, config: u32, bytes: &[u8], inner: &Inner) -> Option<u32> {
        let &[thread] = self.configs.threads(config) else {
            return None;
        };
        if thread.place & JSON == 0 || !inner.cfg.is_greedy {
            return None;
        }
        let (terminal, mut state) = self.json_state(thread.place, inner)?;
        let automaton = inner.json(terminal)?;
        let mut scratch = inner.json_scratch(terminal, automaton);
        let said = automaton.advance(&mut state, bytes, &mut scratch);
        inner.give_json_scratch(terminal, scratch);
        said.ok()?;
        let place = self.json_place(terminal, state);
        let next = self.intern(vec![Thread { place, ..thread }], 0, inner);
        (!inner.checks_live || self.is_live(next, inner)).then_some(next)
    }
}
