//! The sets of states that texts lead to, where lexemes begin with some terminals.
//!
//! For example, behind `whi` a name and the keyword `while` are read.

use foldhash::fast::FixedState;
use indexmap::IndexSet;

use super::bits::{ClassSet, JSON, NOWHERE};
use crate::compile::lexer::Lexer;

/// The most targets of the proof's sets of states, by classes of bytes, because some ten thousand
/// keywords have a million.
const MAX_CELLS: usize = 4_000_000;

/// The steps of states that are taken to find them, because more take longer than some seconds.
const MAX_STEPS: usize = 50_000_000;

/// Sets of states, and where they lead, found by subset construction (Rabin and Scott, 1959).
pub(super) struct Found {
    /// States, ascending. The dead one stands for a JSON value that may be read beside them.
    pub(super) all: IndexSet<Box<[u32]>, FixedState>,
    /// By set and class.
    pub(super) next: Vec<u32>,
    /// By set: classes that nothing takes which stands in it.
    pub(super) free: Vec<ClassSet>,
    /// By set: the classes that may lead one of its states elsewhere than the one before.
    pub(super) turns: Vec<ClassSet>,
    /// By class: whether a JSON value begins with it; nothing where there is none.
    begins_json: Option<Vec<bool>>,
    /// No more sets are looked for than this.
    most: usize,
    steps: usize,
    /// By class: the targets of the set that is looked at. States of terminals ascend with these, and a set has one
    /// state of each, so the sets stay sorted.
    ways: Vec<Vec<u32>>,
    /// The set that is looked at.
    set: Vec<u32>,
    /// Some states of it.
    wide: Vec<u32>,
}

impl Found {
    /// `begins_json` says by class whether a JSON value begins with it, if there is one; so many sets are found at `most`.
    pub(super) fn new(begins_json: Option<Vec<bool>>, most: usize) -> Found {
        Found {
            all: IndexSet::default(),
            next: Vec::new(),
            free: Vec::new(),
            turns: Vec::new(),
            begins_json,
            most,
            steps: 0,
            ways: Vec::new(),
            set: Vec::new(),
            wide: Vec::new(),
        }
    }

    /// Returns the set with which some terminals begin, and finds those behind it. `None` if there
    /// are too many.
    pub(super) fn root(
        &mut self,
        lexer: &Lexer,
        terminals: impl Iterator<Item = u32>,
    ) -> Option<u32> {
        let starts = terminals.map(|terminal| lexer.starts[terminal as usize]);
        let starts = starts.filter(|&start| start != 0);
        let json = self.begins_json.as_ref().map(|_| JSON);
        let root: Box<[u32]> = json.into_iter().chain(starts).collect();
        let root = self.all.insert_full(root).0 as u32;
        while self.free.len() < self.all.len() {
            self.explore(lexer);
            let are_many = self.all.len() * lexer.width() > MAX_CELLS;
            if are_many || self.all.len() > self.most || self.steps > MAX_STEPS {
                return None;
            }
        }
        Some(root)
    }

    /// Finds where the first set leads that was not looked at.
    fn explore(&mut self, lexer: &Lexer) {
        self.set.clear();
        self.set.extend_from_slice(&self.all[self.free.len()]);
        self.steps += self.set.len() * lexer.width();
        let has_json = self.set.first() == Some(&JSON);
        let mut turns = match has_json {
            true => (0..lexer.width()).collect(),
            false => ClassSet::default(),
        };
        for &state in &self.set {
            turns.or(lexer.turns(state));
        }
        let begin = self.next.len();
        let mut free = ClassSet::default();
        if let Some((like, few)) = self.like(lexer) {
            let row = like * lexer.width();
            self.next.extend_from_within(row..row + lexer.width());
            free = self.free[like].without(&few);
            self.lead(lexer, &few);
            for class in few.iter() {
                self.next[begin + class] = self.number(class);
            }
        } else {
            self.lead(lexer, &turns);
            let mut class = 0;
            while class < lexer.width() {
                let number = self.number(class);
                let end = turns.next_from(class + 1).unwrap_or(lexer.width());
                self.next.extend(std::iter::repeat_n(number, end - class));
                if !has_json && number == NOWHERE {
                    free.fill(class..end);
                }
                class = end;
            }
        }
        self.free.push(free);
        self.turns.push(turns);
    }

    /// Returns the number of a set that was looked at and leads to the same as the one that is, but for some classes,
    /// and these classes: those that are taken by states which take few.
    ///
    /// For example, behind `whi` a name leads to the same as the name and the keyword do, but for `l`.
    fn like(&mut self, lexer: &Lexer) -> Option<(usize, ClassSet)> {
        if self.set.first() == Some(&JSON) {
            return None;
        }
        let mut few = ClassSet::default();
        self.wide.clear();
        for &state in &self.set {
            match lexer.few(state) {
                Some(own) => few.or(&own),
                None => self.wide.push(state),
            }
        }
        let is_less = !self.wide.is_empty() && self.wide.len() < self.set.len();
        let like = is_less.then(|| self.all.get_index_of(&self.wide[..]))??;
        (like < self.free.len()).then_some((like, few))
    }

    /// Finds the targets of the set that is looked at, by some classes: of each state where it leads on, because most of
    /// many lead on by one class.
    fn lead(&mut self, lexer: &Lexer, classes: &ClassSet) {
        self.ways.resize_with(lexer.width(), Vec::new);
        classes.iter().for_each(|class| self.ways[class].clear());
        for &state in &self.set {
            for (led, to) in lexer.ways(state) {
                for class in classes.within(led) {
                    self.ways[class].push(to);
                }
            }
        }
        let Some(begins) = self
            .begins_json
            .as_ref()
            .filter(|_| self.set.first() == Some(&JSON))
        else {
            return;
        };
        // The dead one stands first.
        let begins = |class: &usize| begins[*class] || !self.free.is_empty();
        for class in classes.iter().filter(begins) {
            self.ways[class].insert(0, JSON);
        }
    }

    /// Returns the set of the targets by a class.
    fn number(&mut self, class: usize) -> u32 {
        // JSON alone is not told apart.
        match &self.ways[class][..] {
            [] | [JSON] => NOWHERE,
            way => match self.all.get_index_of(way) {
                Some(known) => known as u32,
                None => self.all.insert_full(way.into()).0 as u32,
            },
        }
    }

    /// Returns the sets to which a set leads by some of its classes, once each.
    pub(super) fn ways(&self, set: u32, classes: impl Iterator<Item = usize>) -> Box<[u32]> {
        let width = self.next.len() / self.free.len();
        let row = &self.next[set as usize * width..][..width];
        let ways = classes.map(|class| row[class]);
        let mut ways: Vec<u32> = ways.filter(|&to| to != NOWHERE).collect();
        ways.sort_unstable();
        ways.dedup();
        ways.into()
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
