//! Shapes: one alternative of what a set of schema locations demands of the
//! values of one kind, without any choice left in it.

use std::collections::BTreeSet;

use crate::decimal::Decimal;
use crate::ir::{Name, NodeId, PatternId};
use crate::shape::Signed;
use crate::strings::formats::Format;
use crate::strings::numbers::Bound;

/// The kinds of values, as the first byte of a text tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Kind {
    Null,
    False,
    True,
    Number,
    String,
    Array,
    Object,
}

/// How many kinds there are.
pub(super) const KINDS: usize = 7;

/// All of them, by number.
pub(super) const ALL_KINDS: [Kind; KINDS] = [
    Kind::Null,
    Kind::False,
    Kind::True,
    Kind::Number,
    Kind::String,
    Kind::Array,
    Kind::Object,
];

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Shape {
    /// `null`, `false` or `true`.
    Unit,
    Number(NumberShape),
    String(StringShape),
    Array(ArrayShape),
    Object(ObjectShape),
}

impl Shape {
    pub(super) fn any(kind: Kind) -> Shape {
        match kind {
            Kind::Null | Kind::False | Kind::True => Shape::Unit,
            Kind::Number => Shape::Number(NumberShape::default()),
            Kind::String => Shape::String(StringShape::default()),
            Kind::Array => Shape::Array(ArrayShape::default()),
            Kind::Object => Shape::Object(ObjectShape::default()),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct NumberShape {
    pub(super) low: Option<Bound>,
    pub(super) high: Option<Bound>,
    /// `Some(true)`: integers; `Some(false)`: the others.
    pub(super) integer: Option<bool>,
    /// Divisors, and whether the number is a multiple.
    pub(super) multiples: Vec<(Decimal, bool)>,
    /// One of these; the flag says that the schema wrote a fraction of zeros.
    pub(super) allowed: Option<Vec<(Decimal, bool)>>,
    pub(super) excluded: Vec<Decimal>,
    /// Where an error about it points.
    pub(super) at: Option<(NodeId, &'static str)>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct StringShape {
    pub(super) min: u64,
    pub(super) max: Option<u64>,
    pub(super) patterns: Vec<(PatternId, bool)>,
    pub(super) formats: Vec<(Format, bool)>,
    pub(super) allowed: Option<Vec<Name>>,
    pub(super) excluded: BTreeSet<Name>,
    pub(super) at: Option<(NodeId, &'static str)>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct ArrayShape {
    pub(super) rules: Vec<ItemRule>,
    /// Conditions on single items.
    pub(super) single: Vec<(u64, Signed)>,
    pub(super) min: u64,
    pub(super) max: Option<u64>,
    pub(super) counts: Vec<Count>,
    pub(super) unique: Option<NodeId>,
}

/// `prefixItems` and `items` of one location.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ItemRule {
    pub(super) prefix: Vec<Signed>,
    pub(super) rest: Signed,
}

/// How many items from an index on satisfy a condition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Count {
    pub(super) item: Signed,
    pub(super) from: u64,
    pub(super) min: u64,
    pub(super) max: Option<u64>,
    pub(super) at: (NodeId, &'static str),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct ObjectShape {
    pub(super) rules: Vec<MemberRule>,
    pub(super) required: BTreeSet<Name>,
    pub(super) forbidden: BTreeSet<Name>,
    /// Where the first name is present, so are the others.
    pub(super) implies: Vec<(Name, Vec<Name>)>,
    /// Conditions on every name.
    pub(super) names: Vec<Signed>,
    pub(super) min: u64,
    pub(super) max: Option<u64>,
    /// Members that must be there without being named.
    pub(super) some: Vec<Witness>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum MemberRule {
    /// The `Members` atom of a location; with `closed`, without further ones.
    Members {
        node: NodeId,
        atom: u16,
        closed: bool,
    },
    Name(Name, Signed),
    /// Members that none of the sources evaluates.
    Unevaluated(Vec<Source>, Signed),
}

/// What evaluates members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Source {
    Members(NodeId, u16),
    All,
}

/// Some member with a name in `scope` has a value like this.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Witness {
    pub(super) scope: Scope,
    pub(super) value: Signed,
    pub(super) at: (NodeId, &'static str),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Scope {
    Pattern(PatternId),
    /// Names that the `Members` atom of a location leaves over.
    Additional(NodeId, u16),
    /// Names that do not satisfy a location.
    Failing(Signed),
    Unevaluated(Vec<Source>),
}
