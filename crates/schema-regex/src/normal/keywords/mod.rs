//! The effect of one keyword on a partial alternative, and beside it that of its complement: a file
//! for each family of keywords.

pub(crate) mod arrays;
pub(crate) mod combined;
pub(crate) mod numbers;
pub(crate) mod objects;
pub(crate) mod strings;
pub(crate) mod values;

use crate::error::Error;
use crate::ir::{AtomKind, NodeId};
use crate::normal::alternative::{At, Kind};
use crate::normal::keywords::numbers::End;
use crate::normal::normaliser::Normaliser;
use crate::normal::search::partial::{Flow, Partial, flow, node_term};
use crate::normal::search::plain::concerns;

/// A keyword as it is applied to values of one kind: itself, or its complement.
#[derive(Clone, Copy)]
pub(in crate::normal) struct Use {
    pub(in crate::normal) node: NodeId,
    /// Which of the atoms of the location.
    pub(in crate::normal) index: u16,
    pub(in crate::normal) positive: bool,
    /// Who counts what is evaluated.
    pub(in crate::normal) collector: Option<u16>,
    pub(in crate::normal) kind: Kind,
}

impl Normaliser {
    pub(in crate::normal) fn apply_atom(
        &mut self,
        p: &mut Partial,
        used: Use,
    ) -> Result<Flow, Error> {
        let Use {
            node,
            positive,
            kind,
            ..
        } = used;
        let Some(atom) = self.schema.atoms(node).get(used.index as usize) else {
            return Ok(Flow::On);
        };
        let at: At = (node, atom.keyword);
        self.work(node, 8)?;
        if !concerns(&atom.kind, kind) {
            return Ok(flow(positive));
        }
        if let Some(flow) = self.keep(p, used)? {
            return Ok(flow);
        }
        let atom = &self.schema.atoms(node)[used.index as usize];
        match &atom.kind {
            AtomKind::Type { kinds, integer } => Ok(values::of_type(p, used, *kinds, *integer)),
            AtomKind::Values(listed) if positive => self.one_of_values(p, used, listed),
            AtomKind::Values(listed) => {
                let excluded = values::of_kind(listed, kind);
                self.work(node, 16 * listed.len())?;
                self.none_of_values(p, at, excluded)
            }
            AtomKind::Minimum { value, exclusive } => Ok(numbers::bound(
                p,
                at,
                (End::Low, positive),
                value,
                *exclusive,
            )),
            AtomKind::Maximum { value, exclusive } => Ok(numbers::bound(
                p,
                at,
                (End::High, positive),
                value,
                *exclusive,
            )),
            AtomKind::MultipleOf(divisor) => Ok(numbers::multiple_of(p, at, positive, divisor)),
            AtomKind::MinLength(n) => Ok(strings::min_length(p, at, positive, *n)),
            AtomKind::MaxLength(n) => Ok(self.max_length(p, at, positive, *n)),
            AtomKind::Pattern(id) => self.pattern(p, at, positive, *id),
            AtomKind::Format(format) => self.format(p, at, positive, *format),
            AtomKind::UnknownFormat(reason) => self.unknown_format(at, positive, reason),
            AtomKind::Items(items) => Ok(self.items(p, at, used, items)),
            AtomKind::MinItems(n) => Ok(arrays::min_items(p, positive, *n)),
            AtomKind::MaxItems(n) => Ok(arrays::max_items(p, positive, *n)),
            AtomKind::UniqueItems => self.unique_items(p, at, positive),
            AtomKind::Contains {
                node,
                min,
                max,
                evaluates,
            } => Ok(self.contains(p, at, used, (*node, *min, *max, *evaluates))),
            AtomKind::Members(members) => Ok(self.each_member(p, at, used, members)),
            AtomKind::Required(names) => Ok(objects::required(p, positive, names)),
            AtomKind::MinProperties(n) => Ok(objects::min_properties(p, positive, *n)),
            AtomKind::MaxProperties(n) => Ok(objects::max_properties(p, positive, *n)),
            AtomKind::PropertyNames(names) => Ok(objects::property_names(p, at, positive, *names)),
            AtomKind::DependentRequired(lists) => {
                Ok(objects::dependent_required(p, positive, lists))
            }
            AtomKind::DependentSchemas(list) => Ok(combined::dependent_schemas(p, used, list)),
            AtomKind::AllOf(nodes) => Ok(combined::all_of(p, used, nodes)),
            AtomKind::AnyOf(nodes) => {
                let nodes = nodes.clone();
                self.any_of(p, at, used, &nodes)
            }
            AtomKind::OneOf(nodes) => {
                let nodes = nodes.clone();
                self.one_of(p, used, nodes)
            }
            AtomKind::Not(inner) => {
                p.pending.push(node_term(*inner, !positive, None));
                Ok(Flow::On)
            }
            AtomKind::If {
                condition,
                then,
                otherwise,
            } => {
                let (condition, then, otherwise) = (*condition, *then, *otherwise);
                Ok(self.if_then_else(p, used, (condition, then, otherwise)))
            }
            AtomKind::Ref(node) => {
                p.pending.push(node_term(*node, positive, used.collector));
                Ok(Flow::On)
            }
            AtomKind::UnevaluatedItems(_) | AtomKind::UnevaluatedProperties(_) => Ok(Flow::On),
            AtomKind::Refused { reason, .. } => Err(self.refusal(at, reason)),
        }
    }
}

/// At most so many, or more: that is the complement of one more at least.
fn at_most(n: u64, positive: bool, at_least: impl FnOnce(u64, bool) -> Flow) -> Flow {
    match n.checked_add(1) {
        Some(n) => at_least(n, !positive),
        None => flow(positive),
    }
}

/// Bounds a count or a length: at least `n`, or less.
fn bound_count(min: &mut u64, max: &mut Option<u64>, n: u64, at_least: bool) -> bool {
    if at_least {
        *min = (*min).max(n);
    } else if n == 0 {
        return false;
    } else {
        *max = Some(max.map_or(n - 1, |m| m.min(n - 1)));
    }
    max.is_none_or(|m| m >= *min)
}
