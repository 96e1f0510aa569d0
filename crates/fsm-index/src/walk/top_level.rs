//! Walks as far as the topmost level of an automaton's stack tells. Most of what they meet is text,
//! which a [`ReadText`](crate::ReadText) reads without cursors. For example, of `"ab"` the inside
//! is read by the reader, and the second quotation mark by a step of the automaton.

use super::descent::{Descent, Level};
use super::few::read_few;
use super::free_subtrees::{Free, FreeChildren};
use super::text_table::{PlaceId, Read, Text, TextTable};
use super::walker::{Walker, fresh, is_told};
use crate::automaton::AskParts;
use crate::budget::Meter;
use crate::rows::Open;
use crate::tokens::{AllBelow, Area, Child, Kinds, NO_TOKEN, Trie};
use crate::{ByteAutomaton, ByteSet, ClassId, Cursor, Lexicon, Spot};

/// The least number of children for which the next bytes are asked for: to fewer each step is
/// taken, because that is as fast.
pub(super) const WORTH_ASKING: usize = 2;

/// The ground of a walk: the nodes that it goes over, and what is known of them.
#[derive(Clone, Copy)]
pub(crate) struct Ground<'a> {
    pub(crate) area: Area<'a>,
    /// The text that is free where the walk begins.
    pub(crate) free: Option<Free>,
    /// The least number of nodes of a subtree for which the free text is asked for.
    pub(crate) much: u32,
    pub(crate) language: &'a Language,
}

/// The spelling of an automaton's texts: its [`Lexicon`], as walks ask for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Language {
    /// The byte with which a text begins and ends, and its kind.
    quote: Option<u8>,
    end: Kinds,
    /// The bytes of plain text.
    plain: ByteSet,
    /// True if walks ask on their way which text is free.
    pub(crate) tells_free: bool,
}

impl Language {
    pub(crate) fn new(lexicon: &Lexicon) -> Language {
        let quote = lexicon.quote;
        Language {
            quote,
            end: quote.map_or(Kinds::NONE, |quote| Kinds::of(char::from(quote))),
            plain: Kinds::bytes(lexicon.plain),
            tells_free: lexicon.tells_free,
        }
    }

    /// The bytes of plain text.
    pub(super) fn plain(&self) -> &ByteSet {
        &self.plain
    }

    /// The kinds of which a class has all characters, that with which texts end aside: it is
    /// no character of a text.
    pub(crate) fn kinds(&self, class: &[(u32, u32)]) -> Kinds {
        Kinds::within(class).less(self.end)
    }
}

impl<'a> Ground<'a> {
    pub(crate) fn below(&self) -> &'a AllBelow {
        self.area.trie.below()
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
        let (memo, readings) = (&mut self.memo, &mut self.readings);
        let horizon = trie.horizon();
        let language = ground.language;
        let kinds = |class| language.kinds(automaton.text_class(class));
        let classes = &mut self.classes;
        let mut open = Vec::new();
        let mut text = Text::at(automaton, start, 0, horizon, scratch, readings);
        let mut root = Level::of(trie.siblings().of(None)).with(ground.free);
        if let Some(text) = &text {
            let free = match ground.free {
                Some(free) => Some(free.read_by(text.reader(), language.end)),
                None => text.ask(text.start, 0, kinds, readings),
            };
            root = root.at(Some(text.start)).with(free);
        }
        let mut descent = Descent::new(trie, &mut self.levels, root, skip);
        loop {
            let Level { place, free, .. } = descent.level();
            let met = match (&text, place) {
                (Some(text), Some(_)) => {
                    text.read_on(&mut descent, ground, kinds, readings, meter, &mut hit)
                }
                _ => {
                    let depth = descent.depth;
                    let free = free.map_or(FreeChildren::NONE, |free| {
                        free.among(|| path[depth] == start)
                    });
                    let bytes = next.0[depth];
                    descent.next(&free, |byte| bytes.has(byte), meter, &mut hit)
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
            let Level { place, free, .. } = descent.level();
            if let (Some(text), Some(place)) = (&text, place)
                && depth > text.depth
            {
                // Only its reader knows where the text is left.
                path[depth] = automaton.text_cursor(text.cursor, readings.place(place), scratch);
            }
            let children = child.children();
            let last = children.is_empty().then_some(child.token);
            if is_told(automaton, (path[depth], byte), last, scratch, &mut hit) {
                continue;
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
            if children.is_empty() {
                continue;
            }
            path[depth + 1] = cursor;
            let at = (ground.below(), child.node);
            let free = free.and_then(|free| free.behind(byte, &ground.language.plain, at));
            let mut level = Level::of(children.clone()).with(free);
            if text.is_none() && language.quote == Some(byte) {
                text = Text::at(automaton, cursor, depth + 1, horizon, scratch, readings);
                if let Some(text) = &text {
                    level = level.at(Some(text.start));
                    if descent.has_below(&child, ground.much) {
                        level = level.with(text.ask(text.start, descent.chars(), kinds, readings));
                    }
                }
            }
            if language.tells_free
                && text.is_none()
                && descent.has_below(&child, ground.much)
                && free.is_none_or(|free| !free.applies(|| cursor == start))
                && let Some(more) = automaton.free_text(Spot::Top(cursor), scratch)
            {
                let kinds = classes.kinds(more.class, kinds);
                level = level.with(Some(Free::on_the_way(kinds, more, descent.chars())));
            }
            let is_worth = children.len() >= WORTH_ASKING;
            next.put(depth + 1, is_worth, || {
                automaton.next_bytes(Spot::Top(cursor), scratch)
            });
            let back = (cursor == path[depth]).then_some(&next.0[depth + 1]);
            let few = match text {
                None => descent.few_below(&child, level.free, back),
                Some(_) => None,
            };
            let Some(few) = few else {
                descent.go_down(level);
                continue;
            };
            let step = |cursor, byte, scratch: &mut A::Scratch| {
                memo.step_on_top(automaton, cursor, byte, scratch)
            };
            let deep = |node, below: &[u8]| {
                let way = descent.way();
                let path = way.iter().chain([&byte]).chain(below);
                open.push(Open {
                    node,
                    path: path.copied().collect(),
                });
            };
            let few = (automaton, trie, few);
            read_few(few, path, scratch, step, &mut hit, deep);
        }
        let visited = descent.visited;
        self.visited += visited;
        (visited, open)
    }
}

impl Walker {
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
