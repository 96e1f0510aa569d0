//! Patterns that are cut in two at a lazy run: `HEAD(.*?)TAIL`.
//!
//! Most patterns of response schemas look like `<think>\s*(.*?)\s*</think>`. As a whole they
//! make an automaton walk over every character between the two tags, twice, to find the
//! group. Cut in two they are two searches, each with the scan for literals that a general
//! regex engine is best at:
//!
//! Let the first match of HEAD be its preferred one at its leftmost place, and let the first match
//! of TAIL from its end on start at `q`. A backtracking machine tries the run's lengths from the
//! shortest, so if all characters before `q` are of the run, this is the match it finds. If TAIL is
//! not found, or not behind characters of the run alone, the machines for whole patterns are asked.
//!
//! For example, `<think>(.*?)</think>` is a search for `<think>`, and one for `</think>` behind it.

use super::syntax::class::CharSet;
use super::syntax::tree::{Node, RepeatKind, Tree};
use super::{Exhausted, Groups, Pattern};

/// A pattern cut at its first lazy run.
pub(super) struct Split {
    head: Pattern,
    /// The group around the run, if there is one.
    group: Option<usize>,
    /// The characters of the run; any if `None`.
    run: Option<CharSet>,
    least: usize,
    tail: Pattern,
}

impl Split {
    /// Cuts the tree, if it has the form.
    pub(super) fn new(tree: &Tree) -> Option<Split> {
        let Node::Concat(nodes) = &tree.root else {
            return None;
        };
        // A head that can be empty matches everywhere.
        let place = nodes.iter().position(|node| lazy_run(node).is_some())?;
        let (head, tail) = (&nodes[..place], &nodes[place + 1..]);
        if tail.is_empty() || head.iter().all(Node::is_nullable) {
            return None;
        }
        let plain = |nodes: &[Node]| nodes.iter().all(is_plain);
        if !plain(head) || !plain(tail) || tree.shared_names {
            return None;
        }
        let (group, run) = lazy_run(&nodes[place])?;
        let part = |nodes: &[Node]| {
            Pattern::from_tree(Tree {
                root: Node::Concat(nodes.to_vec()),
                names: tree.names.clone(),
                dialect: tree.dialect,
                shared_names: false,
            })
        };
        let Node::Set(set) = &run.node else {
            return None;
        };
        let all = set
            .ranges()
            .first()
            .is_some_and(|r| r.start() == '\0' && r.end() == char::MAX);
        Some(Split {
            head: part(head),
            group,
            run: (!all).then(|| CharSet::new(set)),
            least: repeat_least(run.min)?,
            tail: part(tail),
        })
    }

    /// The leftmost match from `from` on, if this way finds it; `None` does not mean that
    /// there is none, `Some(false)` does.
    pub(super) fn search(
        &self,
        text: &str,
        from: usize,
        work: &mut u64,
        groups: &mut Groups,
    ) -> Result<Option<bool>, Exhausted> {
        let Some(head) = self.head.search_from(text, from)? else {
            *work += (text.len() - from) as u64;
            return Ok(Some(false));
        };
        let Some((start, end)) = head.first().copied().flatten() else {
            return Ok(None);
        };
        let mut least = text[end..].char_indices().map(|(at, _)| end + at);
        let first = match self.least {
            0 => Some(end),
            least_count => least.nth(least_count),
        };
        let Some(first) = first else {
            return Ok(None);
        };
        let tail = self.tail.search_from(text, first)?;
        let Some((body_end, whole_end)) = tail
            .as_ref()
            .and_then(|tail| tail.first().copied().flatten())
        else {
            *work += (text.len() - from) as u64;
            return Ok(None);
        };
        *work += (whole_end - from) as u64;
        if let Some(run) = &self.run
            && !text[end..body_end].chars().all(|c| run.contains(c))
        {
            return Ok(None);
        }
        groups.clear();
        let tail = tail.unwrap_or_default();
        groups.extend(head.iter().zip(tail).map(|(a, b)| a.or(b)));
        if let Some(whole) = groups.first_mut() {
            *whole = Some((start, whole_end));
        }
        if let Some(slot) = self.group.and_then(|group| groups.get_mut(group)) {
            *slot = Some((end, body_end));
        }
        Ok(Some(true))
    }
}

fn repeat_least(min: u32) -> Option<usize> {
    // A long run to skip is no longer a cheap step.
    (min <= 64).then_some(min as usize)
}

/// A lazy run without an upper bound, in a group or not.
fn lazy_run(node: &Node) -> Option<(Option<usize>, &super::syntax::tree::Repeat)> {
    let (group, node) = match node {
        Node::Group(group, node) => (Some(*group), &**node),
        node => (None, node),
    };
    match node {
        Node::Repeat(repeat)
            if repeat.kind == RepeatKind::Lazy
                && repeat.max.is_none()
                && matches!(repeat.node, Node::Set(_)) =>
        {
            Some((group, repeat))
        }
        _ => None,
    }
}

/// Tells whether a node means the same wherever the groups before it come from.
fn is_plain(node: &Node) -> bool {
    match node {
        Node::Char(_) | Node::Set(_) | Node::Anchor(_) => true,
        Node::Group(_, node) => is_plain(node),
        Node::Concat(nodes) | Node::Alternate(nodes) => nodes.iter().all(is_plain),
        Node::Repeat(repeat) => repeat.kind != RepeatKind::Possessive && is_plain(&repeat.node),
        Node::Look { .. }
        | Node::Backref(..)
        | Node::Conditional { .. }
        | Node::Atomic(_)
        | Node::Keep => false,
    }
}
