//! The normal form of a location: a list of alternatives, each a [`Shape`] in
//! which all keywords that apply are intersected. Keywords that branch
//! (`anyOf`, `oneOf`, `if`, ...) are distributed over their siblings, so that
//! nothing beside them is lost; `not` and the complements that `oneOf` and `if`
//! need are worked out keyword by keyword.
//!
//! Only this one location is opened: members and items stay sets of locations,
//! which are opened when they are printed.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use serde_json::Value;

use crate::budget::{Budget, Limit, STEP};
use crate::decimal::Decimal;
use crate::error::{Error, ErrorKind};
use crate::ir::{ALWAYS, AtomKind, Body, Kinds, NodeId, Schema};
use crate::language::formats::Format;
use crate::language::number_expressions::Bound;
use crate::normal::shape::{Arrays, Conj, Contains, Shape, Signed};
use crate::options::{Formats, Options};

pub(crate) type Shapes = Rc<Vec<Shape>>;

pub(crate) struct Normaliser<'s> {
    pub(crate) schema: &'s Schema,
    pub(crate) options: &'s Options,
    memo: HashMap<Signed, Shapes>,
    conjs: HashMap<Conj, Shapes>,
    open: Vec<Signed>,
    pub(crate) budget: Budget,
}

/// How an object that says nothing of further properties is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// They are admitted: what proofs about the schema must assume.
    AsWritten,
    /// As [`crate::OpenObjects`] says: what is printed.
    AsOptions,
}

/// What an item of its own takes in an alternative, in units of work: each alternative has
/// its own list of them.
const ITEM: usize = 8;

/// How deep the proof that two branches exclude each other looks.
const PROOF_DEPTH: usize = 4;

impl<'s> Normaliser<'s> {
    pub(crate) fn new(schema: &'s Schema, options: &'s Options, budget: Budget) -> Self {
        Normaliser {
            schema,
            options,
            memo: HashMap::new(),
            conjs: HashMap::new(),
            open: Vec::new(),
            budget,
        }
    }

    pub(crate) fn error(
        &self,
        kind: ErrorKind,
        at: NodeId,
        keyword: &str,
        message: impl Into<String>,
    ) -> Error {
        Error::at(kind, &self.schema.node(at).pointer, keyword, message)
    }

    pub(crate) fn step(&self, at: NodeId) -> Result<(), Error> {
        self.work(at, STEP)
    }

    /// Charges units of work, of which [`STEP`] are a step.
    pub(crate) fn work(&self, at: NodeId, units: usize) -> Result<(), Error> {
        if self.budget.take(units) {
            return Ok(());
        }
        let steps = self.options.max_steps;
        Err(self.too_much(
            ErrorKind::TooManySteps,
            at,
            &format!("takes more than {steps} steps; simplify it or raise Options::max_steps"),
        ))
    }

    fn too_much(&self, kind: ErrorKind, at: NodeId, what: &str) -> Error {
        match self.schema.widest(at) {
            (at, Some(keyword)) => self.error(
                kind,
                at,
                keyword,
                format!("`{keyword}`: the location {what}"),
            ),
            (at, None) => Error::new(
                kind,
                &self.schema.node(at).pointer,
                format!("the location {what}"),
            ),
        }
    }

    /// The alternatives of a set of locations.
    pub(crate) fn shapes(&mut self, conj: &Conj) -> Result<Shapes, Error> {
        if let Some(known) = self.conjs.get(conj) {
            return Ok(known.clone());
        }
        let mut out = vec![Shape::any()];
        for part in conj.parts() {
            let more = self.signed(*part)?;
            out = self.and(&out, &more, part.node)?;
        }
        let out = Rc::new(out);
        self.conjs.insert(conj.clone(), out.clone());
        Ok(out)
    }

    fn and(&mut self, a: &[Shape], b: &[Shape], at: NodeId) -> Result<Vec<Shape>, Error> {
        if let [one] = a
            && one.is_any()
        {
            return Ok(b.to_vec());
        }
        let mut out: Vec<Shape> = Vec::new();
        for x in a {
            for y in b {
                self.work(at, STEP + x.weight() + y.weight())?;
                if let Some(shape) = x.meet(y) {
                    self.push(&mut out, shape, at)?;
                }
            }
        }
        Ok(out)
    }

    fn push(&self, out: &mut Vec<Shape>, shape: Shape, at: NodeId) -> Result<(), Error> {
        if out.len() < 64 && out.contains(&shape) {
            return Ok(());
        }
        if out.len() >= self.options.max_alternatives {
            let most = self.options.max_alternatives;
            return Err(self.too_much(
                ErrorKind::TooManyAlternatives,
                at,
                &format!("has more than {most} alternatives; simplify it or raise Options::max_alternatives"),
            ));
        }
        out.push(shape);
        Ok(())
    }

    fn or(&self, out: &mut Vec<Shape>, more: &[Shape], at: NodeId) -> Result<(), Error> {
        for shape in more {
            self.work(at, STEP + 4 * out.len().min(64))?;
            self.push(out, shape.clone(), at)?;
        }
        Ok(())
    }

    fn signed(&mut self, signed: Signed) -> Result<Shapes, Error> {
        if let Some(known) = self.memo.get(&signed) {
            return Ok(known.clone());
        }
        let schema = self.schema;
        let node = schema.node(signed.node);
        if self.open.contains(&signed) {
            return Err(Error::new(
                ErrorKind::Cyclic,
                &node.pointer,
                "the schema refers to itself without descending into the value; remove the reference",
            ));
        }
        if self.open.len() >= self.options.max_depth {
            return Err(too_deep(&node.pointer, self.options));
        }
        self.open.push(signed);
        let result = match (&node.body, signed.positive) {
            (Body::Always, true) | (Body::Never, false) => Ok(vec![Shape::any()]),
            (Body::Always, false) | (Body::Never, true) => Ok(Vec::new()),
            (Body::Atoms(atoms), true) => {
                let mut out = vec![Shape::any()];
                let mut result = Ok(());
                // What does not branch comes first and prunes the rest; `oneOf`
                // comes last, so that its branches are told apart by all else.
                for rank in 0..3 {
                    for atom in atoms.iter().filter(|a| rank_of(&a.kind) == rank) {
                        result = match &atom.kind {
                            AtomKind::OneOf(nodes) => self.one_of(&out, nodes, signed.node),
                            kind => self
                                .atom(kind, atom.keyword, signed.node)
                                .and_then(|more| self.and(&out, &more, signed.node)),
                        }
                        .map(|shapes| out = shapes);
                        if result.is_err() {
                            break;
                        }
                    }
                    if result.is_err() {
                        break;
                    }
                }
                result.map(|()| out)
            }
            (Body::Atoms(atoms), false) => {
                let mut out = Vec::new();
                let mut result = Ok(());
                for atom in atoms {
                    result = self
                        .negated(&atom.kind, atom.keyword, signed.node)
                        .and_then(|more| self.or(&mut out, &more, signed.node));
                    if result.is_err() {
                        break;
                    }
                }
                result.map(|()| out)
            }
        };
        self.open.pop();
        let shapes = Rc::new(result?);
        self.memo.insert(signed, shapes.clone());
        Ok(shapes)
    }

    fn all(&mut self, parts: &[Signed], at: NodeId) -> Result<Vec<Shape>, Error> {
        let mut out = vec![Shape::any()];
        for part in parts {
            let more = self.signed(*part)?;
            out = self.and(&out, &more, at)?;
        }
        Ok(out)
    }

    fn some(&mut self, parts: &[Signed], at: NodeId) -> Result<Vec<Shape>, Error> {
        let mut out = Vec::new();
        for part in parts {
            let more = self.signed(*part)?;
            self.or(&mut out, &more, at)?;
        }
        Ok(out)
    }

    fn refusal(&self, at: NodeId, keyword: &str, reason: &str) -> Error {
        self.error(
            ErrorKind::Refused,
            at,
            keyword,
            format!("`{keyword}`: {reason}"),
        )
    }

    /// The alternatives of one keyword.
    fn atom(
        &mut self,
        kind: &AtomKind,
        keyword: &'static str,
        at: NodeId,
    ) -> Result<Vec<Shape>, Error> {
        let any = Shape::any;
        let here = (at, keyword);
        Ok(vec![match kind {
            AtomKind::Type { kinds, integer } => {
                if *integer {
                    Shape::of_kinds(kinds.or(Kinds::NUMBER))
                        .with_numbers(|n| n.integer = Some(true))
                } else {
                    Shape::of_kinds(*kinds)
                }
            }
            AtomKind::Values(values) => {
                self.work(at, STEP * values.len())?;
                return Ok(one_of_values(values));
            }
            AtomKind::Minimum { value, exclusive } => {
                any().with_numbers(|n| n.bound_below(bound(value, *exclusive)))
            }
            AtomKind::Maximum { value, exclusive } => {
                any().with_numbers(|n| n.bound_above(bound(value, *exclusive)))
            }
            AtomKind::MultipleOf(divisor) => {
                if is_one(divisor) {
                    any().with_numbers(|n| n.integer = Some(true))
                } else {
                    any().with_numbers(|n| n.multiples.push((divisor.clone(), here)))
                }
            }
            AtomKind::MinLength(min) => any().with_strings(|s| {
                s.min = *min;
                s.length_at = Some(here);
            }),
            AtomKind::MaxLength(_) | AtomKind::Format(Format::ShortLocalPart)
                if keyword == "format" =>
            {
                // The expressions of these formats are short by their form.
                any()
            }
            AtomKind::MaxLength(max) => any().with_strings(|s| {
                s.max = Some(*max);
                s.length_at = Some(here);
            }),
            AtomKind::Pattern(id) => match &self.schema.pattern(*id).pattern {
                Ok(_) => any().with_strings(|s| s.patterns.push((*id, true, here))),
                Err(e) => {
                    let error = self.refusal(
                        at,
                        keyword,
                        &format!("{} (byte {} of the pattern)", e.reason, e.offset),
                    );
                    any().with_refusal(Kinds::STRING, error)
                }
            },
            AtomKind::Format(format) => {
                any().with_strings(|s| s.formats.push((*format, true, here)))
            }
            AtomKind::UnknownFormat(reason) => {
                if self.options.formats == Formats::Strict {
                    let error = self.refusal(
                        at,
                        keyword,
                        &format!("{reason}; use Formats::Assert to take it as an annotation"),
                    );
                    any().with_refusal(Kinds::STRING, error)
                } else {
                    any()
                }
            }
            AtomKind::Items(items) => any().with_arrays(|a| {
                a.prefix = items
                    .prefix
                    .iter()
                    .map(|n| Conj::new([Signed::yes(*n)]))
                    .collect();
                a.rest = Conj::new([Signed::yes(items.rest)]);
            }),
            AtomKind::MinItems(min) => any().with_arrays(|a| a.min = *min),
            AtomKind::MaxItems(max) => any().with_arrays(|a| a.max = Some(*max)),
            AtomKind::UniqueItems => any().with_arrays(|a| a.unique = Some(at)),
            AtomKind::Contains { node, min, max } => {
                if *min == 0 && max.is_none() {
                    any()
                } else {
                    any().with_arrays(|a| {
                        add_contains(
                            a,
                            Contains {
                                item: Signed::yes(*node),
                                min: *min,
                                max: *max,
                                at: here,
                            },
                        );
                    })
                }
            }
            AtomKind::Members(_) => any().with_objects(|o| o.members.push(at)),
            AtomKind::Required(names) => {
                any().with_objects(|o| o.required = names.iter().map(|n| n.to_string()).collect())
            }
            AtomKind::MinProperties(min) => any().with_objects(|o| {
                o.min = *min;
                o.count_at = Some(here);
            }),
            AtomKind::MaxProperties(max) => any().with_objects(|o| {
                o.max = Some(*max);
                o.count_at = Some(here);
            }),
            AtomKind::PropertyNames(node) => {
                any().with_objects(|o| o.names.push(Signed::yes(*node)))
            }
            AtomKind::DependentRequired(lists) => {
                let mut out = vec![any()];
                for (name, needed) in lists {
                    let mut both: BTreeSet<String> = needed.iter().map(|n| n.to_string()).collect();
                    both.insert(name.to_string());
                    let ways = [without_member(name), object_with(both)];
                    out = self.and(&out, &ways, at)?;
                }
                return Ok(out);
            }
            AtomKind::DependentSchemas(list) => {
                let mut out = vec![any()];
                for (name, node) in list {
                    let present = [object_with(BTreeSet::from([name.to_string()]))];
                    let then = self.signed(Signed::yes(*node))?;
                    let mut ways = vec![without_member(name)];
                    ways.extend(self.and(&present, &then, at)?);
                    out = self.and(&out, &ways, at)?;
                }
                return Ok(out);
            }
            AtomKind::AllOf(nodes) => {
                let parts: Vec<Signed> = nodes.iter().map(|n| Signed::yes(*n)).collect();
                return self.all(&parts, at);
            }
            AtomKind::AnyOf(nodes) => {
                let parts: Vec<Signed> = nodes.iter().map(|n| Signed::yes(*n)).collect();
                return self.some(&parts, at);
            }
            AtomKind::OneOf(nodes) => return self.one_of(&[any()], nodes, at),
            AtomKind::Not(node) => return self.signed(Signed::no(*node)).map(|s| s.to_vec()),
            AtomKind::If {
                condition,
                then,
                otherwise,
            } => {
                let mut out = if *then == ALWAYS && *otherwise == ALWAYS {
                    vec![any()]
                } else {
                    self.all(&[Signed::yes(*condition), Signed::yes(*then)], at)?
                };
                if *then != ALWAYS || *otherwise != ALWAYS {
                    let more = self.all(&[Signed::no(*condition), Signed::yes(*otherwise)], at)?;
                    self.or(&mut out, &more, at)?;
                }
                return Ok(out);
            }
            AtomKind::Ref(node) => return self.signed(Signed::yes(*node)).map(|s| s.to_vec()),
            AtomKind::UnevaluatedItems(_) => {
                any().with_refusal(Kinds::ARRAY, self.refusal(at, keyword, UNEVALUATED))
            }
            AtomKind::UnevaluatedProperties(_) => {
                any().with_refusal(Kinds::OBJECT, self.refusal(at, keyword, UNEVALUATED))
            }
            AtomKind::Refused { kinds, reason } => {
                any().with_refusal(*kinds, self.refusal(at, keyword, reason))
            }
        }])
    }

    /// The alternatives of the complement of one keyword.
    fn negated(
        &mut self,
        kind: &AtomKind,
        keyword: &'static str,
        at: NodeId,
    ) -> Result<Vec<Shape>, Error> {
        let strings = || Shape::of_kinds(Kinds::STRING);
        let numbers = || Shape::of_kinds(Kinds::NUMBER);
        let arrays = || Shape::of_kinds(Kinds::ARRAY);
        let objects = || Shape::of_kinds(Kinds::OBJECT);
        let here = (at, keyword);
        let refuse = |this: &Self, kinds: Kinds, what: &str| {
            let error = this.refusal(
                at,
                keyword,
                &format!("{what} cannot be negated (by `not`, `oneOf`, `if` or the like)"),
            );
            Ok(vec![Shape::of_kinds(kinds).with_refusal(kinds, error)])
        };
        Ok(match kind {
            AtomKind::Type { kinds, integer } => {
                let left = Kinds::ALL.without(*kinds);
                if *integer {
                    vec![Shape::of_kinds(left).with_numbers(|n| n.integer = Some(false))]
                } else if left == Kinds::NONE {
                    Vec::new()
                } else {
                    vec![Shape::of_kinds(left)]
                }
            }
            AtomKind::Values(values) => return self.not_values(values, at, keyword),
            AtomKind::Minimum { value, exclusive } => {
                vec![numbers().with_numbers(|n| n.bound_above(bound(value, !exclusive)))]
            }
            AtomKind::Maximum { value, exclusive } => {
                vec![numbers().with_numbers(|n| n.bound_below(bound(value, !exclusive)))]
            }
            AtomKind::MultipleOf(divisor) => {
                if is_one(divisor) {
                    vec![numbers().with_numbers(|n| n.integer = Some(false))]
                } else {
                    return refuse(self, Kinds::NUMBER, "a divisor");
                }
            }
            // Refused with the format that they are parts of.
            AtomKind::MaxLength(_) | AtomKind::Format(Format::ShortLocalPart)
                if keyword == "format" =>
            {
                Vec::new()
            }
            AtomKind::MinLength(0) => Vec::new(),
            AtomKind::MinLength(min) => vec![strings().with_strings(|s| {
                s.max = Some(min - 1);
                s.length_at = Some(here);
            })],
            AtomKind::MaxLength(max) => match max.checked_add(1) {
                Some(min) => vec![strings().with_strings(|s| {
                    s.min = min;
                    s.length_at = Some(here);
                })],
                None => Vec::new(),
            },
            AtomKind::Pattern(id) => match &self.schema.pattern(*id).pattern {
                Ok(_) => vec![strings().with_strings(|s| s.patterns.push((*id, false, here)))],
                Err(_) => return self.atom(kind, keyword, at),
            },
            AtomKind::Format(format) => {
                if format.narrowed_in_regex().is_some() {
                    return refuse(self, Kinds::STRING, "a format that is narrowed to a subset");
                }
                vec![strings().with_strings(|s| s.formats.push((*format, false, here)))]
            }
            AtomKind::UnknownFormat(_) => match self.options.formats {
                Formats::Strict => return refuse(self, Kinds::STRING, "an unknown format"),
                _ => Vec::new(),
            },
            AtomKind::Items(items) => {
                let mut out = Vec::new();
                for (i, node) in items.prefix.iter().enumerate() {
                    if *node == ALWAYS {
                        continue;
                    }
                    // Each lists the items before it, which may be any.
                    self.work(at, STEP + ITEM * i)?;
                    out.push(arrays().with_arrays(|a| {
                        a.min = i as u64 + 1;
                        a.prefix = vec![Conj::any(); i];
                        a.prefix.push(Conj::new([Signed::no(*node)]));
                    }));
                }
                let n = items.prefix.len() as u64;
                match items.rest {
                    ALWAYS => {}
                    rest if matches!(self.schema.node(rest).body, Body::Never) => {
                        out.push(arrays().with_arrays(|a| a.min = n + 1));
                    }
                    rest if n == 0 => out.push(arrays().with_arrays(|a| {
                        add_contains(
                            a,
                            Contains {
                                item: Signed::no(rest),
                                min: 1,
                                max: None,
                                at: here,
                            },
                        );
                    })),
                    _ => out.extend(refuse(
                        self,
                        Kinds::ARRAY,
                        "the schema of items after a prefix",
                    )?),
                }
                out
            }
            AtomKind::MinItems(0) => Vec::new(),
            AtomKind::MinItems(min) => vec![arrays().with_arrays(|a| a.max = Some(min - 1))],
            AtomKind::MaxItems(max) => match max.checked_add(1) {
                Some(min) => vec![arrays().with_arrays(|a| a.min = min)],
                None => Vec::new(),
            },
            AtomKind::UniqueItems => return refuse(self, Kinds::ARRAY, "uniqueness"),
            AtomKind::Contains { node, min, max } => {
                let mut out = Vec::new();
                if let Some(fewer) = min.checked_sub(1) {
                    out.push(arrays().with_arrays(|a| {
                        add_contains(
                            a,
                            Contains {
                                item: Signed::yes(*node),
                                min: 0,
                                max: Some(fewer),
                                at: here,
                            },
                        );
                    }));
                }
                if let Some(more) = max.and_then(|m| m.checked_add(1)) {
                    out.push(arrays().with_arrays(|a| {
                        add_contains(
                            a,
                            Contains {
                                item: Signed::yes(*node),
                                min: more,
                                max: None,
                                at: here,
                            },
                        );
                    }));
                }
                out
            }
            AtomKind::Members(members) => {
                let mut out = Vec::new();
                for (name, node) in members.names.list() {
                    let node = *node;
                    if node == ALWAYS {
                        continue;
                    }
                    out.push(objects().with_objects(|o| {
                        o.required.insert(name.to_string());
                        o.extra.push((name.to_string(), Signed::no(node)));
                    }));
                }
                if members.patterns.iter().any(|(_, node)| *node != ALWAYS) {
                    out.extend(refuse(
                        self,
                        Kinds::OBJECT,
                        "the schema of a pattern of names",
                    )?);
                }
                if members.additional != ALWAYS {
                    // Objects with a further member; an enumeration of them
                    // is not needed where the other side admits none.
                    let error = self.refusal(at, "additionalProperties", "the schema of further properties cannot be negated (by `not`, `oneOf`, `if` or the like)");
                    let n = if members.patterns.is_empty() { 1 } else { 0 };
                    out.push(
                        objects()
                            .with_objects(|o| o.min = n)
                            .with_refusal(Kinds::OBJECT, error),
                    );
                }
                out
            }
            AtomKind::Required(names) => names.iter().map(|n| object_without(n)).collect(),
            AtomKind::MinProperties(0) => Vec::new(),
            AtomKind::MinProperties(min) => vec![objects().with_objects(|o| {
                o.max = Some(min - 1);
                o.count_at = Some(here);
            })],
            AtomKind::MaxProperties(max) => match max.checked_add(1) {
                Some(min) => vec![objects().with_objects(|o| {
                    o.min = min;
                    o.count_at = Some(here);
                })],
                None => Vec::new(),
            },
            AtomKind::PropertyNames(node) => {
                if *node == ALWAYS {
                    Vec::new()
                } else {
                    return refuse(self, Kinds::OBJECT, "a condition on all names");
                }
            }
            AtomKind::DependentRequired(lists) => {
                let mut out = Vec::new();
                for (name, needed) in lists {
                    for missing in needed {
                        let present = object_with(BTreeSet::from([name.to_string()]));
                        out.extend(present.meet(&object_without(missing)));
                    }
                }
                out
            }
            AtomKind::DependentSchemas(list) => {
                let mut out = Vec::new();
                for (name, node) in list {
                    let present = [object_with(BTreeSet::from([name.to_string()]))];
                    let broken = self.signed(Signed::no(*node))?;
                    let more = self.and(&present, &broken, at)?;
                    self.or(&mut out, &more, at)?;
                }
                out
            }
            AtomKind::AllOf(nodes) => {
                let parts: Vec<Signed> = nodes.iter().map(|n| Signed::no(*n)).collect();
                return self.some(&parts, at);
            }
            AtomKind::AnyOf(nodes) => {
                let parts: Vec<Signed> = nodes.iter().map(|n| Signed::no(*n)).collect();
                return self.all(&parts, at);
            }
            AtomKind::OneOf(nodes) => return self.not_one_of(nodes, at),
            AtomKind::Not(node) => return self.signed(Signed::yes(*node)).map(|s| s.to_vec()),
            AtomKind::If {
                condition,
                then,
                otherwise,
            } => {
                let mut out = self.all(&[Signed::yes(*condition), Signed::no(*then)], at)?;
                let more = self.all(&[Signed::no(*condition), Signed::no(*otherwise)], at)?;
                self.or(&mut out, &more, at)?;
                out
            }
            AtomKind::Ref(node) => return self.signed(Signed::no(*node)).map(|s| s.to_vec()),
            AtomKind::UnevaluatedItems(_) => return refuse(self, Kinds::ARRAY, UNEVALUATED),
            AtomKind::UnevaluatedProperties(_) => {
                return refuse(self, Kinds::OBJECT, UNEVALUATED);
            }
            AtomKind::Refused { kinds, reason } => {
                vec![
                    Shape::of_kinds(*kinds).with_refusal(*kinds, self.refusal(at, keyword, reason)),
                ]
            }
        })
    }

    /// Exactly one branch: each branch without those others that it is not
    /// known to exclude.
    fn one_of(
        &mut self,
        base: &[Shape],
        nodes: &[NodeId],
        at: NodeId,
    ) -> Result<Vec<Shape>, Error> {
        let mut branches = Vec::with_capacity(nodes.len());
        for node in nodes {
            branches.push(self.signed(Signed::yes(*node))?);
        }
        let mut out = Vec::new();
        for (i, branch) in branches.iter().enumerate() {
            let mut own = self.and(base, branch, at)?;
            for (j, other) in branches.iter().enumerate() {
                if i == j {
                    continue;
                }
                let mut kept = Vec::new();
                for shape in own {
                    let mut disjoint = true;
                    for against in other.iter() {
                        self.work(at, STEP + shape.weight() + against.weight())?;
                        if let Some(both) = shape.meet(against)
                            && !self.plainly_empty(&both, PROOF_DEPTH)?
                        {
                            disjoint = false;
                            break;
                        }
                    }
                    if disjoint {
                        kept.push(shape);
                    } else {
                        let rest = self.signed(Signed::no(nodes[j]))?;
                        for shape in self.and(&[shape], &rest, at)? {
                            if !self.plainly_empty(&shape, 1)? {
                                self.push(&mut kept, shape, at)?;
                            }
                        }
                    }
                }
                own = kept;
            }
            for mut shape in own {
                // What is refused inside is the fault of this `oneOf`.
                for (_, error) in &mut shape.refused {
                    if error.message().contains("cannot be negated")
                        && error.keyword() != Some("oneOf")
                    {
                        let reason = format!(
                            "`oneOf`: its branches are not known to exclude each other, and {} at #{} cannot be negated; use `anyOf`, or tell the branches apart by a required property with a `const`",
                            error.keyword().unwrap_or("a keyword"),
                            error.pointer()
                        );
                        *error = Rc::new(self.error(ErrorKind::Refused, at, "oneOf", reason));
                    }
                }
                self.push(&mut out, shape, at)?;
            }
        }
        Ok(out)
    }

    /// None of the branches, or two of them.
    fn not_one_of(&mut self, nodes: &[NodeId], at: NodeId) -> Result<Vec<Shape>, Error> {
        let none: Vec<Signed> = nodes.iter().map(|n| Signed::no(*n)).collect();
        let mut out = self.all(&none, at)?;
        for (i, a) in nodes.iter().enumerate() {
            for b in &nodes[..i] {
                for shape in self.all(&[Signed::yes(*a), Signed::yes(*b)], at)? {
                    if !self.plainly_empty(&shape, PROOF_DEPTH)? {
                        self.push(&mut out, shape, at)?;
                    }
                }
            }
        }
        Ok(out)
    }

    fn not_values(
        &mut self,
        values: &[Value],
        at: NodeId,
        keyword: &'static str,
    ) -> Result<Vec<Shape>, Error> {
        let mut kinds = Kinds::ALL;
        let mut numbers: Vec<Decimal> = Vec::new();
        let mut excluded = BTreeSet::new();
        let mut compound = Kinds::NONE;
        let mut empty = Kinds::NONE;
        self.work(at, STEP * values.len())?;
        for value in values {
            match value {
                Value::Null | Value::Bool(_) => kinds = kinds.without(Kinds::of(value)),
                Value::Number(n) => match Decimal::from_number(n) {
                    Some(d) => numbers.push(d),
                    None => compound = compound.or(Kinds::NUMBER),
                },
                Value::String(s) => {
                    excluded.insert(s.clone());
                }
                Value::Array(items) if items.is_empty() => empty = empty.or(Kinds::ARRAY),
                Value::Object(map) if map.is_empty() => empty = empty.or(Kinds::OBJECT),
                Value::Array(_) | Value::Object(_) => compound = compound.or(Kinds::of(value)),
            }
        }
        let mut base = Shape::any().with_strings(|s| s.excluded = excluded);
        if empty.has(Kinds::ARRAY) {
            base = base.with_arrays(|a| a.min = 1);
        }
        if empty.has(Kinds::OBJECT) {
            base = base.with_objects(|o| o.min = 1);
        }
        if compound != Kinds::NONE {
            base = base.with_refusal(
                compound,
                self.refusal(at, keyword, "an array or object cannot be excluded"),
            );
        }
        if numbers.is_empty() {
            base.kinds = kinds;
            return Ok(vec![base]);
        }
        base.kinds = kinds.without(Kinds::NUMBER);
        let mut out = vec![base];
        numbers.sort();
        numbers.dedup();
        let mut low: Option<Bound> = None;
        for n in numbers {
            let high = bound(&n, true);
            let from = low.replace(high.clone());
            out.push(Shape::of_kinds(Kinds::NUMBER).with_numbers(|x| {
                x.low = from;
                x.high = Some(high);
            }));
        }
        out.push(Shape::of_kinds(Kinds::NUMBER).with_numbers(|x| x.low = low));
        Ok(out)
    }

    /// The locations that apply to a member of this name.
    pub(crate) fn member(
        &self,
        objects: &crate::normal::shape::Objects,
        name: &str,
        reading: Reading,
    ) -> Conj {
        let mut parts: Vec<Signed> = Vec::new();
        for node in &objects.members {
            let Some(members) = self.members_of(*node) else {
                continue;
            };
            let mut evaluated = false;
            if let Some(own) = members.names.get(name) {
                parts.push(Signed::yes(own));
                evaluated = true;
            }
            for (pattern, own) in &members.patterns {
                if self.matches(*pattern, name) {
                    parts.push(Signed::yes(*own));
                    evaluated = true;
                }
            }
            if !evaluated {
                parts.push(self.further(members, reading));
            }
        }
        parts.extend(
            objects
                .extra
                .iter()
                .filter(|(n, _)| n == name)
                .map(|(_, s)| *s),
        );
        for signed in &objects.names {
            if !crate::validate::name_holds(self.schema, self.options, *signed, name) {
                parts.push(Signed::no(ALWAYS));
            }
        }
        Conj::new(parts)
    }

    /// The location that applies to members that no name or pattern names.
    pub(crate) fn further(&self, members: &crate::ir::Members, reading: Reading) -> Signed {
        let closed = reading == Reading::AsOptions
            && self.options.open_objects == crate::options::OpenObjects::Closed
            && !members.additional_said
            && (!members.names.is_empty() || !members.patterns.is_empty());
        if closed {
            Signed::no(ALWAYS)
        } else {
            Signed::yes(members.additional)
        }
    }

    pub(crate) fn members_of(&self, node: NodeId) -> Option<&'s crate::ir::Members> {
        let schema: &'s Schema = self.schema;
        match &schema.node(node).body {
            Body::Atoms(atoms) => atoms.iter().find_map(|a| match &a.kind {
                AtomKind::Members(m) => Some(m),
                _ => None,
            }),
            _ => None,
        }
    }

    /// Whether a name matches a pattern that was read; one that was not is
    /// refused elsewhere.
    pub(crate) fn matches(&self, id: crate::ir::PatternId, name: &str) -> bool {
        let entry = self.schema.pattern(id);
        // What is over the budget is met at the next value.
        self.budget
            .take(8 + name.len().saturating_mul(1 + entry.source.len() / 4));
        entry.holds(name)
    }

    /// Whether a shape is seen to have no value, looking `depth` levels down.
    /// `false` is no proof of the contrary.
    pub(crate) fn plainly_empty(&mut self, shape: &Shape, depth: usize) -> Result<bool, Error> {
        let mut left = shape.kinds;
        if left.has(Kinds::NULL) || left.has(Kinds::TRUE) || left.has(Kinds::FALSE) {
            return Ok(false);
        }
        if left.has(Kinds::NUMBER) && shape.numbers.plainly_empty() {
            left = left.without(Kinds::NUMBER);
        }
        if left.has(Kinds::STRING) && self.no_string(shape) {
            left = left.without(Kinds::STRING);
        }
        if left.has(Kinds::NUMBER) || left.has(Kinds::STRING) {
            return Ok(false);
        }
        if left.has(Kinds::ARRAY) {
            if !self.no_array(shape, depth)? {
                return Ok(false);
            }
            left = left.without(Kinds::ARRAY);
        }
        if left.has(Kinds::OBJECT) {
            if !self.no_object(shape, depth)? {
                return Ok(false);
            }
            left = left.without(Kinds::OBJECT);
        }
        Ok(left == Kinds::NONE)
    }

    fn no_string(&self, shape: &Shape) -> bool {
        let s = &shape.strings;
        if let Some(allowed) = &s.allowed {
            self.budget.take(8 * allowed.len());
            return !allowed
                .iter()
                .any(|text| crate::validate::strings_hold(self.schema, s, text));
        }
        let positive = |x: &&(crate::ir::PatternId, bool, crate::normal::shape::At)| x.1;
        if s.patterns.iter().filter(positive).count() + s.formats.iter().filter(|f| f.1).count() < 2
            && s.patterns.iter().all(|p| p.1)
        {
            return false;
        }
        crate::regex::string::language(self.schema, s, Limit::new(400, &self.budget))
            .is_ok_and(|l| l.is_never())
    }

    fn no_array(&mut self, shape: &Shape, depth: usize) -> Result<bool, Error> {
        let a = shape.arrays.clone();
        if depth == 0 {
            return Ok(false);
        }
        if let Some(allowed) = &a.allowed
            && !allowed
                .iter()
                .any(|v| crate::validate::shape_holds(self.schema, self.options, shape, v))
        {
            return Ok(true);
        }
        for i in 0..a.min.min(a.prefix.len() as u64 + 1) {
            let item = a.prefix.get(i as usize).unwrap_or(&a.rest).clone();
            if self.conj_empty(&item, depth - 1)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn no_object(&mut self, shape: &Shape, depth: usize) -> Result<bool, Error> {
        let o = shape.objects.clone();
        if depth == 0 {
            return Ok(false);
        }
        if let Some(allowed) = &o.allowed
            && !allowed
                .iter()
                .any(|v| crate::validate::shape_holds(self.schema, self.options, shape, v))
        {
            return Ok(true);
        }
        for name in &o.required {
            let member = self.member(&o, name, Reading::AsWritten);
            if self.conj_empty(&member, depth - 1)? {
                return Ok(true);
            }
        }
        // Too few members are possible at all.
        if o.min > o.required.len() as u64
            && o.members.iter().any(|n| {
                self.members_of(*n).is_some_and(|m| {
                    m.patterns.is_empty()
                        && Conj::new([self.further(m, Reading::AsWritten)]).is_never()
                })
            })
        {
            let mut possible = BTreeSet::new();
            for node in &o.members {
                if let Some(members) = self.members_of(*node) {
                    possible.extend(members.names.order().cloned());
                }
            }
            let mut count = 0u64;
            for name in &possible {
                let member = self.member(&o, name, Reading::AsWritten);
                if !self.conj_empty(&member, depth - 1)? {
                    count += 1;
                }
            }
            if count < o.min {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn conj_empty(&mut self, conj: &Conj, depth: usize) -> Result<bool, Error> {
        if conj.is_never() {
            return Ok(true);
        }
        if conj.is_any() {
            return Ok(false);
        }
        if let Some(first) = conj.parts().first() {
            self.step(first.node)?;
        }
        // A location that is just being opened proves nothing.
        if conj
            .parts()
            .iter()
            .any(|s| self.open.iter().any(|o| o.node == s.node))
        {
            return Ok(false);
        }
        let shapes = match self.shapes(conj) {
            Ok(shapes) => shapes,
            Err(e) if e.kind() == ErrorKind::TooManySteps => return Err(e),
            Err(_) => return Ok(false),
        };
        for shape in shapes.iter() {
            if !self.plainly_empty(shape, depth)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

pub(crate) fn too_deep(pointer: impl Into<String>, options: &Options) -> Error {
    Error::new(
        ErrorKind::TooDeep,
        pointer,
        format!(
            "the schema is nested more than {} deep; flatten it or raise Options::max_depth",
            options.max_depth
        ),
    )
}

const UNEVALUATED: &str = "beside keywords that apply schemas in place it takes the automaton, or say `additionalProperties` or `items`";

fn rank_of(kind: &AtomKind) -> u8 {
    match kind {
        AtomKind::OneOf(_) => 2,
        AtomKind::AllOf(_)
        | AtomKind::AnyOf(_)
        | AtomKind::Not(_)
        | AtomKind::If { .. }
        | AtomKind::Ref(_)
        | AtomKind::DependentRequired(_)
        | AtomKind::DependentSchemas(_) => 1,
        _ => 0,
    }
}

fn bound(value: &Decimal, exclusive: bool) -> Bound {
    Bound {
        value: value.clone(),
        exclusive,
    }
}

fn is_one(d: &Decimal) -> bool {
    d.plain() == "1"
}

/// An item condition that no item may meet is a condition on every item.
fn add_contains(arrays: &mut Arrays, contains: Contains) {
    if contains.max == Some(0) {
        let flipped = Signed {
            positive: !contains.item.positive,
            ..contains.item
        };
        arrays.rest = Conj::new([flipped]);
        if contains.min > 0 {
            arrays.allowed = Some(Vec::new());
        }
    } else {
        arrays.contains.push(contains);
    }
}

/// Objects with these members.
fn object_with(names: BTreeSet<String>) -> Shape {
    Shape::of_kinds(Kinds::OBJECT).with_objects(|o| o.required = names)
}

/// Objects without this member.
fn object_without(name: &str) -> Shape {
    Shape::of_kinds(Kinds::OBJECT)
        .with_objects(|o| o.extra.push((name.to_owned(), Signed::no(ALWAYS))))
}

/// Values of any kind that are no object with this member.
fn without_member(name: &str) -> Shape {
    Shape::any().with_objects(|o| o.extra.push((name.to_owned(), Signed::no(ALWAYS))))
}

fn one_of_values(values: &[Value]) -> Vec<Shape> {
    let mut kinds = Kinds::NONE;
    let mut numbers: Vec<(Decimal, bool)> = Vec::new();
    let mut places: HashMap<Decimal, usize> = HashMap::new();
    let (mut strings, mut arrays, mut objects) = (Vec::new(), Vec::new(), Vec::new());
    for value in values {
        kinds = kinds.or(Kinds::of(value));
        match value {
            Value::Number(n) => {
                if let Some(d) = Decimal::from_number(n) {
                    let zeros = Decimal::is_written_with_fraction(n);
                    match places.get(&d) {
                        Some(at) => {
                            let known: &mut (Decimal, bool) = &mut numbers[*at];
                            known.1 |= zeros;
                        }
                        None => {
                            places.insert(d.clone(), numbers.len());
                            numbers.push((d, zeros));
                        }
                    }
                }
            }
            Value::String(s) => strings.push(s.clone()),
            Value::Array(_) => arrays.push(value.clone()),
            Value::Object(_) => objects.push(value.clone()),
            _ => {}
        }
    }
    if kinds == Kinds::NONE {
        return Vec::new();
    }
    let mut seen = BTreeSet::new();
    strings.retain(|s| seen.insert(s.clone()));
    let mut shape = Shape::of_kinds(kinds);
    if kinds.has(Kinds::NUMBER) {
        shape = shape.with_numbers(|n| n.allowed = Some(numbers));
    }
    if kinds.has(Kinds::STRING) {
        shape = shape.with_strings(|s| s.allowed = Some(strings));
    }
    if kinds.has(Kinds::ARRAY) {
        shape = shape.with_arrays(|a| a.allowed = Some(arrays));
    }
    if kinds.has(Kinds::OBJECT) {
        shape = shape.with_objects(|o| o.allowed = Some(objects));
    }
    vec![shape]
}
