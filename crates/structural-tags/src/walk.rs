//! Threads in a walk over the vocabulary.
//!
//! For example, behind `<` in free text one thread reads on and one waits for the rest of the
//! marker `<call>`.

use std::marker::PhantomData;

use fsm_index::{ByteAutomaton, Cursor, Leaf, Nested, Outer, Slots};

use super::graph::{Graph, MAX_OPEN_RULES};
use super::held::{Held, InnerState};
use super::markers::ROOT;
use super::parts::{Body, Part, Thread};
use super::scratch::{Inside, Nestable, Scratch, Site};

/// A walk: steps from cursor to cursor.
pub(super) struct Walk<'a, 'x> {
    pub(super) graph: &'a Graph,
    pub(super) x: &'x mut Scratch,
}

/// A thread in a text of an inner automaton that stands alone.
pub(super) struct Solo<'a, 'x, A> {
    walk: Walk<'a, 'x>,
    thread: Thread,
    automaton: PhantomData<&'a A>,
}

impl<'a, A: Nestable> Outer<'a> for Solo<'a, '_, A> {
    type Leaf = A;
    type Around = u32;

    #[inline]
    fn slots(&mut self) -> &mut Slots<A, u32> {
        A::slots(self.walk.x)
    }

    fn cursor(&mut self, inner: Cursor) -> Option<Cursor> {
        let Solo { walk, thread, .. } = self;
        if inner.is_dead() {
            return Some(Cursor::DEAD);
        }
        let slots = A::slots(walk.x);
        // The slot of a text that began is one of all equal parts.
        let is_its = slots.owner(thread.slot) == thread.part;
        let is_kept = A::CURSORS_ARE_DENSE && is_its && *slots.around(thread.slot) == thread.stack;
        if is_kept && let Some(known) = slots.known(thread.slot, inner) {
            return Some(Cursor(known));
        }
        let mut threads = walk.x.lend();
        threads.push(Thread {
            inner: inner.0,
            ..*thread
        });
        walk.x.begin_round();
        walk.close(&mut threads);
        walk.prune(&mut threads);
        let cursor = match threads.as_slice() {
            [_] if is_kept => walk.x.add(&threads),
            _ => walk.intern(&mut threads),
        };
        walk.x.give_back(threads);
        if is_kept {
            A::slots(walk.x).remember(thread.slot, inner, cursor.0);
        }
        Some(cursor)
    }
}

impl<'a, 'x> Walk<'a, 'x> {
    #[inline]
    pub(super) fn new(graph: &'a Graph, x: &'x mut Scratch) -> Self {
        Walk { graph, x }
    }

    /// Begins a walk at some threads.
    pub(super) fn enter<'h>(&mut self, held: impl Iterator<Item = &'h Held>) -> Cursor {
        let Walk { graph, x } = self;
        x.clear();
        let mut threads = x.lend();
        for held in held {
            let stack = x.frames().enter(&held.stack);
            let part = held.part;
            let site = Site { part, stack };
            let inside = match (&graph.part(part).body, &held.inner) {
                (Body::Json(json), InnerState::Json(state)) => json.automaton.meet(state, site, x),
                (Body::Grammar(automaton), InnerState::Grammar(state)) => {
                    automaton.meet(state, site, x)
                }
                (_, InnerState::Number(at)) => {
                    Inside::of_number(graph.fresh(part, held.tokens, *at))
                }
                _ => continue,
            };
            threads.push(Thread {
                part,
                guard: held.guard,
                slot: inside.slot,
                extra: held.extra,
                tokens: held.tokens,
                stack,
                inner: inside.cursor,
            });
        }
        let cursor = match self.graph.solo_of(&threads) {
            // The slot remembers it: it need not be found by what it is.
            Some((thread, Body::Json(_))) => self.x.begin_alone(thread),
            _ => self.intern(&mut threads),
        };
        self.x.give_back(threads);
        cursor
    }

    /// Returns the cursor of some threads, without those that others cover.
    pub(super) fn intern(&mut self, threads: &mut Vec<Thread>) -> Cursor {
        self.prune(threads);
        self.x.intern(threads)
    }

    fn prune(&self, threads: &mut Vec<Thread>) {
        let graph = self.graph;
        if threads.len() > 1 && !graph.covers().is_empty() {
            graph.covers().prune(|part| graph.part(part).kind, threads);
        }
    }

    /// Returns the cursor behind a byte.
    #[inline]
    pub(super) fn step(&mut self, cursor: Cursor, byte: u8) -> Cursor {
        if cursor.is_dead() {
            return Cursor::DEAD;
        }
        if let Some(next) = self.step_solo(cursor, byte) {
            return next;
        }
        let mut next = self.x.lend();
        self.x.begin_round();
        for at in 0..self.x.config(cursor).len() {
            let thread = self.x.config(cursor)[at];
            self.step_thread(thread, byte, &mut next);
        }
        self.close(&mut next);
        let cursor = self.cursor_of(&mut next);
        self.x.give_back(next);
        cursor
    }

    /// Takes a step of one text alone; `None` where other threads stand beside it, or a marker
    /// begins.
    #[inline]
    fn step_solo(&mut self, cursor: Cursor, byte: u8) -> Option<Cursor> {
        match self.solo(cursor)? {
            (_, Body::Json(json)) if json.begins_marker(byte) => None,
            (thread, Body::Json(json)) => Some(self.alone(thread, &json.automaton).step(byte)),
            (thread, Body::Grammar(automaton)) => Some(self.alone(thread, &**automaton).step(byte)),
            _ => None,
        }
    }

    /// Returns a thread that stands alone in a text of an inner automaton.
    #[inline]
    pub(super) fn alone<'s, A: Nestable>(
        &'s mut self,
        thread: Thread,
        automaton: &'a A,
    ) -> Nested<'a, Solo<'a, 's, A>> {
        let outer = Solo {
            walk: Walk::new(self.graph, self.x),
            thread,
            automaton: PhantomData,
        };
        Nested::new(outer, automaton, thread.slot, Cursor(thread.inner))
    }

    /// Returns the only thread of a cursor, if it stands in a text of an inner automaton that is
    /// spelt as it is.
    #[inline]
    pub(super) fn solo(&self, cursor: Cursor) -> Option<(Thread, &'a Body)> {
        self.graph.solo_of(self.x.config(cursor))
    }

    /// Returns the cursor of some threads, which are all that stand there.
    fn cursor_of(&mut self, threads: &mut Vec<Thread>) -> Cursor {
        self.prune(threads);
        threads.sort_unstable();
        threads.dedup();
        let x = &mut *self.x;
        if let Some((thread, Body::Json(_))) = self.graph.solo_of(threads)
            && *x.json().around(thread.slot) == thread.stack
            && x.json().owner(thread.slot) == thread.part
        {
            let known = x.json().known(thread.slot, Cursor(thread.inner));
            return known.map_or_else(|| x.begin_alone(thread), Cursor);
        }
        x.intern(threads)
    }

    /// Adds the threads that begin at a junction. Recursion is as deep as rules are open, and
    /// as rules begin with each other.
    fn begin(&mut self, junction: u32, stack: u32, threads: &mut Vec<Thread>) {
        let Walk { graph, x } = self;
        let at = graph.junction(junction);
        let depth = x.frames().depth(stack);
        for &part in &at.parts {
            let Part { body, after, .. } = graph.part(part);
            if !x.begins(part, stack) {
                continue;
            }
            if depth + graph.junction(*after).needs > MAX_OPEN_RULES {
                continue;
            }
            // Equal parts have one memory, so that their places can be compared.
            let part_like = graph.like(part);
            let site = Site {
                part: part_like,
                stack,
            };
            let inside = match body {
                Body::Json(json) => json.automaton.begin(&json.start, site, x),
                Body::Grammar(automaton) => automaton.begin(&automaton.start(), site, x),
                other => Inside::of_number(other.begin()),
            };
            threads.push(Thread {
                part,
                guard: ROOT,
                slot: inside.slot,
                extra: 0,
                tokens: 0,
                stack,
                inner: inside.cursor,
            });
        }
        for &(entry, after) in &at.calls {
            if depth + 1 + self.graph.junction(entry).needs <= MAX_OPEN_RULES {
                let stack = self.x.frames().push(after, stack);
                self.begin(entry, stack, threads);
            }
        }
        if at.returns
            && let Some(frame) = self.x.frames().get(stack)
        {
            self.begin(frame.after, frame.below, threads);
        }
    }

    /// Tells whether the part may end at a thread.
    fn may_end(&mut self, thread: Thread) -> bool {
        match &self.graph.part(thread.part).body {
            Body::Json(json) => {
                let scratch = self.x.json().scratch(thread.slot);
                thread.extra == 0 && json.ends_at(Cursor(thread.inner), scratch)
            }
            Body::Grammar(automaton) => {
                let scratch = self.x.grammars().scratch(thread.slot);
                automaton.ends_at_cursor(Cursor(thread.inner), scratch)
            }
            other => other.may_end(thread.inner, thread.tokens),
        }
    }

    /// Adds the threads that a byte leads one to.
    fn step_thread(&mut self, thread: Thread, byte: u8, out: &mut Vec<Thread>) {
        let body = &self.graph.part(thread.part).body;
        if let Body::Run(run) = body {
            let Some(step) = run.step(thread.inner, thread.extra, thread.tokens, byte) else {
                return;
            };
            if let Some((inner, extra, tokens)) = step.stay {
                out.push(Thread {
                    inner,
                    extra,
                    tokens,
                    ..thread
                });
            }
            for &trigger in step.fires {
                self.begin(run.fires[usize::from(trigger)], thread.stack, out);
            }
            return;
        }
        if let Body::Grammar(automaton) = body {
            let scratch = self.x.grammars().scratch(thread.slot);
            let next = automaton.step(Cursor(thread.inner), byte, scratch);
            if !next.is_dead() {
                let inner = next.0;
                out.push(Thread { inner, ..thread });
            }
            return;
        }
        let Body::Json(json) = body else {
            if let Some((inner, extra)) = body.step(thread.inner, thread.extra, byte) {
                out.push(Thread {
                    inner,
                    extra,
                    ..thread
                });
            }
            return;
        };
        let scratch = self.x.json().scratch(thread.slot);
        let step = |byte: u8| json.step(Cursor(thread.inner), byte, scratch);
        json.spell(thread.guard, thread.extra, byte, step, |spelt, next| {
            out.push(Thread {
                guard: spelt.guard,
                extra: spelt.extra,
                inner: next.map_or(thread.inner, |next| next.0),
                ..thread
            });
        });
    }

    /// Adds the threads that begin where others may end.
    fn close(&mut self, threads: &mut Vec<Thread>) {
        let stepped = threads.len();
        for at in 0..stepped {
            let Thread { part, stack, .. } = threads[at];
            if self.may_end(threads[at]) {
                self.begin(self.graph.part(part).after, stack, threads);
            }
        }
    }

    /// Returns the cursor of a free text outside of a marker, and of nothing else.
    pub(super) fn resting(&mut self, free: Thread, count: u32) -> Cursor {
        let mut threads = self.x.lend();
        threads.push(Thread {
            guard: ROOT,
            slot: 0,
            extra: count,
            tokens: 0,
            inner: self.graph.part(free.part).body.begin(),
            ..free
        });
        self.x.begin_round();
        self.close(&mut threads);
        let cursor = self.intern(&mut threads);
        self.x.give_back(threads);
        cursor
    }
}
