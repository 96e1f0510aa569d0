//! Steps of objects that several threads read: each thread is asked whether it can go on, which
//! takes long, while many texts lead to the same.
//!
//! For example, behind `"kind": "a"` one thread of an `anyOf` goes on and another is dropped.

use crate::automaton::machine::Machine;
use crate::automaton::machine::objects::ObjectMachine;
use crate::automaton::run::config::{EMPTY_LIST, has_goal, threads_in};
use crate::automaton::run::found::Behind;
use crate::automaton::run::scratch::{Noted, Scratch};

/// Sets a bit, where there may be fewer words than it needs.
pub(super) fn set_bit(words: &mut Vec<u32>, bit: u32) {
    let word = bit as usize / 32;
    words.resize(words.len().max(word + 1), 0);
    words[word] |= 1 << (bit % 32);
}

/// Tells whether a list of threads, each with its own state, has several.
pub(super) fn are_several(threads: &[u32]) -> bool {
    threads.len() > 2
}

/// Returns the threads that go on behind the open member of the object on top of a stack, if its
/// value satisfies the goals `set`.
pub(super) fn behind_member(machine: &Machine, set: u32, top: Noted, x: &mut Scratch) -> Behind {
    let threads = x.peek(top).frame.threads;
    if !are_several(x.slice(threads)) {
        return fresh_behind_member(machine, set, top, x);
    }
    if let Some(known) = x.found().objects.closed.get(&(top.stack(), set)) {
        return *known;
    }
    let behind = fresh_behind_member(machine, set, top, x);
    x.found_mut()
        .objects
        .closed
        .insert((top.stack(), set), behind);
    behind
}

fn fresh_behind_member(machine: &Machine, set: u32, top: Noted, x: &mut Scratch) -> Behind {
    let frame = x.peek(top).frame;
    let mut facts: Vec<u32> = Vec::new();
    let Some(m) = machine.object(frame.node) else {
        return Behind {
            threads: EMPTY_LIST,
            used: frame.used,
        };
    };
    let live = machine.live(machine.room(x.depth(top.stack())));
    let held = x.list(set);
    let threads = x.list(frame.threads);
    let member = m.member(frame.member);
    let used = x.list(frame.used);
    let extras = extras(m, frame.seen, x);
    let at = frame.object_at(&used, &extras);
    let mut next: Vec<(u32, u32)> = Vec::new();
    for thread in threads_in(&threads) {
        for c in member.of(thread.id) {
            if !has_goal(&held, c.goal) || !live.goes_on(m, thread, (frame.member, c), &at) {
                continue;
            }
            let t = &m.threads[thread.id as usize];
            match t.decisions {
                Some(_) => {
                    facts.extend(t.fact(frame.member, c.take));
                    next.push((thread.id, thread.progress));
                }
                None => next.push((thread.id, thread.progress | c.take)),
            }
        }
    }
    next.sort_unstable();
    next.dedup();
    if next.windows(2).any(|pair| pair[0].0 == pair[1].0) {
        let all = next.clone();
        // If two differ in what they have found, more is better.
        next.retain(|(t, e)| {
            let from = all.partition_point(|(u, _)| u < t);
            let mut same = all[from..].iter().take_while(|(u, _)| u == t);
            !same.any(|(_, f)| f != e && f & e == *e)
        });
    }
    let flat: Vec<u32> = next.iter().flat_map(|(t, e)| [*t, *e]).collect();
    let mut behind = Behind {
        threads: x.add_list(&flat),
        used: frame.used,
    };
    if !facts.is_empty() {
        let mut used = used.to_vec();
        for bit in facts {
            set_bit(&mut used, bit);
        }
        behind.used = x.add_list(&used);
    }
    behind
}

/// The numbers of further names used, by class, where a class is finite.
pub(super) fn extras(m: &ObjectMachine, seen: u32, x: &Scratch) -> Vec<u64> {
    if seen == 0 || m.classes.iter().all(|c| c.count.is_none()) {
        return Vec::new();
    }
    let mut out = vec![0; m.classes.len()];
    let seen = x.seen(seen);
    for name in seen.list.iter() {
        if let Some(slot) = out.get_mut(m.class_of(name) as usize) {
            *slot += 1;
        }
    }
    out
}
