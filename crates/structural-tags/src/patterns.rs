//! Texts that a free text looks out for: those that end it, and those that lead elsewhere.
//!
//! The automaton of `markers.rs`, which also says *which* text is complete, and whether a
//! longer one goes on from there. For example, of the triggers `<a` and `<a b` the first is
//! complete where the second goes on.

use std::collections::VecDeque;

use fsm_tables::Table;

use super::markers::Search;

/// The texts to look out for.
#[derive(Clone, Debug)]
pub(super) struct Patterns {
    classes: Box<[u8; 256]>,
    table: Table<PatternNode>,
    firsts: Box<[u8]>,
    /// True if one is empty: then no text at all is without it.
    is_blocked: bool,
}

#[derive(Clone, Debug)]
struct PatternNode {
    depth: usize,
    /// True if a text that ends the run is complete.
    stops: bool,
    /// The triggers that are complete, the longest first.
    fires: Vec<u16>,
    /// The number of them that are this node's text as a whole.
    own: usize,
    /// True if a longer trigger goes on from here.
    leads: bool,
}

impl PatternNode {
    /// Tells whether its text is a trigger, or begins one.
    fn goes_on(&self) -> bool {
        self.leads || self.own > 0
    }
}

impl Patterns {
    /// The automaton of these texts; `None` if they have more than
    /// [`MAX_MARKER_BYTES`](super::markers::MAX_MARKER_BYTES) bytes.
    /// O(bytes of the texts x distinct bytes).
    pub(super) fn new(stops: &[Vec<u8>], triggers: &[Vec<u8>]) -> Option<Patterns> {
        let stops = stops.iter().map(|text| (&text[..], None));
        let triggers = triggers.iter().zip(0..);
        let triggers = triggers.map(|(text, number)| (&text[..], Some(number)));
        let (empty, all): (Vec<_>, Vec<_>) =
            stops.chain(triggers).partition(|all| all.0.is_empty());
        let (texts, triggers): (Vec<&[u8]>, Vec<Option<u16>>) = all.into_iter().unzip();
        let search = Search::new(&texts)?;
        let table = search.table(|_| true, |state| search.complete(state).collect::<Vec<_>>());
        let mut depths = vec![0; table.states()];
        // States are numbered breadth first: the first arrow to one is of its own text.
        for (from, to) in table.arrows().filter(|(from, to)| to > from) {
            if depths[to as usize] == 0 {
                depths[to as usize] = depths[from as usize] + 1;
            }
        }
        let nodes = table.labels().iter().zip(depths).map(|(complete, depth)| {
            let trigger = |(text, _): &(usize, usize)| triggers[*text];
            let own = complete.iter().filter(|text| text.1 == depth);
            PatternNode {
                depth,
                stops: complete.iter().any(|text| trigger(text).is_none()),
                fires: complete.iter().filter_map(trigger).collect(),
                own: own.filter_map(trigger).count(),
                leads: false,
            }
        });
        let mut nodes: Vec<PatternNode> = nodes.collect();
        for node in (0..nodes.len()).rev() {
            nodes[node].leads = table.row(node as u32).iter().any(|to| {
                let child = &nodes[*to as usize];
                child.depth == nodes[node].depth + 1 && !child.stops && child.goes_on()
            });
        }
        Some(Patterns {
            table: Table::new(table.width(), table.into_parts().0, nodes),
            classes: search.classes,
            firsts: search.firsts,
            is_blocked: !empty.is_empty(),
        })
    }

    fn node(&self, node: u16) -> &PatternNode {
        &self.table.labels()[usize::from(node)]
    }

    /// The node after a byte of free text; `None` if the byte completes what ends it.
    pub(super) fn step(&self, node: u16, byte: u8) -> Option<u16> {
        let class = self.classes[usize::from(byte)];
        let to = self.table.next(node.into(), class.into()) as u16;
        (!self.is_blocked && !self.node(to).stops).then_some(to)
    }

    /// The node after one more byte of a trigger that is being spelt.
    pub(super) fn spell(&self, node: u16, byte: u8) -> Option<u16> {
        let to = self.step(node, byte)?;
        let at = self.node(to);
        (at.depth == self.node(node).depth + 1 && at.goes_on()).then_some(to)
    }

    /// The triggers that are complete at a node of free text.
    pub(super) fn fires(&self, node: u16) -> &[u16] {
        &self.node(node).fires
    }

    /// The triggers that are the text of a node as a whole.
    pub(super) fn own(&self, node: u16) -> &[u16] {
        let node = self.node(node);
        &node.fires[..node.own]
    }

    /// Tells whether a longer trigger goes on from a node.
    pub(super) fn leads(&self, node: u16) -> bool {
        self.node(node).leads
    }

    /// The bytes with which patterns begin, ascending.
    pub(super) fn firsts(&self) -> &[u8] {
        &self.firsts
    }

    /// Tells whether no text but the empty one may come.
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
