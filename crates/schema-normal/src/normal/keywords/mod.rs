//! The effect of one keyword on a partial alternative, and beside it that of its complement: a file
//! for each family of keywords.
//!
//! For example, `{"minLength": 3}` raises a bound, and its complement lowers the other one to two.

pub mod arrays;
pub mod combined;
pub mod numbers;
pub mod objects;
pub(in crate::normal) mod sense;
pub mod strings;
pub mod values;

use crate::error::Error;
use crate::ir::AtomKind;
use crate::normal::alternative::At;
use crate::normal::kept::keep_choice;
use crate::normal::keywords::numbers::End;
use crate::normal::keywords::sense::Sense;
use crate::normal::normaliser::Normaliser;
use crate::normal::partial::{Flow, Partial, Use, flow};
use crate::normal::plain::concerns;
use crate::normal::terms::node_term;

/// Applies a keyword, unless it says nothing of this kind of value or is kept as a condition.
pub(super) fn apply_atom(
    normaliser: &mut Normaliser,
    p: &mut Partial,
    used: Use,
) -> Result<Flow, Error> {
    let Some(atom) = normaliser
        .schema()
        .node(used.node)
        .atoms()
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
    let sense = match positive {
        true => Sense::Itself,
        false => Sense::Complement,
    };
    let atom = &normaliser.schema().node(node).atoms()[used.index as usize];
    let at: At = (node, atom.keyword);
    match &atom.kind {
        AtomKind::Type { kinds, integer } => Ok(values::of_type(p, used, *kinds, *integer)),
        AtomKind::Values(listed) if positive => values::one_of_values(normaliser, p, used, listed),
        AtomKind::Values(listed) => {
            let excluded = values::of_kind(listed, kind);
            normaliser.work(node, 16 * listed.len())?;
            values::none_of_values(normaliser, p, at, excluded)
        }
        AtomKind::Minimum { value, exclusive } => {
            Ok(numbers::bound(p, at, (End::Low, sense), value, *exclusive))
        }
        AtomKind::Maximum { value, exclusive } => {
            Ok(numbers::bound(p, at, (End::High, sense), value, *exclusive))
        }
        AtomKind::MultipleOf(divisor) => Ok(numbers::multiple_of(p, at, sense, divisor)),
        AtomKind::MinLength(n) => Ok(strings::min_length(p, at, sense, *n)),
        AtomKind::MaxLength(n) => Ok(strings::max_length(normaliser, p, at, sense, *n)),
        AtomKind::Pattern(id) => strings::pattern(normaliser, p, at, sense, *id),
        AtomKind::Format(format) => strings::format(normaliser, p, at, sense, *format),
        AtomKind::UnknownFormat(reason) => strings::unknown_format(normaliser, at, sense, reason),
        AtomKind::Items(items) => Ok(arrays::items(normaliser, p, at, used, items)),
        AtomKind::MinItems(n) => Ok(arrays::min_items(p, sense, *n)),
        AtomKind::MaxItems(n) => Ok(arrays::max_items(p, sense, *n)),
        AtomKind::UniqueItems => arrays::unique_items(normaliser, p, at, sense),
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
        AtomKind::Required(names) => Ok(objects::required(p, sense, names)),
        AtomKind::MinProperties(n) => Ok(objects::min_properties(p, sense, *n)),
        AtomKind::MaxProperties(n) => Ok(objects::max_properties(p, sense, *n)),
        AtomKind::PropertyNames(names) => Ok(objects::property_names(p, at, sense, *names)),
        AtomKind::DependentRequired(lists) => Ok(objects::dependent_required(p, sense, lists)),
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
