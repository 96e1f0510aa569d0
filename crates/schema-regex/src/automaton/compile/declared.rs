//! The names that an object's keywords mention, each with its number, and what is said
//! of members by number.
//!
//! For example, in `{"properties": {"b": true}, "required": ["a"]}` the names are `a` and `b`.

use rustc_hash::FxHashMap;
use schema_normal::ir::{Name, NodeId};
use schema_normal::normal::alternative::{MembersAt, ObjectShape, Scope};
use schema_normal::normal::locations::Locations;

/// Names in the order of their bytes, and the numbers they were given.
pub(crate) struct Declared {
    sorted: Vec<Name>,
    number: Vec<u32>,
    /// By number.
    order: Vec<Name>,
}

/// The number of a name that has none yet, because no object declares so many.
const NONE: u32 = u32::MAX;

impl Declared {
    /// The names, each once, without numbers.
    pub(super) fn new(mut names: Vec<Name>) -> Declared {
        names.sort_unstable();
        names.dedup();
        Declared {
            number: vec![NONE; names.len()],
            order: Vec::with_capacity(names.len()),
            sorted: names,
        }
    }

    /// The number of a name, the next one if it is one of these and has none yet.
    pub(super) fn give(&mut self, name: &str) -> Option<u32> {
        let at = self.find(name)?;
        if self.number[at] == NONE {
            self.number[at] = self.order.len() as u32;
            self.order.push(self.sorted[at].clone());
        }
        Some(self.number[at])
    }

    /// Gives numbers to all names that have none, in the order of their bytes.
    pub(super) fn give_rest(&mut self) {
        for (name, number) in self.sorted.iter().zip(&mut self.number) {
            if *number == NONE {
                *number = self.order.len() as u32;
                self.order.push(name.clone());
            }
        }
    }

    fn find(&self, name: &str) -> Option<usize> {
        let found = self.sorted.binary_search_by(|known| (**known).cmp(name));
        found.ok()
    }

    /// The number of a name.
    pub(super) fn number(&self, name: &str) -> Option<u32> {
        self.find(name).map(|at| self.number[at])
    }

    /// The names by number.
    pub(super) fn order(&self) -> &[Name] {
        &self.order
    }

    /// The names in the order of their bytes, with their numbers.
    pub(super) fn sorted(&self) -> impl Iterator<Item = (&Name, u32)> {
        self.sorted.iter().zip(self.number.iter().copied())
    }
}

/// The properties that the `Members` atom of a location declares, by number.
pub(crate) struct Properties {
    /// The numbers of its names in the order of the schema.
    pub(super) order: Vec<u32>,
    /// By number the location of a declared name; the names behind are not declared.
    values: Vec<Option<NodeId>>,
}

impl Properties {
    /// The location of a name.
    pub(super) fn value(&self, number: u32) -> Option<NodeId> {
        self.values.get(number as usize).copied().flatten()
    }
}

/// The properties of the `Members` atoms that the alternatives of an object consist of.
pub(crate) type AllProperties = FxHashMap<MembersAt, Properties>;

pub(super) fn all_properties(
    locations: &Locations,
    of_rules: impl Iterator<Item = MembersAt>,
    shapes: &[(u32, &ObjectShape)],
    names: &Declared,
) -> AllProperties {
    let mut all = AllProperties::default();
    let of_witnesses = shapes.iter().flat_map(|(_, o)| &o.some);
    let of_witnesses = of_witnesses.filter_map(|witness| match &witness.scope {
        Scope::Additional(node, atom) => Some((*node, *atom)),
        _ => None,
    });
    for (node, atom) in of_rules.chain(of_witnesses) {
        all.entry((node, atom)).or_insert_with(|| {
            let members = locations.members((node, atom));
            let order = members.names.order();
            let order: Vec<u32> = order.filter_map(|name| names.number(name)).collect();
            let count = order.iter().max().map_or(0, |most| *most as usize + 1);
            let mut values = vec![None; count];
            for ((_, node), number) in members.names.list().iter().zip(&order) {
                values[*number as usize] = Some(*node);
            }
            Properties { order, values }
        });
    }
    all
}

/// The names of one alternative, by number.
pub(crate) struct OwnNames {
    pub(super) required: Vec<u32>,
    /// In order.
    pub(super) forbidden: Vec<u32>,
}

impl OwnNames {
    /// `known` are the numbers of names by where their text lies.
    pub(super) fn new(
        shape: &ObjectShape,
        names: &Declared,
        known: &mut FxHashMap<*const u8, Option<u32>>,
    ) -> OwnNames {
        let mut number = |name: &Name| {
            let found = known.entry(name.as_ptr());
            *found.or_insert_with(|| names.number(name))
        };
        let required = shape.required.iter().filter_map(&mut number).collect();
        let mut forbidden: Vec<u32> = shape.forbidden.iter().filter_map(&mut number).collect();
        forbidden.sort_unstable();
        OwnNames {
            required,
            forbidden,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::automaton::compile::declared::Declared;

    #[test]
    fn numbers_are_given_in_order_and_then_by_bytes() {
        let names = ["b", "d", "a", "b", "c", "e"].map(Into::into);
        let mut declared = Declared::new(names.to_vec());
        for name in ["d", "x", "b", "d"] {
            declared.give(name);
        }
        declared.give_rest();
        let order: Vec<&str> = declared.order().iter().map(|n| &**n).collect();
        assert_eq!(order, ["d", "b", "a", "c", "e"]);
        assert_eq!(declared.number("x"), None);
        let sorted: Vec<(&str, u32)> = declared.sorted().map(|(n, i)| (&**n, i)).collect();
        assert_eq!(sorted, [("a", 2), ("b", 1), ("c", 3), ("d", 0), ("e", 4)]);
        assert!(sorted.iter().all(|(n, i)| declared.number(n) == Some(*i)));
    }
}
