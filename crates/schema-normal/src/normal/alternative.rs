//! Shapes: one alternative of what a set of schema locations demands of the
//! values of one kind, without any choice left in it.
//!
//! For example, `{"anyOf": [{"minLength": 2}, {"const": ""}]}` has two shapes of strings: those of
//! length two and more, and the empty one.

use std::collections::BTreeSet;

use crate::ir::signed::Signed;
use crate::ir::{Name, NodeId, PatternId};
use crate::language::formats::Format;
use crate::language::numbers::conditions::NumberConditions;
use crate::normal::conditions::ConditionId;

/// A location and its keyword, for errors.
pub type At = (NodeId, &'static str);

/// A location, and which of its atoms is of `Members`.
pub type MembersAt = (NodeId, u16);

/// The kinds of values, as the first byte of a text tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// `null`.
    Null,
    /// `false`.
    False,
    /// `true`.
    True,
    /// Numbers, integers among them.
    Number,
    /// Strings.
    String,
    /// Arrays.
    Array,
    /// Objects.
    Object,
}

/// The number of kinds, because lists by kind have a fixed length.
pub const KINDS: usize = 7;

/// All kinds by number, because `Kind` cannot be listed otherwise.
pub const ALL_KINDS: [Kind; KINDS] = [
    Kind::Null,
    Kind::False,
    Kind::True,
    Kind::Number,
    Kind::String,
    Kind::Array,
    Kind::Object,
];

/// An alternative: the values of one kind that satisfy all of these conditions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// `null`, `false` or `true`.
    Unit,
    /// Numbers.
    Number(NumberShape),
    /// Strings.
    String(StringShape),
    /// Arrays.
    Array(ArrayShape),
    /// Objects.
    Object(ObjectShape),
}

impl Shape {
    /// Returns the alternative that all values of a kind are.
    pub fn any(kind: Kind) -> Shape {
        match kind {
            Kind::Null | Kind::False | Kind::True => Shape::Unit,
            Kind::Number => Shape::Number(NumberShape::default()),
            Kind::String => Shape::String(StringShape::default()),
            Kind::Array => Shape::Array(ArrayShape::default()),
            Kind::Object => Shape::Object(ObjectShape::default()),
        }
    }
}

/// Conditions on numbers, and the places of their keywords.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct NumberShape {
    /// The conditions.
    pub numbers: NumberConditions,
    /// The place of the last divisor.
    pub multiple_at: Option<At>,
    /// The place to which an error about it points.
    pub at: Option<At>,
}

/// Conditions on strings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct StringShape {
    /// The least length, in characters.
    pub min: u64,
    /// The greatest length.
    pub max: Option<u64>,
    /// Patterns, and whether each matches.
    pub patterns: Vec<(PatternId, bool)>,
    /// Formats, and whether the string is of each.
    pub formats: Vec<(Format, bool)>,
    /// The strings one of which it is.
    pub allowed: Option<Vec<Name>>,
    /// The strings that are left out.
    pub excluded: BTreeSet<Name>,
    /// The place to which an error about it points.
    pub at: Option<At>,
    /// The place at which the length is bounded.
    pub length_at: Option<At>,
}

/// Conditions in order, each once.
pub fn each_once<T: Clone + Ord>(conditions: &[T]) -> Vec<T> {
    let mut all = conditions.to_vec();
    all.sort_unstable();
    all.dedup();
    all
}

/// Conditions on arrays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ArrayShape {
    /// The items of each location.
    pub rules: Vec<ItemRule>,
    /// Conditions on single items.
    pub single: Vec<(u64, Signed)>,
    /// The least number of items.
    pub min: u64,
    /// The most items.
    pub max: Option<u64>,
    /// Numbers of items like some.
    pub counts: Vec<Count>,
    /// The location of `uniqueItems`, if items must differ.
    pub unique: Option<NodeId>,
}

impl ArrayShape {
    /// Returns the number of items that are asked about by their index.
    pub fn listed(&self) -> u64 {
        let of_rules = self.rules.iter().map(|rule| rule.prefix.len() as u64);
        let of_single = self.single.iter().map(|(index, _)| index + 1);
        of_rules.chain(of_single).max().unwrap_or(0)
    }

    /// Returns the number of items that a bound leaves room for at least: what is demanded of
    /// single items and of counts.
    pub fn needed(&self) -> u64 {
        let from = self.counts.iter().map(|c| c.from).max().unwrap_or(0);
        let counted = self.counts.iter().map(|c| c.min);
        let counted = counted.fold(from, u64::saturating_add);
        self.min.max(self.listed()).max(counted)
    }
}

/// `prefixItems` and `items` of one location.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ItemRule {
    /// The conditions of the first items.
    pub prefix: Vec<Signed>,
    pub(super) rest: Signed,
}

/// The number of items that from an index on satisfy a condition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Count {
    /// The condition.
    pub item: Signed,
    /// The index of the first item that counts.
    pub from: u64,
    /// The least number of them.
    pub min: u64,
    /// The most of them.
    pub max: Option<u64>,
    /// The place to which an error about it points.
    pub at: At,
}

/// Conditions on objects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ObjectShape {
    /// The values that members may have: each rule holds.
    pub rules: Vec<MemberRule>,
    /// The names that must be there.
    pub required: BTreeSet<Name>,
    /// The names that must not be there.
    pub forbidden: BTreeSet<Name>,
    /// If the first name is present, so are the others.
    pub implies: Vec<(Name, Vec<Name>)>,
    /// Conditions on every name.
    pub names: Vec<Signed>,
    /// The least number of members.
    pub min: u64,
    /// The most members.
    pub max: Option<u64>,
    /// Members that must be there without being named.
    pub some: Vec<Witness>,
    /// The conditions on named members together that are no alternative.
    pub conditions: BTreeSet<ConditionId>,
    /// The choices among the conditions.
    pub choices: KeptChoices,
}

/// The choices that are kept as conditions, of which it is asked what they declare where
/// objects are closed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum KeptChoices {
    /// Their keywords, of an object that is not closed yet.
    Of(Vec<MembersAt>),
    /// It was settled which members there are.
    Settled,
}

impl Default for KeptChoices {
    fn default() -> KeptChoices {
        KeptChoices::Of(Vec::new())
    }
}

impl KeptChoices {
    pub(super) fn add(&mut self, at: MembersAt) {
        if let KeptChoices::Of(all) = self {
            all.push(at);
        }
    }

    /// Their keywords, until it is settled which members there are.
    pub(super) fn list(&self) -> &[MembersAt] {
        match self {
            KeptChoices::Of(all) => all,
            KeptChoices::Settled => &[],
        }
    }
}

/// A rule for the values of members.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MemberRule {
    /// The `Members` atom of a location; with `closed`, without further ones.
    Members {
        /// The location.
        node: NodeId,
        /// The index of the atom there.
        atom: u16,
        /// True if members that it does not name are left out.
        closed: bool,
    },
    /// The member of this name.
    Name(Name, Signed),
    /// Members that none of the sources evaluates.
    Unevaluated(Vec<Source>, Signed),
}

impl MemberRule {
    /// The atom that it consists of, if it is one of a location's own.
    pub fn members(&self) -> Option<MembersAt> {
        match self {
            MemberRule::Members { node, atom, .. } => Some((*node, *atom)),
            MemberRule::Name(..) | MemberRule::Unevaluated(..) => None,
        }
    }
}

/// The keyword that evaluates members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// The `Members` atom of a location.
    Members(NodeId, u16),
    /// A keyword that evaluates all members.
    All,
}

impl Source {
    /// The atom that evaluates them, if not all are evaluated.
    pub(super) fn members(&self) -> Option<MembersAt> {
        match self {
            Source::Members(node, atom) => Some((*node, *atom)),
            Source::All => None,
        }
    }
}

/// Some member with a name in `scope` has a value like this.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Witness {
    /// The names that it may have.
    pub scope: Scope,
    /// The condition on its value.
    pub value: Signed,
    /// The place to which an error about it points.
    pub at: At,
}

/// A class of names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Names that a pattern matches.
    Pattern(PatternId),
    /// Names that the `Members` atom of a location leaves over.
    Additional(NodeId, u16),
    /// Names that do not satisfy a location.
    Failing(Signed),
    /// Names that none of the sources evaluates.
    Unevaluated(Vec<Source>),
}
