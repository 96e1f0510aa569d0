//! Objects in which some member must be found without being named: complements ask for
//! them.
//!
//! For example, the complement of `{"additionalProperties": {"type": "string"}}` asks for a member
//! that is none.

use std::collections::BTreeSet;

use schema_normal::Error;
use schema_normal::ir::Name;
use schema_normal::normal::alternative::{MemberRule, ObjectShape, Scope, Witness};
use schema_normal::normal::conjunctions::{ConjId, NONE};
use schema_normal::normal::demands::{Asked, in_scope};
use schema_normal::normal::in_place::blamed;

use crate::regex::further_members::further;
use crate::regex::object::{MEMBER, member, mentioned, print, without_witness};
use crate::regex::{Printer, alternation};

/// Objects in which some member is a witness: each name that the shape mentions is tried,
/// and then all others together.
pub(super) fn with_witness(
    printer: &mut Printer<'_>,
    conj: ConjId,
    rest: ObjectShape,
    witness: &Witness,
) -> Result<Option<String>, Error> {
    let Some(text) = print(printer, conj, &rest)? else {
        return Ok(None);
    };
    let mut names = mentioned(printer, &rest);
    let of_scope = witness.scope.atoms();
    names.extend(of_scope.flat_map(|at| printer.normaliser.members(at).names.order().cloned()));
    let mut texts: Vec<String> = Vec::new();
    for name in &names {
        printer.work(MEMBER)?;
        if !is_in_scope(printer, &witness.scope, name)? {
            continue;
        }
        let plain = member(printer, &rest, name)?;
        let more = printer.normaliser.conj(plain).iter().copied();
        let parts: Vec<_> = more.chain([witness.value]).collect();
        let both = printer.normaliser.intern(&parts);
        if both == plain && rest.required.contains(name) {
            // It is there anyway.
            return Ok(Some(text));
        }
        if both == NONE || printer.value(both)?.is_none() {
            continue;
        }
        let mut found = rest.clone();
        found.required.insert(name.clone());
        found
            .rules
            .push(MemberRule::Name(name.clone(), witness.value));
        if let Some(text) = print(printer, conj, &found)?
            && !texts.contains(&text)
        {
            texts.push(text);
        }
    }
    texts.extend(further_witness(printer, conj, (&rest, &names), witness)?);
    Ok(alternation(texts))
}

/// Objects in which a member that nobody mentions is a witness.
fn further_witness(
    printer: &mut Printer<'_>,
    conj: ConjId,
    (rest, names): (&ObjectShape, &BTreeSet<Name>),
    witness: &Witness,
) -> Result<Option<String>, Error> {
    let few = rest.max == Some(rest.required.len() as u64);
    let texts = |names: &BTreeSet<Name>| names.iter().map(|name| name.to_string()).collect();
    let names: Vec<String> = texts(names);
    let is_failing = matches!(witness.scope, Scope::Failing(_));
    let found = match (few, is_failing) {
        (true, _) => None,
        (false, true) => further(printer, rest, &names, None)?,
        (false, false) => further(printer, rest, &names, Some(witness))?,
    };
    let Some(found) = found else {
        return Ok(None);
    };
    // Further members before it are not counted, and nothing says which names fail.
    let is_counted = rest.max.is_some() || rest.min > 1 + rest.required.len() as u64;
    if is_failing || is_counted || !rest.some.is_empty() {
        let (at, what) = match &witness.scope {
            Scope::Pattern(_) => (witness.at, "the schema of a pattern of names"),
            Scope::Additional(node, _) => (
                (*node, "additionalProperties"),
                "the schema of further properties",
            ),
            Scope::Failing(_) => (witness.at, "a condition on all names"),
            Scope::Unevaluated(_) => (witness.at, "the schema of unevaluated properties"),
        };
        let error = printer.normaliser.not_negated(at, what);
        return Err(blamed(printer.normaliser, conj, error));
    }
    // Before it may stand all that the rest does not declare, also what is no witness.
    let declared: Vec<String> = texts(&mentioned(printer, rest));
    let last = match further(printer, rest, &declared, None)? {
        Some(any) => format!("(?:{any}{})*{found}", printer.space.comma),
        None => found.to_string(),
    };
    without_witness(printer, conj, rest, Some(last))
}

/// Tells whether a name lies in the scope of a witness.
fn is_in_scope(printer: &Printer<'_>, scope: &Scope, name: &str) -> Result<bool, Error> {
    let normaliser = &*printer.normaliser;
    let holds = match scope {
        Scope::Failing(names) => normaliser.name_satisfies(&[*names], name)?,
        _ => true,
    };
    let declares = |(node, atom)| normaliser.members((node, atom)).names.get(name).is_some();
    let matches = |id| normaliser.name_matches(id, name);
    let holds = |_| holds;
    let asked = Asked::of_name(name, &declares, &matches, &holds);
    Ok(in_scope(normaliser, scope, &asked))
}
