//! Texts that a free text looks out for: those that end it, and those that lead elsewhere.
//!
//! The automaton of Aho and Corasick ("Efficient string matching: an aid to bibliographic
//! search", 1975), as in `markers.rs`, which also tells *which* text is complete, and whether a
//! longer one goes on from there.

use std::collections::VecDeque;

use super::markers::MAX_MARKER_BYTES;

/// What to look out for.
#[derive(Clone, Debug, Default)]
pub(super) struct Patterns {
    /// Classes of bytes that are told apart; 0 is that of bytes in no pattern.
    classes: Vec<u16>,
    width: usize,
    next: Vec<u16>,
    nodes: Vec<Node>,
    firsts: Vec<u8>,
    /// Whether one is empty: then no text at all is without it.
    is_blocked: bool,
}

#[derive(Clone, Debug, Default)]
struct Node {
    depth: u16,
    /// Whether a text that ends the run is complete.
    stops: bool,
    /// The triggers that are complete.
    fires: Vec<u16>,
    /// The triggers that are this node's text as a whole.
    own: Vec<u16>,
    /// Whether a longer trigger goes on from here.
    leads: bool,
}

impl Patterns {
    /// The automaton of these texts; `None` if they have more than [`MAX_MARKER_BYTES`] bytes.
    /// O(bytes of the texts x distinct bytes).
    pub(super) fn new(stops: &[Vec<u8>], triggers: &[Vec<u8>]) -> Option<Patterns> {
        let all = || stops.iter().chain(triggers);
        if all().map(Vec::len).sum::<usize>() >= MAX_MARKER_BYTES {
            return None;
        }
        let mut classes = vec![0u16; 256];
        let mut width = 1usize;
        for &byte in all().flatten() {
            let class = &mut classes[usize::from(byte)];
            if *class == 0 {
                *class = width as u16;
                width += 1;
            }
        }
        let mut patterns = Patterns {
            classes,
            width,
            next: vec![0; width],
            nodes: vec![Node::default()],
            firsts: all().filter_map(|text| text.first().copied()).collect(),
            is_blocked: all().any(Vec::is_empty),
        };
        patterns.firsts.sort_unstable();
        patterns.firsts.dedup();
        for text in stops.iter().filter(|text| !text.is_empty()) {
            let node = patterns.insert(text);
            patterns.nodes[node].stops = true;
        }
        for (at, text) in triggers.iter().enumerate() {
            let node = patterns.insert(text);
            patterns.nodes[node].own.push(at as u16);
        }
        patterns.link();
        Some(patterns)
    }

    fn insert(&mut self, text: &[u8]) -> usize {
        let mut at = 0;
        for byte in text {
            let cell = at * self.width + usize::from(self.classes[usize::from(*byte)]);
            if self.next[cell] == 0 {
                self.next[cell] = self.nodes.len() as u16;
                self.nodes.push(Node {
                    depth: self.nodes[at].depth + 1,
                    ..Node::default()
                });
                self.next.resize(self.next.len() + self.width, 0);
            }
            at = usize::from(self.next[cell]);
        }
        at
    }

    /// Fills failures in.
    fn link(&mut self) {
        let mut fail = vec![0usize; self.nodes.len()];
        let mut order = Vec::new();
        let mut open: VecDeque<usize> = VecDeque::from([0]);
        while let Some(node) = open.pop_front() {
            order.push(node);
            if node != 0 {
                let inherited = &self.nodes[fail[node]];
                let (stops, fires) = (inherited.stops, inherited.fires.clone());
                let here = &mut self.nodes[node];
                here.stops |= stops;
                here.fires = here.own.clone();
                here.fires.extend(fires);
            }
            for class in 0..self.width {
                let cell = node * self.width + class;
                let child = usize::from(self.next[cell]);
                let other = match node {
                    0 => 0,
                    _ => self.next[fail[node] * self.width + class],
                };
                if child == 0 {
                    self.next[cell] = other;
                } else {
                    fail[child] = usize::from(other);
                    open.push_back(child);
                }
            }
        }
        for &node in order.iter().rev() {
            let leads = (0..self.width).any(|class| {
                let to = usize::from(self.next[node * self.width + class]);
                let child = &self.nodes[to];
                child.depth == self.nodes[node].depth + 1
                    && !child.stops
                    && (child.leads || !child.own.is_empty())
            });
            self.nodes[node].leads = leads;
        }
    }

    fn to(&self, node: u16, byte: u8) -> u16 {
        self.next[usize::from(node) * self.width + usize::from(self.classes[usize::from(byte)])]
    }

    /// The node after a byte of free text; `None` if the byte completes what ends it.
    pub(super) fn step(&self, node: u16, byte: u8) -> Option<u16> {
        let to = self.to(node, byte);
        (!self.is_blocked && !self.nodes[usize::from(to)].stops).then_some(to)
    }

    /// The node after one more byte of a trigger that is being spelt.
    pub(super) fn spell(&self, node: u16, byte: u8) -> Option<u16> {
        let to = self.step(node, byte)?;
        let (from, at) = (&self.nodes[usize::from(node)], &self.nodes[usize::from(to)]);
        (at.depth == from.depth + 1 && (at.leads || !at.own.is_empty())).then_some(to)
    }

    /// The triggers that are complete at a node of free text.
    pub(super) fn fires(&self, node: u16) -> &[u16] {
        &self.nodes[usize::from(node)].fires
    }

    /// The triggers that are the text of a node as a whole.
    pub(super) fn own(&self, node: u16) -> &[u16] {
        &self.nodes[usize::from(node)].own
    }

    /// Whether a longer trigger goes on from a node.
    pub(super) fn leads(&self, node: u16) -> bool {
        self.nodes[usize::from(node)].leads
    }

    /// The bytes with which patterns begin, ascending.
    pub(super) fn firsts(&self) -> &[u8] {
        &self.firsts
    }

    /// Whether no text but the empty one may come.
    pub(super) fn is_blocked(&self) -> bool {
        self.is_blocked
    }

    /// From a node where a trigger is being spelt, the shortest text that completes one, and
    /// which.
    pub(super) fn rest(&self, node: u16) -> Option<(Vec<u8>, u16)> {
        let mut open = VecDeque::from([(node, Vec::new())]);
        while let Some((at, text)) = open.pop_front() {
            for byte in 0..=255u8 {
                let Some(to) = self.spell(at, byte) else {
                    continue;
                };
                let mut more = text.clone();
                more.push(byte);
                if let Some(&trigger) = self.own(to).first() {
                    return Some((more, trigger));
                }
                open.push_back((to, more));
            }
        }
        None
    }
}
