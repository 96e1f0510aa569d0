//! The values that `enum` and `const` leave of one kind.

use std::collections::HashSet;

use serde_json::Value;

use crate::decimal::Decimal;
use crate::error::{Error, ErrorKind};
use crate::ir::signed::Signed;
use crate::ir::{AtomKind, Name, NodeId};
use crate::normal::alternative::{Kind, Shape};
use crate::normal::conjunctions::ConjId;
use crate::normal::keywords::values::decimal_of;
use crate::normal::normaliser::Normaliser;
use crate::normal::search::partial::{Branch, Partial, choices, node_term};

/// Some of the values that an atom lists, by their places.
#[derive(Clone)]
pub(in crate::normal) struct Allowed {
    pub(in crate::normal) node: NodeId,
    pub(in crate::normal) atom: u16,
    pub(in crate::normal) places: Vec<u32>,
    /// Numbers that another list, which applies too, writes with a fraction.
    pub(in crate::normal) with_fraction: Vec<Decimal>,
}

impl Normaliser {
    /// The shapes of a partial that lists its values: the listed ones that
    /// satisfy the whole conjunction. `None` where that cannot be asked; the
    /// values have then become a choice.
    pub(super) fn listed(
        &mut self,
        conj: ConjId,
        partial: &mut Partial,
        kind: Kind,
    ) -> Result<Option<Vec<Shape>>, Error> {
        let Some(allowed) = partial.allowed.take() else {
            return Ok(None);
        };
        let mut held = Vec::with_capacity(allowed.places.len());
        for place in &allowed.places {
            let value = self.allowed_value(&allowed, *place);
            match self.holds(self.conj(conj), value) {
                Ok(true) => {
                    held.push(*place);
                    if kind >= Kind::Array && held.len() > self.options.max_alternatives {
                        return Err(self.too_many_alternatives(allowed.node));
                    }
                }
                Ok(false) => {}
                Err(e) if kind < Kind::Array || e.kind() == ErrorKind::TooManySteps => {
                    return Err(e);
                }
                Err(_) => {
                    // Only keywords that look at evaluation: by structure.
                    if allowed.places.len() > self.options.max_alternatives {
                        return Err(self.too_many_alternatives(allowed.node));
                    }
                    let mut branch = Branch::new();
                    for place in &allowed.places {
                        let value = self.allowed_value(&allowed, *place).clone();
                        branch.push(vec![node_term(self.container(&value), true, None)]);
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
                    let v = self.allowed_value(&allowed, *place);
                    let d = decimal_of(v)?;
                    let written = has_fraction(v) || written.contains(&d);
                    Some((d, written))
                });
                n.allowed = Some(list.collect());
            }
            Shape::String(s) => {
                let values = held.iter().map(|at| self.allowed_value(&allowed, *at));
                s.allowed = Some(values.filter_map(Value::as_str).map(Name::from).collect());
            }
            Shape::Array(_) | Shape::Object(_) => {
                let mut out = Vec::new();
                for place in held {
                    let value = self.allowed_value(&allowed, place).clone();
                    let node = self.container(&value);
                    let conj = self.intern(&[Signed::yes(node)]);
                    out.extend(self.expand(conj, kind)?.iter().cloned());
                }
                return Ok(Some(out));
            }
        }
        Ok(Some(vec![shape]))
    }

    /// The numbers that a list, or one that it was met with, writes with a fraction.
    pub(in crate::normal) fn written_with_fraction(&self, allowed: &Allowed) -> Vec<Decimal> {
        let values = allowed.places.iter();
        let values = values.map(|place| self.allowed_value(allowed, *place));
        let own = values.filter(|v| has_fraction(v)).filter_map(decimal_of);
        own.chain(allowed.with_fraction.iter().cloned()).collect()
    }

    /// One of the values, by its place.
    pub(in crate::normal) fn allowed_value(&self, allowed: &Allowed, place: u32) -> &Value {
        static NULL: Value = Value::Null;
        match &self.schema.atoms(allowed.node)[allowed.atom as usize].kind {
            AtomKind::Values(values) => &values[place as usize],
            _ => &NULL,
        }
    }
}

fn has_fraction(value: &Value) -> bool {
    value
        .as_number()
        .is_some_and(Decimal::is_written_with_fraction)
}
