//! Text whose characters are lexemes of their own, and that leads back to the same configuration.
//!
//! For example, in a grammar of regular expressions `term: CHAR | ".."` every letter is a lexeme: a token of
//! five letters is five of them, and leads to where one letter leads.

use crate::completion::live::Live;
use crate::machine::Machine;
use crate::run::caches::Caches;
use crate::run::lexes::Lexes;

/// Letters that are tried, because most tokens consist of such: the first may lead into a list, and
/// the next to its items.
pub(super) const LETTERS: [u8; 4] = *b"etne";

/// Returns the configurations behind letters that are lexemes of their own, from the given one to one
/// that leads back to itself; none if they do not come to one. The first letter may end what has
/// begun.
pub(super) fn chain(machine: &Machine, caches: &mut Caches, config: u32) -> Option<Vec<u32>> {
    let mut chain = vec![config];
    let mut at = config;
    for letter in LETTERS {
        let begins = begins_lexemes(machine, caches, at, letter);
        if !begins && at != config {
            return None;
        }
        match Live::new(machine, caches).step(at, letter) {
            0 => return None,
            next if next == at => return begins.then_some(chain),
            next => {
                chain.push(next);
                at = next;
            }
        }
    }
    None
}

/// Tells whether letters may be lexemes of their own where lexemes begin in a set: the first is one
/// that the next does not prolong.
pub(super) fn may_begin(start: u32, machine: &Machine, lexes: &mut Lexes) -> bool {
    let [first, next, ..] = LETTERS.map(|letter| machine.lexer().classes[usize::from(letter)]);
    let begun = lexes.step(start, first, machine);
    begun != 0 && lexes.step(begun, next, machine) == 0
}

/// Tells whether nothing that has begun at a configuration goes on with a letter.
pub(super) fn begins_lexemes(
    machine: &Machine,
    caches: &mut Caches,
    config: u32,
    letter: u8,
) -> bool {
    let class = machine.lexer().classes[usize::from(letter)];
    let threads = caches.configs().threads(config).to_vec();
    threads.iter().all(|thread| {
        // Behind a lexeme that nothing prolongs the next one has not begun.
        !thread.is_in_json()
            && (caches.stacks().next(thread.front).start == thread.place
                || caches.lexes_mut().step(thread.place, class, machine) == 0)
    })
}
