//! What masks depend on: the topmost nodes of the stacks tell of most tokens.
//!
//! A mask is a matter of the set of stacks alone, and of the lexemes that have begun on top
//! of them. A walk looks at so many levels of them; a key lists the ways down so far, those
//! of equal states together, so that it means the same in every scratch.

use fsm_index::Horizon;

use crate::machine::Inner;
use crate::run::caches::{Caches, JSON};
use crate::run::configs::WALK;

/// Keys of more words are not worth it.
const MAX_KEY: usize = 600;

/// Ends a list in a key: no state has this number.
const END: u32 = u32::MAX;

impl Caches {
    /// The height of the stacks of a configuration.
    pub(crate) fn height(&self, config: u32) -> u32 {
        let threads = self.configs.threads(config).iter();
        let fronts = threads
            .map(|thread| thread.front)
            .chain([self.configs[config].fresh]);
        let nodes = fronts.flat_map(|front| self.fronts.nodes(front));
        let heights = nodes.map(|&node| self.nodes.get(node).height);
        heights.max().unwrap_or(0)
    }

    /// Returns the number of levels that were looked at: by heights, which count no fewer than
    /// there are.
    pub(crate) fn depth_used(&self, inner: &Inner) -> usize {
        let depth = (self.top - self.least.min(self.top)) as usize + 1;
        depth.max(self.json_depth_used(inner))
    }

    /// Tells whether no value of JSON is read there, or may begin.
    pub(crate) fn has_no_json(&self, config: u32) -> bool {
        // They are ascending.
        let last = self.configs.threads(config).last();
        last.is_none_or(|thread| thread.place & JSON == 0)
    }

    /// Appends a key of so many levels of the stacks, and of the values in JSON.
    pub(crate) fn key(
        &mut self,
        config: u32,
        depth: usize,
        horizon: Horizon<'_>,
        inner: &Inner,
        out: &mut Vec<u32>,
    ) -> bool {
        if config == 0 {
            return false;
        }
        let config = self.in_walk(config, inner);
        let before = out.len();
        let is_steady = !inner.cfg.is_greedy && self.is_steady(config, inner);
        out.push(u32::from(self.is_accepting(config, inner)) + 2 * u32::from(is_steady));
        let mut parts: Vec<Vec<u32>> = Vec::new();
        let threads = self.configs.threads(config).to_vec();
        let places = threads
            .iter()
            .map(|thread| (Some(thread.place), thread.front));
        // What has begun, and then what lies below: equal lists of members are told apart by
        // that alone.
        for (place, front) in places.chain([(None, self.configs[config].fresh)]) {
            let mut part = Vec::new();
            match place {
                None => part.push(END),
                Some(place) if place & JSON != 0 => {
                    if !self.json_key(place, depth, horizon, inner, &mut part) {
                        out.truncate(before);
                        return false;
                    }
                }
                Some(place) => {
                    part.extend_from_slice(&self.lexes[place as usize].members);
                    part.push(END);
                }
            }
            let nodes = self.fronts.nodes(front).to_vec();
            if !self.write_ways(nodes, depth, &mut part) {
                out.truncate(before);
                return false;
            }
            parts.push(part);
        }
        parts.sort_unstable();
        for part in parts {
            out.extend(part);
            out.push(END);
        }
        if out.len() - before > MAX_KEY {
            out.truncate(before);
            return false;
        }
        true
    }

    /// Appends the ways down from some nodes, as a tree by their states; `false` if that is
    /// too much.
    fn write_ways(&self, mut nodes: Vec<u32>, depth: usize, out: &mut Vec<u32>) -> bool {
        if out.len() > MAX_KEY {
            return false;
        }
        nodes.sort_unstable_by_key(|&node| (self.nodes.get(node).state, node));
        nodes.dedup();
        for group in nodes.chunk_by(|&a, &b| self.nodes.get(a).state == self.nodes.get(b).state) {
            out.push(self.nodes.get(group[0]).state);
            if depth > 1 {
                let below = group.iter().flat_map(|&node| self.nodes.parents(node));
                if !self.write_ways(below.copied().collect(), depth - 1, out) {
                    return false;
                }
            }
        }
        out.push(END);
        true
    }

    /// Where a byte leads, if the topmost nodes alone tell.
    pub(crate) fn step_on_top(&mut self, config: u32, byte: u8, inner: &Inner) -> Option<u32> {
        let before = std::mem::replace(&mut self.least, u32::MAX);
        let (next, is_deep) = match config & WALK {
            0 => (self.step(config, byte, inner), false),
            _ => self.json_step_on_top(config, byte, inner),
        };
        let looked = std::mem::replace(&mut self.least, before);
        (looked >= self.level && !is_deep).then_some(next)
    }
}
