//! Text whose characters are lexemes of their own, and that leads back to the same configuration.
//!
//! For example, in a grammar of regular expressions `term: CHAR | ".."` every letter is a lexeme: a token of
//! five letters is five of them, and leads to where one letter leads.

use fsm_index::ClassId;

use crate::completion::live::Live;
use crate::hints::finder::{Finder, Found, MAX_PLACES, push};
use crate::hints::known::TextKind;
use crate::hints::text::{AskedLevels, Hints};
use crate::machine::{Machine, Ranges};
use crate::run::caches::Caches;
use crate::run::configs::WALK;
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

/// Tells whether a letter leads back to a set.
pub(super) fn lead_back(lex: u32, machine: &Machine, lexes: &mut Lexes) -> bool {
    lexes.step(
        lex,
        machine.lexer().classes[usize::from(LETTERS[0])],
        machine,
    ) == lex
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

impl Hints<'_> {
    /// Returns the class of which any text leads on, where its characters are lexemes of their own
    /// and some levels of the stacks tell so: because the answer may be asked for what one level
    /// tells, each has the height that was looked at.
    pub(super) fn free_letters(&mut self, config: u32, levels: AskedLevels) -> Option<ClassId> {
        if config & WALK != 0 {
            return None;
        }
        let found = match self.known.letters.get(&config) {
            Some(&found) => found,
            None => {
                // Asking is no step of a walk.
                let least = *self.caches.least_mut();
                let found = self.find_letters(config);
                *self.caches.least_mut() = least;
                self.known.bytes += 32;
                self.known.letters.insert(config, found);
                found
            }
        };
        let (class, looked) = found?;
        (levels == AskedLevels::All || looked >= self.known.level).then_some(class)
    }

    /// The same, with the least height of stacks that tells it.
    fn find_letters(&mut self, config: u32) -> Option<(ClassId, u32)> {
        self.caches.least_mut().anew();
        let chain = chain(self.machine, self.caches, config)?;
        let mut looked = self.caches.least_mut().height();
        let &last = chain.last()?;
        let mut class = match self.reading(last) {
            TextKind::LoopOnTop(class) => {
                looked = looked.min(self.caches.height(last));
                class
            }
            TextKind::Loop {
                class,
                looked: least,
            } => {
                looked = looked.min(least);
                class
            }
            TextKind::Like(_) | TextKind::Other => return None,
        };
        for way in chain.windows(2) {
            let step = |at, byte| {
                self.caches.least_mut().anew();
                let next = Live::new(self.machine, self.caches).step(at, byte);
                // A byte that leads elsewhere at once is no part of the text.
                if next == way[1] || byte >= 0x80 && next != 0 {
                    looked = looked.min(self.caches.least_mut().height());
                }
                (next != 0).then_some(next)
            };
            let own = Finder::class(
                0,
                way[0],
                |at| at == way[1],
                step,
                &mut Found::default(),
                MAX_PLACES,
            );
            // The loop may take more, such as a mark behind a letter, which may not come here.
            let both = common(self.machine.classes().get(class), &own);
            class = self.machine.classes().id(both)?;
        }
        Some((class, looked))
    }
}

/// Returns the ranges that two lists of ascending ranges have in common.
pub(super) fn common(one: &[(u32, u32)], another: &[(u32, u32)]) -> Ranges {
    let mut both = Vec::new();
    for own in one {
        let from = another.partition_point(|other| other.1 < own.0);
        let others = another[from..].iter();
        for other in others.take_while(|other| other.0 <= own.1) {
            push(&mut both, own.0.max(other.0), own.1.min(other.1));
        }
    }
    both.into()
}
