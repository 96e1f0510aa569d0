//! What can be finished under greedy lexing, whatever was read before.

use std::cell::Cell;
use std::collections::{BTreeSet, HashMap, HashSet};

use schema_regex::automaton::SchemaAutomaton;

use super::json;
use crate::cfg::{Cfg, Matter, Symbol};
use crate::lexer::Lexer;
use crate::lr::Tables;

/// Where the proof's sets of states lead, in classes of bytes: some ten thousand keywords have
/// a million.
const MAX_CELLS: usize = 4_000_000;

/// Steps of states that are taken to find them.
const MAX_STEPS: usize = 50_000_000;

/// Places that the proof looks at, to see whether a lexeme may follow another there.
const MAX_PLACES: usize = 10_000_000;

/// Pairs of states that the proof looks at for lexemes that may be cut short.
const MAX_PAIRS: usize = 200_000;

/// What was proved.
#[derive(Debug, Default)]
pub(crate) struct Proof {
    /// Whether every configuration can be finished.
    pub(crate) is_whole: bool,
    /// Whether some lexemes end at their first end.
    pub(crate) has_lazy: bool,
    /// By state of the parser: whether every stack with it on top can be finished.
    safe: Vec<bool>,
    /// Two lexemes of which the second perhaps cannot come behind the first.
    pub(crate) conflict: Option<Conflict>,
}

impl Proof {
    /// Where every split counts: nothing has to be proved.
    pub(crate) fn without(cfg: &Cfg) -> Proof {
        Proof {
            has_lazy: cfg.terminals.iter().any(|terminal| terminal.is_lazy),
            ..Proof::default()
        }
    }

    pub(crate) fn is_safe(&self, state: u32) -> bool {
        self.safe.get(state as usize).copied().unwrap_or(false)
    }
}

/// Two lexemes of which the second perhaps cannot come behind the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Conflict {
    pub(crate) first: u32,
    pub(crate) second: u32,
}

/// By terminal: whether it perhaps cannot come where it must; and the first such place.
type Trouble = (Vec<bool>, Option<Conflict>);

/// A set of terminals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bits(Vec<u64>);

impl Bits {
    pub(super) fn new(len: usize) -> Bits {
        Bits(vec![0; len.div_ceil(64)])
    }

    pub(super) fn has(&self, at: u32) -> bool {
        self.0[at as usize / 64] >> (at % 64) & 1 == 1
    }

    pub(super) fn set(&mut self, at: u32) {
        self.0[at as usize / 64] |= 1 << (at % 64);
    }

    /// Those in the set, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.0).flat_map(|(at, &word)| {
            let bits = std::iter::successors(Some(word), |left| Some(left & left.wrapping_sub(1)));
            let bits = bits.take_while(|left| *left != 0);
            bits.map(move |left| at * 64 + left.trailing_zeros())
        })
    }

    /// Whether that changed anything.
    pub(super) fn or(&mut self, other: &Bits) -> bool {
        let mut changed = false;
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            changed |= *other & !*own != 0;
            *own |= other;
        }
        changed
    }
}

/// With which terminals the text may begin, and by terminal which may come next, ignored text
/// aside.
fn followers(cfg: &Cfg) -> (Bits, Vec<Bits>) {
    let count = cfg.terminals.len();
    let nullable = cfg.nullable();
    let mut first = vec![Bits::new(count); cfg.rules.len()];
    let mut last = first.clone();
    let is_empty = |symbol: &Symbol| {
        symbol
            .split()
            .err()
            .is_some_and(|rule| nullable[rule as usize])
    };
    let edge = |sets: &mut Vec<Bits>, left: u32, symbol: &Symbol| match symbol.split() {
        Ok(terminal) => {
            let changed = !sets[left as usize].has(terminal);
            sets[left as usize].set(terminal);
            changed
        }
        Err(rule) => {
            let other = sets[rule as usize].clone();
            sets[left as usize].or(&other)
        }
    };
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for production in &cfg.productions {
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
    let mut follow = vec![Bits::new(count); count];
    let mut pairs: BTreeSet<(Symbol, Symbol)> = BTreeSet::new();
    for production in &cfg.productions {
        for (at, before) in production.right.iter().enumerate() {
            for behind in &production.right[at + 1..] {
                pairs.insert((*before, *behind));
                if !is_empty(behind) {
                    break;
                }
            }
        }
    }
    for (before, behind) in pairs {
        let of = |sets: &[Bits], symbol: Symbol| match symbol.split() {
            Ok(terminal) => {
                let mut one = Bits::new(count);
                one.set(terminal);
                one
            }
            Err(rule) => sets[rule as usize].clone(),
        };
        let (lasts, firsts) = (of(&last, before), of(&first, behind));
        for terminal in (0..count as u32).filter(|&t| lasts.has(t)) {
            follow[terminal as usize].or(&firsts);
        }
    }
    let whole = cfg.productions[cfg.start].left;
    (first.swap_remove(whole as usize), follow)
}

/// The states of all terminals side by side, as far as texts lead.
pub(super) struct Sets<'a> {
    pub(super) cfg: &'a Cfg,
    pub(super) lexer: &'a Lexer,
    /// States, ascending, and whether a JSON value may be read beside them.
    pub(super) all: Vec<(Vec<u32>, bool)>,
    next: Vec<Vec<usize>>,
    /// By set: whether a lexeme ends there whatever comes, and which.
    cuts: Vec<bool>,
}

const NOWHERE: usize = usize::MAX;

impl<'a> Sets<'a> {
    /// `None` if there are too many.
    fn new(cfg: &'a Cfg, lexer: &'a Lexer) -> Option<Sets<'a>> {
        let width = lexer.width();
        let starts = lexer.starts.iter().copied();
        let all: Vec<u32> = starts.filter(|&start| start != 0).collect();
        let automata: Vec<&SchemaAutomaton> = cfg
            .terminals
            .iter()
            .filter_map(|terminal| match &terminal.matter {
                Matter::Json(automaton) => Some(&**automaton),
                _ => None,
            })
            .collect();
        let begins_json = |byte| automata.iter().any(|one| json::begins(one, byte));
        let begins_json: Vec<bool> = lexer.bytes.iter().copied().map(begins_json).collect();
        let first = (all, !automata.is_empty());
        let mut ids: HashMap<(Vec<u32>, bool), usize> = HashMap::from([(first.clone(), 0)]);
        let mut sets = vec![first];
        let mut next: Vec<Vec<usize>> = Vec::new();
        let mut steps = 0usize;
        while next.len() < sets.len() {
            let at = next.len();
            let (set, json) = sets[at].clone();
            let mut row = vec![NOWHERE; width];
            for (class, place) in row.iter_mut().enumerate() {
                let steps = set.iter().map(|&state| lexer.step(state, class as u8));
                let mut to: Vec<u32> = steps.filter(|&state| state != 0).collect();
                let json = json && (at != 0 || begins_json[class]);
                // JSON alone is not told apart.
                if to.is_empty() {
                    continue;
                }
                to.sort_unstable();
                to.dedup();
                let number = sets.len();
                let to = (to, json);
                *place = *ids.entry(to).or_insert_with_key(|to| {
                    sets.push(to.clone());
                    number
                });
            }
            steps += set.len() * width;
            next.push(row);
            if sets.len() * width > MAX_CELLS || steps > MAX_STEPS {
                return None;
            }
        }
        let lazy = |state: &u32| {
            lexer.accepting[*state as usize]
                && cfg.terminals[lexer.terminal[*state as usize] as usize].is_lazy
        };
        let cuts = sets.iter().map(|set| set.0.iter().any(lazy)).collect();
        Some(Sets {
            cfg,
            lexer,
            all: sets,
            next,
            cuts,
        })
    }

    fn width(&self) -> usize {
        self.lexer.width()
    }

    /// Whether something that stands in a set perhaps takes a class.
    fn takes(&self, set: usize, class: usize) -> bool {
        self.next[set][class] != NOWHERE || self.all[set].1
    }

    /// By terminal and class: whether the terminal may begin with it and come to its end.
    /// Nothing for special tokens, which begin with none. `None` if that is too much.
    fn firsts(&self) -> Option<Vec<Option<Vec<bool>>>> {
        let mut pairs = 0;
        let terminals = self.cfg.terminals.iter().zip(&self.lexer.starts);
        terminals
            .map(|(terminal, &start)| match &terminal.matter {
                Matter::Special(_) => Some(None),
                Matter::Json(automaton) => {
                    let bytes = self.lexer.bytes.iter();
                    let begins = bytes.map(|&byte| json::begins(automaton, byte));
                    Some(Some(begins.collect()))
                }
                Matter::Table(_) => {
                    // Most classes lead to the same.
                    let mut known: HashMap<(u32, usize), bool> = HashMap::new();
                    let classes = (0..self.width()).map(|class| {
                        let first = self.pair_behind((start, 0), class);
                        first.is_some_and(|first| {
                            let search = || self.ends_in_time(first, terminal.is_lazy, &mut pairs);
                            *known.entry(first).or_insert_with(search)
                        })
                    });
                    let classes: Vec<bool> = classes.collect();
                    (pairs < MAX_PAIRS).then_some(Some(classes))
                }
            })
            .collect()
    }

    /// Where a class leads from a state of a terminal and the set that it is in.
    fn pair_behind(&self, (state, set): (u32, usize), class: usize) -> Option<(u32, usize)> {
        let state = self.lexer.step(state, class as u8);
        (state != 0).then(|| (state, self.next[set][class]))
    }

    /// Whether a terminal comes from a state to its end, and no lexeme cuts it short which ends
    /// at its first end.
    fn ends_in_time(&self, first: (u32, usize), is_lazy: bool, pairs: &mut usize) -> bool {
        if !self.cuts.contains(&true) {
            return true;
        }
        let mut open = vec![first];
        let mut seen: HashSet<(u32, usize)> = HashSet::from([first]);
        while let Some((state, set)) = open.pop() {
            *pairs += 1;
            if *pairs > MAX_PAIRS {
                return false;
            }
            match (self.lexer.accepting[state as usize], self.cuts[set]) {
                (true, cut) if cut == is_lazy => return true,
                (_, true) => {}
                (_, false) => {
                    let classes = 0..self.width();
                    let ways = classes.filter_map(|class| self.pair_behind((state, set), class));
                    open.extend(ways.filter(|&way| seen.insert(way)));
                }
            }
        }
        false
    }
}

/// Lexemes that perhaps cannot come behind another, and the first such pair.
///
/// All terminals are read side by side, so what is found holds wherever fewer may come. Any
/// other lexeme can follow each that may come before it, wherever that has ended: with a byte
/// that nothing which was begun takes, or with ignored text between them.
///
/// `None` if that is too much.
fn troubled(sets: &Sets<'_>, firsts: &[Option<Vec<bool>>]) -> Option<Trouble> {
    let (cfg, lexer) = (sets.cfg, sets.lexer);
    let count = cfg.terminals.len() as u32;
    let width = sets.width();
    let (first, follow) = followers(cfg);
    let ignored = |terminal: u32| cfg.ignored[cfg.terminals[terminal as usize].domain as usize];
    let begins = |terminal: u32, set: usize| match &firsts[terminal as usize] {
        None => true,
        Some(classes) => (0..width).any(|class| classes[class] && !sets.takes(set, class)),
    };
    let ends = |set: usize, terminal: u32| {
        sets.all[set]
            .0
            .iter()
            .any(|&s| lexer.accepting[s as usize] && lexer.terminal[s as usize] == terminal)
    };
    let mut trouble = vec![false; count as usize];
    let mut conflict = None;
    // What can come nowhere without being cut short.
    for (terminal, classes) in (0..).zip(firsts) {
        if classes
            .as_ref()
            .is_some_and(|classes| !classes.contains(&true))
        {
            trouble[terminal as usize] = true;
            conflict = conflict.or(Some(Conflict {
                first: terminal,
                second: terminal,
            }));
        }
    }
    // By a lexeme: the classes with which ignored text begins that it may follow.
    let mut bridges: HashMap<u32, Vec<usize>> = HashMap::new();
    // Whether ignored text can stand between what takes some classes and a lexeme.
    let mut bridged = |second: u32, takes: &dyn Fn(usize) -> bool| {
        ignored(second).is_some_and(|between| {
            let classes = bridges.entry(second).or_insert_with(|| {
                let Some(classes) = &firsts[between as usize] else {
                    return Vec::new();
                };
                let leads = |class: &usize| {
                    let mut open = vec![sets.next[0][*class]];
                    let mut seen: BTreeSet<usize> = open.iter().copied().collect();
                    while let Some(at) = open.pop() {
                        if ends(at, between) && begins(second, at) {
                            return true;
                        }
                        if sets.cuts[at] {
                            continue;
                        }
                        let on = sets.next[at].iter().filter(|&&to| to != NOWHERE);
                        open.extend(on.filter(|&&to| seen.insert(to)));
                    }
                    false
                };
                (0..width)
                    .filter(|&class| classes[class])
                    .filter(leads)
                    .collect()
            });
            classes.iter().any(|&class| !takes(class))
        })
    };
    let tests = Cell::new(0);
    // Whether a lexeme that ended in a set may go on to another end that lets one begin.
    let mut goes_on = |state: u32, set: usize, second: u32| {
        let is_lazy = sets.cuts.contains(&true);
        let mut open = vec![(state, set)];
        let mut seen: HashSet<(u32, usize)> = open.iter().copied().collect();
        while let Some((state, set)) = open.pop() {
            tests.set(tests.get() + 1);
            if lexer.accepting[state as usize]
                && (begins(second, set) || bridged(second, &|class| sets.takes(set, class)))
            {
                return true;
            }
            // What goes on might be cut short.
            if is_lazy {
                return false;
            }
            for class in 0..width {
                let to = lexer.step(state, class as u8);
                if to != 0 && seen.insert((to, sets.next[set][class])) {
                    open.push((to, sets.next[set][class]));
                }
            }
        }
        false
    };
    let behind = |first: u32| {
        let is_ignored = cfg.ignored.contains(&Some(first));
        let follow = &follow;
        let all = (0..if is_ignored { count } else { 0 })
            .filter(move |&t| ignored(t) == Some(first) && t != first);
        let followers = (!is_ignored).then(|| follow[first as usize].iter());
        all.chain(followers.into_iter().flatten())
    };
    for (number, set) in sets.all.iter().enumerate().skip(1) {
        for &state in set
            .0
            .iter()
            .filter(|&&state| lexer.accepting[state as usize])
        {
            let first = lexer.terminal[state as usize];
            // Behind the first end of a lexeme nothing else goes on.
            if cfg.terminals[first as usize].is_lazy {
                continue;
            }
            for second in behind(first) {
                tests.set(tests.get() + 1);
                if tests.get() > MAX_PLACES {
                    return None;
                }
                if !trouble[second as usize]
                    && !begins(second, number)
                    && !goes_on(state, number, second)
                {
                    trouble[second as usize] = true;
                    conflict = conflict.or(Some(Conflict { first, second }));
                }
            }
        }
    }
    // Behind a JSON value whatever was read beside it may go on.
    let all = (0..).zip(&cfg.terminals);
    let json = all.filter_map(|(number, terminal)| match &terminal.matter {
        Matter::Json(automaton) => Some((number, automaton)),
        _ => None,
    });
    for (value, automaton) in json {
        let mixes = sets.mixes(value, &first, &follow, firsts);
        let prolonging = json::prolonging(automaton);
        let takes = |class: usize| mixes || prolonging.contains(&lexer.bytes[class]);
        for second in behind(value) {
            let begins_here = match &firsts[second as usize] {
                None => true,
                Some(classes) => (0..width).any(|class| classes[class] && !takes(class)),
            };
            if !trouble[second as usize] && !begins_here && !bridged(second, &takes) {
                trouble[second as usize] = true;
                conflict = conflict.or(Some(Conflict {
                    first: value,
                    second,
                }));
            }
        }
    }
    Some((trouble, conflict))
}

/// Proves what can be finished.
pub(crate) fn prove(cfg: &Cfg, lexer: &Lexer, tables: &Tables) -> Proof {
    let mut proof = Proof::without(cfg);
    let Some(sets) = Sets::new(cfg, lexer) else {
        return proof;
    };
    let Some(firsts) = sets.firsts() else {
        return proof;
    };
    let Some((trouble, conflict)) = troubled(&sets, &firsts) else {
        return proof;
    };
    proof.is_whole = !trouble.contains(&true);
    proof.conflict = conflict;
    if !proof.is_whole {
        proof.safe = safe(cfg, tables, &trouble);
        // Whatever has begun leads to a state, and each of them will do.
        proof.is_whole = !proof.safe.contains(&false);
    }
    proof
}

/// Which nonterminals derive a text without some terminals.
fn derives_without(cfg: &Cfg, trouble: &[bool]) -> Vec<bool> {
    let mut derives = vec![false; cfg.rules.len()];
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for production in &cfg.productions {
            if !derives[production.left as usize]
                && production.right.iter().all(|symbol| match symbol.split() {
                    Ok(terminal) => !trouble[terminal as usize],
                    Err(rule) => derives[rule as usize],
                })
            {
                derives[production.left as usize] = true;
                changed = true;
            }
        }
    }
    derives
}

/// By state of the parser: whether every stack with it on top can be finished without the
/// troubled terminals, which is always open.
///
/// Finishing what a state has begun leads to a lower place of the stack if more than one
/// symbol of it is held; else to a state at the same place, which must be nearer to a lower
/// one. Where it leads to is looked up in all states that can be below.
fn safe(cfg: &Cfg, tables: &Tables, trouble: &[bool]) -> Vec<bool> {
    let derives = derives_without(cfg, trouble);
    let is_open = |symbol: &Symbol| match symbol.split() {
        Ok(terminal) => !trouble[terminal as usize],
        Err(rule) => derives[rule as usize],
    };
    let mut before: Vec<Vec<u32>> = vec![Vec::new(); tables.states.len()];
    for (number, state) in (0..).zip(&tables.states) {
        for &(_, to) in state.shifts.iter().chain(&state.gotos) {
            before[to as usize].push(number);
        }
    }
    // By state: what can be finished there, as whether that leads lower and where to; nowhere
    // means the end.
    let mut ways: Vec<Vec<(bool, Vec<u32>)>> = Vec::with_capacity(tables.states.len());
    for (number, state) in (0..).zip(&tables.states) {
        let open = state.finishes.iter().filter(|finish| {
            let right = &tables.rights[finish.production as usize];
            right[usize::from(finish.dot)..].iter().all(is_open)
        });
        let mut own = Vec::new();
        for finish in open {
            if finish.rule == tables.whole {
                own.push((true, Vec::new()));
                continue;
            }
            let mut bases = vec![number];
            for _ in 0..finish.held {
                let below = bases.iter().flat_map(|&at| &before[at as usize]);
                bases = below.copied().collect();
                bases.sort_unstable();
                bases.dedup();
            }
            let to = bases.iter().filter_map(|&base| {
                let base: &crate::lr::State = &tables.states[base as usize];
                base.goto(finish.rule)
            });
            let mut to: Vec<u32> = to.collect();
            to.sort_unstable();
            to.dedup();
            own.push((finish.held > 1, to));
        }
        ways.push(own);
    }
    let mut safe = vec![true; tables.states.len()];
    loop {
        let all_in = |set: &[bool], to: &[u32]| to.iter().all(|&to| set[to as usize]);
        let is_first = |state: usize| {
            let ends = |(lower, to): &(bool, Vec<u32>)| *lower && all_in(&safe, to);
            safe[state] && (tables.states[state].accepts || ways[state].iter().any(ends))
        };
        let mut good: Vec<bool> = (0..safe.len()).map(is_first).collect();
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for state in 0..safe.len() {
                if safe[state]
                    && !good[state]
                    && ways[state].iter().any(|way| all_in(&good, &way.1))
                {
                    good[state] = true;
                    changed = true;
                }
            }
        }
        if good == safe {
            return safe;
        }
        safe = good;
    }
}
