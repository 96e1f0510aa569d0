//! `type`, `enum` and `const`.
//!
//! For example, the complement of `{"enum": [1, 2]}` leaves out both numbers.

use std::collections::HashSet;

use serde_json::Value;

use crate::budget::STEP;
use crate::error::Error;
use crate::ir::listed::Listed;
use crate::ir::{Kinds, Name};
use crate::language::numbers::conditions::NumberCondition;
use crate::normal::allowed::{Allowed, allowed_value, decimal_of, written_with_fraction};
use crate::normal::alternative::{At, Kind, Shape};
use crate::normal::locations::Locations;
use crate::normal::partial::{Flow, Partial, Use, flow};
use crate::normal::plain::bits;
use crate::normal::terms::node_term;
use crate::values;

/// Values of some kinds; with `integer`, integers too where numbers are not.
pub(super) fn of_type(p: &mut Partial, used: Use, kinds: Kinds, integer: bool) -> Flow {
    let has = kinds.has(bits(used.kind));
    if let (Shape::Number(n), false, true) = (&mut p.shape, has, integer) {
        return flow(n.numbers.add(NumberCondition::Integer(used.positive)));
    }
    flow(has == used.positive)
}

/// The listed values of a kind.
pub(super) fn of_kind(listed: &Listed, kind: Kind) -> Vec<Value> {
    let of_kind = listed.iter().filter(|v| Kinds::of(v) == bits(kind));
    of_kind.cloned().collect()
}

/// The value is one of these, and of those that other lists leave.
pub(super) fn one_of_values(
    locations: &Locations,
    p: &mut Partial,
    used: Use,
    listed: &Listed,
) -> Result<Flow, Error> {
    let of_kind = (0..).zip(listed.iter());
    let of_kind = of_kind.filter(|(_, v)| Kinds::of(v) == bits(used.kind));
    let places: Vec<u32> = match &p.allowed {
        Some(known) => {
            let value = |k: &u32| allowed_value(locations, known, *k);
            let all = known.places.iter().map(value);
            let all: HashSet<String> = all.map(values::canonical_value).collect();
            locations.work(used.node, STEP * (all.len() + listed.len()))?;
            let both = of_kind.filter(|(_, v)| all.contains(&values::canonical_value(v)));
            both.map(|(place, _)| place).collect()
        }
        None => of_kind.map(|(place, _)| place).collect(),
    };
    let any = !places.is_empty();
    let known = p.allowed.as_ref();
    p.allowed = Some(Allowed {
        node: used.node,
        atom: used.index,
        places,
        with_fraction: known.map_or_else(Vec::new, |known| written_with_fraction(locations, known)),
    });
    Ok(flow(any))
}

/// The value is none of these.
pub(super) fn none_of_values(
    locations: &mut Locations,
    p: &mut Partial,
    at: At,
    excluded: Vec<Value>,
) -> Result<Flow, Error> {
    match &mut p.shape {
        Shape::Unit => return Ok(flow(excluded.is_empty())),
        Shape::Number(n) => {
            for value in excluded.iter().filter_map(decimal_of) {
                n.numbers.add(NumberCondition::Not(value));
            }
        }
        Shape::String(s) => {
            s.at = Some(at);
            let texts = excluded.iter().filter_map(Value::as_str);
            s.excluded.extend(texts.map(Name::from));
        }
        Shape::Array(_) | Shape::Object(_) => {
            if excluded.len() > locations.options().max_alternatives {
                return Err(locations.too_many_alternatives(at.0));
            }
            for value in &excluded {
                let node = locations.container(value);
                p.pending.push(node_term(node, false, None));
            }
        }
    }
    Ok(Flow::On)
}
