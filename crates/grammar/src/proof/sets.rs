//! The lexemes that may be read at once, because greedy lexing reads all terminals side by side.
//!
//! For example, `if` is read as the keyword and as a name at once.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::rc::Rc;

use foldhash::fast::FixedState;
use indexmap::IndexMap;
use schema_regex::automaton::SchemaAutomaton;

use super::bits::{Bits, ClassSet, JSON, NOWHERE};
use super::contexts::{Contexts, Met, Untold};
use super::effort::{Effort, Task};
use super::followers::Followers;
use super::found::Found;
use super::json;
use crate::compile::cfg::{Cfg, Matter};
use crate::compile::lexer::Lexer;

/// The pairs of states that the proof looks at for lexemes that may be cut short, because each
/// terminal begins such a search.
const MAX_PAIRS: usize = 200_000;

/// The sets that count as one where nothing is told apart, because each is found once then, and met in no contexts.
const SETS_TOGETHER: usize = 4;

/// The ends of ignored text, by where it begins: found once each.
pub(super) struct Bridges<'a> {
    sets: &'a Sets<'a>,
    /// By ignored terminal and context.
    known: HashMap<(u32, u32), Vec<Bridge>, FixedState>,
    /// By a state of ignored text and its set: the sets where that ends. Most contexts lead to the same.
    ends: HashMap<(u32, u32), Rc<[u32]>, FixedState>,
}

impl<'a> Bridges<'a> {
    pub(super) fn new(sets: &'a Sets<'a>) -> Bridges<'a> {
        Bridges {
            sets,
            known: HashMap::default(),
            ends: HashMap::default(),
        }
    }

    /// Returns the ends of ignored text that begins in a context.
    pub(super) fn of(&mut self, between: u32, context: u32) -> &[Bridge] {
        let Bridges { sets, known, ends } = self;
        known
            .entry((between, context))
            .or_insert_with(|| sets.bridges(between, context, ends))
    }
}

/// An end of ignored text.
pub(super) struct Bridge {
    /// The classes with which the texts begin that end so.
    pub(super) classes: ClassSet,
    /// The classes that nothing takes behind it.
    pub(super) free: ClassSet,
    /// The context behind it.
    pub(super) behind: u32,
}

/// The states of terminals that are read side by side, as far as texts lead.
pub(super) struct Sets<'a> {
    pub(super) cfg: &'a Cfg,
    pub(super) lexer: &'a Lexer,
    pub(super) effort: &'a Effort,
    /// The classes that a way to the end may take.
    usable: ClassSet,
    /// See [`Sets::usable_turns`].
    usable_turns: ClassSet,
    found: Found,
    /// By set: whether a lexeme ends there whatever comes.
    cuts: Vec<bool>,
    pub(super) has_cuts: bool,
    contexts: Contexts,
}

impl<'a> Sets<'a> {
    /// All terminals may come everywhere. `None` if there are too many sets.
    pub(super) fn new(task: Task<'a>) -> Option<Sets<'a>> {
        let begins_json = begins_json(task.cfg, task.lexer);
        let most = task.effort.left().saturating_mul(SETS_TOGETHER);
        let mut found = Found::new(begins_json, most);
        let contexts = Contexts::one(task.cfg, task.lexer, &mut found);
        task.effort.take(found.all.len() / SETS_TOGETHER)?;
        Some(Sets::of(task, found, contexts?))
    }

    /// All that may come behind lexemes is told apart, but a JSON value, which no set tells apart.
    pub(super) fn told_apart(task: Task<'a>, followers: &Followers) -> Result<Sets<'a>, Untold> {
        let mut found = Found::new(None, task.effort.left());
        let contexts = Contexts::behind_lexemes(task, followers, &mut found);
        if contexts.is_err() {
            // It may have ended because of that.
            let _ = task.effort.need(found.all.len());
        }
        Ok(Sets::of(task, found, contexts?))
    }

    fn of(task: Task<'a>, found: Found, contexts: Contexts) -> Sets<'a> {
        let Task {
            cfg,
            lexer,
            usable,
            effort,
        } = task;
        let lazy = |state: &u32| {
            lexer.accepting[*state as usize]
                && cfg.terminals[lexer.terminal[*state as usize] as usize].is_lazy
        };
        let cuts: Vec<bool> = found.all.iter().map(|set| set.iter().any(lazy)).collect();
        let is_usable = |class: &usize| {
            (0..=u8::MAX).any(|byte| usable.has(byte) && lexer.sets[*class].has(byte))
        };
        let usable: ClassSet = (0..lexer.width()).filter(is_usable).collect();
        let differs = |class: &usize| *class > 0 && usable.has(*class) != usable.has(*class - 1);
        Sets {
            cfg,
            lexer,
            effort,
            usable,
            usable_turns: (0..lexer.width()).filter(differs).collect(),
            found,
            has_cuts: cuts.contains(&true),
            cuts,
            contexts,
        }
    }

    pub(super) fn width(&self) -> usize {
        self.lexer.width()
    }

    /// Returns the number of sets.
    pub(super) fn len(&self) -> usize {
        self.found.all.len()
    }

    pub(super) fn contexts(&self) -> &Contexts {
        &self.contexts
    }

    /// The classes that nothing takes which stands in a set.
    pub(super) fn free(&self, set: u32) -> &ClassSet {
        &self.found.free[set as usize]
    }

    /// Tells whether a lexeme ends there whatever comes.
    pub(super) fn cuts(&self, set: u32) -> bool {
        self.cuts[set as usize]
    }

    /// Tells whether a JSON value may be read there.
    pub(super) fn may_be_json(&self, set: u32) -> bool {
        self.found.all[set as usize].first() == Some(&JSON)
    }

    /// The states of a set in which a terminal ends.
    pub(super) fn ended(&self, set: u32) -> impl Iterator<Item = u32> {
        self.found.ended(self.lexer, set)
    }

    /// Returns the ignored terminal that may come before another.
    pub(super) fn ignored_before(&self, terminal: u32) -> Option<u32> {
        let own = &self.cfg.ignored[self.cfg.terminals[terminal as usize].domain as usize];
        // Under greedy lexing they are one.
        own.first().copied()
    }

    /// The lexemes of a context that ignored text may stand before.
    fn behind_ignored(&self, first: u32, context: u32) -> Bits {
        let all = self.contexts.terminals(context);
        let mut behind = Bits::new(self.cfg.terminals.len());
        let seconds = all.iter().filter(|&t| t != first);
        seconds
            .filter(|&t| self.ignored_before(t) == Some(first))
            .for_each(|t| behind.set(t));
        behind
    }

    /// Returns the ends of ignored text that begins in a context; `known` has those of texts that have begun.
    fn bridges(
        &self,
        between: u32,
        context: u32,
        known: &mut HashMap<(u32, u32), Rc<[u32]>, FixedState>,
    ) -> Vec<Bridge> {
        let start = (
            self.lexer.starts[between as usize],
            self.contexts.root(context),
        );
        // Most classes lead to the same.
        let mut firsts: IndexMap<(u32, u32), ClassSet, FixedState> = IndexMap::default();
        for class in self.contexts.begin(context).iter() {
            if let Some(first) = self.pair_behind(start, class) {
                firsts.entry(first).or_default().fill(class..class + 1);
            }
        }
        let mut bridges: IndexMap<(ClassSet, u32), ClassSet, FixedState> = IndexMap::default();
        for (first, classes) in firsts {
            let ends = known
                .entry(first)
                .or_insert_with(|| self.ends_behind(first.0, first.1));
            for &set in &**ends {
                // There is one context, because ignored text closes no bracket.
                for &behind in self.contexts.behind(Some(context), set) {
                    let end = (*self.free(set), behind);
                    bridges.entry(end).or_default().or(&classes);
                }
            }
        }
        let bridges = bridges.into_iter();
        let bridge = |((free, behind), classes)| Bridge {
            classes,
            free,
            behind,
        };
        bridges.map(bridge).collect()
    }

    /// Returns the sets in which ignored text ends to which a state and its set lead.
    fn ends_behind(&self, state: u32, set: u32) -> Rc<[u32]> {
        let first = (state, set);
        let mut ends = Vec::new();
        let mut open = vec![first];
        let mut seen: HashSet<(u32, u32), FixedState> = HashSet::from_iter([first]);
        while let Some((state, set)) = open.pop() {
            if self.lexer.accepting[state as usize] {
                ends.push(set);
            }
            if !self.cuts(set) {
                let ways = self.pairs_behind(state, set);
                open.extend(ways.filter(|&way| seen.insert(way)));
            }
        }
        ends.into()
    }

    /// Returns the states in a set, ascending.
    pub(super) fn members(&self, set: u32) -> &[u32] {
        &self.found.all[set as usize]
    }

    /// Tells whether a terminal ends in a set.
    pub(super) fn ends(&self, set: u32, terminal: u32) -> bool {
        self.ended(set)
            .any(|state| self.lexer.terminal[state as usize] == terminal)
    }

    /// By terminal: the classes with which it may begin in a context, and come to its end.
    /// Nothing for special tokens, which begin with none. `pairs` counts what is looked at;
    /// `None` if that is too much.
    pub(super) fn firsts(&self, context: u32, pairs: &mut usize) -> Option<Vec<Option<ClassSet>>> {
        let root = self.contexts.root(context);
        let own = self.contexts.terminals(context);
        // If a lexeme may be cut short, those of other contexts cannot be led through the set.
        let is_read =
            |number: u32| !self.has_cuts || own.has(number) || self.cfg.is_ignored(number);
        let terminals = self.cfg.terminals.iter().zip(&self.lexer.starts);
        (0..)
            .zip(terminals)
            .map(|(number, (terminal, &start))| match &terminal.matter {
                Matter::Special(_) => Some(None),
                Matter::Json(automaton) => {
                    let begins = json::begins(automaton, &self.lexer.bytes).enumerate();
                    let begins = begins.filter(|(at, begins)| *begins && self.usable.has(*at));
                    Some(Some(begins.map(|way| way.0).collect()))
                }
                Matter::Table(_) if !is_read(number) => Some(Some(ClassSet::default())),
                Matter::Table(_) => {
                    // Most classes lead to the same.
                    let mut known: HashMap<(u32, u32), bool, FixedState> = HashMap::default();
                    let classes = (0..self.width()).filter(|&class| {
                        let first = self.pair_behind((start, root), class);
                        first.is_some_and(|first| {
                            let search = || self.ends_in_time(first, terminal.is_lazy, pairs);
                            !self.has_cuts || *known.entry(first).or_insert_with(search)
                        })
                    });
                    let classes = classes.collect();
                    (*pairs < MAX_PAIRS).then_some(Some(classes))
                }
            })
            .collect()
    }

    /// Returns where a class leads from a state of a terminal and the set that it is in, on a way
    /// to the end.
    pub(super) fn pair_behind(&self, (state, set): (u32, u32), class: usize) -> Option<(u32, u32)> {
        let state = self.lexer.step(state, class as u8);
        (state != 0 && self.usable.has(class))
            .then(|| (state, self.found.next[set as usize * self.width() + class]))
    }

    /// Returns where classes lead from a state of a terminal and the set that it is in: once where several lead
    /// there one after another.
    pub(super) fn pairs_behind(&self, state: u32, set: u32) -> impl Iterator<Item = (u32, u32)> {
        debug_assert!(self.members(set).binary_search(&state).is_ok());
        let turns = self.turns(set);
        turns
            .iter()
            .filter_map(move |class| self.pair_behind((state, set), class))
    }

    /// Returns the classes by which a set leads to others on a way to the end, in runs, each with the set behind them.
    pub(super) fn runs(&self, set: u32) -> impl Iterator<Item = (Range<usize>, u32)> {
        let turns = self.turns(set);
        let row = &self.found.next[set as usize * self.width()..];
        let usable = turns.iter().filter(|class| self.usable.has(*class));
        usable
            .filter(|class| row[*class] != NOWHERE)
            .map(move |class| {
                let end = turns.next_from(class + 1).unwrap_or(self.width());
                (class..end, row[class])
            })
    }

    /// Returns the sets to which a set leads on a way to the end, once each.
    pub(super) fn ways(&self, set: u32) -> Box<[u32]> {
        let usable = |class: &usize| self.usable.has(*class);
        self.found.ways(set, self.turns(set).iter().filter(usable))
    }

    /// Returns the sets to which lexemes that begin in a context lead on a way to the end, once each.
    pub(super) fn ways_into(&self, context: u32) -> Box<[u32]> {
        let begin = self.contexts.begin(context).and(&self.usable);
        self.found.ways(self.contexts.root(context), begin.iter())
    }

    /// The classes that may be taken where the one before may not, or the other way round.
    pub(super) fn usable_turns(&self) -> &ClassSet {
        &self.usable_turns
    }

    /// The classes that may lead elsewhere from a set than the one before.
    fn turns(&self, set: u32) -> ClassSet {
        let mut turns = self.found.turns[set as usize];
        turns.or(&self.usable_turns);
        turns
    }

    /// Tells whether a terminal comes from a state to its end, and no lexeme cuts it short which
    /// ends at its first end.
    fn ends_in_time(&self, first: (u32, u32), is_lazy: bool, pairs: &mut usize) -> bool {
        let mut open = vec![first];
        let mut seen: HashSet<(u32, u32), FixedState> = HashSet::from_iter([first]);
        while let Some((state, set)) = open.pop() {
            *pairs += 1;
            if *pairs > MAX_PAIRS {
                return false;
            }
            match (self.lexer.accepting[state as usize], self.cuts(set)) {
                (true, cut) if cut == is_lazy => return true,
                (_, true) => {}
                (_, false) => {
                    let ways = self.pairs_behind(state, set);
                    open.extend(ways.filter(|&way| seen.insert(way)));
                }
            }
        }
        false
    }

    /// Tells whether other lexemes may be read beside a value: such as may begin where it does,
    /// with a byte with which it may begin. `firsts` are of the whole text.
    pub(super) fn mixes(
        &self,
        value: u32,
        firsts: &Bits,
        follow: &[Bits],
        begins: &[Option<ClassSet>],
    ) -> bool {
        let cfg = self.cfg;
        let mut beside = Bits::new(cfg.terminals.len());
        let mut add = |bits: &Bits| {
            beside.or(bits);
        };
        if firsts.has(value) {
            add(firsts);
        }
        // The lexemes that end where something ends that the value follows.
        let is_before = |terminal: u32| follow[terminal as usize].has(value);
        let json = (0..).zip(&cfg.terminals).filter_map(|(number, terminal)| {
            matches!(terminal.matter, Matter::Json(_)).then_some(number)
        });
        let json: Vec<u32> = json.collect();
        for terminal in (0..cfg.terminals.len() as u32).filter(|&t| is_before(t)) {
            add(&follow[terminal as usize]);
        }
        // Values that end together are not told apart.
        if json.iter().any(|&terminal| is_before(terminal)) {
            json.iter().for_each(|&t| add(&follow[t as usize]));
        }
        for set in 1..self.len() as u32 {
            let ended = self.ended(set);
            let mut ended: Vec<u32> = ended
                .map(|state| self.lexer.terminal[state as usize])
                .collect();
            ended.extend(json.iter().filter(|_| self.may_be_json(set)));
            if ended.iter().any(|&terminal| is_before(terminal)) {
                // If ignored text ends as well, all may come that might before.
                if ended.iter().any(|&t| cfg.is_ignored(t)) {
                    return true;
                }
                ended.iter().for_each(|&t| add(&follow[t as usize]));
            }
        }
        cfg.ignored
            .iter()
            .flatten()
            .for_each(|&ignored| beside.set(ignored));
        let takes = |terminal: u32, class: usize| match &cfg.terminals[terminal as usize].matter {
            Matter::Table(_) => {
                let start = self.lexer.starts[terminal as usize];
                self.lexer.step(start, class as u8) != 0
            }
            Matter::Json(_) | Matter::Special(_) => {
                let classes = begins[terminal as usize].as_ref();
                classes.is_some_and(|classes| classes.has(class))
            }
        };
        let width = self.lexer.width();
        let own = begins[value as usize].as_ref();
        beside.iter().filter(|&t| t != value).any(|t| {
            (0..width).any(|class| own.is_none_or(|own| own.has(class)) && takes(t, class))
        })
    }
}

/// The lexemes that may come behind others, found once each, because a lexeme ends in many sets.
pub(super) struct Seconds<'a> {
    sets: &'a Sets<'a>,
    followers: &'a Followers,
    /// By lexeme, the context in which it began where that matters, and the bracket that is open behind it.
    known: HashMap<(u32, Option<u32>, Option<u32>), Bits, FixedState>,
}

impl<'a> Seconds<'a> {
    pub(super) fn new(sets: &'a Sets<'a>, followers: &'a Followers) -> Seconds<'a> {
        Seconds {
            sets,
            followers,
            known: HashMap::default(),
        }
    }

    /// Returns the lexemes that may come behind one which ended in a set that was met; behind ignored text, those of
    /// its context.
    pub(super) fn behind(&mut self, first: u32, met: &Met) -> &Bits {
        let Seconds {
            sets, followers, ..
        } = *self;
        let is_ignored = sets.cfg.is_ignored(first);
        let context = match is_ignored {
            true => Some(met.context.unwrap_or(met.behind)),
            false => met.context.filter(|_| followers.is_split(first)),
        };
        let known = self.known.entry((first, context, met.open));
        known.or_insert_with(|| match context {
            Some(context) if is_ignored => sets.behind_ignored(first, context),
            _ => {
                let uses = context.map(|context| sets.contexts.uses(context));
                followers.terminals_of(&followers.behind(first, uses, met.open))
            }
        })
    }
}

/// By class: whether a JSON value begins with it; nothing where there is none.
fn begins_json(cfg: &Cfg, lexer: &Lexer) -> Option<Vec<bool>> {
    let automata = cfg.terminals.iter().filter_map(|one| match &one.matter {
        Matter::Json(automaton) => Some(automaton),
        _ => None,
    });
    let automata: Vec<&SchemaAutomaton> = automata.collect();
    let mut all = vec![false; lexer.bytes.len()];
    for one in &automata {
        let begins = json::begins(one, &lexer.bytes);
        let known = all.iter_mut().zip(begins);
        known.for_each(|(known, begins)| *known |= begins);
    }
    (!automata.is_empty()).then_some(all)
}
