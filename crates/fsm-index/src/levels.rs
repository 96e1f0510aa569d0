//! The way down a trie: at each depth the children that are still to come.

use std::ops::Range;

use crate::reading::PlaceId;
use crate::vocabulary::Trie;

/// By depth; what stands below the current one is of walks before.
#[derive(Debug, Default)]
pub(crate) struct Levels(Vec<Level>);

/// The children of one node on the way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Level {
    next: u32,
    end: u32,
    /// Where the node is in a text that is read.
    pub(crate) place: Option<PlaceId>,
    /// Of what the bytes are that lead to the node.
    pub(crate) way: Way,
}

/// What bytes are that lead to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Characters of the class that is free.
    Class,
    /// Text without quotes, backslashes and control characters.
    Text,
    Other,
}

impl Levels {
    /// Room for the depths of a trie.
    pub(crate) fn fresh(&mut self, trie: &Trie) -> &mut [Level] {
        let depths = self.0.len().max(trie.max_depth() + 1);
        self.0.resize(depths, Level::of(0..0));
        &mut self.0
    }
}

impl Level {
    /// Of the numbers of children.
    pub(crate) fn of(children: Range<u32>) -> Level {
        Level {
            next: children.start,
            end: children.end,
            place: None,
            way: Way::Other,
        }
    }

    /// The same, for a node to which bytes of such a way lead.
    pub(crate) fn along(self, way: Way) -> Level {
        Level { way, ..self }
    }

    /// The same, for a node that is in a text there, if it is in one.
    pub(crate) fn at(self, place: Option<PlaceId>) -> Level {
        Level { place, ..self }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.next == self.end
    }

    /// The children to come.
    #[inline]
    pub(crate) fn rest(&self) -> Range<usize> {
        self.next as usize..self.end as usize
    }

    /// Goes on behind so many of the children to come.
    #[inline]
    pub(crate) fn pass(&mut self, children: usize) {
        self.next += children as u32;
    }

    /// The child that has been last.
    pub(crate) fn last_child(&self) -> usize {
        self.next as usize - 1
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

    /// Whether a node is in one of them. To be asked of nodes in their order.
    #[inline]
    pub(crate) fn have(&mut self, node: u32) -> bool {
        while node >= self.to {
            self.go_on();
        }
        node >= self.from
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
    }

    #[test]
    fn a_level_gives_one_child_after_the_other() {
        let mut level = Level::of(3..9);
        level.pass(3);
        assert_eq!((level.last_child(), level.rest()), (5, 6..9));
        level.pass(3);
        assert!(level.is_empty());
    }
}
