//! The characters that values can do without, for vocabularies that cannot spell all.
//!
//! For example, `{"enum": ["é", "e"]}` has a word with `é`, which an escape can spell if escapes are
//! allowed, and `{"type": "null"}` can do without `é`.

use schema_normal::language::char_dfa::DEAD;
use schema_normal::language::escapes;
use schema_normal::language::white_space::WHITE;

use crate::automaton::machine::Machine;
use crate::automaton::machine::objects::ObjectMachine;
use crate::automaton::machine::strings::{StringDemand, StringMachine};
use crate::automaton::machine::white_space::Space;

/// Code points, as inclusive ranges, ascending.
type Chars = [(u32, u32)];

/// The characters of punctuation, numbers, `true`, `false`, `null` and escapes, because other
/// characters are in words and names, which are looked at one by one, or in strings.
const STRUCTURE: &[u8] = b"\"\\,:[]{}+-.0123456789ABCDEFabcdeflnrstu";

/// Tells whether each text can be finished without some characters, whatever came before, as far as
/// that is plain: what has an escape of other characters is not missed.
pub(super) fn is_fine_without(machine: &Machine, chars: &Chars) -> bool {
    // Control characters stand in no string as they are.
    let missed = without(chars, &[(0, 0x1F)]);
    // Names have no escape that values lack.
    let escaped = escapes::by_number(machine.name_escapes()).iter();
    let escaped = escaped.map(|(a, b)| (u32::from(*a), u32::from(*b)));
    let escaped: Vec<(u32, u32)> = escaped.collect();
    is_fine(machine, chars, &without(&missed, &escaped))
}

/// Says the same, where no character but the missed ones has an escape.
pub(super) fn is_fine(machine: &Machine, chars: &Chars, missed: &Chars) -> bool {
    if STRUCTURE.iter().any(|&c| meets(chars, c.into(), c.into())) {
        return false;
    }
    // Other control characters than JSON's white space stand in no text at all.
    if !white_space_ends(machine.space(), chars) {
        return false;
    }
    missed.is_empty()
        || machine.nodes().iter().all(|node| {
            let string = node.string.as_ref();
            let object = node.object.as_ref();
            // Without the characters there may be too few items that must differ.
            let differ = node.array.as_ref().is_some_and(|m| m.unique);
            !differ
                && string.is_none_or(|m| are_strings_fine(m, missed))
                && object.is_none_or(|m| are_names_fine(m, missed))
        })
}

/// Tells whether the white space can be ended from each state without some characters: for example,
/// behind the `\r` of `\r?\n` it cannot be without `\n`.
fn white_space_ends(space: &Space, chars: &Chars) -> bool {
    let (next, accept) = space.tables();
    let usable = WHITE.map(|c| !meets(chars, u32::from(c), u32::from(c)));
    let mut incoming: Vec<Vec<u32>> = vec![Vec::new(); next.len()];
    for (from, row) in (0..).zip(next) {
        for (to, usable) in row.iter().zip(usable) {
            if usable && *to != DEAD {
                incoming[*to as usize].push(from);
            }
        }
    }
    let mut ends = accept.to_vec();
    let states = 0..next.len() as u32;
    let mut open: Vec<u32> = states.filter(|state| ends[*state as usize]).collect();
    while let Some(state) = open.pop() {
        for &from in &incoming[state as usize] {
            if !std::mem::replace(&mut ends[from as usize], true) {
                open.push(from);
            }
        }
    }
    ends.iter().all(|ends| *ends)
}

fn are_strings_fine(m: &StringMachine, missed: &Chars) -> bool {
    m.words.iter().all(|word| !has_any(&word.text, missed))
        && m.dfas.iter().all(|dfa| dfa.ends_without(missed))
        && m.leaves.iter().all(|leaf| match &leaf.demand {
            StringDemand::Listed => true,
            StringDemand::Counted { max, excludes, .. } => max.is_none() || !excludes,
            StringDemand::Read { lengths, .. } => lengths.is_none(),
        })
}

fn are_names_fine(m: &ObjectMachine, missed: &Chars) -> bool {
    m.names.iter().all(|name| !has_any(&name.text, missed)) && m.keys.is_none()
}

fn has_any(text: &str, chars: &Chars) -> bool {
    text.chars()
        .any(|c| meets(chars, u32::from(c), u32::from(c)))
}

fn meets(chars: &Chars, from: u32, to: u32) -> bool {
    chars.iter().any(|&(a, b)| a <= to && from <= b)
}

/// Returns the code points that are not among others.
fn without(chars: &Chars, others: &Chars) -> Vec<(u32, u32)> {
    let mut out = Vec::new();
    for &(mut from, to) in chars {
        for &(a, b) in others {
            if b < from || to < a {
                continue;
            }
            if from < a {
                out.push((from, a - 1));
            }
            from = b + 1;
        }
        if from <= to {
            out.push((from, to));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_without_others() {
        let some = [(5, 9), (20, 30)];
        assert_eq!(
            without(&some, &[(0, 4), (7, 7), (25, 40)]),
            [(5, 6), (8, 9), (20, 24)]
        );
        assert_eq!(without(&some, &[]), some);
        assert!(without(&some, &[(0, 40)]).is_empty());
        assert!(meets(&some, 9, 10) && !meets(&some, 10, 19));
    }
}
