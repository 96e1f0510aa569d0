//! The terminals that may come at one place: those behind which lexemes they follow.
//!
//! For example, a file's name `/[^"]*/` that stands behind `#include "` alone is not read beside names
//! and numbers, though it takes all that they begin with.

use std::collections::HashMap;
use std::rc::Rc;

use foldhash::fast::FixedState;
use indexmap::{IndexMap, IndexSet};

use super::bits::{Bits, ClassSet};
use super::effort::{Effort, Task};
use super::followers::Followers;
use super::found::Found;
use super::told::{KnownSet, Matters, Told};
use crate::compile::cfg::{Cfg, Matter};
use crate::compile::lexer::Lexer;

/// The most contexts, because Haxe has 1,385, and with more a LaTeX alone was proved, in seconds and for no faster masks.
const MAX_CONTEXTS: usize = 1_400;

/// The most sets of states that are found for them, because Perl has 6,357, and of languages with more nothing was proved of
/// all stacks.
const MAX_SETS: usize = 7_000;

/// The most sets that are met in contexts, because each context meets the ignored text's.
const MAX_MET: usize = 200_000;

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
    /// The classes among them that were not looked at.
    open: ClassSet,
    /// The context without text of nearly any characters, if there is such text: a place need not have it.
    without_text: Option<u32>,
}

/// The contexts behind lexemes that end together, of which one is right, by the brackets that are open: each with the
/// innermost one, if they close one; and alone.
type BehindEnded = (Vec<(Option<u32>, u32)>, Rc<[u32]>);

/// The reason why contexts are not told apart.
#[derive(Debug)]
pub(super) enum Untold {
    /// There are too many of them, or a JSON value.
    TooMuch,
    /// Pairs of brackets that one text opens.
    Levels(Vec<(u32, u32)>),
    /// Terminals that open or close a bracket, as a text may have done or not.
    Brackets(Vec<u32>),
}

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
    /// leaves a context as it is.
    pub(super) fn behind_lexemes(
        task: Task<'_>,
        followers: &Followers,
        found: &mut Found,
    ) -> Result<Contexts, Untold> {
        let (cfg, lexer) = (task.cfg, task.lexer);
        let is_json = |matter: &Matter| matches!(matter, Matter::Json(_));
        if cfg.terminals.iter().any(|one| is_json(&one.matter)) {
            return Err(Untold::TooMuch);
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
        let is_found = contexts.find(&mut told, task.effort, found).is_some();
        if !told.mixed_brackets.is_empty() {
            return Err(Untold::Brackets(told.mixed_brackets));
        }
        if !is_found {
            return Err(Untold::TooMuch);
        }
        if !told.mixed_levels.is_empty() {
            return Err(Untold::Levels(told.mixed_levels));
        }
        let matters =
            |known: &Option<KnownSet>| known.as_ref().map_or(Matters::Free, |known| known.matters);
        contexts.matters = told.known.iter().map(matters).collect();
        contexts.used = told.used;
        Ok(contexts)
    }

    /// Finds all that come behind lexemes. `None` if there are too many, or brackets of which a text does not tell that they are
    /// open.
    fn find(&mut self, told: &mut Told<'_>, effort: &Effort, found: &mut Found) -> Option<()> {
        let (cfg, followers, any) = (told.cfg, told.followers, told.any);
        // There are two contexts at the beginning, because ignored text may be missing there.
        self.add(told, followers.first.clone(), &any, found)?;
        self.add(told, told.with_ignored(&followers.first), &any, found)?;
        for (terminal, own) in (0..).zip(&cfg.terminals) {
            if matches!(own.matter, Matter::Special(_)) {
                for level in told.levels_behind(&[terminal], None)? {
                    let behind = followers.behind(terminal, None, level);
                    self.add(told, told.with_ignored(&behind), &any, found)?;
                }
            }
        }
        while let Some(context) = self.all.values().position(|own| !own.open.is_empty()) {
            let known = self.met.len() + found.all.len();
            self.meet(told, context as u32, found)?;
            effort.take(self.met.len() + found.all.len() - known)?;
            let is_over = self.all.len() > MAX_CONTEXTS || self.met.len() > MAX_MET;
            if is_over || found.all.len() > MAX_SETS {
                return None;
            }
        }
        Some(())
    }

    /// Returns the context of some uses, whose lexemes may begin with some classes.
    fn add(
        &mut self,
        told: &Told<'_>,
        uses: Bits,
        begin: &ClassSet,
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
            false => Some(self.add(told, others, &ClassSet::default(), found)?),
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
            let behind = self.add(told, told.with_ignored(&behind), &none, found)?;
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
