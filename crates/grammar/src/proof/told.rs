//! The facts that hang on a set of states alone, whatever the context in which its lexemes have begun.
//!
//! For example, a number means the same wherever it stands, and ignored text leads back to where it began.

use std::collections::HashSet;
use std::rc::Rc;

use foldhash::fast::FixedState;
use indexmap::IndexSet;

use super::bits::{Bits, ClassSet};
use super::followers::{Followers, Nesting};
use super::found::Found;
use super::uses::is_wide;
use crate::compile::cfg::Cfg;
use crate::compile::lexer::Lexer;

/// The part of a context that matters where something that is read in a set has begun: for example, nothing for a
/// number that the same follows everywhere.
#[derive(Clone, Copy)]
pub(super) enum Matters {
    /// Nothing.
    Free,
    /// The uses of its terminals that may come there, among those with a number.
    Uses(u32),
    /// All of the context, for ignored text.
    Whole,
}

/// The facts that hang on a set alone.
#[derive(Clone)]
pub(super) struct KnownSet {
    pub(super) matters: Matters,
    /// The numbers of terminals that end, each with the classes before which they may end together: first all, then
    /// all but such text as takes these classes.
    pub(super) ended: Rc<[(u32, ClassSet)]>,
    /// The sets to which it leads, once each.
    pub(super) ways: Rc<[u32]>,
}

/// The grammar whose contexts are told apart.
pub(super) struct Told<'a> {
    pub(super) cfg: &'a Cfg,
    pub(super) lexer: &'a Lexer,
    pub(super) followers: &'a Followers,
    /// By terminal.
    ignored: Vec<bool>,
    /// By terminal: whether text of nearly any characters begins as it does.
    pub(super) wide: Vec<bool>,
    /// All classes.
    pub(super) any: ClassSet,
    /// Sets that were met, each with the first context of those in which it means the same.
    pub(super) met: HashSet<(Option<u32>, u32), FixedState>,
    /// By set: the number of the context where it was met last, from 1.
    last_met: Vec<u32>,
    /// By set, as far as was asked.
    pub(super) known: Vec<Option<KnownSet>>,
    /// Terminals that end together.
    pub(super) ended: IndexSet<Box<[u32]>, FixedState>,
    /// The uses of terminals that are read together, of those that are told apart.
    pub(super) used: IndexSet<Bits, FixedState>,
    /// Pairs of brackets that one text opens.
    pub(super) mixed_levels: Vec<(u32, u32)>,
    /// Terminals that open or close a bracket, where others that have read the same text do not.
    pub(super) mixed_brackets: Vec<u32>,
}

impl<'a> Told<'a> {
    pub(super) fn new(cfg: &'a Cfg, lexer: &'a Lexer, followers: &'a Followers) -> Told<'a> {
        let terminals = 0..cfg.terminals.len() as u32;
        Told {
            cfg,
            lexer,
            followers,
            ignored: terminals
                .clone()
                .map(|terminal| cfg.is_ignored(terminal))
                .collect(),
            wide: terminals
                .map(|terminal| is_wide(terminal, cfg, lexer))
                .collect(),
            any: (0..lexer.width()).collect(),
            met: HashSet::default(),
            last_met: Vec::new(),
            known: Vec::new(),
            ended: IndexSet::default(),
            used: IndexSet::default(),
            mixed_levels: Vec::new(),
            mixed_brackets: Vec::new(),
        }
    }

    /// Tells whether a set is met for the first time in a context; contexts come one after another.
    pub(super) fn is_new(&mut self, set: u32, context: u32) -> bool {
        if self.last_met.len() <= set as usize {
            self.last_met.resize(set as usize + 1, 0);
        }
        std::mem::replace(&mut self.last_met[set as usize], context + 1) != context + 1
    }

    pub(super) fn is_ignored(&self, terminal: u32) -> bool {
        self.ignored[terminal as usize]
    }

    /// Returns the brackets of which one is the innermost behind terminals that have read the same text in a
    /// context; one entry of nothing where none of them closes any.
    ///
    /// If it does not depend on the text alone which brackets are open, stacks that have read the same text differ in it. That is
    /// noted: `None` if some have opened or closed one that others have not, as `{` opens a block in the shell, or is a word.
    pub(super) fn levels_behind(
        &mut self,
        ended: &[u32],
        context: Option<&Bits>,
    ) -> Option<Vec<Option<u32>>> {
        let uses = ended
            .iter()
            .flat_map(|&terminal| self.followers.uses_in(terminal, context));
        let nesting = uses.map(|used| self.followers.nesting_of(used));
        let mut nesting: Vec<Nesting> = nesting.collect();
        nesting.sort_unstable();
        nesting.dedup();
        let closes = |nesting: &Nesting| match *nesting {
            Nesting::Closes(level) => Some(level),
            _ => None,
        };
        let opens = |nesting: &Nesting| match *nesting {
            Nesting::Opens(level) => Some(level),
            _ => None,
        };
        if let [] | [Nesting::Keeps | Nesting::Opens(_)] = nesting[..] {
            return Some(vec![None]);
        }
        if let Some(levels) = nesting.iter().map(closes).collect::<Option<Vec<u32>>>() {
            return Some(levels.into_iter().map(Some).collect());
        }
        if let Some(levels) = nesting.iter().map(opens).collect::<Option<Vec<u32>>>() {
            let pairs = levels.windows(2).map(|pair| (pair[0], pair[1]));
            self.mixed_levels.extend(pairs);
            return Some(vec![None]);
        }
        let is_bracket = |terminal: &&u32| {
            let mut uses = self.followers.uses_in(**terminal, context);
            uses.any(|used| self.followers.nesting_of(used) != Nesting::Keeps)
        };
        let brackets = ended.iter().filter(is_bracket).copied();
        self.mixed_brackets = brackets.collect();
        None
    }

    pub(super) fn with_ignored(&self, terminals: &Bits) -> Bits {
        let mut all = terminals.clone();
        let ignored = self.cfg.ignored.iter().flatten();
        ignored.for_each(|&one| all.set(one));
        all
    }

    /// Returns what is known of a set.
    pub(super) fn known(&mut self, found: &Found, set: u32) -> KnownSet {
        if self.known.len() <= set as usize {
            self.known.resize(set as usize + 1, None);
        }
        if let Some(known) = &self.known[set as usize] {
            return known.clone();
        }
        let known = KnownSet {
            matters: self.matters(found, set),
            ended: self.ended(found, set),
            ways: found.ways(set, found.turns[set as usize].iter()).into(),
        };
        self.known[set as usize] = Some(known.clone());
        known
    }

    /// Returns the numbers of terminals that end in a set: first of all of them. Text that takes a character has not
    /// ended before it; so where one is read with which something else begins, there is no such text.
    fn ended(&mut self, found: &Found, set: u32) -> Rc<[(u32, ClassSet)]> {
        let Told { cfg, lexer, .. } = *self;
        let states: Vec<u32> = found.ended(lexer, set).collect();
        let terminal = |state: &u32| lexer.terminal[*state as usize];
        let is_cut = |state: &u32| cfg.terminals[terminal(state) as usize].is_lazy;
        let texts = states
            .iter()
            .filter(|state| self.wide[terminal(state) as usize]);
        let texts: Vec<u32> = texts.copied().collect();
        let mut groups = vec![(states.clone(), self.any)];
        for &text in texts.iter().filter(|_| !states.iter().any(is_cut)) {
            let row = (0..).zip(lexer.row(text));
            let taken: ClassSet = row.filter(|way| *way.1 != 0).map(|way| way.0).collect();
            for at in 0..groups.len() {
                let (states, classes) = &mut groups[at];
                let own = classes.and(&taken);
                *classes = classes.without(&taken);
                let others: Vec<u32> = states.iter().copied().filter(|&one| one != text).collect();
                if !own.is_empty() && !others.is_empty() {
                    groups.push((others, own));
                }
            }
        }
        let number = |(states, classes): (Vec<u32>, ClassSet)| {
            let terminals = states.iter().map(terminal).collect();
            (self.ended.insert_full(terminals).0 as u32, classes)
        };
        groups.into_iter().map(number).collect()
    }

    /// Returns what matters where something that is read in a set has begun: for ignored text, all of the context, and
    /// for terminals whose uses are told apart, these.
    fn matters(&mut self, found: &Found, set: u32) -> Matters {
        let mut used = Bits::new(self.followers.terminals.len());
        for &state in &found.all[set as usize] {
            let terminal = self.lexer.terminal[state as usize];
            if self.is_ignored(terminal) {
                return Matters::Whole;
            }
            if self.followers.is_split(terminal) {
                let uses = self.followers.uses_in(terminal, None);
                uses.for_each(|one| used.set(one));
            }
        }
        match used.is_empty() {
            true => Matters::Free,
            false => Matters::Uses(self.used.insert_full(used).0 as u32),
        }
    }
}
