//! Stacks that share their lower parts: nodes and sets of them, each with one number for
//! one content.
//!
//! For example, behind `((` the topmost node has the one behind `(` as its only parent.

use crate::compile::lr::Tables;
use crate::run::by_hash::ByHash;
use crate::run::lists::{List, Lists};
use crate::run::work::Work;

/// A state of the parser on top of any of its parents.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) state: u32,
    /// The number of nodes that the longest way to the bottom has.
    pub(crate) height: u32,
    parents: List,
}

/// All nodes that one scratch knows.
#[derive(Debug, Default)]
pub(crate) struct Nodes {
    all: Vec<Node>,
    parents: Lists<u32>,
    /// By state and parents.
    ids: ByHash,
    /// The parents of a node that is looked up.
    key: Vec<u32>,
    deep: Deep,
    bytes: usize,
}

/// The nodes that lie some levels below a node, where there are several ways down: they are asked
/// for again whenever a lexeme is read on top of the node, and without this each question would
/// walk all ways.
#[derive(Debug, Default)]
struct Deep {
    ids: ByHash,
    all: Vec<((u32, u16), List)>,
}

/// The bytes of a node beside its parents, because the node has 16, its slots by hash 16, its place in [`Done`] 8, and the
/// steps on top of it about the rest.
const NODE_BYTES: usize = 130;

/// The bytes of an entry of [`Deep`] beside its list, because it has 16 and its slots by hash 16 or
/// more.
const DEEP_BYTES: usize = 40;

/// A set of stacks between lexemes that is being put together: its topmost nodes, each with edges
/// to its parents, of which none are known to be missing.
#[derive(Debug, Default)]
pub(crate) struct Closing {
    edges: Vec<(u32, u32)>,
    done: Done,
    /// Nodes that are taken as they are.
    whole: Vec<u32>,
    /// The least height of nodes whose states were looked at.
    pub(crate) least: u32,
    bases: Vec<u32>,
}

/// The things that were done at nodes, as bits: the nonterminals that were put on top of them, and the ways down that were gone from them.
#[derive(Debug, Default)]
struct Done {
    /// By node: the closing that has done something there, and where its bits begin.
    nodes: Vec<(u32, u32)>,
    closing: u32,
    words: usize,
    bits: Vec<u64>,
}

impl Done {
    /// Begins with nothing, of so many things and nodes.
    fn begin(&mut self, things: usize, nodes: usize) {
        self.closing = match self.closing.checked_add(1) {
            Some(closing) => closing,
            None => {
                self.nodes.clear();
                1
            }
        };
        self.nodes.resize(nodes, (0, 0));
        self.words = things.div_ceil(64);
        self.bits.clear();
    }

    /// Notes that a thing is done at a node; `false` if it was.
    #[inline]
    fn add(&mut self, thing: usize, node: u32) -> bool {
        let (closing, begin) = &mut self.nodes[node as usize];
        if *closing != self.closing {
            (*closing, *begin) = (self.closing, self.bits.len() as u32);
            self.bits.resize(self.bits.len() + self.words, 0);
        }
        let word = &mut self.bits[*begin as usize + thing / 64];
        let bit = 1 << (thing % 64);
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }
}

impl Nodes {
    pub(crate) fn get(&self, node: u32) -> &Node {
        &self.all[node as usize]
    }

    /// Returns the bytes that all of them take, about.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Ascending; none for the bottom.
    pub(crate) fn parents(&self, node: u32) -> &[u32] {
        self.parents.get(self.all[node as usize].parents)
    }

    /// The node of a state and its parents, which are ascending.
    pub(crate) fn intern(&mut self, state: u32, parents: impl Iterator<Item = u32>) -> u32 {
        let mut key = std::mem::take(&mut self.key);
        key.clear();
        key.extend(parents);
        let id = self.all.len() as u32;
        let hash = self.ids.hash((state, &*key));
        let is = |other| self.get(other).state == state && self.parents(other) == key;
        let known = self.ids.find(hash, is).unwrap_or(id);
        if known == id {
            self.ids.add(hash, id);
            let heights = key.iter().map(|&parent| self.get(parent).height);
            let height = heights.max().map_or(0, |height| height + 1);
            self.bytes += NODE_BYTES + 4 * key.len();
            self.all.push(Node {
                state,
                height,
                parents: self.parents.add(&key),
            });
        }
        self.key = key;
        known
    }

    /// Finds the nodes `levels` below `node`, ascending, and remembers them: O(nodes found) the
    /// second time.
    pub(crate) fn below(&mut self, node: u32, levels: u16, out: &mut Vec<u32>) {
        out.clear();
        let (node, levels) = self.down(node, levels);
        match levels {
            0 => out.push(node),
            1 => out.extend_from_slice(self.parents(node)),
            _ => {
                let list = self.deep(node, levels);
                out.extend_from_slice(self.parents.get(list));
            }
        }
    }

    /// Goes down as long as there is one way, and returns the levels that are left.
    fn down(&self, mut node: u32, mut levels: u16) -> (u32, u16) {
        while levels > 0
            && let &[parent] = self.parents(node)
        {
            (node, levels) = (parent, levels - 1);
        }
        (node, levels)
    }

    /// Returns the nodes two or more levels below a node with several parents.
    fn deep(&mut self, node: u32, levels: u16) -> List {
        let key = (node, levels);
        let hash = self.deep.ids.hash(key);
        let is = |id: u32| self.deep.all[id as usize].0 == key;
        if let Some(known) = self.deep.ids.find(hash, is) {
            return self.deep.all[known as usize].1;
        }
        let mut all = Vec::new();
        let mut some = Vec::new();
        for parent in self.parents(node).to_vec() {
            self.below(parent, levels - 1, &mut some);
            all.extend_from_slice(&some);
        }
        all.sort_unstable();
        all.dedup();
        let list = self.parents.add(&all);
        self.bytes += DEEP_BYTES + 4 * all.len();
        self.deep.ids.add(hash, self.deep.all.len() as u32);
        self.deep.all.push((key, list));
        list
    }
}

impl Closing {
    /// A state on top of a node.
    pub(crate) fn add(&mut self, state: u32, parent: u32) {
        self.edges.push((state, parent));
    }

    /// A node that stands there already, with all that its reductions lead to.
    pub(crate) fn add_node(&mut self, node: u32) {
        self.whole.push(node);
    }

    /// Tells whether nothing was added.
    pub(crate) fn is_empty(&self) -> bool {
        self.edges.is_empty() && self.whole.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.edges.clear();
        self.whole.clear();
        self.least = u32::MAX;
    }

    /// Does all reductions, and gives the topmost nodes: one a state, ascending.
    ///
    /// O(nodes looked at x reductions of a state).
    pub(crate) fn close(
        &mut self,
        tables: &Tables,
        nodes: &mut Nodes,
        work: &mut Work,
    ) -> Vec<u32> {
        let rules = tables.best.len();
        self.done
            .begin(rules + tables.reduce_count, nodes.all.len());
        let mut at = 0;
        let mut bases = std::mem::take(&mut self.bases);
        while at < self.edges.len() && !work.is_over() {
            let (state, parent) = self.edges[at];
            at += 1;
            for reduce in &tables.states[state as usize].reduces {
                // States of one node have many ways down in common.
                let is_long = reduce.held > 1;
                if is_long && !self.done.add(rules + reduce.number as usize, parent) {
                    continue;
                }
                nodes.below(parent, reduce.held - 1, &mut bases);
                work.charge_rule(reduce.rule, bases.len());
                for &base in &bases {
                    if self.done.add(reduce.rule as usize, base) {
                        let own = nodes.get(base);
                        self.least = self.least.min(own.height);
                        if let Some(to) = tables.states[own.state as usize].goto(reduce.rule) {
                            self.add(to, base);
                        }
                    }
                }
            }
        }
        self.bases = bases;
        let mut top = Vec::new();
        for node in std::mem::take(&mut self.whole) {
            let state = nodes.get(node).state;
            if nodes.parents(node).is_empty() {
                top.push(node);
            }
            for &parent in nodes.parents(node) {
                self.add(state, parent);
            }
        }
        self.edges.sort_unstable();
        self.edges.dedup();
        for group in self.edges.chunk_by(|a, b| a.0 == b.0) {
            let state = &tables.states[group[0].0 as usize];
            if state.shifts.is_empty() && !state.accepts {
                // Its reductions are done, and nothing comes on top of it.
                continue;
            }
            let parents = group.iter().map(|edge| edge.1);
            top.push(nodes.intern(group[0].0, parents));
        }
        top.sort_unstable();
        top.dedup();
        top
    }
}
