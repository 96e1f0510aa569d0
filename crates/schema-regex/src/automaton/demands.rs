//! What the alternatives of a conjunction demand of members and items.

use super::compile::{ANY, Compiler, ConjId, NONE};
use super::declared::Properties;
use super::shape::{ArrayShape, MemberRule, ObjectShape, Scope, Shape, Source};
use crate::ir::{Members, NEVER, NodeId, PatternId};
use crate::shape::Signed;

/// A name, or (without one) those of a class, and what is known of it.
pub(super) struct Asked<'a> {
    pub(super) name: Option<&'a str>,
    /// Its location in the `Members` atom of a location, if that declares it.
    pub(super) declared: &'a dyn Fn((NodeId, u16)) -> Option<NodeId>,
    pub(super) matches: &'a dyn Fn(PatternId) -> bool,
    pub(super) holds: &'a dyn Fn(Signed) -> bool,
}

impl Compiler {
    /// Whether a name matches a pattern of the schema.
    pub(super) fn name_matches(&self, id: PatternId, name: &str) -> bool {
        self.schema.pattern(id).holds(name)
    }

    fn source_evaluates(
        &self,
        source: Source,
        matches: &dyn Fn(PatternId) -> bool,
        name: Option<&str>,
    ) -> bool {
        match source {
            Source::All => true,
            Source::Members(node, atom) => {
                let m = self.members(node, atom);
                m.additional_said
                    || name.is_some_and(|n| m.names.has(n))
                    || m.patterns.iter().any(|(id, _)| matches(*id))
            }
        }
    }

    /// What a shape demands of the value of a member: of this name, or (with
    /// `None`) of one that no keyword names. `matches` says which patterns the
    /// name matches.
    pub(super) fn member_conj(
        &mut self,
        shape: &ObjectShape,
        name: Option<&str>,
        matches: &dyn Fn(PatternId) -> bool,
    ) -> ConjId {
        self.member_conj_by(shape, name, matches, |members, _| members.names.get(name?))
    }

    /// The same for a declared name, by its number, with the properties of each rule.
    pub(super) fn numbered_conj(
        &mut self,
        shape: &ObjectShape,
        (name, number): (&str, u32),
        properties: &[Option<&Properties>],
        matches: &dyn Fn(PatternId) -> bool,
    ) -> ConjId {
        self.member_conj_by(shape, Some(name), matches, |_, rule| {
            properties[rule]?.value(number)
        })
    }

    fn member_conj_by(
        &mut self,
        shape: &ObjectShape,
        name: Option<&str>,
        matches: &dyn Fn(PatternId) -> bool,
        value_of: impl Fn(&Members, usize) -> Option<NodeId>,
    ) -> ConjId {
        let mut parts = std::mem::take(&mut self.parts);
        for (i, rule) in shape.rules.iter().enumerate() {
            match rule {
                MemberRule::Members { node, atom, closed } => {
                    let m = self.members(*node, *atom);
                    let mut evaluated = false;
                    if let Some(value) = value_of(m, i) {
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
                        .any(|s| self.source_evaluates(*s, matches, name));
                    if !evaluated {
                        parts.push(*value);
                    }
                }
            }
        }
        let conj = self.intern(&parts);
        parts.clear();
        self.parts = parts;
        conj
    }

    /// The same for a name, its patterns asked one by one.
    pub(super) fn member_conj_of(&mut self, shape: &Shape, name: &str) -> ConjId {
        let Shape::Object(o) = shape else { return ANY };
        if o.forbidden.contains(name) {
            return NONE;
        }
        let matched = self.matches_of(o, name);
        self.member_conj(o, Some(name), &|id| matched.contains(&id))
    }

    /// The patterns of a shape that a name matches.
    pub(super) fn matches_of(&self, shape: &ObjectShape, name: &str) -> Vec<PatternId> {
        let mut ids = self.patterns_of(shape);
        ids.retain(|id| self.name_matches(*id, name));
        ids
    }

    /// The patterns that a shape looks at.
    pub(super) fn patterns_of(&self, shape: &ObjectShape) -> Vec<PatternId> {
        let mut ids: Vec<PatternId> = Vec::new();
        let of_members = |node: NodeId, atom: u16, ids: &mut Vec<PatternId>| {
            ids.extend(self.members(node, atom).patterns.iter().map(|(id, _)| *id));
        };
        for rule in &shape.rules {
            match rule {
                MemberRule::Members { node, atom, .. } => of_members(*node, *atom, &mut ids),
                MemberRule::Unevaluated(sources, _) => {
                    for s in sources {
                        if let Source::Members(node, atom) = s {
                            of_members(*node, *atom, &mut ids);
                        }
                    }
                }
                MemberRule::Name(..) => {}
            }
        }
        for witness in &shape.some {
            match &witness.scope {
                Scope::Pattern(id) => ids.push(*id),
                Scope::Additional(node, atom) => of_members(*node, *atom, &mut ids),
                Scope::Unevaluated(sources) => {
                    for s in sources {
                        if let Source::Members(node, atom) = s {
                            of_members(*node, *atom, &mut ids);
                        }
                    }
                }
                Scope::Failing(_) => {}
            }
        }
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// Whether a name lies in the scope of a witness.
    pub(super) fn in_scope(&self, scope: &Scope, asked: &Asked<'_>) -> bool {
        let Asked {
            name,
            declared,
            matches,
            holds,
        } = *asked;
        match scope {
            Scope::Pattern(id) => matches(*id),
            Scope::Additional(node, atom) => {
                let m = self.members(*node, *atom);
                declared((*node, *atom)).is_none() && !m.patterns.iter().any(|(id, _)| matches(*id))
            }
            Scope::Failing(names) => !holds(*names),
            Scope::Unevaluated(sources) => !sources
                .iter()
                .any(|s| self.source_evaluates(*s, matches, name)),
        }
    }

    /// What a shape demands of the item at an index.
    pub(super) fn item_conj(&mut self, shape: &ArrayShape, index: u64, more: &[Signed]) -> ConjId {
        let mut parts: Vec<Signed> = more.to_vec();
        for rule in &shape.rules {
            parts.push(*rule.prefix.get(index as usize).unwrap_or(&rule.rest));
        }
        for (i, value) in &shape.single {
            if *i == index {
                parts.push(*value);
            }
        }
        self.intern(&parts)
    }
}
