//! The values that are left for the items that an array still needs: a bipartite matching of places
//! to values that were not there before, and the values that no matching can do without.
//!
//! For example, `{"items": {"enum": [1, 2]}, "uniqueItems": true, "minItems": 2}` has room behind
//! `[1,` since `2` is left, and none for a second `1`.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::automaton::machine::matching::{Matching, Places};
use crate::automaton::machine::node::{ArrayMachine, Member};

/// The values of the items that came, each by its canonical spelling: a text keeps them, as it likes.
pub(crate) trait Values {
    fn count(&self) -> usize;
    fn has(&self, value: &str) -> bool;
    fn each(&self, put: &mut dyn FnMut(&str));
}

/// No values: no item came yet.
impl Values for () {
    fn count(&self) -> usize {
        0
    }

    fn has(&self, _value: &str) -> bool {
        false
    }

    fn each(&self, _put: &mut dyn FnMut(&str)) {}
}

/// A list of the values of items that must differ, as far as they are few.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    /// The values of all goals that have few: sorted, by canonical spelling.
    all: Box<[Arc<str>]>,
    /// For each member and each goal of it the numbers of its values, where they are few.
    pub(super) lists: Vec<Vec<Option<Box<[u32]>>>>,
    /// For each member and each goal at least how many values there are: as many as there
    /// are numbers where there is no end.
    pub(super) least: Vec<Vec<u64>>,
    /// The least of those of goals that are not listed.
    plenty: u64,
    /// The threads for which there are too few values.
    pub(super) poor: Box<[bool]>,
}

impl Catalog {
    /// From the values of the goals that have few, and how many there are at least; `is_exact` says of a goal of a
    /// member that there are no more than these.
    ///
    /// # Errors
    ///
    /// The reason why what the items need is not always decided.
    pub(crate) fn new(
        m: &ArrayMachine,
        listed: Vec<Vec<Option<Vec<Arc<str>>>>>,
        least: Vec<Vec<u64>>,
        is_exact: impl Fn(&Member, u32) -> bool,
    ) -> Result<Catalog, String> {
        let mut catalog = Catalog::of(m, listed, least);
        for (t, thread) in (0..).zip(&m.threads) {
            if !thread.unique {
                continue;
            }
            if !catalog.is_followed(m, t) {
                return Err(
                    "together with `contains` or `prefixItems`, over so many listed values, it is not followed".to_owned(),
                );
            }
            let needed = thread.needed();
            for (index, member) in m.members.iter().enumerate() {
                if index as u64 >= needed {
                    break;
                }
                for choice in member.of(t) {
                    let is_listed = catalog.list(index, choice.goal).is_some();
                    if is_listed || catalog.least(index, choice.goal) >= needed {
                        continue;
                    }
                    let is_alike = m.members.len() == 1 && member.of(t).len() == 1;
                    if !is_alike || !is_exact(member, choice.goal) {
                        return Err(format!(
                            "whether there are {needed} different values is not found out; lower `minItems`, or list the values"
                        ));
                    }
                    catalog.poor[t as usize] = true;
                }
            }
        }
        Ok(catalog)
    }

    fn of(
        m: &ArrayMachine,
        listed: Vec<Vec<Option<Vec<Arc<str>>>>>,
        least: Vec<Vec<u64>>,
    ) -> Catalog {
        let values = listed.iter().flatten().flatten().flatten();
        let mut all: Vec<Arc<str>> = values.cloned().collect();
        all.sort_unstable();
        all.dedup();
        let counts = listed.iter().flatten().zip(least.iter().flatten());
        let unlisted = counts.filter(|(list, _)| list.is_none());
        let plenty = unlisted.map(|(_, many)| *many).min().unwrap_or(u64::MAX);
        let number = |value: &Arc<str>| all.binary_search(value).ok().map(|n| n as u32);
        let mut lists: Vec<Vec<Option<Box<[u32]>>>> = Vec::new();
        if listed.iter().flatten().any(Option::is_some) {
            let numbers = |list: &Vec<Arc<str>>| list.iter().filter_map(number).collect();
            let goals = |goals: &Vec<Option<Vec<Arc<str>>>>| {
                let lists = goals.iter().map(|list| list.as_ref().map(numbers));
                lists.collect()
            };
            lists = listed.iter().map(goals).collect();
        }
        Catalog {
            all: all.into(),
            lists,
            least,
            plenty,
            poor: vec![false; m.threads.len()].into(),
        }
    }

    /// Tells whether so many items may be there, and some more, without any bearing of their values
    /// on what may come, but that they must differ.
    pub(crate) fn only_compares(&self, items: usize) -> bool {
        let items = items as u64 + SOME_ITEMS;
        !self.is_listed() && items < self.plenty
    }

    /// At least how many values a goal of a member has.
    pub(crate) fn least(&self, at: usize, goal: u32) -> u64 {
        let counts = self.least.get(at);
        let count = counts.and_then(|counts| counts.get(goal as usize));
        count.copied().unwrap_or(0)
    }

    /// The values of a goal of a member, where they are listed.
    pub(crate) fn values(&self, at: usize, goal: u32) -> Option<impl Iterator<Item = &str>> {
        let list = self.list(at, goal)?.iter();
        Some(list.map(|number| &*self.all[*number as usize]))
    }

    /// Returns the number of all values that are listed.
    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }

    /// Tells whether the values of some goal are listed.
    pub(crate) fn is_listed(&self) -> bool {
        !self.lists.is_empty()
    }

    fn list(&self, at: usize, goal: u32) -> Option<&[u32]> {
        self.lists.get(at)?.get(goal as usize)?.as_deref()
    }

    fn taken(&self, seen: &impl Values) -> Vec<bool> {
        if seen.count() > self.all.len() {
            return self.all.iter().map(|value| seen.has(value)).collect();
        }
        let mut taken = vec![false; self.all.len()];
        seen.each(&mut |item| {
            if let Ok(at) = self.all.binary_search_by(|value| (**value).cmp(item)) {
                taken[at] = true;
            }
        });
        taken
    }

    /// Tells whether distinct values can be found for the items that a thread still needs from an
    /// index on.
    pub(crate) fn has_room(
        &self,
        m: &ArrayMachine,
        (thread, progress): (u32, u32),
        index: u32,
        seen: &impl Values,
    ) -> bool {
        let t = &m.threads[thread as usize];
        if !t.unique {
            return true;
        }
        if self.poor.get(thread as usize) == Some(&true) {
            return false;
        }
        if !self.is_listed() {
            return true;
        }
        let taken = self.taken(seen);
        match t.counts.is_empty() {
            true => self.matching(m, thread, index, &taken).is_some(),
            false => self.counted(m, (thread, progress), index, &taken),
        }
    }

    /// The values of which an item before the index cannot have one, since all that is to
    /// come needs it: `None` if there is no room whatever it has.
    pub(crate) fn critical(
        &self,
        m: &ArrayMachine,
        (thread, progress): (u32, u32),
        index: u32,
        seen: &impl Values,
    ) -> Option<Vec<Arc<str>>> {
        let t = &m.threads[thread as usize];
        if !t.unique {
            return Some(Vec::new());
        }
        if self.poor.get(thread as usize) == Some(&true) {
            return None;
        }
        if !self.is_listed() {
            return Some(Vec::new());
        }
        let mut taken = self.taken(seen);
        if t.counts.is_empty() {
            let (places, matching) = self.matching(m, thread, index, &taken)?;
            let numbers = matching.indispensable(&places, &taken);
            return Some(self.named(numbers));
        }
        if !self.counted(m, (thread, progress), index, &taken) {
            return None;
        }
        let mut critical = Vec::new();
        // Values of the same kinds are alike.
        let mut known: Vec<(Vec<u32>, bool)> = Vec::new();
        for value in 0..self.all.len() {
            if taken[value] {
                continue;
            }
            let kind = self.kind_of(m, thread, index, value as u32);
            let is_critical = match known.iter().find(|(k, _)| *k == kind) {
                Some((_, is)) => *is,
                None => {
                    taken[value] = true;
                    let is = !self.counted(m, (thread, progress), index, &taken);
                    taken[value] = false;
                    known.push((kind, is));
                    is
                }
            };
            if is_critical {
                critical.push(value as u32);
            }
        }
        Some(self.named(critical))
    }

    fn named(&self, numbers: Vec<u32>) -> Vec<Arc<str>> {
        let values = numbers.into_iter();
        values.map(|n| Arc::clone(&self.all[n as usize])).collect()
    }

    /// The choices, by place and number, that a value may be.
    fn kind_of(&self, m: &ArrayMachine, thread: u32, index: u32, value: u32) -> Vec<u32> {
        let mut out = Vec::new();
        for at in m.place(index.into())..m.members.len() {
            for (c, choice) in (0..).zip(m.members[at].of(thread)) {
                let list = self.list(at, choice.goal).unwrap_or_default();
                if list.binary_search(&value).is_ok() {
                    out.extend([at as u32, c]);
                }
            }
        }
        out
    }

    /// Returns the values that may stand at the places from an index on that must have one, alike
    /// places together; places that have values without end are left out.
    fn places(&self, m: &ArrayMachine, thread: u32, index: u32, taken: &[bool]) -> Vec<Places> {
        let t = &m.threads[thread as usize];
        let last = m.members.len() - 1;
        let mut out: Vec<Places> = Vec::new();
        let mut i = u64::from(index);
        while i < t.min {
            let at = m.place(i);
            let count = if at == last { t.min - i } else { 1 };
            i += count;
            let choices = m.members[at].of(thread);
            let lists = choices.iter().map(|c| self.list(at, c.goal));
            let Some(lists) = lists.collect::<Option<Vec<&[u32]>>>() else {
                continue;
            };
            let mut values: Vec<u32> = lists.concat();
            values.retain(|value| !taken[*value as usize]);
            if lists.len() > 1 {
                values.sort_unstable();
                values.dedup();
            }
            out.push(Places { values, count });
        }
        out
    }

    fn matching(
        &self,
        m: &ArrayMachine,
        thread: u32,
        index: u32,
        taken: &[bool],
    ) -> Option<(Vec<Places>, Matching)> {
        let places = self.places(m, thread, index, taken);
        let mut matching = Matching {
            owner: vec![0; taken.len()],
        };
        for (number, here) in places.iter().enumerate() {
            if (here.values.len() as u64) < here.count {
                return None;
            }
            let mut missing = here.count;
            for value in &here.values {
                let owner = &mut matching.owner[*value as usize];
                if missing > 0 && *owner == 0 {
                    *owner = number as u32 + 1;
                    missing -= 1;
                }
            }
            for _ in 0..missing {
                if !matching.find(&places, number) {
                    return None;
                }
            }
        }
        Some((places, matching))
    }

    /// The same where items are counted as well.
    fn counted(&self, m: &ArrayMachine, at: (u32, u32), index: u32, taken: &[bool]) -> bool {
        let last = m.members.len() - 1;
        match index as usize >= last {
            true => self.counted_alike(m, at, index, taken),
            false => self.counted_one(m, at, index, taken),
        }
    }

    /// The same if all places are alike: it counts how many values of each kind are taken.
    fn counted_alike(
        &self,
        m: &ArrayMachine,
        (thread, progress): (u32, u32),
        index: u32,
        taken: &[bool],
    ) -> bool {
        let t = &m.threads[thread as usize];
        let last = m.members.len() - 1;
        let choices = m.members[last].of(thread);
        // The number of values that have which choices.
        let mut kinds: Vec<(Vec<u32>, u64)> = Vec::new();
        let mut of_value: Vec<Vec<u32>> = vec![Vec::new(); self.all.len()];
        for choice in choices {
            match self.list(last, choice.goal) {
                None => kinds.push((vec![choice.take], u64::MAX)),
                Some(list) => {
                    for value in list.iter().filter(|value| !taken[**value as usize]) {
                        of_value[*value as usize].push(choice.take);
                    }
                }
            }
        }
        of_value.retain(|takes| !takes.is_empty());
        of_value.sort_unstable();
        for takes in of_value {
            match kinds.last_mut() {
                Some((known, count)) if *known == takes && *count != u64::MAX => *count += 1,
                _ => kinds.push((takes, 1)),
            }
        }
        let wanted = t.min.saturating_sub(u64::from(index));
        // No item more than are asked for is ever needed.
        let most = wanted.max(t.counts.needed());
        let most = t
            .max
            .map_or(most, |max| most.min(max.saturating_sub(u64::from(index))));
        let mut met: FxHashSet<(u32, u64)> = FxHashSet::default();
        met.insert((progress, 0));
        for (takes, count) in &kinds {
            let mut layer: Vec<(u32, u64)> = met.iter().copied().collect();
            for _ in 0..(*count).min(most) {
                let mut next = Vec::new();
                for (progress, items) in layer {
                    for take in takes {
                        let Some(to) = t.counts.raise(progress, *take) else {
                            continue;
                        };
                        if items < most && met.insert((to, items + 1)) {
                            next.push((to, items + 1));
                        }
                    }
                }
                layer = next;
                if layer.is_empty() {
                    break;
                }
            }
        }
        met.iter()
            .any(|(progress, items)| *items >= wanted && t.counts.hold(*progress))
    }

    /// The same if places are not alike and one condition is counted: it asks for the matchings
    /// with the most and with the fewest items that satisfy it; all numbers between are possible,
    /// since values have their colour wherever they stand.
    fn counted_one(
        &self,
        m: &ArrayMachine,
        (thread, progress): (u32, u32),
        index: u32,
        taken: &[bool],
    ) -> bool {
        let t = &m.threads[thread as usize];
        let [count] = t.counts.all() else {
            return false;
        };
        let need = u64::from(count.min.saturating_sub(progress));
        let most = count.max.map(|max| u64::from(max.saturating_sub(progress)));
        let last = m.members.len() as u64 - 1;
        let from = u64::from(index);
        let until = t.min.max(last).max(from) + need;
        let until = t.max.map_or(until, |max| until.min(max));
        for end in t.min.max(from)..=until {
            let board = Board::new(self, m, thread, (from, end), taken);
            let (Some(reds), Some(blues)) = (board.most(true), board.most(false)) else {
                continue;
            };
            let fewest = (end - from) - blues;
            if reds >= need && most.is_none_or(|most| fewest <= most && need <= most) {
                return true;
            }
        }
        false
    }

    /// Tells whether values that are counted in some place are so in all.
    fn is_even(&self, m: &ArrayMachine, thread: u32) -> bool {
        let mut counted = vec![false; self.all.len()];
        let lists = |counts: bool| {
            let members = m.members.iter().enumerate();
            members.map(move |(at, member)| {
                let choices = member.of(thread).iter();
                let choices = choices.filter(move |c| (c.take != 0) == counts);
                let lists = choices.filter_map(move |c| self.list(at, c.goal));
                lists.flatten().copied().collect::<Vec<u32>>()
            })
        };
        for value in lists(true).flatten() {
            counted[value as usize] = true;
        }
        lists(false).zip(lists(true)).all(|(plain, here)| {
            let mut plain = plain.iter();
            plain.all(|value| !counted[*value as usize] || here.contains(value))
        })
    }

    /// Tells whether what a thread needs is decided: where values are listed and items counted, not
    /// always.
    fn is_followed(&self, m: &ArrayMachine, thread: u32) -> bool {
        let t = &m.threads[thread as usize];
        if !t.unique || !self.is_listed() {
            return true;
        }
        let last = m.members.len() - 1;
        let sizes = (0..=last).map(|at| {
            let lists = m.members[at].of(thread).iter();
            let lists = lists.filter_map(|c| self.list(at, c.goal));
            lists.map(<[u32]>::len).sum::<usize>()
        });
        let edges: usize = sizes.sum();
        if t.counts.is_empty() {
            return edges <= MAX_EDGES;
        }
        let states = t.counts.states();
        let alike = states.saturating_mul(t.needed() + 1) <= MAX_COUNTED;
        let is_small = edges <= MAX_BOARD && t.needed() <= MAX_PLACES;
        alike && (last == 0 || (t.counts.all().len() == 1 && is_small && self.is_even(m, thread)))
    }
}

/// Places and the values that they may have, of which some are counted.
struct Board {
    places: usize,
    /// For each value whether it is counted, and the places that it may have.
    values: Vec<(bool, Vec<usize>)>,
}

impl Board {
    fn new(
        catalog: &Catalog,
        m: &ArrayMachine,
        thread: u32,
        (from, end): (u64, u64),
        taken: &[bool],
    ) -> Board {
        let mut listed: Vec<(bool, Vec<usize>)> = vec![(false, Vec::new()); catalog.all.len()];
        let mut own: Vec<(bool, Vec<usize>)> = Vec::new();
        for (place, index) in (from..end).enumerate() {
            let at = m.place(index);
            for choice in m.members[at].of(thread) {
                match catalog.list(at, choice.goal) {
                    None => own.push((choice.take != 0, vec![place])),
                    Some(list) => {
                        for &value in list.iter().filter(|value| !taken[**value as usize]) {
                            let (is_counted, places) = &mut listed[value as usize];
                            *is_counted |= choice.take != 0;
                            if places.last() != Some(&place) {
                                places.push(place);
                            }
                        }
                    }
                }
            }
        }
        listed.extend(own);
        Board {
            places: (end - from) as usize,
            values: listed,
        }
    }

    /// The most values that are counted, or are not, in a matching of all places: `None`
    /// if there is none.
    fn most(&self, counted: bool) -> Option<u64> {
        let mut has: Vec<Option<usize>> = vec![None; self.places];
        let mut number = 0;
        let mut matched = 0;
        for first in [true, false] {
            for value in 0..self.values.len() {
                if (self.values[value].0 == counted) != first {
                    continue;
                }
                let mut met = vec![false; self.places];
                if self.place(value, &mut has, &mut met) {
                    matched += 1;
                    number += u64::from(first);
                }
            }
        }
        (matched == self.places).then_some(number)
    }

    /// Finds a place for a value, where others may have to move.
    fn place(&self, value: usize, has: &mut [Option<usize>], met: &mut [bool]) -> bool {
        for &at in &self.values[value].1 {
            if std::mem::replace(&mut met[at], true) {
                continue;
            }
            if has[at].is_none_or(|other| self.place(other, has, met)) {
                has[at] = Some(value);
                return true;
            }
        }
        false
    }
}

/// A number of items that no token ends, because a token has fewer bytes.
const SOME_ITEMS: u64 = 1_000;
/// The most values of all places together, because a matching is looked for at each item.
const MAX_EDGES: usize = 50_000;
/// The same for counted items, because these are matched once for each value.
const MAX_BOARD: usize = 2_000;
/// The most items that are wanted there, because each one is placed in turn.
const MAX_PLACES: u64 = 200;
/// The most combinations of counts and numbers of items, because all of them are tried.
const MAX_COUNTED: u64 = 20_000;
