//! Dead ends of a finite automaton: found for all its states at once. For example, over the tokens
//! `a` and `bc` the state behind `a` of `ab` is a dead end, because no token is `b`.

use std::collections::{HashMap, HashSet};

use crate::budget::Meter;
use crate::tokens::Area;
use crate::walk::Walker;
use crate::{ByteAutomaton, ByteDfa, Cursor, Error, Vocabulary};

/// The cursors from which no whole tokens lead to acceptance; `None` if there
/// are none.
///
/// Mostly there are none: a state that can be finished by bytes that are tokens
/// is no dead end, whatever else is missing. That is cheap to see; only where it
/// is not so does it take a walk at every state.
///
/// # Errors
///
/// The start is one of them.
pub(crate) fn dead_ends(
    automaton: &ByteDfa,
    vocabulary: &Vocabulary,
) -> Result<Option<HashSet<Cursor>>, Error> {
    let missing = vocabulary.missing_bytes();
    if missing.is_empty() {
        return Ok(None);
    }
    let mut needed = [false; 256];
    let (reached, incoming) = explore(automaton, |at, found| {
        for byte in 0..=255u8 {
            let to = automaton.step(at, byte, &mut ());
            if !to.is_dead() {
                needed[byte as usize] = true;
                found(to, missing.binary_search(&byte).is_err());
            }
        }
    });
    let finished = finished(automaton, &reached, &incoming);
    if finished.len() == reached.len() {
        return Ok(None);
    }
    let mut walker = Walker::default();
    let trie = vocabulary.trie();
    let (reached, incoming) = explore(automaton, |at, found| {
        let hit = |_, to| found(to, true);
        walker.walk(
            automaton,
            at,
            &mut (),
            Area::all(trie),
            &mut Meter::default(),
            hit,
        );
    });
    let finished = self::finished(automaton, &reached, &incoming);
    if !finished.contains(&automaton.start()) {
        let needed = missing.into_iter().filter(|&b| needed[b as usize]);
        return Err(Error::cannot_spell(
            &needed.collect::<Vec<_>>(),
            "so no accepted text can be spelt",
        ));
    }
    // Cursors that no tokens reach at all are never asked for; but they are
    // the more dead ends.
    let cursors = automaton.all_cursors();
    Ok(Some(
        cursors
            .filter(|cursor| !finished.contains(cursor))
            .collect(),
    ))
}

type Edges = HashMap<Cursor, Vec<Cursor>>;

/// Everything that is reached from the start, and from where the edges that
/// can be taken come.
fn explore(
    automaton: &ByteDfa,
    mut edges: impl FnMut(Cursor, &mut dyn FnMut(Cursor, bool)),
) -> (HashSet<Cursor>, Edges) {
    let mut reached = HashSet::from([automaton.start()]);
    let mut incoming: Edges = HashMap::new();
    let mut open = vec![automaton.start()];
    let mut seen = HashSet::new();
    while let Some(at) = open.pop() {
        seen.clear();
        edges(at, &mut |to, taken| {
            if seen.insert((to, taken)) {
                if taken {
                    incoming.entry(to).or_default().push(at);
                }
                if reached.insert(to) {
                    open.push(to);
                }
            }
        });
    }
    (reached, incoming)
}

/// Returns the states that can reach acceptance along the edges.
fn finished(automaton: &ByteDfa, reached: &HashSet<Cursor>, incoming: &Edges) -> HashSet<Cursor> {
    let mut finished: HashSet<Cursor> = reached
        .iter()
        .copied()
        .filter(|cursor| automaton.is_accepting(cursor))
        .collect();
    let mut open: Vec<Cursor> = finished.iter().copied().collect();
    while let Some(at) = open.pop() {
        for &from in incoming.get(&at).into_iter().flatten() {
            if finished.insert(from) {
                open.push(from);
            }
        }
    }
    finished
}
