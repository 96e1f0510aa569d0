//! The terms of an alternative: what must hold of a value, and choices of that.
//!
//! For example, `{"anyOf": [{"minLength": 1}, {"const": 2}]}` is a choice of two terms, each a location.

use std::rc::Rc;

use crate::ir::signed::Signed;
use crate::ir::{Name, NodeId};
use crate::normal::alternative::{Count, Witness};

/// Something that must hold.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum What {
    Node(Signed),
    Atom(NodeId, u16, bool),
    /// The node holds but for its unevaluated members or items.
    AllButUnevaluated(NodeId),
    Require(Name),
    Forbid(Name),
    /// The member is there, and so.
    Member(Name, Signed),
    /// The item is there, and so.
    Item(u64, Signed),
    Count(Count),
    Some(Witness),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Term {
    pub(super) what: What,
    /// Which collector of evaluated members and items it reports to.
    pub(super) collector: Option<u16>,
}

pub(crate) type Branch = Vec<Vec<Term>>;

/// The same once it is made: partials share it.
pub(crate) type Choices = Rc<[Rc<[Term]>]>;

pub(super) fn choices(branch: Branch) -> Choices {
    branch.into_iter().map(Into::into).collect()
}

pub(super) fn term(what: What) -> Term {
    Term {
        what,
        collector: None,
    }
}

pub(super) fn node_term(node: NodeId, positive: bool, collector: Option<u16>) -> Term {
    Term {
        what: What::Node(Signed { node, positive }),
        collector: if positive { collector } else { None },
    }
}
