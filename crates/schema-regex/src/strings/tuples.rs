//! Tuples of states, numbered as they are met: the states of a product of automata.

use crate::hash::{FxMap, pair};

/// Tuples of one width, each with its number.
pub(crate) struct Tuples {
    width: usize,
    /// One tuple after the other.
    flat: Vec<u32>,
    /// The numbers of tuples of one or two, which fit in a word.
    words: FxMap<u64, u32>,
    /// The numbers of wider ones.
    lists: FxMap<Box<[u32]>, u32>,
}

impl Tuples {
    pub(crate) fn new(width: usize) -> Tuples {
        Tuples {
            width,
            flat: Vec::new(),
            words: FxMap::default(),
            lists: FxMap::default(),
        }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.words.len() + self.lists.len()
    }

    pub(crate) fn get(&self, number: usize) -> &[u32] {
        &self.flat[number * self.width..][..self.width]
    }

    /// The number of a tuple, the next one if it is new.
    pub(crate) fn number(&mut self, tuple: &[u32]) -> u32 {
        let next = self.len() as u32;
        let number = match *tuple {
            [one] => *self.words.entry(u64::from(one)).or_insert(next),
            [one, two] => *self.words.entry(pair(one, two)).or_insert(next),
            _ => match self.lists.get(tuple) {
                Some(known) => *known,
                None => {
                    self.lists.insert(tuple.into(), next);
                    next
                }
            },
        };
        if number == next {
            self.flat.extend(tuple);
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use super::Tuples;

    #[test]
    fn numbers_are_given_once() {
        for width in 0..5usize {
            let mut tuples = Tuples::new(width);
            let mut known: Vec<Vec<u32>> = Vec::new();
            for i in 0..60u32 {
                let tuple: Vec<u32> = (0..width as u32).map(|k| (i * i + k * i) % 7).collect();
                let at = known.iter().position(|t| *t == tuple);
                let number = tuples.number(&tuple) as usize;
                assert_eq!(number, at.unwrap_or(known.len()));
                if at.is_none() {
                    known.push(tuple.clone());
                }
                assert_eq!(tuples.get(number), tuple);
                assert_eq!(tuples.len(), known.len());
            }
        }
    }
}
