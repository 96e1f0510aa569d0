//! Lexemes behind which another cannot come, because greedy lexing takes its bytes.
//!
//! For example, `" Height: "` cannot come behind `/.*/`.

use super::bits::ClassSet;
use super::followers::{Followers, followers};
use crate::compile::cfg::Cfg;
use crate::compile::lexer::Lexer;

/// Two lexemes of which the second perhaps cannot come behind the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Conflict {
    pub(crate) first: u32,
    pub(crate) second: u32,
}

/// Returns a lexeme that a count of tokens or the end of an answer should end, and one that may come next and
/// begins with nothing but bytes by which the former goes on, wherever it has got to. O(states + pairs of
/// lexemes that follow each other), and nothing where there are no such lexemes.
pub(crate) fn swallowed(cfg: &Cfg, lexer: &Lexer) -> Option<Conflict> {
    let ended_from_outside = |terminal: u32| {
        let sampling = cfg.terminals[terminal as usize].sampling;
        sampling.max_tokens.is_some() || sampling.to_end
    };
    let all = 0..cfg.terminals.len() as u32;
    if !all.clone().any(ended_from_outside) {
        return None;
    }
    let ways = |state: u32| {
        let ways = lexer
            .row(state)
            .iter()
            .enumerate()
            .filter(|way| *way.1 != 0);
        ways.map(|way| way.0).collect::<ClassSet>()
    };
    // By terminal: the classes by which it goes on wherever it may end, and those with which it begins.
    let mut always: Vec<Option<ClassSet>> = vec![None; cfg.terminals.len()];
    for state in lexer.written_states() {
        let terminal = lexer.terminal[state as usize];
        if lexer.accepting[state as usize] && ended_from_outside(terminal) {
            let own = &mut always[terminal as usize];
            *own = Some(own.map_or(ways(state), |known| known.and(&ways(state))));
        }
    }
    let begins: Vec<ClassSet> = lexer.starts.iter().map(|&start| ways(start)).collect();
    let Followers { follow, .. } = followers(cfg);
    all.zip(&always).find_map(|(first, always)| {
        let takes = |second: u32| {
            let begins = begins[second as usize];
            !begins.is_empty() && always.is_some_and(|always| begins.and(&always) == begins)
        };
        let ignored = &cfg.ignored[cfg.terminals[first as usize].domain as usize];
        let is_apart = ignored.iter().any(|&ignored| !takes(ignored));
        let second = follow[first as usize].iter().find(|&second| takes(second));
        let second = second.filter(|_| !is_apart);
        second.map(|second| Conflict { first, second })
    })
}
