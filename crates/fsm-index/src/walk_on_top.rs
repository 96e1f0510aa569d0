//! Walks as far as the topmost level of an automaton's stack tells. Most of what they
//! meet is text, which a [`ReadText`](crate::ReadText) reads without cursors.

use crate::budget::Watch;
use crate::levels::{Descent, Level, Way};
use crate::part::Open;
use crate::reading::{Read, Readings, Text};
use crate::unstepped::{Free, FreeChildren, Unstepped};
use crate::vocabulary::{Child, NO_TOKEN, Trie};
use crate::walk::{Walker, fresh};
use crate::{ByteAutomaton, Cursor};

/// To fewer children each step is taken.
const WORTH_ASKING: usize = 2;

impl Walker {
    /// As [`Walker::walk`], as far as the topmost level of the automaton's stack
    /// tells; the subtrees of which it does not tell. Subtrees that are `free` are
    /// not stepped through: all their tokens may come.
    pub(crate) fn walk_on_top<A: ByteAutomaton>(
        &mut self,
        automaton: &A,
        start: Cursor,
        scratch: &mut A::Scratch,
        (trie, skip, free): (&Trie, &[(u32, u32)], Option<&Free>),
        watch: &mut impl Watch,
        mut hit: impl FnMut(u32),
    ) -> (u64, Vec<Open>) {
        // Steps that looked deeper may be remembered.
        self.begin::<A>();
        let path = fresh(&mut self.path, trie, start);
        let next = self.next.fresh(trie);
        next.0[0] = automaton.next_bytes_on_top(start, scratch);
        let (memo, readings) = (&mut self.memo, &mut self.readings);
        let horizon = trie.horizon();
        let unstepped = free.map(|free| Unstepped::new(free, trie));
        let mut open = Vec::new();
        let mut text = Text::at(automaton, (start, 0), horizon, scratch, readings);
        let root = Level::of(trie.siblings().roots())
            .along(unstepped.map_or(Way::Other, |_| Way::Class))
            .at(text.as_ref().map(|text| text.start));
        let mut descent = Descent::new(trie, &mut self.levels, root, skip);
        loop {
            let Level { place, way, .. } = descent.level();
            let met = match (&text, place) {
                (Some(text), Some(_)) => {
                    text.read_on(&mut descent, unstepped, readings, watch, &mut hit)
                }
                _ => {
                    let depth = descent.depth;
                    let free = unstepped.map_or(FreeChildren::NONE, |unstepped| {
                        unstepped.among(way, || path[depth] == start)
                    });
                    let bytes = next.0[depth];
                    descent.next(&free, |byte| bytes.has(byte), watch, &mut hit)
                }
            };
            let Some((child, byte)) = met else {
                if !descent.go_up() {
                    break;
                }
                // A text is over behind the node where it began.
                if text.as_ref().is_some_and(|text| text.depth > descent.depth) {
                    text = None;
                }
                continue;
            };
            let depth = descent.depth;
            let Level { place, way, .. } = descent.level();
            if let (Some(text), Some(place)) = (&text, place)
                && depth > text.depth
            {
                // Only its reader knows where the text is left.
                path[depth] = automaton.text_cursor(text.cursor, readings.place(place), scratch);
            }
            let Some(cursor) = memo.step_on_top(automaton, path[depth], byte, scratch) else {
                open.push(Open {
                    node: child.node,
                    path: descent.way(),
                });
                continue;
            };
            if cursor.is_dead() {
                continue;
            }
            if child.token != NO_TOKEN {
                hit(child.token);
            }
            let children = child.children();
            if children.is_empty() {
                continue;
            }
            path[depth + 1] = cursor;
            let mut place = None;
            if text.is_none() && byte == b'"' {
                let here = (cursor, depth + 1);
                text = Text::at(automaton, here, horizon, scratch, readings);
                place = text.as_ref().map(|text| text.start);
            }
            let is_worth = children.len() >= WORTH_ASKING;
            next.put(depth + 1, is_worth, || {
                automaton.next_bytes_on_top(cursor, scratch)
            });
            let way = unstepped.map_or(Way::Other, |unstepped| unstepped.way(way, byte));
            descent.go_down(Level::of(children).along(way).at(place));
        }
        let visited = descent.visited;
        self.visited += visited;
        (visited, open)
    }
}

impl Text<'_> {
    /// Goes on with a descent whose current level is in the text, up to a child by whose
    /// byte the text may be left, or the end of the level where it begins.
    fn read_on(
        &self,
        descent: &mut Descent<'_>,
        unstepped: Option<Unstepped<'_>>,
        readings: &mut Readings,
        watch: &mut impl Watch,
        hit: &mut impl FnMut(u32),
    ) -> Option<(Child, u8)> {
        loop {
            let Level { place, way, .. } = descent.level();
            let place = place?;
            let free = unstepped.map_or(FreeChildren::NONE, |unstepped| {
                let is_back = || self.depth == 0 && self.is_back(place, readings);
                unstepped.among(way, is_back)
            });
            let below = loop {
                let row = readings.row(place);
                let lives = |byte| row.is_none_or(|row| !row.is_dead(byte));
                let Some((child, byte)) = descent.next(&free, lives, watch, hit) else {
                    break None;
                };
                let step = row.and_then(|row| row.step(byte));
                match step.unwrap_or_else(|| self.step(place, byte, readings)) {
                    Read::Dead => {}
                    Read::Leaves => return Some((child, byte)),
                    Read::To(to) => {
                        if child.token != NO_TOKEN {
                            hit(child.token);
                        }
                        let children = child.children();
                        if !children.is_empty() {
                            let way =
                                unstepped.map_or(Way::Other, |unstepped| unstepped.way(way, byte));
                            break Some(Level::of(children).along(way).at(Some(to)));
                        }
                    }
                }
            };
            match below {
                Some(below) => descent.go_down(below),
                None if descent.depth == self.depth => return None,
                None => {
                    descent.go_up();
                }
            }
        }
    }
}
