//! The effect of one keyword on a partial alternative, and beside it that of its complement: a file
//! for each family of keywords.
//!
//! For example, `{"minLength": 3}` raises a bound, and its complement lowers the other one to two.

pub mod arrays;
pub mod combined;
pub mod numbers;
pub mod objects;
pub mod strings;
pub mod values;

use crate::error::Error;
use crate::ir::AtomKind;
use crate::normal::alternative::At;
use crate::normal::kept::keep_choice;
use crate::normal::keywords::numbers::End;
use crate::normal::normaliser::Normaliser;
use crate::normal::partial::{Flow, Partial, Use, flow, node_term};
use crate::normal::plain::concerns;

/// Applies a keyword, unless it says nothing of this kind of value or is kept as a condition.
pub(super) fn apply_atom(
    normaliser: &mut Normaliser,
    p: &mut Partial,
    used: Use,
) -> Result<Flow, Error> {
    let Some(atom) = normaliser
        .schema()
        .atoms(used.node)
        .get(used.index as usize)
    else {
        return Ok(Flow::On);
    };
    normaliser.work(used.node, 8)?;
    if !concerns(&atom.kind, used.kind) {
        return Ok(flow(used.positive));
    }
    match keep_choice(normaliser, p, used)? {
        Some(flow) => Ok(flow),
        None => apply(normaliser, p, used),
    }
}

/// Narrows an alternative by what a keyword, or its complement, says.
fn apply(normaliser: &mut Normaliser, p: &mut Partial, used: Use) -> Result<Flow, Error> {
    let Use {
        node,
        positive,
        kind,
        ..
    } = used;
    let atom = &normaliser.schema().atoms(node)[used.index as usize];
    let at: At = (node, atom.keyword);
    match &atom.kind {
        AtomKind::Type { kinds, integer } => Ok(values::of_type(p, used, *kinds, *integer)),
        AtomKind::Values(listed) if positive => values::one_of_values(normaliser, p, used, listed),
        AtomKind::Values(listed) => {
            let excluded = values::of_kind(listed, kind);
            normaliser.work(node, 16 * listed.len())?;
            values::none_of_values(normaliser, p, at, excluded)
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
        AtomKind::MaxLength(n) => Ok(strings::max_length(normaliser, p, at, positive, *n)),
        AtomKind::Pattern(id) => strings::pattern(normaliser, p, at, positive, *id),
        AtomKind::Format(format) => strings::format(normaliser, p, at, positive, *format),
        AtomKind::UnknownFormat(reason) => {
            strings::unknown_format(normaliser, at, positive, reason)
        }
        AtomKind::Items(items) => Ok(arrays::items(normaliser, p, at, used, items)),
        AtomKind::MinItems(n) => Ok(arrays::min_items(p, positive, *n)),
        AtomKind::MaxItems(n) => Ok(arrays::max_items(p, positive, *n)),
        AtomKind::UniqueItems => arrays::unique_items(normaliser, p, at, positive),
        AtomKind::Contains {
            node,
            min,
            max,
            evaluates,
        } => Ok(arrays::contains(
            normaliser,
            p,
            at,
            used,
            (*node, *min, *max, *evaluates),
        )),
        AtomKind::Members(members) => Ok(objects::each_member(p, at, used, members)),
        AtomKind::Required(names) => Ok(objects::required(p, positive, names)),
        AtomKind::MinProperties(n) => Ok(objects::min_properties(p, positive, *n)),
        AtomKind::MaxProperties(n) => Ok(objects::max_properties(p, positive, *n)),
        AtomKind::PropertyNames(names) => Ok(objects::property_names(p, at, positive, *names)),
        AtomKind::DependentRequired(lists) => Ok(objects::dependent_required(p, positive, lists)),
        AtomKind::DependentSchemas(list) => Ok(combined::dependent_schemas(p, used, list)),
        AtomKind::AllOf(nodes) => Ok(combined::all_of(p, used, nodes)),
        AtomKind::AnyOf(nodes) => {
            let nodes = nodes.clone();
            combined::any_of(normaliser, p, at, used, &nodes)
        }
        AtomKind::OneOf(nodes) => {
            let nodes = nodes.clone();
            combined::one_of(normaliser, p, used, nodes)
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
            let parts = (*condition, *then, *otherwise);
            Ok(combined::if_then_else(normaliser, p, used, parts))
        }
        AtomKind::Ref(node) => {
            p.pending.push(node_term(*node, positive, used.collector));
            Ok(Flow::On)
        }
        AtomKind::UnevaluatedItems(_) | AtomKind::UnevaluatedProperties(_) => Ok(Flow::On),
        AtomKind::Refused { reason, .. } => Err(normaliser.refusal(at, reason)),
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
