//! The way down a trie: at each depth the children that are still to come. For example, below `a`
//! the children `b` and `c` are next, and a subtree that is free is left out at one jump.

use std::ops::Range;

use super::free_subtrees::{Free, FreeChildren, Pass};
use super::text_table::PlaceId;
use crate::ByteSet;
use crate::budget::{ASK_EVERY, Meter};
use crate::tokens::{Child, Siblings, Trie, chars};

/// Working memory of walks: levels by depth. Levels deeper than the current one are of walks
/// before.
#[derive(Debug, Default)]
pub(crate) struct Levels(Vec<Level>);

/// The most nodes that are read without asking what is free or dead among them, because the
/// question costs as much.
pub(super) const FEW: u32 = 8;

/// The same in a loop that nearly all of them go on in: each step was taken before.
const FEW_IN_LOOP: u32 = 256;

/// The least number of children that makes a node worth a look: most nodes have fewer, and few
/// nodes below them, so that there is little to leave out.
const MANY_CHILDREN: u32 = 8;

/// The children of one node on the way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Level {
    next: u32,
    end: u32,
    /// One past the last node at and below them, once a walk is there.
    nodes_end: u32,
    /// The place of the node in a text that is read.
    pub(crate) place: Option<PlaceId>,
    /// The free text there, as far as that is known.
    pub(crate) free: Option<Free>,
}

impl Level {
    /// Returns the level of the children with these numbers.
    pub(crate) fn of(children: Range<u32>) -> Level {
        Level {
            next: children.start,
            end: children.end,
            nodes_end: 0,
            place: None,
            free: None,
        }
    }

    /// The same, for a node where such text is free.
    pub(crate) fn with(self, free: Option<Free>) -> Level {
        Level { free, ..self }
    }

    /// The same, for a node that is in a text there, if it is in one.
    pub(crate) fn at(self, place: Option<PlaceId>) -> Level {
        Level { place, ..self }
    }

    /// The children to come.
    #[inline]
    fn rest(&self) -> Range<usize> {
        self.next as usize..self.end as usize
    }
}

/// A walk through a trie, from one level to the next.
pub(crate) struct Descent<'a> {
    pub(crate) trie: &'a Trie,
    siblings: Siblings<'a>,
    levels: &'a mut [Level],
    skips: Skips<'a>,
    /// That of the current level.
    pub(crate) depth: usize,
    /// That of the first.
    top: usize,
    /// The nodes that were passed so far.
    pub(crate) visited: u64,
    /// At so many nodes it is asked again whether to go on.
    ask_at: u64,
}

impl<'a> Descent<'a> {
    /// From the level of the root on; the nodes in the ranges `skip` (ascending, whole
    /// subtrees) are left out.
    pub(crate) fn new(
        trie: &'a Trie,
        levels: &'a mut Levels,
        root: Level,
        skip: &'a [(u32, u32)],
    ) -> Descent<'a> {
        Descent::below(None, trie, levels, root, skip)
    }

    /// From the level of all children of a node on, or of the root's for `None`.
    pub(crate) fn below(
        node: Option<usize>,
        trie: &'a Trie,
        levels: &'a mut Levels,
        first: Level,
        skip: &'a [(u32, u32)],
    ) -> Descent<'a> {
        let (top, nodes_end) = match node.map(|node| trie.nodes()[node]) {
            Some(node) => (usize::from(node.depth), node.end),
            None => (0, trie.nodes().len() as u32),
        };
        let depths = levels.0.len().max(trie.max_depth() + 1);
        levels.0.resize(depths, first);
        levels.0[top] = Level { nodes_end, ..first };
        Descent {
            trie,
            siblings: trie.siblings(),
            levels: &mut levels.0,
            skips: Skips::new(skip),
            depth: top,
            top,
            visited: 0,
            ask_at: ASK_EVERY,
        }
    }

    /// The current level.
    #[inline]
    pub(crate) fn level(&self) -> Level {
        self.levels[self.depth]
    }

    /// The next child of the current level by whose byte the walk `lives`, and that byte:
    /// those that are free are told to `hit`, or left out. None at the end of the level,
    /// and where `meter` ends the walk.
    #[inline]
    pub(crate) fn next(
        &mut self,
        free: &FreeChildren,
        lives: impl Fn(u8) -> bool,
        meter: &mut Meter,
        hit: &mut impl FnMut(u32),
    ) -> Option<(Child, u8)> {
        let level = &mut self.levels[self.depth];
        loop {
            let rest = level.rest();
            let first = free.first(rest.clone(), self.siblings, &lives);
            let passed = first.map_or(rest.len(), |(child, _)| child + 1 - rest.start);
            level.next += passed as u32;
            self.visited += passed as u64;
            let (number, pass) = first?;
            let child = self.siblings.child(number);
            if self.skips.have(child.node) {
                continue;
            }
            if pass == Pass::Take {
                let tokens = self
                    .trie
                    .tokens_below(child.node as usize, free.longest_taken());
                tokens.for_each(&mut *hit);
                continue;
            }
            if self.depth == 0 || self.visited >= self.ask_at {
                if !meter.go_on(self.visited) {
                    // The levels above ask again, and end as well.
                    self.ask_at = 0;
                    level.next = level.end;
                    return None;
                }
                self.ask_at = self.visited + ASK_EVERY;
            }
            return Some((child, self.siblings.bytes()[number]));
        }
    }

    /// One past the last node below the child that was met last. As the next one's first node:
    /// nodes lie far apart, siblings do not.
    #[inline]
    pub(crate) fn end_below(&self) -> u32 {
        let level = &self.levels[self.depth];
        match level.next < level.end {
            true => self.siblings.all()[level.next as usize].node,
            false => level.nodes_end,
        }
    }

    /// Tells whether more nodes than so many are at and below the child that was met last, and many
    /// of them its children, so that it pays to ask which text is free there.
    #[inline]
    pub(crate) fn has_below(&self, child: &Child, much: u32) -> bool {
        let has_many_children = child.children().len() as u32 >= much.min(MANY_CHILDREN);
        has_many_children && self.end_below() - child.node > much
    }

    /// The nodes below the child that was met last, if they are best read one after the other;
    /// then they count as visited. `free` is what is free among its children. `back` are the
    /// bytes that may come behind it where it leads back to where its parent stands.
    #[inline]
    pub(crate) fn few_below(
        &mut self,
        child: &Child,
        free: Option<Free>,
        back: Option<&ByteSet>,
    ) -> Option<Range<usize>> {
        let children = child.children();
        if children.len() as u32 > FEW_IN_LOOP {
            return None;
        }
        let from = child.node + 1;
        let end = self.end_below();
        let count = end - from;
        let is_loop = || count <= FEW_IN_LOOP && back.is_some_and(ByteSet::has_most_of_ascii);
        let are_free = || {
            let all = &self.siblings.all()[children.start as usize..children.end as usize];
            free.is_some_and(|free| all.iter().any(|child| free.has_all(child)))
        };
        let are_few = self.skips.from >= end && (count <= FEW || (is_loop() && !are_free()));
        are_few.then(|| {
            self.visited += u64::from(count);
            from as usize..end as usize
        })
    }

    /// Goes to all children of the child that was met last, which has some.
    #[inline]
    pub(crate) fn go_down(&mut self, children: Level) {
        let nodes_end = self.end_below();
        self.depth += 1;
        self.levels[self.depth] = Level {
            nodes_end,
            ..children
        };
    }

    /// Goes back to the level above, if there is one.
    #[inline]
    pub(crate) fn go_up(&mut self) -> bool {
        let goes = self.depth > self.top;
        self.depth -= usize::from(goes);
        goes
    }

    /// Returns the number of characters that lead to the child that was met last, itself included.
    pub(crate) fn chars(&self) -> usize {
        let way = self.levels[..=self.depth].iter();
        chars(way.map(|level| self.siblings.bytes()[level.next as usize - 1]))
    }

    /// The bytes that lead to the node whose children the current level has.
    pub(crate) fn way(&self) -> Box<[u8]> {
        let above = &self.levels[..self.depth];
        let byte = |level: &Level| self.siblings.bytes()[level.next as usize - 1];
        above.iter().map(byte).collect()
    }
}

/// Ranges of nodes that are left out, as a walk meets them.
pub(crate) struct Skips<'a> {
    ranges: std::slice::Iter<'a, (u32, u32)>,
    from: u32,
    to: u32,
}

impl<'a> Skips<'a> {
    /// The ranges are ascending, and of whole subtrees.
    pub(crate) fn new(ranges: &'a [(u32, u32)]) -> Skips<'a> {
        let mut skips = Skips {
            ranges: ranges.iter(),
            from: 0,
            to: 0,
        };
        skips.go_on();
        skips
    }

    /// Tells whether a node is in one of them. To be asked of nodes in their order.
    #[inline]
    pub(crate) fn have(&mut self, node: u32) -> bool {
        while node >= self.to {
            self.go_on();
        }
        node >= self.from
    }

    /// Returns the end of the range that a node is in, if it is in one. To be asked as
    /// [`Skips::have`].
    #[inline]
    pub(crate) fn over(&mut self, node: u32) -> Option<u32> {
        self.have(node).then_some(self.to)
    }

    fn go_on(&mut self) {
        // No node has the last number.
        (self.from, self.to) = *self.ranges.next().unwrap_or(&(u32::MAX, u32::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_met_in_their_order() {
        let mut skips = Skips::new(&[(1, 3), (3, 4), (9, 10)]);
        let met: Vec<u32> = (0..12).filter(|node| skips.have(*node)).collect();
        assert_eq!(met, [1, 2, 3, 9]);
        assert!(!Skips::new(&[]).have(7));
        let mut skips = Skips::new(&[(1, 3), (5, 8)]);
        assert!(skips.have(7), "some were passed over");
        let mut skips = Skips::new(&[(1, 3), (5, 8)]);
        assert_eq!(
            [2, 4, 5].map(|node| skips.over(node)),
            [Some(3), None, Some(8)]
        );
    }
}
