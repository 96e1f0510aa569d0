//! A pattern as a tree: what the parser makes and the machines are built from. For example, `ab*`
//! is a sequence of the set of `a` and a repetition of the set of `b`.

use std::fmt;

use regex_syntax::hir::ClassUnicode;

use super::class::{Dialect, Fold};

/// A pattern that cannot be used, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    /// One clause, lower case, without the place.
    pub(crate) message: String,
    /// The byte offset in the pattern.
    pub(crate) offset: usize,
    /// The pattern is right for Python and it is this crate that does not support it.
    pub(crate) unsupported: bool,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.message, self.offset)
    }
}

/// A pattern, read.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) root: Node,
    /// The name of each group; entry 0 is the whole match.
    pub(crate) names: Vec<Option<String>>,
    pub(crate) dialect: Dialect,
    /// Two groups share a name, and with it their number.
    pub(crate) shared_names: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum Node {
    /// One character, exactly.
    Char(char),
    /// One character of a set.
    Set(ClassUnicode),
    Anchor(Assertion),
    Group(usize, Box<Node>),
    Concat(Vec<Node>),
    /// Tried in order; an empty list cannot occur.
    Alternate(Vec<Node>),
    Repeat(Box<Repeat>),
    /// Look-ahead, or look-behind.
    Look {
        behind: Option<Behind>,
        negated: bool,
        node: Box<Node>,
    },
    Backref(usize, Fold),
    /// `(?(group)yes|no)`.
    Conditional {
        group: usize,
        yes: Box<Node>,
        no: Box<Node>,
    },
    Atomic(Box<Node>),
    /// `\K`: the match starts here.
    Keep,
}

/// The number of characters that a look-behind goes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Behind {
    pub(crate) least: usize,
    /// No upper bound where `None`.
    pub(crate) most: Option<usize>,
}

#[derive(Clone, Debug)]
pub(crate) struct Repeat {
    pub(crate) min: u32,
    /// No upper bound where `None`.
    pub(crate) max: Option<u32>,
    pub(crate) kind: RepeatKind,
    pub(crate) node: Node,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RepeatKind {
    Greedy,
    Lazy,
    Possessive,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Assertion {
    Start,
    End,
    /// The end, or before a line feed that is the last character.
    EndOrFinalNewline,
    LineStart,
    LineEnd,
    Word {
        ascii: bool,
    },
    NotWord {
        ascii: bool,
    },
}

impl Node {
    pub(crate) fn empty() -> Node {
        Node::Concat(Vec::new())
    }

    /// Fewest and most characters that the node consumes, saturating.
    pub(crate) fn width(&self, groups: &[Option<(usize, usize)>]) -> (usize, usize) {
        match self {
            Node::Char(_) | Node::Set(_) => (1, 1),
            Node::Anchor(_) | Node::Look { .. } | Node::Keep => (0, 0),
            Node::Group(_, node) | Node::Atomic(node) => node.width(groups),
            Node::Concat(nodes) => nodes.iter().fold((0, 0), |(low, high), node| {
                let (a, b) = node.width(groups);
                (low.saturating_add(a), high.saturating_add(b))
            }),
            Node::Alternate(nodes) => {
                let mut widths = nodes.iter().map(|node| node.width(groups));
                let first = widths.next().unwrap_or((0, 0));
                widths.fold(first, |(low, high), (a, b)| (low.min(a), high.max(b)))
            }
            Node::Repeat(repeat) => {
                let (a, b) = repeat.node.width(groups);
                let max = repeat.max.map_or(usize::MAX, |max| max as usize);
                (a.saturating_mul(repeat.min as usize), b.saturating_mul(max))
            }
            Node::Backref(group, _) => groups
                .get(*group)
                .copied()
                .flatten()
                .unwrap_or((0, usize::MAX)),
            Node::Conditional { yes, no, .. } => {
                let ((a, b), (c, d)) = (yes.width(groups), no.width(groups));
                (a.min(c), b.max(d))
            }
        }
    }

    /// Tells whether the node can match without consuming a character.
    pub(crate) fn is_nullable(&self) -> bool {
        match self {
            Node::Char(_) | Node::Set(_) => false,
            Node::Anchor(_) | Node::Look { .. } | Node::Backref(..) | Node::Keep => true,
            Node::Group(_, node) | Node::Atomic(node) => node.is_nullable(),
            Node::Concat(nodes) => nodes.iter().all(Node::is_nullable),
            Node::Alternate(nodes) => nodes.iter().any(Node::is_nullable),
            Node::Repeat(repeat) => repeat.min == 0 || repeat.node.is_nullable(),
            Node::Conditional { yes, no, .. } => yes.is_nullable() || no.is_nullable(),
        }
    }
}
