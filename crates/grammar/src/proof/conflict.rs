//! Lexemes behind which another cannot come, because greedy lexing takes its bytes.
//!
//! For example, `" Height: "` cannot come behind `/.*/`.

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
/// begins with nothing but bytes by which the former goes on, wherever it has got to. O(states of such
/// lexemes), and nothing where there are none.
pub(crate) fn swallowed(cfg: &Cfg, lexer: &Lexer) -> Option<Conflict> {
    let ended_from_outside = |terminal: &u32| {
        let sampling = cfg.terminals[*terminal as usize].sampling;
        sampling.max_tokens.is_some() || sampling.to_end
    };
    let all = 0..cfg.terminals.len() as u32;
    let asked: Vec<u32> = all.filter(ended_from_outside).collect();
    if asked.is_empty() {
        return None;
    }
    let Followers { follow, .. } = followers(cfg);
    asked.into_iter().find_map(|first| {
        let ends = lexer.ends_of(first);
        let takes = |second: u32| {
            let start = lexer.starts[second as usize];
            let begins =
                (0..=(lexer.width() - 1) as u8).filter(|&class| lexer.step(start, class) != 0);
            let goes_on = |class: u8| ends.iter().all(|&end| lexer.step(end, class) != 0);
            start != 0 && begins.map(goes_on).min() == Some(true)
        };
        let ignored = &cfg.ignored[cfg.terminals[first as usize].domain as usize];
        let is_apart = ignored.iter().any(|&ignored| !takes(ignored));
        let second = follow[first as usize].iter().find(|&second| takes(second));
        let second = second.filter(|_| !is_apart);
        second.map(|second| Conflict { first, second })
    })
}
