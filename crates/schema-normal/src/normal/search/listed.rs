//! The alternatives of values that are listed.
//!
//! For example, `{"enum": ["a", "bcd"], "maxLength": 2}` has one shape of strings: that of `a`.

use std::collections::HashSet;

use serde_json::Value;

use crate::decimal::Decimal;
use crate::error::{Error, ErrorKind};
use crate::ir::Name;
use crate::ir::signed::Signed;
use crate::language::numbers::conditions::NumberCondition;
use crate::normal::allowed::{allowed_value, decimal_of, has_fraction};
use crate::normal::alternative::{Kind, Shape};
use crate::normal::conjunctions::ConjId;
use crate::normal::normaliser::Normaliser;
use crate::normal::partial::Partial;
use crate::normal::search::expand;
use crate::normal::terms::{Branch, choices, node_term};

/// The shapes of a partial that lists its values: the listed ones that
/// satisfy the whole conjunction. `None` where that cannot be asked; the
/// values have then become a choice.
pub(super) fn listed_shapes(
    normaliser: &mut Normaliser,
    conj: ConjId,
    partial: &mut Partial,
    kind: Kind,
) -> Result<Option<Vec<Shape>>, Error> {
    let Some(allowed) = partial.allowed.take() else {
        return Ok(None);
    };
    let mut held = Vec::with_capacity(allowed.places.len());
    for place in &allowed.places {
        let value = allowed_value(normaliser, &allowed, *place);
        match normaliser.holds(normaliser.conj(conj), value) {
            Ok(true) => {
                held.push(*place);
                if kind >= Kind::Array && held.len() > normaliser.options().max_alternatives {
                    return Err(normaliser.too_many_alternatives(allowed.node));
                }
            }
            Ok(false) => {}
            Err(e) if kind < Kind::Array || e.kind() == ErrorKind::TooManySteps => {
                return Err(e);
            }
            Err(_) => {
                // Only keywords that look at evaluation: by structure.
                if allowed.places.len() > normaliser.options().max_alternatives {
                    return Err(normaliser.too_many_alternatives(allowed.node));
                }
                let mut branch = Branch::new();
                for place in &allowed.places {
                    let value = allowed_value(normaliser, &allowed, *place).clone();
                    branch.push(vec![node_term(normaliser.container(&value), true, None)]);
                }
                partial.branches.push(choices(branch));
                return Ok(None);
            }
        }
    }
    if held.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let written: HashSet<&Decimal> = allowed.with_fraction.iter().collect();
    let mut shape = Shape::any(kind);
    match &mut shape {
        Shape::Unit => {}
        Shape::Number(n) => {
            let list = held.iter().filter_map(|place| {
                let v = allowed_value(normaliser, &allowed, *place);
                let d = decimal_of(v)?;
                let written = has_fraction(v) || written.contains(&d);
                Some((d, written))
            });
            n.numbers.add(NumberCondition::OneOf(list.collect()));
        }
        Shape::String(s) => {
            let values = held
                .iter()
                .map(|at| allowed_value(normaliser, &allowed, *at));
            s.allowed = Some(values.filter_map(Value::as_str).map(Name::from).collect());
        }
        Shape::Array(_) | Shape::Object(_) => {
            let mut out = Vec::new();
            for place in held {
                let value = allowed_value(normaliser, &allowed, place).clone();
                let node = normaliser.container(&value);
                let conj = normaliser.intern(&[Signed::yes(node)]);
                out.extend(expand(normaliser, conj, kind)?.iter().cloned());
            }
            return Ok(Some(out));
        }
    }
    Ok(Some(vec![shape]))
}
