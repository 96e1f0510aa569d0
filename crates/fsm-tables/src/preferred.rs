//! Automata of preferred matches: the first alternative that leads to a match counts, as where an
//! engine that goes back tries one way after the other. For example, `a|ab` takes `a` and not `ab`,
//! because its first alternative is preferred.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::subsets::{SUBSET_BYTES, SUBSET_STEPS};
use crate::{
    Alphabet, Builder, Look, LookId, MATCH, Meter, NONE, Nfa, NfaId, Rest, State, Symbols,
};

/// Places in the order in which they are preferred.
type Places = Rc<[NfaId]>;

/// The answers about looks at one place: by its direction and the beginning of its expression,
/// `true` if a match was found.
type Answers = Vec<((bool, NfaId), bool)>;

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
        let width = alphabet.len();
        let begins = self.copy_looks(nfa)?;
        let any = vec![(0, symbols.end() - 1)];
        let found = self.found()?;
        let any = self.symbol(any, found)?;
        let mut lists = Lists {
            known: FxHashMap::default(),
            open: Vec::new(),
        };
        // The beginning is no place to come back to: anchors know it.
        let start = self.push(State::Split(next, next))?;
        lists.open.push(([nfa.start].into(), start));
        let mut is_start = true;
        // The lists that lie behind each class, and the classes of each list.
        let mut behind: Vec<Vec<NfaId>> = vec![Vec::new(); width];
        while let Some((places, entry)) = lists.open.pop() {
            let mut asked: Vec<(Answers, NfaId)> = vec![(Vec::new(), entry)];
            while let Some((answers, entry)) = asked.pop() {
                let (symbols, ends) = match self.reached(nfa, &places, is_start, &answers)? {
                    Reached::All { symbols, ends } => (symbols, ends),
                    Reached::Asks(look) => {
                        let (kind, begin, key) = match nfa.looks.get(look as usize) {
                            Some(&(kind, begin)) => {
                                let copy = begins[look as usize];
                                (kind, copy, (kind.is_behind(), begin))
                            }
                            None => (Look::Ahead, any, (false, NONE)),
                        };
                        let mut ways = [NONE; 2];
                        for (way, found) in ways.iter_mut().zip([true, false]) {
                            let entry = self.push(State::Split(next, next))?;
                            let look = match found != kind.is_negative() {
                                true => kind,
                                false => kind.negated(),
                            };
                            *way = self.look(look, begin, entry)?;
                            let mut answers = answers.clone();
                            answers.push((key, found));
                            asked.push((answers, entry));
                        }
                        self.set_state(entry, State::Split(ways[0], ways[1]));
                        continue;
                    }
                };
                behind.iter_mut().for_each(Vec::clear);
                for &state in &symbols {
                    if let State::Symbol { set, next } = nfa.states[state as usize] {
                        let classes = &members[set as usize];
                        self.meter().work(1 + classes.len())?;
                        for &class in classes {
                            let list = &mut behind[class as usize];
                            if !list.contains(&next) {
                                list.push(next);
                            }
                        }
                    }
                }
                let mut groups: Vec<(NfaId, Vec<(u32, u32)>)> = Vec::new();
                let mut numbers: FxHashMap<Places, usize> = FxHashMap::default();
                for (first, last, class) in alphabet.runs() {
                    let list = &behind[class as usize];
                    if list.is_empty() {
                        continue;
                    }
                    self.meter().work(list.len())?;
                    let at = match numbers.get(&**list) {
                        Some(&known) => known,
                        None => {
                            let list: Places = list.as_slice().into();
                            let to = lists.entry(Rc::clone(&list), self)?;
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
                let mut all = ends.then_some(next);
                for (to, ranges) in groups {
                    let way = self.symbol(ranges, to)?;
                    all = Some(match all {
                        Some(others) => self.push(State::Split(way, others))?,
                        None => way,
                    });
                }
                let way = match all {
                    Some(way) => way,
                    None => self.symbol(Vec::new(), next)?,
                };
                self.set_state(entry, State::Split(way, way));
            }
            is_start = false;
        }
        Ok(start)
    }

    /// Copies the expressions of all looks of an automaton; answers where each begins.
    fn copy_looks(&mut self, nfa: &Nfa) -> Result<Vec<NfaId>, M::Error> {
        let mut copies: FxHashMap<NfaId, NfaId> = FxHashMap::default();
        let mut begins = Vec::with_capacity(nfa.looks.len());
        let found = self.found()?;
        for &(_, begin) in &nfa.looks {
            let mut open = vec![begin];
            let mut fresh = Vec::new();
            while let Some(state) = open.pop() {
                if copies.contains_key(&state) {
                    continue;
                }
                let to = match nfa.states[state as usize] {
                    State::Found => found,
                    _ => self.push(State::Split(found, found))?,
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
                        set: self.set(nfa.sets()[set as usize].to_vec())?,
                        next: copies[&next],
                    },
                    State::Look { look, next } => {
                        // Inner looks come first.
                        let begin = begins[look as usize];
                        let way = self.look(nfa.looks[look as usize].0, begin, copies[&next])?;
                        State::Split(way, way)
                    }
                };
                self.set_state(to, copy);
            }
            begins.push(copies[&begin]);
        }
        Ok(begins)
    }

    /// The states that are reached from some places, in the order in which they are preferred.
    fn reached(
        &mut self,
        nfa: &Nfa,
        places: &[NfaId],
        is_start: bool,
        answers: &Answers,
    ) -> Result<Reached, M::Error> {
        let mut open: Vec<NfaId> = places.iter().rev().copied().collect();
        let mut seen: Vec<NfaId> = Vec::new();
        let mut met: FxHashMap<NfaId, ()> = FxHashMap::default();
        while let Some(state) = open.pop() {
            self.meter().work(2)?;
            if met.insert(state, ()).is_some() {
                continue;
            }
            let (look, to, wants) = match nfa.states[state as usize] {
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
                    open.extend(Some(to).filter(|_| is_start));
                    continue;
                }
                State::Found => continue,
                State::AtEnd(to) => (LookId::MAX, to, false),
                State::Look { look, next } => {
                    (look, next, !nfa.looks[look as usize].0.is_negative())
                }
            };
            let key = match nfa.looks.get(look as usize) {
                Some((kind, begin)) => (kind.is_behind(), *begin),
                None => (false, NONE),
            };
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

/// The lists that were met, and those of which it is not known where they lead.
struct Lists {
    known: FxHashMap<Places, NfaId>,
    open: Vec<(Places, NfaId)>,
}

impl Lists {
    /// The state that stands for a list.
    fn entry<M: Meter>(
        &mut self,
        places: Places,
        builder: &mut Builder<'_, M>,
    ) -> Result<NfaId, M::Error> {
        if let Some(&known) = self.known.get(&places) {
            return Ok(known);
        }
        builder.meter().states(self.known.len() + 1)?;
        builder.meter().work(SUBSET_STEPS + places.len())?;
        builder
            .meter()
            .hold(places.len() * size_of::<NfaId>() + SUBSET_BYTES)?;
        let entry = builder.push(State::Split(MATCH, MATCH))?;
        self.known.insert(Rc::clone(&places), entry);
        self.open.push((places, entry));
        Ok(entry)
    }
}
