use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::vocabulary::Runs;
use crate::walk::Walker;
use crate::{ByteDfa, Cursor};

/// Memory of the lists of rests, in bytes; beyond it rows are found by walks.
const MAX_LIST_BYTES: usize = 64 << 20;

/// Puts the rows of an index together from a vocabulary cut by a class of
/// characters, and remembers which rests may come in which state.
#[derive(Debug, Default)]
pub(crate) struct RunRows(Mutex<Lists>);

#[derive(Debug, Default)]
struct Lists {
    /// By the class and the state.
    of: HashMap<(u32, Cursor), Arc<[u32]>>,
    /// Equal lists once.
    known: HashMap<Arc<[u32]>, ()>,
    bytes: usize,
}

impl RunRows {
    /// Sets the bits of all tokens that may come at `state`, whose text loops
    /// over `class`.
    ///
    /// Plain parts lead along a chain of states, each the next one's
    /// predecessor by every character of the class; in a free string the chain
    /// is one state. A token of `n` plain characters and a rest may come if the
    /// chain is so long and the rest may come at its `n`th state.
    ///
    /// `None`, and nothing promised of `words`, if the chain ends where some
    /// characters of the class go on in another way: then only a walk tells.
    pub(crate) fn put(
        &self,
        automaton: &ByteDfa,
        state: Cursor,
        class: u32,
        runs: &Runs,
        walker: &mut Walker,
        words: &mut [u32],
    ) -> Option<()> {
        // Stretches of the chain with the same rests: where each begins.
        let mut stretches: Vec<(usize, Arc<[u32]>)> = Vec::new();
        let mut bound = usize::MAX;
        let mut at = state;
        for chars in 0..=runs.max_len() {
            let rests = self.rests(automaton, at, class, runs, walker)?;
            if stretches.last().is_none_or(|s| s.1 != rests) {
                stretches.push((chars, rests));
            }
            match automaton.main_text(at) {
                Some(text) if text.class == class => {
                    if text.next == at {
                        break;
                    }
                    at = text.next;
                }
                _ => {
                    let goes_on = (0..=255u8).any(|b| {
                        runs.first_bytes()[b as usize]
                            && !crate::ByteAutomaton::step(automaton, at, b, &mut ()).is_dead()
                    });
                    if goes_on {
                        return None;
                    }
                    bound = chars;
                    break;
                }
            }
        }
        runs.put_plain(bound, words);
        for (i, (from, rests)) in stretches.iter().enumerate() {
            let to = stretches
                .get(i + 1)
                .map_or(bound.saturating_add(1), |next| next.0);
            for &rest in rests.iter() {
                runs.put_rest(rest, *from, to, words);
            }
        }
        Some(())
    }

    /// The rests that may come at a state, in the order of their trie.
    fn rests(
        &self,
        automaton: &ByteDfa,
        state: Cursor,
        class: u32,
        runs: &Runs,
        walker: &mut Walker,
    ) -> Option<Arc<[u32]>> {
        // A panic elsewhere leaves the lists whole: nothing here panics
        // between two changes that belong together.
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(rests) = lock().of.get(&(class, state)) {
            return Some(rests.clone());
        }
        let mut rests = Vec::new();
        walker.walk(automaton, &state, &mut (), runs.rests(), |rest, _| {
            rests.push(rest);
        });
        let rests: Arc<[u32]> = rests.into();
        let mut lists = lock();
        let rests = match lists.known.get_key_value(&rests) {
            Some((known, ())) => known.clone(),
            None => {
                lists.bytes += rests.len() * 4 + 64;
                if lists.bytes > MAX_LIST_BYTES {
                    return None;
                }
                lists.known.insert(rests.clone(), ());
                rests
            }
        };
        lists.of.insert((class, state), rests.clone());
        Some(rests)
    }
}
