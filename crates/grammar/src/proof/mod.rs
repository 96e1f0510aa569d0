//! The proof that texts can be finished under greedy lexing, whatever was read before.
//!
//! For example, `start: /[a-z]+/ "x"` has none, because the name takes the `x`.

mod json;
mod narrow;
mod safe;
mod sets;

use std::collections::{HashMap, HashSet};

use foldhash::fast::FixedState;
use fsm_index::ByteSet;

use crate::compile::cfg::{Cfg, Matter, Symbol};
use crate::compile::lexer::Lexer;
use crate::compile::lr::Tables;

pub(crate) use self::narrow::Narrow;
use self::safe::safe;
use self::sets::{Bits, ClassSet, Sets};

/// The places that the proof looks at, because there may be one for each pair of terminals.
const MAX_PLACES: usize = 10_000_000;

/// The result of a proof.
#[derive(Debug, Default)]
pub(crate) struct Proof {
    /// True if every configuration can be finished.
    pub(crate) is_whole: bool,
    /// True if some lexemes end at their first end.
    pub(crate) has_lazy: bool,
    /// By state of the parser: whether every stack with it on top can be finished, where no ignored
    /// text is begun that is narrow.
    safe: Vec<bool>,
    /// The ignored text behind which some lexemes cannot come, if there is such text.
    narrow: Option<Narrow>,
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

    pub(crate) fn is_safe(&self, state: u32) -> bool {
        self.safe.get(state as usize).copied().unwrap_or(false)
    }

    /// Returns the ignored text behind which some lexemes cannot come, if there is such text.
    pub(crate) fn narrow(&self) -> Option<&Narrow> {
        self.narrow.as_ref()
    }
}

/// Two lexemes of which the second perhaps cannot come behind the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Conflict {
    pub(crate) first: u32,
    pub(crate) second: u32,
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

/// With which terminals the text may begin, and by terminal which may come next, ignored text
/// aside.
fn followers(cfg: &Cfg) -> (Bits, Vec<Bits>) {
    let count = cfg.terminals.len();
    let nullable = cfg.nullable();
    let is_empty = |symbol: &Symbol| {
        let rule = symbol.split().err();
        rule.is_some_and(|rule| nullable[rule as usize])
    };
    let (mut first, last) = edges(cfg, is_empty);
    let mut pairs: Vec<(Symbol, Symbol)> = Vec::new();
    for production in &cfg.productions {
        for (at, before) in production.right.iter().enumerate() {
            for behind in &production.right[at + 1..] {
                pairs.push((*before, *behind));
                if !is_empty(behind) {
                    break;
                }
            }
        }
    }
    pairs.sort_unstable();
    pairs.dedup();
    let mut follow = vec![Bits::new(count); count];
    for group in pairs.chunk_by(|a, b| a.0 == b.0) {
        let mut firsts = Bits::new(count);
        for (_, behind) in group {
            match behind.split() {
                Ok(terminal) => firsts.set(terminal),
                Err(rule) => {
                    firsts.or(&first[rule as usize]);
                }
            }
        }
        match group[0].0.split() {
            Ok(terminal) => {
                follow[terminal as usize].or(&firsts);
            }
            Err(rule) => {
                for terminal in last[rule as usize].iter() {
                    follow[terminal as usize].or(&firsts);
                }
            }
        }
    }
    let whole = cfg.productions[cfg.start].left;
    (first.swap_remove(whole as usize), follow)
}

/// By nonterminal: with which terminals its texts may begin, and with which they may end.
fn edges(cfg: &Cfg, is_empty: impl Fn(&Symbol) -> bool) -> (Vec<Bits>, Vec<Bits>) {
    let mut first = vec![Bits::new(cfg.terminals.len()); cfg.rules.len()];
    let mut last = first.clone();
    let edge = |sets: &mut Vec<Bits>, left: u32, symbol: &Symbol| match symbol.split() {
        Ok(terminal) => {
            let changed = !sets[left as usize].has(terminal);
            sets[left as usize].set(terminal);
            changed
        }
        Err(rule) => {
            let other = std::mem::take(&mut sets[rule as usize]);
            let changed = sets[left as usize].or(&other);
            sets[rule as usize] = other;
            changed
        }
    };
    // Inner nonterminals come first, so that most are complete at once.
    let by_left = cfg.by_left();
    let order = cfg.innermost_first(&by_left);
    let mut changed = true;
    while std::mem::take(&mut changed) {
        let ordered = order.iter().flat_map(|&rule| &by_left[rule as usize]);
        for production in ordered.map(|&production| &cfg.productions[production]) {
            for symbol in &production.right {
                changed |= edge(&mut first, production.left, symbol);
                if !is_empty(symbol) {
                    break;
                }
            }
            for symbol in production.right.iter().rev() {
                changed |= edge(&mut last, production.left, symbol);
                if !is_empty(symbol) {
                    break;
                }
            }
        }
    }
    (first, last)
}

/// Lexemes that perhaps cannot come behind another, and the first such pair.
///
/// All terminals are read side by side, so what is found holds wherever fewer may come. Any
/// other lexeme can follow each that may come before it, wherever that has ended: with a byte
/// that nothing which was begun takes, or with ignored text between them.
///
/// `None` if that is too much.
fn troubled(sets: &Sets<'_>, firsts: &[Option<ClassSet>]) -> Option<Trouble> {
    let (cfg, lexer) = (sets.cfg, sets.lexer);
    let count = cfg.terminals.len();
    let (first, follow) = followers(cfg);
    let mut places = Places {
        sets,
        firsts,
        bridges: HashMap::default(),
        ends: HashMap::default(),
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
    // A terminal that can come nowhere without being cut short is in trouble.
    for (terminal, classes) in (0..).zip(firsts) {
        if classes.is_some_and(|classes| classes.is_empty()) {
            found(terminal, terminal, &mut trouble);
        }
    }
    // Behind ignored text comes all that it may stand before.
    let mut behind_ignored: HashMap<u32, Bits, FixedState> = HashMap::default();
    for &first in cfg.ignored.iter().flatten() {
        let mut all = Bits::new(count);
        let others = (0..count as u32).filter(|&t| t != first && places.ignored(t) == Some(first));
        others.for_each(|terminal| all.set(terminal));
        behind_ignored.insert(first, all);
    }
    let behind = |first: u32| {
        behind_ignored
            .get(&first)
            .unwrap_or(&follow[first as usize])
    };
    for set in 1..sets.len() as u32 {
        for state in sets.ended(set) {
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
            for second in behind(first).iter() {
                places.tests += 1;
                if places.tests > MAX_PLACES {
                    return None;
                }
                let is_known = match is_ignored {
                    true => narrow.last() == Some(&state),
                    false => trouble[second as usize],
                };
                if (!is_known || !trouble[second as usize])
                    && !places.begins(second, sets.free(set))
                    && !places.goes_on((state, set), second)
                {
                    found(first, second, trouble);
                    narrow.extend(Some(state).filter(|_| is_ignored && !is_known));
                }
            }
        }
    }
    // Behind a JSON value whatever was read beside it may go on.
    for (value, terminal) in (0..).zip(&cfg.terminals) {
        let Matter::Json(automaton) = &terminal.matter else {
            continue;
        };
        let mixes = sets.mixes(value, &first, &follow, firsts);
        let prolonging = json::prolonging(automaton);
        let is_free = |class: &usize| !mixes && !prolonging.contains(&lexer.bytes[*class]);
        let free: ClassSet = (0..sets.width()).filter(is_free).collect();
        for second in behind(value).iter() {
            if !trouble[second as usize]
                && !places.begins(second, &free)
                && !places.bridged(second, &free)
            {
                found(value, second, &mut trouble);
            }
        }
    }
    Some(Trouble {
        behind_lexemes: trouble,
        behind_ignored: behind_ignored_text,
        narrow,
        conflict,
    })
}

/// The places where a lexeme may come behind another.
struct Places<'a> {
    sets: &'a Sets<'a>,
    firsts: &'a [Option<ClassSet>],
    /// By lexeme: the classes with which ignored text begins that it may follow.
    bridges: HashMap<u32, ClassSet, FixedState>,
    /// By ignored terminal: the classes with which it begins, each with those that are free
    /// behind some end.
    ends: HashMap<u32, Vec<(usize, ClassSet)>, FixedState>,
    /// The number of those that were looked at.
    tests: usize,
}

impl Places<'_> {
    fn ignored(&self, terminal: u32) -> Option<u32> {
        let cfg = self.sets.cfg;
        let own = &cfg.ignored[cfg.terminals[terminal as usize].domain as usize];
        // Under greedy lexing they are one.
        own.first().copied()
    }

    /// Tells whether a lexeme may begin with one of some classes.
    #[inline]
    fn begins(&self, terminal: u32, free: &ClassSet) -> bool {
        let classes = &self.firsts[terminal as usize];
        classes.is_none_or(|classes| classes.meets(free))
    }

    /// Tells whether ignored text that begins with one of some classes can stand before a lexeme.
    fn bridged(&mut self, second: u32, free: &ClassSet) -> bool {
        let Some(between) = self.ignored(second) else {
            return false;
        };
        if let Some(classes) = self.bridges.get(&second) {
            return classes.meets(free);
        }
        if !self.ends.contains_key(&between) {
            let first = self.firsts[between as usize].unwrap_or_default();
            let classes = (0..self.sets.width()).filter(|&class| first.has(class));
            let ends = classes.filter_map(|class| Some((class, self.end_of(class, between)?)));
            self.ends.insert(between, ends.collect());
        }
        let ends = self.ends[&between].iter();
        let ends = ends.filter(|(_, free)| self.begins(second, free));
        let classes: ClassSet = ends.map(|end| end.0).collect();
        self.bridges.insert(second, classes);
        classes.meets(free)
    }

    /// The classes that nothing takes behind some end of ignored text that begins with a class;
    /// nothing if it has no end.
    fn end_of(&self, class: usize, between: u32) -> Option<ClassSet> {
        let sets = self.sets;
        let start = (sets.lexer.starts[between as usize], 0);
        let mut open: Vec<(u32, u32)> = sets.pair_behind(start, class).into_iter().collect();
        let mut seen: HashSet<(u32, u32), FixedState> = open.iter().copied().collect();
        let mut end = None;
        while let Some((state, set)) = open.pop() {
            if sets.lexer.accepting[state as usize] {
                end.get_or_insert(ClassSet::default()).or(sets.free(set));
            }
            if !sets.cuts(set) {
                let ways = (0..sets.width()).filter_map(|at| sets.pair_behind((state, set), at));
                open.extend(ways.filter(|&way| seen.insert(way)));
            }
        }
        end
    }

    /// Tells whether a lexeme that ended in a set lets one begin there, or goes on to another end
    /// that does.
    fn goes_on(&mut self, mut place: (u32, u32), second: u32) -> bool {
        let sets = self.sets;
        let mut open = Vec::new();
        let mut seen: HashSet<(u32, u32), FixedState> = HashSet::default();
        loop {
            self.tests += 1;
            let (state, set) = place;
            let free = sets.free(set);
            if sets.lexer.accepting[state as usize]
                && (self.begins(second, free) || self.bridged(second, free))
            {
                return true;
            }
            // A lexeme that goes on might be cut short.
            if sets.has_cuts {
                return false;
            }
            seen.insert(place);
            let ways = (0..sets.width()).filter_map(|at| sets.pair_behind(place, at));
            open.extend(ways.filter(|&way| seen.insert(way)));
            match open.pop() {
                Some(next) => place = next,
                None => return false,
            }
        }
    }
}

/// Proves what can be finished by some bytes, whichever came before.
pub(crate) fn prove(cfg: &Cfg, lexer: &Lexer, tables: &Tables, usable: ByteSet) -> Proof {
    let mut proof = Proof::without(cfg);
    // A lexeme that must be followed by something may come where nothing follows.
    let sets = match lexer.has_open_ends {
        true => None,
        false => Sets::new(cfg, lexer, usable),
    };
    let Some(sets) = sets else {
        return proof;
    };
    let Some(firsts) = sets.firsts() else {
        return proof;
    };
    let Some(trouble) = troubled(&sets, &firsts) else {
        return proof;
    };
    let all = trouble.all();
    proof.is_whole = !all.contains(&true);
    proof.conflict = trouble.conflict;
    if proof.is_whole {
        return proof;
    }
    proof.safe = safe(cfg, tables, &all);
    // Whatever has begun leads to a state, and each of them will do.
    proof.is_whole = !proof.safe.contains(&false);
    if proof.is_whole {
        return proof;
    }
    // A way to the end need not take ignored text behind which little can come.
    if let Some(narrow) = Narrow::new(&sets, &firsts, &trouble.narrow) {
        proof.safe = safe(cfg, tables, &trouble.behind_lexemes);
        proof.narrow = Some(narrow);
    }
    proof
}

/// The same where every split counts: nothing has to be proved but that each lexeme can come
/// behind ignored text that goes as far as it can, or behind more of that.
pub(crate) fn prove_guards(cfg: &Cfg, lexer: &Lexer, tables: &Tables) -> Proof {
    let mut proof = Proof::without(cfg);
    proof.is_whole = true;
    let count = lexer.guard_count();
    if count == 0 {
        return proof;
    }
    let starts = || (0..).zip(&lexer.starts).filter(|start| *start.1 != 0);
    // By guard, the guards behind ignored text that comes under it: with its domain.
    let mut bridges: Vec<Vec<(u32, u32)>> = vec![Vec::new(); count as usize + 1];
    for guard in 1..=count {
        for (terminal, &start) in starts().filter(|start| cfg.is_ignored(start.0)) {
            let domain = cfg.terminals[terminal as usize].domain;
            let mut open = vec![lexer.start_under(start, guard)];
            let mut seen: HashSet<u32, FixedState> = open.iter().copied().collect();
            while let Some(state) = open.pop() {
                if lexer.accepting[state as usize] {
                    bridges[guard as usize].push((domain, lexer.guards[state as usize]));
                }
                let to = lexer.row(state).iter().filter(|to| **to != 0);
                open.extend(to.filter(|to| seen.insert(**to)));
            }
        }
        bridges[guard as usize].sort_unstable();
        bridges[guard as usize].dedup();
    }
    let mut trouble = vec![false; cfg.terminals.len()];
    for (terminal, &start) in starts().filter(|start| !cfg.is_ignored(start.0)) {
        let domain = cfg.terminals[terminal as usize].domain;
        let mut can: Vec<bool> = (0..=count)
            .map(|g| lexer.start_under(start, g) != 0)
            .collect();
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for guard in 1..=count as usize {
                let leads = |way: &(u32, u32)| way.0 == domain && can[way.1 as usize];
                if !can[guard] && bridges[guard].iter().any(leads) {
                    can[guard] = true;
                    changed = true;
                }
            }
        }
        trouble[terminal as usize] = can.contains(&false);
    }
    proof.is_whole = !trouble.contains(&true);
    if !proof.is_whole {
        proof.safe = safe(cfg, tables, &trouble);
        proof.is_whole = !proof.safe.contains(&false);
    }
    proof
}
