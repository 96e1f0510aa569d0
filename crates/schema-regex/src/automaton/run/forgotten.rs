//! Items that differ already, of which the text is forgotten: all go on alike from there.
//!
//! For example, behind `["a","b` with two seen items nothing depends any more on `a`, once the open item
//! cannot become it.

use crate::automaton::machine::Machine;
use crate::automaton::run::config::{Config, FORGOTTEN, Frame, UNKNOWN_ITEM};
use crate::automaton::run::scratch::Scratch;

/// Tells whether nothing but equality is asked of the items of an open array: where their values
/// are few, others may have used up what is left.
pub(super) fn only_compares(machine: &Machine, frame: &Frame, items: usize) -> bool {
    let array = frame.unique_array(machine);
    array.is_none_or(|m| m.catalog.only_compares(items))
}

/// The same configuration without what items are compared with: `None` if
/// more than equality counts, or an array was opened in this walk: what is
/// said of the tokens that go on with further items holds for the arrays
/// that were open before.
pub(super) fn forgotten(machine: &Machine, config: Config, x: &mut Scratch) -> Option<Config> {
    let known = x.found().forgotten.get(&config.stack).copied();
    let stack = known.unwrap_or_else(|| {
        let stack = forgotten_stack(machine, config.stack, x);
        x.found_mut().forgotten.insert(config.stack, stack);
        stack
    })?;
    Some(Config {
        stack,
        item: UNKNOWN_ITEM,
        ..config
    })
}

fn forgotten_stack(machine: &Machine, stack: u32, x: &mut Scratch) -> Option<u32> {
    let mut frames: Vec<Frame> = Vec::new();
    for level in x.levels(stack) {
        let mut frame = level.frame;
        if frame.is_unique(machine) {
            let items = x.seen(frame.seen).list.len();
            if !only_compares(machine, &frame, items) || level.depth > x.base_depth() {
                return None;
            }
            (frame.seen, frame.start) = (0, FORGOTTEN);
        } else {
            frame.start = 0;
        }
        frames.push(frame);
    }
    let frames = frames.into_iter().rev();
    Some(frames.fold(0, |below, frame| x.push(frame, below)))
}
