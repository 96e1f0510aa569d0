//! The terminals that may come at one place: those behind which lexemes they follow.
//!
//! For example, a file's name `/[^"]*/` that stands behind `#include "` alone is not read beside names
//! and numbers, though it takes all that they begin with.

use std::collections::{HashMap, HashSet};

use foldhash::fast::FixedState;
use indexmap::{IndexMap, IndexSet};

use super::bits::{Bits, ClassSet, JSON, NOWHERE};
use super::followers::{Followers, Nesting};
use crate::compile::cfg::{Cfg, Matter};
use crate::compile::lexer::Lexer;

/// The most targets of the proof's sets of states, by classes of bytes, because some ten thousand
/// keywords have a million.
const MAX_CELLS: usize = 4_000_000;

/// The steps of states that are taken to find them, because more take longer than some seconds.
const MAX_STEPS: usize = 50_000_000;

/// The most contexts, because languages have some for each of their hundred lexemes.
const MAX_CONTEXTS: usize = 1_000;

/// The most sets that are met in contexts, because each context meets the ignored text's.
const MAX_MET: usize = 200_000;

/// Sets of states, and where they lead, found by subset construction (Rabin and Scott, 1959).
pub(super) struct Found {
    /// States, ascending. The dead one stands for a JSON value that may be read beside them.
    pub(super) all: IndexSet<Box<[u32]>, FixedState>,
    /// By set and class.
    pub(super) next: Vec<u32>,
    /// By set: those to which its classes lead, once each.
    ways: Vec<Box<[u32]>>,
    /// By set: classes that nothing takes which stands in it.
    pub(super) free: Vec<ClassSet>,
    /// By set: the classes that may lead one of its states elsewhere than the one before.
    pub(super) turns: Vec<ClassSet>,
    /// By class: whether a JSON value begins with it; nothing where there is none.
    begins_json: Option<Vec<bool>>,
    steps: usize,
    /// The targets of a set for one class. States of terminals ascend with these, and a set has one
    /// state of each, so the sets stay sorted.
    way: Vec<u32>,
    /// The set that is looked at, and the sets to which it leads: kept, because each set needs some room for them.
    set: Vec<u32>,
    to: Vec<u32>,
}

impl Found {
    /// `begins_json` says by class whether a JSON value begins with it, if there is one.
    pub(super) fn new(begins_json: Option<Vec<bool>>) -> Found {
        Found {
            all: IndexSet::default(),
            next: Vec::new(),
            ways: Vec::new(),
            free: Vec::new(),
            turns: Vec::new(),
            begins_json,
            steps: 0,
            way: Vec::new(),
            set: Vec::new(),
            to: Vec::new(),
        }
    }

    /// Returns the set with which some terminals begin, and finds those behind it. `None` if there
    /// are too many.
    fn root(&mut self, lexer: &Lexer, terminals: impl Iterator<Item = u32>) -> Option<u32> {
        let starts = terminals.map(|terminal| lexer.starts[terminal as usize]);
        let starts = starts.filter(|&start| start != 0);
        let json = self.begins_json.as_ref().map(|_| JSON);
        let root: Box<[u32]> = json.into_iter().chain(starts).collect();
        let root = self.all.insert_full(root).0 as u32;
        while self.free.len() < self.all.len() {
            self.explore(lexer);
            if self.all.len() * lexer.width() > MAX_CELLS || self.steps > MAX_STEPS {
                return None;
            }
        }
        Some(root)
    }

    /// Finds where the first set leads that was not looked at.
    fn explore(&mut self, lexer: &Lexer) {
        self.set.clear();
        self.set.extend_from_slice(&self.all[self.free.len()]);
        let has_json = self.set.first() == Some(&JSON);
        let mut turns = match has_json {
            true => (0..lexer.width()).collect(),
            false => ClassSet::default(),
        };
        for &state in &self.set {
            turns.or(lexer.turns(state));
        }
        self.steps += self.set.len() * lexer.width();
        let mut free = ClassSet::default();
        self.to.clear();
        let mut class = 0;
        while class < lexer.width() {
            self.way.clear();
            let begins = |begins: &Vec<bool>| begins[class] || !self.free.is_empty();
            if has_json && self.begins_json.as_ref().is_some_and(begins) {
                self.way.push(JSON);
            }
            let steps = self.set.iter();
            let steps = steps.map(|&state| lexer.step(state, class as u8));
            self.way.extend(steps.filter(|&to| to != 0));
            // JSON alone is not told apart.
            let number = match &self.way[..] {
                [] | [JSON] => NOWHERE,
                way => match self.all.get_index_of(way) {
                    Some(known) => known as u32,
                    None => self.all.insert_full(way.into()).0 as u32,
                },
            };
            let end = turns.next_from(class + 1).unwrap_or(lexer.width());
            self.next.extend(std::iter::repeat_n(number, end - class));
            match number {
                NOWHERE if has_json => {}
                NOWHERE => free.fill(class..end),
                _ => self.to.push(number),
            }
            class = end;
        }
        self.free.push(free);
        self.turns.push(turns);
        self.to.sort_unstable();
        self.to.dedup();
        self.ways.push(self.to[..].into());
    }

    /// The states of a set in which a terminal ends.
    pub(super) fn ended<'a>(
        &'a self,
        lexer: &'a Lexer,
        set: u32,
    ) -> impl Iterator<Item = u32> + 'a {
        let states = self.all[set as usize].iter().copied();
        states.filter(|&state| lexer.accepting[state as usize])
    }
}

/// A set that is met where lexemes are read which began in a context.
pub(super) struct Met {
    pub(super) set: u32,
    /// The context in which they began, where it matters: where ignored text is read beside them, or
    /// a terminal whose uses are told apart.
    pub(super) context: Option<u32>,
    /// The context behind lexemes that end there.
    pub(super) behind: u32,
    /// The innermost bracket that is open behind them, if they close one.
    pub(super) open: Option<u32>,
}

/// The terminals that may come at one place, and the set with which they begin.
struct Place {
    terminals: Bits,
    root: u32,
}

/// The terminals that may come at one place, by place.
pub(super) struct Contexts {
    /// By the uses that may come there.
    all: IndexMap<Bits, Place, FixedState>,
    met: Vec<Met>,
    /// By set, and the context where it matters: the contexts behind lexemes that end there, of which one is right,
    /// by the brackets that are open.
    behind: HashMap<(Option<u32>, u32), Box<[u32]>, FixedState>,
}

impl Contexts {
    /// One, with all terminals.
    pub(super) fn one(cfg: &Cfg, lexer: &Lexer, found: &mut Found) -> Option<Contexts> {
        let terminals = 0..cfg.terminals.len() as u32;
        let root = found.root(lexer, terminals.clone())?;
        let mut all = Bits::new(cfg.terminals.len());
        terminals.for_each(|terminal| all.set(terminal));
        let met = |set| Met {
            set,
            context: Some(0),
            behind: 0,
            open: None,
        };
        let terminals = all.clone();
        Some(Contexts {
            all: IndexMap::from_iter([(all, Place { terminals, root })]),
            met: (1..found.all.len() as u32).map(met).collect(),
            behind: HashMap::default(),
        })
    }

    /// One for each group of lexemes that a text may be, with all that follow them. Ignored text
    /// leaves a context as it is. `None` if there are too many, or a JSON value.
    pub(super) fn behind_lexemes(
        cfg: &Cfg,
        lexer: &Lexer,
        followers: &Followers,
        found: &mut Found,
    ) -> Option<Contexts> {
        let is_json = |matter: &Matter| matches!(matter, Matter::Json(_));
        if cfg.terminals.iter().any(|one| is_json(&one.matter)) {
            return None;
        }
        let mut contexts = Contexts {
            all: IndexMap::default(),
            met: Vec::new(),
            behind: HashMap::default(),
        };
        let mut told = Told::new(cfg, lexer, followers);
        // There are two contexts at the beginning, because ignored text may be missing there.
        contexts.add(&told, followers.first.clone(), found)?;
        contexts.add(&told, told.with_ignored(&followers.first), found)?;
        for (terminal, own) in (0..).zip(&cfg.terminals) {
            if matches!(own.matter, Matter::Special(_)) {
                for level in told.levels_behind(&[terminal], None)? {
                    let behind = followers.behind(terminal, None, level);
                    contexts.add(&told, told.with_ignored(&behind), found)?;
                }
            }
        }
        let mut context = 0;
        while context < contexts.all.len() {
            contexts.meet(&mut told, context as u32, found)?;
            context += 1;
            if contexts.all.len() > MAX_CONTEXTS || contexts.met.len() > MAX_MET {
                return None;
            }
        }
        Some(contexts)
    }

    fn add(&mut self, told: &Told<'_>, uses: Bits, found: &mut Found) -> Option<u32> {
        if let Some(known) = self.all.get_index_of(&uses) {
            return Some(known as u32);
        }
        let terminals = told.followers.terminals_of(&uses);
        let root = found.root(told.lexer, terminals.iter())?;
        Some(self.all.insert_full(uses, Place { terminals, root }).0 as u32)
    }

    /// Meets the sets of what begins in a context.
    fn meet(&mut self, told: &mut Told<'_>, context: u32, found: &mut Found) -> Option<()> {
        let root = self.root(context);
        let mut open = vec![root];
        told.is_new(root, context);
        while let Some(set) = open.pop() {
            let own = told.needs_context(found, set).then_some(context);
            // Elsewhere the context in which it began does not matter.
            if own.is_none() && !told.met.insert(set) {
                continue;
            }
            if set != root {
                let behind = self.behind_set(told, context, set, found)?;
                let met = |&(open, behind)| Met {
                    set,
                    context: own,
                    behind,
                    open,
                };
                self.met.extend(behind.iter().map(met));
                if !behind.is_empty() {
                    let behind = behind.iter().map(|way| way.1).collect();
                    self.behind.insert((own, set), behind);
                }
            }
            let ways = found.ways[set as usize].iter();
            open.extend(ways.filter(|&&to| told.is_new(to, context)));
        }
        Some(())
    }

    /// Returns the contexts behind lexemes that end in a set, each with the bracket that is open then if they
    /// close one; none where none ends.
    fn behind_set(
        &mut self,
        told: &Told<'_>,
        context: u32,
        set: u32,
        found: &mut Found,
    ) -> Option<Vec<(Option<u32>, u32)>> {
        let ended = found.ended(told.lexer, set);
        let ended = ended.map(|state| told.lexer.terminal[state as usize]);
        let ended: Vec<u32> = ended.collect();
        if ended.is_empty() {
            return Some(Vec::new());
        }
        let mut all = Vec::new();
        for open in told.levels_behind(&ended, Some(self.uses(context)))? {
            let mut behind = Bits::new(told.followers.terminals.len());
            for &terminal in &ended {
                let own = self.uses(context);
                match told.is_ignored(terminal) {
                    true => behind.or(own),
                    false => behind.or(&told.followers.behind(terminal, Some(own), open)),
                };
            }
            let behind = self.add(told, told.with_ignored(&behind), found)?;
            all.push((open, behind));
        }
        Some(all)
    }

    /// Returns the number of contexts.
    pub(super) fn len(&self) -> u32 {
        self.all.len() as u32
    }

    /// Returns the set where a context's lexemes begin.
    pub(super) fn root(&self, context: u32) -> u32 {
        self.all[context as usize].root
    }

    /// Returns the terminals of a context.
    pub(super) fn terminals(&self, context: u32) -> &Bits {
        &self.all[context as usize].terminals
    }

    /// Returns the uses of terminals that may come in a context.
    pub(super) fn uses(&self, context: u32) -> &Bits {
        self.all
            .get_index(context as usize)
            .map(|entry| entry.0)
            .expect("contexts are numbered as they are found")
    }

    /// Returns the sets where lexemes end.
    pub(super) fn met(&self) -> &[Met] {
        &self.met
    }

    /// Returns the contexts behind lexemes that end in a set, and began in a context.
    pub(super) fn behind(&self, context: Option<u32>, set: u32) -> &[u32] {
        let known = self.behind.get(&(context, set));
        let known = known.or_else(|| self.behind.get(&(None, set)));
        // Nothing is noted if there is one context.
        known.map_or(&[0], |known| known)
    }
}

/// The grammar whose contexts are told apart.
struct Told<'a> {
    cfg: &'a Cfg,
    lexer: &'a Lexer,
    followers: &'a Followers,
    /// By terminal.
    ignored: Vec<bool>,
    /// Sets that were met, of those that mean the same in each context.
    met: HashSet<u32, FixedState>,
    /// By set: the number of the context where it was met last, from 1.
    last_met: Vec<u32>,
}

impl<'a> Told<'a> {
    fn new(cfg: &'a Cfg, lexer: &'a Lexer, followers: &'a Followers) -> Told<'a> {
        let terminals = 0..cfg.terminals.len() as u32;
        Told {
            cfg,
            lexer,
            followers,
            ignored: terminals.map(|terminal| cfg.is_ignored(terminal)).collect(),
            met: HashSet::default(),
            last_met: Vec::new(),
        }
    }

    /// Tells whether a set is met for the first time in a context; contexts come one after another.
    fn is_new(&mut self, set: u32, context: u32) -> bool {
        if self.last_met.len() <= set as usize {
            self.last_met.resize(set as usize + 1, 0);
        }
        std::mem::replace(&mut self.last_met[set as usize], context + 1) != context + 1
    }

    fn is_ignored(&self, terminal: u32) -> bool {
        self.ignored[terminal as usize]
    }

    /// Returns the brackets of which one is the innermost behind terminals that have read the same text in a
    /// context; one entry of nothing where none of them closes any.
    ///
    /// `None` if it does not depend on the text alone which brackets are open: then stacks that have read the
    /// same text differ in it. For example, `{` opens a block in the shell, or is a word.
    fn levels_behind(&self, ended: &[u32], context: Option<&Bits>) -> Option<Vec<Option<u32>>> {
        let uses = ended
            .iter()
            .flat_map(|&terminal| self.followers.uses_in(terminal, context));
        let nesting = uses.map(|used| self.followers.nesting[used as usize]);
        let mut nesting: Vec<Nesting> = nesting.collect();
        nesting.sort_unstable();
        nesting.dedup();
        match &nesting[..] {
            [] | [Nesting::Keeps | Nesting::Opens(_)] => Some(vec![None]),
            all => {
                let level = |nesting: &Nesting| match *nesting {
                    Nesting::Closes(level) => Some(Some(level)),
                    _ => None,
                };
                all.iter().map(level).collect()
            }
        }
    }

    fn with_ignored(&self, terminals: &Bits) -> Bits {
        let mut all = terminals.clone();
        let ignored = self.cfg.ignored.iter().flatten();
        ignored.for_each(|&one| all.set(one));
        all
    }

    /// Tells whether the context matters in which what is read in a set has begun: for ignored text, and
    /// for terminals whose uses are told apart.
    fn needs_context(&self, found: &Found, set: u32) -> bool {
        let states = found.all[set as usize].iter();
        let mut terminals = states.map(|&state| self.lexer.terminal[state as usize]);
        terminals.any(|one| self.is_ignored(one) || self.followers.is_split(one))
    }
}
