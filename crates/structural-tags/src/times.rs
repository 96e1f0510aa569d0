//! Nodes that come several times: repeats of repeats are one repeat, where that is the same.
//!
//! For example, a text from 0 to 9 times, and that from 0 to 9 times, is the text from 0 to 81
//! times. A repeat from 2 to 2 times of one from 0 to 1 times is one from 0 to 2 times, but a repeat
//! from 0 to 1 times of one from 2 to 2 times is none: 0 times and 2 times are right, and 1 is not.

use super::build::{Node, RunNode};

/// The numbers of times that something comes; any number from the first on if there is no last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Times {
    least: usize,
    most: Option<usize>,
}

impl Times {
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
    pub(super) fn times(self, least: usize, most: Option<usize>) -> Node {
        let outer = Times { least, most };
        let (mut place, mut node) = (None, self);
        while let Node::At(at, inner) = node {
            place = place.or(Some(at));
            node = *inner;
        }
        let (node, inner) = node.once();
        let node = match inner.times(outer) {
            Some(all) => node.repeated(all),
            None => Node::Repeat(
                Box::new(node.repeated(inner)),
                outer.least,
                outer.most,
            ),
        };
        match place {
            Some(place) => Node::At(place, Box::new(node)),
            None => node,
        }
    }

    /// The node that comes several times, and how often.
    fn once(self) -> (Node, Times) {
        let (node, least, most) = match self {
            Node::Optional(node) => match *node {
                Node::Many(node, separator) if separator.is_empty() => (node, 0, None),
                node => (Box::new(node), 0, Some(1)),
            },
            Node::Many(node, separator) if separator.is_empty() => (node, 1, None),
            Node::Repeat(node, least, most) => (node, least, most),
            node => (Box::new(node), 1, Some(1)),
        };
        (*node, Times { least, most })
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
                    sums = sums.iter().flat_map(more).filter(|sum| *sum <= 12).collect();
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
