//! Keys that mean the same under every schema: what is read of a value before its end
//! depends on what is asked of the value, wherever that is written. A fingerprint tells what
//! is asked (`printer.rs`).

use fsm_index::{Cursor, Horizon, KeyLanguage};

use crate::automaton::keys::key;
use crate::automaton::keys::key::{length_told, push_list, push_span, push_state};
use crate::automaton::keys::object_summary;
use crate::automaton::keys::printer;
use crate::automaton::keys::tag::Tag;
use crate::automaton::keys::value_summary;
use crate::automaton::machine::Machine;
use crate::automaton::machine::prints::Print;
use crate::automaton::run::config::{Config, Gap, Top, UNKNOWN, UNKNOWN_ITEM, is_kept};
use crate::automaton::run::member_names;
use crate::automaton::run::scratch::{More, Noted, ObjectSummary, Scratch};
use crate::language::clamped;

/// Appends the key of the topmost levels in words that mean the same in every
/// schema, where they have one; see [`fsm_index::ByteAutomaton::key`].
pub(crate) fn common_at(
    machine: &Machine,
    cursor: Cursor,
    depth: usize,
    horizon: Horizon<'_>,
    x: &mut Scratch,
    out: &mut Vec<u32>,
) -> Option<KeyLanguage> {
    if cursor.is_dead() {
        return None;
    }
    let config = *x.configs.get(cursor.0);
    // Around the whole value nothing may follow its end, which only keys of values
    // tell.
    let is_told = config.stack != 0 || matches!(config.top, Top::Value { .. });
    if !is_told || is_kept(config.item) {
        return None;
    }
    let before = out.len();
    let Config { top, stack, item } = config;
    // The topmost level tells nothing where it is about to end.
    let is_ending = matches!(
        top,
        Top::Unit { .. }
            | Top::Gap {
                gap: Gap::AfterMember | Gap::AfterItem,
                ..
            }
    );
    let found = match item {
        _ if depth == 1 && !is_ending => put_common(machine, top, stack, cursor, horizon, x, out),
        // Where an item differs, what it opens is not compared.
        UNKNOWN_ITEM => None,
        _ => put_common_levels(machine, top, (stack, depth), cursor, horizon, x, out),
    };
    if found.is_none() {
        out.truncate(before);
        return None;
    }
    Some(KeyLanguage {
        name: "schema-regex",
        dialect: machine.escapes() as u32,
    })
}

/// Of a value, or of what follows one, in arrays and objects that tokens cannot tell
/// from those of other schemas.
fn put_common_levels(
    machine: &Machine,
    top: Top,
    (stack, depth): (u32, usize),
    cursor: Cursor,
    horizon: Horizon<'_>,
    x: &mut Scratch,
    out: &mut Vec<u32>,
) -> Option<()> {
    match top {
        Top::Value { .. }
        | Top::Number { .. }
        | Top::String { .. }
        | Top::Gap {
            gap: Gap::Colon, ..
        } => put_common(machine, top, stack, cursor, horizon, x, out)?,
        Top::Unit { word, at, .. } => out.extend([Tag::Unit as u32, word.into(), at.into()]),
        Top::Gap {
            gap: gap @ (Gap::AfterMember | Gap::AfterItem),
            space,
        } => out.extend([Tag::Behind as u32, gap as u32, space]),
        _ => return None,
    }
    let dialect = dialect(machine)?;
    out.extend(dialect.words);
    let mut at = stack;
    let mut ended = matches!(
        top,
        Top::Gap {
            gap: Gap::AfterItem,
            ..
        }
    );
    for _ in 1..depth {
        if at == 0 {
            break;
        }
        let top = x.peek(Noted::beside_masks(at));
        let frame = top.frame;
        match frame.is_object {
            true => {
                // Classes of names are those of one schema.
                let is_common = matches!(object_summary::object_summary(machine, at, x), ObjectSummary::Told(told)
                    if told.more != More::OfClasses);
                (is_common && object_summary::push_object_summary(machine, at, horizon, x, out))
                    .then_some(())?;
            }
            false => put_items(machine, at, ended, horizon, x, out)?,
        }
        ended = false;
        at = top.below;
    }
    if at == 0 {
        out.push(Tag::Bottom as u32);
    }
    Some(())
}

/// All that an array means behind one of its items, which has `ended` or is open, where
/// any number of them may follow, each the same.
fn put_items(
    machine: &Machine,
    stack: u32,
    ended: bool,
    horizon: Horizon<'_>,
    x: &mut Scratch,
    out: &mut Vec<u32>,
) -> Option<()> {
    let frame = x.peek(Noted::beside_masks(stack)).frame;
    let m = machine.node(frame.node).array.as_ref()?;
    let ([thread], [member], [0, 0]) = (&*m.threads, &*m.members, &**x.lists.get(frame.threads))
    else {
        return None;
    };
    let [choice] = member.of(0) else { return None };
    let items = u64::from(frame.pos) + u64::from(!ended);
    let is_free = thread.max.is_none() && thread.counts.is_empty() && items >= thread.min;
    if m.unique || !is_free || choice.take != 0 {
        return None;
    }
    let item = value_summary::near(machine, member.node, stack, horizon, x)?;
    out.extend([Tag::Array as u32, thread.goal, choice.goal]);
    out.extend(item.words);
    Some(())
}

fn dialect(machine: &Machine) -> Option<&Print> {
    let dialect = machine
        .dialect()
        .get_or_init(|| printer::dialect(machine.space(), machine.escapes()));
    dialect.as_ref()
}

fn put_common(
    machine: &Machine,
    top: Top,
    stack: u32,
    cursor: Cursor,
    horizon: Horizon<'_>,
    x: &mut Scratch,
    out: &mut Vec<u32>,
) -> Option<()> {
    if key::is_plain(machine, top, horizon) {
        let keyed = key::key_of(machine, cursor, 1, horizon, x, out);
        return keyed.then_some(());
    }
    let dialect = dialect(machine)?;
    out.push(Tag::Printed as u32);
    out.extend(dialect.words);
    let tallest = match top {
        Top::Value { node, set, space } => {
            out.extend([Tag::Value as u32, space, u32::from(stack == 0)]);
            return put_value(machine, node, set, stack, horizon, x, out);
        }
        Top::Number { node, set, state } => {
            let print = printer::print(machine, node)?;
            let m = machine.node(node).number.as_ref()?;
            out.push(Tag::Number as u32);
            out.extend(print.words);
            push_list(x, set, out);
            push_state(x, state, m.dfas.len() > 1, out);
            return Some(());
        }
        Top::String { node, set, text } => {
            let print = printer::print(machine, node)?;
            let m = machine.node(node).string.as_ref()?;
            out.push(Tag::String as u32);
            out.extend(print.words);
            push_list(x, set, out);
            push_state(x, text.state, m.dfas.len() > 1, out);
            push_span(text.words, out);
            out.extend(text.partial.packed());
            let bytes = clamped(horizon.bytes());
            out.push(length_told(m, text.length, bytes));
            return Some(());
        }
        Top::Key(key) if key.is_further() && key.text == UNKNOWN => {
            out.extend([Tag::Key as u32, key.state]);
            out.extend(key.partial.packed());
            put_further(machine, stack, x, out)?
        }
        Top::Gap {
            gap: Gap::BeforeFurther,
            space,
        } => {
            out.extend([Tag::BeforeFurther as u32, space]);
            put_further(machine, stack, x, out)?
        }
        Top::Gap {
            gap: Gap::Colon,
            space,
        } => {
            let top = Noted::beside_masks(stack);
            let frame = x.peek(top).frame;
            let m = machine.node(frame.node).object.as_ref()?;
            let goals = member_names::goals_of_member(machine, top, frame.member, x);
            out.extend([Tag::Colon as u32, space]);
            return put_value(
                machine,
                m.member(frame.member).node,
                goals,
                stack,
                horizon,
                x,
                out,
            );
        }
        _ => return None,
    };
    out.push(key::room_told(machine, stack, tallest, horizon, x));
    Some(())
}

/// What a value of a node must be, of which nothing was read yet.
fn put_value(
    machine: &Machine,
    node: u32,
    set: u32,
    stack: u32,
    horizon: Horizon<'_>,
    x: &Scratch,
    out: &mut Vec<u32>,
) -> Option<()> {
    let (print, near) = match value_summary::near(machine, node, stack, horizon, x) {
        Some(print) => (print, true),
        None => (printer::print(machine, node)?, false),
    };
    out.push(u32::from(near));
    out.extend(print.words);
    push_list(x, set, out);
    if !near {
        out.push(key::room_told(machine, stack, print.tallest, horizon, x));
    }
    Some(())
}

/// What further names may come and what their values must be; how tall the
/// tallest of the flattest values is.
fn put_further(machine: &Machine, stack: u32, x: &mut Scratch, out: &mut Vec<u32>) -> Option<u32> {
    let top = Noted::beside_masks(stack);
    let usable = member_names::usable(machine, top, x);
    let node = x.peek(top).frame.node;
    let m = machine.node(node).object.as_ref()?;
    out.extend(printer::print_of_names(machine, node)?.words);
    let values = x.list(usable.values);
    out.push(values.len() as u32);
    let mut tallest = 0;
    for value in values.chunks_exact(3) {
        let member = &m.classes.get(value[0] as usize)?.member;
        let print = printer::print(machine, member.node)?;
        out.push(value[0]);
        out.extend(print.words);
        push_list(x, value[2], out);
        tallest = tallest.max(print.tallest);
    }
    Some(tallest)
}
