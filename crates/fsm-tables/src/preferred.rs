//! Automata of preferred matches: the first alternative that leads to a match counts, as where an
//! engine that goes back tries one way after the other. For example, `a|ab` takes `a` and not `ab`,
//! because its first alternative is preferred.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::costs::{SUBSET_BYTES, SUBSET_STEPS};
use crate::nfa::Place;
use crate::{
    Alphabet, Builder, Look, LookId, MATCH, Meter, NONE, Nfa, NfaId, Rest, State, Symbols,
};

/// Places in the order in which they are preferred.
type Places = Rc<[NfaId]>;

/// The answers about looks at one place: by its direction and the beginning of its expression,
/// `true` if a match was found.
type Answers = Vec<((bool, NfaId), bool)>;

/// The states that stand for lists, and the symbols that lead there.
type Groups = Vec<(NfaId, Vec<(u32, u32)>)>;

/// The states that are reached without a symbol, or the look that has to be asked first.
enum Reached {
    All { symbols: Vec<NfaId>, ends: bool },
    Asks(LookId),
}

impl<M: Meter> Builder<'_, M> {
    /// Adds the matches that are preferred in an automaton, in front of a state; answers where
    /// they begin.
    ///
    /// The first way of a [`State::Split`] is preferred to the second. A text is taken if a
    /// match of it is preferred to those of its beginnings. So the longest of the texts with
    /// which a longer one begins is the match that an engine finds which tries the ways one
    /// after the other, such as those of Perl and Python. For example `a+?` takes `a` alone, and
    /// `".*?"` takes nothing behind its second quote.
    ///
    /// A state stands for a list of states, and nothing in it comes behind a match (Cox,
    /// "Regular Expression Matching: the Virtual Machine Approach", 2009). Looks are asked as
    /// they are met: one way goes on where it holds, the other one where it does not.
    ///
    /// ```
    /// use fsm_tables::{Builder, MATCH, State, Symbols, Unlimited};
    ///
    /// // a+?
    /// let mut meter = Unlimited;
    /// let mut builder = Builder::new(&mut meter);
    /// let split = builder.push(State::Split(MATCH, MATCH))?;
    /// let a = builder.symbol(vec![(97, 97)], split)?;
    /// builder.set_state(split, State::Split(MATCH, a));
    /// let lazy = builder.finish(a);
    /// assert!(lazy.accepts([97, 97]));
    ///
    /// let mut builder = Builder::new(&mut meter);
    /// let start = builder.preferred(&lazy, Symbols::Bytes, MATCH)?;
    /// let first = builder.finish(start);
    /// assert!(first.accepts([97]) && !first.accepts([97, 97]));
    /// # Ok::<(), std::convert::Infallible>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors are those of the meter: there can be as many states as there are lists of states.
    pub fn preferred(
        &mut self,
        nfa: &Nfa,
        symbols: Symbols,
        next: NfaId,
    ) -> Result<NfaId, M::Error> {
        let (alphabet, members) = Alphabet::new(symbols, Rest::AsMet, nfa.sets(), self.meter())?;
        let begins = copy_looks(nfa, self)?;
        let any = vec![(0, symbols.end() - 1)];
        let found = self.found()?;
        let any = self.symbol(any, found)?;
        // The beginning is no place to come back to: anchors know it.
        let start = self.push(State::Split(next, next))?;
        let mut lists = Preferring {
            builder: self,
            nfa,
            next,
            behind: vec![Vec::new(); alphabet.len()],
            alphabet: &alphabet,
            members,
            begins,
            any,
            known: FxHashMap::default(),
            open: Vec::new(),
        };
        lists.list(&[nfa.start], start, Place::Start)?;
        while let Some((places, entry)) = lists.open.pop() {
            lists.list(&places, entry, Place::Inside)?;
        }
        Ok(start)
    }
}

/// The automaton of preferred matches, as it is made.
struct Preferring<'b, 'm, 'n, M> {
    builder: &'b mut Builder<'m, M>,
    nfa: &'n Nfa,
    /// The state behind a match.
    next: NfaId,
    alphabet: &'n Alphabet,
    /// The classes of each set of symbols.
    members: Vec<Vec<u32>>,
    /// The beginnings of the copies of all looks.
    begins: Vec<NfaId>,
    /// The expression of one symbol, whichever it is.
    any: NfaId,
    /// The lists that were met, and those of which it is not known where they lead.
    known: FxHashMap<Places, NfaId>,
    open: Vec<(Places, NfaId)>,
    /// The lists that lie behind each class.
    behind: Vec<Vec<NfaId>>,
}

impl<M: Meter> Preferring<'_, '_, '_, M> {
    /// Says where a list of states leads, at a place of the text, from the state on that stands
    /// for it.
    fn list(&mut self, places: &[NfaId], entry: NfaId, at: Place) -> Result<(), M::Error> {
        let mut asked: Vec<(Answers, NfaId)> = vec![(Vec::new(), entry)];
        while let Some((answers, entry)) = asked.pop() {
            match self.reached(places, at, &answers)? {
                Reached::Asks(look) => asked.extend(self.ask(look, answers, entry)?),
                Reached::All { symbols, ends } => {
                    self.find_behind(&symbols)?;
                    let way = self.ways(ends.then_some(self.next))?;
                    self.builder.set_state(entry, State::Split(way, way));
                }
            }
        }
        Ok(())
    }

    /// Leads from a state to one way on where a look finds a match, and to another one where it
    /// does not; answers both, each with what is known there.
    fn ask(
        &mut self,
        look: LookId,
        answers: Answers,
        entry: NfaId,
    ) -> Result<[(Answers, NfaId); 2], M::Error> {
        let (kind, begin) = match self.nfa.looks.get(look as usize) {
            Some(&(kind, _)) => (kind, self.begins[look as usize]),
            None => (Look::Ahead, self.any),
        };
        let key = self.key(look);
        let mut way = |found: bool| {
            let entry = self.builder.push(State::Split(self.next, self.next))?;
            let look = match found != kind.is_negative() {
                true => kind,
                false => kind.negated(),
            };
            let way = self.builder.look(look, begin, entry)?;
            let mut answers = answers.clone();
            answers.push((key, found));
            Ok::<_, M::Error>((way, (answers, entry)))
        };
        let (yes, no) = (way(true)?, way(false)?);
        self.builder.set_state(entry, State::Split(yes.0, no.0));
        Ok([yes.1, no.1])
    }

    /// Returns that by which the answer about a look is known; the end of the text is a look, too.
    fn key(&self, look: LookId) -> (bool, NfaId) {
        match self.nfa.looks.get(look as usize) {
            Some((kind, begin)) => (kind.is_behind(), *begin),
            None => (false, NONE),
        }
    }

    /// Finds the lists behind each class, if these states take symbols.
    fn find_behind(&mut self, symbols: &[NfaId]) -> Result<(), M::Error> {
        self.behind.iter_mut().for_each(Vec::clear);
        for &state in symbols {
            if let State::Symbol { set, next } = self.nfa.states[state as usize] {
                let classes = &self.members[set as usize];
                self.builder.meter().work(1 + classes.len())?;
                for &class in classes {
                    let list = &mut self.behind[class as usize];
                    if !list.contains(&next) {
                        list.push(next);
                    }
                }
            }
        }
        Ok(())
    }

    /// Adds the ways to the lists behind the classes, beside another way; answers where all of
    /// them begin.
    fn ways(&mut self, other: Option<NfaId>) -> Result<NfaId, M::Error> {
        let mut all = other;
        for (to, ranges) in self.groups()? {
            let way = self.builder.symbol(ranges, to)?;
            all = Some(match all {
                Some(others) => self.builder.push(State::Split(way, others))?,
                None => way,
            });
        }
        match all {
            Some(way) => Ok(way),
            None => self.builder.symbol(Vec::new(), self.next),
        }
    }

    /// Returns the lists behind the classes, each once, by the states that stand for them, and the
    /// symbols that lead there.
    fn groups(&mut self) -> Result<Groups, M::Error> {
        let mut groups: Groups = Vec::new();
        let mut numbers: FxHashMap<Places, usize> = FxHashMap::default();
        for (first, last, class) in self.alphabet.runs() {
            let list = &self.behind[class as usize];
            if list.is_empty() {
                continue;
            }
            self.builder.meter().work(list.len())?;
            let at = match numbers.get(&**list) {
                Some(&known) => known,
                None => {
                    let list: Places = list.as_slice().into();
                    let to = self.entry(Rc::clone(&list))?;
                    numbers.insert(list, groups.len());
                    groups.push((to, Vec::new()));
                    groups.len() - 1
                }
            };
            match groups[at].1.last_mut() {
                Some(before) if before.1 + 1 == first => before.1 = last,
                _ => groups[at].1.push((first, last)),
            }
        }
        Ok(groups)
    }

    /// Returns the state that stands for a list.
    fn entry(&mut self, places: Places) -> Result<NfaId, M::Error> {
        if let Some(&known) = self.known.get(&places) {
            return Ok(known);
        }
        let meter = self.builder.meter();
        meter.states(self.known.len() + 1)?;
        meter.work(SUBSET_STEPS + places.len())?;
        meter.hold(places.len() * size_of::<NfaId>() + SUBSET_BYTES)?;
        let entry = self.builder.push(State::Split(MATCH, MATCH))?;
        self.known.insert(Rc::clone(&places), entry);
        self.open.push((places, entry));
        Ok(entry)
    }

    /// The states that are reached from some places, in the order in which they are preferred.
    fn reached(
        &mut self,
        places: &[NfaId],
        at: Place,
        answers: &Answers,
    ) -> Result<Reached, M::Error> {
        let mut open: Vec<NfaId> = places.iter().rev().copied().collect();
        let mut seen: Vec<NfaId> = Vec::new();
        let mut met: FxHashMap<NfaId, ()> = FxHashMap::default();
        while let Some(state) = open.pop() {
            self.builder.meter().work(2)?;
            if met.insert(state, ()).is_some() {
                continue;
            }
            let (look, to, wants) = match self.nfa.states[state as usize] {
                State::Symbol { .. } => {
                    seen.push(state);
                    continue;
                }
                State::Split(a, b) => {
                    open.extend([b, a]);
                    continue;
                }
                State::Match => {
                    return Ok(Reached::All {
                        symbols: seen,
                        ends: true,
                    });
                }
                State::AtStart(to) => {
                    open.extend(Some(to).filter(|_| at == Place::Start));
                    continue;
                }
                State::Found => continue,
                State::AtEnd(to) => (LookId::MAX, to, false),
                State::Look { look, next } => {
                    (look, next, !self.nfa.looks[look as usize].0.is_negative())
                }
            };
            let key = self.key(look);
            match answers.iter().find(|answer| answer.0 == key) {
                Some((_, found)) => open.extend(Some(to).filter(|_| *found == wants)),
                None => return Ok(Reached::Asks(look)),
            }
        }
        Ok(Reached::All {
            symbols: seen,
            ends: false,
        })
    }
}

/// Copies the expressions of all looks of an automaton; answers where each begins.
fn copy_looks<M: Meter>(nfa: &Nfa, builder: &mut Builder<'_, M>) -> Result<Vec<NfaId>, M::Error> {
    let mut copies: FxHashMap<NfaId, NfaId> = FxHashMap::default();
    let mut begins = Vec::with_capacity(nfa.looks.len());
    let found = builder.found()?;
    for &(_, begin) in &nfa.looks {
        let mut open = vec![begin];
        let mut fresh = Vec::new();
        while let Some(state) = open.pop() {
            if copies.contains_key(&state) {
                continue;
            }
            let to = match nfa.states[state as usize] {
                State::Found => found,
                _ => builder.push(State::Split(found, found))?,
            };
            copies.insert(state, to);
            fresh.push(state);
            match nfa.states[state as usize] {
                State::Split(a, b) => open.extend([b, a]),
                State::Symbol { next, .. }
                | State::AtStart(next)
                | State::AtEnd(next)
                | State::Look { next, .. } => open.push(next),
                State::Found | State::Match => {}
            }
        }
        for state in fresh {
            let to = copies[&state];
            let copy = match nfa.states[state as usize] {
                State::Found | State::Match => continue,
                State::Split(a, b) => State::Split(copies[&a], copies[&b]),
                State::AtStart(next) => State::AtStart(copies[&next]),
                State::AtEnd(next) => State::AtEnd(copies[&next]),
                State::Symbol { set, next } => State::Symbol {
                    set: builder.set(nfa.sets()[set as usize].to_vec())?,
                    next: copies[&next],
                },
                State::Look { look, next } => {
                    // Inner looks come first.
                    let begin = begins[look as usize];
                    let way = builder.look(nfa.looks[look as usize].0, begin, copies[&next])?;
                    State::Split(way, way)
                }
            };
            builder.set_state(to, copy);
        }
        begins.push(copies[&begin]);
    }
    Ok(begins)
}
