//! Fronts: sets of stacks between two lexemes, by number, and what may come on top of them.
//!
//! For example, behind `1` of a sum one stack awaits `+` and one the end; a front has both.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::FixedState;

use crate::compile::cfg::Matter;
use crate::machine::Machine;
use crate::run::by_hash::ByHash;
use crate::run::lexes::Lexes;
use crate::run::lists::{List, Lists};
use crate::run::nodes::Nodes;

/// All that one scratch knows.
#[derive(Debug)]
pub(crate) struct Fronts {
    /// By front, the topmost nodes, ascending, and the number of what may come.
    all: Vec<(List, u32)>,
    ids: ByHash,
    nodes: Lists<u32>,
    nexts: Vec<Next>,
    /// The numbers of what may come, by the states of topmost nodes.
    next_ids: HashMap<Box<[u32]>, u32, FixedState>,
    bytes: usize,
}

/// The terminals that may come on top of some states.
#[derive(Clone, Debug, Default)]
pub(crate) struct Next {
    /// True if the text may end.
    pub(crate) accepts: bool,
    /// The set in which the lexemes begin that may come, ignored ones included.
    pub(crate) start: u32,
    /// The same without ignored ones.
    pub(crate) bare: u32,
    /// Terminals of JSON that may come.
    pub(crate) json: Arc<[u32]>,
    /// Terminals of special tokens that may come.
    pub(crate) specials: Arc<[u32]>,
}

/// With the front of number 0, which stands for none.
impl Default for Fronts {
    fn default() -> Fronts {
        let mut fronts = Fronts {
            all: Vec::new(),
            ids: ByHash::default(),
            nodes: Lists::default(),
            nexts: vec![Next::default()],
            next_ids: HashMap::default(),
            bytes: 0,
        };
        let none: &[u32] = &[];
        fronts.add(fronts.ids.hash(none), none, 0);
        fronts
    }
}

impl Fronts {
    /// Returns the topmost nodes of a front, ascending.
    #[inline]
    pub(crate) fn nodes(&self, front: u32) -> &[u32] {
        self.nodes.get(self.all[front as usize].0)
    }

    /// Returns what may come on top of a front.
    #[inline]
    pub(crate) fn next(&self, front: u32) -> &Next {
        &self.nexts[self.all[front as usize].1 as usize]
    }

    /// Returns the number of what may come, which is one for equal states on top.
    pub(super) fn next_number(&self, front: u32) -> u32 {
        self.all[front as usize].1
    }

    fn add(&mut self, hash: u64, nodes: &[u32], next: u32) -> u32 {
        let id = self.all.len() as u32;
        self.ids.add(hash, id);
        self.all.push((self.nodes.add(nodes), next));
        id
    }

    /// Returns the bytes that all of this takes, about.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the stacks with these topmost nodes, which are ascending.
    pub(super) fn front(
        &mut self,
        topmost: &[u32],
        nodes: &Nodes,
        lexes: &mut Lexes,
        machine: &Machine,
    ) -> u32 {
        let hash = self.ids.hash(topmost);
        if let Some(id) = self.ids.find(hash, |other| self.nodes(other) == topmost) {
            return id;
        }
        let mut states: Vec<u32> = topmost.iter().map(|&n| nodes.get(n).state).collect();
        states.sort_unstable();
        let next = match self.next_ids.get(&*states) {
            Some(&known) => known,
            None => self.next_of(states, lexes, machine),
        };
        self.bytes += 60 + 4 * topmost.len();
        self.add(hash, topmost, next)
    }

    /// Finds what may come on top of some states, of which that is not known: few sets of states
    /// are on top of many stacks.
    fn next_of(&mut self, states: Vec<u32>, lexes: &mut Lexes, machine: &Machine) -> u32 {
        let mut accepts = false;
        let mut terminals = Vec::new();
        let cfg = machine.cfg();
        // By domain: whether its ignored text may come.
        let mut skips = vec![false; cfg.ignored.len()];
        for &state in &states {
            let is_skipped = machine.tables().is_behind_ignored(state);
            let state = &machine.tables().states[state as usize];
            accepts |= state.accepts;
            for shift in &state.shifts {
                let domain = cfg.terminals[shift.0 as usize].domain as usize;
                skips[domain] |= !is_skipped || !cfg.ignores_once[domain];
            }
            terminals.extend(state.shifts.iter().map(|shift| shift.0));
        }
        terminals.sort_unstable();
        terminals.dedup();
        let (mut json, mut specials, mut members) = (Vec::new(), Vec::new(), Vec::new());
        let skipped = cfg.ignored.iter().zip(&skips).filter(|domain| *domain.1);
        let mut ignored: Vec<u32> = skipped.flat_map(|domain| domain.0).copied().collect();
        for &terminal in &terminals {
            match cfg.terminals[terminal as usize].matter {
                Matter::Table(_) => members.push(machine.lexer().starts[terminal as usize]),
                Matter::Json(_) => json.push(terminal),
                Matter::Special(_) => specials.push(terminal),
            }
        }
        if accepts && cfg.trailing_skip {
            ignored.extend(cfg.ignored.first().into_iter().flatten());
        }
        let origins = machine.proof().origins(&states, machine.tables());
        let bare = lexes.intern(members.clone(), origins, machine);
        members.extend(ignored.iter().map(|&i| machine.lexer().starts[i as usize]));
        let start = lexes.intern(members, origins, machine);
        self.bytes += 200 + 4 * states.len();
        let id = self.nexts.len() as u32;
        self.nexts.push(Next {
            accepts,
            start,
            bare,
            json: json.into(),
            specials: specials.into(),
        });
        self.next_ids.insert(states.into(), id);
        id
    }
}
