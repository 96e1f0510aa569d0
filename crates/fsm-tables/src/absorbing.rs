//! Loops that admit all that may be admitted beside them.
//!
//! For example in a search for `cat|dog` there comes any text behind either word: once one was
//! found, it does not matter any more how far the other one is. An automaton that remembers that is as
//! large as the product of all words.

use crate::nfa::Nfa;
use crate::{MATCH, Meter, NONE, NfaId, SetId, State};

/// The most sets whose loops are looked at: few, because each is held against all states.
const MOST: usize = 8;

/// Loops of one set that accept behind each symbol and lead nowhere else.
#[derive(Debug)]
pub(crate) struct Loops {
    set: SetId,
    /// The first of them, which stands for all.
    first: NfaId,
    /// By state whether it is one of them.
    is_one: Vec<bool>,
    /// By state whether all that it takes are symbols of the set, so that its texts are texts
    /// of the loops, too.
    inside: Vec<bool>,
}

/// The loops of an automaton, by their sets.
#[derive(Debug, Default)]
pub(crate) struct Absorbing {
    loops: Vec<Loops>,
}

impl Absorbing {
    /// Finds the loops of an automaton of whose sets these are the classes, in order.
    pub(crate) fn new<M: Meter>(
        nfa: &Nfa,
        members: &[Vec<u32>],
        meter: &mut M,
    ) -> Result<Absorbing, M::Error> {
        let mut loops: Vec<Loops> = Vec::new();
        let states = nfa.states();
        meter.work(states.len())?;
        for (id, state) in (0..).zip(states) {
            let State::Symbol { set, next } = *state else {
                continue;
            };
            if !is_loop(nfa, id, next) {
                continue;
            }
            let known = loops.iter().position(|known| known.set == set);
            let at = match known {
                Some(at) => at,
                None if loops.len() == MOST => continue,
                None => {
                    meter
                        .work(2 * states.len() + members.iter().map(Vec::len).sum::<usize>() / 8)?;
                    meter.hold(2 * states.len())?;
                    loops.push(Loops {
                        set,
                        first: NONE,
                        is_one: vec![false; states.len()],
                        inside: inside(nfa, &within(members, set)),
                    });
                    loops.len() - 1
                }
            };
            let of_set = &mut loops[at];
            if of_set.inside[id as usize] {
                of_set.is_one[id as usize] = true;
                of_set.first = of_set.first.min(id);
            }
        }
        // If one loop stands alone, it is all there is.
        loops.retain(|of_set| {
            of_set.first != NONE && of_set.inside.iter().filter(|is| **is).count() > 1
        });
        Ok(Absorbing { loops })
    }

    /// Leaves out of some states, which are in order, those that admit no more than a loop among
    /// them.
    pub(crate) fn leave_out(&self, found: &mut Vec<NfaId>) {
        for of_set in &self.loops {
            if found.iter().any(|id| of_set.is_one(*id)) {
                found.retain(|id| !of_set.admits(*id));
                let place = found.partition_point(|id| *id < of_set.first);
                found.insert(place, of_set.first);
            }
        }
    }

    pub(crate) fn each(&self) -> impl Iterator<Item = &Loops> {
        self.loops.iter()
    }
}

impl Loops {
    pub(crate) fn first(&self) -> NfaId {
        self.first
    }

    /// Says whether a state is one of the loops.
    pub(crate) fn is_one(&self, id: NfaId) -> bool {
        self.is_one.get(id as usize) == Some(&true)
    }

    /// Says whether all texts of a state are texts of the loops.
    pub(crate) fn admits(&self, id: NfaId) -> bool {
        self.inside.get(id as usize) == Some(&true)
    }
}

/// By set whether it is a part of one of them.
fn within(members: &[Vec<u32>], set: SetId) -> Vec<bool> {
    let own = &members[set as usize];
    let is_within = |others: &Vec<u32>| {
        others.len() <= own.len() && others.iter().all(|class| own.binary_search(class).is_ok())
    };
    members.iter().map(is_within).collect()
}

/// Says whether a state comes back to itself behind a symbol, where the text may end, too.
fn is_loop(nfa: &Nfa, id: NfaId, next: NfaId) -> bool {
    /// The steps within which a loop is closed: few, because the open states are searched one by
    /// one.
    const NEAR: usize = 16;
    let (mut again, mut ends) = (false, false);
    // The state at which it goes on, and `true` if that is behind the end of the text.
    let mut open = [(next, false); NEAR];
    let (mut at, mut count) = (0, 1);
    while at < count {
        let (state, is_end) = open[at];
        at += 1;
        let to = match nfa.states()[state as usize] {
            State::Symbol { .. } => {
                again |= state == id && !is_end;
                continue;
            }
            State::Match => {
                ends = true;
                continue;
            }
            State::AtEnd(next) => [(next, true); 2],
            State::Split(a, b) => [(a, is_end), (b, is_end)],
            State::AtStart(_) | State::Look { .. } | State::Found => continue,
        };
        for to in to {
            if count < NEAR && !open[..count].contains(&to) {
                open[count] = to;
                count += 1;
            }
        }
    }
    again && ends
}

/// The states from which no symbol is taken but those of some sets, and which end nowhere but
/// where the text does.
fn inside(nfa: &Nfa, is_in: &[bool]) -> Vec<bool> {
    let states = nfa.states();
    let mut into: Vec<Vec<NfaId>> = vec![Vec::new(); states.len()];
    let mut open: Vec<NfaId> = Vec::new();
    let mut inside = vec![true; states.len()];
    for (id, state) in (0..).zip(states) {
        let to = match *state {
            State::Symbol { set, next } => {
                if !is_in[set as usize] {
                    inside[id as usize] = false;
                    open.push(id);
                }
                [Some(next), None]
            }
            State::Split(a, b) => [Some(a), Some(b)],
            State::AtStart(next) | State::AtEnd(next) | State::Look { next, .. } => {
                [Some(next), None]
            }
            // A look is found in the middle of a text.
            State::Found => {
                inside[id as usize] = false;
                open.push(id);
                [None, None]
            }
            // An accepting state takes no symbol: it stands for itself.
            State::Match => [None, None],
        };
        for to in to.into_iter().flatten() {
            into[to as usize].push(id);
        }
    }
    while let Some(id) = open.pop() {
        for before in &into[id as usize] {
            if std::mem::replace(&mut inside[*before as usize], false) {
                open.push(*before);
            }
        }
    }
    inside[MATCH as usize] = false;
    inside
}

#[cfg(test)]
mod tests {
    use crate::{Alphabet, Builder, MATCH, NfaId, Rest, State, Symbols, Unlimited};

    /// A search for any of some words, each with any text behind it.
    fn search(words: &[&str]) -> usize {
        let mut meter = Unlimited;
        let mut builder = Builder::new(&mut meter);
        let all = vec![(97, 122)];
        let any = |next: NfaId, builder: &mut Builder<'_, Unlimited>| {
            let Ok(split) = builder.push(State::Split(next, next));
            let Ok(letter) = builder.symbol(all.clone(), split);
            builder.set_state(split, State::Split(letter, next));
            split
        };
        let mut start = None;
        for word in words {
            let mut at = any(MATCH, &mut builder);
            for c in word.chars().rev() {
                let c = u32::from(c);
                at = match builder.symbol(vec![(c, c)], at) {
                    Ok(at) => at,
                };
            }
            let at = any(at, &mut builder);
            start = Some(match start {
                None => at,
                Some(before) => {
                    let Ok(either) = builder.push(State::Split(before, at));
                    either
                }
            });
        }
        let nfa = builder.finish(start.unwrap_or(MATCH));
        let Ok((alphabet, members)) =
            Alphabet::new(Symbols::Chars, Rest::AsMet, nfa.sets(), &mut meter);
        let Ok(table) = nfa.determinize(alphabet.len(), &members, &mut meter);
        let accepts = |text: &str| nfa.accepts(text.chars().map(u32::from));
        assert!(words.iter().all(|word| accepts(&format!("x{word}y"))));
        assert!(!accepts("xyz"));
        table.states()
    }

    #[test]
    fn what_was_found_is_found_once() {
        let words = [
            "list", "date", "time", "string", "enum", "int", "double", "long", "boolean", "number",
        ];
        let letters: usize = words.iter().map(|word| word.len()).sum();
        assert!(search(&words) <= letters + 2, "{}", search(&words));
    }
}
