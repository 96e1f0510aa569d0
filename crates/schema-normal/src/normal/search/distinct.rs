//! The alternatives that were found, each once.
//!
//! For example, both branches of `{"anyOf": [{"type": "string"}, {"type": ["string", "null"]}]}`
//! have one and the same alternative of strings.

use std::hash::BuildHasher as _;

use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::normal::alternative::Shape;

/// Up to so many are compared one by one, because hashing a shape takes longer.
const FEW: usize = 4;

/// Shapes in the order in which they came, without those that came before.
#[derive(Default)]
pub(super) struct Distinct {
    list: Vec<Shape>,
    /// The places in the list of the shapes of a hash, once they are more than a few. There are no
    /// more of them than alternatives at a location, so that one may know the hash.
    places: FxHashMap<u64, Vec<u32>>,
}

impl Distinct {
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// Tells whether the shape is new.
    pub(super) fn push(&mut self, shape: Shape) -> bool {
        if self.list.len() < FEW {
            if self.list.contains(&shape) {
                return false;
            }
            self.list.push(shape);
            return true;
        }
        if self.places.is_empty() {
            for (i, known) in self.list.iter().enumerate() {
                let places = self
                    .places
                    .entry(FxBuildHasher.hash_one(known))
                    .or_default();
                places.push(i as u32);
            }
        }
        let places = self
            .places
            .entry(FxBuildHasher.hash_one(&shape))
            .or_default();
        if places.iter().any(|i| self.list[*i as usize] == shape) {
            return false;
        }
        places.push(self.list.len() as u32);
        self.list.push(shape);
        true
    }

    pub(super) fn into_list(self) -> Vec<Shape> {
        self.list
    }
}

#[cfg(test)]
mod tests {
    use crate::normal::alternative::{Shape, StringShape};
    use crate::normal::search::distinct::{Distinct, FEW};

    #[test]
    fn each_shape_is_new_once() {
        let shape = |min: u64| {
            Shape::String(StringShape {
                min,
                ..StringShape::default()
            })
        };
        let mut distinct = Distinct::default();
        let all = 3 * FEW as u64;
        for round in 0..2 {
            for min in 0..all {
                assert_eq!(distinct.push(shape(min)), round == 0);
            }
        }
        assert_eq!(distinct.len(), all as usize);
        let list: Vec<Shape> = (0..all).map(shape).collect();
        assert_eq!(distinct.into_list(), list);
    }
}
