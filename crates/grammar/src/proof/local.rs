//! The few places in lexemes that perhaps cannot be finished, where all others can.
//!
//! For example, behind `/=` of Ruby nothing need come that a regular expression `/= ../` has not
//! taken: whether that can be finished is searched there, and nowhere else.

use std::collections::HashMap;
use std::rc::Rc;

use foldhash::fast::FixedState;
use fsm_tables::Sources;

use super::bits::{BitRows, Bits, ClassSet};
use super::followers::Followers;
use super::narrow::Narrow;
use super::sets::{Bridge, Bridges, Seconds, Sets};
use crate::compile::cfg::{Cfg, Matter};

/// The most steps of pairs of a state and its set, because each is taken once and takes some
/// nanoseconds.
const MAX_STEPS: usize = 20_000_000;

/// The most sets that are told apart, because each set that texts meet is compared with all of
/// them.
const MAX_UNSURE: usize = 200;

/// The places in lexemes that perhaps cannot be finished.
#[derive(Debug, Default)]
pub(crate) struct Unsure {
    sets: Vec<UnsureSet>,
}

/// States of terminals that have read the same text.
#[derive(Debug)]
struct UnsureSet {
    /// All of them, ascending.
    all: Box<[u32]>,
    /// The states that perhaps cannot be finished.
    unsure: Box<[u32]>,
}

impl UnsureSet {
    /// Tells whether some states are among its own, with the same ignored text.
    fn holds(&self, states: &[u32], is_ignored: impl Fn(u32) -> bool) -> bool {
        let is_in = |state: &u32| self.all.binary_search(state).is_ok();
        let mut more = self.all.iter().filter(|state| !states.contains(state));
        states.iter().all(is_in) && more.all(|&state| !is_ignored(state))
    }
}

impl Unsure {
    /// Returns those of the states of terminals that have read the same text which perhaps cannot be
    /// finished: if all are among those of such a place, with the same ignored text, which is read
    /// everywhere.
    pub(crate) fn among(&self, states: &[u32], is_ignored: impl Fn(u32) -> bool) -> Box<[u32]> {
        let is_unsure = |state: &u32| {
            let mut sets = self.sets.iter();
            sets.any(|set| set.unsure.contains(state) && set.holds(states, &is_ignored))
        };
        states.iter().copied().filter(is_unsure).collect()
    }

    /// Tells whether a state is unsure in some set.
    pub(crate) fn may_have(&self, state: u32) -> bool {
        self.sets.iter().any(|set| set.unsure.contains(&state))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }
}

/// The result: what may come behind terminals, and where that perhaps cannot.
pub(super) struct Local {
    /// By terminal: those that may come behind it, wherever it is read but in unsure places.
    pub(super) rows: Vec<Bits>,
    pub(super) unsure: Unsure,
}

/// Finds the places where something that has begun perhaps cannot be finished, if no lexeme is cut
/// short. Places in narrow ignored text are not among them, because the stacks tell of it. `None` if
/// that is too much.
pub(super) fn local(
    sets: &Sets<'_>,
    followers: &Followers,
    narrow: Option<&Narrow>,
) -> Option<Local> {
    if sets.has_cuts {
        return None;
    }
    let pairs = Pairs::new(sets)?;
    let is_narrow = |state| narrow.is_some_and(|narrow| narrow.has(state));
    let mut search = Behind::new(sets, followers, &pairs);
    search.settle(is_narrow);
    let mut unsure = Vec::new();
    for set in 0..sets.len() as u32 {
        let members = sets.members(set);
        let own = members.iter().copied().zip(pairs.of(set));
        let own = own.filter(|&(state, pair)| !search.live[pair] && !is_narrow(state));
        let own: Box<[u32]> = own.map(|(state, _)| state).collect();
        if !own.is_empty() {
            unsure.push(UnsureSet {
                all: members.into(),
                unsure: own,
            });
        }
        if unsure.len() > MAX_UNSURE {
            return None;
        }
    }
    Some(Local {
        rows: search.by_terminal,
        unsure: Unsure { sets: unsure },
    })
}

/// All states in all sets, by number, and where they lead.
struct Pairs {
    /// By set: the number of its first state.
    first: Vec<usize>,
    before: Sources,
}

impl Pairs {
    fn new(sets: &Sets<'_>) -> Option<Pairs> {
        let mut first = vec![0];
        for set in 0..sets.len() as u32 {
            first.push(first[set as usize] + sets.members(set).len());
        }
        if first[sets.len()] * sets.width() > MAX_STEPS {
            return None;
        }
        // A set has one state of each terminal, so it says where each of its states has come from.
        let mut arrows: Vec<(u32, u32)> = Vec::new();
        for set in 0..sets.len() as u32 {
            let own = || (first[set as usize] as u32..).zip(sets.members(set));
            for &way in &sets.ways(set) {
                let mut from = own();
                for (to, state) in (first[way as usize] as u32..).zip(sets.members(way)) {
                    let terminal = sets.lexer.terminal[*state as usize];
                    let is_own =
                        |from: &(u32, &u32)| sets.lexer.terminal[*from.1 as usize] == terminal;
                    arrows.extend(from.find(is_own).map(|from| (from.0, to)));
                }
            }
        }
        Some(Pairs {
            before: Sources::new(first[sets.len()], arrows.iter().copied()),
            first,
        })
    }

    fn count(&self) -> usize {
        self.first[self.first.len() - 1]
    }

    /// Returns the numbers of a set's states.
    fn of(&self, set: u32) -> std::ops::Range<usize> {
        self.first[set as usize]..self.first[set as usize + 1]
    }
}

/// A search for what may come behind the pairs: at an end to which they lead.
struct Behind<'a> {
    sets: &'a Sets<'a>,
    followers: &'a Followers,
    pairs: &'a Pairs,
    /// By pair: whether all may come behind it that may behind its terminal.
    live: Vec<bool>,
    /// By terminal: those that may come behind it wherever it begins.
    by_terminal: Vec<Bits>,
    /// By context and terminal: the classes with which it may begin, and be live.
    firsts: Vec<Rc<[ClassSet]>>,
    bridges: Bridges<'a>,
    seconds: Seconds<'a>,
}

impl<'a> Behind<'a> {
    fn new(sets: &'a Sets<'a>, followers: &'a Followers, pairs: &'a Pairs) -> Behind<'a> {
        let mut search = Behind {
            sets,
            followers,
            pairs,
            live: vec![true; pairs.count()],
            by_terminal: Vec::new(),
            firsts: Vec::new(),
            bridges: Bridges::new(sets),
            seconds: Seconds::new(sets, followers),
        };
        search.firsts = search.find_firsts();
        search
    }

    fn cfg(&self) -> &'a Cfg {
        self.sets.cfg
    }

    /// Takes away the pairs behind which less may come than behind their terminals, until none is
    /// left. One that was taken away stays so, so that this comes to an end.
    fn settle(&mut self, is_narrow: impl Fn(u32) -> bool) {
        let sets = self.sets;
        let beginnings = self.beginnings();
        loop {
            let mut rows = self.ends();
            self.lead_to(&mut rows);
            self.by_terminal = self.at_the_beginning(&beginnings, &rows);
            let mut is_same = true;
            for set in 0..sets.len() as u32 {
                for (&state, pair) in sets.members(set).iter().zip(self.pairs.of(set)) {
                    let own = &self.by_terminal[sets.lexer.terminal[state as usize] as usize];
                    if self.live[pair] && !is_narrow(state) && !rows.has_all(pair, own) {
                        self.live[pair] = false;
                        is_same = false;
                    }
                }
            }
            if is_same {
                return;
            }
            self.firsts = self.find_firsts();
        }
    }

    /// By context, and terminal that begins there.
    fn beginnings(&self) -> Vec<Beginning> {
        let Behind {
            sets, followers, ..
        } = self;
        let mut all = Vec::new();
        for context in 0..sets.contexts().len() {
            let root = sets.contexts().root(context);
            let uses = sets.contexts().uses(context);
            for (&state, pair) in sets.members(root).iter().zip(self.pairs.of(root)) {
                let terminal = sets.lexer.terminal[state as usize];
                let behind = followers.behind(terminal, Some(uses), None);
                let behind = followers.terminals_of(&behind);
                all.push(Beginning {
                    pair,
                    terminal,
                    behind,
                });
            }
        }
        all
    }

    /// By terminal: those that may come behind it wherever it begins; all, where it never does. Contexts do not
    /// count in which most of those cannot come that may: it is unsure there, and other contexts need not
    /// do without those.
    fn at_the_beginning(&self, beginnings: &[Beginning], rows: &BitRows) -> Vec<Bits> {
        let count = self.cfg().terminals.len();
        let mut all = vec![Bits::full(count); count];
        for own in beginnings {
            let is_ignored = || self.cfg().is_ignored(own.terminal);
            let left = rows.and_into(own.pair, &mut own.behind.clone());
            if 2 * left >= own.behind.count() || is_ignored() {
                rows.and_into(own.pair, &mut all[own.terminal as usize]);
            }
        }
        all
    }

    fn find_firsts(&self) -> Vec<Rc<[ClassSet]>> {
        let Behind { sets, pairs, .. } = self;
        // Contexts of the same terminals begin with one set.
        let mut known: HashMap<u32, Rc<[ClassSet]>, FixedState> = HashMap::default();
        let firsts = |root: u32| {
            let mut all = vec![ClassSet::default(); self.cfg().terminals.len()];
            for (classes, set) in sets.runs(root) {
                // That set has the states to which those of the first one go on, in order.
                let goes_on = |state: &&u32| sets.lexer.step(**state, classes.start as u8) != 0;
                let members = sets.members(root).iter().filter(goes_on);
                for (&state, pair) in members.zip(pairs.of(set)) {
                    if self.live[pair] {
                        let terminal = sets.lexer.terminal[state as usize];
                        all[terminal as usize].fill(classes.clone());
                    }
                }
            }
            all.into()
        };
        let roots = (0..sets.contexts().len()).map(|context| sets.contexts().root(context));
        let mut of = |root| known.entry(root).or_insert_with(|| firsts(root)).clone();
        roots.map(&mut of).collect()
    }

    /// By pair: the terminals that may come if a lexeme ends there, and those that need not.
    fn ends(&mut self) -> BitRows {
        let sets = self.sets;
        let count = self.cfg().terminals.len();
        let full = Bits::full(count);
        let mut ends = BitRows::new(self.pairs.count(), count);
        let mut met = vec![false; sets.len()];
        // Many sets are alike in what they leave free.
        let mut known: HashMap<(&ClassSet, u32), Bits, FixedState> = HashMap::default();
        for end in sets.contexts().met() {
            let is_first = !std::mem::replace(&mut met[end.set as usize], true);
            let free = sets.free(end.set);
            let can_follow = known
                .entry((free, end.behind))
                .or_insert_with(|| self.can_follow(free, end.behind));
            for (&state, pair) in sets.members(end.set).iter().zip(self.pairs.of(end.set)) {
                if !sets.lexer.accepting[state as usize] {
                    continue;
                }
                if is_first {
                    ends.put(pair, &full);
                }
                let first = sets.lexer.terminal[state as usize];
                ends.remove_lacking(pair, self.seconds.behind(first, end), can_follow);
            }
        }
        ends
    }

    /// Returns the terminals that may begin in a context, or ignored text before them, with one of some classes.
    fn can_follow(&mut self, free: &ClassSet, context: u32) -> Bits {
        let Behind {
            bridges,
            sets,
            firsts,
            ..
        } = self;
        let terminals = &sets.cfg.terminals;
        let mut all = Bits::new(terminals.len());
        // By ignored terminal: the contexts behind it, each with the classes that may come there.
        let mut between: Vec<(u32, Vec<(u32, ClassSet)>)> = Vec::new();
        for (second, terminal) in (0..).zip(terminals) {
            let begins = |context: u32, free| firsts[context as usize][second as usize].meets(free);
            let mut may_begin =
                matches!(terminal.matter, Matter::Special(_)) || begins(context, free);
            if !may_begin && let Some(ignored) = sets.ignored_before(second) {
                let known = between.iter().position(|own| own.0 == ignored);
                let known = known.unwrap_or_else(|| {
                    let ends = bridges.of(ignored, context);
                    between.push((ignored, behind_bridges(ends, free)));
                    between.len() - 1
                });
                let mut ends = between[known].1.iter();
                may_begin = ends.any(|(behind, free)| begins(*behind, free));
            }
            if may_begin {
                all.set(second);
            }
        }
        all
    }

    /// Adds to each pair what may come behind some end to which it leads.
    fn lead_to(&self, rows: &mut BitRows) {
        let count = self.pairs.count();
        let mut open: Vec<usize> = (0..count).filter(|&pair| !rows.is_empty(pair)).collect();
        let mut is_open = vec![false; count];
        open.iter().for_each(|&pair| is_open[pair] = true);
        while let Some(pair) = open.pop() {
            is_open[pair] = false;
            for &from in self.pairs.before.of(pair as u32) {
                let from = from as usize;
                if rows.or(from, pair) && !std::mem::replace(&mut is_open[from], true) {
                    open.push(from);
                }
            }
        }
    }
}

/// Returns the contexts behind ignored text that begins with one of some classes, each with the classes that nothing takes
/// there.
fn behind_bridges(ends: &[Bridge], free: &ClassSet) -> Vec<(u32, ClassSet)> {
    let mut all: Vec<(u32, ClassSet)> = Vec::new();
    for end in ends.iter().filter(|end| end.classes.meets(free)) {
        match all.iter_mut().find(|own| own.0 == end.behind) {
            Some(own) => own.1.or(&end.free),
            None => all.push((end.behind, end.free)),
        }
    }
    all
}

/// A terminal that begins in a context.
struct Beginning {
    /// The pair of its first state.
    pair: usize,
    terminal: u32,
    /// The terminals that may come behind it there.
    behind: Bits,
}
