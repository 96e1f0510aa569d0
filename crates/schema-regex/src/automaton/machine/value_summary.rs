//! Fingerprints of what a token can tell of a value that it begins: of an object in it no
//! more than whether it may be empty and whether a name may come. Values of objects with
//! different members are alike then, the whole values of most schemas among them.
//!
//! For example, `{"type": "object", "required": ["a"]}` and the same with `b` are alike for the
//! token `{"`, and differ for `{"a`.

use fsm_index::{ByteSet, Horizon};

use crate::automaton::machine::lexicon::NAMES;
use crate::automaton::machine::node::{EMPTY, Node};
use crate::automaton::machine::printer::{Fingerprinter, MAX_NODES};
use crate::automaton::machine::prints::{Print, ValueSummary};
use crate::automaton::machine::strings::{Leaf, StringDemand, StringMachine};

/// Bounds on the number of characters of a string are not told apart from here on: few
/// tokens have as many bytes behind a quotation mark.
const FAR: u64 = 64;

/// The facts of an object of which nothing was read, and what the names that may come begin with.
pub(crate) type ObjectStart = ([u64; 3], ByteSet);

/// The fingerprint of a node and of those in it that a token can reach.
struct Near<'a> {
    all: &'a [Node],
    start: &'a dyn Fn(u32) -> Option<ObjectStart>,
    printer: Fingerprinter,
    nodes: usize,
    tallest: u32,
    heads: ByteSet,
    far: usize,
}

/// The fingerprint of a value of a node of which nothing was read yet, if tokens reach no further. `start`
/// tells of the object of a node; `None` where that takes more to tell.
pub(super) fn near(
    all: &[Node],
    node: u32,
    horizon: Horizon<'_>,
    start: &dyn Fn(u32) -> Option<ObjectStart>,
) -> Option<Print> {
    let heads = horizon.name_heads(&NAMES)?;
    let near = all.get(node as usize)?.prints.near.get_or_init(|| {
        let mut near = Near {
            all,
            start,
            printer: Fingerprinter::new(),
            nodes: 0,
            tallest: 0,
            heads: ByteSet::NONE,
            far: usize::MAX,
        };
        near.node(node)?;
        Some(Box::new(ValueSummary {
            print: near.printer.finish(near.tallest),
            heads: near.heads,
            far: near.far,
        }))
    });
    let near = near.as_deref()?;
    let is_short = horizon.behind(b'"') <= near.far;
    (is_short && !near.heads.meets(heads)).then_some(near.print)
}

impl Near<'_> {
    /// `None` if it takes more to tell.
    fn node(&mut self, id: u32) -> Option<()> {
        // A member that never may come has no node.
        let node = self.all.get(id as usize)?;
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return None;
        }
        self.heights(&node.heights);
        let is_any = node.is_any(id);
        self.printer.add(u64::from(is_any));
        self.printer.add(node.goals.len() as u64);
        // The height of a value does not matter if there is room.
        let empty = node
            .heights
            .iter()
            .map(|height| u64::from(*height == EMPTY));
        empty.for_each(|empty| self.printer.add(empty));
        self.printer.units_and_numbers(node)?;
        self.printer.add(u64::from(node.string.is_some()));
        if let Some(m) = &node.string {
            self.string(m)?;
        }
        if is_any {
            return Some(());
        }
        self.printer.add(u64::from(node.object.is_some()));
        if node.object.is_some() {
            self.object(id)?;
        }
        self.printer.add(u64::from(node.array.is_some()));
        if let Some(m) = &node.array {
            self.printer.array(m)?;
            let mut nodes = m.members.iter().map(|member| member.node);
            nodes.try_for_each(|node| self.node(node))?;
        }
        Some(())
    }

    /// A string of which nothing was read.
    fn string(&mut self, m: &StringMachine) -> Option<()> {
        let is_counted = |leaf: &Leaf| match leaf.demand {
            StringDemand::Counted { excludes, .. } => !excludes,
            StringDemand::Listed | StringDemand::Read { .. } => false,
        };
        let are_counted = m.words.is_empty() && m.leaves.iter().all(is_counted);
        self.printer.add(u64::from(are_counted));
        if !are_counted {
            return self.printer.string(m);
        }
        self.printer.add(m.leaves.len() as u64);
        for leaf in &m.leaves {
            let (min, max) = leaf.demand.bounds();
            if min > FAR || max.is_some_and(|max| max >= FAR) {
                self.far = FAR as usize;
            }
            self.printer.add(u64::from(leaf.goal));
            self.printer.add(min.min(FAR));
            self.printer.add(max.unwrap_or(FAR).min(FAR));
        }
        Some(())
    }

    /// An object of which nothing was read.
    fn object(&mut self, id: u32) -> Option<()> {
        let (words, heads) = (self.start)(id)?;
        let m = self.all.get(id as usize)?.object.as_deref()?;
        self.heads = self.heads.or(heads);
        words.iter().for_each(|word| self.printer.add(*word));
        let classes = m.classes.iter().map(|class| &class.member);
        let members = m.declared.iter().chain(classes);
        for node in members.filter_map(|member| self.all.get(member.node as usize)) {
            self.heights(&node.heights);
        }
        Some(())
    }

    fn heights(&mut self, heights: &[u32]) {
        let heights = heights.iter().copied().filter(|height| *height != EMPTY);
        self.tallest = heights.fold(self.tallest, u32::max);
    }
}
