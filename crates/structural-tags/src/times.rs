//! Nodes that come several times: repeats of repeats are one repeat, where that is the same.
//!
//! For example, a text from 0 to 9 times, and that from 0 to 9 times, is the text from 0 to 81
//! times. A repeat from 2 to 2 times of one from 0 to 1 times is one from 0 to 2 times, but a repeat
//! from 0 to 1 times of one from 2 to 2 times is none: 0 times and 2 times are right, and 1 is not.

use std::sync::Arc;

use super::build::{Node, RunNode};

/// The numbers of times that something comes; any number from the first on if there is no last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Times {
    least: usize,
    most: Option<usize>,
}

impl Times {
    const ONCE: Times = Times {
        least: 1,
        most: Some(1),
    };

    /// The times of something that comes so often, and that comes `outer` times; `None` if that
    /// leaves numbers out between others.
    fn times(self, outer: Times) -> Option<Times> {
        if outer.most == Some(0) || self.most == Some(0) {
            return Some(Times {
                least: 0,
                most: Some(0),
            });
        }
        // Gaps get smaller with each time, so that the first one is the largest.
        let reaches = self
            .most
            .map_or(usize::MAX, |most| most.saturating_mul(outer.least));
        let reaches = match outer.least {
            0 => 0,
            _ => reaches,
        };
        let next = self.least.saturating_mul(outer.least.saturating_add(1));
        let is_exact = outer.most == Some(outer.least) || next <= reaches.saturating_add(1);
        is_exact.then(|| Times {
            least: self.least.saturating_mul(outer.least),
            most: match (self.most, outer.most) {
                (Some(inner), Some(outer)) => Some(inner.saturating_mul(outer)),
                _ => None,
            },
        })
    }
}

impl Node {
    /// The node so many times.
    pub(super) fn times(&self, least: usize, most: Option<usize>) -> Node {
        let outer = Times { least, most };
        let (place, node) = self.bare();
        let (node, inner) = node.seen_once();
        let node = node.clone();
        let node = match inner.times(outer) {
            Some(all) => node.repeated(all),
            None => Node::Repeat(Box::new(node.repeated(inner)), outer.least, outer.most),
        };
        match place {
            Some(place) => Node::At(place.clone(), Box::new(node)),
            None => node,
        }
    }

    /// Nodes one after another; several of one that come several times are one that comes as often
    /// as they do together.
    pub(super) fn sequence(nodes: Vec<Node>) -> Node {
        let mut all: Vec<Node> = Vec::with_capacity(nodes.len());
        for next in nodes {
            let joined = all.last().and_then(|before| before.joined(&next));
            match (joined, all.last_mut()) {
                (Some(joined), Some(before)) => *before = joined,
                _ => all.push(next),
            }
        }
        Node::Seq(all)
    }

    /// Returns the node behind which `next` comes as one node, if one of them comes several times
    /// and they are else equal.
    fn joined(&self, next: &Node) -> Option<Node> {
        let (place, one) = self.bare();
        let (_, other) = next.bare();
        let ((one, first), (other, second)) = (one.seen_once(), other.seen_once());
        if first == Times::ONCE && second == Times::ONCE && !one.is_any_text() {
            return None;
        }
        if !one.is_same(other) {
            return None;
        }
        let all = Times {
            least: first.least.saturating_add(second.least),
            most: match (first.most, second.most) {
                (Some(first), Some(second)) => Some(first.saturating_add(second)),
                _ => None,
            },
        };
        let node = one.clone().repeated(all);
        Some(match place {
            Some(place) => Node::At(place.clone(), Box::new(node)),
            None => node,
        })
    }

    /// Returns the node without its places, and the outermost of these.
    fn bare(&self) -> (Option<&String>, &Node) {
        let (mut place, mut node) = (None, self);
        while let Node::At(at, inner) = node {
            place = place.or(Some(at));
            node = inner;
        }
        (place, node)
    }

    /// Tells whether two nodes are equal, as far as that is plain; places aside.
    fn is_same(&self, other: &Node) -> bool {
        let all = |all: &[Node], other: &[Node]| {
            all.len() == other.len() && all.iter().zip(other).all(|(a, b)| a.is_same(b))
        };
        match (self.bare().1, other.bare().1) {
            (Node::Text(one), Node::Text(other)) => one == other,
            (Node::Dfa(one), Node::Dfa(other)) => Arc::ptr_eq(one, other),
            (Node::Grammar(one), Node::Grammar(other)) => Arc::ptr_eq(one, other),
            (Node::Json(one, out), Node::Json(other, others)) => {
                Arc::ptr_eq(one, other) && out == others
            }
            (Node::Seq(one), Node::Seq(other)) | (Node::Alt(one), Node::Alt(other)) => {
                all(one, other)
            }
            (Node::Optional(one), Node::Optional(other)) => one.is_same(other),
            (Node::Many(one, text), Node::Many(other, texts)) => {
                text == texts && one.is_same(other)
            }
            (Node::Repeat(one, least, most), Node::Repeat(other, leasts, mosts)) => {
                (least, most) == (leasts, mosts) && one.is_same(other)
            }
            (Node::Run(one), Node::Run(other)) => {
                one.triggers.is_empty()
                    && other.triggers.is_empty()
                    && one.stops == other.stops
                    && (one.utf8, one.max_chars, one.max_tokens)
                        == (other.utf8, other.max_chars, other.max_tokens)
            }
            (Node::Special(one), Node::Special(other)) => one == other,
            _ => false,
        }
    }

    /// Returns the node that comes several times, and how often.
    fn seen_once(&self) -> (&Node, Times) {
        let (node, least, most) = match self {
            Node::Optional(node) => match node.bare().1 {
                Node::Many(node, separator) if separator.is_empty() => (&**node, 0, None),
                _ => (&**node, 0, Some(1)),
            },
            Node::Many(node, separator) if separator.is_empty() => (&**node, 1, None),
            Node::Repeat(node, least, most) => (&**node, *least, *most),
            node => (node, 1, Some(1)),
        };
        (node, Times { least, most })
    }

    fn repeated(self, times: Times) -> Node {
        let is_any = self.is_any_text();
        match (times.least, times.most) {
            (_, Some(0)) => Node::nothing(),
            // Any text behind any text is any text, and so is none.
            _ if is_any => self,
            (1, Some(1)) => self,
            (0, Some(1)) => Node::optional(self),
            (0, None) => Node::optional(Node::many(self, "")),
            (1, None) => Node::many(self, ""),
            (least, most) => Node::Repeat(Box::new(self), least, most),
        }
    }

    /// Tells whether any text may stand there, however long.
    pub(super) fn is_any_text(&self) -> bool {
        match self {
            Node::At(_, node) => node.is_any_text(),
            Node::Run(run) => {
                let RunNode {
                    stops,
                    triggers,
                    again: _,
                    begins: _,
                    utf8,
                    max_chars,
                    max_tokens,
                } = &**run;
                *utf8
                    && stops.is_empty()
                    && triggers.is_empty()
                    && max_chars.is_none()
                    && max_tokens.is_none()
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Against all sums of so many numbers.
    #[test]
    fn repeats_of_repeats_are_exact() {
        let all = |times: Times| times.least..=times.most.unwrap_or(12);
        let each = || {
            (0..4).flat_map(|least| {
                let most = (least..5).map(Some).chain([None]);
                most.map(move |most| Times { least, most })
            })
        };
        for inner in each() {
            for outer in each() {
                let mut sums = BTreeSet::from([0]);
                let mut right = BTreeSet::new();
                for time in 0..=*all(outer).end() {
                    if time >= outer.least {
                        right.extend(sums.iter().copied());
                    }
                    let more = |sum: &usize| all(inner).map(move |n| sum + n).collect::<Vec<_>>();
                    sums = sums
                        .iter()
                        .flat_map(more)
                        .filter(|sum| *sum <= 12)
                        .collect();
                }
                let right: Vec<usize> = right.into_iter().filter(|sum| *sum <= 12).collect();
                let is_range = right.windows(2).all(|two| two[1] == two[0] + 1);
                match inner.times(outer) {
                    Some(said) => {
                        let most = said.most.unwrap_or(12).min(12);
                        let said: Vec<usize> = (said.least..=most).collect();
                        assert_eq!(said, right, "{inner:?} {outer:?}");
                    }
                    None => assert!(!is_range, "{inner:?} {outer:?}: {right:?}"),
                }
            }
        }
    }
}
