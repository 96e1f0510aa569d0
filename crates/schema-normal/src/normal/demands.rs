//! The demands of the alternatives of a conjunction on members and items.
//!
//! For example, `{"properties": {"a": true}, "patternProperties": {"^a": {"minLength": 1}}}` demands
//! both locations of the member `a`.

use crate::ir::signed::Signed;
use crate::ir::{Members, NEVER, NodeId, PatternId};
use crate::normal::alternative::{ArrayShape, MemberRule, MembersAt, ObjectShape, Scope, Source};
use crate::normal::conjunctions::{ConjId, NONE};
use crate::normal::locations::Locations;

/// A name, or (without one) those of a class, and what is known of it.
pub struct Asked<'a> {
    /// The name, `None` for those of a class.
    name: Option<&'a str>,
    /// Tells whether the `Members` atom of a location declares it.
    declares: &'a dyn Fn(MembersAt) -> bool,
    matches: &'a dyn Fn(PatternId) -> bool,
    holds: &'a dyn Fn(Signed) -> bool,
}

impl<'a> Asked<'a> {
    /// Asks about a name: which `Members` atoms declare it, which patterns match it, and which
    /// locations it satisfies.
    pub fn of_name(
        name: &'a str,
        declares: &'a dyn Fn(MembersAt) -> bool,
        matches: &'a dyn Fn(PatternId) -> bool,
        holds: &'a dyn Fn(Signed) -> bool,
    ) -> Asked<'a> {
        Asked {
            name: Some(name),
            declares,
            matches,
            holds,
        }
    }

    /// Asks about the names of a class, none of which is declared.
    pub fn of_class(
        matches: &'a dyn Fn(PatternId) -> bool,
        holds: &'a dyn Fn(Signed) -> bool,
    ) -> Asked<'a> {
        Asked {
            name: None,
            declares: &|_| false,
            matches,
            holds,
        }
    }
}

fn source_evaluates(
    locations: &Locations,
    source: Source,
    matches: &dyn Fn(PatternId) -> bool,
    name: Option<&str>,
) -> bool {
    match source {
        Source::All => true,
        Source::Members(node, atom) => {
            let m = locations.members((node, atom));
            m.additional_said
                || name.is_some_and(|n| m.names.get(n).is_some())
                || m.patterns.iter().any(|(id, _)| matches(*id))
        }
    }
}

/// Adds what a rule says of the value of a member: of this name, or (with `None`) of one
/// that no keyword names. `matches` says which patterns the name matches, `value_of` is
/// its location among some members.
pub fn rule_says(
    locations: &Locations,
    rule: &MemberRule,
    name: Option<&str>,
    matches: &dyn Fn(PatternId) -> bool,
    value_of: impl Fn(&Members) -> Option<NodeId>,
    parts: &mut Vec<Signed>,
) {
    match rule {
        MemberRule::Members { node, atom, closed } => {
            let m = locations.members((*node, *atom));
            let mut evaluated = false;
            if let Some(value) = value_of(m) {
                parts.push(Signed::yes(value));
                evaluated = true;
            }
            for (id, value) in &m.patterns {
                if matches(*id) {
                    parts.push(Signed::yes(*value));
                    evaluated = true;
                }
            }
            if !evaluated {
                let further = if *closed { NEVER } else { m.additional };
                parts.push(Signed::yes(further));
            }
        }
        MemberRule::Name(n, value) => {
            if name == Some(&**n) {
                parts.push(*value);
            }
        }
        MemberRule::Unevaluated(sources, value) => {
            let evaluated = sources
                .iter()
                .any(|s| source_evaluates(locations, *s, matches, name));
            if !evaluated {
                parts.push(*value);
            }
        }
    }
}

/// Returns the demand of a shape on the value of a member of this name.
pub fn member_conj_of(locations: &mut Locations, o: &ObjectShape, name: &str) -> ConjId {
    if o.forbidden.contains(name) {
        return NONE;
    }
    locations.intern_from(|locations, parts| {
        let matches = |id| locations.name_matches(id, name);
        let value_of = |members: &Members| members.names.get(name);
        for rule in &o.rules {
            rule_says(locations, rule, Some(name), &matches, value_of, parts);
        }
    })
}

/// Tells whether a name lies in the scope of a witness.
pub fn in_scope(locations: &Locations, scope: &Scope, asked: &Asked<'_>) -> bool {
    let Asked {
        name,
        declares,
        matches,
        holds,
    } = *asked;
    match scope {
        Scope::Pattern(id) => matches(*id),
        Scope::Additional(node, atom) => {
            let m = locations.members((*node, *atom));
            !declares((*node, *atom)) && !m.patterns.iter().any(|(id, _)| matches(*id))
        }
        Scope::Failing(names) => !holds(*names),
        Scope::Unevaluated(sources) => !sources
            .iter()
            .any(|s| source_evaluates(locations, *s, matches, name)),
    }
}

/// Returns the demand of a shape on the item at an index.
pub fn item_conj(
    locations: &mut Locations,
    shape: &ArrayShape,
    index: u64,
    more: &[Signed],
) -> ConjId {
    locations.intern_from(|_, parts| {
        parts.extend_from_slice(more);
        for rule in &shape.rules {
            parts.push(*rule.prefix.get(index as usize).unwrap_or(&rule.rest));
        }
        for (i, value) in &shape.single {
            if *i == index {
                parts.push(*value);
            }
        }
    })
}
