//! Another value for an item that must differ: one that is none of those before it, and that no item
//! to come needs.
//!
//! For example, behind `[1, ` of an array of unique integers the value may be `0` and not `1`.

use crate::automaton::machine::Machine;
use crate::automaton::run::config::{Config, EMPTY_LIST, Gap, NO_TEXT, Top, UNITS};
use crate::automaton::run::equality::word_spelled;
use crate::automaton::run::found::ItemChoice;
use crate::automaton::run::scratch::Scratch;
use crate::automaton::run::sorted::TextSet;
use crate::automaton::run::string_bytes::Partial;
use crate::automaton::run::string_leaves::string_start;
use crate::automaton::run::string_texts::{Enough, LeafAt, spelt_behind};
use crate::automaton::run::ways_on::Tried;
use crate::automaton::run::{number_bytes, step, text_runs, unique_items};

/// Begins a value that must differ from others with as much of another one as makes it another: that
/// text, and the place behind it; `None` where that is not asked.
pub(super) fn another_value(
    machine: &Machine,
    config: Config,
    x: &mut Scratch,
) -> Option<(Vec<u8>, Config)> {
    let Top::Value { set, .. } = config.top else {
        return None;
    };
    if config.stack == 0 || config.item == NO_TEXT {
        return None;
    }
    let frame = x.frame(config.stack).frame;
    let m = frame.unique_array(machine)?;
    if frame.seen == 0 && !m.catalog.is_listed() {
        return None;
    }
    let seen = x.seen(frame.seen).list.clone();
    let choices = unique_items::item_choices(machine, config.stack, x);
    let wanted = x.list(set);
    x.while_searching(|x| {
        let mut choices = choices.iter().filter(|c| wanted.contains(&c.goal));
        let found = choices.find_map(|choice| another_scalar(machine, &config, choice, &seen, x));
        if let Some(text) = found
            && let Some(to) = text_runs::read_known(machine, config, &text, x)
        {
            // An array below may bar what this one does not.
            let threat = unique_items::threat_to(machine, &to, x);
            if !threat.exists || unique_items::can_differ(machine, to, threat, x) {
                return Some((text, to));
            }
        }
        let threat = unique_items::threat_to(machine, &config, x);
        if !threat.exists {
            return None;
        }
        let Tried {
            text, config: to, ..
        } = unique_items::way_out(machine, config, threat, x)?;
        // In front of what comes behind the item, and not behind that.
        let is_ended = matches!(to.top.gap(), Some(Gap::AfterItem));
        let (here, before) = (x.depth(to.stack), x.depth(config.stack));
        (here > before || (is_ended && here == before)).then_some((text, to))
    })
}

/// A number, a unit or a string of a goal that is not barred.
fn another_scalar(
    machine: &Machine,
    config: &Config,
    choice: &ItemChoice,
    seen: &TextSet,
    x: &mut Scratch,
) -> Option<Vec<u8>> {
    let Top::Value { node, space, .. } = config.top else {
        return None;
    };
    let white = machine.space().finish(space);
    let n = machine.node(node);
    let goal = choice.goal;
    let fits = |text: &[u8], x: &mut Scratch| {
        let text = [&white, text].concat();
        let mut bytes = text.iter();
        let end = bytes.try_fold(*config, |at, b| step::next(machine, at, *b, x))?;
        let ends = match end.top {
            Top::Number { node, set, state } => {
                number_bytes::number_goals(machine, node, set, state, x) != EMPTY_LIST
            }
            _ => true,
        };
        ends.then_some(text)
    };
    if let Some(m) = &n.number {
        // Mostly as many numbers from zero on are there as there are items.
        let count = seen.len().to_string();
        if m.leaves.iter().any(|(g, _)| *g == goal)
            && !choice.bars(&count, seen)
            && let Some(text) = fits(count.as_bytes(), x)
        {
            return Some(text);
        }
        let most = seen.len() + choice.critical.len() + 1;
        for (_, dfa) in m.of(|g| g == goal) {
            for text in dfa.texts_after(0, "", most) {
                if !choice.bars(&word_spelled(&text), seen)
                    && let Some(text) = fits(text.as_bytes(), x)
                {
                    return Some(text);
                }
            }
        }
    }
    if let Some(m) = &n.string {
        let set = x.add_list(&[goal]);
        let text = string_start(m, set, x);
        let leaves = m.leaves.iter().enumerate();
        for (id, _) in leaves.filter(|(_, leaf)| leaf.goal == goal) {
            let at = LeafAt::new(m, id, text, x);
            let quoted = |rest: &str| [b"\"", &*spelt_behind(Partial::None, rest)].concat();
            if let Some(text) = at.another(&[seen, &choice.critical])
                && let Some(text) = fits(&quoted(&text), x)
            {
                return Some(text);
            }
            let most = seen.len() + choice.critical.len() + at.excluded() + 1;
            let mut found = None;
            at.each(None, most, &mut |rest| {
                let text = quoted(rest);
                let value = String::from_utf8_lossy(&text);
                if !choice.bars(&value, seen) {
                    found = fits(&text, x);
                }
                match found.is_some() {
                    true => Enough::Yes,
                    false => Enough::No,
                }
            });
            if found.is_some() {
                return found;
            }
        }
    }
    for (word, goals) in UNITS.iter().zip(&n.units) {
        let value = String::from_utf8_lossy(word);
        if goals.contains(&goal)
            && !choice.bars(&value, seen)
            && let Some(text) = fits(word, x)
        {
            return Some(text);
        }
    }
    None
}
