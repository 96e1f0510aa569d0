//! Working memory of a walk over the vocabulary: threads are plain numbers, interned by what
//! threads there are together.
//!
//! For example, all tokens that lead into the same free text lead to one cursor.

use std::fmt;

use foldhash::HashMap;
use fsm_index::{Cursor, Leaf, Met, Slots, Stack as _};
use grammar::GrammarAutomaton;
use schema_regex::automaton::SchemaAutomaton;

use super::graph::Graph;
use super::parts::{Body, Thread};
use super::stack::Frames;

/// Working memory of one walk.
#[derive(Default)]
pub struct Scratch {
    /// With each text, the rules that are open around it.
    json: Slots<SchemaAutomaton, u32>,
    grammars: Slots<GrammarAutomaton, u32>,
    /// For parts of JSON and of grammars, where a text begins: found once a walk.
    starts: HashMap<u32, Inside>,
    /// The threads of all configs, one after another, and where each config's are.
    pool: Vec<Thread>,
    configs: Vec<(u32, u32)>,
    ids: HashMap<Box<[Thread]>, u32>,
    /// Room that is lent to whoever puts threads together.
    room: Vec<Thread>,
    frames: Frames,
    begun: Begun,
}

/// The parts at which threads began since the last round, each with the rules around it.
#[derive(Default)]
struct Begun {
    by_part: Vec<(u32, u32)>,
    round: u32,
}

/// A part, and the stack of rules that are open around it.
#[derive(Clone, Copy)]
pub(super) struct Site {
    pub(super) part: u32,
    pub(super) stack: u32,
}

/// A place in a text of an inner automaton.
#[derive(Clone, Copy)]
pub(super) struct Inside {
    pub(super) slot: u32,
    pub(super) cursor: u32,
}

impl Inside {
    /// Returns a place of a part that is told by a number alone.
    pub(super) fn of_number(cursor: u32) -> Inside {
        Inside { slot: 0, cursor }
    }
}

/// Returns a config's cursor: its number and one, so that 0 is dead.
fn cursor(id: u32) -> Cursor {
    Cursor(id + 1)
}

impl Scratch {
    /// Returns the threads of a cursor.
    #[inline]
    pub(super) fn config(&self, cursor: Cursor) -> &[Thread] {
        match cursor.0.checked_sub(1) {
            Some(id) => {
                let (from, to) = self.configs[id as usize];
                &self.pool[from as usize..to as usize]
            }
            None => &[],
        }
    }

    /// Returns the cursor of some threads.
    pub(super) fn intern(&mut self, threads: &mut Vec<Thread>) -> Cursor {
        if threads.is_empty() {
            return Cursor::DEAD;
        }
        threads.sort_unstable();
        threads.dedup();
        if let Some(id) = self.ids.get(threads.as_slice()) {
            return cursor(*id);
        }
        let added = self.add(threads);
        self.ids.insert(threads.as_slice().into(), added.0 - 1);
        added
    }

    /// Returns the cursor of a thread of JSON that stands alone and is met for the first time.
    pub(super) fn begin_alone(&mut self, thread: Thread) -> Cursor {
        let begun = self.add(&[thread]);
        let inner = Cursor(thread.inner);
        self.json.remember(thread.slot, inner, begun.0);
        begun
    }

    /// Adds a config that is not there yet.
    pub(super) fn add(&mut self, threads: &[Thread]) -> Cursor {
        let from = self.pool.len() as u32;
        self.pool.extend_from_slice(threads);
        self.configs.push((from, self.pool.len() as u32));
        cursor((self.configs.len() - 1) as u32)
    }

    /// Returns room for threads that are put together, which [`Scratch::give_back`] takes.
    pub(super) fn lend(&mut self) -> Vec<Thread> {
        let mut room = std::mem::take(&mut self.room);
        room.clear();
        room
    }

    pub(super) fn give_back(&mut self, room: Vec<Thread>) {
        self.room = room;
    }

    /// Returns the values of JSON that are read.
    #[inline]
    pub(super) fn json(&mut self) -> &mut Slots<SchemaAutomaton, u32> {
        &mut self.json
    }

    /// Returns the texts of grammars that are read.
    #[inline]
    pub(super) fn grammars(&mut self) -> &mut Slots<GrammarAutomaton, u32> {
        &mut self.grammars
    }

    /// Returns the number of levels that the walk has looked at, by the automata of parts.
    pub(super) fn depth_used(&self, graph: &Graph) -> usize {
        let body = |part| &graph.part(part).body;
        let json = self.json.met_within();
        let json = json.map(|(part, _, scratch)| match body(part) {
            Body::Json(json) => json.automaton.depth_used(scratch),
            _ => 1,
        });
        let grammars = self.grammars.met_within();
        let grammars = grammars.map(|(part, _, scratch)| match body(part) {
            Body::Grammar(automaton) => automaton.depth_used(scratch),
            _ => 1,
        });
        json.chain(grammars).max().unwrap_or(1)
    }

    /// Forgets which threads began.
    pub(super) fn begin_round(&mut self) {
        self.begun.round = self.begun.round.wrapping_add(1);
        if self.begun.round == 0 {
            // No thread began in round 0.
            self.begun.by_part.clear();
            self.begun.round = 1;
        }
    }

    /// Tells whether a thread begins in a part for the first time in a round, as far as is known.
    pub(super) fn begins(&mut self, part: u32, stack: u32) -> bool {
        let Begun { by_part, round } = &mut self.begun;
        if by_part.len() <= part as usize {
            by_part.resize(part as usize + 1, (0, 0));
        }
        let now = (*round, stack);
        std::mem::replace(&mut by_part[part as usize], now) != now
    }

    /// Returns the stacks of open rules.
    pub(super) fn frames(&mut self) -> &mut Frames {
        &mut self.frames
    }

    /// Forgets the walk before.
    pub(super) fn clear(&mut self) {
        self.json.clear();
        self.grammars.clear();
        self.starts.clear();
        self.configs.clear();
        self.pool.clear();
        self.ids.clear();
        self.frames.clear();
    }
}

/// An automaton that parts have inside.
pub(super) trait Nestable: Leaf + Sized {
    /// Returns the working memories of its texts; with each, the rules that are open around it.
    fn slots(x: &mut Scratch) -> &mut Slots<Self, u32>;

    /// Returns the place in a walk at which a text of a part goes on.
    fn meet(&self, state: &Self::State, site: Site, x: &mut Scratch) -> Inside {
        self.take(state, site, Met::Within, x)
    }

    /// Returns the place at which a text of a part begins: found once a walk.
    fn begin(&self, state: &Self::State, site: Site, x: &mut Scratch) -> Inside {
        if let Some(start) = x.starts.get(&site.part) {
            return *start;
        }
        let start = self.take(state, site, Met::Ahead, x);
        x.starts.insert(site.part, start);
        start
    }

    fn take(&self, state: &Self::State, site: Site, met: Met, x: &mut Scratch) -> Inside {
        let slots = Self::slots(x);
        let slot = slots.take(site.part, self, met, site.stack);
        let cursor = self.enter(state, slots.scratch(slot)).0;
        Inside { slot, cursor }
    }
}

impl Nestable for SchemaAutomaton {
    fn slots(x: &mut Scratch) -> &mut Slots<Self, u32> {
        &mut x.json
    }
}

impl Nestable for GrammarAutomaton {
    fn slots(x: &mut Scratch) -> &mut Slots<Self, u32> {
        &mut x.grammars
    }
}

impl fmt::Debug for Scratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scratch({} configs)", self.configs.len())
    }
}
