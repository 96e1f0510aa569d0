//! Pairs by number. For example, `(0, 0)` is pair 0, and the next new one is pair 1.

use rustc_hash::FxHashMap;

/// The most possible pairs for which each has a place: a table of a quarter of a MiB, because
/// beyond it a map of those that are met is smaller.
const MANY: usize = 1 << 16;

/// Pairs of states, numbered as they are met: the states of a product of two automata.
///
/// ```
/// use fsm_tables::Pairs;
///
/// let mut pairs = Pairs::new(4, 4);
/// assert_eq!([(0, 0), (3, 1), (0, 0)].map(|pair| pairs.number(pair)), [0, 1, 0]);
/// assert_eq!((pairs.len(), pairs.get(1)), (2, (3, 1)));
/// ```
#[derive(Debug)]
pub struct Pairs {
    list: Vec<(u32, u32)>,
    numbers: Numbers,
}

#[derive(Debug)]
enum Numbers {
    /// By place one more than the number, row by row of so many.
    Placed(Vec<u32>, usize),
    /// A map, for pairs that would need too many places.
    Hashed(FxHashMap<u64, u32>),
}

impl Pairs {
    /// For pairs of numbers below these.
    pub fn new(first: usize, second: usize) -> Pairs {
        Pairs::with_places(first, second, MANY)
    }

    /// The same, where up to `many` pairs that there may be have a place each: more where
    /// most of them are met.
    pub fn with_places(first: usize, second: usize, many: usize) -> Pairs {
        let numbers = match first.checked_mul(second) {
            Some(all) if all <= many => Numbers::Placed(vec![0; all], second),
            _ => Numbers::Hashed(FxHashMap::default()),
        };
        Pairs {
            list: Vec::new(),
            numbers,
        }
    }

    /// Returns the number of pairs.
    #[allow(clippy::len_without_is_empty, reason = "a product begins with a pair")]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// The pair with this number.
    ///
    /// # Panics
    ///
    /// There are not so many.
    pub fn get(&self, number: usize) -> (u32, u32) {
        self.list[number]
    }

    /// The number of a pair, the next one if it is new.
    ///
    /// # Panics
    ///
    /// A number of the pair is not below what was said.
    pub fn number(&mut self, (a, b): (u32, u32)) -> u32 {
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
///
/// ```
/// assert_eq!(fsm_tables::packed(1, 2), 0x2_0000_0001);
/// ```
pub fn packed(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}
