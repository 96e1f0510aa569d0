//! The members that may come next in their order so that all demands on them can still hold.
//!
//! For example, in "`a` or `c`" of an object with `a`, `b` and `c`, `b` may come next, since `c` is
//! behind it, but not in "`a` or `b`" and then `c`, which is not asked for.

use crate::automaton::machine::decisions::{
    Decision, Decisions, FAILS, FIRST_DECISION, HOLDS, Level,
};
use crate::automaton::machine::live::Live;
use crate::automaton::machine::objects::{LOOSE, ObjectMachine};
use crate::automaton::machine::progress::ObjectAt;

/// Behind all places in the order of members, because these are numbers of 32 bits.
const ANYWHERE: u64 = u64::MAX;

/// The latest place in the order at which a member may come next so that all can still hold.
pub(crate) struct Latest {
    /// By the ways of levels, see [`Level::ways`].
    ways: Vec<Option<u64>>,
    /// The same of members that nothing depends on.
    others: Option<u64>,
}

impl Decisions {
    /// For each way of the levels the greatest place in the order of members that the member of the
    /// level may have to go it next, see [`Latest`]: of the members that must come to hold all, none
    /// is passed over.
    pub(super) fn latest(&self, live: &Live<'_>, m: &ObjectMachine, at: &ObjectAt<'_>) -> Latest {
        let order = Order {
            all: self,
            open: self.open(live, m, at),
            ranks: &m.threads[self.thread as usize].ranks,
            at,
        };
        let behind = order.behind();
        let roots = self.diagrams.iter().map(|d| needed_from(d.root, &behind));
        let Some(roots) = roots.collect::<Option<Vec<u64>>>() else {
            return Latest {
                ways: vec![None; order.open.len()],
                others: None,
            };
        };
        let mut passes = Vec::new();
        let mut ways = order.ways(&behind, &roots, &mut passes);
        order.pass_over(passes, &mut ways);
        let others = order.keep_others(&roots, &mut ways);
        Latest {
            ways,
            others: Some(others),
        }
    }

    /// Says whether the member of a name may come next, with a value of the kind that `take` tells.
    pub(super) fn may_come(&self, name: u32, take: u32, rank: u32, latest: &Latest) -> bool {
        let latest = match self.level(name) {
            Some(level) if take > 0 => latest.ways[(level.ways + take) as usize],
            _ => latest.others,
        };
        latest.is_some_and(|latest| u64::from(rank) <= latest)
    }
}

/// Steps that pass levels over: how late one of them may be gone, and the levels.
type Passes = Vec<(u64, u32, u32)>;

/// The order of the members of an object at a place, to see how late each may come.
struct Order<'a> {
    all: &'a Decisions,
    /// The ways that are open.
    open: Vec<bool>,
    /// By name its place in the order.
    ranks: &'a [u32],
    at: &'a ObjectAt<'a>,
}

/// Returns the first place that is needed from a decision on, or an end.
fn needed_from(place: u32, behind: &[Option<u64>]) -> Option<u64> {
    match place {
        FAILS => None,
        HOLDS => Some(ANYWHERE),
        decision => behind[(decision - FIRST_DECISION) as usize],
    }
}

impl Order<'_> {
    fn level(&self, decision: &Decision) -> &Level {
        &self.all.levels[decision.level as usize]
    }

    /// Returns the place of the member that a way needs and that is not there.
    fn needs(&self, level: &Level, way: usize) -> u64 {
        match way > 0 && !level.is_there(self.at) {
            true => u64::from(
                self.ranks
                    .get(level.name as usize)
                    .copied()
                    .unwrap_or(LOOSE),
            ),
            false => ANYWHERE,
        }
    }

    /// Returns by decision the first place that is needed from it on, of the way where that is
    /// last.
    fn behind(&self) -> Vec<Option<u64>> {
        let mut behind: Vec<Option<u64>> = Vec::with_capacity(self.all.decisions.len());
        for decision in &self.all.decisions {
            let level = self.level(decision);
            let to = decision.to.iter().enumerate();
            let to = to.filter(|(way, _)| self.open[level.ways as usize + way]);
            let to = to.filter_map(|(way, to)| {
                Some(needed_from(*to, &behind)?.min(self.needs(level, way)))
            });
            behind.push(to.max());
        }
        behind
    }

    /// Returns by way how late it may be gone, if a decision goes it; and the steps that pass levels
    /// over.
    fn ways(&self, behind: &[Option<u64>], roots: &[u64], passes: &mut Passes) -> Vec<Option<u64>> {
        // The first place that is needed on the ways that lead to a decision.
        let mut before: Vec<Option<u64>> = vec![None; self.all.decisions.len()];
        let mut ways: Vec<Option<u64>> = vec![None; self.open.len()];
        for (diagram, root) in self.all.diagrams.iter().zip(roots) {
            if let Some(decision) = diagram.root.checked_sub(FIRST_DECISION) {
                before[decision as usize] = Some(ANYWHERE);
            }
            let to = self.all.level_at(diagram.root, diagram.end);
            passes.push((*root, diagram.from, to));
        }
        for (number, decision) in self.all.decisions.iter().enumerate().rev() {
            let Some(own) = before[number] else {
                continue;
            };
            let level = self.level(decision);
            let end = self.all.end_of(decision.level);
            for (way, to) in decision.to.iter().enumerate() {
                let place = level.ways as usize + way;
                let Some(rest) = needed_from(*to, behind).filter(|_| self.open[place]) else {
                    continue;
                };
                let others = own.min(rest);
                ways[place] = ways[place].max(Some(others));
                let needs = self.needs(level, way);
                let below = self.all.level_at(*to, end);
                passes.push((others.min(needs), decision.level + 1, below));
                if let Some(to) = to.checked_sub(FIRST_DECISION) {
                    let to = &mut before[to as usize];
                    *to = (*to).max(Some(own.min(needs)));
                }
            }
        }
        ways
    }

    /// Opens all ways of levels that are passed over, as late as the latest step that does so.
    fn pass_over(&self, mut passes: Passes, ways: &mut [Option<u64>]) {
        // The latest pass of each level comes first; behind a level the next one without any.
        passes.sort_unstable_by_key(|(latest, ..)| std::cmp::Reverse(*latest));
        let levels = &self.all.levels;
        let mut next: Vec<usize> = (0..=levels.len()).collect();
        for (latest, from, to) in passes {
            let mut at = from as usize;
            while at < to as usize {
                if next[at] != at {
                    next[at] = next[next[at]];
                    at = next[at];
                    continue;
                }
                let own = levels[at].ways as usize;
                let all = own..=own + levels[at].goals.len();
                for place in all.filter(|place| self.open[*place]) {
                    ways[place] = ways[place].max(Some(latest));
                }
                next[at] = at + 1;
            }
        }
    }

    /// Passes over no member that other diagrams need; answers the first place that any needs.
    fn keep_others(&self, roots: &[u64], ways: &mut [Option<u64>]) -> u64 {
        let (mut first, mut second) = ((ANYWHERE, usize::MAX), ANYWHERE);
        for (number, root) in roots.iter().enumerate() {
            if *root < first.0 {
                second = first.0;
                first = (*root, number);
            } else {
                second = second.min(*root);
            }
        }
        for (number, diagram) in self.all.diagrams.iter().enumerate() {
            let others = if number == first.1 { second } else { first.0 };
            for level in &self.all.levels[diagram.from as usize..diagram.end as usize] {
                let own = level.ways as usize;
                for way in &mut ways[own..=own + level.goals.len()] {
                    *way = way.map(|way| way.min(others));
                }
            }
        }
        first.0
    }
}
