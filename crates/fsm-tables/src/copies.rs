//! The copies of a repeated part, of which one admits all that another one admits.
//!
//! For example `a{0,3}b` has three copies of `a`: from the first one on there may come three, from
//! the last one on one alone. An automaton that stands in several of them at once stands as well in
//! the first of them alone. So a search for `foo.{0,50}bar` remembers where the last `foo` ended,
//! and not where each one did, of which there are combinations without number. The last copy of
//! `a{3,}` admits most.

use crate::{Builder, Meter, NfaId, State};

/// Which copies of a part admit most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Most {
    /// The copies that are built last, which come first in a text: more may follow.
    BuiltLast,
    /// The copies that are built first: fewer must follow.
    BuiltFirst,
    /// Nothing is known.
    None,
}

/// The places of states in copies, and how much they admit among the states of one place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    /// By state its place and its rank; without a place it has the place 0.
    of: Vec<(u32, u32)>,
    /// By place how many copies have it.
    weights: Vec<u32>,
}

/// A copy: its states, and the state that it leads to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    pub(crate) begin: NfaId,
    pub(crate) end: NfaId,
    pub(crate) next: NfaId,
}

/// The copies of one repetition, as they are built.
#[derive(Debug)]
pub(crate) struct Family {
    pub(crate) most: Most,
    /// The number of copies there may be.
    weight: u32,
    before: Option<Block>,
    /// The place of the first state of each copy, if it has one.
    first: u32,
    rank: u32,
}

impl Family {
    pub(crate) fn new(most: Most, weight: u32) -> Family {
        Family {
            most,
            weight,
            before: None,
            first: 0,
            // In the middle: as many copies may come on either side.
            rank: 1 << 30,
        }
    }

    /// Gives the states of a copy that was built the places of those of the copy before it, if
    /// both are the same.
    pub(crate) fn copied<M: Meter>(
        &mut self,
        copy: Block,
        builder: &mut Builder<'_, M>,
    ) -> Result<(), M::Error> {
        let Some(before) = self.before.replace(copy) else {
            return Ok(());
        };
        let length = (copy.end - copy.begin) as usize;
        if self.most == Most::None || length == 0 {
            return Ok(());
        }
        builder.meter().work(length)?;
        let states = |block: Block| &builder.states[block.begin as usize..block.end as usize];
        let mut pairs = states(before).iter().zip(states(copy));
        let is_same =
            states(before).len() == length && pairs.all(|(a, b)| before.is_alike(*a, &copy, *b));
        if !is_same {
            self.first = 0;
            return Ok(());
        }
        builder.meter().hold(length * PLACE_BYTES)?;
        let places = &mut builder.places;
        if self.first == 0 {
            self.first = places.more(length, self.weight);
            places.give(before, (self.first, self.rank));
        }
        match self.most {
            Most::BuiltLast => self.rank += 1,
            Most::BuiltFirst => self.rank -= 1,
            Most::None => {}
        }
        places.give(copy, (self.first, self.rank));
        Ok(())
    }
}

/// The memory that a place takes: twice its size, because lists grow to twice their length.
const PLACE_BYTES: usize = 2 * size_of::<(u32, u32)>();

impl Places {
    /// The number of numbers of places there are, that of none included.
    pub(crate) fn count(&self) -> usize {
        self.weights.len()
    }

    /// The place of a state and its rank there.
    pub(crate) fn of(&self, id: NfaId) -> Option<(u32, u32)> {
        let place = self.of.get(id as usize)?;
        (place.0 > 0).then_some(*place)
    }

    /// Gives states places from a number on, but those that have one among more copies.
    fn give(&mut self, block: Block, (first, rank): (u32, u32)) {
        if self.of.len() < block.end as usize {
            self.of.resize(block.end as usize, (0, 0));
        }
        for (place, id) in (first..).zip(block.begin..block.end) {
            let own = &mut self.of[id as usize];
            if self.weights[own.0 as usize] < self.weights[place as usize] {
                *own = (place, rank);
            }
        }
    }

    /// New places for so many states.
    fn more(&mut self, length: usize, weight: u32) -> u32 {
        if self.weights.is_empty() {
            self.weights.push(0);
        }
        let first = self.weights.len();
        self.weights.resize(first + length, weight);
        first as u32
    }
}

/// The target of a transition, seen from the copy in which it begins.
#[derive(PartialEq, Eq)]
enum To {
    Inside(NfaId),
    Behind,
    Elsewhere(NfaId),
}

impl Block {
    fn to(&self, id: NfaId) -> To {
        match id {
            id if id == self.next => To::Behind,
            id if (self.begin..self.end).contains(&id) => To::Inside(id - self.begin),
            id => To::Elsewhere(id),
        }
    }

    /// Says whether a state of this copy is what one of another copy is there.
    fn is_alike(&self, own: State, other: &Block, state: State) -> bool {
        let same = |a: NfaId, b: NfaId| self.to(a) == other.to(b);
        match (own, state) {
            (State::Symbol { set, next }, State::Symbol { set: s, next: n }) => {
                set == s && same(next, n)
            }
            (State::Split(a, b), State::Split(c, d)) => same(a, c) && same(b, d),
            (State::AtStart(a), State::AtStart(b)) | (State::AtEnd(a), State::AtEnd(b)) => {
                same(a, b)
            }
            // A look in a copy may see what comes behind it, which differs.
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::Places;
    use crate::{
        Alphabet, Builder, Keep, MATCH, Nfa, NfaId, Rest, Shape, Symbols, Syntax, Table, Unlimited,
        product,
    };

    enum Part {
        Letters(u32, u32),
        Row(Vec<Part>),
        Either(Vec<Part>),
        Times(Box<Part>, u32, Option<u32>),
    }

    struct Parts;

    impl Syntax<Unlimited> for Parts {
        type Expression = Part;

        fn shape<'e>(&self, of: &'e Part) -> Shape<'e, Part> {
            match of {
                Part::Letters(..) => Shape::Leaf,
                Part::Row(parts) => Shape::Concat(parts),
                Part::Either(parts) => Shape::Alternation(parts),
                Part::Times(of, min, max) => Shape::Repeat {
                    of,
                    min: *min,
                    max: *max,
                },
            }
        }

        fn leaf(
            &mut self,
            builder: &mut Builder<'_, Unlimited>,
            leaf: &Part,
            next: NfaId,
        ) -> Result<NfaId, Infallible> {
            match leaf {
                Part::Letters(from, to) => builder.symbol(vec![(*from, *to)], next),
                _ => Ok(next),
            }
        }
    }

    fn nfa(part: &Part) -> Nfa {
        let mut meter = Unlimited;
        let mut builder = Builder::new(&mut meter);
        let Ok(start) = builder.expression(&mut Parts, part, MATCH);
        builder.finish(start)
    }

    fn table(nfa: &Nfa) -> Table<bool> {
        let mut meter = Unlimited;
        let Ok((alphabet, members)) =
            Alphabet::new(Symbols::Chars, Rest::AsMet, nfa.sets(), &mut meter);
        let Ok(table) = nfa.determinize(alphabet.len(), &members, &mut meter);
        table
    }

    fn all(c: char) -> Part {
        Part::Letters(u32::from(c), u32::from(c))
    }

    fn any() -> Part {
        Part::Letters(97, 100)
    }

    fn times(part: Part, min: u32, max: impl Into<Option<u32>>) -> Part {
        Part::Times(Box::new(part), min, max.into())
    }

    #[test]
    fn a_search_with_a_count_takes_states_in_proportion() {
        for (min, max, most) in [(0, Some(50), 400), (50, None, 400), (0, Some(200), 1600)] {
            let searched = [
                all('a'),
                all('b'),
                times(any(), min, max),
                all('c'),
                all('c'),
            ];
            let mut parts = vec![times(any(), 0, None)];
            parts.extend(searched);
            parts.push(times(any(), 0, None));
            let nfa = nfa(&Part::Row(parts));
            assert!(
                table(&nfa).states() <= most,
                "{min} {max:?}: {}",
                table(&nfa).states()
            );
        }
    }

    /// Random expressions: the texts are the same with and without what copies tell.
    #[test]
    fn what_is_left_out_changes_no_text() {
        let mut seed = 7u64;
        let mut next = |below: u64| {
            seed = seed
                .wrapping_mul(0x5851_F42D_4C95_7F2D)
                .wrapping_add(0x1405_7B7E_F767_814F);
            (seed >> 33) % below
        };
        fn part(depth: u32, next: &mut dyn FnMut(u64) -> u64) -> Part {
            match next(if depth == 0 { 1 } else { 6 }) {
                0 => {
                    let from = 97 + next(3) as u32;
                    Part::Letters(from, from + next(2) as u32)
                }
                1 => Part::Either((0..1 + next(3)).map(|_| part(depth - 1, next)).collect()),
                2 | 3 => Part::Row((0..next(4)).map(|_| part(depth - 1, next)).collect()),
                _ => {
                    let min = next(3) as u32;
                    let max = (next(3) > 0).then(|| min + next(4) as u32);
                    times(part(depth - 1, next), min, max)
                }
            }
        }
        let mut fewer = 0;
        for _ in 0..2_000 {
            let nfa = nfa(&part(4, &mut next));
            let mut plain = nfa.clone();
            plain.places = Places::default();
            let (told, all) = (table(&nfa), table(&plain));
            fewer += u32::from(told.states() < all.states());
            let mut meter = Unlimited;
            let Ok(differ) = product(
                &told,
                &all,
                Keep::Every,
                |a, b| (a == Some(&true)) != (b == Some(&true)),
                &mut meter,
            );
            let Ok(differ) = differ.minimized(&mut meter);
            assert_eq!(differ.states(), 0);
        }
        assert!(fewer > 100, "{fewer}");
    }
}
