//! Pairs of states, numbered as they are met: the states of a product of two automata.

use crate::hash::{FxMap, pair};

/// Pairs, each with its number.
#[derive(Default)]
pub(crate) struct Pairs {
    list: Vec<(u32, u32)>,
    numbers: FxMap<u64, u32>,
}

impl Pairs {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn get(&self, number: usize) -> (u32, u32) {
        self.list[number]
    }

    /// The number of a pair, the next one if it is new.
    pub(crate) fn number(&mut self, (a, b): (u32, u32)) -> u32 {
        let list = &mut self.list;
        *self.numbers.entry(pair(a, b)).or_insert_with(|| {
            list.push((a, b));
            list.len() as u32 - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Pairs;

    #[test]
    fn numbers_are_given_once() {
        let mut pairs = Pairs::default();
        let mut known: Vec<(u32, u32)> = Vec::new();
        for i in 0..200u32 {
            let pair = (i * i % 7, i % 5);
            let at = known.iter().position(|p| *p == pair);
            assert_eq!(pairs.number(pair) as usize, at.unwrap_or(known.len()));
            if at.is_none() {
                known.push(pair);
            }
            assert_eq!(pairs.len(), known.len());
        }
        assert!((0..known.len()).all(|i| pairs.get(i) == known[i]));
    }
}
