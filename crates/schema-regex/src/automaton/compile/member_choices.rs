//! The alternatives of an object, and the choices that they leave a member.
//!
//! For example, of `{"patternProperties": {"^x": {"type": "null"}}, "required": ["a"]}` the member `x` has one choice.

use schema_normal::ir::NodeId;
use schema_normal::normal::alternative::ObjectShape;
use schema_normal::normal::conjunctions::{ConjId, NONE};
use schema_normal::normal::demands;
use schema_normal::normal::demands::in_scope;

use crate::automaton::compile::builder::{Builder, Wanted};
use crate::automaton::compile::declared::{AllProperties, Declared, OwnNames};
use crate::automaton::compile::member_rules::Rules;

/// The most members that have to be found in one object, because each subset of them is a choice.
pub(super) const MOST_WITNESSES: usize = 8;

/// The alternatives of an object, with what they say of members.
pub(super) struct Alternatives<'s> {
    pub(super) at: NodeId,
    pub(super) shapes: &'s [(u32, &'s ObjectShape)],
    pub(super) rules: Rules<'s>,
    pub(super) names: Declared,
    pub(super) properties: AllProperties,
    /// For each alternative the names it requires and forbids.
    pub(super) numbers: Vec<OwnNames>,
}

/// Adds the choices that a member has for a thread: plainly, or as a witness too.
pub(super) fn choices(
    builder: &mut Builder,
    thread: u32,
    o: &ObjectShape,
    conj: ConjId,
    asked: &demands::Asked<'_>,
    out: &mut Wanted,
) {
    if conj == NONE {
        return;
    }
    out.push((thread, conj, 0));
    if o.some.is_empty() {
        return;
    }
    // More than eight are refused.
    let mut met = [0; MOST_WITNESSES];
    let mut count = 0;
    for (i, witness) in o.some.iter().enumerate() {
        if count < met.len() && in_scope(&builder.normaliser, &witness.scope, asked) {
            met[count] = i;
            count += 1;
        }
    }
    for subset in 1..1u32 << count {
        let mut take = 0;
        let both = builder.normaliser.intern_from(|locations, parts| {
            parts.extend_from_slice(locations.conj(conj));
            for (bit, i) in met[..count].iter().enumerate() {
                if subset & (1 << bit) != 0 {
                    parts.push(o.some[*i].value);
                    take |= 1 << *i;
                }
            }
        });
        out.push((thread, both, take));
    }
}
