//! The intermediate form of a schema: one node for each location that is reached, its keywords read
//! and checked, references resolved. For example, `{"items": {"type": "integer"}}` has a node at
//! the root and one at `/items`.

pub(crate) mod named;
pub(crate) mod pointer;
pub(crate) mod signed;

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use crate::decimal::Decimal;
use crate::ir::named::Named;
use crate::ir::pointer::Pointer;
use crate::language::formats::Format;
use crate::language::pattern::{Pattern, PatternError};
use crate::language::re::automata::Matcher;
use crate::options::Draft;
use crate::options::{Formats, OneOf, Options};
use crate::settings::Overrides;
use crate::values::{canonical_value, equal};

/// A schema that was read and checked: the input of [`crate::to_regex`].
///
/// It holds what can be reached from the root (and nothing of unused
/// definitions), with the JSON Pointer of each location.
#[derive(Clone, Debug)]
pub struct Schema {
    pub(crate) nodes: Vec<Location>,
    pub(crate) patterns: Vec<PatternEntry>,
    pub(crate) draft: Draft,
    /// The options that the schema chose by itself.
    pub(crate) overrides: Overrides,
}

/// The name of a member.
pub(crate) type Name = Arc<str>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct NodeId(pub(crate) u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct PatternId(pub(crate) u32);

/// The schema `true`, at no location. It is in every document, so that it can have a fixed number.
pub(crate) const ALWAYS: NodeId = NodeId(0);
/// The schema `false`, at no location. It is in every document, so that it can have a fixed number.
pub(crate) const NEVER: NodeId = NodeId(1);
/// The root of the document: the first node behind the two, because it is read first.
pub(crate) const ROOT: NodeId = NodeId(2);

/// A condition of a pattern, `None` where it is too large, and whether it is wanted.
type Condition = (Option<Matcher>, bool);

#[derive(Clone, Debug)]
pub(crate) struct PatternEntry {
    pub(crate) source: String,
    pub(crate) pattern: Result<Pattern, PatternError>,
    /// Each condition of the pattern and whether it is wanted, once a text was asked
    /// about.
    matchers: OnceLock<Arc<[Condition]>>,
    /// All texts of the pattern, if they are few, once that was asked.
    texts: OnceLock<Option<Arc<[String]>>>,
}

/// The most texts of a pattern that are listed: with more, an `enum` is no better than the pattern,
/// because its texts share no states.
const FEW_TEXTS: usize = 16;

impl PatternEntry {
    pub(crate) fn new(source: &str) -> PatternEntry {
        PatternEntry {
            source: source.to_owned(),
            pattern: Pattern::parse(source),
            matchers: OnceLock::new(),
            texts: OnceLock::new(),
        }
    }

    /// The texts of the pattern, where they are few: `^(a|b)$` is as good as an `enum`.
    pub(crate) fn texts(&self) -> Option<&Arc<[String]>> {
        let find = || {
            let plain = self.pattern.as_ref().ok()?.plain()?;
            Some(plain.texts(FEW_TEXTS)?.into())
        };
        self.texts.get_or_init(find).as_ref()
    }

    /// Tells whether a text satisfies the pattern; one that cannot be read holds nowhere.
    pub(crate) fn holds(&self, text: &str) -> bool {
        let Ok(pattern) = &self.pattern else {
            return false;
        };
        let matchers = self.matchers.get_or_init(|| {
            let looks = pattern.looks.iter().map(|(re, want)| (re, *want));
            let all = std::iter::once((&pattern.main, true)).chain(looks);
            all.map(|(re, want)| (Matcher::new(re).ok(), want))
                .collect()
        });
        let holds = |matcher: &Option<Matcher>| matcher.as_ref().is_some_and(|m| m.matches(text));
        matchers
            .iter()
            .all(|(matcher, want)| holds(matcher) == *want)
    }

    /// Forgets what was made to ask about texts.
    #[cfg(feature = "automaton")]
    pub(crate) fn forget(&mut self) {
        self.matchers.take();
        self.texts.take();
    }
}

/// The values of an `enum` or a `const`.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    values: Vec<Value>,
    /// Which of them are texts, in the order of these, once that was wanted.
    texts: OnceLock<Box<[u32]>>,
    /// All of them as [`canonical_value`] texts, once that was wanted.
    canonical: OnceLock<HashSet<String>>,
}

/// The least number of values with which a text is looked up, and not compared with each, because a
/// look-up needs a list that is sorted first.
const MANY_VALUES: usize = 16;

impl Listed {
    /// Tells whether one of the values equals this one.
    pub(crate) fn has(&self, value: &Value) -> bool {
        // It mostly is one of them.
        if self
            .values
            .as_ptr_range()
            .contains(&std::ptr::from_ref(value))
        {
            return true;
        }
        let Value::String(text) = value else {
            if self.values.len() < MANY_VALUES {
                return self.values.iter().any(|v| equal(v, value));
            }
            let all = || self.values.iter().map(canonical_value).collect();
            return self
                .canonical
                .get_or_init(all)
                .contains(&canonical_value(value));
        };
        if self.values.len() < MANY_VALUES {
            return self.values.contains(value);
        }
        let text_of = |i: u32| self.values[i as usize].as_str();
        let texts = self.texts.get_or_init(|| {
            let all = 0..self.values.len() as u32;
            let mut texts: Vec<u32> = all.filter(|i| text_of(*i).is_some()).collect();
            texts.sort_unstable_by_key(|i| text_of(*i));
            texts.into()
        });
        let found = texts.binary_search_by_key(&Some(text.as_str()), |i| text_of(*i));
        found.is_ok()
    }
}

impl PartialEq for Listed {
    fn eq(&self, other: &Listed) -> bool {
        self.values == other.values
    }
}

impl From<Vec<Value>> for Listed {
    fn from(values: Vec<Value>) -> Listed {
        Listed {
            values,
            texts: OnceLock::new(),
            canonical: OnceLock::new(),
        }
    }
}

impl std::ops::Deref for Listed {
    type Target = Vec<Value>;

    fn deref(&self) -> &Vec<Value> {
        &self.values
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Location {
    pub(crate) pointer: Pointer,
    pub(crate) body: Body,
    /// The fate of each keyword here, for the ledger.
    pub(crate) notes: Vec<(Cow<'static, str>, Status)>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Body {
    Always,
    Never,
    /// All of these hold.
    Atoms(Vec<Atom>),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Atom {
    /// The keyword that an error names.
    pub(crate) keyword: &'static str,
    pub(crate) kind: AtomKind,
}

/// The kinds of JSON values, as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Kinds(pub(crate) u8);

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

    pub(crate) fn and(self, other: Kinds) -> Kinds {
        Kinds(self.0 & other.0)
    }

    pub(crate) fn or(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }

    pub(crate) fn without(self, other: Kinds) -> Kinds {
        Kinds(self.0 & !other.0)
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

/// `properties`, `patternProperties` and `additionalProperties` of one
/// location.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Members {
    pub(crate) names: Named,
    pub(crate) patterns: Vec<(PatternId, NodeId)>,
    /// `ALWAYS` where nothing is said.
    pub(crate) additional: NodeId,
    /// True if `additionalProperties` (or its like) was said.
    pub(crate) additional_said: bool,
}

/// `prefixItems` and `items` of one location, in whichever form.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Items {
    pub(crate) prefix: Vec<NodeId>,
    pub(crate) rest: NodeId,
    /// True if anything was said of the items after the prefix.
    pub(crate) rest_said: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum AtomKind {
    /// These kinds; with `integer`, integers too where numbers are not.
    Type {
        kinds: Kinds,
        integer: bool,
    },
    Values(Listed),
    Minimum {
        value: Decimal,
        exclusive: bool,
    },
    Maximum {
        value: Decimal,
        exclusive: bool,
    },
    MultipleOf(Decimal),
    MinLength(u64),
    MaxLength(u64),
    Pattern(PatternId),
    Format(Format),
    /// A format that only strict mode looks at.
    UnknownFormat(String),
    Items(Items),
    MinItems(u64),
    MaxItems(u64),
    UniqueItems,
    Contains {
        node: NodeId,
        min: u64,
        max: Option<u64>,
        /// Items that match are evaluated, which is so from 2020-12 on.
        evaluates: bool,
    },
    Members(Members),
    Required(Vec<Name>),
    MinProperties(u64),
    MaxProperties(u64),
    PropertyNames(NodeId),
    DependentRequired(Vec<(Name, Vec<Name>)>),
    DependentSchemas(Vec<(Name, NodeId)>),
    AllOf(Vec<NodeId>),
    AnyOf(Vec<NodeId>),
    OneOf(Vec<NodeId>),
    Not(NodeId),
    If {
        condition: NodeId,
        then: NodeId,
        otherwise: NodeId,
    },
    Ref(NodeId),
    /// For the items that no keyword in place has evaluated.
    UnevaluatedItems(NodeId),
    /// For the members that no keyword in place has evaluated.
    UnevaluatedProperties(NodeId),
    /// A keyword that constrains values of these kinds in a way that is not
    /// expressed.
    Refused {
        kinds: Kinds,
        reason: String,
    },
}

#[cfg(feature = "automaton")]
impl AtomKind {
    /// Replaces each location and each pattern that the atom names.
    pub(crate) fn rename(
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

/// The most references that an error follows to the place that it names, because references may
/// lead in a circle.
const MAX_FOLLOWED: usize = 1_000;

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
    #[cfg(feature = "automaton")]
    pub(crate) fn children(&self, mut tell: impl FnMut(NodeId)) {
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

    /// Tells whether it leads to other locations, that may lead to further ones.
    pub(crate) fn leads_on(&self) -> bool {
        matches!(
            self,
            AtomKind::Items(_)
                | AtomKind::Contains { .. }
                | AtomKind::Members(_)
                | AtomKind::PropertyNames(_)
                | AtomKind::DependentSchemas(_)
                | AtomKind::AllOf(_)
                | AtomKind::AnyOf(_)
                | AtomKind::OneOf(_)
                | AtomKind::Not(_)
                | AtomKind::If { .. }
                | AtomKind::Ref(_)
        )
    }

    /// Returns the number of locations or values that a keyword leads to or lists.
    fn width(&self) -> usize {
        match self {
            AtomKind::AllOf(nodes) | AtomKind::AnyOf(nodes) | AtomKind::OneOf(nodes) => {
                2 * nodes.len()
            }
            AtomKind::Values(values) => values.len(),
            AtomKind::Members(members) => members.names.order().len() + members.patterns.len(),
            AtomKind::Required(names) => names.len(),
            AtomKind::DependentRequired(lists) => {
                lists.iter().map(|(_, names)| 1 + names.len()).sum()
            }
            AtomKind::DependentSchemas(list) => 2 * list.len(),
            AtomKind::Items(items) => 1 + items.prefix.len(),
            AtomKind::Type { .. } => 0,
            _ => 1,
        }
    }
}

impl Location {
    /// Its keywords: none where every value is one of it, or no value is.
    pub(crate) fn atoms(&self) -> &[Atom] {
        match &self.body {
            Body::Atoms(atoms) => atoms,
            Body::Always | Body::Never => &[],
        }
    }
}

impl Schema {
    pub(crate) fn node(&self, id: NodeId) -> &Location {
        &self.nodes[id.0 as usize]
    }

    /// The keywords of a location, as [`Location::atoms`].
    pub(crate) fn atoms(&self, id: NodeId) -> &[Atom] {
        self.node(id).atoms()
    }

    pub(crate) fn pattern(&self, id: PatternId) -> &PatternEntry {
        &self.patterns[id.0 as usize]
    }

    /// The options that hold for this schema: the host's with those that the
    /// schema overrides.
    pub(crate) fn options(&self, options: &Options) -> Options {
        self.overrides.over(options)
    }

    /// Takes out what these options make an annotation, and has `oneOf` mean what they say.
    pub(crate) fn annotate(&mut self, options: &Options) {
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

    /// The keyword of a location that leads furthest: what an error names when the
    /// location is too much as a whole. References that stand alone are followed.
    pub(crate) fn widest(&self, mut at: NodeId) -> (NodeId, Option<&'static str>) {
        for _ in 0..MAX_FOLLOWED {
            match &self.node(at).body {
                Body::Atoms(atoms) => match &atoms[..] {
                    [
                        Atom {
                            kind: AtomKind::Ref(to),
                            ..
                        },
                    ] => at = *to,
                    _ => {
                        let widest = atoms.iter().rev().max_by_key(|atom| atom.kind.width());
                        return (at, widest.map(|atom| atom.keyword));
                    }
                },
                _ => break,
            }
        }
        (at, None)
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
