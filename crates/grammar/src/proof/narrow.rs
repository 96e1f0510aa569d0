//! Ignored text behind which some lexemes cannot come: it takes what they begin with.
//!
//! For example, in a language whose statements end with lines, a comment up to the end of its line
//! lets nothing follow but the end of that line. Inside of a bracket nothing completes it.

use std::collections::HashSet;

use foldhash::fast::FixedState;

use super::bits::ClassSet;
use super::sets::Sets;

/// Ignored text behind which some lexemes cannot come, all of it with the same ones that can.
#[derive(Debug)]
pub(crate) struct Narrow {
    /// By state of the lexer: whether the text is such text.
    states: Vec<bool>,
    /// By terminal: whether it can come behind such text.
    can_follow: Vec<bool>,
}

impl Narrow {
    /// `found` are the states of ignored text that ends where some lexeme cannot come. `None` where
    /// there are none, or not the same lexemes can come behind all of them: then nothing is told by
    /// the stacks alone.
    pub(super) fn new(
        sets: &Sets<'_>,
        firsts: &[Option<ClassSet>],
        found: &[u32],
    ) -> Option<Narrow> {
        let (cfg, lexer) = (sets.cfg, sets.lexer);
        let mut ignored = cfg.ignored.iter().flatten();
        let (&own, None) = (ignored.next()?, ignored.next()) else {
            return None;
        };
        if found.is_empty() || sets.has_cuts || cfg.terminals[own as usize].is_lazy {
            return None;
        }
        let count = lexer.terminal.len() as u32;
        let of_ignored = (1..count).filter(|&state| lexer.terminal[state as usize] == own);
        let of_ignored: Vec<u32> = of_ignored.collect();
        let mut states = vec![false; count as usize];
        of_ignored
            .iter()
            .for_each(|&state| states[state as usize] = true);
        // All is narrow that comes to no other end.
        let is_wide = |state: u32| lexer.accepting[state as usize] && !found.contains(&state);
        let wide = of_ignored.iter().filter(|&&state| is_wide(state));
        wide.for_each(|&state| states[state as usize] = false);
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for &state in &of_ignored {
                let mut row =
                    (0..sets.width()).filter_map(|class| sets.pair_behind((state, 0), class));
                let is_found = found.contains(&state);
                if states[state as usize] && !is_found && row.any(|to| !states[to.0 as usize]) {
                    states[state as usize] = false;
                    changed = true;
                }
            }
        }
        let mut same: Option<Vec<bool>> = None;
        for &state in of_ignored.iter().filter(|&&state| states[state as usize]) {
            let own = can_follow(sets, firsts, own, state);
            if same.get_or_insert_with(|| own.clone()) != &own {
                return None;
            }
        }
        let begins_narrow = states[lexer.starts[own as usize] as usize];
        let can_follow = same.filter(|_| !begins_narrow)?;
        Some(Narrow { states, can_follow })
    }

    /// Tells whether ignored text in a state is such text.
    #[inline]
    pub(crate) fn has(&self, state: u32) -> bool {
        self.states[state as usize]
    }

    /// Tells whether a terminal can come behind such text.
    #[inline]
    pub(crate) fn can_follow(&self, terminal: u32) -> bool {
        self.can_follow[terminal as usize]
    }
}

/// By terminal: whether it can come behind ignored text in a state, or behind more of such text.
fn can_follow(sets: &Sets<'_>, firsts: &[Option<ClassSet>], ignored: u32, state: u32) -> Vec<bool> {
    let lexer = sets.lexer;
    let start = lexer.starts[ignored as usize];
    let mut open = vec![state];
    let mut seen: HashSet<u32, FixedState> = HashSet::from_iter([state]);
    // The classes that may come behind some end.
    let mut free = ClassSet::default();
    while let Some(state) = open.pop() {
        let mut turns = *lexer.turns(state);
        turns.or(lexer.turns(start));
        turns.or(sets.usable_turns());
        for class in turns.iter() {
            let next = sets.pair_behind((state, 0), class).map(|way| way.0);
            let takes = lexer.step(state, class as u8) != 0;
            let ends = lexer.accepting[state as usize] && !takes;
            let again = sets.pair_behind((start, 0), class).map(|way| way.0);
            let again = again.filter(|_| ends);
            open.extend(next.into_iter().chain(again).filter(|&to| seen.insert(to)));
            if ends {
                free.fill(class..turns.next_from(class + 1).unwrap_or(sets.width()));
            }
        }
    }
    let can = firsts.iter().map(|first| match first {
        Some(first) => first.meets(&free),
        None => !free.is_empty(),
    });
    let mut can: Vec<bool> = can.collect();
    can[ignored as usize] = false;
    can
}
