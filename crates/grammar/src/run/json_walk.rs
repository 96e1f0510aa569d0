//! JSON in a walk: a place there is a cursor of the schema's own automaton. So what that
//! automaton knows of its texts holds for the grammar too, wherever one value stands alone.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use fsm_index::{
    ByteAutomaton, ByteSet, ClassId, Cursor, Description, FreeText, Horizon, KeyLanguage,
    PlainText, ReadText, Scope, Stack, TextAt, TextLoop, TextStep, TopText,
};
use schema_regex::automaton::{SchemaAutomaton, Scratch as JsonScratch, State as JsonState};

use crate::machine::Inner;
use crate::run::caches::Caches;
use crate::run::configs::{JSON, Thread, WALK, WALK_PLACE};
use crate::run::text::Classes;

/// What a walk knows of the values that it reads.
#[derive(Default)]
pub(crate) struct JsonWalk {
    /// Whether there is a walk: else places in JSON are states, which outlive it.
    is_on: bool,
    slots: Vec<Slot>,
    places: Vec<Place>,
    /// By a place that outlives the walk: that of the walk.
    begun: HashMap<u32, u32, FixedState>,
    /// Whether a step has looked below the topmost level of a value in which the walk began.
    pub(crate) is_deep: bool,
    /// Whether only what the topmost level tells is asked for.
    pub(crate) is_on_top: bool,
    /// Whether all levels of such values were looked at.
    pub(crate) has_looked_everywhere: bool,
}

/// Working memory of one value.
struct Slot {
    terminal: u32,
    scratch: JsonScratch,
    /// Where the walk meets the value.
    start: JsonState,
    is_used: bool,
    /// Whether the walk began inside of the value.
    begun_before: bool,
    /// By cursor the place, 0 where there is none.
    places: Vec<u32>,
}

/// A place of a value, and how it was reached first, if by a step.
struct Place {
    slot: u32,
    cursor: Cursor,
    from: Option<(u32, u8)>,
}

impl JsonWalk {
    /// Ends a walk: what comes is committed.
    pub(crate) fn end(&mut self) {
        self.is_on = false;
    }

    /// Whether there is a walk, which is then paused or goes on.
    pub(crate) fn set_on(&mut self, is_on: bool) -> bool {
        std::mem::replace(&mut self.is_on, is_on)
    }

    fn begin(&mut self, has_json: bool) {
        self.is_on = has_json;
        self.slots.iter_mut().for_each(|slot| slot.is_used = false);
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
        self.slots[self.at(place).slot as usize].terminal
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
        (&self.slots[at.slot as usize].start, text)
    }

    /// The place of a cursor, 0 for a dead one.
    fn place(&mut self, slot: u32, cursor: Cursor, from: Option<(u32, u8)>) -> u32 {
        if cursor.is_dead() {
            return 0;
        }
        let places = &mut self.slots[slot as usize].places;
        let at = cursor.0 as usize;
        if places.len() <= at {
            places.resize(at + 1, 0);
        }
        if places[at] == 0 {
            places[at] = JSON | WALK_PLACE | self.places.len() as u32;
            self.places.push(Place { slot, cursor, from });
        }
        places[at]
    }

    /// A slot for a value that the walk meets at a state.
    fn slot(&mut self, terminal: u32, automaton: &SchemaAutomaton, start: JsonState) -> u32 {
        let is_free = |slot: &Slot| slot.terminal == terminal && !slot.is_used;
        let at = self.slots.iter().position(is_free).unwrap_or_else(|| {
            self.slots.push(Slot {
                terminal,
                scratch: automaton.scratch(),
                start: start.clone(),
                is_used: false,
                begun_before: false,
                places: Vec::new(),
            });
            self.slots.len() - 1
        });
        let slot = &mut self.slots[at];
        slot.is_used = true;
        slot.start = start;
        slot.places.clear();
        at as u32
    }
}

/// A value that stands alone.
struct Solo<'a> {
    thread: Thread,
    automaton: &'a SchemaAutomaton,
    slot: u32,
    cursor: Cursor,
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
        let slot = self.walk.slot(*terminal, automaton, state.clone());
        let own = &mut self.walk.slots[slot as usize];
        own.begun_before = self.json_starts.get(terminal) != Some(&kept);
        let cursor = automaton.enter(state, &mut own.scratch);
        let place = self.walk.place(slot, cursor, None);
        self.walk.begun.insert(kept, place);
        place
    }

    /// Where a byte leads from a place of the walk.
    pub(crate) fn walk_step(&mut self, place: u32, byte: u8, inner: &Inner) -> u32 {
        let &Place { slot, cursor, .. } = self.walk.at(place);
        let own = &mut self.walk.slots[slot as usize];
        let Some(automaton) = inner.json(own.terminal) else {
            return 0;
        };
        let next = match automaton.step_on_top(cursor, byte, &mut own.scratch) {
            Some(next) => next,
            None => {
                if own.begun_before {
                    self.walk.is_deep = true;
                    if self.walk.is_on_top {
                        return 0;
                    }
                }
                automaton.step(cursor, byte, &mut own.scratch)
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
        let own = &mut self.walk.slots[slot as usize];
        let automaton = inner.json(own.terminal)?;
        let ends = automaton.ends_at_cursor(cursor, &mut own.scratch);
        ends.then_some(own.terminal)
    }

    /// The only thread of a configuration, if it stands in JSON.
    fn solo<'a>(&self, config: u32, inner: &'a Inner) -> Option<Solo<'a>> {
        let &[thread] = self.configs.threads(config) else {
            return None;
        };
        if config & WALK == 0 {
            return None;
        }
        let &Place { slot, cursor, .. } = self.walk.at(thread.place);
        let automaton = inner.json(self.walk.slots[slot as usize].terminal)?;
        Some(Solo {
            thread,
            automaton,
            slot,
            cursor,
        })
    }

    fn scratch_of(&mut self, solo: &Solo<'_>) -> &mut JsonScratch {
        &mut self.walk.slots[solo.slot as usize].scratch
    }

    /// The same, if the value cannot end there: then what may come is a matter of the value.
    fn unended<'a>(&mut self, config: u32, inner: &'a Inner) -> Option<Solo<'a>> {
        let solo = self.solo(config, inner)?;
        let ends = solo
            .automaton
            .ends_at_cursor(solo.cursor, self.scratch_of(&solo));
        (!ends).then_some(solo)
    }

    /// The configuration where a value that stands alone stands at another of its cursors;
    /// `None` where it may end.
    fn moved(&mut self, solo: &Solo<'_>, cursor: Cursor, inner: &Inner) -> Option<u32> {
        let automaton = solo.automaton;
        if cursor.is_dead() || automaton.ends_at_cursor(cursor, self.scratch_of(solo)) {
            return None;
        }
        let place = self.walk.place(solo.slot, cursor, None);
        let thread = Thread {
            place,
            ..solo.thread
        };
        Some(self.intern(vec![thread], 0, inner))
    }

    /// Whether all values that have begun can be finished by what their terminals tell: then
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
        let Some(solo) = self.unended(config, inner) else {
            return Description::Top(TopText::default());
        };
        let automaton = solo.automaton;
        match automaton.describe(solo.cursor, horizon, self.scratch_of(&solo)) {
            Description::Top(top) => Description::Top(TopText {
                text: top
                    .text
                    .and_then(|text| self.moved_loop(&solo, text, inner)),
                free: top.free.and_then(|free| free_of(&solo, free, inner)),
            }),
            Description::Text(text) => self
                .moved_loop(&solo, text, inner)
                .map_or(Description::Unknown, Description::Text),
            Description::Like { cursor, apart } => match self.moved(&solo, cursor, inner) {
                Some(other) => Description::Like {
                    cursor: Cursor(other),
                    apart,
                },
                None => Description::Unknown,
            },
            other @ (Description::Listed(_) | Description::Unknown) => other,
        }
    }

    fn moved_loop(&mut self, solo: &Solo<'_>, text: TextLoop, inner: &Inner) -> Option<TextLoop> {
        Some(TextLoop {
            class: class_of(solo, text.class, inner)?,
            next: Cursor(self.moved(solo, text.next, inner)?),
            ..text
        })
    }

    /// What reads the text at a configuration.
    pub(crate) fn json_reader<'a>(
        &mut self,
        config: u32,
        horizon: Horizon<'_>,
        inner: &'a Inner,
    ) -> Option<Box<dyn ReadText + 'a>> {
        let solo = self.solo(config, inner)?;
        if !self.is_sure(config, inner) {
            return None;
        }
        let automaton = solo.automaton;
        let read = automaton.reader(solo.cursor, horizon, self.scratch_of(&solo))?;
        Some(Box::new(Reader {
            inner: read,
            automaton,
            classes: &inner.classes,
        }))
    }

    /// The configuration where a reader has come to.
    pub(crate) fn behind_text(&mut self, config: u32, at: TextAt, inner: &Inner) -> u32 {
        let Some(solo) = self.solo(config, inner) else {
            return config;
        };
        let automaton = solo.automaton;
        let cursor = automaton.cursor_at(solo.cursor, at, self.scratch_of(&solo));
        self.moved(&solo, cursor, inner).unwrap_or(0)
    }

    /// The bytes that may come at a configuration, and perhaps others.
    pub(crate) fn next_bytes(&mut self, config: u32, on_top: bool, inner: &Inner) -> ByteSet {
        let Some(solo) = self.unended(config, inner) else {
            return ByteSet::ALL;
        };
        let (automaton, cursor) = (solo.automaton, solo.cursor);
        match on_top {
            true => automaton.next_bytes_on_top(cursor, self.scratch_of(&solo)),
            false => automaton.next_bytes(cursor, self.scratch_of(&solo)),
        }
    }

    /// How many levels the mask at a configuration depends on, at least.
    pub(crate) fn least_depth(&self, config: u32, inner: &Inner) -> usize {
        self.solo(config, inner).map_or(1, |solo| {
            let scratch = &self.walk.slots[solo.slot as usize].scratch;
            solo.automaton.least_depth(solo.cursor, scratch)
        })
    }

    /// How many levels of values the walk has looked at.
    pub(crate) fn json_depth_used(&self, inner: &Inner) -> usize {
        let slots = self.walk.slots.iter();
        let begun = slots.filter(|slot| slot.is_used && slot.begun_before);
        let depths = begun.map(|slot| match inner.json(slot.terminal) {
            // One level for each array and object that is open, one for the value in the
            // innermost, and one that tells that there are no more.
            Some(_) if self.walk.has_looked_everywhere => slot.start.depth() + 2,
            Some(automaton) => automaton.depth_used(&slot.scratch),
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
        let own = &mut self.walk.slots[slot as usize];
        let Some(automaton) = inner.json(own.terminal) else {
            return false;
        };
        out.extend([JSON, own.terminal, 0]);
        let before = out.len();
        let scratch = &mut own.scratch;
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
        let solo = self.solo(config, inner)?;
        let (automaton, cursor) = (solo.automaton, solo.cursor);
        if !self.is_sure(config, inner) {
            return None;
        }
        let scratch = self.scratch_of(&solo);
        if automaton.levels_below(cursor, scratch) < depth {
            return None;
        }
        automaton.key(cursor, Scope::Vocabulary, depth, horizon, scratch, out)
    }
}

/// A class of a schema's automaton, as the grammar numbers it.
fn class_of(solo: &Solo<'_>, class: ClassId, inner: &Inner) -> Option<ClassId> {
    inner.classes.id(solo.automaton.class(class).into())
}

fn free_of(solo: &Solo<'_>, free: FreeText, inner: &Inner) -> Option<FreeText> {
    let class = class_of(solo, free.class, inner)?;
    Some(FreeText { class, ..free })
}

/// What reads text in JSON.
struct Reader<'a> {
    inner: Box<dyn ReadText + 'a>,
    automaton: &'a SchemaAutomaton,
    classes: &'a Classes,
}

impl ReadText for Reader<'_> {
    fn start(&self) -> TextAt {
        self.inner.start()
    }

    fn step(&self, at: TextAt, byte: u8) -> TextStep {
        self.inner.step(at, byte)
    }

    fn language(&self) -> Option<[u64; 4]> {
        self.inner.language()
    }

    fn is_ascii_next(&self, at: TextAt) -> bool {
        self.inner.is_ascii_next(at)
    }

    fn free_text(&self, at: TextAt) -> Option<FreeText> {
        let free = self.inner.free_text(at)?;
        let class = self.classes.id(self.automaton.class(free.class).into())?;
        Some(FreeText { class, ..free })
    }

    fn dead_class(&self) -> &[(u32, u32)] {
        self.inner.dead_class()
    }

    fn least_chars(&self) -> usize {
        self.inner.least_chars()
    }

    fn is_back(&self, at: TextAt) -> bool {
        self.inner.is_back(at)
    }
}
