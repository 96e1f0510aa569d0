//! What masks depend on: the topmost nodes of the stacks tell of most tokens.
//!
//! A mask is a matter of the set of stacks alone, and of the lexemes that have begun on top
//! of them. A walk looks at so many levels of them; a key lists the ways down so far, those
//! of equal states together, so that it means the same in every scratch.

use fsm_index::{ByteAutomaton, Horizon, Scope};
use schema_regex::automaton::State as JsonState;

use crate::cfg::Matter;
use crate::machine::Inner;
use crate::run::{Caches, JSON};

/// Keys of more words are not worth it.
const MAX_KEY: usize = 600;

/// Ends a list in a key: no state has this number.
const END: u32 = u32::MAX;

impl Caches {
    /// Begins to count how far down a walk looks.
    pub(crate) fn begin_walk(&mut self, config: u32) {
        self.top = self.height(config);
        self.least = self.top;
        self.level = self.top;
    }

    /// The height of the stacks of a configuration.
    pub(crate) fn height(&self, config: u32) -> u32 {
        let threads = self.configs.threads(config).iter();
        let fronts = threads
            .map(|thread| thread.front)
            .chain([self.configs[config].fresh]);
        let nodes = fronts.flat_map(|front| self.fronts[front as usize].nodes.iter());
        let heights = nodes.map(|&node| self.nodes.get(node).height);
        heights.max().unwrap_or(0)
    }

    /// How many levels were looked at: by heights, which count no fewer than there are.
    pub(crate) fn depth_used(&self) -> usize {
        (self.top - self.least.min(self.top)) as usize + 1
    }

    /// Whether the topmost nodes tell of most tokens: of places in JSON they do not.
    pub(crate) fn top_tells(&self, config: u32) -> bool {
        let mut threads = self.configs.threads(config).iter();
        threads.all(|thread| self.json_of(thread.place).is_none())
    }

    /// Appends a key of so many levels; of JSON, it has all levels.
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
        let before = out.len();
        let is_steady = !inner.cfg.is_greedy && self.is_steady(config, inner);
        out.push(u32::from(self.is_accepting(config, inner)) + 2 * u32::from(is_steady));
        let mut parts: Vec<Vec<u32>> = Vec::new();
        let threads = self.configs.threads(config).iter();
        let places = threads.map(|thread| (Some(thread.place), thread.front));
        // What has begun, and then what lies below: equal lists of members are told apart by
        // that alone.
        for (place, front) in places.chain([(None, self.configs[config].fresh)]) {
            let mut part = Vec::new();
            match place.map(|place| (place, self.json_of(place))) {
                None => part.push(END),
                Some((_, Some((terminal, state)))) => {
                    if !write_json(*terminal, state, horizon, inner, &mut part) {
                        return false;
                    }
                }
                Some((place, None)) => {
                    part.extend_from_slice(&self.lexes[place as usize].members);
                    part.push(END);
                }
            }
            let nodes = self.fronts[front as usize].nodes.to_vec();
            if !self.write_ways(nodes, depth, &mut part) {
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
                let below = group
                    .iter()
                    .flat_map(|&node| self.nodes.get(node).parents.iter());
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
        let next = self.step(config, byte, inner);
        let looked = std::mem::replace(&mut self.least, before);
        (looked >= self.level).then_some(next)
    }
}

/// Appends what the mask at a place in JSON depends on, behind its length; `false` if something
/// that was said before counts, of which keys do not tell.
fn write_json(
    terminal: u32,
    state: &JsonState,
    horizon: Horizon<'_>,
    inner: &Inner,
    out: &mut Vec<u32>,
) -> bool {
    let Matter::Json(automaton) = &inner.cfg.terminals[terminal as usize].matter else {
        return false;
    };
    let mut is_told = true;
    if let Some(overlay) = automaton.overlay() {
        overlay.exceptions(state, &mut |_| is_told = false);
    }
    if !is_told {
        return false;
    }
    let mut scratch = inner.json_scratch(terminal, automaton);
    let cursor = automaton.enter(state, &mut scratch);
    out.extend([JSON, terminal, 0]);
    let before = out.len();
    // One level for each array and object that is open, one for the value in the innermost,
    // and one that tells that there are no more.
    let depth = state.depth() + 2;
    let language = automaton.key(cursor, Scope::Index, depth, horizon, &mut scratch, out);
    inner.give_json_scratch(terminal, scratch);
    out[before - 1] = (out.len() - before) as u32;
    language.is_some()
}
