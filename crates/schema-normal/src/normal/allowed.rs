//! The values that `enum` and `const` leave of one kind.
//!
//! For example, of `{"enum": [1, "a", "b"]}` two values are left of the strings.

use serde_json::Value;

use crate::decimal::Decimal;
use crate::ir::{AtomKind, NodeId};
use crate::normal::locations::Locations;

/// Some of the values that an atom lists, by their places.
#[derive(Clone)]
pub(in crate::normal) struct Allowed {
    pub(super) node: NodeId,
    pub(super) atom: u16,
    pub(super) places: Vec<u32>,
    /// Numbers that another list, which applies too, writes with a fraction.
    pub(super) with_fraction: Vec<Decimal>,
}

/// The numbers that a list, or one that it was met with, writes with a fraction.
pub(super) fn written_with_fraction(locations: &Locations, allowed: &Allowed) -> Vec<Decimal> {
    let values = allowed.places.iter();
    let values = values.map(|place| allowed_value(locations, allowed, *place));
    let own = values.filter(|v| has_fraction(v)).filter_map(decimal_of);
    own.chain(allowed.with_fraction.iter().cloned()).collect()
}

/// One of the values, by its place.
pub(super) fn allowed_value<'l>(
    locations: &'l Locations,
    allowed: &Allowed,
    place: u32,
) -> &'l Value {
    /// The value of an atom that lists none, because an answer must live as long as the schema.
    static NULL: Value = Value::Null;
    match &locations.schema().node(allowed.node).atoms()[allowed.atom as usize].kind {
        AtomKind::Values(values) => &values[place as usize],
        _ => &NULL,
    }
}

pub(super) fn has_fraction(value: &Value) -> bool {
    value.as_number().is_some_and(serde_json::Number::is_f64)
}

pub(super) fn decimal_of(value: &Value) -> Option<Decimal> {
    match value {
        Value::Number(n) => Decimal::from_number(n),
        _ => None,
    }
}
