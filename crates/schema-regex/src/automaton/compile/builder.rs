//! Builds the nodes that a schema reaches: for each kind the alternatives of
//! each goal become threads and leaves of one machine.

use std::sync::{Arc, OnceLock};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::automaton::compile::leaves::{self, LeafCache, Machines, StringLeaf};
use crate::automaton::compile::united_strings::{self, Leaves};
use crate::automaton::compile::{caps, objects, plain_objects};
use crate::automaton::machine::enough_values::Catalog;
use crate::automaton::machine::few::Few;
use crate::automaton::machine::loop_classes::Loops;
use crate::automaton::machine::node::{
    ArrayMachine, ArrayThread, Choice, Choices, Counter, EMPTY, Leaf, Member, Node, NumberMachine,
    ObjectMachine, StringMachine, Word, Words,
};
use crate::error::{Error, ErrorKind};
use crate::ir::signed::Signed;
use crate::ir::{Name, NodeId};
use crate::language::char_dfa::CharDfa;
use crate::language::clamped;
use crate::language::number_dfa::NumberDfa;
use crate::normal::alternative::{ArrayShape, Kind, ObjectShape, Shape, StringShape};
use crate::normal::conjunctions::ConjId;
use crate::normal::conjunctions::{ANY, NONE};
use crate::normal::normaliser::{Normaliser, Shapes, room_for};
use crate::options::Options;
use crate::regex::Narrowed;

pub(crate) struct Builder {
    pub(super) normaliser: Normaliser,
    pub(super) leaves: LeafCache,
    /// Those that are built.
    pub(super) nodes: Vec<Node>,
    /// The goals of all nodes, but for those that are built.
    asked: Vec<Few<ConjId>>,
    /// The nodes of one goal, by goal.
    singles: Vec<u32>,
    /// Those of several goals.
    ids: FxHashMap<Box<[ConjId]>, u32>,
    /// Machines that nodes share.
    machines: Machines,
    pub(super) loops: Loops,
    loops_of: FxHashMap<*const CharDfa, u32>,
    /// Where caps were applied: a location, a keyword, how.
    pub(super) narrowed: Narrowed,
    /// Locations of strings that have so many characters at most.
    pub(super) lengths: Vec<(u64, NodeId)>,
}

/// For each thread its choices of goals, before the goals have numbers.
pub(crate) type Wanted = Vec<(u32, ConjId, u32)>;

impl Builder {
    pub(super) fn new(normaliser: Normaliser) -> Builder {
        let room = room_for(&normaliser.schema);
        Builder {
            normaliser,
            leaves: LeafCache::default(),
            nodes: Vec::with_capacity(room),
            asked: Vec::with_capacity(room),
            singles: Vec::with_capacity(room),
            ids: FxHashMap::default(),
            machines: Machines::default(),
            loops: Loops::default(),
            loops_of: FxHashMap::default(),
            narrowed: Narrowed::new(),
            lengths: Vec::new(),
        }
    }

    /// Builds everything that can be reached from a conjunction; it is node 0.
    pub(super) fn build(&mut self, root: ConjId) -> Result<(), Error> {
        self.node(&[root])?;
        while let Some(goals) = self.asked.get_mut(self.nodes.len()) {
            let goals = std::mem::take(goals);
            let node = self.make(goals)?;
            self.nodes.push(node);
        }
        Ok(())
    }

    pub(super) fn options(&self) -> &Options {
        &self.normaliser.options
    }

    /// The number of the node with these goals, to be built later.
    pub(super) fn node(&mut self, goals: &[ConjId]) -> Result<u32, Error> {
        let known = match goals {
            [one] => self.singles.get(one.0 as usize).copied(),
            _ => self.ids.get(goals).copied(),
        };
        if let Some(id) = known.filter(|id| *id != UNKNOWN) {
            return Ok(id);
        }
        if self.asked.len() >= MAX_NODES {
            let at = goals.first().copied().unwrap_or(ANY);
            return Err(Error::new(
                ErrorKind::TooManyNodes,
                self.normaliser.pointer_of(at),
                format!("the schema asks more than {MAX_NODES} different things of values"),
            ));
        }
        let id = self.asked.len() as u32;
        self.asked.push(goals.into());
        match goals {
            [one] => {
                let at = one.0 as usize;
                if at >= self.singles.len() {
                    let count = self.normaliser.conjs.count();
                    self.singles.resize(count, UNKNOWN);
                }
                self.singles[at] = id;
            }
            _ => {
                self.ids.insert(goals.into(), id);
            }
        }
        Ok(id)
    }

    /// The member for what threads want; of those that want the impossible
    /// nothing is left.
    pub(super) fn member(&mut self, wanted: &Wanted) -> Result<Member, Error> {
        if let [(thread, conj, take)] = wanted[..]
            && conj != NONE
        {
            let goal = 0;
            return Ok(Member {
                node: self.node(&[conj])?,
                options: Choices::one(Choice { thread, goal, take }),
            });
        }
        // Many threads want the same: most of that goes before goals are sorted.
        let mut goals: Vec<ConjId> = Vec::new();
        for (_, conj, _) in wanted {
            if *conj != NONE && goals.last() != Some(conj) {
                goals.push(*conj);
            }
        }
        goals.sort_unstable();
        goals.dedup();
        if goals.is_empty() {
            return Ok(Member {
                node: u32::MAX,
                options: Choices::default(),
            });
        }
        let mut options: Vec<Choice> = Vec::with_capacity(wanted.len());
        for (thread, conj, take) in wanted {
            if let Ok(goal) = goals.binary_search(conj) {
                options.push(Choice {
                    thread: *thread,
                    goal: goal as u32,
                    take: *take,
                });
            }
        }
        Ok(Member {
            node: self.node(&goals)?,
            options: Choices::new(options),
        })
    }

    fn make(&mut self, goals: Few<ConjId>) -> Result<Node, Error> {
        Ok(Node {
            heights: goals.iter().map(|_| EMPTY).collect(),
            units: [
                self.units(&goals, Kind::Null)?,
                self.units(&goals, Kind::False)?,
                self.units(&goals, Kind::True)?,
            ],
            number: self.numbers(&goals)?,
            string: self.strings(&goals)?,
            array: self.arrays(&goals)?,
            object: self.objects(&goals)?,
            goals,
            alias: 0,
            print: OnceLock::new(),
            near_print: OnceLock::new(),
            own_print: OnceLock::new(),
            names_print: OnceLock::new(),
        })
    }

    /// The goals that a value satisfies which is alone of its kind.
    fn units(&mut self, goals: &[ConjId], kind: Kind) -> Result<Few<u32>, Error> {
        if let &[goal] = goals {
            return Ok(match self.normaliser.has_shapes(goal, kind)? {
                true => Few::One(0),
                false => Few::default(),
            });
        }
        let mut held = Vec::new();
        for (g, conj) in (0..).zip(goals) {
            if self.normaliser.has_shapes(*conj, kind)? {
                held.push(g);
            }
        }
        Ok(held.into())
    }

    /// The shapes of the goals that have any for a kind, each with its goal.
    fn shapes(&mut self, goals: &[ConjId], kind: Kind) -> Result<Few<(u32, Shapes)>, Error> {
        if let &[goal] = goals {
            let shapes = self.normaliser.shapes_of(goal, kind)?;
            return Ok(match shapes.is_empty() {
                true => Few::default(),
                false => Few::One((0, shapes)),
            });
        }
        let mut out = Vec::new();
        for (g, conj) in (0..).zip(goals) {
            let shapes = self.normaliser.shapes_of(*conj, kind)?;
            if !shapes.is_empty() {
                out.push((g, shapes));
            }
        }
        Ok(out.into())
    }

    fn numbers(&mut self, goals: &[ConjId]) -> Result<Option<Arc<NumberMachine>>, Error> {
        let shapes = self.shapes(goals, Kind::Number)?;
        if shapes.is_empty() {
            return Ok(None);
        }
        let mut dfas: Vec<Arc<NumberDfa>> = Vec::new();
        let mut leaves = Vec::new();
        for (goal, shape) in each(&shapes) {
            let Shape::Number(shape) = shape else {
                continue;
            };
            let dfa = leaves::number_dfa(self, shape)?;
            if dfa.is_empty() {
                continue;
            }
            let dfa = caps::cap_number(self, goals[goal as usize], dfa)?;
            if let [(0, one)] = &shapes[..]
                && one.len() == 1
            {
                return Ok(Some(self.machines.number(dfa)));
            }
            leaves.push((goal, number_in(&mut dfas, dfa)));
        }
        leaves.sort_unstable();
        leaves.dedup();
        Ok((!leaves.is_empty()).then(|| {
            Arc::new(NumberMachine {
                leaves: leaves.into(),
                dfas: dfas.into(),
            })
        }))
    }

    pub(super) fn strings(
        &mut self,
        goals: &[ConjId],
    ) -> Result<Option<Arc<StringMachine>>, Error> {
        if let &[goal] = goals
            && self.normaliser.is_any_string(goal)?
            && self.options().caps.length.is_none()
        {
            return Ok(Some(self.machines.free_string()));
        }
        let shapes = self.shapes(goals, Kind::String)?;
        if shapes.is_empty() {
            return Ok(None);
        }
        let mut dfas: Vec<Arc<CharDfa>> = Vec::new();
        let mut leaves: Vec<Leaf> = Vec::new();
        let mut words: Vec<(Name, u32, Mention)> = Vec::new();
        let mut cap = 0u64;
        let mut free = None;
        // The last keyword that asked for an automaton.
        let mut last = None;
        for (goal, shape) in each_apart(&shapes) {
            let capped = caps::cap_string(self, goals[goal as usize], shape)?;
            let shape = capped.as_ref().unwrap_or(shape);
            for leaf in leaves::string_leaves(self, shape)? {
                let id = leaves.len() as u32;
                let StringLeaf {
                    listed,
                    dfa,
                    min,
                    max,
                    lengths,
                    excludes,
                } = leaf;
                if listed {
                    let texts = shape.allowed.iter().flatten();
                    words.extend(texts.map(|text| (text.clone(), id, Mention::Listed)));
                }
                if excludes {
                    let texts = shape.excluded.iter();
                    words.extend(texts.map(|text| (text.clone(), id, Mention::Excluded)));
                }
                match (&dfa, &lengths) {
                    (None, _) => cap = cap.max(max.map_or(min, |m| m.saturating_add(1))),
                    (Some(_), Some(l)) => cap = cap.max(l.cap()),
                    _ => {}
                }
                if !listed && dfa.is_none() && min == 0 && max.is_none() && !excludes {
                    free = Some(id);
                }
                if dfa.is_some() {
                    last = shape.at.or(last);
                }
                let dfa = dfa.map(|dfa| number_in(&mut dfas, dfa));
                leaves.push(Leaf {
                    goal,
                    listed,
                    dfa,
                    min,
                    max,
                    lengths,
                    excludes,
                });
            }
        }
        if leaves.is_empty() {
            return Ok(None);
        }
        if leaves.len() > MAX_ASKING && asking(&leaves) > MAX_ASKING {
            let at = self.normaliser.first_of(goals[0]);
            return Err(Error::new(
                ErrorKind::TooManyAlternatives,
                self.normaliser.pointer(at),
                format!(
                    "more than {MAX_ASKING} alternatives around this string ask each something \
                     else of it; simplify them"
                ),
            ));
        }
        let Leaves {
            leaves,
            dfas,
            places,
        } = united_strings::united(self, leaves, dfas, last)?;
        if let Some(places) = places {
            for (_, leaf, _) in &mut words {
                *leaf = places.binary_search(leaf).map_or(*leaf, |at| at as u32);
            }
            let place = |old: u32| places.binary_search(&old).ok().map(|at| at as u32);
            free = free.and_then(place);
        }
        let list = words_of(words);
        let loops = dfas.iter().map(|d| {
            let known = self.loops_of.entry(Arc::as_ptr(d));
            *known.or_insert_with(|| self.loops.reserve(d.states()))
        });
        let loops = loops.collect();
        Ok(Some(Arc::new(StringMachine {
            loops,
            // One free leaf and no other: nothing has to be remembered.
            cap: clamped(cap),
            free: free.filter(|_| leaves.len() == 1),
            words: Words::new(list, leaves.len()),
            leaves: leaves.into(),
            dfas: dfas.into(),
        })))
    }

    fn arrays(&mut self, goals: &[ConjId]) -> Result<Option<Box<ArrayMachine>>, Error> {
        let known = self.shapes(goals, Kind::Array)?;
        if known.is_empty() {
            return Ok(None);
        }
        let mut shapes: Vec<(u32, ArrayShape)> = each(&known)
            .filter_map(|(g, s)| match s {
                Shape::Array(a) => Some((g, a.clone())),
                _ => None,
            })
            .collect();
        if shapes.is_empty() {
            return Ok(None);
        }
        for (goal, shape) in &mut shapes {
            caps::cap_array(self, goals[*goal as usize], shape);
        }
        let mut prefix = 0u64;
        let mut cap = 0u64;
        for (_, a) in &shapes {
            for rule in &a.rules {
                prefix = prefix.max(rule.prefix.len() as u64);
            }
            for (i, _) in &a.single {
                prefix = prefix.max(i + 1);
            }
            for c in &a.counts {
                prefix = prefix.max(c.from);
            }
            cap = cap.max(a.max.map_or(a.min, |m| m.saturating_add(1)));
        }
        let at = self.normaliser.first_of(goals[0]);
        if prefix > MAX_PREFIX {
            return Err(Error::new(
                ErrorKind::Refused,
                self.normaliser.pointer(at),
                format!("more than {MAX_PREFIX} items have a schema of their own"),
            ));
        }
        cap = cap.max(prefix);
        let mut members = Vec::with_capacity(prefix as usize + 1);
        for index in 0..=prefix {
            let mut wanted: Wanted = Vec::new();
            for (t, (_, a)) in shapes.iter().enumerate() {
                self.item_choices(t as u32, a, index, &mut wanted)?;
            }
            self.normaliser.spend_many(at, wanted.len())?;
            members.push(self.member(&wanted)?);
        }
        let mut threads = Vec::with_capacity(shapes.len());
        for (goal, a) in shapes {
            let counts: Vec<Counter> = a
                .counts
                .iter()
                .map(|c| Counter {
                    min: u32::try_from(c.min).unwrap_or(u32::MAX - 1),
                    max: c.max.map(|m| u32::try_from(m).unwrap_or(u32::MAX - 1)),
                })
                .collect();
            let mut product = 1u64;
            for c in &counts {
                product = product.saturating_mul(u64::from(c.radix()));
            }
            let followed = match counts.len() {
                0 | 1 => product,
                _ => product
                    .saturating_mul(cap.saturating_add(1))
                    .saturating_mul(MANY_COUNTS),
            };
            if followed > MAX_COUNTS {
                let c = &a.counts[0];
                let why = "the counts are too large to be followed";
                return Err(self.normaliser.refusal(c.at, why));
            }
            threads.push(ArrayThread {
                goal,
                min: a.min,
                max: a.max,
                counts: counts.into(),
                unique: a.unique.is_some(),
            });
        }
        Ok(Some(Box::new(ArrayMachine {
            unique: threads.iter().any(|t| t.unique),
            threads: threads.into(),
            members: members.into(),
            catalog: Catalog::default(),
            cap: clamped(cap),
        })))
    }

    /// What an item may be: with each count raised or not.
    fn item_choices(
        &mut self,
        thread: u32,
        a: &ArrayShape,
        index: u64,
        out: &mut Wanted,
    ) -> Result<(), Error> {
        let active: Vec<usize> = (0..a.counts.len())
            .filter(|i| index >= a.counts[*i].from)
            .collect();
        if active.len() > 4 {
            let at = a.counts[0].at;
            let why = "more than four counts meet in one array";
            return Err(self.normaliser.refusal(at, why));
        }
        for subset in 0..1u32 << active.len() {
            let mut more: Vec<Signed> = Vec::new();
            let mut take = 0;
            for (bit, i) in active.iter().enumerate() {
                let count = &a.counts[*i];
                if subset & (1 << bit) != 0 {
                    more.push(count.item);
                    take |= 1 << *i;
                } else if count.max.is_some() {
                    more.push(Signed {
                        node: count.item.node,
                        positive: !count.item.positive,
                    });
                }
            }
            let conj = self.normaliser.item_conj(a, index, &more);
            out.push((thread, conj, take));
        }
        Ok(())
    }

    fn objects(&mut self, goals: &[ConjId]) -> Result<Option<Box<ObjectMachine>>, Error> {
        let known = self.shapes(goals, Kind::Object)?;
        if known.is_empty() {
            return Ok(None);
        }
        let mut capped: Vec<(u32, ObjectShape)> = Vec::new();
        if caps::caps_objects(self) {
            for (goal, shape) in each(&known) {
                if let Shape::Object(o) = shape {
                    let mut o = o.clone();
                    caps::cap_object(self, goals[goal as usize], &mut o)?;
                    capped.push((goal, o));
                }
            }
        }
        let one = match (&known[..], &capped[..]) {
            (_, [(_, o)]) => Some(o),
            ([(_, list)], []) => match &list[..] {
                [Shape::Object(o)] => Some(o),
                _ => None,
            },
            _ => None,
        };
        if let (&[goal], Some(o)) = (goals, one)
            && let Some(machine) = plain_objects::plain_object(self, goal, o)?
        {
            return Ok(Some(Box::new(machine)));
        }
        let as_found = each(&known).filter_map(|(g, s)| match s {
            Shape::Object(o) => Some((g, o)),
            _ => None,
        });
        let shapes: Vec<(u32, &ObjectShape)> = match capped.is_empty() {
            true => as_found.collect(),
            false => capped.iter().map(|(g, o)| (*g, o)).collect(),
        };
        if shapes.is_empty() {
            return Ok(None);
        }
        Ok(Some(Box::new(objects::object_machine(
            self, goals, &shapes,
        )?)))
    }
}

/// Each shape with its goal.
fn each(shapes: &[(u32, Shapes)]) -> impl Iterator<Item = (u32, &Shape)> {
    shapes
        .iter()
        .flat_map(|(goal, list)| list.iter().map(|shape| (*goal, shape)))
}

/// The strings that goals allow, without those that another shape of the same goal contains:
/// combinations of `anyOf` and `not` repeat one another.
fn each_apart(shapes: &[(u32, Shapes)]) -> impl Iterator<Item = (u32, &StringShape)> {
    shapes.iter().flat_map(|(goal, list)| {
        let strings = list.iter().filter_map(|shape| match shape {
            Shape::String(shape) => Some(shape),
            _ => None,
        });
        let strings: Vec<&StringShape> = strings.collect();
        // Those that ask little contain others.
        let mut by_size: Vec<usize> = (0..strings.len()).collect();
        by_size.sort_by_key(|at| strings[*at].conditions());
        let mut apart: Vec<usize> = Vec::with_capacity(strings.len());
        for at in by_size {
            let mut largest = apart.iter().take(MANY_SHAPES);
            if !largest.any(|other| strings[*other].contains(strings[at])) {
                apart.push(at);
            }
        }
        apart.sort_unstable();
        apart.into_iter().map(move |at| (*goal, strings[at]))
    })
}

/// The number of an automaton in a list, to which it is added if it is new.
pub(super) fn number_in<T>(list: &mut Vec<Arc<T>>, one: Arc<T>) -> u32 {
    let known = list.iter().position(|other| Arc::ptr_eq(other, &one));
    let number = known.unwrap_or_else(|| {
        list.push(one);
        list.len() - 1
    });
    number as u32
}

/// How a leaf mentions a text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Mention {
    Listed,
    Excluded,
}

/// The texts that leaves mention, in the order of their bytes.
fn words_of(mut mentioned: Vec<(Name, u32, Mention)>) -> Vec<Word> {
    // Those of one text stay in the order of the leaves.
    mentioned.sort_by(|a, b| a.0.cmp(&b.0));
    let mut list: Vec<Word> = Vec::new();
    let mut rest = mentioned.into_iter().peekable();
    while let Some((text, leaf, mention)) = rest.next() {
        let mut leaves = [Vec::new(), Vec::new()];
        leaves[mention as usize].push(leaf);
        while let Some((_, leaf, mention)) = rest.next_if(|next| next.0 == text) {
            leaves[mention as usize].push(leaf);
        }
        let [listed, excluded] = leaves;
        list.push(Word {
            text,
            listed: listed.into(),
            excluded: excluded.into(),
        });
    }
    list
}

/// The number of a node that nobody has asked for.
const UNKNOWN: u32 = u32::MAX;

/// How many leaves, of as many goals, ask something else of a string but to be a listed one.
fn asking(leaves: &[Leaf]) -> usize {
    let asks = |l: &&Leaf| !l.listed && (l.dfa.is_some() || l.min > 0 || l.max.is_some());
    let asking = leaves.iter().filter(asks);
    let asked: FxHashSet<_> = asking.clone().map(|l| (l.dfa, l.min, l.max)).collect();
    let goals: FxHashSet<u32> = asking.map(|l| l.goal).collect();
    asked.len().min(goals.len())
}

/// The most nodes of one automaton.
const MAX_NODES: usize = 200_000;
/// Of more shapes of one goal it is not asked which others they contain: each shape is held
/// against all of them.
const MANY_SHAPES: usize = 256;
/// The most items with a schema of their own.
const MAX_PREFIX: u64 = 5_000;
/// Most alternatives that ask something of one string but to be a listed one: each character
/// is held against all of them.
const MAX_ASKING: usize = 200;
/// How much more it takes to follow several counts than one, which needs no search.
const MANY_COUNTS: u64 = 64;
/// The most combinations of counts and index that are followed.
const MAX_COUNTS: u64 = 1 << 22;
