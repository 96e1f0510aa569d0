//! The names that an object's keywords mention, each with its number.

use crate::ir::Name;

/// Names in the order of their bytes, and the numbers they were given.
pub(super) struct Declared {
    sorted: Vec<Name>,
    number: Vec<u32>,
    /// By number.
    order: Vec<Name>,
}

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

    /// Gives the next number to a name, if it is one of these and has none yet.
    pub(super) fn give(&mut self, name: &str) {
        if let Some(at) = self.find(name)
            && self.number[at] == NONE
        {
            self.number[at] = self.order.len() as u32;
            self.order.push(self.sorted[at].clone());
        }
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

#[cfg(test)]
mod tests {
    use super::Declared;

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
