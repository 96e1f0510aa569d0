//! The facts about a conjunction that need no search, and the kinds of values that keywords
//! concern.
//!
//! For example, `{"type": "string", "anyOf": [..]}` plainly has no numbers.

use std::ops::BitOr as _;

use crate::ir::signed::Signed;
use crate::ir::{AtomKind, Body, Kinds};
use crate::normal::alternative::Kind;
use crate::normal::conjunctions::ConjId;
use crate::normal::locations::Locations;

/// The most locations that are looked at for what is plain of a conjunction, because each
/// conjunction is asked for it.
const PLAIN_LOCATIONS: usize = 64;

/// The facts about a conjunction that need no search.
#[derive(Clone, Copy)]
pub(crate) struct Plain {
    /// The kinds of which no value satisfies it.
    pub(super) ruled_out: Kinds,
    /// The kinds of which it says more than that they may be.
    pub(super) told: Kinds,
    /// True if numbers are integers.
    pub(super) integers: bool,
    /// The kinds that may still be ruled out.
    open: Kinds,
}

impl Default for Plain {
    /// Returns the facts about a conjunction that says nothing.
    fn default() -> Plain {
        Plain {
            ruled_out: Kinds::NONE,
            told: Kinds::NONE,
            integers: false,
            open: Kinds::ALL,
        }
    }
}

impl Plain {
    /// Leaves values of some kinds alone.
    fn leave(&mut self, kinds: Kinds) {
        self.ruled_out = self.ruled_out | (self.open & !kinds);
        self.open = self.open & kinds;
        self.told = self.told | !kinds;
    }

    /// Nothing more is plain.
    fn give_up(&mut self) {
        self.told = Kinds::ALL;
        self.open = Kinds::NONE;
    }
}

/// Returns the facts about a conjunction that need no search. A type, or a list of values,
/// rules kinds out before anything is met that may be refused.
pub(super) fn plain_of(locations: &Locations, conj: ConjId) -> Plain {
    let mut plain = Plain::default();
    let mut room = PLAIN_LOCATIONS;
    for part in locations.conj(conj) {
        look_at(locations, *part, &mut plain, &mut room);
    }
    plain
}

/// Adds what is plain of a location, and of so many that it leads to in place.
fn look_at(locations: &Locations, part: Signed, plain: &mut Plain, room: &mut usize) {
    let atoms = match &locations.schema().node(part.node).body {
        Body::Always if part.positive => return,
        Body::Never if part.positive => return plain.leave(Kinds::NONE),
        Body::Atoms(atoms) if part.positive && *room > 0 => atoms,
        _ => return plain.give_up(),
    };
    *room -= 1;
    for atom in atoms {
        match &atom.kind {
            AtomKind::Type { kinds, integer } => {
                let left = match integer {
                    true => *kinds | Kinds::NUMBER,
                    false => *kinds,
                };
                plain.integers |= *integer && !kinds.has(Kinds::NUMBER);
                plain.leave(left);
            }
            AtomKind::Values(values) => {
                let kinds = values.iter().map(Kinds::of);
                plain.leave(kinds.fold(Kinds::NONE, Kinds::bitor));
                plain.told = Kinds::ALL;
            }
            AtomKind::Ref(node) => look_at(locations, Signed::yes(*node), plain, room),
            AtomKind::AllOf(nodes) => {
                for node in nodes {
                    look_at(locations, Signed::yes(*node), plain, room);
                }
            }
            AtomKind::AnyOf(nodes) | AtomKind::OneOf(nodes) => {
                let mut left = Kinds::NONE;
                for node in nodes {
                    let mut one = Plain::default();
                    look_at(locations, Signed::yes(*node), &mut one, room);
                    left = left | !one.ruled_out;
                }
                plain.leave(left);
                plain.give_up();
            }
            other => {
                let concerned = concerned(other);
                plain.told = plain.told | concerned;
                if !is_harmless(other) {
                    plain.open = plain.open & !concerned;
                }
            }
        }
    }
}

pub(super) fn bits(kind: Kind) -> Kinds {
    match kind {
        Kind::Null => Kinds::NULL,
        Kind::False => Kinds::FALSE,
        Kind::True => Kinds::TRUE,
        Kind::Number => Kinds::NUMBER,
        Kind::String => Kinds::STRING,
        Kind::Array => Kinds::ARRAY,
        Kind::Object => Kinds::OBJECT,
    }
}

pub(super) fn is_unevaluated(kind: &AtomKind) -> bool {
    matches!(
        kind,
        AtomKind::UnevaluatedItems(_) | AtomKind::UnevaluatedProperties(_)
    )
}

/// Tells whether an atom leads nowhere in place and is never refused.
fn is_harmless(kind: &AtomKind) -> bool {
    matches!(
        kind,
        AtomKind::Members(_)
            | AtomKind::Required(_)
            | AtomKind::Items(_)
            | AtomKind::MinLength(_)
            | AtomKind::MaxLength(_)
            | AtomKind::Minimum { .. }
            | AtomKind::Maximum { .. }
            | AtomKind::MultipleOf(_)
            | AtomKind::MinItems(_)
            | AtomKind::MaxItems(_)
            | AtomKind::UniqueItems
            | AtomKind::MinProperties(_)
            | AtomKind::MaxProperties(_)
    )
}

/// Tells whether an atom says anything of values of a kind.
pub(super) fn concerns(atom: &AtomKind, kind: Kind) -> bool {
    concerned(atom).has(bits(kind))
}

/// The kinds of values of which an atom says anything.
fn concerned(atom: &AtomKind) -> Kinds {
    match atom {
        AtomKind::Minimum { .. } | AtomKind::Maximum { .. } | AtomKind::MultipleOf(_) => {
            Kinds::NUMBER
        }
        AtomKind::MinLength(_)
        | AtomKind::MaxLength(_)
        | AtomKind::Pattern(_)
        | AtomKind::Format(_)
        | AtomKind::UnknownFormat(_) => Kinds::STRING,
        AtomKind::Items(_)
        | AtomKind::MinItems(_)
        | AtomKind::MaxItems(_)
        | AtomKind::UniqueItems
        | AtomKind::Contains { .. }
        | AtomKind::UnevaluatedItems(_) => Kinds::ARRAY,
        AtomKind::Members(_)
        | AtomKind::Required(_)
        | AtomKind::MinProperties(_)
        | AtomKind::MaxProperties(_)
        | AtomKind::PropertyNames(_)
        | AtomKind::DependentRequired(_)
        | AtomKind::DependentSchemas(_)
        | AtomKind::UnevaluatedProperties(_) => Kinds::OBJECT,
        AtomKind::Refused { kinds, .. } => *kinds,
        AtomKind::Type { .. }
        | AtomKind::Values(_)
        | AtomKind::AllOf(_)
        | AtomKind::AnyOf(_)
        | AtomKind::OneOf(_)
        | AtomKind::Not(_)
        | AtomKind::If { .. }
        | AtomKind::Ref(_) => Kinds::ALL,
    }
}
