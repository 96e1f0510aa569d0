//! Pairs of states, numbered as they are met: the states of a product of two automata.

use rustc_hash::FxHashMap;

/// Up to so many pairs that there may be have a place each.
const MANY: usize = 1 << 16;

/// Pairs, each with its number.
pub(crate) struct Pairs {
    list: Vec<(u32, u32)>,
    numbers: Numbers,
}

enum Numbers {
    /// By place one more than the number, row by row of so many.
    Placed(Vec<u32>, usize),
    /// Where there would be too many places.
    Hashed(FxHashMap<u64, u32>),
}

impl Pairs {
    /// For pairs of numbers below these.
    pub(crate) fn new(first: usize, second: usize) -> Pairs {
        Pairs::with_places(first, second, MANY)
    }

    /// The same, where up to `many` pairs that there may be have a place each: more where
    /// most of them are met.
    pub(crate) fn with_places(first: usize, second: usize, many: usize) -> Pairs {
        let numbers = match first.checked_mul(second) {
            Some(all) if all <= many => Numbers::Placed(vec![0; all], second),
            _ => Numbers::Hashed(FxHashMap::default()),
        };
        Pairs {
            list: Vec::new(),
            numbers,
        }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn get(&self, number: usize) -> (u32, u32) {
        self.list[number]
    }

    /// The number of a pair, the next one if it is new.
    pub(crate) fn number(&mut self, (a, b): (u32, u32)) -> u32 {
        let fresh = self.list.len() as u32;
        let number = match &mut self.numbers {
            Numbers::Placed(places, width) => {
                let place = &mut places[a as usize * *width + b as usize];
                if *place == 0 {
                    *place = fresh + 1;
                }
                *place - 1
            }
            Numbers::Hashed(numbers) => *numbers.entry(packed(a, b)).or_insert(fresh),
        };
        if number == fresh {
            self.list.push((a, b));
        }
        number
    }
}

/// Two small numbers as one, to be hashed at once.
pub(crate) fn packed(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

#[cfg(test)]
mod tests {
    use crate::language::pairs::{MANY, Pairs};

    #[test]
    fn numbers_are_given_once() {
        for second in [5, MANY] {
            let mut pairs = Pairs::new(7, second);
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
}
