//! The bytes that greedy lexing may take behind a value of JSON: of what prolongs the value, and of
//! what was read beside it. For example, a digit behind a number.

use fsm_index::ByteAutomaton;
use schema_regex::automaton::SchemaAutomaton;

use super::bits::{Bits, ClassSet};
use super::sets::Sets;
use crate::compile::cfg::Matter;

/// Tells of bytes whether a text of a schema may begin with each: in one go, because the working
/// memory takes longer to make than a byte to read.
pub(super) fn begins(automaton: &SchemaAutomaton, bytes: &[u8]) -> impl Iterator<Item = bool> {
    let mut scratch = automaton.scratch();
    bytes.iter().map(move |&byte| {
        let mut state = automaton.start();
        automaton.advance(&mut state, &[byte], &mut scratch).is_ok()
    })
}

/// The bytes that a value which is complete may take all the same: only a number goes on.
pub(super) fn prolonging(automaton: &SchemaAutomaton) -> &'static [u8] {
    match begins(automaton, b"-0123456789").any(|is_number| is_number) {
        true => b" \t\n\r0123456789.eE+-",
        false => b" \t\n\r",
    }
}

impl Sets<'_> {
    /// Tells whether other lexemes may be read beside a value: such as may begin where it does,
    /// with a byte with which it may begin. `firsts` are of the whole text.
    pub(super) fn mixes(
        &self,
        value: u32,
        firsts: &Bits,
        follow: &[Bits],
        begins: &[Option<ClassSet>],
    ) -> bool {
        let cfg = self.cfg;
        let mut beside = Bits::new(cfg.terminals.len());
        let mut add = |bits: &Bits| {
            beside.or(bits);
        };
        if firsts.has(value) {
            add(firsts);
        }
        // The lexemes that end where something ends that the value follows.
        let is_before = |terminal: u32| follow[terminal as usize].has(value);
        let json = (0..).zip(&cfg.terminals).filter_map(|(number, terminal)| {
            matches!(terminal.matter, Matter::Json(_)).then_some(number)
        });
        let json: Vec<u32> = json.collect();
        for terminal in (0..cfg.terminals.len() as u32).filter(|&t| is_before(t)) {
            add(&follow[terminal as usize]);
        }
        // Values that end together are not told apart.
        if json.iter().any(|&terminal| is_before(terminal)) {
            json.iter().for_each(|&t| add(&follow[t as usize]));
        }
        for set in 1..self.len() as u32 {
            let ended = self.ended(set);
            let mut ended: Vec<u32> = ended
                .map(|state| self.lexer.terminal[state as usize])
                .collect();
            ended.extend(json.iter().filter(|_| self.may_be_json(set)));
            if ended.iter().any(|&terminal| is_before(terminal)) {
                // If ignored text ends as well, all may come that might before.
                if ended.iter().any(|&t| cfg.is_ignored(t)) {
                    return true;
                }
                ended.iter().for_each(|&t| add(&follow[t as usize]));
            }
        }
        cfg.ignored
            .iter()
            .flatten()
            .for_each(|&ignored| beside.set(ignored));
        let takes = |terminal: u32, class: usize| match &cfg.terminals[terminal as usize].matter {
            Matter::Table(_) => {
                let start = self.lexer.starts[terminal as usize];
                self.lexer.step(start, class as u8) != 0
            }
            Matter::Json(_) | Matter::Special(_) => {
                let classes = begins[terminal as usize].as_ref();
                classes.is_some_and(|classes| classes.has(class))
            }
        };
        let width = self.lexer.width();
        let own = begins[value as usize].as_ref();
        beside.iter().filter(|&t| t != value).any(|t| {
            (0..width).any(|class| own.is_none_or(|own| own.has(class)) && takes(t, class))
        })
    }
}
