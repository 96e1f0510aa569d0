//! The terminals that may come at one place: those behind which lexemes they follow.
//!
//! For example, a file's name `/[^"]*/` that stands behind `#include "` alone is not read beside names
//! and numbers, though it takes all that they begin with.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use foldhash::fast::FixedState;
use indexmap::{IndexMap, IndexSet};

use super::bits::{Bits, ClassSet, JSON, NOWHERE};
use super::followers::{Followers, Nesting};
use super::uses::is_wide;
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
    /// The set that is looked at.
    set: Vec<u32>,
}

impl Found {
    /// `begins_json` says by class whether a JSON value begins with it, if there is one.
    pub(super) fn new(begins_json: Option<Vec<bool>>) -> Found {
        Found {
            all: IndexSet::default(),
            next: Vec::new(),
            free: Vec::new(),
            turns: Vec::new(),
            begins_json,
            steps: 0,
            way: Vec::new(),
            set: Vec::new(),
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
            for class in few.iter() {
                self.next[begin + class] = self.step(lexer, class);
            }
        } else {
            let mut class = 0;
            while class < lexer.width() {
                let number = self.step(lexer, class);
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
        self.way.clear();
        for &state in &self.set {
            match lexer.few(state) {
                Some(own) => few.or(&own),
                None => self.way.push(state),
            }
        }
        let is_less = !self.way.is_empty() && self.way.len() < self.set.len();
        let like = is_less.then(|| self.all.get_index_of(&self.way[..]))??;
        (like < self.free.len()).then_some((like, few))
    }

    /// Returns the set to which a class leads from the one that is looked at.
    fn step(&mut self, lexer: &Lexer, class: usize) -> u32 {
        self.way.clear();
        let begins = |begins: &Vec<bool>| begins[class] || !self.free.is_empty();
        if self.set.first() == Some(&JSON) && self.begins_json.as_ref().is_some_and(begins) {
            self.way.push(JSON);
        }
        let steps = self.set.iter();
        let steps = steps.map(|&state| lexer.step(state, class as u8));
        self.way.extend(steps.filter(|&to| to != 0));
        // JSON alone is not told apart.
        match &self.way[..] {
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

/// A set that is met where lexemes are read which began in a context.
pub(super) struct Met {
    pub(super) set: u32,
    /// The context in which they began, where it matters: where ignored text is read beside them, or
    /// a terminal whose uses are told apart; then the first one in which these are the same.
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
    /// The classes with which they may begin there.
    begin: ClassSet,
    /// Those among them that were not looked at.
    open: ClassSet,
    /// The context without text of nearly any characters, if there is such text: a place need not have it.
    without_text: Option<u32>,
}

/// The contexts behind lexemes that end together, of which one is right, by the brackets that are open: each with the
/// innermost one, if they close one; and alone.
type BehindEnded = (Vec<(Option<u32>, u32)>, Rc<[u32]>);

/// The terminals that may come at one place, by place.
pub(super) struct Contexts {
    /// By the uses that may come there.
    all: IndexMap<Bits, Place, FixedState>,
    met: Vec<Met>,
    /// By set, and the context where it matters: the contexts behind lexemes that end there, of which one is right,
    /// by the brackets that are open.
    behind: HashMap<(Option<u32>, u32), Rc<[u32]>, FixedState>,
    /// By the number of some uses, and those of them that may come in a context: the first such context.
    like: HashMap<(u32, Bits), u32, FixedState>,
    /// By set.
    matters: Vec<Matters>,
    used: IndexSet<Bits, FixedState>,
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
            all: IndexMap::from_iter([(
                all,
                Place {
                    terminals,
                    root,
                    begin: (0..lexer.width()).collect(),
                    open: ClassSet::default(),
                    without_text: None,
                },
            )]),
            met: (1..found.all.len() as u32).map(met).collect(),
            behind: HashMap::default(),
            like: HashMap::default(),
            matters: Vec::new(),
            used: IndexSet::default(),
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
            like: HashMap::default(),
            matters: Vec::new(),
            used: IndexSet::default(),
        };
        let mut told = Told::new(cfg, lexer, followers);
        let any = told.any;
        // There are two contexts at the beginning, because ignored text may be missing there.
        contexts.add(&told, (followers.first.clone(), &any), found)?;
        contexts.add(&told, (told.with_ignored(&followers.first), &any), found)?;
        for (terminal, own) in (0..).zip(&cfg.terminals) {
            if matches!(own.matter, Matter::Special(_)) {
                for level in told.levels_behind(&[terminal], None)? {
                    let behind = followers.behind(terminal, None, level);
                    contexts.add(&told, (told.with_ignored(&behind), &any), found)?;
                }
            }
        }
        while let Some(context) = contexts.all.values().position(|own| !own.open.is_empty()) {
            contexts.meet(&mut told, context as u32, found)?;
            if contexts.all.len() > MAX_CONTEXTS || contexts.met.len() > MAX_MET {
                return None;
            }
        }
        let matters =
            |known: &Option<KnownSet>| known.as_ref().map_or(Matters::Free, |known| known.matters);
        contexts.matters = told.known.iter().map(matters).collect();
        contexts.used = told.used;
        Some(contexts)
    }

    /// Returns the context of some uses, whose lexemes may begin with some classes.
    fn add(
        &mut self,
        told: &Told<'_>,
        (uses, begin): (Bits, &ClassSet),
        found: &mut Found,
    ) -> Option<u32> {
        let known = match self.all.get_index_of(&uses) {
            Some(known) => known as u32,
            None => self.add_new(told, uses, found)?,
        };
        self.widen(known, begin);
        Some(known)
    }

    fn add_new(&mut self, told: &Told<'_>, uses: Bits, found: &mut Found) -> Option<u32> {
        let terminals = told.followers.terminals_of(&uses);
        let is_text = |used: &u32| told.wide[told.followers.terminals[*used as usize] as usize];
        let mut others = Bits::new(told.followers.terminals.len());
        uses.iter()
            .filter(|used| !is_text(used))
            .for_each(|used| others.set(used));
        let without_text = match others == uses {
            true => None,
            false => Some(self.add(told, (others, &ClassSet::default()), found)?),
        };
        let place = Place {
            root: found.root(told.lexer, terminals.iter())?,
            terminals,
            begin: ClassSet::default(),
            open: ClassSet::default(),
            without_text,
        };
        Some(self.all.insert_full(uses, place).0 as u32)
    }

    /// Notes that lexemes of a context may begin with some classes.
    fn widen(&mut self, context: u32, begin: &ClassSet) {
        let place = &mut self.all[context as usize];
        place.open.or(&begin.without(&place.begin));
        place.begin.or(begin);
        if let Some(context) = place.without_text {
            self.widen(context, begin);
        }
    }

    /// Meets the sets of what begins in a context.
    fn meet(&mut self, told: &mut Told<'_>, context: u32, found: &mut Found) -> Option<()> {
        let root = self.root(context);
        let begin = std::mem::take(&mut self.all[context as usize].open);
        let mut open = found.ways(root, begin.iter()).into_vec();
        let mut known: HashMap<u32, BehindEnded, FixedState> = HashMap::default();
        let mut owns: HashMap<u32, u32, FixedState> = HashMap::default();
        open.retain(|&way| told.is_new(way, context));
        while let Some(set) = open.pop() {
            let KnownSet {
                matters,
                ended,
                ways,
            } = told.known(found, set);
            let own = match matters {
                Matters::Free => None,
                Matters::Whole => Some(context),
                Matters::Uses(uses) => {
                    let like = owns.entry(uses).or_insert_with(|| {
                        let key = self.key(context, uses, &told.used);
                        *self.like.entry(key).or_insert(context)
                    });
                    Some(*like)
                }
            };
            // It was met in a context that does not differ there.
            if !told.met.insert((own, set)) {
                continue;
            }
            for (number, (ended, begin)) in ended.iter().enumerate() {
                // Lexemes end together in many sets.
                let behind = match known.get(ended) {
                    Some(behind) => behind,
                    None => {
                        let behind = self.behind_ended(told, context, *ended, found)?;
                        known.entry(*ended).or_insert(behind)
                    }
                };
                let behinds = behind.1.clone();
                if number == 0 {
                    let met = |&(open, behind)| Met {
                        set,
                        context: own,
                        behind,
                        open,
                    };
                    self.met.extend(behind.0.iter().map(met));
                    if !behinds.is_empty() {
                        self.behind.insert((own, set), behinds.clone());
                    }
                }
                for &behind in &*behinds {
                    self.widen(behind, begin);
                }
            }
            open.extend(ways.iter().filter(|&&to| told.is_new(to, context)));
        }
        Some(())
    }

    /// Returns the contexts behind lexemes that end together, by the number of these.
    fn behind_ended(
        &mut self,
        told: &mut Told<'_>,
        context: u32,
        ended: u32,
        found: &mut Found,
    ) -> Option<BehindEnded> {
        let ended = told.ended[ended as usize].clone();
        if ended.is_empty() {
            return Some(BehindEnded::default());
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
            let none = ClassSet::default();
            let behind = self.add(told, (told.with_ignored(&behind), &none), found)?;
            all.push((open, behind));
        }
        let contexts = all.iter().map(|way| way.1).collect();
        Some((all, contexts))
    }

    /// Returns the number of contexts.
    pub(super) fn len(&self) -> u32 {
        self.all.len() as u32
    }

    /// Returns the set where a context's lexemes begin.
    pub(super) fn root(&self, context: u32) -> u32 {
        self.all[context as usize].root
    }

    /// Returns the classes with which lexemes may begin in a context.
    pub(super) fn begin(&self, context: u32) -> &ClassSet {
        &self.all[context as usize].begin
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
        let own = context.and_then(|context| self.own(context, set));
        // Nothing is noted if there is one context.
        self.behind.get(&(own, set)).map_or(&[0], |known| known)
    }

    /// Returns the first of the contexts that do not differ from one in what is read in a set; nothing if none does.
    pub(super) fn own(&self, context: u32, set: u32) -> Option<u32> {
        match self.matters.get(set as usize) {
            Some(Matters::Whole) => Some(context),
            Some(Matters::Uses(uses)) => {
                let key = self.key(context, *uses, &self.used);
                self.like.get(&key).copied()
            }
            // There is one context.
            None => Some(context),
            Some(Matters::Free) => None,
        }
    }

    /// Returns those of some uses, by their number, that may come in a context: what is read of these is alike in all
    /// contexts with the same ones.
    fn key(&self, context: u32, uses: u32, all: &IndexSet<Bits, FixedState>) -> (u32, Bits) {
        let mut own = self.uses(context).clone();
        own.and(&all[uses as usize]);
        (uses, own)
    }
}

/// The part of a context that matters where something that is read in a set has begun: for example, nothing for a
/// number that the same follows everywhere.
#[derive(Clone, Copy)]
enum Matters {
    /// Nothing.
    Free,
    /// The uses of its terminals that may come there, among those with a number.
    Uses(u32),
    /// All of the context, for ignored text.
    Whole,
}

/// The facts that hang on a set alone.
#[derive(Clone)]
struct KnownSet {
    matters: Matters,
    /// The numbers of terminals that end, each with the classes before which they may end together: first all, then
    /// all but such text as takes these classes.
    ended: Rc<[(u32, ClassSet)]>,
    /// The sets to which it leads, once each.
    ways: Rc<[u32]>,
}

/// The grammar whose contexts are told apart.
struct Told<'a> {
    cfg: &'a Cfg,
    lexer: &'a Lexer,
    followers: &'a Followers,
    /// By terminal.
    ignored: Vec<bool>,
    /// By terminal: whether text of nearly any characters begins as it does.
    wide: Vec<bool>,
    /// All classes.
    any: ClassSet,
    /// Sets that were met, each with the first context of those in which it means the same.
    met: HashSet<(Option<u32>, u32), FixedState>,
    /// By set: the number of the context where it was met last, from 1.
    last_met: Vec<u32>,
    /// By set, as far as was asked.
    known: Vec<Option<KnownSet>>,
    /// Terminals that end together.
    ended: IndexSet<Box<[u32]>, FixedState>,
    /// The uses of terminals that are read together, of those that are told apart.
    used: IndexSet<Bits, FixedState>,
}

impl<'a> Told<'a> {
    fn new(cfg: &'a Cfg, lexer: &'a Lexer, followers: &'a Followers) -> Told<'a> {
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

    /// Returns what is known of a set.
    fn known(&mut self, found: &Found, set: u32) -> KnownSet {
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
