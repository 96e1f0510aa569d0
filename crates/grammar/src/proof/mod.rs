//! The proof that texts can be finished under greedy lexing, whatever was read before.
//!
//! For example, `start: /[a-z]+/ "x"` has none, because the name takes the `x`.

mod bits;
mod brackets;
mod conflict;
mod contexts;
mod effort;
mod followers;
mod found;
mod guards;
mod json;
mod local;
mod narrow;
mod safe;
mod sets;
mod split;
mod told;
mod unsure;
mod uses;
mod ways;

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use foldhash::fast::FixedState;
use fsm_index::ByteSet;

use crate::compile::cfg::{Cfg, Matter};
use crate::compile::lexer::Lexer;
use crate::compile::lr::Tables;

use self::bits::{Bits, ClassSet};
use self::brackets::BracketKind;
pub(crate) use self::conflict::{Conflict, swallowed};
use self::contexts::Met;
pub(crate) use self::effort::Effort;
use self::effort::{STATES_OF_A_SET, Task};
pub(crate) use self::followers::bytes_behind;
use self::followers::{Followers, followers, landings};
pub(crate) use self::guards::prove_guards;
use self::local::{Asked, Pairs, local};
pub(crate) use self::narrow::Narrow;
use self::safe::{Adjacent, Targets, safe};
use self::sets::{Bridges, Seconds, Sets};
pub(crate) use self::unsure::Origins;
use self::unsure::Unsure;
use self::ways::{By, WaysToTell};

/// The lexemes that the proof looks at behind others, because Haxe needs 621,000, and of languages that need more nothing was
/// proved.
const MAX_PLACES: usize = 700_000;

/// The most contexts where places in lexemes are told apart though more than seven of eight terminals are in trouble, because
/// Haskell has 32, and of languages with 104 and more nothing was proved: in each of them text of nearly any characters is read
/// beside all others.
const MAX_CONTEXTS_IN_TROUBLE: u32 = 100;

/// The most contexts where places in lexemes are told apart, because Pkl has 440, masks of Scala with 524 are hardly faster by
/// it, and of languages with more nothing was proved so.
const MAX_CONTEXTS_OF_PLACES: u32 = 500;

/// The result of a proof.
#[derive(Debug, Default)]
pub(crate) struct Proof {
    /// True if every configuration can be finished.
    pub(crate) is_whole: bool,
    /// True if some lexemes end at their first end.
    pub(crate) has_lazy: bool,
    /// By state of the parser: whether every stack with it on top can be finished, where no ignored
    /// text is begun that is narrow; a bit for each row of terminals that may be the last.
    safe: Vec<u64>,
    /// By terminal: the number of its bit.
    rows: Vec<u8>,
    /// True if every stack can be finished, but in unsure places and narrow ignored text.
    is_all_safe: bool,
    /// The ignored text behind which some lexemes cannot come, if there is such text.
    narrow: Option<Narrow>,
    /// Places in lexemes that perhaps cannot be finished, whatever the parser's state says.
    unsure: Unsure,
    /// Two lexemes of which the second perhaps cannot come behind the first.
    pub(crate) conflict: Option<Conflict>,
}

impl Proof {
    fn without(cfg: &Cfg) -> Proof {
        Proof {
            has_lazy: cfg.terminals.iter().any(|terminal| terminal.is_lazy),
            ..Proof::default()
        }
    }

    /// Finds what can be finished, if that is not too much: then nothing changes.
    fn find(
        &mut self,
        sets: &Sets<'_>,
        followers: &Followers,
        targets: &Targets<'_>,
        detail: Detail,
    ) {
        let firsts = Firsts::new(sets);
        let Some((firsts, trouble)) =
            firsts.and_then(|firsts| troubled(sets, followers, &firsts).map(|it| (firsts, it)))
        else {
            return;
        };
        let all = trouble.all();
        *self = Proof {
            is_whole: !all.contains(&true),
            conflict: trouble.conflict,
            ..Proof::without(sets.cfg)
        };
        if self.is_whole {
            return;
        }
        // Whatever has begun leads to a state, and each of them will do.
        self.find_safe(sets.cfg, targets, &Adjacent::without(&all));
        self.is_whole = self.is_all_safe;
        if self.is_whole {
            return;
        }
        // A way to the end need not take ignored text behind which little can come.
        if let Some(narrow) = Narrow::new(sets, firsts.of(0), &trouble.narrow) {
            self.find_safe(
                sets.cfg,
                targets,
                &Adjacent::without(&trouble.behind_lexemes),
            );
            self.narrow = Some(narrow);
        }
        let in_trouble = all.iter().filter(|is_troubled| **is_troubled).count();
        let most = match in_trouble * 8 > all.len() * 7 {
            true => MAX_CONTEXTS_IN_TROUBLE,
            false => MAX_CONTEXTS_OF_PLACES,
        };
        let is_hopeless = sets.contexts().len() > most;
        let has_places =
            detail == Detail::Places && !sets.has_cuts && !self.is_all_safe && !is_hopeless;
        if has_places && let Some(pairs) = Pairs::new(sets) {
            self.find_places(sets, &pairs, followers, targets);
            self.is_whole = self.is_all_safe && self.narrow.is_none() && self.unsure.is_empty();
        }
    }

    /// Returns a proof of more, where less is read side by side because it is told apart what may come.
    fn told_apart(&self, mut ways: WaysToTell<'_>, targets: &Targets<'_>) -> Option<Proof> {
        let detail = match ways.usable() == ByteSet::ALL {
            true => Detail::Places,
            false => Detail::States,
        };
        let mut best: Option<Proof> = None;
        for way in [
            By::Bracket(BracketKind::Terminal),
            By::Bracket(BracketKind::Production),
            By::Text,
        ] {
            let proof = best.as_ref().unwrap_or(self);
            let is_found = proof.is_whole || (proof.is_all_safe && proof.unsure.has_few());
            // Brackets tell more apart.
            let is_needless = way == By::Text && proof.is_all_safe;
            if is_found || is_needless || ways.is_over() {
                continue;
            }
            if let Some((uses, apart)) = ways.tell(way) {
                let mut better = Proof::without(apart.cfg);
                better.find(&apart, &uses, targets, detail);
                if better.is_better(proof) {
                    best = Some(better);
                }
            }
        }
        best
    }

    /// Finds which states can be finished but in unsure places.
    fn find_places(
        &mut self,
        sets: &Sets<'_>,
        pairs: &Pairs,
        followers: &Followers,
        targets: &Targets<'_>,
    ) {
        for asked in [Asked::Everywhere, Asked::Somewhere] {
            let work = sets.contexts().met().len() + pairs.count() / STATES_OF_A_SET;
            if !self.is_all_safe
                && sets.effort.take(work).is_some()
                && let Some(local) = local(sets, pairs, followers, self.narrow.as_ref(), asked)
                && let Some(adjacent) = Adjacent::new(&local.rows)
            {
                self.find_safe(sets.cfg, targets, &adjacent);
                self.unsure = local.unsure;
            }
        }
        if self.has_unsure() {
            self.unsure
                .set_uses_of_stacks(followers.by_shift(targets.tables()));
        }
    }

    /// Tells whether more can be finished than another proof says. One that leaves some stacks out is no better than another:
    /// masks look at all of them then.
    pub(crate) fn is_better(&self, other: &Proof) -> bool {
        let is_less = || !other.is_all_safe || self.unsure.is_less(&other.unsure);
        self.is_whole || (self.is_all_safe && is_less())
    }

    /// Finds which states can be finished if each terminal comes behind one that it may come behind.
    fn find_safe(&mut self, cfg: &Cfg, targets: &Targets<'_>, adjacent: &Adjacent) {
        let terminals = 0..cfg.terminals.len() as u32;
        self.safe = safe(cfg, targets, adjacent);
        self.rows = terminals.map(|terminal| adjacent.row(terminal)).collect();
        let ignored: Vec<u32> = cfg.ignored.iter().flatten().copied().collect();
        self.is_all_safe = (0..).zip(&targets.tables().states).all(|(number, state)| {
            let is_between = state.accepts || !state.shifts.is_empty();
            state
                .shifts
                .iter()
                .all(|&(terminal, to)| self.is_safe(to, terminal))
                && (!is_between || ignored.iter().all(|&ignored| self.is_safe(number, ignored)))
        });
    }

    /// Tells whether every stack with a state on top can be finished where a terminal was read last.
    pub(crate) fn is_safe(&self, state: u32, last: u32) -> bool {
        let own = self.safe.get(state as usize);
        own.is_some_and(|own| own >> self.rows[last as usize] & 1 == 1)
    }

    /// Returns those of the states of terminals that have read the same text which perhaps cannot be finished.
    pub(crate) fn unsure_among(
        &self,
        states: &[u32],
        origins: Origins,
        cfg: &Cfg,
        lexer: &Lexer,
    ) -> Box<[u32]> {
        let is_ignored = |state: u32| cfg.is_ignored(lexer.terminal[state as usize]);
        self.unsure.among(states, origins, is_ignored)
    }

    /// Returns the contexts where lexemes may have begun on stacks with some states on top, by what perhaps cannot be
    /// finished there.
    pub(crate) fn origins(&self, states: &[u32], tables: &Tables) -> Origins {
        let states = states.iter().map(|&state| &tables.states[state as usize]);
        self.unsure
            .origins(states.flat_map(|state| landings(state, tables)))
    }

    /// Returns those of some contexts in which some states lead to one that is unsure.
    pub(crate) fn unsure_origins(&self, states: &[u32], origins: Origins) -> Origins {
        self.unsure.leading(states, origins)
    }

    /// Tells whether a state is unsure in some set.
    pub(crate) fn may_be_unsure(&self, state: u32) -> bool {
        self.unsure.may_have(state)
    }

    /// Tells whether there are places that are unsure.
    pub(crate) fn has_unsure(&self) -> bool {
        !self.unsure.is_empty()
    }

    /// Tells whether every stack can be finished, but in unsure places and narrow ignored text.
    pub(crate) fn is_all_safe(&self) -> bool {
        self.is_all_safe
    }

    /// Returns the ignored text behind which some lexemes cannot come, if there is such text.
    pub(crate) fn narrow(&self) -> Option<&Narrow> {
        self.narrow.as_ref()
    }
}

/// The detail of a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Detail {
    /// States of the parser are told apart.
    States,
    /// So are places in lexemes.
    Places,
}

/// Lexemes that perhaps cannot come where they must.
struct Trouble {
    /// By terminal: whether it perhaps cannot come behind another lexeme.
    behind_lexemes: Vec<bool>,
    /// The same behind ignored text.
    behind_ignored: Vec<bool>,
    /// The states of ignored text behind which some lexeme perhaps cannot come.
    narrow: Vec<u32>,
    /// The first such place.
    conflict: Option<Conflict>,
}

impl Trouble {
    /// By terminal: whether it perhaps cannot come where it must.
    fn all(&self) -> Vec<bool> {
        let both = self.behind_lexemes.iter().zip(&self.behind_ignored);
        both.map(|(one, other)| *one || *other).collect()
    }
}

/// Lexemes that perhaps cannot come behind another, and the first such pair.
///
/// All terminals of a context are read side by side, so what is found holds wherever fewer may
/// come. Any other lexeme can follow each that may come before it, wherever that has ended: with a byte
/// that nothing which was begun takes, or with ignored text between them.
///
/// `None` if that is too much.
fn troubled(sets: &Sets<'_>, followers: &Followers, firsts: &Firsts) -> Option<Trouble> {
    let (cfg, lexer) = (sets.cfg, sets.lexer);
    let count = cfg.terminals.len();
    let mut places = Places {
        sets,
        firsts,
        bridges: HashMap::default(),
        ends: Bridges::new(sets),
        beginning: HashMap::default(),
        tests: 0,
    };
    let mut trouble = vec![false; count];
    let mut behind_ignored_text = vec![false; count];
    let mut narrow = Vec::new();
    let mut conflict = None;
    let mut found = |first: u32, second: u32, trouble: &mut Vec<bool>| {
        trouble[second as usize] = true;
        conflict = conflict.or(Some(Conflict { first, second }));
    };
    // A terminal that cannot come without being cut short is in trouble.
    for (context, firsts) in (0..).zip(&firsts.0) {
        for terminal in sets.contexts().terminals(context).iter() {
            if firsts[terminal as usize].is_some_and(|classes| classes.is_empty()) {
                found(terminal, terminal, &mut trouble);
            }
        }
    }
    let mut all_seconds = Seconds::new(sets, followers);
    let mut work = 0;
    for met in sets.contexts().met() {
        let done = std::mem::replace(&mut work, places.tests / STATES_OF_A_SET);
        sets.effort.take(work - done)?;
        if places.tests > MAX_PLACES {
            return None;
        }
        let mut beginning = None;
        for state in sets.ended(met.set) {
            let first = lexer.terminal[state as usize];
            // Behind the first end of a lexeme nothing else goes on.
            if cfg.terminals[first as usize].is_lazy {
                continue;
            }
            let is_ignored = cfg.is_ignored(first);
            let trouble = match is_ignored {
                true => &mut behind_ignored_text,
                false => &mut trouble,
            };
            let seconds = all_seconds.behind(first, met);
            places.tests += 1;
            let beginning = beginning.get_or_insert_with(|| places.beginning(met));
            for second in seconds.without(beginning) {
                places.tests += 1;
                if places.tests > MAX_PLACES {
                    return None;
                }
                let is_known = match is_ignored {
                    true => narrow.last() == Some(&state),
                    false => trouble[second as usize],
                };
                // A lexeme that ends where ignored text before it would is there without that.
                let needs_none = is_ignored && sets.ends(met.set, second);
                if (!is_known || !trouble[second as usize])
                    && !needs_none
                    && !places.goes_on((state, met.set), second, met.context)
                {
                    found(first, second, trouble);
                    narrow.extend(Some(state).filter(|_| is_ignored && !is_known));
                }
            }
        }
    }
    for (value, second) in places.behind_values(followers) {
        found(value, second, &mut trouble);
    }
    Some(Trouble {
        behind_lexemes: trouble,
        behind_ignored: behind_ignored_text,
        narrow,
        conflict,
    })
}

/// The classes with which terminals begin, by context: one stands for all where no lexeme is cut
/// short.
struct Firsts(Vec<Vec<Option<ClassSet>>>);

impl Firsts {
    /// `None` if that is too much.
    fn new(sets: &Sets<'_>) -> Option<Firsts> {
        let contexts = match sets.has_cuts {
            true => sets.contexts().len(),
            false => 1,
        };
        let mut pairs = 0;
        let of = |context| sets.firsts(context, &mut pairs);
        (0..contexts).map(of).collect::<Option<_>>().map(Firsts)
    }

    fn of(&self, context: u32) -> &[Option<ClassSet>] {
        let own = self.0.get(context as usize);
        own.unwrap_or(&self.0[0])
    }

    /// Tells whether a lexeme may begin in a context with one of some classes.
    #[inline]
    fn begins(&self, terminal: u32, free: &ClassSet, context: u32) -> bool {
        let classes = &self.of(context)[terminal as usize];
        classes.is_none_or(|classes| classes.meets(free))
    }
}

/// The places where a lexeme may come behind another.
struct Places<'a> {
    sets: &'a Sets<'a>,
    firsts: &'a Firsts,
    /// By lexeme and context: the classes with which ignored text begins that it may follow.
    bridges: HashMap<(u32, u32), ClassSet, FixedState>,
    ends: Bridges<'a>,
    /// By classes and context: the lexemes that begin there with one of these, or behind ignored text. Many sets leave the same
    /// free.
    beginning: HashMap<(ClassSet, u32), Rc<Bits>, FixedState>,
    /// The number of those that were looked at.
    tests: usize,
}

impl Places<'_> {
    /// Returns the JSON values behind which a lexeme perhaps cannot come, each with that lexeme: whatever was read
    /// beside a value may go on behind it.
    fn behind_values(&mut self, followers: &Followers) -> Vec<(u32, u32)> {
        let (sets, firsts) = (self.sets, self.firsts);
        let Followers { first, follow, .. } = followers;
        let mut pairs = Vec::new();
        for (value, terminal) in (0..).zip(&sets.cfg.terminals) {
            let Matter::Json(automaton) = &terminal.matter else {
                continue;
            };
            let mixes = sets.mixes(value, first, follow, firsts.of(0));
            let prolonging = json::prolonging(automaton);
            let is_free = |class: &usize| !mixes && !prolonging.contains(&sets.lexer.bytes[*class]);
            let free: ClassSet = (0..sets.width()).filter(is_free).collect();
            for second in follow[value as usize].iter() {
                if !self.firsts.begins(second, &free, 0) && !self.bridged(second, &free, 0) {
                    pairs.push((value, second));
                }
            }
        }
        pairs
    }

    /// Returns the lexemes that can begin behind a set that was met, some of them behind ignored text.
    fn beginning(&mut self, met: &Met) -> Rc<Bits> {
        let free = self.sets.free(met.set);
        if let Some(known) = self.beginning.get(&(*free, met.behind)) {
            return known.clone();
        }
        let count = self.sets.cfg.terminals.len();
        self.tests += count;
        let mut all = Bits::new(count);
        for one in 0..count as u32 {
            if self.firsts.begins(one, free, met.behind) || self.bridged(one, free, met.behind) {
                all.set(one);
            }
        }
        let all = Rc::new(all);
        self.beginning.insert((*free, met.behind), all.clone());
        all
    }

    /// Tells whether ignored text that begins with one of some classes can stand before a lexeme in
    /// a context.
    fn bridged(&mut self, second: u32, free: &ClassSet, context: u32) -> bool {
        let Some(between) = self.sets.ignored_before(second) else {
            return false;
        };
        if let Some(classes) = self.bridges.get(&(second, context)) {
            return classes.meets(free);
        }
        // Ignored text, too, may be cut short from some classes on.
        let first = self.firsts.of(context)[between as usize].unwrap_or_default();
        let mut classes = ClassSet::default();
        for end in self.ends.of(between, context) {
            if self.firsts.begins(second, &end.free, context) {
                classes.or(&end.classes.and(&first));
            }
        }
        self.bridges.insert((second, context), classes);
        classes.meets(free)
    }

    /// Tells whether a lexeme that began in a context and ended in a set lets one begin there, or goes
    /// on to another end that does.
    fn goes_on(&mut self, mut place: (u32, u32), second: u32, context: Option<u32>) -> bool {
        let sets = self.sets;
        let mut open = Vec::new();
        let mut seen: HashSet<(u32, u32), FixedState> = HashSet::default();
        loop {
            self.tests += 1;
            let (state, set) = place;
            let free = sets.free(set);
            if sets.lexer.accepting[state as usize] {
                let mut behind = sets.contexts().behind(context, set).iter();
                let mut comes = |&behind| {
                    self.firsts.begins(second, free, behind) || self.bridged(second, free, behind)
                };
                if behind.all(&mut comes) {
                    return true;
                }
            }
            // A lexeme that goes on might be cut short.
            if sets.has_cuts {
                return false;
            }
            seen.insert(place);
            let ways = sets.pairs_behind(state, set);
            open.extend(ways.filter(|&way| seen.insert(way)));
            match open.pop() {
                Some(next) => place = next,
                None => return false,
            }
        }
    }
}

/// Proves what can be finished by some bytes, whichever came before: as much as some effort is enough for.
pub(crate) fn prove(
    cfg: &Cfg,
    lexer: &Lexer,
    tables: &Tables,
    usable: ByteSet,
    effort: &Effort,
) -> Proof {
    let mut proof = Proof::without(cfg);
    // A lexeme that must be followed by something may come where nothing follows; and ignored text that
    // comes once may stand where it would have to come again.
    if lexer.has_open_ends || cfg.ignores_once.contains(&true) {
        return proof;
    }
    // Most need little of this, and the same again where more is told apart.
    let first = effort.another();
    let little = Task {
        cfg,
        lexer,
        usable,
        effort: &first,
    };
    let Some(sets) = Sets::new(little) else {
        if first.is_over() {
            effort.end();
        }
        return proof;
    };
    let all = Rc::new(followers(cfg));
    let targets = Targets::new(tables);
    proof.find(&sets, &all, &targets, Detail::States);
    if first.is_over() {
        effort.end();
    }
    if proof.is_whole || effort.is_over() {
        return proof;
    }
    let ways = WaysToTell::new(Task { effort, ..little }, tables, all, sets.len());
    match proof.told_apart(ways, &targets) {
        Some(better) if !effort.is_over() => better,
        _ => proof,
    }
}
