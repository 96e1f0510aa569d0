//! Walks as far as the topmost level of an automaton's stack tells. Most of what they
//! meet is text, which a [`ReadText`](crate::ReadText) reads without cursors.

use crate::budget::Watch;
use crate::levels::{Level, Skips, Way};
use crate::part::Open;
use crate::reading::{Read, Text};
use crate::unstepped::{Free, FreeChildren, Pass, Unstepped};
use crate::vocabulary::{NO_TOKEN, Trie};
use crate::walk::{WORTH_ASKING, Walker, fresh};
use crate::{ByteAutomaton, Cursor};

/// In the place of a cursor that only the reader of a text knows.
const IN_TEXT: Cursor = Cursor(u32::MAX);

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
        let levels = self.levels.fresh(trie);
        let siblings = trie.siblings();
        let horizon = trie.horizon();
        let unstepped = free.map(|free| Unstepped::new(free, trie));
        let mut skips = Skips::new(skip);
        let mut open = Vec::new();
        let mut text = Text::at(automaton, (start, 0), horizon, scratch, readings);
        levels[0] = Level::of(siblings.of(None))
            .along(unstepped.map_or(Way::Other, Unstepped::start))
            .at(text.as_ref().map(|text| text.start));
        let mut visited = 0;
        let mut depth = 0;
        'levels: loop {
            let Level { place, way, .. } = levels[depth];
            let free = unstepped.map_or(FreeChildren::NONE, |unstepped| {
                unstepped.among(way, || {
                    let back = |(text, place): (&Text<'_>, _)| {
                        text.depth == 0 && text.is_back(place, readings)
                    };
                    path[depth] == start || text.as_ref().zip(place).is_some_and(back)
                })
            });
            loop {
                // What the text, or the bytes that may come, rule out is passed over, and
                // what is known.
                let row = place.and_then(|place| readings.row(place));
                let bytes = &next.0[depth];
                let rest = levels[depth].rest();
                let first = free.first(rest.clone(), siblings.bytes(), |byte| match row {
                    Some(row) => !row.is_dead(byte),
                    None => place.is_some() || bytes.has(byte),
                });
                let passed = first.map_or(rest.len(), |(child, _)| child + 1 - rest.start);
                visited += passed as u64;
                levels[depth].pass(passed);
                let Some((child, pass)) = first else { break };
                let byte = siblings.bytes()[child];
                let child = siblings.child(child);
                if skips.have(child.node) {
                    continue;
                }
                if pass == Pass::Take {
                    let tokens = trie.tokens_below(child.node as usize).iter();
                    tokens.copied().for_each(&mut hit);
                    continue;
                }
                if depth == 0 && !watch.go_on(visited) {
                    break 'levels;
                }
                let below = Level::of(child.children());
                let mut to_place = None;
                if let (Some(read), Some(place)) = (&text, place) {
                    let step = row.and_then(|row| row.step(byte));
                    match step.unwrap_or_else(|| read.step(place, byte, readings)) {
                        Read::Dead => continue,
                        Read::To(to) => to_place = Some(to),
                        Read::Leaves => {
                            if path[depth] == IN_TEXT {
                                let place = readings.place(place);
                                path[depth] = automaton.text_cursor(read.cursor, place, scratch);
                            }
                        }
                    }
                }
                let mut cursor = IN_TEXT;
                if to_place.is_none() {
                    match memo.step_on_top(automaton, path[depth], byte, scratch) {
                        Some(to) if to.is_dead() => continue,
                        Some(to) => cursor = to,
                        None => {
                            let way = levels[..depth].iter().map(Level::last_child);
                            open.push(Open {
                                node: child.node,
                                path: way.map(|child| siblings.bytes()[child]).collect(),
                            });
                            continue;
                        }
                    }
                }
                if child.token != NO_TOKEN {
                    hit(child.token);
                }
                if below.is_empty() {
                    continue;
                }
                depth += 1;
                path[depth] = cursor;
                if to_place.is_none() {
                    if text.is_none() && byte == b'"' {
                        text = Text::at(automaton, (cursor, depth), horizon, scratch, readings);
                        to_place = text.as_ref().map(|text| text.start);
                    }
                    let is_worth = child.children().len() >= WORTH_ASKING;
                    next.put(depth, is_worth, || {
                        automaton.next_bytes_on_top(cursor, scratch)
                    });
                }
                let way = unstepped.map_or(Way::Other, |unstepped| unstepped.way(way, byte));
                levels[depth] = below.along(way).at(to_place);
                continue 'levels;
            }
            if depth == 0 {
                break;
            }
            depth -= 1;
            // A text is over behind the node where it began.
            if text.as_ref().is_some_and(|text| text.depth > depth) {
                text = None;
            }
        }
        self.visited += visited;
        (visited, open)
    }
}
