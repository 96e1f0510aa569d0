//! A search for the few places in lexemes that perhaps cannot be finished, where all others can.
//!
//! For example, behind `/=` of Ruby nothing need come that a regular expression `/= ../` has not
//! taken: whether that can be finished is searched there, and nowhere else.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use fsm_tables::Sources;

use super::bits::{BitRows, Bits, ClassSet, JSON};
use super::followers::Followers;
use super::narrow::Narrow;
use super::sets::{Bridge, Bridges, Seconds, Sets};
use super::unsure::{MAX_UNSURE, Unsure, UnsureStates};
use crate::compile::cfg::{Cfg, Matter};

/// The most steps of pairs of a state and its set, because each is taken once and takes some
/// nanoseconds.
const MAX_STEPS: usize = 20_000_000;

/// The same where contexts are told apart, because a text that has hundreds of them has a hundred times as many.
const MAX_STEPS_BY_CONTEXT: usize = 3_000_000;

/// The result: what may come behind terminals, and where that perhaps cannot.
pub(super) struct Local {
    /// By terminal: those that may come behind it, wherever it is read but in unsure places.
    pub(super) rows: Vec<Bits>,
    pub(super) unsure: Unsure,
}

/// The terminals that are asked for behind one, where less may come behind it in some contexts than in others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// The terminals that may come in all contexts but such in which most cannot come: it is unsure there.
    Everywhere,
    /// The terminals that may come in some context: it is unsure in others.
    Somewhere,
}

/// The way in which states in sets are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Apart {
    /// By set, and the context where their lexemes began, if it matters.
    ByContext,
    /// By set alone.
    BySet,
}

/// Finds the places where something that has begun perhaps cannot be finished, if no lexeme is cut short.
/// Places in narrow ignored text are not among them, because the stacks tell of it. `None` if
/// that is too much.
pub(super) fn local(
    sets: &Sets<'_>,
    pairs: &Pairs,
    followers: &Followers,
    narrow: Option<&Narrow>,
    asked: Asked,
) -> Option<Local> {
    if pairs.apart == Apart::BySet && asked == Asked::Somewhere {
        return None;
    }
    let is_narrow = |state| narrow.is_some_and(|narrow| narrow.has(state));
    let mut search = Behind::new(sets, followers, pairs, asked);
    search.settle(is_narrow);
    let mut unsure = UnsureStates::default();
    for (number, (set, own)) in (0..).zip(pairs.sets()) {
        let is_read = |state| number >= sets.contexts().len() || search.begins(number, state);
        let states = sets.members(set).iter().zip(own);
        let states = states
            .filter(|&(&state, pair)| !search.live[pair] && !is_narrow(state) && is_read(state));
        let states: Vec<u32> = states.map(|own| *own.0).collect();
        if !states.is_empty() {
            let contexts = unsure.entry((set, states)).or_default();
            contexts.extend(pairs.contexts(number, sets));
        }
        if unsure.len() > MAX_UNSURE {
            return None;
        }
    }
    Some(Local {
        rows: search.by_terminal,
        unsure: Unsure::new(sets, &unsure),
    })
}

/// All states in all sets, by number, and where they lead.
pub(super) struct Pairs {
    apart: Apart,
    /// The sets: by context that where its lexemes begin, and then those to which these lead.
    sets: Vec<u32>,
    /// By set to which lexemes lead, and the [context](super::contexts::Contexts::own) where it matters: the number
    /// of the set.
    numbers: HashMap<(Option<u32>, u32), u32, FixedState>,
    /// By number of a set: the context in which its lexemes began, where it matters.
    read_in: Vec<Option<u32>>,
    /// By set: the number of its first state.
    first: Vec<usize>,
    before: Sources,
}

impl Pairs {
    /// By context, or else by set. `None` if there are too many.
    pub(super) fn new(sets: &Sets<'_>) -> Option<Pairs> {
        Pairs::told(sets, Apart::ByContext).or_else(|| Pairs::told(sets, Apart::BySet))
    }

    fn told(sets: &Sets<'_>, apart: Apart) -> Option<Pairs> {
        let contexts = sets.contexts();
        let most = match apart {
            Apart::BySet => MAX_STEPS,
            Apart::ByContext => MAX_STEPS_BY_CONTEXT,
        };
        let mut all = Pairs {
            apart,
            sets: (0..contexts.len())
                .map(|context| contexts.root(context))
                .collect(),
            numbers: HashMap::default(),
            read_in: (0..contexts.len()).map(Some).collect(),
            first: vec![0],
            before: Sources::new(0, std::iter::empty()),
        };
        let mut ways: Vec<(u32, u32)> = Vec::new();
        let mut at = 0;
        while let Some(&set) = all.sets.get(at) {
            let count = all.first[at] + sets.members(set).len();
            if count * sets.width() > most {
                return None;
            }
            all.first.push(count);
            let behind = match at < contexts.len() as usize {
                true => sets.ways_into(at as u32),
                false => sets.ways(set),
            };
            for &to in &behind {
                let own = all.read_in[at].filter(|_| apart == Apart::ByContext);
                let own = own.and_then(|context| contexts.own(context, to));
                let number = *all.numbers.entry((own, to)).or_insert_with(|| {
                    all.sets.push(to);
                    all.read_in.push(own);
                    all.read_in.len() as u32 - 1
                });
                ways.push((at as u32, number));
            }
            at += 1;
        }
        let mut arrows: Vec<(u32, u32)> = Vec::new();
        for (from, to) in ways {
            // A set has one state of each terminal, so it says where each of its states has come from.
            let members = sets.members(all.sets[from as usize]);
            let mut own = (all.first[from as usize] as u32..).zip(members);
            let behind = sets.members(all.sets[to as usize]);
            for (to, state) in (all.first[to as usize] as u32..).zip(behind) {
                let terminal = sets.lexer.terminal[*state as usize];
                let is_own = |from: &(u32, &u32)| sets.lexer.terminal[*from.1 as usize] == terminal;
                arrows.extend(own.find(is_own).map(|from| (from.0, to)));
            }
        }
        all.before = Sources::new(all.count(), arrows.iter().copied());
        Some(all)
    }

    /// Returns the numbers of the sets with these, each with the pairs of its states.
    fn sets(&self) -> impl Iterator<Item = (u32, std::ops::Range<usize>)> {
        let pairs = self.first.windows(2).map(|ends| ends[0]..ends[1]);
        self.sets.iter().copied().zip(pairs)
    }

    /// Returns the contexts where the lexemes of a set began, by the number of the set with them.
    fn contexts(&self, number: u32, sets: &Sets<'_>) -> impl Iterator<Item = u32> {
        let contexts = sets.contexts();
        let set = self.sets[number as usize];
        let (first, last) = match number < contexts.len() {
            true => (number, number + 1),
            false => (0, contexts.len()),
        };
        let own = self.read_in[number as usize];
        let has_all = move |context: u32| {
            let mut states = sets.members(set).iter().filter(|state| **state != JSON);
            states.all(|&state| {
                contexts
                    .terminals(context)
                    .has(sets.lexer.terminal[state as usize])
            })
        };
        (first..last).filter(move |&context| {
            let is_like = || number < contexts.len() || contexts.own(context, set) == own;
            has_all(context) && (own.is_none() || is_like())
        })
    }

    pub(super) fn count(&self) -> usize {
        self.first[self.first.len() - 1]
    }

    /// Returns the numbers of the states of a set where lexemes of a context begin.
    fn beginning(&self, context: u32) -> std::ops::Range<usize> {
        self.first[context as usize]..self.first[context as usize + 1]
    }

    /// Returns the numbers of the states of a set to which lexemes lead that began in a context, if it matters; none
    /// where none do.
    fn of(&self, context: Option<u32>, set: u32) -> Option<std::ops::Range<usize>> {
        let context = context.filter(|_| self.apart == Apart::ByContext);
        let number = *self.numbers.get(&(context, set))? as usize;
        Some(self.first[number]..self.first[number + 1])
    }
}

/// A search for what may come behind the pairs: at an end to which they lead.
struct Behind<'a> {
    asked: Asked,
    sets: &'a Sets<'a>,
    followers: &'a Followers,
    pairs: &'a Pairs,
    /// By pair: whether all may come behind it that may behind its terminal.
    live: Vec<bool>,
    /// By terminal: those that may come behind it wherever it begins.
    by_terminal: Vec<Bits>,
    /// By context and terminal: the classes with which it may begin, and be live.
    firsts: Vec<Box<[ClassSet]>>,
    bridges: Bridges<'a>,
    seconds: Seconds<'a>,
}

impl<'a> Behind<'a> {
    fn new(
        sets: &'a Sets<'a>,
        followers: &'a Followers,
        pairs: &'a Pairs,
        asked: Asked,
    ) -> Behind<'a> {
        let mut search = Behind {
            asked,
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
            for (set, pairs) in self.pairs.sets() {
                for (&state, pair) in sets.members(set).iter().zip(pairs) {
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
            for (&state, pair) in sets.members(root).iter().zip(self.pairs.beginning(context)) {
                if !self.begins(context, state) {
                    continue;
                }
                let terminal = sets.lexer.terminal[state as usize];
                let behind = match self.cfg().is_ignored(terminal) {
                    true => sets.contexts().terminals(context).clone(),
                    false => followers.terminals_of(&followers.behind(terminal, Some(uses), None)),
                };
                all.push(Beginning {
                    pair,
                    terminal,
                    behind,
                });
            }
        }
        all
    }

    /// By terminal: those that are asked for behind it; all, where it never begins.
    fn at_the_beginning(&self, beginnings: &[Beginning], rows: &BitRows) -> Vec<Bits> {
        let count = self.cfg().terminals.len();
        let mut all: Vec<Option<Bits>> = vec![None; count];
        for own in beginnings {
            let mut behind = own.behind.clone();
            let left = rows.and_into(own.pair, &mut behind);
            let all = &mut all[own.terminal as usize];
            if self.asked == Asked::Somewhere {
                all.get_or_insert_with(|| Bits::new(count)).or(&behind);
            } else if 2 * left >= own.behind.count() || self.cfg().is_ignored(own.terminal) {
                rows.and_into(own.pair, all.get_or_insert_with(|| Bits::full(count)));
            }
        }
        let full = || Bits::full(count);
        all.into_iter()
            .map(|all| all.unwrap_or_else(full))
            .collect()
    }

    /// Tells whether a lexeme may begin in a context as one does in a state.
    fn begins(&self, context: u32, state: u32) -> bool {
        let begin = self.sets.contexts().begin(context);
        begin
            .iter()
            .any(|class| self.sets.lexer.step(state, class as u8) != 0)
    }

    fn find_firsts(&self) -> Vec<Box<[ClassSet]>> {
        let Behind { sets, pairs, .. } = self;
        let contexts = sets.contexts();
        let firsts = |context: u32| {
            let root = contexts.root(context);
            let mut all = vec![ClassSet::default(); self.cfg().terminals.len()];
            for (classes, set) in sets.runs(root) {
                // That set has the states to which those of the first one go on, in order.
                let goes_on = |state: &&u32| sets.lexer.step(**state, classes.start as u8) != 0;
                let members = sets.members(root).iter().filter(goes_on);
                let behind = pairs.of(contexts.own(context, set), set);
                for (&state, pair) in members.zip(behind.into_iter().flatten()) {
                    if self.live[pair] {
                        let terminal = sets.lexer.terminal[state as usize];
                        all[terminal as usize].fill(classes.clone());
                    }
                }
            }
            all.into()
        };
        (0..contexts.len()).map(firsts).collect()
    }

    /// By pair: the terminals that may come if a lexeme ends there, and those that need not.
    fn ends(&mut self) -> BitRows {
        let sets = self.sets;
        let count = self.cfg().terminals.len();
        let full = Bits::full(count);
        let mut ends = BitRows::new(self.pairs.count(), count);
        let mut met = vec![false; self.pairs.count()];
        // Many sets are alike in what they leave free.
        let mut known: HashMap<(&ClassSet, u32), Bits, FixedState> = HashMap::default();
        for end in sets.contexts().met() {
            let free = sets.free(end.set);
            let can_follow = known
                .entry((free, end.behind))
                .or_insert_with(|| self.can_follow(free, end.behind));
            let pairs = self.pairs.of(end.context, end.set);
            let pairs = || {
                sets.members(end.set)
                    .iter()
                    .zip(pairs.iter().cloned().flatten())
            };
            for (&state, pair) in pairs() {
                if !sets.lexer.accepting[state as usize] {
                    continue;
                }
                if !std::mem::replace(&mut met[pair], true) {
                    ends.put(pair, &full);
                }
                let first = sets.lexer.terminal[state as usize];
                let seconds = self.seconds.behind(first, end);
                if !sets.cfg.is_ignored(first) {
                    ends.remove_lacking(pair, seconds, can_follow);
                    continue;
                }
                // A lexeme that is read beside ignored text need not come behind it.
                let mut can_follow = can_follow.clone();
                let beside = pairs().filter(|&(_, pair)| self.live[pair]);
                beside.for_each(|(&state, _)| can_follow.set(sets.lexer.terminal[state as usize]));
                ends.remove_lacking(pair, seconds, &can_follow);
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
