//! Objects: their declared members, in order, and what frames them.
//!
//! For example, `{"properties": {"a": {"type": "null"}}, "additionalProperties": false}` has the
//! texts `{}` and `{"a":null}`.

use std::collections::{BTreeSet, HashSet};

use schema_normal::Error;
use schema_normal::ir::Name;
use schema_normal::normal::alternative::{MemberRule, MembersAt, ObjectShape};
use schema_normal::normal::conjunctions::{ConjId, NONE};
use schema_normal::normal::demands::member_conj_of;
use schema_normal::normal::member_order::member_order_of;

use crate::regex::further_members::further;
use crate::regex::member_sequence::{DeclaredMember, Long, Sequence};
use crate::regex::witnesses::with_witness;
use crate::regex::{Capped, Printer, SpaceTexts};

pub(super) fn print(
    printer: &mut Printer<'_>,
    conj: ConjId,
    objects: &ObjectShape,
) -> Result<Option<String>, Error> {
    match objects.some.split_last() {
        Some((witness, others)) => {
            let rest = ObjectShape {
                some: others.to_vec(),
                ..objects.clone()
            };
            with_witness(printer, conj, rest, witness)
        }
        None => without_witness(printer, conj, objects, None),
    }
}

/// Returns the demand on the value of a member: [`NONE`] if there must be no such member.
pub(super) fn member(
    printer: &mut Printer<'_>,
    objects: &ObjectShape,
    name: &str,
) -> Result<ConjId, Error> {
    if !printer.normaliser.name_satisfies(&objects.names, name)? {
        return Ok(NONE);
    }
    Ok(member_conj_of(printer.normaliser, objects, name))
}

/// An object of which no member must be found; `last` is a further one that it has behind
/// those that are declared.
pub(super) fn without_witness(
    printer: &mut Printer<'_>,
    conj: ConjId,
    objects: &ObjectShape,
    last: Option<String>,
) -> Result<Option<String>, Error> {
    let names = declared(printer, conj, objects)?;
    let few = objects.max == Some(objects.required.len() as u64);
    let mut listed = Vec::new();
    let mut bytes = 0;
    for name in &names {
        let required = objects.required.contains(name.as_str());
        if few && !required {
            continue;
        }
        printer.work(MEMBER)?;
        let member = member(printer, objects, name)?;
        match printer.value(member)? {
            Some(value) => {
                let text = format!("{}{}{value}", printer.quoted(name)?, printer.space.colon);
                bytes += text.len();
                printer.fits(bytes)?;
                listed.push(DeclaredMember { text, required });
            }
            None if required => return Ok(None),
            None => {}
        }
    }
    let further = if few {
        None
    } else {
        further(printer, objects, &names, None)?
    };
    if let Some(text) = last {
        listed.push(DeclaredMember {
            text,
            required: true,
        });
    }
    let mut max = objects.max;
    if let (Some(cap), None, true) = (printer.options.caps.members, max, further.is_some()) {
        let cap = cap.max(listed.len() as u64).max(objects.min);
        max = Some(cap);
        printer.narrow("maxProperties", Capped::Members(cap));
    }
    let SpaceTexts { inside, comma, .. } = &printer.space;
    let limit = printer.options.max_regex_bytes;
    let sequence = Sequence::new(&listed, further.as_deref(), comma, limit);
    let body = match sequence.print(objects.min, max) {
        Ok(body) => body,
        Err(Long) => return Err(crate::regex::too_long(&printer.here(), &printer.options)),
    };
    Ok(body.map(|body| body.framed(["\\{", "\\}"], inside)))
}

/// The units of work of a declared member beside its value, because its name is escaped.
pub(super) const MEMBER: usize = 4 * schema_normal::budget::STEP;

/// The names that a shape says anything of.
pub(super) fn mentioned(printer: &Printer<'_>, objects: &ObjectShape) -> BTreeSet<Name> {
    let normaliser = &printer.normaliser;
    let declared = objects.atoms().into_iter();
    let declared = declared.flat_map(|at| normaliser.members(at).names.order());
    let of_rules = objects.rules.iter().filter_map(MemberRule::name);
    let listed = objects.required.iter().chain(&objects.forbidden);
    declared.chain(of_rules).chain(listed).cloned().collect()
}

/// The names that are said anywhere, in the order in which members stand: those
/// of `properties` that apply, in order of appearance in the location, then those of
/// others (which are there as complements), then the rest.
fn declared(
    printer: &Printer<'_>,
    conj: ConjId,
    objects: &ObjectShape,
) -> Result<Vec<String>, Error> {
    let wanted = mentioned(printer, objects);
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let normaliser = &printer.normaliser;
    let order = member_order_of(normaliser, conj);
    let names = |at: MembersAt| normaliser.members(at).names.order();
    // Names of all that stands beside this object are looked through.
    let count: usize = order.walk.iter().map(|at| names(*at).len()).sum();
    printer.work(2 * (count + order.others.len()))?;
    let atoms = order.own(objects).chain(order.walk.iter().copied());
    let all = atoms.flat_map(names).chain(&order.others).chain(&wanted);
    let mut out = Vec::new();
    let mut taken: HashSet<&str> = HashSet::new();
    for name in all {
        if wanted.contains(name) && taken.insert(name) {
            out.push(name.to_string());
        }
    }
    Ok(out)
}
