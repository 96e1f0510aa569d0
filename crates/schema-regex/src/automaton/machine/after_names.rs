//! The names behind which an object can be finished, for all of them at once: [`Live::object`]
//! looks at everything for one name, and this answers from sums that are made once.
//!
//! For example, in an object that requires `a` and then `b`, the name `b` cannot come first.

use rustc_hash::FxHashMap;

use crate::automaton::machine::latest::Latest;
use crate::automaton::machine::live::Live;
use crate::automaton::machine::node::Choice;
use crate::automaton::machine::objects::{LOOSE, ObjectMachine, ObjectThread};
use crate::automaton::machine::progress::{ObjectAt, Thread, has_bit};

/// One thread of an object before a name.
pub(crate) struct AfterNames<'a> {
    live: &'a Live<'a>,
    m: &'a ObjectMachine,
    t: &'a ObjectThread,
    thread: u32,
    used: &'a [u32],
    /// One more than the place of the last required name that is missing and has no value.
    hopeless: usize,
    /// Required names without a place in the order that are there.
    loose_there: u64,
    /// The names that may still come, those with a place in the order by it.
    loose: u64,
    ranks: Vec<u32>,
    /// The further names that may still come, by class.
    further: Vec<Option<u64>>,
    implied: Option<Implied>,
    /// The latest place in the order at which a member may come.
    latest: Option<Latest>,
    /// The answers of searches for witnesses.
    searched: FxHashMap<(u32, u32, u64, u32), bool>,
}

/// The names that are implied and not there.
struct Implied {
    /// True if all that must come whatever the name is has a value.
    can_come: bool,
    /// The first two in the order of what must come whatever the name is: place and name.
    first: [(u32, u32); 2],
    /// By name, the least place of what it implies: one more than it, 0 for what has no value.
    least: Vec<u64>,
}

/// The number of no name, because no object declares so many.
const NONE: u32 = u32::MAX;

impl<'a> AfterNames<'a> {
    /// Takes time in the names, and in what they imply.
    pub(crate) fn new(
        live: &'a Live<'a>,
        m: &'a ObjectMachine,
        thread: u32,
        before: &ObjectAt<'a>,
    ) -> AfterNames<'a> {
        let t = &m.threads[thread as usize];
        let mut out = AfterNames {
            live,
            m,
            t,
            thread,
            used: before.used,
            hopeless: 0,
            loose_there: 0,
            loose: 0,
            ranks: Vec::new(),
            further: Vec::new(),
            implied: None,
            latest: None,
            searched: FxHashMap::default(),
        };
        if let Some(decisions) = &t.decisions {
            let counts = t.counts_members();
            out.latest = (!counts).then(|| decisions.latest(live, m, before));
            return out;
        }
        for (at, (rank, name)) in t.required.iter().enumerate() {
            if *rank == LOOSE && has_bit(out.used, *name) {
                out.loose_there += 1;
            } else if !out.has_value(*name) {
                out.hopeless = at + 1;
            }
        }
        if t.simple {
            return out;
        }
        if t.min > 0 {
            for (name, rank) in (0..).zip(&t.ranks) {
                match *rank {
                    LOOSE => {
                        let may_come = !has_bit(out.used, name) && out.has_value(name);
                        out.loose += u64::from(may_come);
                    }
                    rank if out.has_value(name) => out.ranks.push(rank),
                    _ => {}
                }
            }
            out.ranks.sort_unstable();
            let further = m.classes.iter().enumerate().map(|(c, class)| {
                match live.offers(&class.member, thread) {
                    true => live.capacity(m, c, before),
                    false => Some(0),
                }
            });
            out.further = further.collect();
        }
        if !t.implies.is_empty() {
            out.implied = Some(out.implied());
        }
        out
    }

    fn has_value(&self, name: u32) -> bool {
        let member = &self.m.declared[name as usize];
        self.live.offers(member, self.thread)
    }

    /// Returns the answer of [`Live::object`] behind a name that has a value.
    pub(crate) fn object(
        &mut self,
        number: u32,
        (progress, choice): (u32, &Choice),
        after: &ObjectAt<'_>,
    ) -> bool {
        let t = self.t;
        if let Some(decisions) = &t.decisions {
            let id = self.thread;
            return match &self.latest {
                Some(latest) => {
                    let rank = t.ranks.get(number as usize).copied().unwrap_or(LOOSE);
                    decisions.may_come(number, choice.take, rank, latest)
                }
                None => {
                    let thread = Thread { id, progress };
                    self.live.goes_on(self.m, thread, (number, choice), after)
                }
            };
        }
        let progress = progress | choice.take;
        let floor = t.floor(after.last);
        let from = t.required.partition_point(|(rank, _)| *rank < floor);
        if self.hopeless > from {
            return false;
        }
        if t.simple {
            return true;
        }
        let is_new_loose = |name: u32| t.ranks[name as usize] == LOOSE && !has_bit(self.used, name);
        let trial = after.also.filter(|name| is_new_loose(*name));
        let is_required = |name| t.required.binary_search(&(LOOSE, name)).is_ok();
        let there = self.loose_there + u64::from(trial.is_some_and(is_required));
        let missing = (t.required.len() - from) as u64 - there;
        if let Some(implied) = &self.implied
            && !self.can_come(implied, number, floor, after)
        {
            return false;
        }
        let count = u64::from(after.count);
        if t.max.is_some_and(|max| count + missing > max) {
            return false;
        }
        if count < t.min {
            let ranked = self.ranks.len() - self.ranks.partition_point(|rank| *rank < floor);
            let mut able = count + self.loose - u64::from(trial.is_some()) + ranked as u64;
            for (class, left) in (0..).zip(&self.further) {
                let trial = u64::from(after.also_class == Some(class));
                able = match left {
                    Some(left) => able.saturating_add(left.saturating_sub(trial)),
                    None => u64::MAX,
                };
            }
            if able < t.min {
                return false;
            }
        }
        let open = t.witnesses & !progress;
        if open == 0 {
            return true;
        }
        let gives = |name: u32| {
            let choices = self.m.declared[name as usize].of(self.thread);
            choices.iter().any(|choice| choice.take & open != 0)
        };
        let (live, m, thread) = (self.live, self.m, self.thread);
        let search = || live.has_witnesses(m, thread, open, missing, after);
        // A name that can give none of the witnesses is like any other to the search.
        if after.also_class.is_some() || after.also.is_some_and(gives) {
            return search();
        }
        let key = (open, floor, missing, after.count);
        *self.searched.entry(key).or_insert_with(search)
    }

    /// Tells whether all that is implied behind a name can come there.
    fn can_come(&self, implied: &Implied, name: u32, floor: u32, after: &ObjectAt<'_>) -> bool {
        let is_tracked = after.also == Some(name);
        let of_all = implied
            .first
            .iter()
            .find(|(_, n)| !is_tracked || *n != name);
        if !implied.can_come || of_all.is_some_and(|(rank, _)| *rank < floor) {
            return false;
        }
        let (true, Some(least)) = (is_tracked, implied.least.get(name as usize)) else {
            // It counts as not used: it implies nothing.
            return true;
        };
        // A name that implies itself is asked for behind itself.
        let own = u64::from(self.t.ranks[name as usize]) + 1;
        match *least == own && own <= u64::from(floor) {
            true => self.live.implied(self.m, self.t, self.thread, after),
            false => *least > u64::from(floor),
        }
    }

    fn implied(&self) -> Implied {
        let t = self.t;
        let names = self.m.declared.len();
        let is_there = |name: u32| has_bit(self.used, name);
        // One more than the place in the order of what is not there, 0 if it has no value.
        let place = |name: u32| match self.has_value(name) {
            true => u64::from(t.ranks[name as usize]) + 1,
            false => 0,
        };
        let edges = || {
            let edges = t.implies.iter();
            edges.flat_map(|(from, to)| to.iter().map(|to| (*from, *to)))
        };
        let mut is_root = vec![false; names];
        for (_, name) in &t.required {
            is_root[*name as usize] = true;
        }
        // Required names are asked for anyway, with what they imply.
        let edges = || edges().filter(|(_, to)| !is_there(*to) && !is_root[*to as usize]);
        // From the least place on, what leads there takes it over: each name once.
        let mut into: Vec<Vec<u32>> = vec![Vec::new(); names];
        for (from, to) in edges() {
            into[to as usize].push(from);
        }
        let mut targets: Vec<u32> = (0..names as u32)
            .filter(|name| !into[*name as usize].is_empty())
            .collect();
        targets.sort_by_key(|name| place(*name));
        let end = u64::from(LOOSE) + 1;
        let mut least = vec![end; names];
        let mut is_known = vec![false; names];
        for target in targets {
            let mut todo = vec![target];
            while let Some(to) = todo.pop() {
                for from in &into[to as usize] {
                    if !std::mem::replace(&mut is_known[*from as usize], true) {
                        least[*from as usize] = place(target);
                        todo.push(*from);
                    }
                }
            }
        }
        // The names that must come whatever the name is.
        let mut todo: Vec<u32> = t.required.iter().map(|(_, name)| *name).collect();
        todo.extend(t.implies.iter().map(|(n, _)| *n).filter(|n| is_there(*n)));
        let mut met = is_root;
        let mut out = Implied {
            can_come: true,
            first: [(LOOSE, NONE); 2],
            least,
        };
        while let Some(name) = todo.pop() {
            let from = t.implies.partition_point(|(n, _)| *n < name);
            let lists = t.implies[from..].iter().take_while(|(n, _)| *n == name);
            for to in lists.flat_map(|(_, to)| to.iter().copied()) {
                if is_there(to) || std::mem::replace(&mut met[to as usize], true) {
                    continue;
                }
                out.can_come &= self.has_value(to);
                out.first[1] = out.first[1].min((t.ranks[to as usize], to));
                out.first.sort_unstable();
                todo.push(to);
            }
        }
        out
    }
}
