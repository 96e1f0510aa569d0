//! An alternative on its way: what is known of it, what is still to be applied, and the
//! choices that are left.
//!
//! For example, `{"minLength": 1, "anyOf": [..]}` has a bound on the length and one choice left.

use crate::budget::STEP;
use crate::ir::NodeId;
use crate::normal::allowed::Allowed;
use crate::normal::alternative::{ArrayShape, Kind, ObjectShape, Shape, Source};
use crate::normal::applied::Done;
use crate::normal::terms::{Branch, Choices, Term, choices};

/// A location with `unevaluatedProperties` or `unevaluatedItems`.
#[derive(Clone)]
pub(crate) struct Collector {
    pub(super) parent: Option<u16>,
    pub(super) node: NodeId,
    pub(super) negated: bool,
    pub(super) members: Vec<Source>,
    pub(super) prefix: u64,
    pub(super) all_items: bool,
    pub(super) contains: Vec<NodeId>,
}

/// The treatment of the choices of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choosing {
    /// Each alternative by itself.
    ByCases,
    /// An alternative that can be kept as a condition is no choice.
    Keeping,
}

#[derive(Clone)]
pub(crate) struct Partial {
    pub(super) shape: Shape,
    /// The values that `enum` leaves.
    pub(super) allowed: Option<Allowed>,
    pub(super) pending: Vec<Term>,
    pub(super) branches: Vec<Choices>,
    pub(super) done: Done,
    pub(super) collectors: Vec<Collector>,
    pub(super) choosing: Choosing,
}

impl Partial {
    /// Any value of a kind.
    pub(super) fn new(kind: Kind) -> Partial {
        Partial {
            shape: Shape::any(kind),
            allowed: None,
            pending: Vec::new(),
            branches: Vec::new(),
            done: Done::default(),
            collectors: Vec::new(),
            choosing: Choosing::ByCases,
        }
    }

    /// About how much a copy takes, in units of work.
    pub(super) fn weight(&self) -> usize {
        let things = match &self.shape {
            Shape::Unit => 0,
            Shape::Number(n) => 2 * n.numbers.size(),
            Shape::String(s) => {
                let listed = s.allowed.as_ref().map_or(0, Vec::len);
                s.patterns.len() + s.formats.len() + 2 * s.excluded.len() + listed
            }
            Shape::Array(a) => {
                let rules = a.rules.iter().map(|rule| 4 + rule.prefix.len() / 2);
                rules.sum::<usize>() + 2 * (a.single.len() + a.counts.len())
            }
            Shape::Object(o) => {
                let implied = o.implies.iter().map(|(_, names)| 4 + names.len());
                o.rules.len()
                    + o.conditions.len()
                    + o.choices.list().len()
                    + 2 * (o.required.len() + o.forbidden.len() + o.some.len() + o.names.len())
                    + implied.sum::<usize>()
            }
        };
        let listed = self.allowed.as_ref().map_or(0, |a| a.places.len() / 8);
        let collected = self.collectors.iter().map(|c| 4 + c.members.len());
        STEP + things + listed + self.pending.len() + self.branches.len() + collected.sum::<usize>()
    }

    /// Tells whether something is left that must hold.
    pub(super) fn is_open(&self) -> bool {
        !self.pending.is_empty() || !self.branches.is_empty()
    }
}

pub(crate) enum Flow {
    On,
    Dead,
}

pub(super) fn flow(alive: bool) -> Flow {
    if alive { Flow::On } else { Flow::Dead }
}

/// Changes the demands on arrays; no array is left where they contradict each other.
pub(super) fn array(p: &mut Partial, change: impl FnOnce(&mut ArrayShape) -> bool) -> Flow {
    match &mut p.shape {
        Shape::Array(a) => flow(change(a)),
        _ => Flow::Dead,
    }
}

/// Changes the demands on objects; no object is left where they contradict each other.
pub(super) fn object(p: &mut Partial, change: impl FnOnce(&mut ObjectShape) -> bool) -> Flow {
    match &mut p.shape {
        Shape::Object(o) => flow(change(o)),
        _ => Flow::Dead,
    }
}

/// A choice; of one alternative it is none.
pub(super) fn split(p: &mut Partial, mut branch: Branch) -> Flow {
    match branch.len() {
        0 => Flow::Dead,
        1 => {
            p.pending.append(&mut branch[0]);
            Flow::On
        }
        _ => {
            p.branches.push(choices(branch));
            Flow::On
        }
    }
}

pub(super) fn new_collector(
    p: &mut Partial,
    node: NodeId,
    parent: Option<u16>,
    negated: bool,
) -> Option<u16> {
    p.collectors.push(Collector {
        parent,
        node,
        negated,
        members: Vec::new(),
        prefix: 0,
        all_items: false,
        contains: Vec::new(),
    });
    Some(p.collectors.len() as u16 - 1)
}

pub(super) fn collect(
    p: &mut Partial,
    collector: Option<u16>,
    change: impl FnOnce(&mut Collector),
) {
    if let Some(c) = collector {
        change(&mut p.collectors[c as usize]);
    }
}

/// A keyword as it is applied to values of one kind: itself, or its complement.
#[derive(Clone, Copy)]
pub(in crate::normal) struct Use {
    pub(super) node: NodeId,
    /// Which of the atoms of the location.
    pub(super) index: u16,
    pub(super) positive: bool,
    /// Who counts what is evaluated.
    pub(super) collector: Option<u16>,
    pub(super) kind: Kind,
}
