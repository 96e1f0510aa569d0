//! The targets of allowed tokens: those that lead to the same place, together. For example, under
//! `[a-z]{2}` the tokens `a` and `b` lead to one place, and `ab` to another.

use std::collections::HashMap;

use crate::budget::Meter;
use crate::tokens::Area;
use crate::walk::Walker;
use crate::{ByteAutomaton, Cursor, Index, TokenId, TokenMask};

/// Returns the tokens of the mask of a state, in groups: see [`Guide::landings`](super::Guide::landings).
pub(super) fn landings<A: ByteAutomaton>(
    index: &Index<A>,
    state: &A::State,
    mask: &TokenMask,
) -> Vec<Vec<TokenId>> {
    let automaton = index.automaton();
    let trie = index.vocabulary().trie();
    let mut groups: Vec<Vec<TokenId>> = Vec::new();
    let mut scratch = automaton.scratch();
    let start = automaton.enter(state, &mut scratch);
    let mut walker = Walker::default();
    walker.begin::<A>();
    let mut places: HashMap<Cursor, usize> = HashMap::new();
    // By token the group that it is in, and 0 for none.
    let mut group_of = vec![0u32; mask.width()];
    let mut last = (Cursor::DEAD, 0);
    walker.walk(
        automaton,
        start,
        &mut scratch,
        Area::all(trie),
        &mut Meter::default(),
        |token, cursor| {
            if !mask.allows(TokenId::new(token)) {
                return;
            }
            if last.0 != cursor {
                let next = places.len();
                last = (cursor, *places.entry(cursor).or_insert(next));
                groups.resize_with(places.len(), Vec::new);
            }
            groups[last.1].push(TokenId::new(token));
            group_of[token as usize] = last.1 as u32 + 1;
        },
    );
    for &(first, other) in trie.duplicates() {
        let other = TokenId::new(other);
        if let (Some(at), true) = (group_of[first as usize].checked_sub(1), mask.allows(other)) {
            groups[at as usize].push(other);
            group_of[other.get() as usize] = at + 1;
        }
    }
    let alone = mask
        .iter()
        .filter(|token| group_of[token.get() as usize] == 0);
    groups.extend(alone.map(|token| vec![token]));
    groups
}
