//! Walks as far as the topmost level of an automaton's stack tells. Most of what they meet is text,
//! which a [`ReadText`](crate::ReadText) reads without cursors. For example, of `"ab"` the inside
//! is read by the reader, and the second quotation mark by a step of the automaton.

use super::descent::{Descent, Level};
use super::few::read_few;
use super::free_subtrees::{Free, FreeChildren};
use super::ground::{ClassKinds, Ground, WORTH_ASKING};
use super::text_table::{PlaceId, Read, Text, TextTable};
use super::walker::{Walker, fresh};
use crate::automaton::AskParts;
use crate::budget::Meter;
use crate::rows::Open;
use crate::tokens::{Area, Child, Kinds, NO_TOKEN, Trie};
use crate::{ByteAutomaton, ByteSet, ClassId, Cursor, Spot};

/// A walk as far as the topmost level tells, the way down aside.
struct TopWalk<'a, A> {
    automaton: &'a A,
    ground: Ground<'a>,
    start: Cursor,
    /// The text that the current node is in.
    text: Option<Text<'a>>,
    readings: &'a mut TextTable,
    classes: &'a mut ClassKinds,
}

impl<'a, A: ByteAutomaton> TopWalk<'a, A> {
    /// Returns the kinds of which a class has all characters.
    fn kinds(&self) -> impl Fn(ClassId) -> Kinds + Copy + use<'a, A> {
        let (automaton, language) = (self.automaton, self.ground.language);
        move |class| language.kinds(automaton.text_class(class))
    }

    /// Begins the text at a cursor in some depth of the trie, if there is one that can be read.
    fn begin_text(&mut self, cursor: Cursor, depth: usize, scratch: &mut A::Scratch) {
        let horizon = self.ground.area.trie.horizon();
        let readings = &mut *self.readings;
        self.text = Text::at(self.automaton, cursor, depth, horizon, scratch, readings);
    }

    /// Returns the level where the walk begins.
    fn root(&mut self, scratch: &mut A::Scratch) -> Level {
        let Ground { area, free, .. } = self.ground;
        let kinds = self.kinds();
        self.begin_text(self.start, 0, scratch);
        let root = Level::of(area.trie.siblings().of(None));
        let Some(text) = &self.text else {
            return root.with(free);
        };
        let end = self.ground.language.end;
        let read = free.map(|free| free.read_by(text.bounds, end));
        let free = read.or_else(|| text.ask(text.start, 0, kinds, self.readings));
        root.at(Some(text.start)).with(free)
    }

    /// Returns the next child that is stepped into from where a descent is, and its byte; `None`
    /// at the end of the level. `bytes` are those that may come at the cursor `here`.
    #[inline]
    fn next(
        &mut self,
        descent: &mut Descent<'_>,
        here: Cursor,
        bytes: &ByteSet,
        meter: &mut Meter,
        hit: &mut impl FnMut(u32),
    ) -> Option<(Child, u8)> {
        let kinds = self.kinds();
        let Level { place, free, .. } = descent.level();
        if let (Some(text), Some(_)) = (&self.text, place) {
            return text.read_on(descent, self.ground, kinds, self.readings, meter, hit);
        }
        let is_back = || here == self.start;
        let free = free.map_or(FreeChildren::NONE, |free| free.among(is_back));
        descent.next(&free, |byte| bytes.has(byte), meter, hit)
    }

    /// Returns the cursor at a node that a text was read to: only its reader knows where the text
    /// is left.
    #[inline]
    fn read_to(&self, descent: &Descent<'_>, scratch: &mut A::Scratch) -> Option<Cursor> {
        let text = self
            .text
            .as_ref()
            .filter(|text| descent.depth > text.depth)?;
        let at = self.readings.place(descent.level().place?);
        Some(self.automaton.text_cursor(text.cursor, at, scratch))
    }

    /// Returns the level of the children of a child, which a step led to; a text may begin there.
    #[inline]
    fn below(
        &mut self,
        descent: &Descent<'_>,
        child: &Child,
        byte: u8,
        cursor: Cursor,
        scratch: &mut A::Scratch,
    ) -> Level {
        let Ground { much, language, .. } = self.ground;
        let kinds = self.kinds();
        let at = (self.ground.below(), child.node);
        let free = descent.level().free;
        let free = free.and_then(|free| free.behind(byte, &language.plain, at));
        let mut level = Level::of(child.children()).with(free);
        if self.text.is_none() && language.quote == Some(byte) {
            self.begin_text(cursor, descent.depth + 1, scratch);
            if let Some(text) = &self.text {
                level = level.at(Some(text.start));
                if descent.has_below(child, much) {
                    let free = text.ask(text.start, descent.chars(), kinds, self.readings);
                    level = level.with(free);
                }
            }
        }
        if language.tells_free
            && self.text.is_none()
            && descent.has_below(child, much)
            && free.is_none_or(|free| !free.applies(|| cursor == self.start))
            && let Some(more) = self.automaton.free_text(Spot::Top(cursor), scratch)
        {
            let kinds = self.classes.kinds(more.class, kinds);
            level = level.with(Some(Free::on_the_way(kinds, more, descent.chars())));
        }
        level
    }
}

impl Walker {
    /// As [`Walker::walk`], as far as the topmost level of the automaton's stack
    /// tells; the subtrees of which it does not tell. Subtrees whose text is free are not
    /// stepped through: all their tokens may come, and those that are known to come where
    /// the walk begins are left out.
    pub(crate) fn walk_on_top<A: ByteAutomaton>(
        &mut self,
        automaton: &A,
        start: Cursor,
        scratch: &mut A::Scratch,
        ground: Ground<'_>,
        meter: &mut Meter,
        mut hit: impl FnMut(u32),
    ) -> (u64, Vec<Open>) {
        // Steps that looked deeper may be remembered.
        self.begin::<A>();
        let Area { trie, skip } = ground.area;
        let path = fresh(&mut self.path, trie, start);
        let next = self.next.fresh(trie);
        next.0[0] = automaton.next_bytes(Spot::Top(start), scratch);
        let memo = &mut self.memo;
        let mut open = Vec::new();
        let mut walk = TopWalk {
            automaton,
            ground,
            start,
            text: None,
            readings: &mut self.readings,
            classes: &mut self.classes,
        };
        let root = walk.root(scratch);
        let mut descent = Descent::new(trie, &mut self.levels, root, skip);
        loop {
            let (here, bytes) = (path[descent.depth], &next.0[descent.depth]);
            let met = walk.next(&mut descent, here, bytes, meter, &mut hit);
            let Some((child, byte)) = met else {
                if !descent.go_up() {
                    break;
                }
                // A text is over behind the node where it began.
                if walk
                    .text
                    .as_ref()
                    .is_some_and(|text| text.depth > descent.depth)
                {
                    walk.text = None;
                }
                continue;
            };
            let depth = descent.depth;
            if let Some(cursor) = walk.read_to(&descent, scratch) {
                path[depth] = cursor;
            }
            let children = child.children();
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
            if children.is_empty() {
                continue;
            }
            path[depth + 1] = cursor;
            let level = walk.below(&descent, &child, byte, cursor, scratch);
            let is_worth = children.len() >= WORTH_ASKING;
            next.put(depth + 1, is_worth, || {
                automaton.next_bytes(Spot::Top(cursor), scratch)
            });
            let back = (cursor == path[depth]).then_some(&next.0[depth + 1]);
            let few = match walk.text {
                None => descent.few_below(&child, level.free, back),
                Some(_) => None,
            };
            let Some(few) = few else {
                descent.go_down(level);
                continue;
            };
            let step = |cursor, byte| memo.step_on_top(automaton, cursor, byte, scratch);
            let deep = |node, below: &[u8]| {
                let way = descent.way();
                let path = way.iter().chain([&byte]).chain(below);
                open.push(Open {
                    node,
                    path: path.copied().collect(),
                });
            };
            read_few(trie, few, path, step, &mut hit, deep);
        }
        self.visited += descent.visited;
        (descent.visited, open)
    }

    /// Reads some tokens in the text that begins at `start`, without the trie, and tells `hit`
    /// those that may come. Returns the number of bytes that they have; `None` where no text
    /// begins, or one of them leaves it.
    pub(crate) fn read_each<'t, A: ByteAutomaton>(
        &mut self,
        automaton: &A,
        start: Cursor,
        scratch: &mut A::Scratch,
        tokens: impl Iterator<Item = (u32, &'t [u8])>,
        (trie, meter): (&Trie, &mut Meter),
        mut hit: impl FnMut(u32),
    ) -> Option<u64> {
        let readings = &mut self.readings;
        let text = Text::at(automaton, start, 0, trie.horizon(), scratch, readings)?;
        let mut bytes = 0;
        // Behind so many bytes of the token before as were read: most begin alike.
        let mut places = vec![text.start];
        let mut before: &[u8] = &[];
        'tokens: for (token, token_bytes) in tokens {
            if !meter.go_on(bytes) {
                break;
            }
            let same = before.iter().zip(token_bytes);
            let same = same.take_while(|(a, b)| a == b).count();
            before = token_bytes;
            if same >= places.len() {
                // The bytes that were dead there are in this one, too.
                continue;
            }
            places.truncate(same + 1);
            let mut place = places[same];
            for &byte in &token_bytes[same..] {
                bytes += 1;
                let known = readings.row(place).and_then(|row| row.step(byte));
                match known.unwrap_or_else(|| text.step(place, byte, readings)) {
                    Read::Dead => continue 'tokens,
                    Read::Leaves => return None,
                    Read::To(to) => place = to,
                }
                places.push(place);
            }
            hit(token);
        }
        self.visited += bytes;
        Some(bytes)
    }
}

impl Text<'_> {
    /// Returns the text that is free at a place behind so many characters of the trie.
    fn ask(
        &self,
        place: PlaceId,
        before: usize,
        kinds: impl Fn(ClassId) -> Kinds,
        readings: &mut TextTable,
    ) -> Option<Free> {
        let (kinds, free) = self.free(place, kinds, readings)?;
        Some(Free::on_the_way(kinds, free, before))
    }

    /// Goes on with a descent whose current level is in the text, up to a child by whose
    /// byte the text may be left, or the end of the level where it begins. `kinds` tells
    /// those of a class.
    fn read_on(
        &self,
        descent: &mut Descent<'_>,
        ground: Ground<'_>,
        kinds: impl Fn(ClassId) -> Kinds + Copy,
        readings: &mut TextTable,
        meter: &mut Meter,
        hit: &mut impl FnMut(u32),
    ) -> Option<(Child, u8)> {
        loop {
            let Level { place, free, .. } = descent.level();
            let place = place?;
            let is_back =
                |place, readings: &TextTable| self.depth == 0 && self.is_back(place, readings);
            let free_children = free.map_or(FreeChildren::NONE, |free| {
                free.among(|| is_back(place, readings))
            });
            let below = loop {
                let row = readings.row(place);
                let lives = |byte| row.is_none_or(|row| !row.is_dead(byte));
                let Some((child, byte)) = descent.next(&free_children, lives, meter, hit) else {
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
                            let plain = &ground.language.plain;
                            let at = (ground.below(), child.node);
                            let mut free = free.and_then(|free| free.behind(byte, plain, at));
                            if descent.has_below(&child, ground.much) {
                                let known = free.filter(|f| f.applies(|| is_back(to, readings)));
                                let more = self.ask(to, descent.chars(), kinds, readings);
                                free = match (known, more) {
                                    (Some(known), Some(more)) => {
                                        Some(known.met_with(more, child.longest.into()))
                                    }
                                    (_, more) => more.or(free),
                                };
                            }
                            break Some(Level::of(children).at(Some(to)).with(free));
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
