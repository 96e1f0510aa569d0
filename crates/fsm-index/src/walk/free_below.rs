//! Walks below one node, where an automaton tells on the way which text is free. For example, where
//! a comment has begun every subtree without a line feed may come as a whole.

use super::descent::{Descent, Level};
use super::few::read_few;
use super::free_subtrees::{Free, FreeChildren};
use super::ground::{ClassKinds, Ground, Language, WORTH_ASKING};
use super::walker::{Walker, fresh};
use crate::automaton::AskParts;
use crate::budget::Meter;
use crate::tokens::{Area, NO_TOKEN};
use crate::{ByteAutomaton, Cursor, FreeText, Spot};

/// Returns the text that is free at a spot behind so many bytes of the trie.
pub(super) fn free_at<A: ByteAutomaton>(
    automaton: &A,
    spot: Spot,
    depth: usize,
    scratch: &mut A::Scratch,
    language: &Language,
    classes: &mut ClassKinds,
) -> Option<Free> {
    let free = automaton.free_text(spot, scratch)?;
    let class = |class| language.kinds(automaton.text_class(class));
    let kinds = classes.kinds(free.class, class);
    let free = FreeText {
        ends: false,
        ..free
    };
    // The number of characters that lead here is not known: none has more than four bytes.
    Some(Free::on_the_way(kinds, free, depth / 4))
}

/// As [`Walker::walk`], where cursors do not matter: subtrees whose text is free are taken
/// as a whole if the automaton tells of them.
pub(crate) fn walk_tokens<A: ByteAutomaton>(
    walker: &mut Walker,
    automaton: &A,
    start: Cursor,
    scratch: &mut A::Scratch,
    ground: Ground<'_>,
    meter: &mut Meter,
    mut hit: impl FnMut(u32),
) -> u64 {
    if !ground.language.tells_free && ground.free.is_none() {
        let hit = |token, _| hit(token);
        return walker.walk(automaton, start, scratch, ground.area, meter, hit);
    }
    fresh(&mut walker.path, ground.area.trie, start);
    walker.next.fresh(ground.area.trie).0[0] = automaton.next_bytes(Spot::Cursor(start), scratch);
    walk_free_below(walker, automaton, scratch, ground, None, meter, &mut hit)
}

/// As [`Walker::walk`], in one subtree of a ground, of whose first node `cursor` is the
/// one behind its byte.
pub(crate) fn walk_below<A: ByteAutomaton>(
    walker: &mut Walker,
    automaton: &A,
    cursor: Cursor,
    scratch: &mut A::Scratch,
    ground: Ground<'_>,
    node: usize,
    mut hit: impl FnMut(u32),
) -> u64 {
    let trie = ground.area.trie;
    let path = fresh(&mut walker.path, trie, Cursor::DEAD);
    let next = walker.next.fresh(trie);
    let first = &trie.nodes()[node];
    let depth = usize::from(first.depth);
    path[depth] = cursor;
    let is_worth = first.end as usize - node > WORTH_ASKING;
    next.put(depth, is_worth, || {
        automaton.next_bytes(Spot::Cursor(cursor), scratch)
    });
    if first.token != NO_TOKEN {
        hit(first.token);
    }
    walker.visited += 1;
    if ground.language.tells_free {
        let (top, mut meter) = (Some(node), Meter::default());
        return 1 + walk_free_below(
            walker, automaton, scratch, ground, top, &mut meter, &mut hit,
        );
    }
    let (all, top) = (Area::all(trie), Some(node));
    let hit = |token, _| hit(token);
    1 + walker.go_down(automaton, scratch, all, top, &mut Meter::default(), hit)
}

/// Walks below a node, or over the whole trie for `None`, whose cursor and next bytes are in
/// their place: subtrees whose text is free are taken as a whole, those that the ground knows to be
/// free are left out. Returns the number of nodes that were visited.
fn walk_free_below<A: ByteAutomaton>(
    walker: &mut Walker,
    automaton: &A,
    scratch: &mut A::Scratch,
    ground: Ground<'_>,
    node: Option<usize>,
    meter: &mut Meter,
    hit: &mut impl FnMut(u32),
) -> u64 {
    let Area { trie, skip } = ground.area;
    let Walker {
        path,
        next,
        memo,
        levels,
        classes,
        ..
    } = walker;
    let top = node.map_or(0, |node| usize::from(trie.nodes()[node].depth));
    let mut free_at = |cursor: Cursor, depth: usize, scratch: &mut A::Scratch| {
        let spot = Spot::Cursor(cursor);
        free_at(automaton, spot, depth, scratch, ground.language, classes)
    };
    let children = trie.siblings().of(node);
    let size = node.map_or(u32::MAX, |node| trie.nodes()[node].end - node as u32);
    let start = path[top];
    let free = match (ground.free, size > ground.much) {
        (Some(free), _) => Some(free),
        (None, true) => free_at(start, top, scratch),
        (None, false) => None,
    };
    let first = Level::of(children).with(free);
    let mut descent = Descent::below(node, trie, levels, first, skip);
    loop {
        let depth = descent.depth;
        let free = descent.level().free;
        let is_back = || path[depth] == start;
        let free_children = free.map_or(FreeChildren::NONE, |free| free.among(is_back));
        let bytes = next.0[depth];
        let met = descent.next(&free_children, |byte| bytes.has(byte), meter, hit);
        let Some((child, byte)) = met else {
            if !descent.go_up() {
                break;
            }
            continue;
        };
        let children = child.children();
        let cursor = memo.step(automaton, path[depth], byte, scratch);
        if cursor.is_dead() {
            continue;
        }
        if child.token != NO_TOKEN {
            hit(child.token);
        }
        if children.is_empty() {
            continue;
        }
        path[depth + 1] = cursor;
        let at = (ground.below(), child.node);
        let mut free = free.and_then(|free| free.behind(byte, &ground.language.plain, at));
        if free.is_none_or(|free| !free.applies(|| cursor == start))
            && descent.has_below(&child, ground.much)
        {
            free = free_at(cursor, depth + 1, scratch).or(free);
        }
        let is_worth = children.len() >= WORTH_ASKING;
        next.put(depth + 1, is_worth, || {
            automaton.next_bytes(Spot::Cursor(cursor), scratch)
        });
        let back = (cursor == path[depth]).then_some(&next.0[depth + 1]);
        let few = descent.few_below(&child, free, back);
        let Some(few) = few else {
            descent.go_down(Level::of(children).with(free));
            continue;
        };
        let step = |cursor, byte| Some(memo.step(automaton, cursor, byte, scratch));
        read_few(trie, few, path, step, hit, |_, _| {});
    }
    let visited = descent.visited;
    walker.visited += visited;
    visited
}
