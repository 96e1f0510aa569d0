//! Keys: what masks depend on. The topmost nodes of the stacks tell of most tokens.
//!
//! A mask is a matter of the set of stacks alone, and of the lexemes that have begun on top of
//! them. A walk looks at a number of levels of them; a key lists the ways down so far, those of
//! equal states together, so that it means the same in every scratch. For example, the key of the
//! topmost level behind `(1` has the states in which a number goes on, and the parser's state
//! behind `(`.

use std::cell::Cell;

use fsm_index::{Horizon, KeyLanguage, Scope};

use crate::hints::values;
use crate::machine::Machine;
use crate::run::caches::Caches;
use crate::run::step::Steps;

/// The longest key, in words, because a longer one takes longer to compare than its row to make.
const MAX_KEY: usize = 600;

/// The nodes of stacks that a key may look at, because a walk looks at about as many where they are
/// that ambiguous: each level of a key has all parents of the level above.
const MAX_NODES: usize = 4_000;

/// Ends a list in a key, because no state has this number.
const END: u32 = u32::MAX;

/// A writer of keys.
pub(crate) struct Keys<'a> {
    machine: &'a Machine,
    caches: &'a mut Caches,
    horizon: Horizon<'a>,
    depth: usize,
    /// The nodes that may still be looked at.
    left: Cell<usize>,
}

impl<'a> Keys<'a> {
    pub(crate) fn new(
        machine: &'a Machine,
        caches: &'a mut Caches,
        horizon: Horizon<'a>,
        depth: usize,
    ) -> Self {
        Keys {
            machine,
            caches,
            horizon,
            depth,
            left: Cell::new(MAX_NODES),
        }
    }

    /// Appends a key of the topmost levels of the stacks, and of the values in JSON.
    pub(crate) fn key(
        &mut self,
        config: u32,
        scope: Scope,
        out: &mut Vec<u32>,
    ) -> Option<KeyLanguage> {
        let before = out.len();
        if scope == Scope::Vocabulary {
            // States of parsers have numbers of this grammar alone.
            let Keys {
                machine,
                caches,
                horizon,
                depth,
                ..
            } = self;
            return values::common_key(machine, caches, config, *depth, *horizon, out);
        }
        if config != 0 && self.push_key(config, out) && out.len() - before <= MAX_KEY {
            return Some(KeyLanguage::OWN);
        }
        out.truncate(before);
        None
    }

    fn push_key(&mut self, config: u32, out: &mut Vec<u32>) -> bool {
        let mut steps = Steps::new(self.machine, self.caches);
        let config = steps.in_walk(config);
        let is_steady = !self.machine.is_greedy() && steps.is_steady(config);
        out.push(u32::from(steps.is_accepting(config)) + 2 * u32::from(is_steady));
        let mut parts: Vec<Vec<u32>> = Vec::new();
        // A part has what has begun, and then what lies below, by which alone equal lists of
        // members are told apart.
        for thread in self.caches.configs().threads(config).to_vec() {
            let mut part = Vec::new();
            if thread.is_in_json() {
                let (caches, place) = (&mut *self.caches, thread.place);
                let (depth, horizon) = (self.depth, self.horizon);
                if !values::key(self.machine, caches, place, depth, horizon, &mut part) {
                    return false;
                }
            } else {
                part.extend_from_slice(&self.caches.lexes()[thread.place].members);
                part.push(END);
            }
            if !self.push_front(thread.front, &mut part) {
                return false;
            }
            parts.push(part);
        }
        let mut fresh = vec![END];
        if !self.push_front(self.caches.configs()[config].fresh, &mut fresh) {
            return false;
        }
        parts.push(fresh);
        parts.sort_unstable();
        for part in parts {
            out.extend(part);
            out.push(END);
        }
        true
    }

    fn push_front(&self, front: u32, out: &mut Vec<u32>) -> bool {
        let nodes = self.caches.stacks().topmost(front).to_vec();
        self.push_ways(nodes, self.depth, out)
    }

    /// Appends the ways down from some nodes, as a tree by their states; `false` if that is
    /// too much.
    fn push_ways(&self, mut nodes: Vec<u32>, depth: usize, out: &mut Vec<u32>) -> bool {
        match self.left.get().checked_sub(nodes.len()) {
            Some(left) if out.len() <= MAX_KEY => self.left.set(left),
            _ => return false,
        }
        let stacks = self.caches.stacks();
        nodes.sort_unstable_by_key(|&node| (stacks.node(node).state, node));
        nodes.dedup();
        for group in nodes.chunk_by(|&a, &b| stacks.node(a).state == stacks.node(b).state) {
            out.push(stacks.node(group[0]).state);
            if depth > 1 {
                let below = group.iter().flat_map(|&node| stacks.parents(node));
                let below: Vec<u32> = below.copied().take(self.left.get() + 1).collect();
                if !self.push_ways(below, depth - 1, out) {
                    return false;
                }
            }
        }
        out.push(END);
        true
    }
}
