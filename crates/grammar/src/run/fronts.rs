//! Stacks between two lexemes by number, and what may come on top of them.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::FixedState;

use crate::compile::cfg::Matter;
use crate::machine::Inner;
use crate::run::by_hash::ByHash;
use crate::run::caches::Caches;
use crate::run::lists::{List, Lists};

/// All that one scratch knows.
#[derive(Debug)]
pub(crate) struct Fronts {
    /// Of each, the topmost nodes, ascending, and the number of what may come.
    all: Vec<(List, u32)>,
    ids: ByHash,
    nodes: Lists<u32>,
    nexts: Vec<Next>,
    /// What may come, by the states of topmost nodes.
    next_ids: HashMap<Box<[u32]>, u32, FixedState>,
}

/// What may come on top of some states.
#[derive(Clone, Debug, Default)]
pub(crate) struct Next {
    /// True if the text may end.
    pub(crate) accepts: bool,
    /// Where the lexemes begin that may come, ignored ones included.
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
        };
        let none: &[u32] = &[];
        fronts.add(fronts.ids.hash(none), none, 0);
        fronts
    }
}

impl Fronts {
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// The topmost nodes of a front, ascending.
    #[inline]
    pub(crate) fn nodes(&self, front: u32) -> &[u32] {
        self.nodes.get(self.all[front as usize].0)
    }

    /// What may come on top of a front.
    #[inline]
    pub(crate) fn next(&self, front: u32) -> &Next {
        &self.nexts[self.all[front as usize].1 as usize]
    }

    fn add(&mut self, hash: u64, nodes: &[u32], next: u32) -> u32 {
        let id = self.all.len() as u32;
        self.ids.add(hash, id);
        self.all.push((self.nodes.add(nodes), next));
        id
    }
}

impl Caches {
    /// The stacks with these topmost nodes, which are ascending.
    pub(crate) fn front(&mut self, nodes: &[u32], inner: &Inner) -> u32 {
        let hash = self.fronts.ids.hash(nodes);
        let is = |other| self.fronts.nodes(other) == nodes;
        if let Some(id) = self.fronts.ids.find(hash, is) {
            return id;
        }
        let mut states: Vec<u32> = nodes.iter().map(|&n| self.nodes.get(n).state).collect();
        states.sort_unstable();
        let next = match self.fronts.next_ids.get(&*states) {
            Some(&known) => known,
            None => self.next_of(states, inner),
        };
        self.bytes += 60 + 4 * nodes.len();
        self.fronts.add(hash, nodes, next)
    }

    /// What may come on top of some states, of which that is not known: few sets of states
    /// are on top of many stacks.
    fn next_of(&mut self, states: Vec<u32>, inner: &Inner) -> u32 {
        let mut accepts = false;
        let mut terminals = Vec::new();
        for &state in &states {
            let state = &inner.tables.states[state as usize];
            accepts |= state.accepts;
            terminals.extend(state.shifts.iter().map(|shift| shift.0));
        }
        terminals.sort_unstable();
        terminals.dedup();
        let (mut json, mut specials, mut members) = (Vec::new(), Vec::new(), Vec::new());
        let mut ignored: Vec<u32> = Vec::new();
        let cfg = &inner.cfg;
        for &terminal in &terminals {
            ignored.extend(&cfg.ignored[cfg.terminals[terminal as usize].domain as usize]);
            match cfg.terminals[terminal as usize].matter {
                Matter::Table(_) => members.push(inner.lexer.starts[terminal as usize]),
                Matter::Json(_) => json.push(terminal),
                Matter::Special(_) => specials.push(terminal),
            }
        }
        if accepts && cfg.trailing_skip {
            ignored.extend(cfg.ignored.first().into_iter().flatten());
        }
        let bare = self.lex(members.clone(), inner);
        members.extend(ignored.iter().map(|&i| inner.lexer.starts[i as usize]));
        let start = self.lex(members, inner);
        self.bytes += 200 + 4 * states.len();
        let id = self.fronts.nexts.len() as u32;
        self.fronts.nexts.push(Next {
            accepts,
            start,
            bare,
            json: json.into(),
            specials: specials.into(),
        });
        self.fronts.next_ids.insert(states.into(), id);
        id
    }
}
