//! Stacks of open rules: those that outlive walks share their frames by pointers, those of a walk
//! are numbers.
//!
//! For example, two threads behind `<list><item>` that differ within the item share the frames of
//! both rules.

use std::sync::Arc;

use foldhash::HashMap;

/// The rules that are open.
pub(super) type Stack = Option<Arc<Frame>>;

/// A rule that is open: where the text goes on behind it, and the one around it. No chain is
/// longer than [`MAX_OPEN_RULES`](super::graph::MAX_OPEN_RULES).
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) after: u32,
    pub(super) below: Stack,
    depth: u32,
}

/// Returns a stack with one more open rule.
pub(super) fn opened(after: u32, below: &Stack) -> Stack {
    Some(Arc::new(Frame {
        after,
        below: below.clone(),
        depth: depth(below) + 1,
    }))
}

/// Returns the number of open rules.
pub(super) fn depth(stack: &Stack) -> u32 {
    stack.as_ref().map_or(0, |frame| frame.depth)
}

/// The stacks of open rules of a walk: each by the number of its topmost frame, 0 without any.
#[derive(Default)]
pub(super) struct Frames {
    all: Vec<WalkFrame>,
    ids: HashMap<(u32, u32), u32>,
}

/// The junction behind a rule that is open, and the frame of the rule around it.
#[derive(Clone, Copy)]
pub(super) struct WalkFrame {
    pub(super) after: u32,
    pub(super) below: u32,
    depth: u32,
}

impl Frames {
    pub(super) fn clear(&mut self) {
        self.all.clear();
        self.ids.clear();
    }

    pub(super) fn get(&self, stack: u32) -> Option<WalkFrame> {
        let at = stack.checked_sub(1)?;
        self.all.get(at as usize).copied()
    }

    pub(super) fn depth(&self, stack: u32) -> u32 {
        self.get(stack).map_or(0, |frame| frame.depth)
    }

    pub(super) fn push(&mut self, after: u32, below: u32) -> u32 {
        let depth = self.depth(below) + 1;
        let all = &mut self.all;
        *self.ids.entry((after, below)).or_insert_with(|| {
            all.push(WalkFrame {
                after,
                below,
                depth,
            });
            all.len() as u32
        })
    }

    /// Returns a stack that was held.
    pub(super) fn enter(&mut self, stack: &Stack) -> u32 {
        let mut afters = Vec::new();
        let mut at = stack;
        while let Some(frame) = at {
            afters.push(frame.after);
            at = &frame.below;
        }
        afters
            .into_iter()
            .rev()
            .fold(0, |below, after| self.push(after, below))
    }
}
