//! Characters that lead from two states of a terminal to one, as a class.
//!
//! For example, letters and digits lead from the first letter of a name to the loop of its others.

use fsm_index::{ByteSet, ClassId};

use crate::hints::finder::{Finder, MAX_PLACES_OF_TERMINALS, push};
use crate::hints::known::{CharsBetween, Known};
use crate::machine::{Machine, Ranges};

/// The bytes of characters beyond ASCII: told apart, because one of them alone leads back nowhere.
pub(super) const BEYOND_ASCII: ByteSet = ByteSet::range(0x80, 0xFF);

/// Returns the class of some characters.
pub(super) fn class_of(
    chars: CharsBetween,
    machine: &Machine,
    known: &mut Known,
) -> Option<ClassId> {
    if let Some(&known) = known.classes.get(&chars) {
        return known;
    }
    let mut ranges = Vec::new();
    (0..128)
        .filter(|byte| chars.ascii >> byte & 1 == 1)
        .for_each(|byte| push(&mut ranges, byte, byte));
    let beyond = beyond_ascii(chars, machine, known);
    beyond
        .iter()
        .for_each(|&(first, last)| push(&mut ranges, first, last));
    let class = machine.classes().id(ranges.into());
    known.bytes += 48;
    known.classes.insert(chars, class);
    class
}

/// Returns those of some characters that are beyond ASCII.
fn beyond_ascii(chars: CharsBetween, machine: &Machine, known: &mut Known) -> Ranges {
    if let Some(known) = known.beyond_ascii.get(&(chars.from, chars.to)) {
        return known.clone();
    }
    let to = chars.to;
    let lexer = machine.lexer();
    let both = |(a, b): (u32, u32), byte: u8| {
        let first = step(machine, a, byte);
        let second = if a == b {
            first
        } else {
            step(machine, b, byte)
        };
        (first != 0 && second != 0).then_some((first, second))
    };
    let turns = |(a, b): (u32, u32)| match a == b {
        true => lexer.inner_turns(a),
        false => lexer.inner_turns(a) | lexer.inner_turns(b),
    };
    let found = known.into_loops.entry(to).or_default();
    let before = found.bytes();
    let most = MAX_PLACES_OF_TERMINALS;
    let finder = Finder::new(|at| at == (to, to), both, turns, found, most);
    let beyond = finder.find(0x80, chars.from);
    known.bytes += 48 + found.bytes() - before + 8 * beyond.len();
    known.beyond_ascii.insert((chars.from, to), beyond.clone());
    beyond
}

fn step(machine: &Machine, state: u32, byte: u8) -> u32 {
    let lexer = machine.lexer();
    lexer.step(state, lexer.classes[usize::from(byte)])
}
