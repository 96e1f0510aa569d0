//! The stacks behind terminals that end: what is shifted, and then all reductions.

use crate::machine::Inner;
use crate::run::by_hash::ByHash;
use crate::run::caches::Caches;
use crate::run::configs::Step;
use crate::run::stack::Closing;

/// Where terminals that end together lead on top of a front.
#[derive(Debug, Default)]
pub(crate) struct Shifted {
    /// By the number of the terminals, and the front.
    ids: ByHash,
    all: Vec<((u32, u32), Step)>,
}

impl Shifted {
    fn get(&self, key: (u32, u32)) -> Option<Step> {
        let is = |id: u32| self.all[id as usize].0 == key;
        let id = self.ids.find(self.ids.hash(key), is)?;
        Some(self.all[id as usize].1)
    }

    /// Adds what is not known.
    fn add(&mut self, key: (u32, u32), step: Step) {
        self.ids.add(self.ids.hash(key), self.all.len() as u32);
        self.all.push((key, step));
    }
}

impl Caches {
    /// Puts a terminal on each stack of a front that takes it.
    fn shift(&mut self, front: u32, terminal: u32, closing: &mut Closing, inner: &Inner) {
        let is_ignored = inner.cfg.is_ignored(terminal);
        for &node in self.fronts.nodes(front) {
            if is_ignored {
                closing.add_node(node);
            } else if let Some(to) =
                inner.tables.states[self.nodes.get(node).state as usize].shift(terminal)
            {
                closing.add(to, node);
            }
        }
    }

    fn close(&mut self, closing: &mut Closing, inner: &Inner) -> u32 {
        if closing.is_empty() {
            return 0;
        }
        let before = self.nodes.len();
        let top = closing.close(&inner.tables, &mut self.nodes);
        self.bytes += 120 * (self.nodes.len() - before);
        let front = self.front(&top, inner);
        self.looked = self.looked.min(closing.least);
        closing.clear();
        front
    }

    /// The stacks behind the lexemes that end in some places of one front.
    pub(crate) fn behind(&mut self, ends: &[(u32, u32)], inner: &Inner) -> u32 {
        let mut closing = std::mem::take(&mut self.closing);
        closing.clear();
        for &(front, terminal) in ends {
            self.shift(front, terminal, &mut closing, inner);
        }
        let front = self.close(&mut closing, inner);
        self.closing = closing;
        front
    }

    /// The same behind all terminals that end at a [`Lex`], or all lazy ones if there are any.
    pub(crate) fn behind_lex(&mut self, lex: u32, front: u32, inner: &Inner) -> u32 {
        let own = &self.lexes[lex as usize];
        let key = (own.ends, front);
        match self.shifted.get(key) {
            Some(step) => {
                self.looked = self.looked.min(step.looked);
                step.to
            }
            None => {
                let terminals = match own.lazy.is_empty() {
                    true => own.accepts.clone(),
                    false => own.lazy.clone(),
                };
                self.behind_ends(own.ends, &terminals, front, inner)
            }
        }
    }

    /// The same behind terminals that end together, by their number among `end_ids`.
    pub(crate) fn behind_ends(
        &mut self,
        ends: u32,
        terminals: &[u32],
        front: u32,
        inner: &Inner,
    ) -> u32 {
        let key = (ends, front);
        let step = match self.shifted.get(key) {
            Some(step) => step,
            None => {
                let ends: Vec<(u32, u32)> = terminals.iter().map(|&t| (front, t)).collect();
                let before = std::mem::replace(&mut self.looked, u32::MAX);
                let to = self.behind(&ends, inner);
                let looked = std::mem::replace(&mut self.looked, before);
                let step = Step { to, looked };
                self.shifted.add(key, step);
                self.bytes += 48;
                step
            }
        };
        self.looked = self.looked.min(step.looked);
        step.to
    }
}
