//! The text that what is open lacks: the end of a lexeme, then the terminals that the lowest open production waits for, with
//! ignored text before them where names would go on. It tells of most places that they can be finished, for a few steps.
//!
//! For example, behind `f(a, [b` it is `]`, and then `)`: behind these the place is known.

use std::collections::HashSet;

use foldhash::fast::FixedState;

use crate::compile::cfg::Matter;
use crate::compile::lr::Finish;
use crate::completion::live::{Live, Passed, text_up_to};
use crate::completion::ways::{finished, shortest};
use crate::run::configs::Life;

/// The pieces of text by which something near is sought that can be finished, because of 140,000 places of Elixir's that were
/// told so none needed more than 11, and those that cannot be told so begin something further with each.
const MAX_PIECES: usize = 16;

/// The text that is tried first before a terminal: mostly none, and then blanks, because most languages have them, and the
/// second ends comments.
const BETWEEN: [&[u8]; 3] = [b"", b" ", b"\n"];

/// A production that lacks something: the height where it has begun, its number, and the place up to which it is read.
type Lacking = (u32, u32, u16);

impl Live<'_> {
    /// Tells whether the text that what is open lacks leads to a place that can be finished. Nothing else is tried than ignored
    /// text in between, and first the text that did so on top of other stacks with the same states.
    pub(super) fn leads_near(&mut self, config: u32) -> bool {
        let thread = self.lexeme_at(config);
        let before = thread.and_then(|thread| self.caches.stacks().led_on(thread));
        let mut found = before.and_then(|text| {
            let begun = vec![Passed::first(config)];
            let (begun, life) = self.pass(begun, &text)?;
            match life {
                Life::Live => Some(begun),
                _ => self.pass_lacking(begun),
            }
        });
        found = found.or_else(|| self.pass_lacking(vec![Passed::first(config)]));
        let Some(met) = found else {
            return false;
        };
        let last = met.len() - 1;
        self.mark_before(&met, last);
        self.keep_led_on(config, text_up_to(&met, last));
        true
    }

    /// Passes places by bytes: returns them with what is known of the last one, which is the first that can be finished. `None`
    /// if the bytes lead nowhere.
    fn pass(&mut self, mut met: Vec<Passed>, bytes: &[u8]) -> Option<(Vec<Passed>, Life)> {
        for &byte in bytes {
            let before = met.len() - 1;
            let config = self.steps().step(met[before].config, byte);
            if config == 0 {
                return None;
            }
            met.push(Passed {
                config,
                before,
                byte: Some(byte),
            });
            match self.known_life(config) {
                Life::Live => return Some((met, Life::Live)),
                Life::Stuck => return None,
                Life::Unknown => {}
            }
        }
        Some((met, Life::Unknown))
    }

    /// Passes places by the text that what is open lacks, up to one that can be finished. `None` if it leads to none.
    fn pass_lacking(&mut self, mut met: Vec<Passed>) -> Option<Vec<Passed>> {
        let mut said = HashSet::default();
        for _ in 0..MAX_PIECES {
            let at = met[met.len() - 1].config;
            if self.steps().ends_at(at) {
                return Some(met);
            }
            let lacking = self.lacking(at, &mut said)?;
            // Something else is lacking, too, where that cannot come.
            let Some(text) = self.way_over(at, lacking) else {
                continue;
            };
            self.caches.work_mut().charge(text.len());
            let (passed, life) = self.pass(met, &text)?;
            if life == Life::Live {
                return Some(passed);
            }
            met = passed;
        }
        None
    }

    /// Returns a terminal's shortest text from a state on. A terminal that begins there
    /// may have to wait for the end of what is open: for a blank behind a name that would go on, or the end of a comment.
    fn way_over(&mut self, config: u32, state: u32) -> Option<Vec<u8>> {
        let machine = self.machine;
        let text = finished(machine, state);
        let mut way = |between: &[u8]| self.way_between(config, between, state, &text);
        if let Some(way) = BETWEEN.iter().find_map(|between| way(between)) {
            return Some(way);
        }
        let lexer = machine.lexer();
        let ignored = machine.cfg().ignored.iter().flatten();
        let starts = ignored.map(|&terminal| lexer.starts[terminal as usize]);
        let is_open_text = |state: &u32| {
            machine.cfg().is_ignored(lexer.terminal[*state as usize])
                && lexer.distance[*state as usize] > 0
        };
        let open = self.begun(config).copied().filter(is_open_text);
        let ends: Vec<u32> = starts.chain(open).collect();
        let mut ends = ends.into_iter().map(|state| finished(machine, state));
        ends.find_map(|between| self.way_between(config, &between, state, &text))
    }

    /// Returns the lexemes that have begun, or may begin.
    fn lexes(&self, config: u32) -> impl Iterator<Item = u32> {
        let threads = self.caches.configs().threads(config).iter();
        let lexes = threads.filter(|thread| !thread.is_in_json());
        lexes.map(|thread| thread.place)
    }

    /// Returns the states of terminals in these.
    fn begun(&self, config: u32) -> impl Iterator<Item = &u32> {
        let lexes = self.lexes(config);
        lexes.flat_map(|lex| self.caches.lexes()[lex].members.iter())
    }

    fn way_between(
        &mut self,
        config: u32,
        between: &[u8],
        state: u32,
        text: &[u8],
    ) -> Option<Vec<u8>> {
        let lexer = self.machine.lexer();
        let terminal = lexer.terminal[state as usize];
        let begins_at = self.behind_bytes(config, between)?;
        let begins = lexer.starts[terminal as usize] == state;
        if begins && self.takes(begins_at, *text.first()?) {
            return None;
        }
        let end = self.behind_bytes(begins_at, text)?;
        self.has_ended(end, terminal)
            .then(|| [between, text].concat())
    }

    /// Returns the configuration behind some bytes, if they lead to one.
    fn behind_bytes(&mut self, config: u32, bytes: &[u8]) -> Option<u32> {
        let mut steps = self.steps();
        bytes.iter().try_fold(config, |at, &byte| {
            Some(steps.step(at, byte)).filter(|next| *next != 0)
        })
    }

    /// Tells whether a lexeme that is open takes a byte, so that nothing begins with it.
    fn takes(&mut self, config: u32, byte: u8) -> bool {
        let machine = self.machine;
        if !machine.is_greedy() || self.caches.configs()[config].fresh != 0 {
            return false;
        }
        let lexer = machine.lexer();
        let class = lexer.classes[usize::from(byte)];
        let has_begun =
            |&state: &u32| lexer.starts[lexer.terminal[state as usize] as usize] != state;
        let is_open = |lex: &u32| self.caches.lexes()[*lex].members.iter().any(has_begun);
        let lexes: Vec<u32> = self.lexes(config).filter(is_open).collect();
        let mut lexes = lexes.into_iter();
        lexes.any(|lex| self.caches.lexes_mut().step(lex, class, machine) != 0)
    }

    /// Tells whether a terminal may end in a configuration, or something has ended before it.
    fn has_ended(&self, config: u32, terminal: u32) -> bool {
        let accepts = |lex: u32| self.caches.lexes()[lex].accepts.contains(&terminal);
        self.caches.configs()[config].fresh != 0 || self.lexes(config).any(accepts)
    }

    /// Returns the state of a terminal whose shortest text from there on closes something: a lexeme that has begun, or else
    /// the lowest production that is open on top of the stacks, of those that have not lacked the same before.
    fn lacking(&mut self, config: u32, said: &mut HashSet<Lacking, FixedState>) -> Option<u32> {
        let machine = self.machine;
        let (lexer, tables) = (machine.lexer(), machine.tables());
        let standing = self.steps().standing(config);
        let stacks = self.caches.stacks();
        let topmost = stacks.topmost(standing).iter();
        let nodes = topmost.map(|&node| stacks.node(node));
        let finishes = nodes.flat_map(|node| {
            let finishes = tables.states[node.state as usize].finishes.iter();
            let open = finishes.filter(|finish| finish.cost > 0 && finish.held > 0);
            open.map(|finish| (node.height.saturating_sub(u32::from(finish.held)), finish))
        });
        let lacking = |begin: u32, finish: &Finish| (begin, finish.production, finish.dot);
        let new = finishes.filter(|(begin, finish)| !said.contains(&lacking(*begin, finish)));
        if let Some((begin, finish)) = new.min_by_key(|(begin, finish)| (*begin, finish.cost)) {
            said.insert(lacking(begin, finish));
            let right = &tables.rights[finish.production as usize];
            let terminal = shortest(machine, &right[usize::from(finish.dot)..]).next()?;
            let is_text = matches!(
                machine.cfg().terminals[terminal as usize].matter,
                Matter::Table(_)
            );
            return is_text.then(|| lexer.starts[terminal as usize]);
        }
        let states = self.begun(config);
        let nearest = states.min_by_key(|&&state| lexer.distance[state as usize])?;
        (lexer.distance[*nearest as usize] > 0).then_some(*nearest)
    }
}
