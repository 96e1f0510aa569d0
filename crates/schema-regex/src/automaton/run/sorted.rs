//! Sorted sets that a text adds to one by one: each set shares with the one before it all but the
//! few lists that the new thing is put into.
//!
//! For example, of an object with 10,000 names the next name copies two lists of at most 64: every
//! state keeps the set of its own names, and none of them is copied as a whole.

use std::ops::Range;
use std::sync::Arc;

use crate::automaton::machine::enough_values::Values;

/// The most things in one list, because that many are copied as fast as a place is found for one.
const MOST: usize = 64;

/// A persistent sorted set: a clone costs nothing, and adding O(log size).
#[derive(Clone, Debug)]
pub(super) struct Sorted<T>(TreeNode<T>);

#[derive(Clone, Debug)]
enum TreeNode<T> {
    Leaf(Arc<[T]>),
    Inner(Arc<Inner<T>>),
}

#[derive(Debug)]
struct Inner<T> {
    children: Box<[TreeNode<T>]>,
    /// By child, the things of it and of those before it.
    ends: Box<[usize]>,
}

/// A set of texts.
pub(super) type TextSet = Sorted<Arc<str>>;

impl<T> Default for Sorted<T> {
    fn default() -> Self {
        Sorted(TreeNode::Leaf(Arc::default()))
    }
}

impl<T: Clone> Sorted<T> {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether both are the same place in memory: a quick look, which says "no" of
    /// sets that were made apart.
    pub(super) fn is_shared_with(&self, other: &Sorted<T>) -> bool {
        match (&self.0, &other.0) {
            (TreeNode::Leaf(a), TreeNode::Leaf(b)) => Arc::ptr_eq(a, b),
            (TreeNode::Inner(a), TreeNode::Inner(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }

    pub(super) fn get(&self, mut at: usize) -> &T {
        let mut node = &self.0;
        loop {
            match node {
                TreeNode::Leaf(list) => return &list[at],
                TreeNode::Inner(inner) => {
                    let child = inner.ends.partition_point(|end| *end <= at);
                    at -= inner.before(child);
                    node = &inner.children[child];
                }
            }
        }
    }

    /// The things of a range of places, ascending.
    pub(super) fn range(&self, places: Range<usize>) -> impl Iterator<Item = &T> {
        let mut at = places.start;
        let mut list: std::slice::Iter<'_, T> = [].iter();
        std::iter::from_fn(move || {
            if at >= places.end {
                return None;
            }
            if list.len() == 0 {
                list = self.list_from(at).iter();
            }
            at += 1;
            list.next()
        })
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.range(0..self.len())
    }

    /// The things of one list from a place on.
    fn list_from(&self, mut at: usize) -> &[T] {
        let mut node = &self.0;
        loop {
            match node {
                TreeNode::Leaf(list) => return &list[at..],
                TreeNode::Inner(inner) => {
                    let child = inner.ends.partition_point(|end| *end <= at);
                    at -= inner.before(child);
                    node = &inner.children[child];
                }
            }
        }
    }

    /// The first place of a range behind those that are below something. O(log² size).
    pub(super) fn partition(&self, places: Range<usize>, below: impl Fn(&T) -> bool) -> usize {
        let (mut lo, mut hi) = (places.start, places.end);
        while lo < hi {
            let mid = lo + (hi - lo) / 2;
            match below(self.get(mid)) {
                true => lo = mid + 1,
                false => hi = mid,
            }
        }
        lo
    }

    /// The set with one thing more, at its place.
    pub(super) fn with(&self, at: usize, thing: T) -> Sorted<T> {
        match self.0.with(at, thing) {
            (node, None) => Sorted(node),
            (first, Some(second)) => Sorted(TreeNode::inner(vec![first, second])),
        }
    }
}

impl TextSet {
    /// A set of texts that are sorted, each once.
    pub(super) fn of(sorted: Vec<Arc<str>>) -> TextSet {
        let mut lists: Vec<TreeNode<Arc<str>>> = sorted
            .chunks(MOST)
            .map(|list| TreeNode::Leaf(Arc::from(list)))
            .collect();
        while lists.len() > 1 {
            let groups = lists.chunks(MOST);
            lists = groups
                .map(|group| TreeNode::inner(group.to_vec()))
                .collect();
        }
        lists.pop().map_or_else(TextSet::default, Sorted)
    }

    /// The place of a text, or the place where it would stand.
    pub(super) fn find(&self, text: &str) -> Result<usize, usize> {
        let at = self.partition(0..self.len(), |other| **other < *text);
        match at < self.len() && **self.get(at) == *text {
            true => Ok(at),
            false => Err(at),
        }
    }

    pub(super) fn has(&self, text: &str) -> bool {
        self.find(text).is_ok()
    }

    /// The places of the texts that begin like this.
    pub(super) fn beginning_with(&self, before: &str) -> Range<usize> {
        beginning_with(self, before, |text| text)
    }
}

impl Values for TextSet {
    fn count(&self) -> usize {
        self.len()
    }

    fn has(&self, value: &str) -> bool {
        TextSet::has(self, value)
    }

    fn each(&self, put: &mut dyn FnMut(&str)) {
        self.iter().for_each(|value| put(value));
    }
}

/// The places of the things whose text, by which they are sorted first, begins like this.
pub(super) fn beginning_with<T: Clone>(
    all: &Sorted<T>,
    before: &str,
    text: impl Fn(&T) -> &str,
) -> Range<usize> {
    let from = all.partition(0..all.len(), |thing| text(thing) < before);
    let to = all.partition(from..all.len(), |thing| text(thing).starts_with(before));
    from..to
}

impl<T: Clone> TreeNode<T> {
    fn len(&self) -> usize {
        match self {
            TreeNode::Leaf(list) => list.len(),
            TreeNode::Inner(inner) => inner.ends.last().copied().unwrap_or(0),
        }
    }

    fn inner(children: Vec<TreeNode<T>>) -> TreeNode<T> {
        let ends = children.iter().scan(0, |end, child| {
            *end += child.len();
            Some(*end)
        });
        TreeNode::Inner(Arc::new(Inner {
            ends: ends.collect(),
            children: children.into(),
        }))
    }

    /// The node with one thing more, and the second half of it where it became too long.
    fn with(&self, at: usize, thing: T) -> (TreeNode<T>, Option<TreeNode<T>>) {
        match self {
            TreeNode::Leaf(list) => {
                let (before, behind) = list.split_at(at);
                let all = before.iter().cloned().chain([thing]);
                let all: Vec<T> = all.chain(behind.iter().cloned()).collect();
                halves(all, |half| TreeNode::Leaf(half.into()))
            }
            TreeNode::Inner(inner) => {
                let last = inner.children.len() - 1;
                let child = inner.ends.partition_point(|end| *end < at).min(last);
                let (first, second) = inner.children[child].with(at - inner.before(child), thing);
                let mut children = inner.children.to_vec();
                children[child] = first;
                if let Some(second) = second {
                    children.insert(child + 1, second);
                }
                halves(children, TreeNode::inner)
            }
        }
    }
}

impl<T> Inner<T> {
    /// The number of things that stand in the children before one.
    fn before(&self, child: usize) -> usize {
        match child {
            0 => 0,
            _ => self.ends[child - 1],
        }
    }
}

/// One node of some things, or two where they are too many for one.
fn halves<T, N>(mut all: Vec<T>, node: impl Fn(Vec<T>) -> N) -> (N, Option<N>) {
    if all.len() <= MOST {
        return (node(all), None);
    }
    let second = all.split_off(all.len() / 2);
    (node(all), Some(node(second)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// A set of the standard library is the oracle, and what was added later changes no
        /// set from before.
        #[test]
        fn it_is_a_set_that_is_sorted(texts in prop::collection::vec("[a-c]{0,7}", 0..600)) {
            let mut oracle: BTreeSet<&str> = BTreeSet::new();
            let mut set = TextSet::default();
            let mut before = set.clone();
            for (n, text) in texts.iter().enumerate() {
                if n == texts.len() / 2 {
                    before = set.clone();
                }
                prop_assert_eq!(set.has(text), !oracle.insert(text));
                if let Err(at) = set.find(text) {
                    set = set.with(at, text.as_str().into());
                }
            }
            let all: Vec<&str> = set.iter().map(|text| &**text).collect();
            prop_assert_eq!(&all, &oracle.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(set.len(), all.len());
            let half: BTreeSet<&str> = texts[..texts.len() / 2].iter().map(String::as_str).collect();
            prop_assert!(before.iter().map(|text| &**text).eq(half.iter().copied()));
            let again = TextSet::of(set.iter().cloned().collect());
            for text in ["", "a", "b", "ab", "cab", "d"] {
                let wanted = all.iter().filter(|other| other.starts_with(text)).count();
                prop_assert_eq!(set.beginning_with(text).len(), wanted);
                prop_assert_eq!(again.find(text), set.find(text));
                let found = set.range(set.beginning_with(text));
                prop_assert_eq!(found.count(), wanted);
            }
            for (at, text) in all.iter().enumerate() {
                prop_assert_eq!(&**set.get(at), *text);
                prop_assert_eq!(&**again.get(at), *text);
            }
        }
    }
}
