//! Text of a class with so many characters at most: states of a terminal that lead on one behind another.
//!
//! For example, in `/[^\n]{1,80}/` each character leads to a state of its own, and all of them lead on alike.

use crate::compile::class_set::ClassSet;
use crate::hints::finder::{LEAST_CHARS, most};
use crate::hints::known::{CharsBetween, Free, Known};
use crate::hints::leading::{BEYOND_ASCII, class_of};
use crate::machine::Machine;

/// The most characters that are counted, because no token of the vocabularies that people use has more than 256.
const MOST_CHARS: usize = 256;

/// The places inside of characters of several bytes that are compared for two states: as many as UTF-8 has, and some letters'.
const MOST_PAIRS: usize = 64;

/// Returns the class of characters that lead from a state to another one, behind which they lead on, and so forth: with the
/// number of these.
pub(super) fn counted_from(state: u32, machine: &Machine, known: &mut Known) -> Option<Free> {
    if let Some(&known) = known.counted_from.get(&state) {
        return known;
    }
    let chain = Chain::new(state, machine);
    let free = chain.as_ref().and_then(|chain| chain.free(machine, known));
    known.bytes += 40;
    known.counted_from.insert(state, free);
    let (Some(chain), Some(free)) = (chain, free) else {
        return free;
    };
    // The states behind it lead on by the same characters, but the last, unless the first is that of a capital, say, behind which
    // more characters are counted. A chain that was cut says too little of more.
    let told = match chain.is_cut {
        true => chain.states.len() - MOST_CHARS,
        false => chain.states.len() - 1,
    };
    let behind = chain.states.windows(2).take(told).enumerate().skip(1);
    for (at, ways) in
        behind.take_while(|(_, ways)| ascii_between(ways[0], ways[1], machine) == chain.ascii)
    {
        let state = ways[0];
        let chars = free.chars - at;
        known.bytes += 40;
        let own = known.counted_from.entry(state);
        own.or_insert(Some(Free { chars, ..free }));
    }
    Some(free)
}

/// States that lead on one behind another by the same characters.
struct Chain {
    states: Vec<u32>,
    /// The characters of ASCII by which they do so.
    ascii: u128,
    /// True if there may be more states.
    is_cut: bool,
    /// True if a text that is longer leads nowhere, and no shorter one is a lexeme.
    ends: bool,
}

impl Chain {
    fn new(state: u32, machine: &Machine) -> Option<Chain> {
        let lexer = machine.lexer();
        let is_alive = |state: u32| state != 0 && !lexer.is_trap(state);
        let count = |classes: std::ops::Range<usize>| -> usize {
            let own = classes.map(|class| lexer.sets[class].ascii().count_ones() as usize);
            own.sum()
        };
        let ways = lexer.ways(state).filter(|way| is_alive(way.1));
        let (to, count) = most(ways.map(|(classes, to)| (to, count(classes))))?;
        if count < LEAST_CHARS || to == state {
            return None;
        }
        let own = lexer.ways(state).filter(|way| way.1 == to);
        let classes: ClassSet = own
            .flat_map(|way| way.0)
            .filter(|&class| lexer.sets[class].ascii() != 0)
            .collect();
        let mut states = vec![state, to];
        while states.len() < 2 * MOST_CHARS {
            let [.., from, at] = states[..] else { break };
            let mut next = classes.iter().map(|class| lexer.row(at)[class]);
            let to = next.next().unwrap_or(0);
            let is_one = is_alive(to) && next.all(|other| other == to);
            if !is_one || to == at || !lead_alike([from, at], [at, to], machine) {
                break;
            }
            states.push(to);
        }
        let last = states[states.len() - 1];
        let is_open = |&state: &u32| !lexer.accepting[state as usize];
        let leads_nowhere = classes.iter().all(|class| lexer.row(last)[class] == 0)
            && lead_alike([states[0], states[1]], [last, 0], machine);
        let is_cut = states.len() >= 2 * MOST_CHARS;
        Some(Chain {
            is_cut,
            ends: !is_cut && leads_nowhere && states.iter().all(is_open),
            ascii: ascii_between(state, to, machine),
            states,
        })
    }

    /// Returns the text that may come at the first of the states.
    fn free(&self, machine: &Machine, known: &mut Known) -> Option<Free> {
        let [from, to] = [self.states[0], self.states[1]];
        let leading = CharsBetween {
            ascii: self.ascii,
            from: (from, from),
            to,
        };
        Some(Free {
            class: class_of(leading, machine, known)?,
            count: self.ascii.count_ones() as usize,
            chars: self.states.len() - 1,
            ends: self.ends,
            leading,
        })
    }
}

/// Returns the characters of ASCII that lead from a state to another one, as bits.
fn ascii_between(from: u32, to: u32, machine: &Machine) -> u128 {
    let lexer = machine.lexer();
    let ways = lexer.ways(from).filter(|way| way.1 == to);
    let classes = ways.flat_map(|way| way.0);
    classes.fold(0, |all, class| all | lexer.sets[class].ascii())
}

/// Tells whether each character beyond ASCII that leads from a state to another one leads so between two others.
fn lead_alike([from, to]: [u32; 2], [other, behind]: [u32; 2], machine: &Machine) -> bool {
    let lexer = machine.lexer();
    let is_inside = |state: u32| {
        let mut classes = lexer.ways(state).flat_map(|way| way.0);
        classes.all(|class| lexer.sets[class].ascii() == 0)
    };
    let mut pairs = vec![(from, other)];
    let mut at = 0;
    while let Some(&(one, another)) = pairs.get(at) {
        at += 1;
        for (classes, next) in lexer.ways(one) {
            for class in classes.filter(|&class| lexer.sets[class].meets(BEYOND_ASCII)) {
                let pair = (next, lexer.row(another)[class]);
                let is_over = next == to;
                if is_over && pair.1 != behind {
                    return false;
                }
                if !is_over && is_inside(next) && !pairs.contains(&pair) {
                    pairs.push(pair);
                }
            }
        }
        if pairs.len() > MOST_PAIRS {
            return false;
        }
    }
    true
}
