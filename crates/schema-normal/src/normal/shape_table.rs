//! The alternatives of each set of locations by kind, by number.
//!
//! For example both locations of `{"items": {"type": "string"}, "contains": {"minLength": 0}}` have
//! the same one alternative of strings, that of any string: it has one number.

use std::rc::Rc;

use crate::language::numbers::conditions::NumberCondition;
use crate::normal::alternative::{KINDS, Kind, NumberShape, Shape};
use crate::normal::conjunctions::ConjId;

/// The alternatives of a set of locations for one kind.
pub type Shapes = Rc<[Shape]>;

/// The number of the alternatives of a set, by kind.
type Found = [u32; KINDS];

/// The entry of a set that nobody has asked about, because nothing is found before it is asked.
const NOT_ASKED: Found = [UNKNOWN; KINDS];

/// The number of alternatives that were not asked for yet: the largest, because numbers count up.
const UNKNOWN: u32 = u32::MAX;

/// The number of no alternatives: the first, because it is asked for most.
pub(super) const NO_SHAPES: u32 = 0;

pub(super) struct ShapeTable {
    /// By set.
    found: Vec<Found>,
    /// By number.
    shapes: Vec<Shapes>,
    /// The numbers of the alternatives that demand nothing, by kind, and that of integers.
    plain: [u32; KINDS + 1],
}

impl ShapeTable {
    pub(super) fn with_room(room: usize) -> ShapeTable {
        let mut shapes: Vec<Shapes> = Vec::with_capacity(room);
        shapes.push(Rc::new([]));
        ShapeTable {
            found: Vec::with_capacity(room),
            shapes,
            plain: [UNKNOWN; KINDS + 1],
        }
    }

    /// Makes room for so many sets.
    pub(super) fn grow(&mut self, sets: usize) {
        if sets > self.found.len() {
            self.found.resize(sets, NOT_ASKED);
        }
    }

    /// Returns the number of the alternatives of a set, if they were found.
    pub(super) fn number(&self, conj: ConjId, kind: Kind) -> Option<u32> {
        let number = self.found.get(conj.index())?[kind as usize];
        (number != UNKNOWN).then_some(number)
    }

    pub(super) fn set(&mut self, conj: ConjId, kind: Kind, number: u32) {
        self.found[conj.index()][kind as usize] = number;
    }

    /// Returns the alternatives of a number.
    pub(super) fn get(&self, number: u32) -> &Shapes {
        &self.shapes[number as usize]
    }

    /// Returns no alternatives.
    pub(super) fn nothing(&self) -> Shapes {
        Rc::clone(self.get(NO_SHAPES))
    }

    /// Gives alternatives a number.
    pub(super) fn add(&mut self, shapes: Shapes) -> u32 {
        if shapes.is_empty() {
            return NO_SHAPES;
        }
        self.shapes.push(shapes);
        self.shapes.len() as u32 - 1
    }

    /// Returns the number of the alternative that is any value of a kind.
    pub(super) fn any(&mut self, kind: Kind) -> u32 {
        self.plain_at(kind as usize, || Shape::any(kind))
    }

    /// Returns the number of the alternative that is any integer.
    pub(super) fn any_integer(&mut self) -> u32 {
        self.plain_at(KINDS, || {
            let mut n = NumberShape::default();
            n.numbers.add(NumberCondition::Integer(true));
            Shape::Number(n)
        })
    }

    fn plain_at(&mut self, at: usize, make: impl FnOnce() -> Shape) -> u32 {
        if self.plain[at] == UNKNOWN {
            self.plain[at] = self.add(Rc::new([make()]));
        }
        self.plain[at]
    }
}
