//! All that one scratch knows of a grammar: numbers for contents, the steps between them, and how
//! far down a walk has looked.
//!
//! For example, it numbers each set of stacks, and remembers which one a byte leads to.

use crate::machine::Machine;
use crate::run::configs::{Configs, Least, Life, Thread};
use crate::run::json::{Before, JsonPlaces};
use crate::run::lexes::Lexes;
use crate::run::saved::Kept;
use crate::run::stacks::{LexemeEnd, Stacks};
use crate::run::work::Work;

/// The working memory of one walk, which outlives it.
#[derive(Default)]
pub(crate) struct Caches {
    pub(super) lexes: Lexes,
    pub(super) stacks: Stacks,
    pub(super) configs: Configs,
    pub(super) json: JsonPlaces,
    pub(super) kept: Kept,
    /// The least height that a walk has looked at.
    pub(super) least: Least,
    /// The height of the stacks with which the walk began.
    pub(super) top: u32,
}

impl Caches {
    /// Forgets everything.
    pub(crate) fn reset(&mut self) {
        let mut configs = std::mem::take(&mut self.configs);
        configs.clear();
        *self = Caches {
            configs,
            ..Caches::default()
        };
    }

    /// Returns the bytes that all of this takes, about.
    pub(crate) fn bytes(&self) -> usize {
        let parts = self.lexes.bytes() + self.stacks.bytes() + self.configs.bytes();
        parts + self.json.bytes() + self.kept.bytes()
    }

    #[inline]
    pub(crate) fn lexes(&self) -> &Lexes {
        &self.lexes
    }

    #[inline]
    pub(crate) fn lexes_mut(&mut self) -> &mut Lexes {
        &mut self.lexes
    }

    #[inline]
    pub(crate) fn stacks(&self) -> &Stacks {
        &self.stacks
    }

    #[inline]
    pub(crate) fn stacks_mut(&mut self) -> &mut Stacks {
        &mut self.stacks
    }

    #[inline]
    pub(crate) fn work(&self) -> &Work {
        &self.stacks.work
    }

    #[inline]
    pub(crate) fn work_mut(&mut self) -> &mut Work {
        &mut self.stacks.work
    }

    #[inline]
    pub(crate) fn configs(&self) -> &Configs {
        &self.configs
    }

    #[inline]
    pub(crate) fn configs_mut(&mut self) -> &mut Configs {
        &mut self.configs
    }

    #[inline]
    pub(crate) fn json(&self) -> &JsonPlaces {
        &self.json
    }

    #[inline]
    pub(crate) fn json_mut(&mut self) -> &mut JsonPlaces {
        &mut self.json
    }

    /// Returns the least height that the walk has looked at, to be noted or put back.
    #[inline]
    pub(crate) fn least_mut(&mut self) -> &mut Least {
        &mut self.least
    }

    /// Pauses a walk for what is committed.
    pub(crate) fn pause_walk(&mut self) -> Before {
        self.json.pause_walk()
    }

    /// Goes on with a walk, if there was one.
    pub(crate) fn resume_walk(&mut self, before: Before) {
        self.json.resume_walk(before);
    }

    /// Notes that all of the stacks, and of the values, are looked at.
    pub(crate) fn look_everywhere(&mut self) {
        self.least.note(0);
        self.json.look_everywhere();
    }

    /// Returns the height of the stacks of a configuration.
    pub(crate) fn height(&self, config: u32) -> u32 {
        let threads = self.configs.threads(config).iter();
        let fronts = threads
            .map(|thread| thread.front)
            .chain([self.configs[config].fresh]);
        let nodes = fronts.flat_map(|front| self.stacks.topmost(front));
        let heights = nodes.map(|&node| self.stacks.node(node).height);
        heights.max().unwrap_or(0)
    }

    /// Returns the number of levels that were looked at: by heights, which count no fewer than
    /// there are.
    pub(crate) fn depth_used(&self, machine: &Machine) -> usize {
        let depth = (self.top - self.least.height().min(self.top)) as usize + 1;
        depth.max(self.json.depth_used(machine))
    }

    /// Remembers what the states on top of a thread's front tell of its lexemes.
    pub(crate) fn keep_life_by_top(&mut self, thread: Thread, life: Life) {
        self.stacks.keep_life_by_top(thread, life);
    }

    /// Returns the stacks behind terminals that end together on top of a front, which the walk has
    /// looked at then.
    pub(crate) fn walk_behind(&mut self, front: u32, terminals: &[u32], machine: &Machine) -> u32 {
        let Caches { lexes, stacks, .. } = self;
        let ends = lexes.number_of_ends(terminals);
        let before = stacks.looked.anew();
        let behind = stacks.behind_ends(ends, terminals, front, lexes, machine);
        self.least.note(stacks.looked.back(before));
        behind
    }

    /// Returns the stacks behind some lexemes that end.
    pub(super) fn behind(
        &mut self,
        ends: impl Iterator<Item = LexemeEnd>,
        machine: &Machine,
    ) -> u32 {
        self.stacks.behind(ends, &mut self.lexes, machine)
    }
}
