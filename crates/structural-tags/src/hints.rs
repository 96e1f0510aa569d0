//! What makes masks fast: where a text of an inner automaton stands alone, what that automaton
//! says of it holds. Markers that are kept out of JSON change nothing where none has begun,
//! tokens aside that have one in them: those are [unsure](fsm_index::Overlay::unsure_texts).

use std::marker::PhantomData;

use fsm_index::{
    ByteAutomaton, ByteSet, ClassId, Cursor, FreeText, Horizon, KeyLanguage, Leaf, Lexicon, Met,
    Nested, Outer, PlainText, ReadText, Scope, Slots, Spot, Stack, TextAt,
};
use grammar::GrammarAutomaton;
use schema_regex::automaton::SchemaAutomaton;

use super::machine::TagAutomaton;
use super::markers::ROOT;
use super::parts::{Body, Thread};
use super::walk::Scratch;

/// An automaton that parts have inside.
pub(super) trait Inside: Leaf + Sized {
    /// The working memories of its texts; of each, the rules that are open around it.
    fn slots(x: &mut Scratch) -> &mut Slots<Self, u32>;

    /// Where a text of a part begins, or goes on, in a walk: its slot and cursor.
    fn meet(
        &self,
        state: &Self::State,
        (part, stack): (u32, u32),
        met: Met,
        x: &mut Scratch,
    ) -> (u32, u32) {
        let slots = Self::slots(x);
        let slot = slots.take(part, self, met, stack);
        (slot, self.enter(state, slots.scratch(slot)).0)
    }

    /// Where a text of a part begins: found once a walk.
    fn begin(&self, state: &Self::State, at: (u32, u32), x: &mut Scratch) -> (u32, u32) {
        if let Some(start) = x.starts.get(&at.0) {
            return *start;
        }
        let start = self.meet(state, at, Met::Ahead, x);
        x.starts.insert(at.0, start);
        start
    }
}

impl Inside for SchemaAutomaton {
    fn slots(x: &mut Scratch) -> &mut Slots<Self, u32> {
        &mut x.json
    }
}

impl Inside for GrammarAutomaton {
    fn slots(x: &mut Scratch) -> &mut Slots<Self, u32> {
        &mut x.grammars
    }
}

/// A thread in a text of an inner automaton that stands alone.
pub(super) struct Alone<'a, 'x, A> {
    tags: &'a TagAutomaton,
    thread: Thread,
    x: &'x mut Scratch,
    automaton: PhantomData<&'a A>,
}

impl<'a, A: Inside> Outer<'a> for Alone<'a, '_, A> {
    type Leaf = A;
    type Around = u32;

    #[inline]
    fn slots(&mut self) -> &mut Slots<A, u32> {
        A::slots(self.x)
    }

    fn cursor(&mut self, inner: Cursor) -> Option<Cursor> {
        let Alone {
            tags, thread, x, ..
        } = self;
        if inner.is_dead() {
            return Some(Cursor::DEAD);
        }
        let slots = A::slots(x);
        let is_kept = A::CURSORS_ARE_DENSE && *slots.around(thread.slot) == thread.stack;
        if is_kept && let Some(known) = slots.known(thread.slot, inner) {
            return Some(Cursor(known));
        }
        let mut threads = std::mem::take(&mut x.threads);
        threads.clear();
        threads.push(Thread {
            inner: inner.0,
            ..*thread
        });
        tags.close(x, &mut threads);
        let cursor = match threads.as_slice() {
            [alone] if is_kept => x.begin_alone(*alone),
            _ => x.intern(&mut threads),
        };
        x.threads = threads;
        if is_kept {
            A::slots(x).remember(thread.slot, inner, cursor.0);
        }
        Some(cursor)
    }
}

/// Asks the text of an inner automaton that stands alone at a cursor; `None` where none does.
macro_rules! ask_alone {
    ($tags:expr, $cursor:expr, $x:expr, $solo:ident => $ask:expr) => {
        match $tags.solo($cursor, $x) {
            Some((thread, Body::Json(json))) => {
                let $solo = &mut $tags.alone(thread, &json.automaton, $x);
                Some($ask)
            }
            Some((thread, Body::Grammar(automaton))) => {
                let $solo = &mut $tags.alone(thread, automaton, $x);
                Some($ask)
            }
            _ => None,
        }
    };
}

pub(super) use ask_alone;

impl TagAutomaton {
    /// A thread that stands alone in a text of an inner automaton.
    #[inline]
    pub(super) fn alone<'a, 'x, A>(
        &'a self,
        thread: Thread,
        automaton: &'a A,
        x: &'x mut Scratch,
    ) -> Nested<'a, Alone<'a, 'x, A>>
    where
        A: Inside,
    {
        let outer = Alone {
            tags: self,
            thread,
            x,
            automaton: PhantomData,
        };
        Nested::new(outer, automaton, thread.slot, Cursor(thread.inner))
    }

    /// The only thread of a cursor, if it stands in a text of an inner automaton that is spelt as
    /// it is.
    #[inline]
    pub(super) fn solo(&self, cursor: Cursor, x: &Scratch) -> Option<(Thread, &Body)> {
        self.solo_of(x.config(cursor))
    }

    /// The only one of some threads, if it stands in such a text.
    #[inline]
    pub(super) fn solo_of(&self, threads: &[Thread]) -> Option<(Thread, &Body)> {
        let [thread] = threads else {
            return None;
        };
        let body = &self.part(thread.part).body;
        let is_alone = match body {
            Body::Json(json) => json.is_plain() && thread.guard == ROOT && thread.extra == 0,
            Body::Grammar(_) => true,
            _ => false,
        };
        is_alone.then_some((*thread, body))
    }

    /// The cursor of some threads, which are all that stand there.
    pub(super) fn cursor_of(&self, threads: &mut Vec<Thread>, x: &mut Scratch) -> Cursor {
        threads.sort_unstable();
        threads.dedup();
        if let Some((thread, Body::Json(_))) = self.solo_of(threads)
            && *x.json.around(thread.slot) == thread.stack
        {
            let known = x.json.known(thread.slot, Cursor(thread.inner));
            return known.map_or_else(|| x.begin_alone(thread), Cursor);
        }
        x.intern(threads)
    }

    /// A step of one text alone; `None` where other threads stand beside it, or a marker begins.
    #[inline]
    pub(super) fn step_solo(&self, cursor: Cursor, byte: u8, x: &mut Scratch) -> Option<Cursor> {
        match self.solo(cursor, x)? {
            (_, Body::Json(json)) if json.begins_marker(byte) => None,
            (thread, Body::Json(json)) => Some(self.alone(thread, &json.automaton, x).step(byte)),
            (thread, Body::Grammar(automaton)) => Some(self.alone(thread, automaton, x).step(byte)),
            _ => None,
        }
    }

    /// Keys in common words tell what follows a value as if that were the whole text: where they
    /// tell more than what is inside of it, what follows here is said beside them.
    pub(super) fn common_key(
        &self,
        cursor: Cursor,
        depth: usize,
        horizon: Horizon<'_>,
        x: &mut Scratch,
        out: &mut Vec<u32>,
    ) -> Option<KeyLanguage> {
        let (thread, _) = self.solo(cursor, x)?;
        let is_within = ask_alone!(self, cursor, x, text => text.has_levels(depth))?;
        let tail = self.junction(self.part(thread.part).after).tail.as_ref();
        let tail = tail.filter(|_| thread.stack == 0);
        if !is_within && tail.is_none() {
            return None;
        }
        let before = out.len();
        let scope = Scope::Vocabulary;
        let language = ask_alone!(self, cursor, x, text => text.key(scope, depth, horizon, out))??;
        if is_within {
            return Some(language);
        }
        out.push((out.len() - before) as u32);
        out.extend_from_slice(tail?);
        Some(KeyLanguage {
            name: "structural-tags",
            ..language
        })
    }

    /// The bytes that may come where threads that do not stand alone spell something.
    pub(super) fn spelt_bytes(&self, threads: &[Thread]) -> ByteSet {
        let mut set = ByteSet::NONE;
        for thread in threads {
            match &self.part(thread.part).body {
                Body::Nothing => {}
                Body::Literal(text) => {
                    if let Some(byte) = text.get(thread.inner as usize) {
                        set = set.or(ByteSet::of(&[*byte]));
                    }
                }
                _ => return ByteSet::ALL,
            }
        }
        set
    }
}

impl PlainText<Scratch> for TagAutomaton {
    fn lexicon(&self) -> Lexicon {
        Lexicon {
            tells_free: self.0.has_grammars,
            ..SchemaAutomaton::LEXICON
        }
    }

    fn class(&self, class: ClassId) -> &[(u32, u32)] {
        let (part, inner) = class.split();
        let part = self.part(part);
        match (&part.body, inner) {
            (Body::Json(json), None) => &json.text,
            (Body::Json(json), Some(class)) => json.automaton.class(class),
            (Body::Grammar(automaton), Some(class)) => PlainText::class(automaton, class),
            _ => &part.class,
        }
    }

    fn reader(
        &self,
        cursor: Cursor,
        horizon: Horizon<'_>,
        x: &mut Scratch,
    ) -> Option<Box<dyn ReadText + '_>> {
        ask_alone!(self, cursor, x, text => text.reader(horizon))?
    }

    fn cursor_at(&self, cursor: Cursor, at: TextAt, x: &mut Scratch) -> Cursor {
        ask_alone!(self, cursor, x, text => text.cursor_at(at)).unwrap_or(cursor)
    }

    /// Text that is free in a grammar, whatever else may come beside it, or in JSON alone.
    fn free_text(&self, at: Spot, x: &mut Scratch) -> Option<FreeText> {
        let Spot::Cursor(cursor) = at else {
            return None;
        };
        let of_grammar = (0..x.config(cursor).len()).find_map(|at| {
            let thread = x.config(cursor)[at];
            let Body::Grammar(automaton) = &self.part(thread.part).body else {
                return None;
            };
            self.alone(thread, automaton, x).free_text()
        });
        of_grammar.or_else(|| ask_alone!(self, cursor, x, text => text.free_text())?)
    }

    fn can_do_without(&self, chars: &[(u32, u32)]) -> bool {
        let mut parts = self.0.parts.iter();
        parts.all(|part| part.body.is_fine_without(chars))
    }
}

impl Stack<Scratch> for TagAutomaton {
    fn depth_used(&self, x: &Scratch) -> usize {
        let json = x.json.met_within().map(|(part, _, scratch)| {
            let Body::Json(json) = &self.part(part).body else {
                return 1;
            };
            json.automaton.depth_used(scratch)
        });
        let grammars = x.grammars.met_within().map(|(part, _, scratch)| {
            let Body::Grammar(automaton) = &self.part(part).body else {
                return 1;
            };
            automaton.depth_used(scratch)
        });
        json.chain(grammars).max().unwrap_or(1)
    }

    fn least_depth(&self, cursor: Cursor, x: &mut Scratch) -> usize {
        ask_alone!(self, cursor, x, text => text.least_depth()).unwrap_or(1)
    }

    fn step_on_top(&self, cursor: Cursor, byte: u8, x: &mut Scratch) -> Option<Cursor> {
        let next = ask_alone!(self, cursor, x, text => text.step_on_top(byte));
        next.unwrap_or_else(|| Some(self.step(cursor, byte, x)))
    }

    fn next_bytes_on_top(&self, cursor: Cursor, x: &mut Scratch) -> ByteSet {
        let bytes = ask_alone!(self, cursor, x, text => text.next_bytes_on_top());
        bytes.unwrap_or_else(|| self.spelt_bytes(x.config(cursor)))
    }
}
