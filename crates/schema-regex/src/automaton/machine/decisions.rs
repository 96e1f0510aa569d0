//! The demands on the members of an object together, read as it comes: which are there, and of
//! which kind each of their values is.
//!
//! For example "`a` or `b`, not both" is a diagram of two levels, one for each name: from its top
//! either name leads to the decisions that are left. An object can still be finished if some way
//! leads from the top to the end that holds, by the members that are there and those that may still
//! come. Diagrams that have no name in common stand beside each other, so that none is as
//! large as their product.

use crate::automaton::machine::live::Live;
use crate::automaton::machine::node::Member;
use crate::automaton::machine::objects::{LOOSE, ObjectMachine, ObjectThread};
use crate::automaton::machine::progress::{ObjectAt, has_bit};

/// The number of the end that fails, because it is below all decisions.
pub(super) const FAILS: u32 = 0;
/// The number of the end that holds, because it is below all decisions.
pub(super) const HOLDS: u32 = 1;
/// The number of the first decision, because the numbers below are ends.
pub(crate) const FIRST_DECISION: u32 = 2;

/// The number that stands for all names that are not declared, because no declared one has it.
pub(crate) const FURTHER: u32 = u32::MAX;

/// Diagrams over the members of an object, for one thread.
#[derive(Debug)]
pub(crate) struct Decisions {
    /// The members that are decided on, by level.
    pub(super) levels: Box<[Level]>,
    /// The numbers of their names, ascending, with the level of each.
    pub(super) level_of: Box<[(u32, u32)]>,
    /// The decisions that one leads to come before it.
    pub(super) decisions: Box<[Decision]>,
    pub(super) diagrams: Box<[Diagram]>,
    /// The number of names that are declared.
    pub(super) names: u32,
    /// The thread.
    pub(super) thread: u32,
}

/// A member that is decided on.
#[derive(Debug)]
pub(super) struct Level {
    /// The number of its name, or [`FURTHER`]: a member that no name is declared for.
    pub(super) name: u32,
    /// Says whether it must be there.
    pub(super) required: Presence,
    /// The goals of its value, one for each kind of values that is told apart.
    pub(super) goals: Box<[u32]>,
    /// The first bit of its kinds among the bits of a frame.
    pub(super) facts: u32,
    /// The first of its ways among those of all levels: one for its absence, one for each kind.
    pub(super) ways: u32,
}

/// Says whether a member must be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    Free,
    Required,
}

/// By the way that the member of a level goes, what comes next.
#[derive(Debug)]
pub(super) struct Decision {
    pub(super) level: u32,
    pub(super) to: Box<[u32]>,
}

/// A diagram: where it begins, and its levels.
#[derive(Debug)]
pub(super) struct Diagram {
    pub(super) root: u32,
    pub(super) from: u32,
    pub(super) end: u32,
}

impl Level {
    /// The bit that is set where the value was of a kind, if several kinds are told apart.
    fn fact(&self, kind: u32) -> Option<u32> {
        (self.facts_count() > 0).then(|| self.facts + kind)
    }

    /// Returns the number of bits that it has: of a declared name there is another one where it was
    /// used.
    fn facts_count(&self) -> u32 {
        match self.goals.len() as u32 {
            1 if self.name != FURTHER => 0,
            kinds => kinds,
        }
    }

    /// Says whether such a member is there.
    pub(super) fn is_there(&self, at: &ObjectAt<'_>) -> bool {
        at.has(self.name) || self.kind(at).is_some()
    }

    /// The kind of a value that was read.
    fn kind(&self, at: &ObjectAt<'_>) -> Option<u32> {
        let mut kinds = 0..self.goals.len() as u32;
        kinds.find(|kind| {
            self.fact(*kind)
                .is_some_and(|bit| has_bit(at.used, bit) || at.also_fact == Some(bit))
        })
    }
}

impl Decisions {
    /// Returns the decisions of a thread, in an object with so many declared names, whose bits in a
    /// frame begin at `facts`, which becomes the end of these bits.
    ///
    /// A level is the number of a name, whether its member must be there, and its goals. A decision
    /// is its level, and what comes next by the way of the member. A diagram is the
    /// place where it begins, and the end of its levels, where those of the next one begin.
    pub(crate) fn new(
        names: u32,
        thread: u32,
        facts: &mut u32,
        levels: Vec<(u32, Presence, Vec<u32>)>,
        decisions: Vec<(u32, Box<[u32]>)>,
        diagrams: Vec<(u32, u32)>,
    ) -> Decisions {
        let mut ways = 0;
        let levels = levels.into_iter().map(|(name, required, goals)| {
            let level = Level {
                name,
                required,
                goals: goals.into(),
                facts: *facts,
                ways,
            };
            ways += 1 + level.goals.len() as u32;
            *facts += level.facts_count();
            level
        });
        let levels: Box<[Level]> = levels.collect();
        let mut from = 0;
        let diagrams = diagrams.into_iter().map(|(root, end)| Diagram {
            root,
            from: std::mem::replace(&mut from, end),
            end,
        });
        let diagrams = diagrams.collect();
        let decisions = decisions.into_iter();
        let level_of = levels.iter().map(|level| level.name).zip(0u32..);
        let mut level_of: Vec<(u32, u32)> = level_of.collect();
        // That of further members is the last.
        level_of.sort_unstable();
        Decisions {
            levels,
            level_of: level_of.into(),
            decisions: decisions
                .map(|(level, to)| Decision { level, to })
                .collect(),
            diagrams,
            names,
            thread,
        }
    }

    /// The level of a name.
    pub(super) fn level(&self, name: u32) -> Option<&Level> {
        let name = if name < self.names { name } else { FURTHER };
        let place = self.level_of.binary_search_by_key(&name, |(n, _)| *n);
        Some(&self.levels[self.level_of[place.ok()?].1 as usize])
    }

    /// Returns the numbers of the names of the members that are decided on, by level.
    pub(crate) fn members(&self) -> impl Iterator<Item = u32> + Clone {
        self.levels.iter().map(|level| level.name)
    }

    /// Says whether anything depends on a name.
    fn has(&self, name: u32) -> bool {
        self.level(name).is_some()
    }

    /// The bit that is set behind the value of a member that was of a kind: `take` of a
    /// [`Choice`](crate::automaton::machine::node::Choice) has one more than it.
    pub(super) fn fact(&self, name: u32, take: u32) -> Option<u32> {
        self.level(name)?.fact(take.checked_sub(1)?)
    }

    /// The ways that are open to each level: those that were gone, and those that may be.
    pub(super) fn open(&self, live: &Live<'_>, m: &ObjectMachine, at: &ObjectAt<'_>) -> Vec<bool> {
        let ways = self.levels.iter().map(|level| 1 + level.goals.len());
        let mut open = Vec::with_capacity(ways.sum());
        let t = &m.threads[self.thread as usize];
        for level in &self.levels {
            let known = level.kind(at);
            let Some(member) = m.declared.get(level.name as usize) else {
                let is_there = known.is_some();
                open.extend([!is_there, is_there || self.further_may_come(live, m)]);
                continue;
            };
            let is_there = at.has(level.name);
            let may_come = is_there || Live::is_free(t, at, level.name);
            open.push(!is_there && level.required == Presence::Free);
            let kinds = (0..).zip(&level.goals).map(|(kind, goal)| match known {
                Some(known) => known == kind,
                // A member of only one kind was read, or is being read.
                None if is_there && level.goals.len() == 1 => true,
                None => may_come && live.fits(member, *goal),
            });
            open.extend(kinds);
        }
        open
    }

    /// Says whether a member that no name is declared for may come, where none has.
    fn further_may_come(&self, live: &Live<'_>, m: &ObjectMachine) -> bool {
        let mut classes = m.classes.iter().filter(|class| class.count != Some(0));
        classes.any(|class| self.is_asked(live, &class.member))
    }

    /// Says whether a further member has a value, and is one that something depends on.
    fn is_asked(&self, live: &Live<'_>, member: &Member) -> bool {
        let mut choices = member.of(self.thread).iter();
        choices.any(|choice| choice.take > 0 && live.fits(member, choice.goal))
    }

    /// By decision whether some open way leads from it to what holds.
    fn hopes(&self, open: &[bool]) -> Vec<bool> {
        let mut hopes = Vec::with_capacity(self.decisions.len());
        for decision in &self.decisions {
            let from = self.levels[decision.level as usize].ways as usize;
            let mut to = decision.to.iter().zip(&open[from..]);
            let hope = to.any(|(to, is_open)| *is_open && can_hold(*to, &hopes));
            hopes.push(hope);
        }
        hopes
    }

    /// Says whether an object can be finished such that all holds.
    pub(super) fn can_hold(&self, live: &Live<'_>, m: &ObjectMachine, at: &ObjectAt<'_>) -> bool {
        let open = self.open(live, m, at);
        let hopes = self.hopes(&open);
        self.diagrams
            .iter()
            .all(|diagram| can_hold(diagram.root, &hopes))
            && self.levels.iter().all(|level| {
                let from = level.ways as usize;
                open[from..=from + level.goals.len()].contains(&true)
            })
    }

    /// Says whether all holds of an object that ends.
    pub(super) fn hold(&self, at: &ObjectAt<'_>) -> bool {
        self.diagrams.iter().all(|diagram| {
            let mut place = diagram.root;
            while let Some(decision) = place.checked_sub(FIRST_DECISION) {
                let decision = &self.decisions[decision as usize];
                let level = &self.levels[decision.level as usize];
                let way = match level.kind(at) {
                    Some(kind) => 1 + kind as usize,
                    None => usize::from(at.has(level.name)),
                };
                place = decision.to[way];
            }
            place == HOLDS
        })
    }

    /// Says whether an object can be finished such that all holds and its members are as many as
    /// they must be.
    pub(super) fn can_count(
        &self,
        live: &Live<'_>,
        m: &ObjectMachine,
        t: &ObjectThread,
        at: &ObjectAt<'_>,
    ) -> bool {
        let most = t.max.map_or(t.min, |max| max.saturating_add(1).max(t.min));
        let counts = Counts::up_to(most);
        let open = self.open(live, m, at);
        let (further, free) = self.further_left(live, m, at);
        // Names without a condition are free to come, or must.
        let mut sums = Counts::NONE_MORE;
        for number in 0..self.names {
            let is_free = !self.has(number) && Live::is_free(t, at, number);
            if is_free && live.offers(&m.declared[number as usize], self.thread) {
                let is_required = t.required.iter().any(|(_, name)| *name == number);
                sums = match is_required {
                    true => counts.more(sums),
                    false => sums | counts.more(sums),
                };
            }
        }
        sums = counts.up_to_more(sums, free);
        // The counts in front of a level that goes a way, of those behind it.
        let before = |level: &Level, way: usize, sums: u128| match (level.name, way) {
            (_, 0) => sums,
            (FURTHER, _) if level.is_there(at) => counts.up_to_more(sums, further),
            (FURTHER, _) => counts.up_to_more(counts.more(sums), further.saturating_sub(1)),
            _ if level.is_there(at) => sums,
            _ => counts.more(sums),
        };
        let passed = |from: u32, to: u32, sums: u128| {
            let levels = self.levels[from as usize..to as usize].iter().rev();
            levels.fold(sums, |sums, level| {
                let ways = 0..=level.goals.len();
                let ways = ways.filter(|way| open[level.ways as usize + way]);
                ways.fold(0, |all, way| all | before(level, way, sums))
            })
        };
        let mut known: Vec<u128> = Vec::with_capacity(self.decisions.len());
        for diagram in &self.diagrams {
            let reach = |from: u32, place: u32, known: &[u128]| match place {
                FAILS => 0,
                HOLDS => passed(from, diagram.end, sums),
                decision => {
                    let at = (decision - FIRST_DECISION) as usize;
                    passed(from, self.decisions[at].level, known[at])
                }
            };
            known.clear();
            for decision in &self.decisions {
                if !(diagram.from..diagram.end).contains(&decision.level) {
                    known.push(0);
                    continue;
                }
                let level = &self.levels[decision.level as usize];
                let ways = decision.to.iter().enumerate();
                let ways = ways.filter(|(way, _)| open[level.ways as usize + way]);
                let all = ways.fold(0, |all, (way, to)| {
                    all | before(level, way, reach(decision.level + 1, *to, &known))
                });
                known.push(all);
            }
            let all = reach(diagram.from, diagram.root, &known);
            sums = all;
        }
        counts.some_between(sums, at.count.into(), (t.min, t.max))
    }

    /// The number of members that may still come and that no name is declared for: those that something depends
    /// on, and others.
    fn further_left(&self, live: &Live<'_>, m: &ObjectMachine, at: &ObjectAt<'_>) -> (u64, u64) {
        let (mut asked, mut free) = (0u64, 0u64);
        for (c, class) in m.classes.iter().enumerate() {
            if live.offers(&class.member, self.thread) {
                let more = live.capacity(m, c, at).unwrap_or(u64::MAX);
                let left = match self.is_asked(live, &class.member) {
                    true => &mut asked,
                    false => &mut free,
                };
                *left = left.saturating_add(more);
            }
        }
        (asked, free)
    }

    /// Which ways of the levels lead to what holds, as one list: see [`Level::ways`].
    fn ways(&self, live: &Live<'_>, m: &ObjectMachine, at: &ObjectAt<'_>) -> Vec<bool> {
        let open = self.open(live, m, at);
        let hopes = self.hopes(&open);
        let mut ways = vec![false; open.len()];
        let mut reached = vec![false; self.decisions.len()];
        for diagram in &self.diagrams {
            if !can_hold(diagram.root, &hopes) {
                return vec![false; open.len()];
            }
            if let Some(root) = diagram.root.checked_sub(FIRST_DECISION) {
                reached[root as usize] = true;
            }
        }
        // By level how many of the steps that pass it over begin there, and end.
        let mut passes = vec![0i32; self.levels.len() + 1];
        let mut pass = |from: u32, to: u32| {
            if from < to {
                passes[from as usize] += 1;
                passes[to as usize] -= 1;
            }
        };
        for diagram in &self.diagrams {
            pass(diagram.from, self.level_at(diagram.root, diagram.end));
        }
        for (number, decision) in self.decisions.iter().enumerate().rev() {
            if !reached[number] {
                continue;
            }
            let end = self.end_of(decision.level);
            let from = self.levels[decision.level as usize].ways as usize;
            for (way, to) in decision.to.iter().enumerate() {
                if open[from + way] && can_hold(*to, &hopes) {
                    ways[from + way] = true;
                    pass(decision.level + 1, self.level_at(*to, end));
                    if let Some(to) = to.checked_sub(FIRST_DECISION) {
                        reached[to as usize] = true;
                    }
                }
            }
        }
        let mut passing = 0;
        for (level, more) in self.levels.iter().zip(&passes) {
            passing += more;
            if passing > 0 {
                let from = level.ways as usize;
                let all = from..=from + level.goals.len();
                ways[all.clone()].copy_from_slice(&open[all]);
            }
        }
        ways
    }

    /// Returns the level of a decision, and of an end that of the end of its diagram.
    pub(super) fn level_at(&self, place: u32, end: u32) -> u32 {
        match place.checked_sub(FIRST_DECISION) {
            Some(decision) => self.decisions[decision as usize].level,
            None => end,
        }
    }

    /// Returns the end of the diagram of a level.
    pub(super) fn end_of(&self, level: u32) -> u32 {
        let place = self.diagrams.partition_point(|d| d.end <= level);
        self.diagrams[place].end
    }

    /// The members that the shortest way to what holds still needs, and the first of them in the
    /// order of members; `None` where no way leads there.
    pub(crate) fn nearest(
        &self,
        live: &Live<'_>,
        m: &ObjectMachine,
        at: &ObjectAt<'_>,
    ) -> Option<(u64, Option<u32>)> {
        let open = self.open(live, m, at);
        // By decision how many members are needed, and the way to go.
        let mut needs: Vec<Option<(u64, usize)>> = Vec::with_capacity(self.decisions.len());
        let need = |place: u32, needs: &[Option<(u64, usize)>]| match place {
            FAILS => None,
            HOLDS => Some(0),
            decision => needs[(decision - FIRST_DECISION) as usize].map(|(need, _)| need),
        };
        for decision in &self.decisions {
            let level = &self.levels[decision.level as usize];
            let from = level.ways as usize;
            let is_there = level.is_there(at);
            let to = decision.to.iter().enumerate();
            let to = to.filter(|(way, _)| open[from + way]);
            let to = to.filter_map(|(way, to)| {
                let own = u64::from(way > 0 && !is_there);
                Some((need(*to, &needs)? + own, way))
            });
            needs.push(to.min());
        }
        let mut sum = 0;
        let mut first: Option<(u32, u32)> = None;
        let ranks = &m.threads[self.thread as usize].ranks;
        for diagram in &self.diagrams {
            sum += need(diagram.root, &needs)?;
            let mut place = diagram.root;
            while let Some(decision) = place.checked_sub(FIRST_DECISION) {
                let (_, way) = needs[decision as usize]?;
                let decision = &self.decisions[decision as usize];
                let level = &self.levels[decision.level as usize];
                if way > 0 && !level.is_there(at) {
                    let rank = ranks.get(level.name as usize).copied().unwrap_or(LOOSE);
                    let own = (rank, level.name);
                    first = Some(first.map_or(own, |first| first.min(own)));
                }
                place = decision.to[way];
            }
        }
        Some((sum, first.map(|(_, name)| name)))
    }
}

/// Sets of counts, as bits of which the last one is for all counts from it on.
struct Counts {
    last: u32,
}

impl Counts {
    /// No member more, and that alone.
    const NONE_MORE: u128 = 1;

    fn up_to(most: u64) -> Counts {
        let last = u32::try_from(most).unwrap_or(u32::MAX);
        Counts {
            last: last.min(126),
        }
    }

    /// Each count with one member more.
    fn more(&self, counts: u128) -> u128 {
        let last = 1u128 << self.last;
        let over = counts & last;
        ((counts & (last - 1)) << 1) | over
    }

    /// Each count with up to so many members more.
    fn up_to_more(&self, counts: u128, most: u64) -> u128 {
        let mut all = counts;
        for _ in 0..most.min(self.last.into()) {
            all |= self.more(all);
        }
        all
    }

    /// Says whether one of the counts, of members beside some, lies between bounds.
    fn some_between(&self, counts: u128, beside: u64, (min, max): (u64, Option<u64>)) -> bool {
        (0..=self.last).any(|count| {
            let all = u64::from(count) + beside;
            // The last bit is for more as well, which is too many where there is a bound.
            let fits = max.is_none_or(|max| all <= max);
            counts & (1 << count) != 0 && all >= min && fits
        })
    }
}

fn can_hold(place: u32, hopes: &[bool]) -> bool {
    match place.checked_sub(FIRST_DECISION) {
        Some(decision) => hopes[decision as usize],
        None => place == HOLDS,
    }
}

impl ObjectThread {
    /// Tells of each value of a member whether it leads to what holds, by the kind that `take` of a
    /// choice tells, where the member is decided on and members are not counted: a search through
    /// all kinds of values answers for them at once.
    pub(crate) fn ways(
        &self,
        name: u32,
        live: &Live<'_>,
        m: &ObjectMachine,
        at: &ObjectAt<'_>,
    ) -> Option<impl Fn(u32) -> bool> {
        let decisions = self.decisions.as_ref()?;
        let level = decisions.level(name).filter(|_| !self.counts_members())?;
        let list = decisions.ways(live, m, at);
        Some(move |take: u32| take == 0 || list[(level.ways + take) as usize])
    }

    /// Says whether there is a bound on the number of members.
    pub(super) fn counts_members(&self) -> bool {
        self.min > 0 || self.max.is_some()
    }

    /// The bit that a frame has behind a member of this name with a value of the kind that
    /// `take` tells, if it has one.
    pub(crate) fn fact(&self, name: u32, take: u32) -> Option<u32> {
        self.decisions.as_ref()?.fact(name, take)
    }
}
