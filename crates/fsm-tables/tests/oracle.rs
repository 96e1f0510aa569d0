//! Every construction against one that is slow and plain: texts are matched by trying all
//! ways, states are told apart by Moore's refinement, classes by asking each set.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;

use fsm_tables::{
    Alphabet, Builder, Keep, Look, MATCH, Meter, NONE, Nfa, NfaId, Pairs, Ranges, Rest, Shape,
    State, Symbols, Syntax, Table, Unlimited, explore, product,
};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Re {
    Set(Vec<(u32, u32)>),
    AtStart,
    AtEnd,
    Concat(Vec<Re>),
    Alternation(Vec<Re>),
    Repeat(Box<Re>, u32, Option<u32>),
    Lazy(Box<Re>, u32, Option<u32>),
    Look(Look, Box<Re>),
}

struct Res;

impl<M: Meter> Syntax<M> for Res {
    type Expression = Re;

    fn shape<'e>(&self, of: &'e Re) -> Shape<'e, Re> {
        match of {
            Re::Set(_) | Re::AtStart | Re::AtEnd => Shape::Leaf,
            Re::Concat(parts) => Shape::Concat(parts),
            Re::Alternation(parts) => Shape::Alternation(parts),
            Re::Repeat(of, min, max) => Shape::Repeat {
                of,
                min: *min,
                max: *max,
            },
            Re::Lazy(of, min, max) => Shape::Lazy {
                of,
                min: *min,
                max: *max,
            },
            Re::Look(look, of) => Shape::Look { look: *look, of },
        }
    }

    fn leaf(
        &mut self,
        builder: &mut Builder<'_, M>,
        leaf: &Re,
        next: NfaId,
    ) -> Result<NfaId, M::Error> {
        match leaf {
            Re::Set(ranges) => builder.symbol(ranges.clone(), next),
            Re::AtStart => builder.push(State::AtStart(next)),
            Re::AtEnd => builder.push(State::AtEnd(next)),
            other => panic!("{other:?} has parts"),
        }
    }
}

impl Re {
    /// Where a match of this can end that begins at one of some places.
    fn ends(&self, text: &[u32], from: &HashSet<usize>) -> HashSet<usize> {
        match self {
            Re::Set(ranges) => {
                let holds = |c: &u32| ranges.iter().any(|r| r.0 <= *c && *c <= r.1);
                let from = from.iter().filter(|at| text.get(**at).is_some_and(holds));
                from.map(|at| at + 1).collect()
            }
            Re::AtStart => from.iter().filter(|at| **at == 0).copied().collect(),
            Re::AtEnd => from
                .iter()
                .filter(|at| **at == text.len())
                .copied()
                .collect(),
            Re::Concat(parts) => parts.iter().fold(from.clone(), |at, p| p.ends(text, &at)),
            Re::Alternation(parts) => parts.iter().flat_map(|p| p.ends(text, from)).collect(),
            Re::Repeat(of, min, max) | Re::Lazy(of, min, max) => {
                let mut at = from.clone();
                for _ in 0..*min {
                    at = of.ends(text, &at);
                }
                let mut all = at.clone();
                for _ in 0..max.map_or(text.len() + 1, |max| max.saturating_sub(*min) as usize) {
                    at = of.ends(text, &at);
                    all.extend(&at);
                }
                all
            }
            Re::Look(look, of) => {
                let behind = |at: usize| {
                    (0..=at).any(|from| of.ends(text, &HashSet::from([from])).contains(&at))
                };
                let holds = |at: usize| match look {
                    Look::Ahead => !of.ends(text, &HashSet::from([at])).is_empty(),
                    Look::NotAhead => of.ends(text, &HashSet::from([at])).is_empty(),
                    Look::Behind => behind(at),
                    Look::NotBehind => !behind(at),
                };
                from.iter().copied().filter(|at| holds(*at)).collect()
            }
        }
    }

    /// Tries the ways one after the other, as engines do that go back; answers whether what
    /// comes behind did.
    fn tries(&self, text: &[u32], at: usize, then: &mut dyn FnMut(usize) -> bool) -> bool {
        match self {
            Re::Concat(parts) => match parts.split_first() {
                None => then(at),
                Some((first, rest)) => {
                    let rest = Re::Concat(rest.to_vec());
                    first.tries(text, at, &mut |at| rest.tries(text, at, then))
                }
            },
            Re::Alternation(parts) => parts.iter().any(|part| part.tries(text, at, then)),
            Re::Repeat(of, min, max) | Re::Lazy(of, min, max) => {
                let rest = (min.saturating_sub(1), max.map(|max| max.saturating_sub(1)));
                let is_lazy = matches!(self, Re::Lazy(..));
                let again = match is_lazy {
                    true => Re::Lazy(of.clone(), rest.0, rest.1),
                    false => Re::Repeat(of.clone(), rest.0, rest.1),
                };
                if *min > 0 {
                    return of.tries(text, at, &mut |at| again.tries(text, at, then));
                }
                if max == &Some(0) {
                    return then(at);
                }
                let more = |then: &mut dyn FnMut(usize) -> bool| {
                    of.tries(text, at, &mut |to| again.tries(text, to, then))
                };
                match is_lazy {
                    true => then(at) || more(then),
                    false => more(then) || then(at),
                }
            }
            one => one.ends(text, &HashSet::from([at])).into_iter().any(then),
        }
    }

    /// Says whether it may match the empty text.
    fn may_be_empty(&self) -> bool {
        match self {
            Re::Set(_) => false,
            Re::Concat(parts) => parts.iter().all(Re::may_be_empty),
            Re::Alternation(parts) => parts.iter().any(Re::may_be_empty),
            Re::Repeat(of, min, _) | Re::Lazy(of, min, _) => *min == 0 || of.may_be_empty(),
            Re::AtStart | Re::AtEnd | Re::Look(..) => true,
        }
    }

    /// Says whether something is repeated without end that may be empty: engines differ there.
    fn has_empty_loop(&self) -> bool {
        match self {
            Re::Set(_) | Re::AtStart | Re::AtEnd | Re::Look(..) => false,
            Re::Concat(parts) | Re::Alternation(parts) => parts.iter().any(Re::has_empty_loop),
            Re::Repeat(of, _, max) | Re::Lazy(of, _, max) => {
                max.is_none() && of.may_be_empty() || of.has_empty_loop()
            }
        }
    }

    fn accepts(&self, text: &[u32]) -> bool {
        self.ends(text, &HashSet::from([0])).contains(&text.len())
    }

    fn nfa(&self) -> Nfa {
        let mut meter = Unlimited;
        let mut builder = Builder::new(&mut meter);
        let start = builder.expression(&mut Res, self, MATCH).unwrap();
        builder.finish(start)
    }

    fn table(&self, rest: Rest) -> (Alphabet, Table<bool>) {
        let nfa = self.nfa();
        let (alphabet, members) =
            Alphabet::new(Symbols::Chars, rest, nfa.sets(), &mut Unlimited).unwrap();
        let table = nfa.determinize(alphabet.len(), &members, &mut Unlimited);
        (alphabet, table.unwrap())
    }
}

/// Sorted, disjoint ranges around the places where something changes: surrogates, ends.
fn ranges() -> impl Strategy<Value = Vec<(u32, u32)>> {
    const EDGES: [u32; 8] = [0, 1, 5, 9, 0xD7FF, 0xE000, 0xE005, 0x10_FFFF];
    let bounds = prop::collection::btree_set(prop::sample::select(&EDGES[..]), 0..6);
    bounds.prop_map(|bounds| {
        let bounds: Vec<u32> = bounds.into_iter().collect();
        bounds
            .chunks_exact(2)
            .map(|pair| (pair[0], pair[1]))
            .collect()
    })
}

fn expression() -> impl Strategy<Value = Re> {
    expressions(0, 0)
}

/// Expressions in which looks and lazy repetitions have a weight beside the other kinds.
fn expressions(looks: u32, lazy: u32) -> impl Strategy<Value = Re> {
    const LOOKS: [Look; 4] = [Look::Ahead, Look::NotAhead, Look::Behind, Look::NotBehind];
    let leaf = prop_oneof![
        8 => ranges().prop_map(Re::Set),
        1 => Just(Re::AtStart),
        1 => Just(Re::AtEnd),
        1 => Just(Re::Concat(Vec::new())),
    ];
    leaf.prop_recursive(4, 16, 3, move |inner| {
        let look = (prop::sample::select(&LOOKS[..]), inner.clone());
        let repeated = (inner.clone(), 0u32..3, prop::option::of(0u32..4));
        prop_oneof![
            4 => prop::collection::vec(inner.clone(), 0..4).prop_map(Re::Concat),
            4 => prop::collection::vec(inner.clone(), 1..4).prop_map(Re::Alternation),
            4 => (inner, 0u32..3, prop::option::of(0u32..4)).prop_map(|(re, min, max)| Re::Repeat(
                Box::new(re),
                min,
                max
            )),
            lazy => repeated.prop_map(|(re, min, max)| Re::Lazy(Box::new(re), min, max)),
            looks => look.prop_map(|(look, re)| Re::Look(look, Box::new(re))),
        ]
    })
}

const SAMPLES: [u32; 6] = [0, 3, 9, 0xD7FF, 0xE001, 0x10_FFFF];

/// All texts of up to three symbols.
fn texts() -> Vec<Vec<u32>> {
    let mut all = vec![Vec::new()];
    let mut from = 0;
    for _ in 0..3 {
        let to = all.len();
        for at in from..to {
            for c in SAMPLES {
                let mut text = all[at].clone();
                text.push(c);
                all.push(text);
            }
        }
        from = to;
    }
    all
}

fn accepts(alphabet: &Alphabet, table: &Table<bool>, text: &[u32]) -> bool {
    let mut state = if table.states() == 0 { NONE } else { 0 };
    for &symbol in text {
        if state != NONE {
            state = table.next(state, alphabet.class_of(symbol).unwrap());
        }
    }
    state != NONE && table.labels()[state as usize]
}

/// How many states the smallest automaton has, by Moore's refinement of those that are
/// reached and live.
fn smallest(table: &Table<bool>) -> usize {
    let table = table.trimmed();
    let mut blocks: Vec<u32> = table.labels().iter().map(|a| u32::from(*a)).collect();
    loop {
        let mut known: HashMap<(u32, Vec<u32>), u32> = HashMap::new();
        let mut refined = Vec::new();
        for state in 0..table.states() as u32 {
            let to = table.row(state).iter();
            let row = to.map(|to| blocks.get(*to as usize).copied().unwrap_or(NONE));
            let fresh = known.len() as u32;
            let key = (blocks[state as usize], row.collect());
            refined.push(*known.entry(key).or_insert(fresh));
        }
        let before: HashSet<u32> = blocks.iter().copied().collect();
        if known.len() == before.len() {
            return known.len();
        }
        blocks = refined;
    }
}

/// Whether states are numbered as a breadth-first search from the first meets them.
fn is_breadth_first(table: &Table<bool>) -> bool {
    let mut met = 1;
    (0..table.states() as u32).all(|state| {
        state < met
            && table
                .row(state)
                .iter()
                .filter(|to| **to != NONE)
                .all(|&to| {
                    met += u32::from(to == met);
                    to < met
                })
    })
}

proptest! {
    #[test]
    fn expressions_mean_what_they_say(re in expression()) {
        let nfa = re.nfa();
        let (alphabet, table) = re.table(Rest::AsMet);
        let least = table.minimized(&mut Unlimited).unwrap();
        for text in texts() {
            let expected = re.accepts(&text);
            prop_assert_eq!(nfa.accepts(text.iter().copied()), expected, "{:?}", text);
            prop_assert_eq!(accepts(&alphabet, &table, &text), expected, "{:?}", text);
            prop_assert_eq!(accepts(&alphabet, &least, &text), expected, "{:?}", text);
        }
    }

    #[test]
    fn looks_mean_what_they_say(re in expressions(8, 0)) {
        let nfa = re.nfa();
        let (alphabet, table) = re.table(Rest::AsMet);
        let least = table.minimized(&mut Unlimited).unwrap();
        for text in texts() {
            let expected = re.accepts(&text);
            prop_assert_eq!(nfa.accepts(text.iter().copied()), expected, "{:?}", text);
            prop_assert_eq!(accepts(&alphabet, &least, &text), expected, "{:?}", text);
        }
    }

    #[test]
    fn preferred_matches_are_those_of_engines_that_go_back(re in expressions(2, 6)) {
        prop_assume!(!re.has_empty_loop());
        let nfa = re.nfa();
        let mut meter = Unlimited;
        let mut builder = Builder::new(&mut meter);
        let start = builder.preferred(&nfa, Symbols::Chars, MATCH).unwrap();
        let preferred = builder.finish(start);
        for text in texts() {
            let mut end = None;
            re.tries(&text, 0, &mut |at| {
                end = Some(at);
                true
            });
            let expected = end == Some(text.len());
            prop_assert_eq!(preferred.accepts(text.iter().copied()), expected, "{:?}", text);
        }
    }

    #[test]
    fn the_least_table_is_the_least(re in expression(), rest in prop::sample::select(&[Rest::First, Rest::AsMet][..])) {
        let (_, table) = re.table(rest);
        let least = table.minimized(&mut Unlimited).unwrap();
        prop_assert_eq!(least.states(), smallest(&table));
        prop_assert!(least.live().iter().all(|live| *live));
        prop_assert!(is_breadth_first(&least));
        prop_assert_eq!(&least.minimized(&mut Unlimited).unwrap(), &least);
    }

    /// Tables that no expression gives: of many states, dead ones and unreached ones too.
    #[test]
    fn any_table_is_minimized(
        width in 1usize..4,
        cells in prop::collection::vec((any::<u32>(), any::<bool>()), 1..150),
        near in 1u32..100,
        gaps in 1u32..5,
    ) {
        let cells = &cells[..cells.len() / width * width];
        let labels: Vec<bool> = cells.chunks_exact(width).map(|row| row[0].1).collect();
        let states = labels.len() as u32;
        let target = |(cell, _): &(u32, bool)| match cell % gaps {
            0 if gaps > 1 => NONE,
            _ => cell / 8 % near.min(states.max(1)),
        };
        let table = Table::new(width, cells.iter().map(target).collect(), labels);
        if states == 0 {
            return Ok(());
        }
        let least = table.minimized(&mut Unlimited).unwrap();
        prop_assert_eq!(least.states(), smallest(&table));
        prop_assert!(is_breadth_first(&least));
        // The same texts: no pair that is met differs.
        let both = product(&table, &least, Keep::Every, |a, b| {
            (a.copied().unwrap_or(false), b.copied().unwrap_or(false))
        }, &mut Unlimited).unwrap();
        prop_assert!(both.labels().iter().all(|(a, b)| a == b));
    }

    #[test]
    fn classes_are_what_sets_tell_apart(sets in prop::collection::vec(ranges(), 0..6), bytes in any::<bool>()) {
        let symbols = if bytes { Symbols::Bytes } else { Symbols::Chars };
        let clip = |set: Vec<(u32, u32)>| -> Ranges {
            let end = symbols.end() - 1;
            set.into_iter().filter(|r| r.0 <= end).map(|r| (r.0, r.1.min(end))).collect()
        };
        let sets: Vec<Ranges> = sets.into_iter().map(clip).collect();
        let holds = |set: &Ranges, c: u32| set.iter().any(|r| r.0 <= c && c <= r.1);
        let probes = [0, 1, 2, 5, 6, 9, 10, 255, 256, 0xD7FF, 0xE000, 0xE001, 0xE006, 0x10_FFFE, 0x10_FFFF];
        let probes: Vec<u32> = probes.into_iter().filter(|c| *c < symbols.end()).collect();
        for rest in [Rest::First, Rest::AsMet] {
            let (alphabet, members) = Alphabet::new(symbols, rest, &sets, &mut Unlimited).unwrap();
            let sides = |c: u32| sets.iter().map(|set| holds(set, c)).collect::<Vec<_>>();
            for &a in &probes {
                let class = alphabet.class_of(a).unwrap();
                for &b in &probes {
                    prop_assert_eq!(alphabet.class_of(b) == Some(class), sides(a) == sides(b));
                }
                for (set, members) in sets.iter().zip(&members) {
                    prop_assert_eq!(members.contains(&class), holds(set, a));
                }
                let nowhere = !sides(a).contains(&true);
                prop_assert!(rest == Rest::AsMet || nowhere == (class == 0));
            }
            prop_assert!(bytes || alphabet.class_of(0xD800).is_none());
            let (starts, classes) = alphabet.tables();
            let again = Alphabet::from_tables(symbols, starts.to_vec(), classes.to_vec());
            prop_assert_eq!(again.as_ref(), Some(&alphabet));
            let mut met: Vec<u32> = alphabet.runs().map(|run| run.2).collect();
            met.sort_unstable();
            met.dedup();
            prop_assert!(met.len() == alphabet.len() || (rest == Rest::First && met.len() + 1 == alphabet.len()));
        }
    }

    #[test]
    fn products_read_side_by_side(a in expression(), b in expression()) {
        let (of_a, of_b) = (a.table(Rest::AsMet), b.table(Rest::AsMet));
        let (alphabet, classes) = Alphabet::common(&[&of_a.0, &of_b.0]);
        let [table_a, table_b] = [(&of_a.1, &classes[0]), (&of_b.1, &classes[1])]
            .map(|(table, own)| table.minimized(&mut Unlimited).unwrap().over(own));
        let is = |label: Option<&bool>| label == Some(&true);
        let meet = |keep, label: fn(bool, bool) -> bool| {
            product(&table_a, &table_b, keep, |a, b| label(is(a), is(b)), &mut Unlimited).unwrap()
        };
        let both = meet(Keep::Both, |a, b| a && b);
        let without = meet(Keep::First, |a, b| a && !b);
        let neither = meet(Keep::Every, |a, b| !a && !b);
        prop_assert!(neither.cells().iter().all(|to| *to != NONE));
        for text in texts() {
            let (in_a, in_b) = (a.accepts(&text), b.accepts(&text));
            prop_assert_eq!(accepts(&alphabet, &both, &text), in_a && in_b);
            prop_assert_eq!(accepts(&alphabet, &without, &text), in_a && !in_b);
            prop_assert_eq!(accepts(&alphabet, &neither, &text), !in_a && !in_b);
        }
    }

    #[test]
    fn what_is_explored_is_what_steps(width in 1usize..4, modulus in 1u32..40, seed in any::<u32>()) {
        let step = |at: &u32, class: usize| {
            let to = at.wrapping_mul(seed).wrapping_add(class as u32) % modulus;
            (to % 7 != 3).then_some(to)
        };
        let table = explore(width, 0, step, |at| at % 2 == 0, &mut Unlimited).unwrap();
        prop_assert!(is_breadth_first(&table));
        for text in 0..width.pow(3) {
            let (mut at, mut state) = (Some(0), 0);
            for place in 0..3 {
                let class = text / width.pow(place) % width;
                at = at.and_then(|at| step(&at, class));
                state = if state == NONE { NONE } else { table.next(state, class as u32) };
                prop_assert_eq!(at.is_none(), state == NONE);
                if let Some(at) = at {
                    prop_assert_eq!(table.labels()[state as usize], at % 2 == 0);
                }
            }
        }
    }

    /// With places and with hashes.
    #[test]
    fn pairs_are_numbered_once(
        pairs in prop::collection::vec((0u32..7, 0u32..5), 0..60),
        second in prop::sample::select(&[5usize, 1 << 16][..]),
    ) {
        let mut numbers = Pairs::new(7, second);
        let mut known: Vec<(u32, u32)> = Vec::new();
        for pair in pairs {
            let at = known.iter().position(|known| *known == pair);
            prop_assert_eq!(numbers.number(pair) as usize, at.unwrap_or(known.len()));
            if at.is_none() {
                known.push(pair);
            }
            prop_assert_eq!(numbers.len(), known.len());
        }
        prop_assert!((0..known.len()).all(|i| numbers.get(i) == known[i]));
    }
}

/// What a construction took, each against its own limit.
#[derive(Clone, Default)]
struct Counted {
    work: usize,
    bytes: usize,
    nfa_states: usize,
    states: usize,
    limits: Option<[usize; 4]>,
}

impl Counted {
    fn check(&self) -> Result<(), usize> {
        let spent = [self.work, self.bytes, self.nfa_states, self.states];
        let over = self
            .limits
            .and_then(|limits| (0..4).find(|i| spent[*i] > limits[*i]));
        over.map_or(Ok(()), Err)
    }
}

impl Meter for Counted {
    type Error = usize;

    fn work(&mut self, steps: usize) -> Result<(), usize> {
        self.work += steps;
        self.check()
    }

    fn hold(&mut self, bytes: usize) -> Result<(), usize> {
        self.bytes += bytes;
        self.check()
    }

    fn nfa_states(&mut self, states: usize) -> Result<(), usize> {
        self.nfa_states = self.nfa_states.max(states);
        self.check()
    }

    fn states(&mut self, states: usize) -> Result<(), usize> {
        self.states = self.states.max(states);
        self.check()
    }
}

fn build(re: &Re, meter: &mut Counted) -> Result<Table<bool>, usize> {
    let mut builder = Builder::new(meter);
    let start = builder.expression(&mut Res, re, MATCH)?;
    let nfa = builder.finish(start);
    let (alphabet, members) = Alphabet::new(Symbols::Chars, Rest::AsMet, nfa.sets(), meter)?;
    let table = nfa
        .determinize(alphabet.len(), &members, meter)?
        .minimized(meter)?;
    product(&table, &table, Keep::Both, |a, _| a == Some(&true), meter)
}

/// A build that just fits its limits passes; with one less of any it ends by that one.
#[test]
fn every_limit_is_kept() {
    let word = Re::Repeat(Box::new(Re::Set(vec![(97, 122)])), 3, Some(9));
    let re = Re::Alternation(vec![word, Re::Set(vec![(48, 57)])]);
    let mut free = Counted::default();
    build(&re, &mut free).unwrap();
    let spent = [free.work, free.bytes, free.nfa_states, free.states];
    assert!(spent.iter().all(|spent| *spent > 0), "{spent:?}");
    for less in 0..5 {
        let mut limits = spent;
        if let Some(limit) = limits.get_mut(less) {
            *limit -= 1;
        }
        let mut meter = Counted {
            limits: Some(limits),
            ..Counted::default()
        };
        let built = build(&re, &mut meter).map(|_| 4);
        assert_eq!(built.unwrap_or_else(|limit| limit), less);
    }
}

/// Expressions nest deeper than a thread's stack.
#[test]
fn depth_takes_no_stack() {
    let mut re = Re::Set(vec![(97, 97)]);
    for _ in 0..100_000 {
        re = Re::Concat(vec![re]);
    }
    assert!(re.nfa().accepts([97]));
    // Dropped one by one: the drop of the whole would take that stack.
    while let Re::Concat(mut parts) = re {
        let Some(inner) = parts.pop() else { break };
        re = inner;
    }
}

/// A meter without limits cannot fail.
#[test]
fn unlimited_is_infallible() -> Result<(), Infallible> {
    let table = explore(
        1,
        0u8,
        |at, _| at.checked_add(1),
        |at| *at == 255,
        &mut Unlimited,
    )?;
    assert_eq!(table.minimized(&mut Unlimited)?.states(), 256);
    Ok(())
}
