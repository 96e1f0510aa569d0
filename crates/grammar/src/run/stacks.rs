//! The stacks behind terminals that end: what is shifted, and then all reductions (as a
//! generalised LR parser does, Tomita 1985, with stacks that share their lower parts).
//!
//! For example, behind the `)` of `(x)` the stacks are those that stood before `(`, with what the
//! whole group is on top of them.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::FixedState;

use crate::machine::Machine;
use crate::run::by_hash::ByHash;
use crate::run::configs::{Least, Life, Step, Thread};
use crate::run::fronts::{Fronts, Next};
use crate::run::lexes::Lexes;
use crate::run::nodes::{Closing, Node, Nodes};
use crate::run::work::Work;

/// A terminal that ends on top of a front.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LexemeEnd {
    pub(crate) front: u32,
    pub(crate) terminal: u32,
}

/// The bytes of what is known of a place on top of some states, because an entry has 12 and its map
/// is half full.
const LIFE_BYTES: usize = 24;

/// The bytes of a text that led on, beside its own, because an entry has 24, its map is half full, and the text counts who
/// shares it in 16.
const LED_ON_BYTES: usize = 64;

/// All stacks that one scratch knows.
#[derive(Debug, Default)]
pub(crate) struct Stacks {
    nodes: Nodes,
    fronts: Fronts,
    shifted: Shifted,
    closing: Closing,
    /// By the number of what may come on top, and by place.
    lives: HashMap<(u32, u32), Life, FixedState>,
    /// By the same: text that led on from there, to what can be finished.
    led_on: HashMap<(u32, u32), Arc<[u8]>, FixedState>,
    pub(super) work: Work,
    /// The least height that the step that is being computed has looked at.
    pub(super) looked: Least,
    bytes: usize,
}

/// The fronts behind terminals that end together.
#[derive(Debug, Default)]
struct Shifted {
    /// By the number of the terminals, and the front.
    ids: ByHash,
    all: Vec<((u32, u32), Step)>,
}

impl Shifted {
    fn get(&self, key: (u32, u32)) -> Option<Step> {
        let is = |id: u32| self.all[id as usize].0 == key;
        let id = self.ids.find(self.ids.hash(key), is)?;
        Some(self.all[id as usize].1)
    }

    /// Adds what is not known.
    fn add(&mut self, key: (u32, u32), step: Step) {
        self.ids.add(self.ids.hash(key), self.all.len() as u32);
        self.all.push((key, step));
    }
}

impl Stacks {
    #[inline]
    pub(crate) fn node(&self, node: u32) -> &Node {
        self.nodes.get(node)
    }

    /// Returns the nodes below a node, ascending; none for the bottom.
    pub(crate) fn parents(&self, node: u32) -> &[u32] {
        self.nodes.parents(node)
    }

    /// Finds the nodes `levels` below a node, and remembers them.
    pub(crate) fn below(&mut self, node: u32, levels: u16, out: &mut Vec<u32>) {
        self.nodes.below(node, levels, out);
    }

    /// Returns the topmost nodes of a front, ascending.
    #[inline]
    pub(crate) fn topmost(&self, front: u32) -> &[u32] {
        self.fronts.nodes(front)
    }

    /// Returns what may come on top of a front.
    #[inline]
    pub(crate) fn next(&self, front: u32) -> &Next {
        self.fronts.next(front)
    }

    /// Returns what the states on top of a front tell of lexemes that have begun there, if it is
    /// known: that they can be finished, or nothing.
    pub(crate) fn life_by_top(&self, front: u32, place: u32) -> Option<Life> {
        let states = self.fronts.next_number(front);
        self.lives.get(&(states, place)).copied()
    }

    pub(super) fn keep_life_by_top(&mut self, thread: Thread, life: Life) {
        let states = self.fronts.next_number(thread.front);
        self.bytes += LIFE_BYTES;
        self.lives.insert((states, thread.place), life);
    }

    /// Returns text that led on from lexemes that have begun on top of the same states, to what could be finished.
    pub(crate) fn led_on(&self, thread: Thread) -> Option<Arc<[u8]>> {
        let states = self.fronts.next_number(thread.front);
        self.led_on.get(&(states, thread.place)).cloned()
    }

    /// Remembers such text.
    pub(crate) fn keep_led_on(&mut self, thread: Thread, text: Vec<u8>) {
        let key = (self.fronts.next_number(thread.front), thread.place);
        let known = self.led_on.get(&key);
        if known.is_some_and(|known| **known == *text) {
            return;
        }
        // A text in the place of another one has an entry already.
        self.bytes += text.len() + known.map_or(LED_ON_BYTES, |_| 0);
        self.led_on.insert(key, text.into());
    }

    /// Tells whether some stack of a front can be finished, whatever is below, once a terminal has
    /// come there.
    pub(crate) fn is_safe_behind(&self, front: u32, terminal: u32, machine: &Machine) -> bool {
        let is_ignored = machine.cfg().is_ignored(terminal);
        self.topmost(front).iter().any(|&node| {
            let state = self.node(node).state;
            match machine.tables().states[state as usize].shift(terminal) {
                _ if is_ignored => machine.proof().is_safe(state, terminal),
                Some(to) => machine.proof().is_safe(to, terminal),
                None => false,
            }
        })
    }

    /// Tells whether some stack of a front can be finished, whatever is below, where a lexeme has
    /// begun that is in a state: see [`Stacks::is_safe_behind`].
    pub(crate) fn is_safe_at(&self, front: u32, state: u32, machine: &Machine) -> bool {
        match machine.proof().narrow() {
            Some(narrow) if narrow.has(state) => self.behind_narrow(front, machine) == Some(true),
            _ => self.is_safe_behind(front, machine.lexer().terminal[state as usize], machine),
        }
    }

    /// Tells whether some stack of a front can be finished behind ignored text that is narrow; none
    /// where the topmost nodes alone do not tell it.
    pub(crate) fn behind_narrow(&self, front: u32, machine: &Machine) -> Option<bool> {
        let Some(narrow) = machine.proof().narrow() else {
            return Some(true);
        };
        let states = self.topmost(front).iter();
        let states = states.map(|&node| &machine.tables().states[self.node(node).state as usize]);
        let shifts = states.flat_map(|state| &state.shifts);
        let mut follow = shifts.filter(|shift| narrow.can_follow(shift.0)).peekable();
        if follow.peek().is_none() {
            return (!self.next(front).accepts).then_some(false);
        }
        follow
            .any(|shift| machine.proof().is_safe(shift.1, shift.0))
            .then_some(true)
    }

    /// Returns the node of a state and its parents, which are ascending.
    pub(super) fn add_node(&mut self, state: u32, parents: impl Iterator<Item = u32>) -> u32 {
        self.nodes.intern(state, parents)
    }

    /// Returns the stacks with these topmost nodes, which are ascending.
    pub(super) fn front(&mut self, topmost: &[u32], lexes: &mut Lexes, machine: &Machine) -> u32 {
        self.fronts.front(topmost, &self.nodes, lexes, machine)
    }

    /// Puts a terminal on each stack of a front that takes it.
    fn shift(&mut self, end: LexemeEnd, machine: &Machine) {
        let is_ignored = machine.cfg().is_ignored(end.terminal);
        let is_once = is_ignored && machine.cfg().comes_once(end.terminal);
        let topmost = self.fronts.nodes(end.front);
        self.work.charge(topmost.len());
        for &node in topmost {
            let state = self.nodes.get(node).state;
            if is_once && machine.tables().is_behind_ignored(state) {
                continue;
            }
            if is_once {
                let state = machine.tables().behind_ignored(state);
                let parents = self.nodes.parents(node).to_vec();
                let node = self.nodes.intern(state, parents.into_iter());
                self.closing.add_node(node);
            } else if is_ignored {
                self.closing.add_node(node);
            } else if let Some(to) = machine.tables().states[state as usize].shift(end.terminal) {
                self.closing.add(to, node);
            }
        }
    }

    /// Returns the stacks behind the lexemes that end in some places.
    pub(super) fn behind(
        &mut self,
        ends: impl Iterator<Item = LexemeEnd>,
        lexes: &mut Lexes,
        machine: &Machine,
    ) -> u32 {
        self.closing.clear();
        ends.for_each(|end| self.shift(end, machine));
        if self.closing.is_empty() {
            return 0;
        }
        let top = self
            .closing
            .close(machine.tables(), &mut self.nodes, &mut self.work);
        self.looked.note(self.closing.least);
        self.front(&top, lexes, machine)
    }

    /// Returns the stacks behind all terminals that end at a [`Lex`](super::lexes::Lex), or all
    /// lazy ones if there are any.
    pub(super) fn behind_lex(
        &mut self,
        lex: u32,
        front: u32,
        lexes: &mut Lexes,
        machine: &Machine,
    ) -> u32 {
        let own = &lexes[lex];
        match self.shifted.get((own.ends, front)) {
            Some(step) => {
                self.looked.note(step.looked);
                step.to
            }
            None => {
                let (ends, terminals) = (own.ends, own.ending().to_vec());
                self.behind_ends(ends, &terminals, front, lexes, machine)
            }
        }
    }

    /// Returns the stacks behind terminals that end together, by their
    /// [number](Lexes::number_of_ends).
    pub(super) fn behind_ends(
        &mut self,
        ends: u32,
        terminals: &[u32],
        front: u32,
        lexes: &mut Lexes,
        machine: &Machine,
    ) -> u32 {
        let key = (ends, front);
        let step = match self.shifted.get(key) {
            Some(step) => step,
            None => {
                let before = self.looked.anew();
                let ends = terminals
                    .iter()
                    .map(|&terminal| LexemeEnd { front, terminal });
                let to = self.behind(ends, lexes, machine);
                let looked = self.looked.back(before);
                let step = Step { to, looked };
                self.shifted.add(key, step);
                self.bytes += 48;
                step
            }
        };
        self.looked.note(step.looked);
        step.to
    }

    /// Returns the bytes that all of this takes, about.
    pub(super) fn bytes(&self) -> usize {
        self.bytes + self.nodes.bytes() + self.fronts.bytes()
    }
}
