//! JSON in a walk: a place there is a cursor of the schema's own automaton. So what that
//! automaton knows of its texts holds for the grammar too, wherever one value stands alone.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use fsm_index::{
    ByteAutomaton, Cursor, Description, Horizon, KeyLanguage, Leaf, Met, Nested, Outer, Scope,
    Slots, Stack,
};
use schema_regex::automaton::{SchemaAutomaton, State as JsonState};

use crate::machine::Inner;
use crate::run::caches::Caches;
use crate::run::configs::{JSON, Thread, WALK, WALK_PLACE};

/// What a walk knows of the values that it reads.
#[derive(Default)]
pub(crate) struct JsonWalk {
    /// True if there is a walk: else places in JSON are states, which outlive it.
    is_on: bool,
    /// One for each value, with the state where the walk meets it. Its owner is the
    /// [number](owner) of the terminal.
    slots: Slots<SchemaAutomaton, JsonState>,
    places: Vec<Place>,
    /// By a place that outlives the walk: that of the walk.
    begun: HashMap<u32, u32, FixedState>,
    /// True if a step has looked below the topmost level of a value in which the walk began.
    pub(crate) is_deep: bool,
    /// True if only what the topmost level tells is asked for.
    pub(crate) is_on_top: bool,
    /// True if all levels of such values were looked at.
    pub(crate) has_looked_everywhere: bool,
}

/// A place of a value, and how it was reached first, if by a step.
struct Place {
    slot: u32,
    cursor: Cursor,
    from: Option<(u32, u8)>,
}

/// The number of a terminal among inner automata: 0 is that of the grammar itself, which has
/// classes, too.
pub(crate) fn owner(terminal: u32) -> u32 {
    terminal + 1
}

impl JsonWalk {
    /// Ends a walk: what comes is committed.
    pub(crate) fn end(&mut self) {
        self.is_on = false;
    }

    /// Tells whether there is a walk, which is then paused or goes on.
    pub(crate) fn set_on(&mut self, is_on: bool) -> bool {
        std::mem::replace(&mut self.is_on, is_on)
    }

    fn begin(&mut self, has_json: bool) {
        self.is_on = has_json;
        self.slots.clear();
        self.places.clear();
        self.begun.clear();
        self.is_deep = false;
        self.has_looked_everywhere = false;
    }

    fn at(&self, place: u32) -> &Place {
        &self.places[(place & !(JSON | WALK_PLACE)) as usize]
    }

    /// The terminal of a place.
    pub(crate) fn terminal(&self, place: u32) -> u32 {
        self.slots.owner(self.at(place).slot) - 1
    }

    /// Where the walk met the value of a place, and the text from there on. Of places that
    /// steps have led to.
    pub(crate) fn text(&self, place: u32) -> (&JsonState, Vec<u8>) {
        let mut text = Vec::new();
        let mut at = self.at(place);
        while let Some((before, byte)) = at.from {
            text.push(byte);
            at = self.at(before);
        }
        text.reverse();
        (self.slots.around(at.slot), text)
    }

    /// The place of a cursor, 0 for a dead one.
    fn place(&mut self, slot: u32, cursor: Cursor, from: Option<(u32, u8)>) -> u32 {
        if cursor.is_dead() {
            return 0;
        }
        if let Some(known) = self.slots.known(slot, cursor) {
            return known;
        }
        let place = JSON | WALK_PLACE | self.places.len() as u32;
        self.slots.remember(slot, cursor, place);
        self.places.push(Place { slot, cursor, from });
        place
    }
}

/// A value that stands alone.
pub(crate) struct Value<'a, 'c> {
    caches: &'c mut Caches,
    inner: &'a Inner,
    thread: Thread,
    automaton: &'a SchemaAutomaton,
    slot: u32,
}

impl<'a> Outer<'a> for Value<'a, '_> {
    type Leaf = SchemaAutomaton;
    type Around = JsonState;

    fn slots(&mut self) -> &mut Slots<SchemaAutomaton, JsonState> {
        &mut self.caches.walk.slots
    }

    /// `None` where the value may end: what may come there is not a matter of the value alone.
    fn cursor(&mut self, cursor: Cursor) -> Option<Cursor> {
        let slot = self.slot;
        let scratch = self.caches.walk.slots.scratch(slot);
        if cursor.is_dead() || self.automaton.ends_at_cursor(cursor, scratch) {
            return None;
        }
        let place = self.caches.walk.place(slot, cursor, None);
        let thread = Thread {
            place,
            ..self.thread
        };
        Some(Cursor(self.caches.intern(vec![thread], 0, self.inner)))
    }
}

impl Caches {
    /// Begins a walk, which counts how far down it looks: the configuration as it is there.
    pub(crate) fn begin_walk(&mut self, config: u32, inner: &Inner) -> u32 {
        self.walk.begin(inner.has_json);
        self.configs.clear_walk();
        let config = self.in_walk(config, inner);
        self.top = self.height(config);
        self.least = self.top;
        self.level = self.top;
        config
    }

    /// A configuration as it is in the walk, if there is one.
    #[inline]
    pub(crate) fn in_walk(&mut self, config: u32, inner: &Inner) -> u32 {
        if !self.walk.is_on || config & WALK != 0 || self.has_no_json(config) {
            return config;
        }
        let threads = self.configs.threads(config).to_vec();
        let fresh = self.configs[config].fresh;
        self.intern(threads, fresh, inner)
    }

    /// In a walk, makes all places in JSON such of the walk.
    pub(crate) fn enter_json(&mut self, threads: &mut [Thread], inner: &Inner) {
        if !self.walk.is_on {
            return;
        }
        for thread in threads {
            if thread.place & JSON != 0 && thread.place & WALK_PLACE == 0 {
                thread.place = self.walk_place(thread.place, inner);
            }
        }
    }

    /// The place of the walk for one that outlives it.
    fn walk_place(&mut self, kept: u32, inner: &Inner) -> u32 {
        if let Some(&known) = self.walk.begun.get(&kept) {
            return known;
        }
        let (terminal, state) = &self.json[(kept & !JSON) as usize];
        let Some(automaton) = inner.json(*terminal) else {
            return 0;
        };
        let met = match self.json_starts.get(terminal) {
            Some(start) if *start == kept => Met::Ahead,
            _ => Met::Within,
        };
        let slots = &mut self.walk.slots;
        let slot = slots.take(owner(*terminal), automaton, met, state.clone());
        let cursor = automaton.enter(state, slots.scratch(slot));
        let place = self.walk.place(slot, cursor, None);
        self.walk.begun.insert(kept, place);
        place
    }

    /// Where a byte leads from a place of the walk.
    pub(crate) fn walk_step(&mut self, place: u32, byte: u8, inner: &Inner) -> u32 {
        let &Place { slot, cursor, .. } = self.walk.at(place);
        let Some(automaton) = inner.json(self.walk.terminal(place)) else {
            return 0;
        };
        let slots = &mut self.walk.slots;
        let next = match automaton.step_on_top(cursor, byte, slots.scratch(slot)) {
            Some(next) => next,
            None => {
                if slots.is_met_within(slot) {
                    self.walk.is_deep = true;
                    if self.walk.is_on_top {
                        return 0;
                    }
                }
                automaton.step(cursor, byte, slots.scratch(slot))
            }
        };
        self.walk.place(slot, next, Some((place, byte)))
    }

    /// Where a byte leads as far as the topmost level of the values tells, and whether a lower
    /// one counts.
    pub(crate) fn json_step_on_top(&mut self, config: u32, byte: u8, inner: &Inner) -> (u32, bool) {
        let was_deep = std::mem::replace(&mut self.walk.is_deep, false);
        self.walk.is_on_top = true;
        let next = self.step(config, byte, inner);
        self.walk.is_on_top = false;
        (next, std::mem::replace(&mut self.walk.is_deep, was_deep))
    }

    /// The terminal of a place of the walk, if its value may end there.
    pub(crate) fn walk_accepts(&mut self, place: u32, inner: &Inner) -> Option<u32> {
        let &Place { slot, cursor, .. } = self.walk.at(place);
        let terminal = self.walk.terminal(place);
        let ends = inner
            .json(terminal)?
            .ends_at_cursor(cursor, self.walk.slots.scratch(slot));
        ends.then_some(terminal)
    }

    /// The value that alone is read in a configuration, if there is one.
    #[inline]
    pub(crate) fn value<'a>(
        &mut self,
        config: u32,
        inner: &'a Inner,
    ) -> Option<Nested<'a, Value<'a, '_>>> {
        if config & WALK == 0 {
            return None;
        }
        let &[thread] = self.configs.threads(config) else {
            return None;
        };
        let automaton = inner.json(self.walk.terminal(thread.place))?;
        let &Place { slot, cursor, .. } = self.walk.at(thread.place);
        let value = Value {
            caches: self,
            inner,
            thread,
            automaton,
            slot,
        };
        Some(Nested::new(value, automaton, slot, cursor))
    }

    /// The same, if the value cannot end there: then what may come is a matter of the value.
    #[inline]
    pub(crate) fn unended<'a>(
        &mut self,
        config: u32,
        inner: &'a Inner,
    ) -> Option<Nested<'a, Value<'a, '_>>> {
        let mut value = self.value(config, inner)?;
        (!value.ends()).then_some(value)
    }

    /// The same, if what may come inside of the value is a matter of the value.
    pub(crate) fn sure_value<'a>(
        &mut self,
        config: u32,
        inner: &'a Inner,
    ) -> Option<Nested<'a, Value<'a, '_>>> {
        if config & WALK == 0 || !self.is_sure(config, inner) {
            return None;
        }
        self.value(config, inner)
    }

    /// Tells whether all values that have begun can be finished by what their terminals tell: then
    /// it is a matter of the values alone what may come inside of them.
    fn is_sure(&self, config: u32, inner: &Inner) -> bool {
        let is_sure = |&Thread { place, front }: &Thread| {
            place & JSON == 0 || self.safe_behind(front, self.json_terminal(place), inner)
        };
        !inner.checks_live || self.configs.threads(config).iter().all(is_sure)
    }

    /// What is known of the texts at a configuration of the walk.
    pub(crate) fn describe_json(
        &mut self,
        config: u32,
        horizon: Horizon<'_>,
        inner: &Inner,
    ) -> Description {
        if !self.is_sure(config, inner) {
            return Description::Unknown;
        }
        match self.unended(config, inner) {
            Some(mut value) => value.describe(horizon),
            None => Description::Top(None),
        }
    }

    /// How many levels of values the walk has looked at.
    pub(crate) fn json_depth_used(&self, inner: &Inner) -> usize {
        let begun = self.walk.slots.met_within();
        let depths = begun.map(|(owner, start, scratch)| match inner.json(owner - 1) {
            // One level for each array and object that is open, one for the value in the
            // innermost, and one that tells that there are no more.
            Some(_) if self.walk.has_looked_everywhere => start.depth() + 2,
            Some(automaton) => automaton.depth_used(scratch),
            None => 1,
        });
        depths.max().unwrap_or(1)
    }

    /// Appends what the mask at a place of the walk depends on, behind its length; `false` if
    /// that has no key.
    pub(crate) fn json_key(
        &mut self,
        place: u32,
        depth: usize,
        horizon: Horizon<'_>,
        inner: &Inner,
        out: &mut Vec<u32>,
    ) -> bool {
        let &Place { slot, cursor, .. } = self.walk.at(place);
        let terminal = self.walk.terminal(place);
        let Some(automaton) = inner.json(terminal) else {
            return false;
        };
        out.extend([JSON, terminal, 0]);
        let before = out.len();
        let scratch = self.walk.slots.scratch(slot);
        let language = automaton.key(cursor, Scope::Index, depth, horizon, scratch, out);
        out[before - 1] = (out.len() - before) as u32;
        language.is_some()
    }

    /// A key that means the same in all automata of schemas: of so many levels inside of one
    /// value, behind whose end the walk does not look.
    pub(crate) fn common_key(
        &mut self,
        config: u32,
        depth: usize,
        horizon: Horizon<'_>,
        inner: &Inner,
        out: &mut Vec<u32>,
    ) -> Option<KeyLanguage> {
        let mut value = self.sure_value(config, inner)?;
        let is_within = value.has_levels(depth);
        is_within.then(|| value.key(Scope::Vocabulary, depth, horizon, out))?
    }
}
