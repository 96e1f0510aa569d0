//! The intermediate form of a schema: one node for each location that is reached, its keywords read
//! and checked, references resolved. For example, `{"items": {"type": "integer"}}` has a node at
//! the root and one at `/items`.

mod ids;
pub mod listed;
pub mod named;
pub mod pattern;
pub mod pointer;
pub mod signed;

use std::borrow::Cow;
use std::ops::{BitAnd, BitOr, Not};

use serde_json::Value;

use crate::decimal::Decimal;
use crate::ir::listed::Listed;
use crate::ir::named::Named;
use crate::ir::pattern::PatternEntry;
use crate::ir::pointer::Pointer;
use crate::language::formats::Format;
use crate::options::Draft;
use crate::options::{Formats, OneOf, Options};
use crate::settings::Overrides;

pub use crate::ir::ids::{ALWAYS, NEVER, Name, NodeId, PatternId, ROOT};

/// A schema that was read and checked: the input of `to_regex`.
///
/// It holds what can be reached from the root (and nothing of unused
/// definitions), with the JSON Pointer of each location.
#[derive(Clone, Debug)]
pub struct Schema {
    /// The locations, by their numbers.
    pub nodes: Vec<Location>,
    /// The patterns, by their numbers: each once.
    pub patterns: Vec<PatternEntry>,
    draft: Draft,
    /// The options that the schema chose by itself.
    overrides: Overrides,
}

/// A location of a schema: its keywords, read and checked.
#[derive(Clone, Debug)]
pub struct Location {
    /// Its JSON Pointer.
    pub pointer: Pointer,
    /// The conditions that its keywords are.
    pub body: Body,
    /// The fate of each keyword here, for the ledger.
    pub notes: Vec<(Cow<'static, str>, Status)>,
}

/// The conditions of a location.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// Every value satisfies it.
    Always,
    /// No value satisfies it.
    Never,
    /// All of these hold.
    Atoms(Vec<Atom>),
}

/// A keyword of a location, or several that have a meaning together alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Atom {
    /// The keyword that an error names.
    pub keyword: &'static str,
    /// The condition.
    pub kind: AtomKind,
}

/// The kinds of JSON values, as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kinds(u8);

impl Kinds {
    pub(crate) const NULL: Kinds = Kinds(1);
    pub(crate) const FALSE: Kinds = Kinds(2);
    pub(crate) const TRUE: Kinds = Kinds(4);
    pub(crate) const NUMBER: Kinds = Kinds(8);
    pub(crate) const STRING: Kinds = Kinds(16);
    pub(crate) const ARRAY: Kinds = Kinds(32);
    pub(crate) const OBJECT: Kinds = Kinds(64);
    pub(crate) const ALL: Kinds = Kinds(127);
    pub(crate) const NONE: Kinds = Kinds(0);

    pub(crate) fn has(self, other: Kinds) -> bool {
        self.0 & other.0 != 0
    }

    pub(crate) fn of(value: &Value) -> Kinds {
        match value {
            Value::Null => Kinds::NULL,
            Value::Bool(false) => Kinds::FALSE,
            Value::Bool(true) => Kinds::TRUE,
            Value::Number(_) => Kinds::NUMBER,
            Value::String(_) => Kinds::STRING,
            Value::Array(_) => Kinds::ARRAY,
            Value::Object(_) => Kinds::OBJECT,
        }
    }
}

impl BitAnd for Kinds {
    type Output = Kinds;

    fn bitand(self, other: Kinds) -> Kinds {
        Kinds(self.0 & other.0)
    }
}

impl BitOr for Kinds {
    type Output = Kinds;

    fn bitor(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }
}

impl Not for Kinds {
    type Output = Kinds;

    fn not(self) -> Kinds {
        Kinds(!self.0) & Kinds::ALL
    }
}

/// `properties`, `patternProperties` and `additionalProperties` of one
/// location.
#[derive(Clone, Debug, PartialEq)]
pub struct Members {
    /// The schemas of `properties`.
    pub names: Named,
    /// The schemas of `patternProperties`.
    pub patterns: Vec<(PatternId, NodeId)>,
    /// `ALWAYS` where nothing is said.
    pub additional: NodeId,
    /// True if `additionalProperties` (or its like) was said.
    pub additional_said: bool,
}

/// `prefixItems` and `items` of one location, in whichever form.
#[derive(Clone, Debug, PartialEq)]
pub struct Items {
    pub(crate) prefix: Vec<NodeId>,
    pub(crate) rest: NodeId,
    /// True if anything was said of the items after the prefix.
    pub(crate) rest_said: bool,
}

/// A condition on values: those of a kind that it does not speak of satisfy it.
#[derive(Clone, Debug, PartialEq)]
pub enum AtomKind {
    /// These kinds; with `integer`, integers too where numbers are not.
    Type {
        /// The kinds of values.
        kinds: Kinds,
        /// True if integers are meant.
        integer: bool,
    },
    /// `enum` or `const`.
    Values(Listed),
    /// `minimum` or `exclusiveMinimum`.
    Minimum {
        /// The bound.
        value: Decimal,
        /// True if the bound itself is outside.
        exclusive: bool,
    },
    /// `maximum` or `exclusiveMaximum`.
    Maximum {
        /// The bound.
        value: Decimal,
        /// True if the bound itself is outside.
        exclusive: bool,
    },
    /// `multipleOf`.
    MultipleOf(Decimal),
    /// `minLength`.
    MinLength(u64),
    /// `maxLength`.
    MaxLength(u64),
    /// `pattern`.
    Pattern(PatternId),
    /// `format`.
    Format(Format),
    /// A format that only strict mode looks at.
    UnknownFormat(String),
    /// `prefixItems`, `items` and `additionalItems`.
    Items(Items),
    /// `minItems`.
    MinItems(u64),
    /// `maxItems`.
    MaxItems(u64),
    /// `uniqueItems`.
    UniqueItems,
    /// `contains` with `minContains` and `maxContains`.
    Contains {
        /// The schema of the items that are counted.
        node: NodeId,
        /// The least number of them.
        min: u64,
        /// The most of them, if there is a bound.
        max: Option<u64>,
        /// Items that match are evaluated, which is so from 2020-12 on.
        evaluates: bool,
    },
    /// `properties`, `patternProperties` and `additionalProperties`.
    Members(Members),
    /// `required`.
    Required(Vec<Name>),
    /// `minProperties`.
    MinProperties(u64),
    /// `maxProperties`.
    MaxProperties(u64),
    /// `propertyNames`.
    PropertyNames(NodeId),
    /// `dependentRequired`.
    DependentRequired(Vec<(Name, Vec<Name>)>),
    /// `dependentSchemas`.
    DependentSchemas(Vec<(Name, NodeId)>),
    /// `allOf`.
    AllOf(Vec<NodeId>),
    /// `anyOf`.
    AnyOf(Vec<NodeId>),
    /// `oneOf`.
    OneOf(Vec<NodeId>),
    /// `not`.
    Not(NodeId),
    /// `if`, `then` and `else`.
    If {
        /// The schema of `if`.
        condition: NodeId,
        /// The schema of `then`.
        then: NodeId,
        /// The schema of `else`.
        otherwise: NodeId,
    },
    /// `$ref`, `$dynamicRef` or `$recursiveRef`, resolved.
    Ref(NodeId),
    /// For the items that no keyword in place has evaluated.
    UnevaluatedItems(NodeId),
    /// For the members that no keyword in place has evaluated.
    UnevaluatedProperties(NodeId),
    /// A keyword that constrains values of these kinds in a way that is not
    /// expressed.
    Refused {
        /// The kinds of values.
        kinds: Kinds,
        /// The reason, as an error gives it.
        reason: String,
    },
}

impl AtomKind {
    /// Replaces each location and each pattern that the atom names.
    pub fn rename(
        &mut self,
        mut node: impl FnMut(NodeId) -> NodeId,
        mut pattern: impl FnMut(PatternId) -> PatternId,
    ) {
        let mut each = |n: &mut NodeId| *n = node(*n);
        match self {
            AtomKind::Pattern(id) => *id = pattern(*id),
            AtomKind::Items(items) => {
                items.prefix.iter_mut().for_each(&mut each);
                each(&mut items.rest);
            }
            AtomKind::Members(members) => {
                members.names.nodes_mut().for_each(&mut each);
                for (id, n) in &mut members.patterns {
                    *id = pattern(*id);
                    each(n);
                }
                each(&mut members.additional);
            }
            AtomKind::DependentSchemas(list) => list.iter_mut().for_each(|(_, n)| each(n)),
            AtomKind::AllOf(nodes) | AtomKind::AnyOf(nodes) | AtomKind::OneOf(nodes) => {
                nodes.iter_mut().for_each(each);
            }
            AtomKind::If {
                condition,
                then,
                otherwise,
            } => [condition, then, otherwise].into_iter().for_each(each),
            AtomKind::Contains { node, .. }
            | AtomKind::PropertyNames(node)
            | AtomKind::Not(node)
            | AtomKind::Ref(node)
            | AtomKind::UnevaluatedItems(node)
            | AtomKind::UnevaluatedProperties(node) => each(node),
            AtomKind::Type { .. }
            | AtomKind::Values(_)
            | AtomKind::Minimum { .. }
            | AtomKind::Maximum { .. }
            | AtomKind::MultipleOf(_)
            | AtomKind::MinLength(_)
            | AtomKind::MaxLength(_)
            | AtomKind::Format(_)
            | AtomKind::UnknownFormat(_)
            | AtomKind::MinItems(_)
            | AtomKind::MaxItems(_)
            | AtomKind::UniqueItems
            | AtomKind::Required(_)
            | AtomKind::MinProperties(_)
            | AtomKind::MaxProperties(_)
            | AtomKind::DependentRequired(_)
            | AtomKind::Refused { .. } => {}
        }
    }
}

impl AtomKind {
    /// Tells each location that the atom applies to the same value.
    pub(crate) fn in_place(&self, mut tell: impl FnMut(NodeId)) {
        match self {
            AtomKind::AllOf(nodes) | AtomKind::AnyOf(nodes) | AtomKind::OneOf(nodes) => {
                nodes.iter().copied().for_each(tell);
            }
            AtomKind::Not(node) | AtomKind::Ref(node) => tell(*node),
            AtomKind::If {
                condition,
                then,
                otherwise,
            } => [*condition, *then, *otherwise].into_iter().for_each(tell),
            AtomKind::DependentSchemas(list) => list.iter().for_each(|(_, n)| tell(*n)),
            _ => {}
        }
    }

    /// Tells each location that the atom leads to: those in place, and those of items,
    /// members and names.
    pub fn children(&self, mut tell: impl FnMut(NodeId)) {
        match self {
            AtomKind::Items(items) => {
                items.prefix.iter().copied().for_each(&mut tell);
                tell(items.rest);
            }
            AtomKind::Members(members) => {
                let declared = members.names.list().iter().map(|(_, n)| *n);
                let patterns = members.patterns.iter().map(|(_, n)| *n);
                declared.chain(patterns).for_each(&mut tell);
                tell(members.additional);
            }
            AtomKind::Contains { node, .. }
            | AtomKind::PropertyNames(node)
            | AtomKind::UnevaluatedItems(node)
            | AtomKind::UnevaluatedProperties(node) => tell(*node),
            other => other.in_place(tell),
        }
    }
}

impl Location {
    /// Its keywords: none where every value is one of it, or no value is.
    pub fn atoms(&self) -> &[Atom] {
        match &self.body {
            Body::Atoms(atoms) => atoms,
            Body::Always | Body::Never => &[],
        }
    }
}

impl Schema {
    /// From the locations, the patterns, the draft by which they were read, and the options that it chose.
    pub(crate) fn new(
        nodes: Vec<Location>,
        patterns: Vec<PatternEntry>,
        draft: Draft,
        overrides: Overrides,
    ) -> Schema {
        Schema {
            nodes,
            patterns,
            draft,
            overrides,
        }
    }

    /// Returns a location.
    pub fn node(&self, id: NodeId) -> &Location {
        &self.nodes[id.0 as usize]
    }

    /// Returns a pattern.
    pub fn pattern(&self, id: PatternId) -> &PatternEntry {
        &self.patterns[id.0 as usize]
    }

    /// The options that hold for this schema: the host's with those that the
    /// schema overrides.
    pub fn options(&self, options: &Options) -> Options {
        self.overrides.over(options)
    }

    /// Takes out what these options make an annotation, and has `oneOf` mean what they say.
    pub fn annotate(&mut self, options: &Options) {
        let takes_formats_out = options.formats == Formats::Annotate;
        if !takes_formats_out && options.one_of == OneOf::Exclusive {
            return;
        }
        for node in &mut self.nodes {
            let Body::Atoms(atoms) = &mut node.body else {
                continue;
            };
            if options.one_of == OneOf::Any {
                for atom in atoms.iter_mut() {
                    if let AtomKind::OneOf(nodes) = &mut atom.kind {
                        atom.kind = AtomKind::AnyOf(std::mem::take(nodes));
                    }
                }
            }
            if takes_formats_out {
                atoms.retain(|a| a.keyword != "format");
                if atoms.is_empty() {
                    node.body = Body::Always;
                }
            }
        }
    }

    /// The draft whose rules were followed.
    pub fn draft(&self) -> Draft {
        self.draft
    }

    /// Returns the number of locations that the schema reaches.
    pub fn locations(&self) -> usize {
        self.nodes.len() - 2
    }
}

/// The fate of a keyword at a location.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    /// The printed expression enforces it exactly.
    Enforced,
    /// It constrains nothing: an annotation, a name, an unknown keyword.
    Annotation,
    /// It constrains nothing either, although who wrote it may think so: a keyword of a later
    /// draft, an unknown format, an annotation of the wrong type. The text says why.
    Ignored(String),
    /// A sound subset is enforced; the text says what is left out.
    Narrowed(String),
    /// Less is enforced than the keyword says, because an option asks for that; the text says what
    /// is let in.
    Loosened(String),
    /// It cannot be enforced; the text says why. A schema in which such a
    /// keyword matters is refused as a whole.
    Refused(String),
}

impl Status {
    /// Returns the word for it: `enforced`, `annotation` (what is ignored is one), `narrowed`, `loosened`
    /// or `refused`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Status::Enforced => "enforced",
            Status::Annotation | Status::Ignored(_) => "annotation",
            Status::Narrowed(_) => "narrowed",
            Status::Loosened(_) => "loosened",
            Status::Refused(_) => "refused",
        }
    }

    /// Returns the text that says why, if there is one.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        match self {
            Status::Enforced | Status::Annotation => None,
            Status::Ignored(reason)
            | Status::Narrowed(reason)
            | Status::Loosened(reason)
            | Status::Refused(reason) => Some(reason),
        }
    }
}
