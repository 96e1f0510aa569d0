//! Lexemes with a budget of tokens: the tokens that each has read a part of, and its end.
//!
//! For example, behind two tokens of digits of `num[max_tokens=2]: /[0-9]+/` the number ends, and
//! `Hz` has to come in `start: num "Hz"`.
//!
//! A budget forbids nothing inside of a token, so that masks do not depend on counts: where a token has
//! ended, the readings are left out in which a spent lexeme goes on. Texts are those of the grammar
//! without budgets.

use std::sync::Arc;

use crate::run::configs::Thread;
use crate::run::lexes::Lex;
use crate::run::step::Steps;

/// The tokens that open lexemes with a budget have read a part of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Taken {
    /// By terminal, ascending; `None` where no such lexeme is open.
    counts: Option<Arc<[(u32, u32)]>>,
}

impl Taken {
    fn new(mut counts: Vec<(u32, u32)>) -> Taken {
        counts.sort_unstable();
        counts.dedup();
        Taken {
            counts: (!counts.is_empty()).then(|| counts.into()),
        }
    }

    /// Tells whether no such lexeme is open.
    pub(crate) fn is_none(&self) -> bool {
        self.counts.is_none()
    }

    fn counts(&self) -> &[(u32, u32)] {
        self.counts.as_deref().unwrap_or_default()
    }

    /// Returns the tokens of a lexeme; 0 for one that was not open.
    fn of(&self, terminal: u32) -> u32 {
        let known = self.counts().iter().find(|count| count.0 == terminal);
        known.map_or(0, |count| count.1)
    }
}

impl Steps<'_> {
    /// Returns the counts behind a byte that leads from a configuration to another one.
    pub(crate) fn carry(&mut self, taken: &Taken, config: u32, byte: u8, next: u32) -> Taken {
        let class = self.machine.lexer().classes[usize::from(byte)];
        if let Some(open) = self.open_behind(config, class, next) {
            let counts = open
                .into_iter()
                .map(|terminal| (terminal, taken.of(terminal)));
            return Taken::new(counts.collect());
        }
        // The byte ends a lexeme, and begins the next one.
        let front = match self.machine.is_greedy() {
            true => self.ended(config),
            false => 0,
        };
        if front == 0 {
            return Taken::default();
        }
        let between = self.between(front);
        let open = self.open_behind(between, class, next).unwrap_or_default();
        Taken::new(open.into_iter().map(|terminal| (terminal, 0)).collect())
    }

    /// Returns the terminals with a budget that read a byte and go on behind it. `None` if no lexeme
    /// reads it.
    fn open_behind(&mut self, config: u32, class: u8, next: u32) -> Option<Vec<u32>> {
        let mut open = None;
        for at in 0..self.caches.configs.threads(config).len() {
            let thread @ Thread { place, front } = self.caches.configs.threads(config)[at];
            if thread.is_in_json() {
                continue;
            }
            let place = self.caches.lexes.step(place, class, self.machine);
            if place == 0 || self.caches.lexes.is_trapped(place, self.machine) {
                continue;
            }
            let open: &mut Vec<u32> = open.get_or_insert_default();
            let lexes = &self.caches.lexes;
            let place = match self.machine.is_greedy() {
                true => place,
                false => lexes[place].open,
            };
            let members = &lexes[place].members;
            let mut threads = self.caches.configs.threads(next).iter();
            let goes_on = place != 0
                && threads.any(|to| {
                    let all = || &lexes[to.place].members;
                    to.front == front
                        && !to.is_in_json()
                        && (to.place == place
                            || !self.machine.is_greedy()
                                && members.iter().all(|state| all().contains(state)))
                });
            if goes_on {
                let terminals = lexes[place].terminals(self.machine);
                open.extend(terminals.filter(|&terminal| self.budget(terminal).is_some()));
            }
        }
        open
    }

    fn budget(&self, terminal: u32) -> Option<u32> {
        let sampling = self.machine.cfg().terminals[terminal as usize].sampling;
        sampling.max_tokens.map(u32::from)
    }

    /// Counts a token that ends at a configuration. Returns the configuration without what spent
    /// lexemes could go on with, if there is such a lexeme and something else may come.
    pub(crate) fn end_token(&mut self, config: u32, taken: &mut Taken) -> Option<u32> {
        let counts = taken.counts().iter();
        let counts: Vec<(u32, u32)> = counts.map(|&(of, n)| (of, n.saturating_add(1))).collect();
        let is_spent =
            |count: &&(u32, u32)| self.budget(count.0).is_some_and(|most| count.1 >= most);
        let spent: Vec<u32> = counts
            .iter()
            .filter(is_spent)
            .map(|count| count.0)
            .collect();
        *taken = Taken::new(counts);
        match spent.is_empty() {
            true => None,
            false => self.closed(config, &spent),
        }
    }

    /// Returns a configuration in which some lexemes have ended or have to end.
    fn closed(&mut self, config: u32, spent: &[u32]) -> Option<u32> {
        let lexer = self.machine.lexer();
        let is_greedy = self.machine.is_greedy();
        let mut threads = Vec::new();
        for thread in self.caches.configs.threads(config).to_vec() {
            if thread.is_in_json() {
                threads.push(thread);
                continue;
            }
            let Lex {
                members, origins, ..
            } = &self.caches.lexes[thread.place];
            let (members, origins) = (members.iter(), *origins);
            let members = members.filter_map(|&state| {
                let terminal = lexer.terminal[state as usize];
                let has_begun = state != lexer.starts[terminal as usize];
                match spent.contains(&terminal) && has_begun {
                    false => Some(state),
                    // Its followers have begun beside it if every split counts.
                    true if is_greedy && lexer.accepting[state as usize] => {
                        Some(lexer.closed(state))
                    }
                    true => None,
                }
            });
            let place = self
                .caches
                .lexes
                .intern(members.collect(), origins, self.machine);
            if place != 0 {
                threads.push(Thread { place, ..thread });
            }
        }
        let fresh = self.caches.configs[config].fresh;
        let closed = self.intern(threads, fresh);
        let goes_on = closed != 0
            && (self.is_accepting(closed)
                || (0..lexer.bytes.len()).any(|class| self.step(closed, lexer.bytes[class]) != 0));
        goes_on.then_some(closed)
    }
}
