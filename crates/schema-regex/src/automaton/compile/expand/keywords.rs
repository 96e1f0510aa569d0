//! What one keyword, or its complement, does to a partial shape.

use std::collections::HashSet;

use serde_json::Value;

use crate::automaton::compile::alternative::{
    ArrayShape, Count, ItemRule, Kind, MemberRule, Scope, Shape, Source, Witness,
};
use crate::automaton::compile::compiler::Compiler;
use crate::automaton::compile::expand::unevaluated::collect;
use crate::automaton::compile::expand::{
    Allowed, Branch, Flow, Partial, What, bits, choices, concerns, flow, node_term, split, term,
};
use crate::budget::STEP;
use crate::decimal::Decimal;
use crate::error::Error;
use crate::ir::{ALWAYS, AtomKind, Body, Kinds, Name, NodeId};
use crate::language::number_expressions::Bound;
use crate::normal::shape::Signed;
use crate::options::Draft;
use crate::options::{Formats, OpenObjects};
use crate::validate;

impl Compiler {
    #[allow(clippy::too_many_lines)]
    pub(super) fn apply_atom(
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
        self.work(node, 8)?;
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
                    let of_kind = (0..).zip(values.iter());
                    let of_kind = of_kind.filter(|(_, v)| Kinds::of(v) == bits(kind));
                    let places: Vec<u32> = match &p.allowed {
                        Some(known) => {
                            let value = |k: &u32| self.allowed_value(known, *k);
                            let all = known.places.iter().map(value);
                            let all: HashSet<String> = all.map(validate::canonical).collect();
                            self.work(node, STEP * (all.len() + values.len()))?;
                            let both =
                                of_kind.filter(|(_, v)| all.contains(&validate::canonical(v)));
                            both.map(|(place, _)| place).collect()
                        }
                        None => of_kind.map(|(place, _)| place).collect(),
                    };
                    let any = !places.is_empty();
                    let known = p.allowed.as_ref();
                    p.allowed = Some(Allowed {
                        node,
                        atom: index,
                        places,
                        with_fraction: known
                            .map_or_else(Vec::new, |known| self.written_with_fraction(known)),
                    });
                    return Ok(flow(any));
                }
                self.work(node, 16 * values.len())?;
                let excluded: Vec<Value> = of_kind.cloned().collect();
                match &mut p.shape {
                    Shape::Unit => return Ok(flow(excluded.is_empty())),
                    Shape::Number(n) => n.excluded.extend(excluded.iter().filter_map(decimal_of)),
                    Shape::String(s) => {
                        s.at = Some(at);
                        let texts = excluded.iter().filter_map(Value::as_str);
                        s.excluded.extend(texts.map(Name::from));
                    }
                    Shape::Array(_) | Shape::Object(_) => {
                        if excluded.len() > self.options.max_alternatives {
                            return Err(self.too_many_alternatives(node));
                        }
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
                for (name, value) in members.names.list() {
                    let value = Signed::no(*value);
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
                    return Ok(object(p, |o| {
                        o.required.extend(names.iter().cloned());
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
                    return Ok(object(p, |o| {
                        o.implies.extend(lists.iter().cloned());
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
                if positive {
                    for (name, node) in list {
                        let branch = vec![
                            vec![term(What::Forbid(name.clone()))],
                            vec![
                                term(What::Require(name.clone())),
                                node_term(*node, true, collector),
                            ],
                        ];
                        p.branches.push(choices(branch));
                    }
                    return Ok(Flow::On);
                }
                let branch = list.iter().map(|(name, node)| {
                    vec![
                        term(What::Require(name.clone())),
                        node_term(*node, false, None),
                    ]
                });
                let branch = branch.collect();
                split(p, branch)
            }
            AtomKind::AllOf(nodes) => {
                if positive {
                    let parts = nodes.iter().rev();
                    p.pending
                        .extend(parts.map(|n| node_term(*n, true, collector)));
                    return Ok(Flow::On);
                }
                let branch = nodes.iter().map(|n| vec![node_term(*n, false, None)]);
                let branch = branch.collect();
                split(p, branch)
            }
            AtomKind::AnyOf(nodes) => {
                if negative {
                    let parts = nodes.iter().rev();
                    p.pending.extend(parts.map(|n| node_term(*n, false, None)));
                    return Ok(Flow::On);
                }
                let nodes = nodes.clone();
                let branch = self.any_of(&nodes, collector, at)?;
                split(p, branch)
            }
            AtomKind::OneOf(nodes) => {
                self.work(node, 16 * nodes.len())?;
                // Of those that no value of the kind satisfies nothing is to be said.
                let mut nodes = nodes.clone();
                nodes.retain(|one| self.truth_of(*one, kind) != Some(false));
                let mut branch: Branch = Vec::new();
                if positive {
                    if self.all_tagged_apart(&nodes, kind) {
                        let one = |n: &NodeId| vec![node_term(*n, true, collector)];
                        return Ok(split(p, nodes.iter().map(one).collect()));
                    }
                    for (i, one) in nodes.iter().enumerate() {
                        self.work(node, 8 * nodes.len())?;
                        let mut terms = Vec::new();
                        for (j, other) in nodes.iter().enumerate() {
                            if i != j && !self.exclude_each_other(*one, *other, kind)? {
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
                    self.work(node, STEP * i)?;
                    for other in &nodes[..i] {
                        if !self.exclude_each_other(*one, *other, kind)? {
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
}

pub(super) fn object(
    p: &mut Partial,
    change: impl FnOnce(&mut crate::automaton::compile::alternative::ObjectShape) -> bool,
) -> Flow {
    match &mut p.shape {
        Shape::Object(o) => flow(change(o)),
        _ => Flow::Dead,
    }
}

pub(super) fn array(p: &mut Partial, change: impl FnOnce(&mut ArrayShape) -> bool) -> Flow {
    match &mut p.shape {
        Shape::Array(a) => flow(change(a)),
        _ => Flow::Dead,
    }
}

pub(super) fn string(
    p: &mut Partial,
    change: impl FnOnce(&mut crate::automaton::compile::alternative::StringShape),
) -> Flow {
    if let Shape::String(s) = &mut p.shape {
        change(s);
    }
    Flow::On
}

pub(super) fn number(
    p: &mut Partial,
    change: impl FnOnce(&mut crate::automaton::compile::alternative::NumberShape),
) -> Flow {
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

pub(super) fn add_count(a: &mut ArrayShape, count: Count) -> bool {
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

pub(super) fn decimal_of(value: &Value) -> Option<Decimal> {
    match value {
        Value::Number(n) => Decimal::from_number(n),
        _ => None,
    }
}
