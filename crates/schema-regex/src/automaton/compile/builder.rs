//! Builds the nodes that a schema reaches: for each kind the alternatives of
//! each goal become threads and leaves of one machine.
//!
//! For example, the goals of `{"type": ["string", "array"]}` become one node with a leaf that reads
//! strings and a machine that reads arrays.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use schema_normal::ir::NodeId;
use schema_normal::language::char_dfa::CharDfa;
use schema_normal::ledger::Narrowed;
use schema_normal::normal::alternative::Kind;
use schema_normal::normal::conjunctions::{ANY, ConjId, NONE};
use schema_normal::normal::normaliser::{Normaliser, room_for};
use schema_normal::normal::search::shapes::shapes_of;
use schema_normal::normal::shape_table::Shapes;
use schema_normal::options::Options;
use schema_normal::{Error, ErrorKind};

use crate::automaton::compile::leaf_cache::{LeafCache, Machines};
use crate::automaton::machine::few::Few;
use crate::automaton::machine::loop_classes::Loops;
use crate::automaton::machine::node::{Choice, Choices, Member, Node};

pub(crate) struct Builder {
    pub(super) normaliser: Normaliser,
    pub(super) leaves: LeafCache,
    /// The nodes that are built.
    pub(super) nodes: Vec<Node>,
    /// The goals of all nodes, but for those that are built.
    pub(super) asked: Vec<Few<ConjId>>,
    /// The nodes of one goal, by goal.
    singles: Vec<u32>,
    /// The nodes of several goals.
    ids: FxHashMap<Box<[ConjId]>, u32>,
    /// Machines that nodes share.
    pub(super) machines: Machines,
    pub(super) loops: Loops,
    pub(super) loops_of: FxHashMap<*const CharDfa, u32>,
    /// The caps that were applied: a location, a keyword, and the bound in words.
    pub(super) narrowed: Narrowed,
    /// Locations of strings that have so many characters at most.
    pub(super) lengths: Vec<(u64, NodeId)>,
}

/// For each thread its choices of goals, before the goals have numbers.
pub(crate) type Wanted = Vec<(u32, ConjId, u32)>;

impl Builder {
    pub(super) fn new(normaliser: Normaliser) -> Builder {
        let room = room_for(normaliser.schema());
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

    pub(super) fn options(&self) -> &Options {
        self.normaliser.options()
    }

    /// The number of the node with these goals, to be built later.
    pub(super) fn node(&mut self, goals: &[ConjId]) -> Result<u32, Error> {
        let known = match goals {
            [one] => self.singles.get(one.index()).copied(),
            _ => self.ids.get(goals).copied(),
        };
        if let Some(id) = known.filter(|id| *id != UNKNOWN) {
            return Ok(id);
        }
        if self.asked.len() >= MAX_NODES {
            let at = goals.first().copied().unwrap_or(ANY);
            return Err(Error::new(
                ErrorKind::TooManyNodes,
                self.normaliser.pointer(self.normaliser.first_of(at)),
                format!("the schema asks more than {MAX_NODES} different things of values"),
            ));
        }
        let id = self.asked.len() as u32;
        self.asked.push(goals.into());
        match goals {
            [one] => {
                let at = one.index();
                if at >= self.singles.len() {
                    let count = self.normaliser.sets().len();
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

    /// The shapes of the goals that have any for a kind, each with its goal.
    pub(super) fn shapes(
        &mut self,
        goals: &[ConjId],
        kind: Kind,
    ) -> Result<Few<(u32, Shapes)>, Error> {
        if let &[goal] = goals {
            let shapes = shapes_of(&mut self.normaliser, goal, kind)?;
            return Ok(match shapes.is_empty() {
                true => Few::default(),
                false => Few::One((0, shapes)),
            });
        }
        let mut out = Vec::new();
        for (g, conj) in (0..).zip(goals) {
            let shapes = shapes_of(&mut self.normaliser, *conj, kind)?;
            if !shapes.is_empty() {
                out.push((g, shapes));
            }
        }
        Ok(out.into())
    }
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

/// The number of a node that nobody has asked for.
const UNKNOWN: u32 = u32::MAX;

/// The most nodes of one automaton, because a schema may ask for a node for each combination of its
/// goals, and each takes memory.
const MAX_NODES: usize = 200_000;
