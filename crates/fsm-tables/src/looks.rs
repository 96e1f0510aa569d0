//! Automata that look around: ahead, behind, for a match or for none.
//!
//! For example `(?!ab)[a-z]*` reads `[a-z]*`, and beside it follows `ab` from the first place
//! on, which must not be found. A state of the deterministic automaton is a formula over
//! states of the nondeterministic one, as in alternating automata (Chandra, Kozen and
//! Stockmeyer, "Alternation", 1981): it is an "or" of threads, each of them a state and what
//! else must and must not hold of the rest of the text, which are formulas again. The
//! expression of a look-behind runs from every place beside that, so what it has found is
//! known at each place. Formulas are numbered, those inside of others first, so nothing here
//! calls itself, however deep looks nest.

use std::cmp::Reverse;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::absorbing::Absorbing;
use crate::costs::{SUBSET_BYTES, SUBSET_STEPS, TARGET_STEPS};
use crate::{Look, MATCH, Meter, NONE, Nfa, NfaId, SetId, State, Table};

/// The place of a thread that has found what it looked for, whatever follows.
const DONE: NfaId = NfaId::MAX;

/// The place of a thread that waits for one symbol, whichever it is: there must be none
/// where the text has to end.
const ANY: NfaId = NfaId::MAX - 1;

type FormulaId = u32;

/// The formula without threads. It has the number 0, because it is made first.
const FALSE: FormulaId = 0;

/// The formula of a thread that is done and owes nothing. It has the number 1, because it is made
/// second.
const TRUE: FormulaId = 1;

/// A way to go on.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Thread {
    at: NfaId,
    /// All of these must hold of the rest of the text. Sorted, neither [`TRUE`] nor [`FALSE`].
    must: Vec<FormulaId>,
    /// This must not hold: several that must not are the one "or" of them.
    not: FormulaId,
}

impl Thread {
    fn at(at: NfaId) -> Thread {
        Thread {
            at,
            must: Vec::new(),
            not: FALSE,
        }
    }

    fn is_free(&self) -> bool {
        self.must.is_empty() && self.not == FALSE
    }

    /// Says whether this one holds wherever another one at the same place does.
    fn is_weaker(&self, other: &Thread) -> bool {
        let mut theirs = other.must.iter();
        let has = |mine: &FormulaId| theirs.any(|f| f == mine);
        (self.not == FALSE || self.not == other.not) && self.must.iter().all(has)
    }
}

/// A formula that was met.
struct Known {
    /// Any of these: sorted, none behind a weaker one.
    threads: Rc<[Thread]>,
    /// All formulas inside, ascending.
    inside: Rc<[FormulaId]>,
    /// Says whether it holds of the empty rest.
    ends: bool,
}

/// The facts at one place of a text.
struct Position {
    is_start: bool,
    /// By look, whether the expression has a match that begins, or ends, here.
    truth: Vec<FormulaId>,
}

struct Formulas<'n> {
    nfa: &'n Nfa,
    known: Vec<Known>,
    ids: FxHashMap<Rc<[Thread]>, FormulaId>,
    /// By look ahead what it says at each place but the first, where that is always the same.
    always: Vec<Option<FormulaId>>,
    absorbing: Absorbing,
}

impl<'n> Formulas<'n> {
    fn new<M: Meter>(
        nfa: &'n Nfa,
        members: &[Vec<u32>],
        meter: &mut M,
    ) -> Result<Formulas<'n>, M::Error> {
        meter.hold(nfa.looks.len() * 8)?;
        let mut all = Formulas {
            nfa,
            known: Vec::new(),
            ids: FxHashMap::default(),
            always: vec![None; nfa.looks.len()],
            absorbing: Absorbing::new(nfa, members, meter)?,
        };
        all.number(Vec::new(), meter)?;
        all.number(vec![Thread::at(DONE)], meter)?;
        let mut position = Position {
            is_start: false,
            truth: vec![NONE; nfa.looks.len()],
        };
        for (look, (kind, begin)) in nfa.looks.iter().enumerate() {
            if !kind.is_behind()
                && let Some(threads) = all.reached(vec![Thread::at(*begin)], &position, meter)?
            {
                let formula = all.any_of(threads, meter)?;
                all.always[look] = Some(formula);
                position.truth[look] = formula;
            }
        }
        Ok(all)
    }

    /// The number of a formula that is in its least form.
    fn number<M: Meter>(
        &mut self,
        threads: Vec<Thread>,
        meter: &mut M,
    ) -> Result<FormulaId, M::Error> {
        meter.work(SUBSET_STEPS + threads.len())?;
        if let Some(&known) = self.ids.get(&threads[..]) {
            return Ok(known);
        }
        let mut inside: Vec<FormulaId> = Vec::new();
        let mut ends = false;
        for thread in &threads {
            let not = Some(thread.not).filter(|not| *not != FALSE);
            for formula in thread.must.iter().copied().chain(not) {
                inside.extend(&*self.known[formula as usize].inside);
                inside.push(formula);
            }
            let holds = |formula: &FormulaId| self.known[*formula as usize].ends;
            ends |= (thread.at == MATCH || thread.at == DONE)
                && thread.must.iter().all(holds)
                && (thread.not == FALSE || !holds(&thread.not));
        }
        inside.sort_unstable();
        inside.dedup();
        meter.work(inside.len())?;
        let bytes = threads
            .iter()
            .map(|t| size_of::<Thread>() + t.must.len() * 4);
        meter.hold(bytes.sum::<usize>() + inside.len() * 4 + SUBSET_BYTES)?;
        let id = self.known.len() as FormulaId;
        let threads: Rc<[Thread]> = threads.into();
        self.ids.insert(Rc::clone(&threads), id);
        self.known.push(Known {
            threads,
            inside: inside.into(),
            ends,
        });
        Ok(id)
    }

    /// The formula of any of some threads.
    fn any_of<M: Meter>(
        &mut self,
        mut threads: Vec<Thread>,
        meter: &mut M,
    ) -> Result<FormulaId, M::Error> {
        // The fewer it owes, the earlier it comes.
        threads.sort_unstable_by(|a, b| {
            let key = |t: &Thread| (t.at, t.must.len());
            key(a).cmp(&key(b)).then_with(|| a.cmp(b))
        });
        threads.dedup();
        if threads.last().is_some_and(|t| t.at == DONE) {
            let done = threads.partition_point(|t| t.at < DONE);
            if threads[done].is_free() {
                return Ok(TRUE);
            }
            // Nothing but one formula is that formula.
            if let [one] = &threads[..]
                && let ([formula], FALSE) = (&one.must[..], one.not)
            {
                return Ok(*formula);
            }
        }
        self.leave_out(&mut threads, meter)?;
        if threads.iter().any(|t| !t.is_free()) {
            let mut kept: Vec<Thread> = Vec::with_capacity(threads.len());
            let mut from = 0;
            let done = threads.partition_point(|t| t.at < DONE);
            for thread in &threads {
                if kept.last().is_some_and(|t| t.at != thread.at) {
                    from = kept.len();
                }
                let others = match thread.at {
                    DONE => &[][..],
                    _ => &threads[done..],
                };
                meter.work(1 + kept.len() - from + others.len())?;
                let mut weaker = kept[from..].iter().chain(others);
                if !weaker.any(|t| t.is_weaker(thread)) {
                    kept.push(thread.clone());
                }
            }
            threads = kept;
        }
        self.number(threads, meter)
    }

    /// Leaves out threads beside a loop that admits all that they do, and those in a copy of a
    /// repeated part of which another copy admits more for a thread that owes no more.
    fn leave_out<M: Meter>(
        &self,
        threads: &mut Vec<Thread>,
        meter: &mut M,
    ) -> Result<(), M::Error> {
        for loops in self.absorbing.each() {
            meter.work(1 + threads.len() / 4)?;
            if threads.iter().any(|t| t.is_free() && loops.is_one(t.at)) {
                threads.retain(|thread| !loops.admits(thread.at));
                let first = Thread::at(loops.first());
                let place = threads.partition_point(|thread| thread.at < first.at);
                threads.insert(place, first);
            }
        }
        if self.nfa.places.count() == 0 {
            return Ok(());
        }
        meter.work(threads.len())?;
        let places = threads.iter().enumerate().filter_map(|(at, thread)| {
            let (place, rank) = self.nfa.places.of(thread.at)?;
            Some((place, Reverse(rank), at))
        });
        let mut places: Vec<(u32, Reverse<u32>, usize)> = places.collect();
        places.sort_unstable();
        let mut is_less = vec![false; threads.len()];
        for of_place in places.chunk_by(|a, b| a.0 == b.0) {
            let mut kept: Vec<usize> = Vec::new();
            for (_, _, at) in of_place {
                meter.work(1 + kept.len())?;
                let mut more = kept.iter().map(|more| &threads[*more]);
                match more.any(|more| more.is_weaker(&threads[*at])) {
                    true => is_less[*at] = true,
                    false => kept.push(*at),
                }
            }
        }
        let mut is_less = is_less.into_iter();
        threads.retain(|_| is_less.next() == Some(false));
        Ok(())
    }

    /// A thread that owes what a look says, `None` where that cannot hold.
    fn owing<M: Meter>(
        &mut self,
        mut thread: Thread,
        formula: FormulaId,
        look: Look,
        meter: &mut M,
    ) -> Result<Option<Thread>, M::Error> {
        match (look.is_negative(), formula) {
            (false, TRUE) | (true, FALSE) => {}
            (false, FALSE) | (true, TRUE) => return Ok(None),
            (false, _) => {
                if let Err(at) = thread.must.binary_search(&formula) {
                    thread.must.insert(at, formula);
                }
            }
            (true, _) if thread.not == FALSE => thread.not = formula,
            (true, _) if thread.not == formula => {}
            (true, _) => {
                let mut both = self.known[formula as usize].threads.to_vec();
                both.extend_from_slice(&self.known[thread.not as usize].threads);
                meter.work(4 * both.len())?;
                thread.not = self.any_of(both, meter)?;
                if thread.not == TRUE {
                    return Ok(None);
                }
            }
        }
        let is_possible = !thread.must.contains(&thread.not);
        Ok(is_possible.then_some(thread))
    }

    /// The threads that are reached from some without a symbol; `None` where that hangs on a
    /// look of which nothing is known.
    fn reached<M: Meter>(
        &mut self,
        mut open: Vec<Thread>,
        position: &Position,
        meter: &mut M,
    ) -> Result<Option<Vec<Thread>>, M::Error> {
        let mut seen: FxHashSet<Thread> = FxHashSet::default();
        let mut found = Vec::new();
        while let Some(thread) = open.pop() {
            meter.work(2 + thread.must.len())?;
            if !seen.insert(thread.clone()) {
                continue;
            }
            let to = |at| Thread {
                at,
                ..thread.clone()
            };
            let Some(state) = self.nfa.states.get(thread.at as usize) else {
                found.push(thread);
                continue;
            };
            match *state {
                State::Symbol { .. } | State::Match => found.push(thread),
                State::Found => found.push(to(DONE)),
                State::Split(a, b) => open.extend([to(b), to(a)]),
                State::AtStart(next) if position.is_start => open.push(to(next)),
                State::AtStart(_) => {}
                State::AtEnd(next) => {
                    let any = self.number(vec![Thread::at(ANY)], meter)?;
                    open.extend(self.owing(to(next), any, Look::NotAhead, meter)?);
                }
                State::Look { look, next } => {
                    let formula = position.truth[look as usize];
                    if formula == NONE {
                        return Ok(None);
                    }
                    let kind = self.nfa.looks[look as usize].0;
                    open.extend(self.owing(to(next), formula, kind, meter)?);
                }
            }
        }
        Ok(Some(found))
    }

    /// The threads of a formula behind a symbol that some sets hold.
    fn stepped<M: Meter>(
        &mut self,
        formula: FormulaId,
        holds: &impl Fn(SetId) -> bool,
        after: &FxHashMap<FormulaId, FormulaId>,
        meter: &mut M,
    ) -> Result<Vec<Thread>, M::Error> {
        let threads = Rc::clone(&self.known[formula as usize].threads);
        let mut out = Vec::new();
        'threads: for thread in threads.iter() {
            meter.work(1 + thread.must.len())?;
            let at = match thread.at {
                DONE | ANY => DONE,
                at => match self.nfa.states[at as usize] {
                    State::Symbol { set, next } if holds(set) => next,
                    _ => continue,
                },
            };
            let mut next = Thread::at(at);
            let not = Some((&thread.not, Look::NotAhead)).filter(|_| thread.not != FALSE);
            let must = thread.must.iter().map(|formula| (formula, Look::Ahead));
            for (owed, look) in must.chain(not) {
                match self.owing(next, after[owed], look, meter)? {
                    Some(thread) => next = thread,
                    None => continue 'threads,
                }
            }
            out.push(next);
        }
        Ok(out)
    }

    /// The state at the beginning of a text, or behind a symbol that some sets hold: the
    /// formula of the whole, and those of the looks behind that have begun.
    fn next<M: Meter>(
        &mut self,
        before: Option<&[FormulaId]>,
        holds: impl Fn(SetId) -> bool,
        meter: &mut M,
    ) -> Result<Box<[FormulaId]>, M::Error> {
        let nfa = self.nfa;
        let mut position = Position {
            is_start: before.is_none(),
            truth: vec![NONE; nfa.looks.len()],
        };
        meter.work(nfa.looks.len())?;
        let mut state = vec![FALSE];
        let mut begun = before.into_iter().flatten().skip(1);
        // Formulas that are owed step first, inside before outside: but their truth may depend on
        // looks, and looks behind may owe formulas themselves.
        let mut after: FxHashMap<FormulaId, FormulaId> = FxHashMap::default();
        for (look, (kind, begin)) in nfa.looks.iter().enumerate() {
            let mut threads = vec![Thread::at(*begin)];
            if kind.is_behind() {
                if let Some(&begun) = begun.next() {
                    self.step_inside(begun, &holds, &mut after, &position, meter)?;
                    threads.extend(self.stepped(begun, &holds, &after, meter)?);
                }
                let threads = self.reached(threads, &position, meter)?.unwrap_or_default();
                let (done, open) = threads.into_iter().partition(|t| t.at == DONE);
                position.truth[look] = self.any_of(done, meter)?;
                state.push(self.any_of(open, meter)?);
                continue;
            }
            position.truth[look] = match self.always[look] {
                Some(always) if !position.is_start => always,
                _ => {
                    let threads = self.reached(threads, &position, meter)?.unwrap_or_default();
                    self.any_of(threads, meter)?
                }
            };
        }
        let threads = match before {
            None => vec![Thread::at(nfa.start)],
            Some(before) => {
                self.step_inside(before[0], &holds, &mut after, &position, meter)?;
                self.stepped(before[0], &holds, &after, meter)?
            }
        };
        let threads = self.reached(threads, &position, meter)?.unwrap_or_default();
        state[0] = self.any_of(threads, meter)?;
        Ok(state.into())
    }

    /// Finds what the formulas inside of one are behind a symbol.
    fn step_inside<M: Meter>(
        &mut self,
        formula: FormulaId,
        holds: &impl Fn(SetId) -> bool,
        after: &mut FxHashMap<FormulaId, FormulaId>,
        position: &Position,
        meter: &mut M,
    ) -> Result<(), M::Error> {
        let inside = Rc::clone(&self.known[formula as usize].inside);
        for &owed in inside.iter() {
            meter.work(TARGET_STEPS)?;
            if !after.contains_key(&owed) {
                let threads = self.stepped(owed, holds, after, meter)?;
                let threads = self.reached(threads, position, meter)?.unwrap_or_default();
                let next = self.any_of(threads, meter)?;
                after.insert(owed, next);
            }
        }
        Ok(())
    }
}

/// Does the work of [`Nfa::determinize`] for automata with looks.
pub(crate) fn determinize<M: Meter>(
    nfa: &Nfa,
    width: usize,
    members: &[Vec<u32>],
    meter: &mut M,
) -> Result<Table<bool>, M::Error> {
    meter.hold(nfa.states.len() * 4 + members.len() * 5 + width * 40)?;
    let mut formulas = Formulas::new(nfa, members, meter)?;
    let start = formulas.next(None, |_| false, meter)?;
    let mut known: FxHashMap<Rc<[FormulaId]>, u32> = FxHashMap::default();
    let mut all: Vec<Rc<[FormulaId]>> = Vec::new();
    if start[0] != FALSE {
        let start: Rc<[FormulaId]> = start.into();
        known.insert(Rc::clone(&start), 0);
        all.push(start);
    }
    let mut next: Vec<u32> = Vec::new();
    // The sets that the state at hand asks for, and for each class which of them hold it.
    let mut asked: Vec<SetId> = Vec::new();
    let mut which: Vec<Vec<SetId>> = vec![Vec::new(); width];
    let mut holding = vec![false; members.len()];
    let mut at = 0;
    while at < all.len() {
        let state = Rc::clone(&all[at]);
        meter.hold(width * 4)?;
        formulas.sets(&state, &mut asked, meter)?;
        for &set in &asked {
            meter.work(members[set as usize].len())?;
            for &class in &members[set as usize] {
                which[class as usize].push(set);
            }
        }
        let mut targets: FxHashMap<Vec<SetId>, u32> = FxHashMap::default();
        for of_class in &mut which {
            meter.work(TARGET_STEPS)?;
            let key = std::mem::take(of_class);
            if let Some(target) = targets.get(&key) {
                next.push(*target);
                continue;
            }
            key.iter().for_each(|set| holding[*set as usize] = true);
            let to = formulas.next(Some(&state), |set| holding[set as usize], meter)?;
            key.iter().for_each(|set| holding[*set as usize] = false);
            let target = match known.get(&*to) {
                _ if to[0] == FALSE => NONE,
                Some(&known) => known,
                None => {
                    meter.states(all.len() + 1)?;
                    meter.hold(size_of_val(&*to) + SUBSET_BYTES)?;
                    let id = all.len() as u32;
                    let to: Rc<[FormulaId]> = to.into();
                    known.insert(Rc::clone(&to), id);
                    all.push(to);
                    id
                }
            };
            targets.insert(key, target);
            next.push(target);
        }
        at += 1;
    }
    let accepting = all
        .iter()
        .map(|state| formulas.known[state[0] as usize].ends);
    Ok(Table::new(width, next, accepting.collect()))
}

impl Formulas<'_> {
    /// The sets that the next symbol of a state is asked for, ascending.
    fn sets<M: Meter>(
        &self,
        state: &[FormulaId],
        out: &mut Vec<SetId>,
        meter: &mut M,
    ) -> Result<(), M::Error> {
        out.clear();
        for &formula in state {
            let formula = &self.known[formula as usize];
            let inside = formula.inside.iter().map(|f| &self.known[*f as usize]);
            for formula in std::iter::once(formula).chain(inside) {
                meter.work(1 + formula.threads.len())?;
                let states = formula.threads.iter();
                let states = states.filter_map(|t| self.nfa.states.get(t.at as usize));
                out.extend(states.filter_map(|state| match state {
                    State::Symbol { set, .. } => Some(*set),
                    _ => None,
                }));
            }
        }
        out.sort_unstable();
        out.dedup();
        Ok(())
    }
}
