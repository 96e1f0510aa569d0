//! Which `Members` atoms an alternative of an object looks at, and the names they have.
//!
//! For example, an `allOf` of two locations with `properties` has two of them.

use crate::ir::Name;
use crate::normal::alternative::{MemberRule, MembersAt, ObjectShape, Scope, Source};

impl MemberRule {
    /// The atoms that it consists of, or that say what is evaluated.
    pub fn atoms(&self) -> impl Iterator<Item = MembersAt> {
        let sources = match self {
            MemberRule::Unevaluated(sources, _) => &sources[..],
            MemberRule::Members { .. } | MemberRule::Name(..) => &[],
        };
        let sources = sources.iter().filter_map(Source::members);
        self.members().into_iter().chain(sources)
    }

    /// The name that it is about, if that is one alone.
    pub fn name(&self) -> Option<&Name> {
        match self {
            MemberRule::Name(name, _) => Some(name),
            MemberRule::Members { .. } | MemberRule::Unevaluated(..) => None,
        }
    }
}

impl Scope {
    /// The atoms that tell which names are in it.
    pub fn atoms(&self) -> impl Iterator<Item = MembersAt> {
        let (own, sources) = match self {
            Scope::Additional(node, atom) => (Some((*node, *atom)), &[][..]),
            Scope::Unevaluated(sources) => (None, &sources[..]),
            Scope::Pattern(_) | Scope::Failing(_) => (None, &[][..]),
        };
        own.into_iter()
            .chain(sources.iter().filter_map(Source::members))
    }
}

impl ObjectShape {
    /// The atoms that its rules look at, each once.
    pub fn atoms(&self) -> Vec<MembersAt> {
        let mut out: Vec<MembersAt> = Vec::new();
        for at in self.rules.iter().flat_map(MemberRule::atoms) {
            if !out.contains(&at) {
                out.push(at);
            }
        }
        out
    }
}
