//! The demands that the first thread of a container has not met yet, and the item or member that
//! brings it nearer to its end.
//!
//! For example, in `{"a": 1` with `a` and `b` required the name `b` is lacking.

use crate::automaton::machine::Machine;
use crate::automaton::machine::decisions::FURTHER;
use crate::automaton::machine::node::Choice;
use crate::automaton::machine::objects::ObjectMachine;
use crate::automaton::machine::progress::{Thread, has_bit};
use crate::automaton::run::config::{Config, Frame, Top, threads_in};
use crate::automaton::run::member_names;
use crate::automaton::run::scratch::Scratch;

/// Before a value, or inside of a scalar: with the one goal that brings a thread of the
/// container forward.
pub(super) fn narrowed(machine: &Machine, config: Config, x: &mut Scratch) -> Config {
    let set = match config.top {
        Top::Value { set, .. }
        | Top::Unit { set, .. }
        | Top::Number { set, .. }
        | Top::String { set, .. } => set,
        Top::Key(_) | Top::Gap(..) | Top::End => return config,
    };
    if config.stack == 0 {
        return config;
    }
    let frame = x.frame(config.stack).frame;
    let choice = if frame.is_object {
        member_choice(machine, config.stack, frame.member, x)
    } else {
        item_choice(machine, config.stack, x)
    };
    let Some(choice) = choice else {
        return config;
    };
    let wanted = x.list(set);
    if !wanted.contains(&choice.goal) {
        return config;
    }
    let set = x.add_list(&[choice.goal]);
    let top = match config.top {
        Top::Value { node, space, .. } => Top::Value { node, set, space },
        Top::Unit { word, at, .. } => Top::Unit { word, at, set },
        Top::Number { node, state, .. } => Top::Number { node, set, state },
        Top::String { node, text, .. } => Top::String { node, set, text },
        other => other,
    };
    Config { top, ..config }
}

/// Returns the choice that brings most, among those that keep a thread alive.
pub(super) fn item_choice(machine: &Machine, stack: u32, x: &mut Scratch) -> Option<Choice> {
    let frame = x.frame(stack).frame;
    let m = machine.array(frame.node)?;
    let live = machine.live(machine.room(x.depth(stack)));
    let member = m.member(frame.pos);
    let pos = m.behind(frame.pos);
    let threads = x.list(frame.threads);
    let heights = &machine.nodes().get(member.node as usize)?.heights;
    // The thread that lacks least, so that each item brings it nearer; among equal ones the
    // flattest, and counts are raised only where they must be.
    let lack = |thread: u32, progress: u32| m.threads[thread as usize].counts.lacking(progress);
    let nearest = threads_in(&threads).min_by_key(|thread| lack(thread.id, thread.progress))?;
    let choices = member.of(nearest.id).iter().filter_map(|c| {
        if !live.fits(member, c.goal) {
            return None;
        }
        let progress = live.behind_item(m, nearest, c.take, pos)?;
        Some((
            lack(nearest.id, progress),
            heights[c.goal as usize],
            progress != nearest.progress,
            c,
        ))
    });
    let best = choices.min_by_key(|(lack, height, raised, _)| (*lack, *height, *raised));
    best.map(|(_, _, _, choice)| *choice)
}

fn member_choice(machine: &Machine, stack: u32, number: u32, x: &mut Scratch) -> Option<Choice> {
    let frame = x.frame(stack).frame;
    let m = machine.object(frame.node)?;
    let live = machine.live(machine.room(x.depth(stack)));
    let threads = x.list(frame.threads);
    let first = threads_in(&threads).next()?;
    let used = x.list(frame.used);
    let at = frame.object_at(&used, &[]);
    let member = m.member(number);
    let heights = &machine.nodes().get(member.node as usize)?.heights;
    member
        .of(first.id)
        .iter()
        .filter(|c| live.fits(member, c.goal) && live.goes_on(m, first, (number, c), &at))
        .max_by_key(|c| {
            let t = &m.threads[first.id as usize];
            let gain = match &t.decisions {
                None => i64::from((c.take & !first.progress).count_ones()),
                Some(decisions) => {
                    let at = at.with_fact(t.fact(number, c.take));
                    let needs = decisions.nearest(&live, m, &at);
                    needs.map_or(i64::MIN, |(needs, _)| -(needs as i64))
                }
            };
            (gain, u32::MAX - heights[c.goal as usize])
        })
        .copied()
}

/// The declared names, by number, that the thread of an object which lacks the fewest members
/// requires and has not met.
pub(super) fn required_names(machine: &Machine, stack: u32, x: &mut Scratch) -> Option<Vec<u32>> {
    let frame = x.frame(stack).frame;
    let m = machine.object(frame.node)?;
    let threads = x.list(frame.threads);
    let used = x.list(frame.used);
    let first = nearest(m, &frame, &threads, &used)?;
    let t = &m.threads[first.id as usize];
    let open = t.required.iter().filter(|(_, n)| !has_bit(&used, *n));
    let mut open: Vec<u32> = open.map(|(_, n)| *n).collect();
    if let Some(decisions) = &t.decisions {
        let live = machine.live(machine.room(x.depth(stack)));
        let at = frame.object_at(&used, &[]);
        let nearest = decisions.nearest(&live, m, &at);
        open.extend(
            nearest
                .and_then(|(_, first)| first)
                .filter(|n| *n != FURTHER),
        );
    }
    Some(open)
}

/// The members, by number, that are further names and give what the first
/// thread of an object still lacks.
pub(super) fn classes_wanted(machine: &Machine, stack: u32, x: &mut Scratch) -> Option<Vec<u32>> {
    let top = x.note(stack);
    let frame = x.peek(top).frame;
    let m = machine.object(frame.node)?;
    let threads = x.list(frame.threads);
    let used = x.list(frame.used);
    let first = nearest(m, &frame, &threads, &used)?;
    let t = &m.threads[first.id as usize];
    let open = match &t.decisions {
        None => t.witnesses & !first.progress,
        Some(decisions) => {
            let live = machine.live(machine.room(x.depth(stack)));
            let at = frame.object_at(&used, &[]);
            let nearest = decisions.nearest(&live, m, &at);
            u32::from(nearest.and_then(|(_, first)| first) == Some(FURTHER))
        }
    };
    let usable = member_names::usable(machine, top, x).classes;
    let wanted = (0..m.classes.len())
        .filter(|class| usable & (1 << class) != 0)
        .filter(|class| {
            let choices = m.classes[*class].member.of(first.id);
            choices.iter().any(|choice| choice.take & open != 0)
        })
        .map(|class| (m.declared.len() + class) as u32);
    Some(wanted.collect())
}

/// The thread of an object that lacks the fewest members, so that each name that is written brings it
/// nearer.
pub(super) fn nearest(
    m: &ObjectMachine,
    frame: &Frame,
    threads: &[u32],
    used: &[u32],
) -> Option<Thread> {
    threads_in(threads).min_by_key(|thread| {
        let t = &m.threads[thread.id as usize];
        let names = t.required.iter().filter(|(_, n)| !has_bit(used, *n));
        let open = u64::from((t.witnesses & !thread.progress).count_ones());
        let members = t.min.saturating_sub(u64::from(frame.count));
        (names.count() as u64 + open).max(members)
    })
}
