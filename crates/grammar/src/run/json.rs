//! Places in JSON: states of the schema's automaton, which outlive a walk, or cursors of one walk.
//! So what that automaton knows of its texts holds for the grammar too, wherever one value stands
//! alone.
//!
//! For example, behind `[` of `%json {"type": "array"}` a guide keeps a state, and the walk that
//! makes its mask enters it and steps from cursor to cursor.

use std::collections::HashMap;
use std::hash::BuildHasher as _;

use foldhash::fast::FixedState;
use fsm_index::{ByteAutomaton, Cursor, Leaf as _, Met, Slots, Stack as _};
use schema_regex::automaton::{SchemaAutomaton, State as JsonState};

use crate::machine::Machine;
use crate::run::configs::{JSON, Thread, WALK_PLACE};

/// All places in JSON that one scratch knows.
#[derive(Default)]
pub(crate) struct JsonPlaces {
    /// The places that outlive a walk, each with its terminal.
    states: Vec<(u32, JsonState)>,
    /// By a hash of terminal and state the last place with it.
    ids: HashMap<u64, u32, FixedState>,
    next: HashMap<(u32, u8), u32, FixedState>,
    /// By terminal: the place before its first byte.
    starts: HashMap<u32, u32>,
    /// True if there is a walk, in which all places are its own.
    in_walk: bool,
    /// One for each value of the walk, with the state where the walk meets it. Its owner is the
    /// [number](owner) of the terminal.
    slots: Slots<SchemaAutomaton, JsonState>,
    /// The places of the walk.
    cursors: Vec<Reached>,
    /// By a place that outlives the walk: the place of the walk that begins there.
    begun: HashMap<u32, u32, FixedState>,
    is_deep: bool,
    scope: Levels,
    /// True if all levels of the values in which the walk began were looked at.
    has_looked_everywhere: bool,
    bytes: usize,
}

/// A flag as it was, which is put back.
pub(crate) struct Before(bool);

/// The levels of a value in which a walk began that a step may look at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Levels {
    #[default]
    All,
    Topmost,
}

/// A cursor of a value, and how it was reached first, if by a step.
#[derive(Clone, Copy)]
struct Reached {
    slot: u32,
    cursor: Cursor,
    from: Option<(u32, u8)>,
}

/// Returns the number of a terminal among inner automata: 0 is that of the grammar itself, which
/// has classes, too.
fn owner(terminal: u32) -> u32 {
    terminal + 1
}

impl JsonPlaces {
    /// Returns the place of a state inside of JSON: a new one where it is not plain that the state
    /// has one.
    pub(super) fn place(&mut self, terminal: u32, state: JsonState) -> u32 {
        let hash = self.ids.hasher().hash_one((terminal, &state));
        if let Some(&known) = self.ids.get(&hash) {
            let (of, like) = &self.states[known as usize];
            if *of == terminal && *like == state {
                return JSON | known;
            }
        }
        let number = self.states.len() as u32;
        self.states.push((terminal, state));
        self.ids.insert(hash, number);
        self.bytes += 340;
        JSON | number
    }

    /// Returns the place before the first byte of a terminal, if it is of JSON.
    pub(super) fn start(&mut self, terminal: u32, machine: &Machine) -> Option<u32> {
        if let Some(&known) = self.starts.get(&terminal) {
            return Some(known);
        }
        let place = self.place(terminal, machine.json(terminal)?.start());
        self.starts.insert(terminal, place);
        Some(place)
    }

    /// Returns the place behind a byte, 0 if it may not come.
    pub(super) fn step(&mut self, place: u32, byte: u8, machine: &Machine) -> u32 {
        if place & WALK_PLACE != 0 {
            return self.step_cursor(place, byte, machine);
        }
        if let Some(&next) = self.next.get(&(place, byte)) {
            return next;
        }
        let (terminal, state) = &self.states[(place & !JSON) as usize];
        let terminal = *terminal;
        let mut next = state.clone();
        let next = match machine.advance_json(terminal, &mut next, &[byte]) {
            false => 0,
            true if *state == next => place,
            true => self.place(terminal, next),
        };
        self.bytes += 40;
        self.next.insert((place, byte), next);
        next
    }

    /// Returns the terminal of a place, if its value may end there.
    pub(super) fn accepts(&mut self, place: u32, machine: &Machine) -> Option<u32> {
        let (terminal, ends) = match place & WALK_PLACE {
            0 => {
                let (terminal, state) = &self.states[(place & !JSON) as usize];
                (*terminal, machine.json(*terminal)?.is_accepting(state))
            }
            _ => {
                let Reached { slot, cursor, .. } = self.at(place);
                let terminal = self.terminal(place);
                let scratch = self.slots.scratch(slot);
                (
                    terminal,
                    machine.json(terminal)?.ends_at_cursor(cursor, scratch),
                )
            }
        };
        ends.then_some(terminal)
    }

    /// Returns the terminal of a place.
    pub(crate) fn terminal(&self, place: u32) -> u32 {
        match place & WALK_PLACE {
            0 => self.states[(place & !JSON) as usize].0,
            _ => self.slots.owner(self.at(place).slot) - 1,
        }
    }

    /// Returns the terminal and the state of a place that outlives walks.
    pub(super) fn kept(&self, place: u32) -> &(u32, JsonState) {
        &self.states[(place & !JSON) as usize]
    }

    /// Returns the terminal and the state of a place: of one of the walk, what its bytes lead to.
    pub(crate) fn state(&self, place: u32, machine: &Machine) -> Option<(u32, JsonState)> {
        if place & WALK_PLACE == 0 {
            return Some(self.kept(place).clone());
        }
        let terminal = self.terminal(place);
        let mut text = Vec::new();
        let mut at = self.at(place);
        while let Some((before, byte)) = at.from {
            text.push(byte);
            at = self.at(before);
        }
        text.reverse();
        let mut state = self.slots.around(at.slot).clone();
        let is_alive = machine.advance_json(terminal, &mut state, &text);
        is_alive.then_some((terminal, state))
    }

    /// Begins a walk.
    pub(super) fn begin_walk(&mut self, machine: &Machine) {
        self.in_walk = machine.has_json();
        self.slots.clear();
        self.cursors.clear();
        self.begun.clear();
        self.is_deep = false;
        self.has_looked_everywhere = false;
    }

    /// Ends a walk: what comes is committed.
    pub(super) fn end_walk(&mut self) {
        self.in_walk = false;
    }

    /// Tells whether there is a walk.
    #[inline]
    pub(super) fn in_walk(&self) -> bool {
        self.in_walk
    }

    /// Pauses a walk for what is committed.
    pub(super) fn pause_walk(&mut self) -> Before {
        Before(std::mem::take(&mut self.in_walk))
    }

    /// Goes on with a walk, if there was one.
    pub(super) fn resume_walk(&mut self, before: Before) {
        self.in_walk = before.0;
    }

    /// Begins a step, which [`JsonPlaces::end_step`] ends.
    pub(super) fn begin_step(&mut self) -> Before {
        Before(std::mem::take(&mut self.is_deep))
    }

    /// Tells whether the step has looked below the topmost level of a value in which the walk
    /// began.
    pub(super) fn end_step(&mut self, before: Before) -> bool {
        let is_deep = self.is_deep;
        self.is_deep |= before.0;
        is_deep
    }

    /// Looks at the topmost level of values alone from now on.
    pub(crate) fn begin_on_top(&mut self) -> Before {
        self.scope = Levels::Topmost;
        self.begin_step()
    }

    /// Looks at all levels again. Tells whether a lower one would have counted.
    pub(crate) fn end_on_top(&mut self, before: Before) -> bool {
        self.scope = Levels::All;
        std::mem::replace(&mut self.is_deep, before.0)
    }

    pub(super) fn look_everywhere(&mut self) {
        self.has_looked_everywhere = true;
    }

    /// Makes all places in JSON places of the walk.
    pub(super) fn enter(&mut self, threads: &mut [Thread], machine: &Machine) {
        for thread in threads {
            if thread.is_in_json() && thread.place & WALK_PLACE == 0 {
                thread.place = self.enter_place(thread.place, machine);
            }
        }
    }

    /// Returns the place of the walk for one that outlives it.
    fn enter_place(&mut self, kept: u32, machine: &Machine) -> u32 {
        if let Some(&known) = self.begun.get(&kept) {
            return known;
        }
        let (terminal, state) = &self.states[(kept & !JSON) as usize];
        let Some(automaton) = machine.json(*terminal) else {
            return 0;
        };
        let met = match self.starts.get(terminal) {
            Some(start) if *start == kept => Met::Ahead,
            _ => Met::Within,
        };
        let slots = &mut self.slots;
        let slot = slots.take(owner(*terminal), automaton, met, state.clone());
        let cursor = automaton.enter(state, slots.scratch(slot));
        let place = self.place_of(slot, cursor, None);
        self.begun.insert(kept, place);
        place
    }

    /// Returns the place of the walk behind a byte.
    fn step_cursor(&mut self, place: u32, byte: u8, machine: &Machine) -> u32 {
        let Reached { slot, cursor, .. } = self.at(place);
        let Some(automaton) = machine.json(self.terminal(place)) else {
            return 0;
        };
        let slots = &mut self.slots;
        let next = match automaton.step_on_top(cursor, byte, slots.scratch(slot)) {
            Some(next) => next,
            None => {
                if slots.is_met_within(slot) {
                    self.is_deep = true;
                    if self.scope == Levels::Topmost {
                        return 0;
                    }
                }
                automaton.step(cursor, byte, slots.scratch(slot))
            }
        };
        self.place_of(slot, next, Some((place, byte)))
    }

    fn at(&self, place: u32) -> Reached {
        self.cursors[(place & !(JSON | WALK_PLACE)) as usize]
    }

    /// Returns the slot and the cursor of a place of the walk.
    #[inline]
    pub(crate) fn cursor(&self, place: u32) -> (u32, Cursor) {
        let Reached { slot, cursor, .. } = self.at(place);
        (slot, cursor)
    }

    /// Returns the values of the walk.
    #[inline]
    pub(crate) fn slots(&mut self) -> &mut Slots<SchemaAutomaton, JsonState> {
        &mut self.slots
    }

    /// Returns the place of a cursor, 0 for a dead one, and remembers how it was reached.
    pub(crate) fn place_of(&mut self, slot: u32, cursor: Cursor, from: Option<(u32, u8)>) -> u32 {
        if cursor.is_dead() {
            return 0;
        }
        if let Some(known) = self.slots.known(slot, cursor) {
            return known;
        }
        let place = JSON | WALK_PLACE | self.cursors.len() as u32;
        self.slots.remember(slot, cursor, place);
        self.cursors.push(Reached { slot, cursor, from });
        place
    }

    /// Returns the number of levels of values that the walk has looked at.
    pub(super) fn depth_used(&self, machine: &Machine) -> usize {
        let begun = self.slots.met_within();
        let depths = begun.map(|(owner, start, scratch)| match machine.json(owner - 1) {
            // One level for each array and object that is open, one for the value in the
            // innermost, and one that tells that there are no more.
            Some(_) if self.has_looked_everywhere => start.depth() + 2,
            Some(automaton) => automaton.depth_used(scratch),
            None => 1,
        });
        depths.max().unwrap_or(1)
    }

    /// Returns the bytes that all but the walk takes, about.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the number of places that outlive walks.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.states.len()
    }
}
