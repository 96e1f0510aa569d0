//! Liveness: whether an array or object can still be finished such that a
//! thread's goal holds. Everything is decided from the thread's own state, so
//! that nothing below or above it has to be asked.
//!
//! For example, behind `[1, 2` no array with `"maxItems": 2` and `"contains": {"const": 3}` ends.

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;

use crate::automaton::machine::counts::Counter;
use crate::automaton::machine::node::{ArrayMachine, ArrayThread, Choice, EMPTY, Member, Node};
use crate::automaton::machine::objects::{LOOSE, ObjectMachine, ObjectThread};
use crate::automaton::machine::progress::{ObjectAt, Thread};

pub(crate) struct Live<'a> {
    nodes: &'a [Node],
    /// Levels that a value inside may still open.
    room: u32,
}

impl<'a> Live<'a> {
    pub(crate) fn new(nodes: &'a [Node], room: u32) -> Live<'a> {
        Live { nodes, room }
    }
}

/// The steps after which a search for witnesses takes the pessimistic answer, because it is made at
/// every member and its cases multiply.
const MAX_SEARCH: usize = 20_000;

/// So many further names and classes take the time of such a step, because a look is short.
const AS_A_STEP: usize = 16;

impl ObjectThread {
    /// The least rank that may still come behind the last name, which is counted from 1 on, or 0.
    pub(super) fn floor(&self, last: u32) -> u32 {
        match last.checked_sub(1) {
            None => 0,
            Some(n) => match self.ranks.get(n as usize) {
                Some(&rank) => rank.saturating_add(1),
                None => LOOSE,
            },
        }
    }
}

impl Live<'_> {
    /// Tells whether a goal of a member has a value that fits into the room.
    pub(crate) fn fits(&self, member: &Member, goal: u32) -> bool {
        let height = self.nodes[member.node as usize].heights[goal as usize];
        height != EMPTY && height <= self.room
    }

    /// Tells whether any goal of a member has one.
    pub(crate) fn offers(&self, member: &Member, thread: u32) -> bool {
        member.of(thread).iter().any(|c| self.fits(member, c.goal))
    }

    /// Tells whether a declared name may still come for a thread.
    fn available(&self, m: &ObjectMachine, thread: u32, at: &ObjectAt<'_>, name: u32) -> bool {
        let t = &m.threads[thread as usize];
        Self::is_free(t, at, name) && self.offers(&m.declared[name as usize], thread)
    }

    /// Tells whether a declared name may still come, as far as the names before it go.
    pub(super) fn is_free(t: &ObjectThread, at: &ObjectAt<'_>, name: u32) -> bool {
        match t.ranks[name as usize] {
            LOOSE => !at.has(name),
            rank => rank >= t.floor(at.last),
        }
    }

    /// Returns the number of further names of a class that may still come; `None` is no end.
    pub(super) fn capacity(
        &self,
        m: &ObjectMachine,
        class: usize,
        at: &ObjectAt<'_>,
    ) -> Option<u64> {
        let trial = u64::from(at.also_class == Some(class as u32));
        let used = at.extras.get(class).copied().unwrap_or(0) + trial;
        m.classes[class].count.map(|n| n.saturating_sub(used))
    }

    /// Tells whether a name may come next, as far as the order goes: nothing required is passed
    /// over.
    pub(crate) fn in_order(&self, t: &ObjectThread, at: &ObjectAt<'_>, name: u32) -> bool {
        let rank = t.ranks.get(name as usize).copied().unwrap_or(LOOSE);
        let floor = t.floor(at.last);
        if rank == LOOSE {
            if t.ranks.len() > name as usize && at.has(name) {
                return false;
            }
        } else if rank < floor {
            return false;
        }
        let next = t.required.partition_point(|(r, _)| *r < floor);
        t.required.get(next).is_none_or(|(r, _)| *r >= rank)
    }

    pub(crate) fn object_complete(
        &self,
        m: &ObjectMachine,
        thread: u32,
        progress: u32,
        at: &ObjectAt<'_>,
    ) -> bool {
        let t = &m.threads[thread as usize];
        let floor = t.floor(at.last);
        let from = t.required.partition_point(|(r, _)| *r < floor);
        t.required[from..]
            .iter()
            .all(|(rank, name)| *rank == LOOSE && at.has(*name))
            && progress & t.witnesses == t.witnesses
            && u64::from(at.count) >= t.min
            && t.max.is_none_or(|x| u64::from(at.count) <= x)
            && t.implies
                .iter()
                .all(|(name, needed)| !at.has(*name) || needed.iter().all(|n| at.has(*n)))
            && t.decisions.as_ref().is_none_or(|d| d.hold(at))
    }

    /// Says whether an object can be finished by a thread that makes a choice of what the value
    /// of a member is.
    pub(crate) fn goes_on(
        &self,
        m: &ObjectMachine,
        thread: Thread,
        (number, choice): (u32, &Choice),
        at: &ObjectAt<'_>,
    ) -> bool {
        if m.threads[thread.id as usize].decisions.is_none() {
            return self.object(m, thread.id, thread.progress | choice.take, at);
        }
        let also_fact = m.threads[thread.id as usize].fact(number, choice.take);
        let at = at.with_fact(also_fact);
        self.object(m, thread.id, thread.progress, &at)
    }

    pub(crate) fn object(
        &self,
        m: &ObjectMachine,
        thread: u32,
        progress: u32,
        at: &ObjectAt<'_>,
    ) -> bool {
        let t = &m.threads[thread as usize];
        let mut missing = 0u64;
        let floor = t.floor(at.last);
        let from = t.required.partition_point(|(r, _)| *r < floor);
        for (rank, name) in &t.required[from..] {
            if *rank == LOOSE && at.has(*name) {
                continue;
            }
            if !self.offers(&m.declared[*name as usize], thread) {
                return false;
            }
            missing += 1;
        }
        if t.simple {
            return true;
        }
        if !t.implies.is_empty() && !self.implied(m, t, thread, at) {
            return false;
        }
        if let Some(decisions) = &t.decisions {
            return match t.counts_members() {
                true => decisions.can_count(self, m, t, at),
                false => decisions.can_hold(self, m, at),
            };
        }
        let count = u64::from(at.count);
        if t.max.is_some_and(|x| count + missing > x) {
            return false;
        }
        if count < t.min {
            let mut able = count;
            for name in 0..m.declared.len() as u32 {
                able += u64::from(self.available(m, thread, at, name));
            }
            for (c, class) in m.classes.iter().enumerate() {
                if able < t.min && self.offers(&class.member, thread) {
                    able = match self.capacity(m, c, at) {
                        Some(n) => able.saturating_add(n),
                        None => u64::MAX,
                    };
                }
            }
            if able < t.min {
                return false;
            }
        }
        let open = t.witnesses & !progress;
        open == 0 || self.has_witnesses(m, thread, open, missing, at)
    }

    /// Tells whether members can come that give the witnesses that are open, beside so many
    /// required ones that are missing.
    pub(super) fn has_witnesses(
        &self,
        m: &ObjectMachine,
        thread: u32,
        open: u32,
        missing: u64,
        at: &ObjectAt<'_>,
    ) -> bool {
        let mut search = Search {
            live: self,
            m,
            t: &m.threads[thread as usize],
            thread,
            at,
            missing,
            names: BTreeSet::new(),
            extras: vec![0; m.classes.len()],
            steps: 0,
        };
        search.run(open)
    }

    /// Tells whether what used and required names imply can still come.
    pub(super) fn implied(
        &self,
        m: &ObjectMachine,
        t: &ObjectThread,
        thread: u32,
        at: &ObjectAt<'_>,
    ) -> bool {
        let mut met = vec![false; m.declared.len()];
        let mut open: Vec<u32> = t.required.iter().map(|(_, n)| *n).collect();
        open.extend(t.implies.iter().map(|(n, _)| *n).filter(|n| at.has(*n)));
        open.iter().for_each(|n| met[*n as usize] = true);
        while let Some(name) = open.pop() {
            let from = t.implies.partition_point(|(n, _)| *n < name);
            let lists = t.implies[from..].iter().take_while(|(n, _)| *n == name);
            for n in lists.flat_map(|(_, needed)| needed.iter().copied()) {
                if !at.has(n) && !std::mem::replace(&mut met[n as usize], true) {
                    if !self.available(m, thread, at, n) {
                        return false;
                    }
                    open.push(n);
                }
            }
        }
        true
    }

    pub(crate) fn array_complete(
        &self,
        m: &ArrayMachine,
        thread: u32,
        progress: u32,
        index: u32,
    ) -> bool {
        let t = &m.threads[thread as usize];
        let n = u64::from(index);
        n >= t.min && t.max.is_none_or(|x| n <= x) && t.counts.hold(progress)
    }

    /// The progress of a thread behind an item that raises some counts, from where it has `index` items; `None` if
    /// the array cannot be finished then.
    pub(crate) fn behind_item(
        &self,
        m: &ArrayMachine,
        thread: Thread,
        take: u32,
        index: u32,
    ) -> Option<u32> {
        let counts = &m.threads[thread.id as usize].counts;
        let progress = counts.raise(thread.progress, take)?;
        self.array(m, thread.id, progress, index)
            .then_some(progress)
    }

    pub(crate) fn array(&self, m: &ArrayMachine, thread: u32, progress: u32, index: u32) -> bool {
        let t = &m.threads[thread as usize];
        let last = m.members.len() - 1;
        let member = |i: u64| &m.members[m.place(i)];
        let n = u64::from(index);
        if t.max.is_some_and(|x| n > x) {
            return false;
        }
        if t.counts.is_empty() {
            // Every item up to the fewest must have a value.
            let mut i = n;
            while i < t.min {
                if !self.offers(member(i), thread) {
                    return false;
                }
                if i as usize >= last {
                    break;
                }
                i += 1;
            }
            return true;
        }
        if let [count] = t.counts.all() {
            return self.one_count(m, (thread, t), count, progress, n);
        }
        let takes = |item: &Member| {
            let mut takes: Vec<u32> = Vec::new();
            for choice in item.of(thread) {
                if self.fits(item, choice.goal) && !takes.contains(&choice.take) {
                    takes.push(choice.take);
                }
            }
            takes
        };
        let mut layer: FxHashSet<u32> = FxHashSet::default();
        layer.insert(progress);
        let mut i = n;
        loop {
            let ends = i >= t.min && t.max.is_none_or(|x| i <= x);
            if ends && layer.iter().any(|e| t.counts.hold(*e)) {
                return true;
            }
            if t.max.is_some_and(|x| i >= x) {
                return false;
            }
            let takes = takes(member(i));
            if i >= t.min && t.max.is_none() && i >= last as u64 {
                // From here on all items are alike: each counts once.
                let mut todo: Vec<u32> = layer.iter().copied().collect();
                while let Some(progress) = todo.pop() {
                    if t.counts.hold(progress) {
                        return true;
                    }
                    let next = takes.iter();
                    let next = next.filter_map(|take| t.counts.raise(progress, *take));
                    todo.extend(next.filter(|to| layer.insert(*to)));
                }
                return false;
            }
            let mut next: FxHashSet<u32> = FxHashSet::default();
            for progress in &layer {
                let raised = takes.iter();
                next.extend(raised.filter_map(|take| t.counts.raise(*progress, *take)));
            }
            if next.is_empty() {
                return false;
            }
            if i >= last as u64 && next == layer {
                // More items of the same kind change nothing.
                match i < t.min {
                    true => i = t.min,
                    false => return false,
                }
                continue;
            }
            layer = next;
            i += 1;
        }
    }
}

impl Live<'_> {
    /// Tells whether an array can be finished that has one count: each item raises it or does not,
    /// so what several of them add up to has no gaps, and how many more are needed is found without
    /// counting.
    fn one_count(
        &self,
        m: &ArrayMachine,
        (thread, t): (u32, &ArrayThread),
        count: &Counter,
        progress: u32,
        from: u64,
    ) -> bool {
        let last = m.members.len() as u64 - 1;
        let have = progress % count.radix();
        let need = u64::from(count.min.saturating_sub(have));
        let most = count.max.map(|max| u64::from(max.saturating_sub(have)));
        // True if an item may leave the count alone, and whether it may raise it.
        let choices = |item: &Member| {
            let mut ways = (false, false);
            for choice in item.of(thread) {
                if self.fits(item, choice.goal) {
                    ways.0 |= choice.take == 0;
                    ways.1 |= choice.take != 0;
                }
            }
            ways
        };
        let (mut low, mut high) = (0u64, 0u64);
        let mut at = from;
        while at < last {
            let fits = high >= need && most.is_none_or(|most| low <= most);
            if fits && at >= t.min && t.max.is_none_or(|max| at <= max) {
                return true;
            }
            let (stays, raises) = choices(&m.members[at as usize]);
            if !(stays || raises) || t.max.is_some_and(|max| at >= max) {
                return false;
            }
            low += u64::from(!stays);
            high += u64::from(raises);
            at += 1;
        }
        // All further items are alike: so many of them, at least and at most.
        let (stays, raises) = choices(&m.members[last as usize]);
        let mut least = t.min.saturating_sub(at);
        let mut greatest = t.max.map_or(Some(u64::MAX), |max| max.checked_sub(at));
        if high < need {
            match raises {
                true => least = least.max(need - high),
                false => return false,
            }
        }
        if let Some(most) = most {
            let room = most.checked_sub(low);
            match (room, stays) {
                (None, _) => return false,
                (Some(room), false) => greatest = greatest.map(|n| n.min(room)),
                (Some(_), true) => {}
            }
        }
        if !(stays || raises) {
            greatest = greatest.map(|_| 0);
        }
        greatest.is_some_and(|greatest| least <= greatest)
    }
}

/// Looks for members that give all witnesses that are still missing.
struct Search<'s> {
    live: &'s Live<'s>,
    m: &'s ObjectMachine,
    t: &'s ObjectThread,
    thread: u32,
    at: &'s ObjectAt<'s>,
    missing: u64,
    names: BTreeSet<u32>,
    extras: Vec<u64>,
    steps: usize,
}

impl Search<'_> {
    fn run(&mut self, open: u32) -> bool {
        let looked_at = self.m.declared.len() + self.m.classes.len();
        self.steps += 1 + looked_at / AS_A_STEP;
        // Whoever is chosen counts, whatever comes behind.
        if self.steps > MAX_SEARCH || self.has_too_many() {
            return false;
        }
        if open == 0 {
            return true;
        }
        for name in 0..self.m.declared.len() as u32 {
            // A name without a value gains nothing.
            if self.names.contains(&name) || !Live::is_free(self.t, self.at, name) {
                continue;
            }
            for take in self.gains(&self.m.declared[name as usize], open) {
                self.names.insert(name);
                if self.run(open & !take) {
                    return true;
                }
                self.names.remove(&name);
            }
        }
        for class in 0..self.m.classes.len() {
            let room = self.live.capacity(self.m, class, self.at);
            if room.is_some_and(|n| self.extras[class] >= n) {
                continue;
            }
            for take in self.gains(&self.m.classes[class].member, open) {
                self.extras[class] += 1;
                if self.run(open & !take) {
                    return true;
                }
                self.extras[class] -= 1;
            }
        }
        false
    }

    /// Tells whether what is chosen makes more members than there may be.
    fn has_too_many(&self) -> bool {
        let Some(most) = self.t.max else {
            return false;
        };
        let required = |name: &u32| self.t.required.iter().any(|(_, r)| r == name);
        let more = self.names.iter().filter(|name| !required(name)).count() as u64
            + self.extras.iter().sum::<u64>();
        u64::from(self.at.count) + self.missing + more > most
    }

    /// Returns the sets of open witnesses that a member may give, the first among them: without
    /// those that another set contains.
    fn gains(&self, member: &Member, open: u32) -> Vec<u32> {
        let first = open & open.wrapping_neg();
        let mut gains: Vec<u32> = Vec::new();
        for choice in member.of(self.thread) {
            let gain = choice.take & open;
            let is_less = |other: &u32| gain & other == gain;
            if gain & first != 0
                && !gains.iter().any(is_less)
                && self.live.fits(member, choice.goal)
            {
                gains.retain(|other| other & gain != *other);
                gains.push(gain);
            }
        }
        gains
    }
}
