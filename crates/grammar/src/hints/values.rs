//! A value of JSON that alone is read in a walk: its masks, keys and texts are those of the
//! schema's own automaton.
//!
//! For example, inside of the string of `%json {"type": "string"}` a mask is that of any JSON
//! string, and shared with all schemas.

use fsm_index::{
    ByteAutomaton, Cursor, Description, Horizon, KeyLanguage, Leaf as _, Nested, Outer, Scope,
    Slots,
};
use schema_regex::automaton::{SchemaAutomaton, State as JsonState};

use crate::machine::Machine;
use crate::run::caches::Caches;
use crate::run::configs::{JSON, Thread, WALK};
use crate::run::step::Steps;

/// A value that stands alone.
pub(crate) struct Value<'a, 'c> {
    machine: &'a Machine,
    caches: &'c mut Caches,
    thread: Thread,
    automaton: &'a SchemaAutomaton,
    slot: u32,
}

impl<'a> Outer<'a> for Value<'a, '_> {
    type Leaf = SchemaAutomaton;
    type Around = JsonState;

    fn slots(&mut self) -> &mut Slots<SchemaAutomaton, JsonState> {
        self.caches.json_mut().slots()
    }

    /// `None` where the value may end: what may come there is not a matter of the value alone.
    fn cursor(&mut self, cursor: Cursor) -> Option<Cursor> {
        let json = self.caches.json_mut();
        let scratch = json.slots().scratch(self.slot);
        if cursor.is_dead() || self.automaton.ends_at_cursor(cursor, scratch) {
            return None;
        }
        let place = json.place_of(self.slot, cursor, None);
        let thread = Thread {
            place,
            ..self.thread
        };
        let mut steps = Steps::new(self.machine, self.caches);
        Some(Cursor(steps.intern(vec![thread], 0)))
    }
}

/// Returns the value that alone is read in a configuration, if there is one.
#[inline]
pub(crate) fn value<'a, 'c>(
    machine: &'a Machine,
    caches: &'c mut Caches,
    config: u32,
) -> Option<Nested<'a, Value<'a, 'c>>> {
    if config & WALK == 0 {
        return None;
    }
    let &[thread] = caches.configs().threads(config) else {
        return None;
    };
    let automaton = machine.json(caches.json().terminal(thread.place))?;
    let (slot, cursor) = caches.json().cursor(thread.place);
    let value = Value {
        machine,
        caches,
        thread,
        automaton,
        slot,
    };
    Some(Nested::new(value, automaton, slot, cursor))
}

/// Returns the same, if the value cannot end there: then what may come is a matter of the value.
#[inline]
pub(crate) fn unended<'a, 'c>(
    machine: &'a Machine,
    caches: &'c mut Caches,
    config: u32,
) -> Option<Nested<'a, Value<'a, 'c>>> {
    let mut value = value(machine, caches, config)?;
    (!value.ends()).then_some(value)
}

/// Returns the same, if what may come inside of the value is a matter of the value.
pub(crate) fn sure_value<'a, 'c>(
    machine: &'a Machine,
    caches: &'c mut Caches,
    config: u32,
) -> Option<Nested<'a, Value<'a, 'c>>> {
    if config & WALK == 0 || !is_sure(machine, caches, config) {
        return None;
    }
    value(machine, caches, config)
}

/// Tells whether all values that have begun can be finished by what their terminals tell: then
/// it is a matter of the values alone what may come inside of them.
fn is_sure(machine: &Machine, caches: &Caches, config: u32) -> bool {
    let is_sure = |thread: &Thread| {
        !thread.is_in_json() || {
            let terminal = caches.json().terminal(thread.place);
            caches
                .stacks()
                .is_safe_behind(thread.front, terminal, machine)
        }
    };
    !machine.checks_live() || caches.configs().threads(config).iter().all(is_sure)
}

/// Returns what is known of the texts at a configuration of the walk.
pub(super) fn describe(
    machine: &Machine,
    caches: &mut Caches,
    config: u32,
    horizon: Horizon<'_>,
) -> Description {
    if !is_sure(machine, caches, config) {
        return Description::Unknown;
    }
    match unended(machine, caches, config) {
        Some(mut value) => value.describe(horizon),
        None => Description::Top(None),
    }
}

/// Appends what the mask at a place of the walk depends on, behind its length; `false` if that has
/// no key.
pub(super) fn key(
    machine: &Machine,
    caches: &mut Caches,
    place: u32,
    depth: usize,
    horizon: Horizon<'_>,
    out: &mut Vec<u32>,
) -> bool {
    let (slot, cursor) = caches.json().cursor(place);
    let terminal = caches.json().terminal(place);
    let Some(automaton) = machine.json(terminal) else {
        return false;
    };
    out.extend([JSON, terminal, 0]);
    let before = out.len();
    let scratch = caches.json_mut().slots().scratch(slot);
    let language = automaton.key(cursor, Scope::Index, depth, horizon, scratch, out);
    out[before - 1] = (out.len() - before) as u32;
    language.is_some()
}

/// Appends a key that means the same in all automata of schemas: of a number of levels inside of
/// one value, behind whose end the walk does not look.
pub(super) fn common_key(
    machine: &Machine,
    caches: &mut Caches,
    config: u32,
    depth: usize,
    horizon: Horizon<'_>,
    out: &mut Vec<u32>,
) -> Option<KeyLanguage> {
    let mut value = sure_value(machine, caches, config)?;
    let is_within = value.has_levels(depth);
    is_within.then(|| value.key(Scope::Vocabulary, depth, horizon, out))?
}
