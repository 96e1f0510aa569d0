//! The alternatives of sets of locations, found once.
//!
//! For example `{"type": "string"}` says nothing more of strings and nothing of arrays but that
//! there are none: both is plain, and nothing is searched.

use std::rc::Rc;

use crate::budget::STEP;
use crate::error::Error;
use crate::normal::alternative::{ALL_KINDS, Kind};
use crate::normal::closing::close_objects;
use crate::normal::conjunctions::ConjId;
use crate::normal::in_place::blamed;
use crate::normal::normaliser::Normaliser;
use crate::normal::plain::{bits, plain_of};
use crate::normal::repeated::said_before;
use crate::normal::search::expand;
use crate::normal::shape_table::{NO_SHAPES, Shapes};

/// Returns the alternatives of a set for one kind.
pub fn shapes_of(normaliser: &mut Normaliser, conj: ConjId, kind: Kind) -> Result<Shapes, Error> {
    let number = number_of_shapes(normaliser, conj, kind)?;
    Ok(Rc::clone(normaliser.table.get(number)))
}

/// Tells whether any string satisfies a set, as far as that is plain.
pub fn is_any_string(normaliser: &mut Normaliser, conj: ConjId) -> Result<bool, Error> {
    let number = number_of_shapes(normaliser, conj, Kind::String)?;
    Ok(number == normaliser.table.any(Kind::String))
}

/// Returns the alternatives of a set for one kind, if they were asked for.
pub fn known_shapes(normaliser: &Normaliser, conj: ConjId, kind: Kind) -> Option<&Shapes> {
    let number = normaliser.table.number(conj, kind)?;
    Some(normaliser.table.get(number))
}

fn number_of_shapes(normaliser: &mut Normaliser, conj: ConjId, kind: Kind) -> Result<u32, Error> {
    let sets = normaliser.sets().len();
    normaliser.table.grow(sets);
    if let Some(known) = normaliser.table.number(conj, kind) {
        return Ok(known);
    }
    settle_plain(normaliser, conj)?;
    if let Some(known) = normaliser.table.number(conj, kind) {
        return Ok(known);
    }
    if let Some(before) = said_before(normaliser, conj, kind) {
        let number = number_of_shapes(normaliser, before, kind)?;
        normaliser.table.set(conj, kind, number);
        return Ok(number);
    }
    let shapes = expand(normaliser, conj, kind).map_err(|error| blamed(normaliser, conj, error))?;
    let shapes = match kind {
        Kind::Object if normaliser.options().closes() => close_objects(normaliser, conj, shapes)?,
        _ => shapes,
    };
    let number = normaliser.table.add(shapes);
    normaliser.table.set(conj, kind, number);
    Ok(number)
}

/// Notes the alternatives of a set for the kinds of which they are plain.
fn settle_plain(normaliser: &mut Normaliser, conj: ConjId) -> Result<(), Error> {
    let plain = plain_of(normaliser, conj);
    let mut settled = 0;
    let table = &mut normaliser.table;
    for kind in ALL_KINDS {
        if table.number(conj, kind).is_some() {
            continue;
        }
        let number = if plain.ruled_out.has(bits(kind)) {
            NO_SHAPES
        } else if plain.told.has(bits(kind)) {
            continue;
        } else if kind == Kind::Number && plain.integers {
            table.any_integer()
        } else {
            table.any(kind)
        };
        table.set(conj, kind, number);
        settled += 1;
    }
    normaliser.work(normaliser.first_of(conj), settled * STEP)
}
