//! The places in lexemes that perhaps cannot be finished, where all others can, and the stacks on which they are met.
//!
//! For example, a text `/[^\n]+/` that must be followed by `:` takes the `:`, and the same text that a line's end follows can
//! be finished: the parser's states on top of the stacks say which of both is read.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::FixedState;
use indexmap::{IndexMap, IndexSet};

use super::bits::{Bits, ClassSet};
use super::followers::ByShift;
use super::sets::Sets;
use super::uses::is_wide;
use crate::compile::lexer::Lexer;

/// The most sets with states that are unsure, because each takes some hundred bytes.
pub(super) const MAX_UNSURE: usize = 1_000;

/// So many unsure states are few, because a proof that tells brackets apart takes as long as the compile of a grammar with
/// some hundred terminals, and few tokens end in places that so few states have.
const FEW_STATES: usize = 8;

/// By set, and states in it that perhaps cannot be finished: the contexts where their lexemes began.
pub(super) type UnsureStates = IndexMap<(u32, Vec<u32>), Vec<u32>, FixedState>;

/// The contexts where lexemes have begun, by what perhaps cannot be finished in them: a bit for each number, and the
/// last one for all beyond, because few grammars have more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Origins(u64);

impl Origins {
    fn one(number: usize) -> Origins {
        Origins(1 << number.min(u64::BITS as usize - 1))
    }

    fn or(self, other: Origins) -> Origins {
        Origins(self.0 | other.0)
    }

    fn and(self, other: Origins) -> Origins {
        Origins(self.0 & other.0)
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns those that [`Origins::words`] tells.
    pub(crate) fn of_words([high, low]: [u32; 2]) -> Origins {
        Origins(u64::from(high) << 32 | u64::from(low))
    }

    /// Returns the same in two words.
    pub(crate) fn words(self) -> [u32; 2] {
        [(self.0 >> 32) as u32, self.0 as u32]
    }
}

/// A context where lexemes begin.
#[derive(Debug)]
struct Origin {
    /// The uses of terminals that may come there.
    uses: Bits,
    /// The classes with which they may begin.
    begin: ClassSet,
    /// Nothing if all can be finished.
    origins: Origins,
    /// True if all ignored text may come there, as on any stacks.
    has_ignored: bool,
}

/// The places in lexemes that perhaps cannot be finished.
#[derive(Debug, Default)]
pub(crate) struct Unsure {
    /// By state that perhaps cannot be finished: the sets in which that is so, ascending.
    by_state: HashMap<u32, Vec<Arc<UnsureSet>>, FixedState>,
    /// By state: the contexts in which it leads to one that perhaps cannot be finished.
    leads: Vec<Origins>,
    contexts: Vec<Origin>,
    /// The number of such states in sets, by context.
    count: usize,
    /// `None` if it is not known which uses terminals have on stacks.
    by_shift: Option<ByShift>,
}

/// States of terminals that have read the same text.
#[derive(Debug)]
struct UnsureSet {
    /// Ascending.
    all: Box<[u32]>,
    /// The states among them that read text of nearly any characters.
    texts: Box<[u32]>,
    /// The contexts where lexemes have begun that perhaps cannot be finished in it.
    origins: Origins,
}

impl Unsure {
    pub(super) fn new(sets: &Sets<'_>, unsure: &UnsureStates) -> Unsure {
        let counts = unsure
            .iter()
            .map(|((_, states), contexts)| states.len() * contexts.len());
        let mut all = Unsure {
            count: counts.sum(),
            ..Unsure::default()
        };
        // By context: the places, by number.
        let mut places: Vec<Vec<usize>> = vec![Vec::new(); sets.contexts().len() as usize];
        for (place, contexts) in unsure.values().enumerate() {
            for &context in contexts {
                places[context as usize].push(place);
            }
        }
        let mut numbers: IndexSet<&[usize], FixedState> = IndexSet::default();
        let mut origins = vec![Origins::default(); unsure.len()];
        for (context, places) in (0..).zip(&mut places) {
            places.dedup();
            let own = match places.is_empty() {
                true => Origins::default(),
                false => Origins::one(numbers.insert_full(&*places).0),
            };
            all.contexts.push(Origin::new(sets, context, own));
            places
                .iter()
                .for_each(|&place| origins[place] = origins[place].or(own));
        }
        all.leads = vec![Origins::default(); sets.lexer.terminal.len()];
        for ((set, states), origins) in unsure.keys().zip(origins) {
            all.add(sets, *set, states, origins);
        }
        lead_on(&mut all.leads, sets.lexer);
        all
    }

    /// Sets the uses that terminals have on stacks; `None` if they are not known.
    pub(super) fn set_uses_of_stacks(&mut self, by_shift: Option<ByShift>) {
        self.by_shift = by_shift;
    }

    /// Adds states of a set, which perhaps cannot be finished if they have begun in some contexts.
    fn add(&mut self, sets: &Sets<'_>, set: u32, states: &[u32], origins: Origins) {
        let all = sets.members(set);
        // If there is one context, it is that with all such text.
        let has_others = sets.contexts().len() > 1;
        let is_text = |&state: &u32| {
            has_others && is_wide(sets.lexer.terminal[state as usize], sets.cfg, sets.lexer)
        };
        let set = Arc::new(UnsureSet {
            texts: all.iter().copied().filter(is_text).collect(),
            all: all.into(),
            origins,
        });
        for &state in states {
            self.by_state.entry(state).or_default().push(set.clone());
            let leads = &mut self.leads[state as usize];
            *leads = leads.or(origins);
        }
    }

    /// Returns the contexts where lexemes may have begun on stacks that take some terminals, each with the parser's
    /// [state behind it](super::followers::landings).
    ///
    /// All that holds in a context holds where fewer uses of terminals may come. So one that has all uses will do, and
    /// the one with the fewest tells most.
    pub(crate) fn origins(&self, shifts: impl Iterator<Item = (u32, u32)>) -> Origins {
        if self.is_empty() {
            return Origins::default();
        }
        let uses = |shift| self.by_shift.as_ref()?.get(&shift).map(|uses| &**uses);
        let Some(uses): Option<Vec<&[u32]>> = shifts.map(uses).collect() else {
            return Origins(u64::MAX);
        };
        let may_be = |own: &&Origin| {
            uses.iter()
                .all(|uses| uses.iter().any(|&used| own.uses.has(used)))
        };
        let possible = || self.contexts.iter().filter(may_be);
        let mut begin = ClassSet::default();
        possible().for_each(|own| begin.or(&own.begin));
        let has_all = |own: &&Origin| {
            let mut uses = uses.iter().copied().flatten();
            own.has_ignored
                && begin.without(&own.begin).is_empty()
                && uses.all(|&used| own.uses.has(used))
        };
        let key = |own: &&Origin| (!own.origins.is_empty(), own.uses.count());
        match possible().filter(has_all).min_by_key(key) {
            Some(own) => own.origins,
            None => possible().fold(Origins::default(), |all, own| all.or(own.origins)),
        }
    }

    /// Returns those of some contexts in which some states lead to one that is unsure.
    pub(crate) fn leading(&self, states: &[u32], origins: Origins) -> Origins {
        let leads = states
            .iter()
            .filter_map(|&state| self.leads.get(state as usize));
        let leads = leads.fold(Origins::default(), |all, own| all.or(*own));
        leads.and(origins)
    }

    /// Returns those of the states of terminals that have read the same text which perhaps cannot be
    /// finished, if that has begun in one of some contexts: if all are among those of such a place, with the same
    /// ignored text, which is read everywhere, and some text of nearly any characters, if there is such text: places
    /// without it are looked at, too. Behind ignored text such text may begin again.
    pub(crate) fn among(
        &self,
        states: &[u32],
        origins: Origins,
        is_ignored: impl Fn(u32) -> bool,
    ) -> Box<[u32]> {
        let is_in = |set: &Arc<UnsureSet>, state: u32| {
            let UnsureSet { all, texts, .. } = &**set;
            let mut more = all.iter().filter(|state| !states.contains(state));
            !set.origins.and(origins).is_empty()
                && states.iter().all(|state| all.binary_search(state).is_ok())
                && (texts.is_empty()
                    || is_ignored(state)
                    || texts.iter().any(|text| states.contains(text)))
                && more.all(|&state| !is_ignored(state))
        };
        let is_unsure = |state: &u32| {
            self.by_state
                .get(state)
                .is_some_and(|sets| sets.iter().any(|set| is_in(set, *state)))
        };
        states.iter().copied().filter(is_unsure).collect()
    }

    /// Tells whether a state is unsure in some set.
    pub(crate) fn may_have(&self, state: u32) -> bool {
        self.by_state.contains_key(&state)
    }

    /// Tells whether there are fewer such places in a context than another proof found.
    pub(super) fn is_less(&self, other: &Unsure) -> bool {
        self.count * other.contexts.len().max(1) < other.count * self.contexts.len().max(1)
    }

    /// Tells whether there are so few that another proof need not be sought.
    pub(super) fn has_few(&self) -> bool {
        self.by_state.len() <= FEW_STATES
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_state.is_empty()
    }
}

impl Origin {
    fn new(sets: &Sets<'_>, context: u32, origins: Origins) -> Origin {
        let contexts = sets.contexts();
        let mut ignored = sets.cfg.ignored.iter().flatten();
        Origin {
            uses: contexts.uses(context).clone(),
            begin: *contexts.begin(context),
            origins,
            has_ignored: ignored.all(|&one| contexts.terminals(context).has(one)),
        }
    }
}

/// Adds to each state that of those to which it leads.
fn lead_on(all: &mut [Origins], lexer: &Lexer) {
    let mut changed = all.iter().any(|own| !own.is_empty());
    while std::mem::take(&mut changed) {
        for state in (1..all.len()).rev() {
            let ways = lexer.ways(state as u32);
            let leads = ways.fold(all[state], |leads, (_, to)| leads.or(all[to as usize]));
            changed |= leads != all[state];
            all[state] = leads;
        }
    }
}
