//! Turns a conjunction of signed locations into alternatives without choice,
//! for one kind of value at a time: a search that applies what is certain
//! first and splits on what is left, dropping what contradicts itself.

use std::collections::HashSet;

use serde_json::Value;

use super::compile::{Compiler, ConjId};
use super::shape::{ArrayShape, Count, ItemRule, Kind, MemberRule, Scope, Shape, Source, Witness};
use crate::decimal::Decimal;
use crate::error::{Error, ErrorKind};
use crate::ir::{ALWAYS, AtomKind, Body, Kinds, NodeId};
use crate::options::{Formats, OpenObjects};
use crate::parse::Draft;
use crate::shape::Signed;
use crate::strings::numbers::Bound;
use crate::validate;

/// Something that must hold.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum What {
    Node(Signed),
    Atom(NodeId, u16, bool),
    /// The node holds but for its unevaluated members or items.
    AllButUnevaluated(NodeId),
    Require(String),
    Forbid(String),
    /// The member is there, and so.
    Member(String, Signed),
    /// The item is there, and so.
    Item(u64, Signed),
    Count(Count),
    Some(Witness),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Term {
    what: What,
    /// Which collector of evaluated members and items it reports to.
    collector: Option<u16>,
}

type Branch = Vec<Vec<Term>>;

/// A location with `unevaluatedProperties` or `unevaluatedItems`.
#[derive(Clone)]
struct Collector {
    parent: Option<u16>,
    node: NodeId,
    negated: bool,
    members: Vec<Source>,
    prefix: u64,
    all_items: bool,
    contains: Vec<NodeId>,
}

#[derive(Clone)]
struct Partial {
    shape: Shape,
    /// The values that `enum` leaves.
    allowed: Option<Vec<Value>>,
    pending: Vec<Term>,
    branches: Vec<Branch>,
    done: HashSet<Term>,
    collectors: Vec<Collector>,
}

enum Flow {
    On,
    Dead,
}

fn term(what: What) -> Term {
    Term {
        what,
        collector: None,
    }
}

fn node_term(node: NodeId, positive: bool, collector: Option<u16>) -> Term {
    Term {
        what: What::Node(Signed { node, positive }),
        collector: if positive { collector } else { None },
    }
}

impl Compiler {
    /// The alternatives of a conjunction for one kind; none where no value of
    /// the kind satisfies it.
    pub(super) fn expand(&mut self, conj: ConjId, kind: Kind) -> Result<Vec<Shape>, Error> {
        let parts = self.conj(conj);
        let first = Partial {
            shape: Shape::any(kind),
            allowed: None,
            pending: parts
                .iter()
                .rev()
                .map(|s| node_term(s.node, s.positive, None))
                .collect(),
            branches: Vec::new(),
            done: HashSet::new(),
            collectors: Vec::new(),
        };
        let at = parts.first().map_or(ALWAYS, |s| s.node);
        let mut out: Vec<Shape> = Vec::new();
        let mut seen: HashSet<Shape> = HashSet::new();
        let mut todo = vec![first];
        while let Some(mut partial) = todo.pop() {
            self.spend(at)?;
            if !self.settle(&mut partial, kind)? {
                continue;
            }
            let shapes = if partial.allowed.is_some() {
                self.listed(conj, &mut partial, kind)?
            } else {
                None
            };
            match shapes {
                Some(shapes) => {
                    for shape in shapes {
                        if seen.insert(shape.clone()) {
                            out.push(shape);
                        }
                    }
                }
                None => match self.choose(&mut partial, kind) {
                    Some(branch) => {
                        for alternative in branch.into_iter().rev() {
                            let mut next = partial.clone();
                            next.pending = alternative;
                            todo.push(next);
                        }
                    }
                    None => {
                        if self.finish(&mut partial, kind)? && seen.insert(partial.shape.clone()) {
                            out.push(partial.shape);
                        } else if !partial.pending.is_empty() || !partial.branches.is_empty() {
                            todo.push(partial);
                        }
                    }
                },
            }
            if out.len() + todo.len() > self.options.max_alternatives {
                return Err(Error::new(
                    ErrorKind::TooManyAlternatives,
                    self.pointer(at),
                    format!(
                        "the location has more than {} alternatives; raise Options::max_alternatives",
                        self.options.max_alternatives
                    ),
                ));
            }
            if kind < Kind::Number && !out.is_empty() {
                break;
            }
        }
        Ok(out)
    }

    /// Applies all that is certain; `false` where it contradicts itself.
    fn settle(&mut self, partial: &mut Partial, kind: Kind) -> Result<bool, Error> {
        while let Some(next) = partial.pending.pop() {
            if !partial.done.insert(next.clone()) {
                continue;
            }
            if let What::Node(s) = next.what {
                let opposite = node_term(s.node, !s.positive, None);
                if partial.done.contains(&opposite) {
                    return Ok(false);
                }
            }
            if let Flow::Dead = self.apply(partial, next, kind)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The next choice to split on; settled ones are dropped on the way.
    fn choose(&mut self, partial: &mut Partial, kind: Kind) -> Option<Branch> {
        let mut best: Option<(usize, usize)> = None;
        let mut i = 0;
        while i < partial.branches.len() {
            let mut branch = std::mem::take(&mut partial.branches[i]);
            let mut settled = false;
            branch.retain(|terms| {
                if settled {
                    return false;
                }
                let mut all = true;
                for t in terms {
                    match self.status(partial, &t.what, kind, 0) {
                        Some(false) => return false,
                        Some(true) if t.collector.is_none() => {}
                        _ => all = false,
                    }
                }
                settled |= all;
                true
            });
            if settled {
                partial.branches.swap_remove(i);
                continue;
            }
            let size = branch.len();
            partial.branches[i] = branch;
            if best.is_none_or(|(n, _)| size < n) {
                best = Some((size, i));
            }
            i += 1;
        }
        best.map(|(_, i)| partial.branches.swap_remove(i))
    }

    /// The shapes of a partial that lists its values: the listed ones that
    /// satisfy the whole conjunction. `None` where that cannot be asked; the
    /// values have then become a choice.
    fn listed(
        &mut self,
        conj: ConjId,
        partial: &mut Partial,
        kind: Kind,
    ) -> Result<Option<Vec<Shape>>, Error> {
        let Some(values) = partial.allowed.take() else {
            return Ok(None);
        };
        let parts = self.conj(conj);
        let mut held = Vec::new();
        for value in &values {
            match validate::conj_holds(&self.schema, &self.options, &parts, value) {
                Ok(true) => held.push(value.clone()),
                Ok(false) => {}
                Err(e) if kind < Kind::Array => return Err(e),
                Err(_) => {
                    // Only keywords that look at evaluation: by structure.
                    let branch = values
                        .iter()
                        .map(|v| vec![node_term(self.container(v), true, None)])
                        .collect();
                    partial.branches.push(branch);
                    return Ok(None);
                }
            }
        }
        if held.is_empty() {
            return Ok(Some(Vec::new()));
        }
        let mut shape = Shape::any(kind);
        match &mut shape {
            Shape::Unit => {}
            Shape::Number(n) => {
                let list = held.iter().filter_map(|v| {
                    let written = v.as_number().is_some_and(|n| n.is_f64());
                    decimal_of(v).map(|d| (d, written))
                });
                n.allowed = Some(list.collect());
            }
            Shape::String(s) => {
                let list = held.iter().filter_map(|v| v.as_str().map(str::to_owned));
                s.allowed = Some(list.collect());
            }
            Shape::Array(_) | Shape::Object(_) => {
                let mut out = Vec::new();
                for value in &held {
                    let node = self.container(value);
                    let conj = self.intern(&[Signed::yes(node)]);
                    out.extend(self.expand(conj, kind)?);
                }
                return Ok(Some(out));
            }
        }
        Ok(Some(vec![shape]))
    }

    fn apply(&mut self, p: &mut Partial, t: Term, kind: Kind) -> Result<Flow, Error> {
        match t.what {
            What::Node(s) => self.apply_node(p, s, t.collector, kind),
            What::Atom(node, atom, positive) => {
                self.apply_atom(p, node, atom, positive, t.collector, kind)
            }
            What::AllButUnevaluated(node) => {
                let collector = new_collector(p, node, None, true);
                self.push_atoms(p, node, collector, false);
                Ok(Flow::On)
            }
            What::Require(name) => Ok(object(p, |o| {
                o.required.insert(name.clone());
                !o.forbidden.contains(&name)
            })),
            What::Forbid(name) => Ok(object(p, |o| {
                o.forbidden.insert(name.clone());
                !o.required.contains(&name)
            })),
            What::Member(name, value) => Ok(object(p, |o| {
                o.required.insert(name.clone());
                let dead = o.forbidden.contains(&name);
                o.rules.push(MemberRule::Name(name, value));
                !dead
            })),
            What::Some(witness) => Ok(object(p, |o| {
                o.some.push(witness);
                true
            })),
            What::Item(index, value) => Ok(array(p, |a| {
                a.single.push((index, value));
                a.min = a.min.max(index + 1);
                a.max.is_none_or(|m| m >= a.min)
            })),
            What::Count(count) => Ok(array(p, |a| add_count(a, count))),
        }
    }

    fn push_atoms(&self, p: &mut Partial, node: NodeId, collector: Option<u16>, all: bool) {
        let Body::Atoms(atoms) = &self.schema.node(node).body else {
            return;
        };
        for (i, atom) in atoms.iter().enumerate().rev() {
            if all || !is_unevaluated(&atom.kind) {
                p.pending.push(Term {
                    what: What::Atom(node, i as u16, true),
                    collector,
                });
            }
        }
    }

    fn apply_node(
        &mut self,
        p: &mut Partial,
        s: Signed,
        collector: Option<u16>,
        kind: Kind,
    ) -> Result<Flow, Error> {
        let atoms = match &self.schema.node(s.node).body {
            Body::Always => return Ok(flow(s.positive)),
            Body::Never => return Ok(flow(!s.positive)),
            Body::Atoms(atoms) => atoms,
        };
        let unevaluated = atoms
            .iter()
            .any(|a| is_unevaluated(&a.kind) && concerns(&a.kind, kind));
        if s.positive {
            let collector = if unevaluated {
                new_collector(p, s.node, collector, false)
            } else {
                collector
            };
            self.push_atoms(p, s.node, collector, false);
            return Ok(Flow::On);
        }
        let mut branch: Branch = Vec::new();
        for (i, atom) in atoms.iter().enumerate() {
            if concerns(&atom.kind, kind) && !is_unevaluated(&atom.kind) {
                branch.push(vec![term(What::Atom(s.node, i as u16, false))]);
            }
        }
        if unevaluated {
            branch.push(vec![term(What::AllButUnevaluated(s.node))]);
        }
        Ok(split(p, branch))
    }

    #[allow(clippy::too_many_lines)]
    fn apply_atom(
        &mut self,
        p: &mut Partial,
        node: NodeId,
        index: u16,
        positive: bool,
        collector: Option<u16>,
        kind: Kind,
    ) -> Result<Flow, Error> {
        let Body::Atoms(atoms) = &self.schema.node(node).body else {
            return Ok(Flow::On);
        };
        let atom = &atoms[index as usize];
        let at = (node, atom.keyword);
        if !concerns(&atom.kind, kind) {
            return Ok(flow(positive));
        }
        let negative = !positive;
        Ok(match &atom.kind {
            AtomKind::Type { kinds, integer } => {
                let has = kinds.has(bits(kind));
                if let (Shape::Number(n), false, true) = (&mut p.shape, has, *integer) {
                    let want = Some(positive);
                    let fits = n.integer.is_none() || n.integer == want;
                    n.integer = want;
                    return Ok(flow(fits));
                }
                flow(has == positive)
            }
            AtomKind::Values(values) => {
                let of_kind = values.iter().filter(|v| Kinds::of(v) == bits(kind));
                if positive {
                    let listed: Vec<Value> = match &p.allowed {
                        Some(known) => of_kind
                            .filter(|v| known.iter().any(|k| validate::equal(k, v)))
                            .cloned()
                            .collect(),
                        None => of_kind.cloned().collect(),
                    };
                    let any = !listed.is_empty();
                    p.allowed = Some(listed);
                    return Ok(flow(any));
                }
                let excluded: Vec<Value> = of_kind.cloned().collect();
                match &mut p.shape {
                    Shape::Unit => return Ok(flow(excluded.is_empty())),
                    Shape::Number(n) => n.excluded.extend(excluded.iter().filter_map(decimal_of)),
                    Shape::String(s) => {
                        s.at = Some(at);
                        let texts = excluded.iter().filter_map(Value::as_str);
                        s.excluded.extend(texts.map(str::to_owned));
                    }
                    Shape::Array(_) | Shape::Object(_) => {
                        for value in &excluded {
                            let node = self.container(value);
                            p.pending.push(node_term(node, false, None));
                        }
                    }
                }
                Flow::On
            }
            AtomKind::Minimum { value, exclusive } => {
                bound(p, at, positive, value, *exclusive == positive)
            }
            AtomKind::Maximum { value, exclusive } => {
                bound(p, at, !positive, value, *exclusive == positive)
            }
            AtomKind::MultipleOf(divisor) => number(p, |n| {
                n.multiples.push((divisor.clone(), positive));
                n.at = Some(at);
            }),
            AtomKind::MinLength(n) => length(p, *n, positive),
            AtomKind::MaxLength(n) => match n.checked_add(1) {
                Some(n) => length(p, n, !positive),
                None => flow(positive),
            },
            AtomKind::Pattern(id) => {
                if let Err(e) = &self.schema.pattern(*id).pattern {
                    return Err(self.refusal(at, &e.reason));
                }
                let id = *id;
                string(p, |s| {
                    s.patterns.push((id, positive));
                    s.at = Some(at);
                })
            }
            AtomKind::Format(format) => {
                if self.options.formats == Formats::Annotate {
                    return Ok(flow(positive));
                }
                if let (true, Some(what)) = (negative && !self.as_enforced, format.narrowed()) {
                    let why = format!(
                        "the format is narrowed ({what}), which is not exact under a complement"
                    );
                    return Err(self.refusal(at, &why));
                }
                let format = *format;
                string(p, |s| {
                    s.formats.push((format, positive));
                    s.at = Some(at);
                })
            }
            AtomKind::UnknownFormat(reason) => {
                if self.options.formats == Formats::Strict {
                    return Err(self.refusal(at, reason));
                }
                flow(positive)
            }
            AtomKind::Items(items) => {
                if positive {
                    let rule = ItemRule {
                        prefix: items.prefix.iter().map(|n| Signed::yes(*n)).collect(),
                        rest: Signed::yes(items.rest),
                    };
                    let (count, said) = (items.prefix.len() as u64, items.rest_said);
                    collect(p, collector, |c| {
                        c.prefix = c.prefix.max(count);
                        c.all_items |= said;
                    });
                    return Ok(array(p, |a| {
                        a.rules.push(rule);
                        true
                    }));
                }
                let mut branch: Branch = Vec::new();
                for (i, n) in items.prefix.iter().enumerate() {
                    branch.push(vec![term(What::Item(i as u64, Signed::no(*n)))]);
                }
                if items.rest != ALWAYS {
                    branch.push(vec![term(What::Count(Count {
                        item: Signed::no(items.rest),
                        from: items.prefix.len() as u64,
                        min: 1,
                        max: None,
                        at,
                    }))]);
                }
                split(p, branch)
            }
            AtomKind::MinItems(n) => array_length(p, *n, positive),
            AtomKind::MaxItems(n) => match n.checked_add(1) {
                Some(n) => array_length(p, n, !positive),
                None => flow(positive),
            },
            AtomKind::UniqueItems => {
                if negative {
                    // Where items must differ anyway there is no way out.
                    if let Shape::Array(a) = &p.shape
                        && (a.unique.is_some() || a.max.is_some_and(|m| m < 2))
                    {
                        return Ok(Flow::Dead);
                    }
                    return Err(self.refusal(at, "the complement of uniqueness is not followed"));
                }
                array(p, |a| {
                    a.unique = Some(node);
                    true
                })
            }
            AtomKind::Contains {
                node: item,
                min,
                max,
            } => {
                let count = |min: u64, max: Option<u64>| Count {
                    item: Signed::yes(*item),
                    from: 0,
                    min,
                    max,
                    at,
                };
                if positive {
                    let counted = count(*min, *max);
                    let item = *item;
                    if self.schema.draft >= Draft::Draft202012 {
                        collect(p, collector, |c| c.contains.push(item));
                    }
                    return Ok(array(p, |a| add_count(a, counted)));
                }
                let mut branch: Branch = Vec::new();
                if *min > 0 {
                    branch.push(vec![term(What::Count(count(0, Some(min - 1))))]);
                }
                if let Some(over) = max.and_then(|m| m.checked_add(1)) {
                    branch.push(vec![term(What::Count(count(over, None)))]);
                }
                split(p, branch)
            }
            AtomKind::Members(members) => {
                if positive {
                    let closed = self.options.open_objects == OpenObjects::Closed
                        && !members.additional_said
                        && !(members.names.is_empty() && members.patterns.is_empty());
                    collect(p, collector, |c| {
                        c.members.push(Source::Members(node, index));
                    });
                    return Ok(object(p, |o| {
                        o.rules.push(MemberRule::Members {
                            node,
                            atom: index,
                            closed,
                        });
                        true
                    }));
                }
                let mut branch: Branch = Vec::new();
                for name in &members.order {
                    let value = Signed::no(members.names[name]);
                    branch.push(vec![term(What::Member(name.clone(), value))]);
                }
                let mut witness = |scope: Scope, value: NodeId| {
                    if value != ALWAYS {
                        let value = Signed::no(value);
                        branch.push(vec![term(What::Some(Witness { scope, value, at }))]);
                    }
                };
                for (pattern, value) in &members.patterns {
                    witness(Scope::Pattern(*pattern), *value);
                }
                witness(Scope::Additional(node, index), members.additional);
                split(p, branch)
            }
            AtomKind::Required(names) => {
                if positive {
                    let names = names.clone();
                    return Ok(object(p, |o| {
                        o.required.extend(names);
                        o.required.is_disjoint(&o.forbidden)
                    }));
                }
                let missing = names.iter().map(|n| vec![term(What::Forbid(n.clone()))]);
                let branch = missing.collect();
                split(p, branch)
            }
            AtomKind::MinProperties(n) => object_size(p, *n, positive),
            AtomKind::MaxProperties(n) => match n.checked_add(1) {
                Some(n) => object_size(p, n, !positive),
                None => flow(positive),
            },
            AtomKind::PropertyNames(names) => {
                let names = *names;
                object(p, |o| {
                    if positive {
                        o.names.push(Signed::yes(names));
                    } else {
                        o.some.push(Witness {
                            scope: Scope::Failing(Signed::yes(names)),
                            value: Signed::yes(ALWAYS),
                            at,
                        });
                    }
                    true
                })
            }
            AtomKind::DependentRequired(lists) => {
                if positive {
                    let lists = lists.clone();
                    return Ok(object(p, |o| {
                        o.implies.extend(lists);
                        true
                    }));
                }
                let mut branch: Branch = Vec::new();
                for (name, needed) in lists {
                    for other in needed.iter().filter(|n| *n != name) {
                        branch.push(vec![
                            term(What::Require(name.clone())),
                            term(What::Forbid(other.clone())),
                        ]);
                    }
                }
                split(p, branch)
            }
            AtomKind::DependentSchemas(list) => {
                let list = list.clone();
                if positive {
                    for (name, node) in list {
                        let branch = vec![
                            vec![term(What::Forbid(name.clone()))],
                            vec![term(What::Require(name)), node_term(node, true, collector)],
                        ];
                        p.branches.push(branch);
                    }
                    return Ok(Flow::On);
                }
                let branch = list.into_iter().map(|(name, node)| {
                    vec![term(What::Require(name)), node_term(node, false, None)]
                });
                let branch = branch.collect();
                split(p, branch)
            }
            AtomKind::AllOf(nodes) => {
                let nodes = nodes.clone();
                if positive {
                    for node in nodes.into_iter().rev() {
                        p.pending.push(node_term(node, true, collector));
                    }
                    return Ok(Flow::On);
                }
                let branch = nodes.into_iter().map(|n| vec![node_term(n, false, None)]);
                let branch = branch.collect();
                split(p, branch)
            }
            AtomKind::AnyOf(nodes) => {
                let nodes = nodes.clone();
                if negative {
                    let parts = nodes.into_iter().rev();
                    p.pending.extend(parts.map(|n| node_term(n, false, None)));
                    return Ok(Flow::On);
                }
                let branch = self.any_of(&nodes, collector, at)?;
                split(p, branch)
            }
            AtomKind::OneOf(nodes) => {
                let nodes = nodes.clone();
                let mut branch: Branch = Vec::new();
                if positive {
                    for (i, one) in nodes.iter().enumerate() {
                        let mut terms = Vec::with_capacity(nodes.len());
                        for (j, other) in nodes.iter().enumerate() {
                            if i != j && !self.exclude_each_other(*one, *other, kind) {
                                terms.push(node_term(*other, false, None));
                            }
                        }
                        terms.push(node_term(*one, true, collector));
                        branch.push(terms);
                    }
                    return Ok(split(p, branch));
                }
                branch.push(nodes.iter().map(|n| node_term(*n, false, None)).collect());
                for (i, one) in nodes.iter().enumerate() {
                    for other in &nodes[..i] {
                        if !self.exclude_each_other(*one, *other, kind) {
                            branch.push(vec![
                                node_term(*one, true, None),
                                node_term(*other, true, None),
                            ]);
                        }
                    }
                }
                split(p, branch)
            }
            AtomKind::Not(inner) => {
                p.pending.push(node_term(*inner, negative, None));
                Flow::On
            }
            AtomKind::If {
                condition,
                then,
                otherwise,
            } => {
                let (condition, then, otherwise) = (*condition, *then, *otherwise);
                if positive
                    && then == ALWAYS
                    && otherwise == ALWAYS
                    && (collector.is_none() || !self.evaluates(condition))
                {
                    return Ok(Flow::On);
                }
                let collector = if positive { collector } else { None };
                let branch = vec![
                    vec![
                        node_term(then, positive, collector),
                        node_term(condition, true, collector),
                    ],
                    vec![
                        node_term(otherwise, positive, collector),
                        node_term(condition, false, None),
                    ],
                ];
                split(p, branch)
            }
            AtomKind::Ref(node) => {
                p.pending.push(node_term(*node, positive, collector));
                Flow::On
            }
            AtomKind::UnevaluatedItems(_) | AtomKind::UnevaluatedProperties(_) => Flow::On,
            AtomKind::Refused { reason, .. } => return Err(self.refusal(at, reason)),
        })
    }

    /// The alternatives of `anyOf`. Where somebody counts what was evaluated
    /// they say of each branch that evaluates whether it holds.
    fn any_of(
        &mut self,
        nodes: &[NodeId],
        collector: Option<u16>,
        at: (NodeId, &'static str),
    ) -> Result<Branch, Error> {
        let split: Vec<NodeId> = match collector {
            Some(_) => nodes
                .iter()
                .copied()
                .filter(|n| self.evaluates(*n))
                .collect(),
            None => Vec::new(),
        };
        if split.is_empty() {
            return Ok(nodes
                .iter()
                .map(|n| vec![node_term(*n, true, None)])
                .collect());
        }
        if split.len() > MAX_EVALUATING {
            return Err(self.refusal(
                at,
                "too many branches evaluate members beside an unevaluated keyword",
            ));
        }
        let mut branch: Branch = Vec::new();
        for subset in (0..1u32 << split.len()).rev() {
            let terms: Vec<Term> = split
                .iter()
                .enumerate()
                .map(|(i, n)| node_term(*n, subset & (1 << i) != 0, collector))
                .collect();
            if subset != 0 {
                branch.push(terms);
                continue;
            }
            for plain in nodes.iter().filter(|n| !split.contains(n)) {
                let mut terms = terms.clone();
                terms.push(node_term(*plain, true, None));
                branch.push(terms);
            }
        }
        Ok(branch)
    }

    /// Closes a partial: resolves what was collected. `false` where it is
    /// empty or has become unsettled again.
    fn finish(&mut self, p: &mut Partial, kind: Kind) -> Result<bool, Error> {
        if let Shape::Object(o) = &mut p.shape
            && !o.implies.is_empty()
        {
            let mut grown = true;
            while std::mem::take(&mut grown) {
                for (name, needed) in &o.implies {
                    if o.required.contains(name) {
                        for n in needed {
                            grown |= o.required.insert(n.clone());
                        }
                    }
                }
            }
            if !o.required.is_disjoint(&o.forbidden) {
                return Ok(false);
            }
            let (required, forbidden) = (&o.required, &o.forbidden);
            o.implies.retain(|(name, needed)| {
                !required.contains(name)
                    && !forbidden.contains(name)
                    && !needed.iter().all(|n| required.contains(n) || n == name)
            });
            if !o.implies.is_empty() && (o.min > 0 || o.max.is_some() || !o.some.is_empty()) {
                // Counting and implications together: by cases.
                for (name, needed) in std::mem::take(&mut o.implies) {
                    let mut with = vec![term(What::Require(name.clone()))];
                    with.extend(needed.into_iter().map(|n| term(What::Require(n))));
                    p.branches.push(vec![vec![term(What::Forbid(name))], with]);
                }
                return Ok(false);
            }
        }
        let collectors = std::mem::take(&mut p.collectors);
        for (i, c) in collectors.iter().enumerate() {
            if !self.close_collector(p, &collectors, i, c, kind)? {
                return Ok(false);
            }
        }
        Ok(self.plausible(&p.shape))
    }

    fn close_collector(
        &mut self,
        p: &mut Partial,
        all: &[Collector],
        index: usize,
        c: &Collector,
        kind: Kind,
    ) -> Result<bool, Error> {
        let below: Vec<&Collector> = (0..all.len())
            .filter(|j| {
                let mut at = *j;
                loop {
                    if at == index {
                        return true;
                    }
                    match all[at].parent {
                        Some(up) => at = up as usize,
                        None => return false,
                    }
                }
            })
            .map(|j| &all[j])
            .collect();
        let Body::Atoms(atoms) = &self.schema.node(c.node).body else {
            return Ok(true);
        };
        let mut rule = None;
        for atom in atoms {
            match (&atom.kind, kind) {
                (AtomKind::UnevaluatedItems(n), Kind::Array)
                | (AtomKind::UnevaluatedProperties(n), Kind::Object) => {
                    rule = Some((*n, atom.keyword));
                }
                _ => {}
            }
        }
        let Some((value, keyword)) = rule else {
            return Ok(true);
        };
        let at = (c.node, keyword);
        // An inner location with the keyword has evaluated everything.
        let all_inside = below.iter().any(|b| b.node != c.node && !b.negated);
        match &mut p.shape {
            Shape::Object(o) => {
                let mut sources: Vec<Source> = below
                    .iter()
                    .flat_map(|b| b.members.iter().copied())
                    .collect();
                if all_inside {
                    sources.push(Source::All);
                }
                if c.negated {
                    let scope = Scope::Unevaluated(sources);
                    let value = Signed::no(value);
                    o.some.push(Witness { scope, value, at });
                } else {
                    o.rules
                        .push(MemberRule::Unevaluated(sources, Signed::yes(value)));
                }
                Ok(true)
            }
            Shape::Array(a) => {
                let prefix = below.iter().map(|b| b.prefix).max().unwrap_or(0);
                if all_inside || below.iter().any(|b| b.all_items) {
                    return Ok(!c.negated);
                }
                let mut options: Vec<NodeId> = below
                    .iter()
                    .flat_map(|b| b.contains.iter().copied())
                    .collect();
                options.push(value);
                let node = if options.len() == 1 {
                    value
                } else {
                    self.any_of_node(c.node, keyword, options)
                };
                if c.negated {
                    let count = Count {
                        item: Signed::no(node),
                        from: prefix,
                        min: 1,
                        max: None,
                        at,
                    };
                    return Ok(add_count(a, count));
                }
                a.rules.push(ItemRule {
                    prefix: vec![Signed::yes(ALWAYS); prefix as usize],
                    rest: Signed::yes(node),
                });
                Ok(true)
            }
            _ => Ok(true),
        }
    }

    /// What is known of a term without splitting.
    pub(super) fn truth_of(&mut self, node: NodeId, kind: Kind) -> Option<bool> {
        let empty = Partial {
            shape: Shape::any(kind),
            allowed: None,
            pending: Vec::new(),
            branches: Vec::new(),
            done: HashSet::new(),
            collectors: Vec::new(),
        };
        self.status(&empty, &What::Node(Signed::yes(node)), kind, 0)
    }

    fn status(&mut self, p: &Partial, what: &What, kind: Kind, depth: usize) -> Option<bool> {
        if depth > 8 {
            return None;
        }
        match what {
            What::Node(s) => self
                .node_status(p, s.node, kind, depth)
                .map(|b| b == s.positive),
            What::Atom(node, index, positive) => self
                .atom_status(p, *node, *index, kind, depth)
                .map(|b| b == *positive),
            What::Forbid(name) => match &p.shape {
                Shape::Object(o) if o.forbidden.contains(name) => Some(true),
                Shape::Object(o) if o.required.contains(name) => Some(false),
                Shape::Object(_) => None,
                _ => Some(false),
            },
            What::Require(name) => match &p.shape {
                Shape::Object(o) if o.forbidden.contains(name) => Some(false),
                Shape::Object(o) if o.required.contains(name) => Some(true),
                Shape::Object(_) => None,
                _ => Some(false),
            },
            What::Member(name, value) => self.member_status(p, name, *value),
            _ => None,
        }
    }

    fn node_status(&mut self, p: &Partial, node: NodeId, kind: Kind, depth: usize) -> Option<bool> {
        let count = match &self.schema.node(node).body {
            Body::Always => return Some(true),
            Body::Never => return Some(false),
            Body::Atoms(atoms) => atoms.len(),
        };
        let mut all = true;
        for i in 0..count {
            match self.atom_status(p, node, i as u16, kind, depth) {
                Some(false) => return Some(false),
                Some(true) => {}
                None => all = false,
            }
        }
        all.then_some(true)
    }

    fn atom_status(
        &mut self,
        p: &Partial,
        node: NodeId,
        index: u16,
        kind: Kind,
        depth: usize,
    ) -> Option<bool> {
        let Body::Atoms(atoms) = &self.schema.node(node).body else {
            return None;
        };
        let atom = &atoms[index as usize];
        if !concerns(&atom.kind, kind) {
            return Some(true);
        }
        match &atom.kind {
            AtomKind::Type { kinds, integer } => match (kinds.has(bits(kind)), &p.shape) {
                (true, _) => Some(true),
                (false, Shape::Number(n)) if *integer => n.integer,
                (false, _) => Some(false),
            },
            AtomKind::Ref(n) => {
                let n = *n;
                self.node_status(p, n, kind, depth + 1)
            }
            AtomKind::Required(names) => {
                let Shape::Object(o) = &p.shape else {
                    return None;
                };
                if names.iter().any(|n| o.forbidden.contains(n)) {
                    return Some(false);
                }
                names.iter().all(|n| o.required.contains(n)).then_some(true)
            }
            AtomKind::Members(members) => {
                let Shape::Object(o) = &p.shape else {
                    return None;
                };
                let listed: Vec<(String, NodeId)> = o
                    .required
                    .iter()
                    .filter_map(|n| members.names.get(n).map(|v| (n.clone(), *v)))
                    .collect();
                for (name, value) in listed {
                    if self.member_status(p, &name, Signed::yes(value)) == Some(false) {
                        return Some(false);
                    }
                }
                None
            }
            AtomKind::AllOf(nodes) => {
                let nodes = nodes.clone();
                let mut all = true;
                for n in nodes {
                    match self.node_status(p, n, kind, depth + 1) {
                        Some(false) => return Some(false),
                        Some(true) => {}
                        None => all = false,
                    }
                }
                all.then_some(true)
            }
            AtomKind::AnyOf(nodes) => {
                let nodes = nodes.clone();
                let mut none = true;
                for n in nodes {
                    match self.node_status(p, n, kind, depth + 1) {
                        Some(true) => return Some(true),
                        Some(false) => {}
                        None => none = false,
                    }
                }
                none.then_some(false)
            }
            AtomKind::Not(n) => {
                let n = *n;
                self.node_status(p, n, kind, depth + 1).map(|b| !b)
            }
            _ => None,
        }
    }

    /// Whether the member is there and so, where its values are listed.
    fn member_status(&mut self, p: &Partial, name: &str, value: Signed) -> Option<bool> {
        let Shape::Object(o) = &p.shape else {
            return Some(false);
        };
        if o.forbidden.contains(name) {
            return Some(false);
        }
        let mut parts: Vec<Signed> = Vec::new();
        for rule in &o.rules {
            match rule {
                MemberRule::Members { node, atom, .. } => {
                    let members = self.members(*node, *atom);
                    parts.extend(members.names.get(name).map(|n| Signed::yes(*n)));
                }
                MemberRule::Name(n, s) if n == name => parts.push(*s),
                _ => {}
            }
        }
        let required = o.required.contains(name);
        let conj = self.intern(&parts);
        let candidates = self.candidates(conj)?;
        let mut some = false;
        let mut all = true;
        for v in candidates.iter() {
            match validate::conj_holds(&self.schema, &self.options, &[value], v) {
                Ok(true) => some = true,
                Ok(false) => all = false,
                Err(_) => return None,
            }
        }
        if !some {
            Some(false)
        } else if all && required {
            Some(true)
        } else {
            None
        }
    }

    /// Whether a shape is not plainly empty.
    fn plausible(&mut self, shape: &Shape) -> bool {
        let Shape::Object(o) = shape else { return true };
        let required: Vec<String> = o.required.iter().cloned().collect();
        for name in required {
            let conj = self.member_conj_of(shape, &name);
            if self.candidates(conj).is_some_and(|c| c.is_empty()) {
                return false;
            }
        }
        true
    }

    fn refusal(&self, at: (NodeId, &'static str), reason: &str) -> Error {
        Error::at(
            ErrorKind::Refused,
            &self.schema.node(at.0).pointer,
            at.1,
            format!("`{}`: {reason}", at.1),
        )
    }
}

/// The most branches of an `anyOf` of which each may evaluate or not.
const MAX_EVALUATING: usize = 8;

fn flow(alive: bool) -> Flow {
    if alive { Flow::On } else { Flow::Dead }
}

/// A choice; of one alternative it is none.
fn split(p: &mut Partial, mut branch: Branch) -> Flow {
    match branch.len() {
        0 => Flow::Dead,
        1 => {
            p.pending.append(&mut branch[0]);
            Flow::On
        }
        _ => {
            p.branches.push(branch);
            Flow::On
        }
    }
}

fn new_collector(p: &mut Partial, node: NodeId, parent: Option<u16>, negated: bool) -> Option<u16> {
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

fn collect(p: &mut Partial, collector: Option<u16>, change: impl FnOnce(&mut Collector)) {
    if let Some(c) = collector {
        change(&mut p.collectors[c as usize]);
    }
}

fn object(p: &mut Partial, change: impl FnOnce(&mut super::shape::ObjectShape) -> bool) -> Flow {
    match &mut p.shape {
        Shape::Object(o) => flow(change(o)),
        _ => Flow::Dead,
    }
}

fn array(p: &mut Partial, change: impl FnOnce(&mut ArrayShape) -> bool) -> Flow {
    match &mut p.shape {
        Shape::Array(a) => flow(change(a)),
        _ => Flow::Dead,
    }
}

fn string(p: &mut Partial, change: impl FnOnce(&mut super::shape::StringShape)) -> Flow {
    if let Shape::String(s) = &mut p.shape {
        change(s);
    }
    Flow::On
}

fn number(p: &mut Partial, change: impl FnOnce(&mut super::shape::NumberShape)) -> Flow {
    if let Shape::Number(n) = &mut p.shape {
        change(n);
    }
    Flow::On
}

/// At least `value` where `lower`, else at most; `exclusive` as the keyword
/// said it, so that a complement turns it round.
fn bound(
    p: &mut Partial,
    at: (NodeId, &'static str),
    lower: bool,
    value: &Decimal,
    exclusive: bool,
) -> Flow {
    let bound = Bound {
        value: value.clone(),
        exclusive,
    };
    let Shape::Number(n) = &mut p.shape else {
        return Flow::Dead;
    };
    n.at = Some(at);
    if lower {
        let tighter = n
            .low
            .as_ref()
            .is_none_or(|l| bound.value > l.value || (bound.value == l.value && bound.exclusive));
        if tighter {
            n.low = Some(bound);
        }
    } else {
        let tighter = n
            .high
            .as_ref()
            .is_none_or(|h| bound.value < h.value || (bound.value == h.value && bound.exclusive));
        if tighter {
            n.high = Some(bound);
        }
    }
    match (&n.low, &n.high) {
        (Some(l), Some(h)) => {
            flow(l.value < h.value || (l.value == h.value && !l.exclusive && !h.exclusive))
        }
        _ => Flow::On,
    }
}

fn range(min: &mut u64, max: &mut Option<u64>, n: u64, at_least: bool) -> bool {
    if at_least {
        *min = (*min).max(n);
    } else if n == 0 {
        return false;
    } else {
        *max = Some(max.map_or(n - 1, |m| m.min(n - 1)));
    }
    max.is_none_or(|m| m >= *min)
}

fn length(p: &mut Partial, n: u64, at_least: bool) -> Flow {
    match &mut p.shape {
        Shape::String(s) => flow(range(&mut s.min, &mut s.max, n, at_least)),
        _ => Flow::Dead,
    }
}

fn array_length(p: &mut Partial, n: u64, at_least: bool) -> Flow {
    array(p, |a| range(&mut a.min, &mut a.max, n, at_least))
}

fn object_size(p: &mut Partial, n: u64, at_least: bool) -> Flow {
    object(p, |o| range(&mut o.min, &mut o.max, n, at_least))
}

fn add_count(a: &mut ArrayShape, count: Count) -> bool {
    if count.max.is_some_and(|m| m < count.min) {
        return false;
    }
    let same = |c: &&mut Count| c.item == count.item && c.from == count.from;
    if let Some(known) = a.counts.iter_mut().find(same) {
        known.min = known.min.max(count.min);
        known.max = match (known.max, count.max) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        return known.max.is_none_or(|m| m >= known.min);
    }
    if count.min > 0 || count.max.is_some() {
        a.counts.push(count);
    }
    true
}

pub(super) fn bits(kind: Kind) -> Kinds {
    match kind {
        Kind::Null => Kinds::NULL,
        Kind::False => Kinds::FALSE,
        Kind::True => Kinds::TRUE,
        Kind::Number => Kinds::NUMBER,
        Kind::String => Kinds::STRING,
        Kind::Array => Kinds::ARRAY,
        Kind::Object => Kinds::OBJECT,
    }
}

fn decimal_of(value: &Value) -> Option<Decimal> {
    match value {
        Value::Number(n) => Decimal::from_number(n),
        _ => None,
    }
}

fn is_unevaluated(kind: &AtomKind) -> bool {
    matches!(
        kind,
        AtomKind::UnevaluatedItems(_) | AtomKind::UnevaluatedProperties(_)
    )
}

/// Whether an atom says anything of values of a kind.
pub(super) fn concerns(atom: &AtomKind, kind: Kind) -> bool {
    match atom {
        AtomKind::Minimum { .. } | AtomKind::Maximum { .. } | AtomKind::MultipleOf(_) => {
            kind == Kind::Number
        }
        AtomKind::MinLength(_)
        | AtomKind::MaxLength(_)
        | AtomKind::Pattern(_)
        | AtomKind::Format(_)
        | AtomKind::UnknownFormat(_) => kind == Kind::String,
        AtomKind::Items(_)
        | AtomKind::MinItems(_)
        | AtomKind::MaxItems(_)
        | AtomKind::UniqueItems
        | AtomKind::Contains { .. }
        | AtomKind::UnevaluatedItems(_) => kind == Kind::Array,
        AtomKind::Members(_)
        | AtomKind::Required(_)
        | AtomKind::MinProperties(_)
        | AtomKind::MaxProperties(_)
        | AtomKind::PropertyNames(_)
        | AtomKind::DependentRequired(_)
        | AtomKind::DependentSchemas(_)
        | AtomKind::UnevaluatedProperties(_) => kind == Kind::Object,
        AtomKind::Refused { kinds, .. } => kinds.has(bits(kind)),
        AtomKind::Type { .. }
        | AtomKind::Values(_)
        | AtomKind::AllOf(_)
        | AtomKind::AnyOf(_)
        | AtomKind::OneOf(_)
        | AtomKind::Not(_)
        | AtomKind::If { .. }
        | AtomKind::Ref(_) => true,
    }
}
