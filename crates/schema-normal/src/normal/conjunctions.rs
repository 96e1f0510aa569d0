//! Sets of locations that hold together: each is kept once, and has a number.
//!
//! For example, `{"allOf": [{"$ref": "#/a"}, {"$ref": "#/b"}]}` leads to the set of `/a` and `/b`.

use rustc_hash::FxHashMap;

use crate::ir::signed::Signed;
use crate::ir::{NEVER, Schema};

/// The number of a set of signed locations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConjId(u32);

impl ConjId {
    /// Returns its place in lists by number.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Any value: the first set, because the empty set demands nothing.
pub const ANY: ConjId = ConjId(0);
/// No value: the second set, because contradictions of all kinds are one.
pub const NONE: ConjId = ConjId(1);

/// Conjunctions by number.
#[derive(Debug, Default)]
pub struct Conjs {
    /// The parts of all, one conjunction after the other.
    parts: Vec<Signed>,
    /// The ends of the parts of each.
    ends: Vec<u32>,
}

impl Conjs {
    /// The parts of a conjunction, in order.
    pub fn of(&self, id: ConjId) -> &[Signed] {
        let at = id.index();
        let from = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.parts[from as usize..self.ends[at] as usize]
    }

    /// Returns the numbers of all conjunctions.
    pub(super) fn all(&self) -> impl ExactSizeIterator<Item = ConjId> + use<> {
        (0..self.ends.len()).map(|at| ConjId(at as u32))
    }

    fn with_room(count: usize) -> Conjs {
        Conjs {
            parts: Vec::with_capacity(count),
            ends: Vec::with_capacity(count),
        }
    }

    fn add(&mut self, list: &[Signed]) -> ConjId {
        self.parts.extend_from_slice(list);
        self.ends.push(self.parts.len() as u32);
        ConjId(self.ends.len() as u32 - 1)
    }
}

/// Sets of locations that are made: each is kept once, without parts that say nothing.
pub(super) struct Interner {
    sets: Conjs,
    /// The sets of two parts and more.
    ids: FxHashMap<Box<[Signed]>, ConjId>,
    /// The sets of one part, by its location: negative and positive.
    singles: Vec<[Option<ConjId>; 2]>,
    /// Room for the parts that say something.
    list: Vec<Signed>,
}

impl Interner {
    /// Returns [`ANY`] and [`NONE`] alone.
    pub(super) fn with_room(count: usize) -> Interner {
        let mut sets = Conjs::with_room(count);
        sets.add(&[]);
        sets.add(&[Signed::yes(NEVER)]);
        Interner {
            sets,
            ids: FxHashMap::default(),
            singles: Vec::new(),
            list: Vec::new(),
        }
    }

    pub(super) fn sets(&self) -> &Conjs {
        &self.sets
    }

    pub(super) fn into_sets(self) -> Conjs {
        self.sets
    }

    /// Returns the set of some locations of a schema.
    pub(super) fn intern(&mut self, schema: &Schema, parts: &[Signed]) -> ConjId {
        if let [one] = parts {
            return self.intern_one(schema, *one);
        }
        self.list.clear();
        for s in parts {
            match s.truth(schema) {
                Some(true) => {}
                Some(false) => return NONE,
                None => self.list.push(*s),
            }
        }
        let list = &mut self.list;
        list.sort_unstable();
        list.dedup();
        match list[..] {
            [] => return ANY,
            [one] => return self.intern_one(schema, one),
            _ if list.windows(2).any(|w| w[0].node == w[1].node) => return NONE,
            _ => {}
        }
        if let Some(id) = self.ids.get(list.as_slice()) {
            return *id;
        }
        let id = self.sets.add(list);
        self.ids.insert(list.as_slice().into(), id);
        id
    }

    fn intern_one(&mut self, schema: &Schema, part: Signed) -> ConjId {
        match part.truth(schema) {
            Some(true) => return ANY,
            Some(false) => return NONE,
            None => {}
        }
        let at = part.node.0 as usize;
        if at >= self.singles.len() {
            self.singles.resize(schema.nodes.len(), [None; 2]);
        }
        let sign = usize::from(part.positive);
        if let Some(known) = self.singles[at][sign] {
            return known;
        }
        let id = self.sets.add(&[part]);
        self.singles[at][sign] = Some(id);
        id
    }
}
