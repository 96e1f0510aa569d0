//! Threads in a walk over the vocabulary: plain numbers, interned by what
//! threads there are together.

use std::fmt;

use foldhash::HashMap;
use fsm_index::{ByteAutomaton, Cursor, Leaf, Slots};
use grammar::GrammarAutomaton;
use schema_regex::automaton::SchemaAutomaton;

use super::held::Stack;
use super::hints::Inside as _;
use super::machine::{MAX_OPEN_RULES, TagAutomaton};
use super::markers::ROOT;
use super::parts::{Body, Escape, Json, Part, Spelling, Thread};

/// Working memory of one walk.
#[derive(Default)]
pub struct Scratch {
    /// Of each text, the rules that are open around it.
    pub(super) json: Slots<SchemaAutomaton, u32>,
    pub(super) grammars: Slots<GrammarAutomaton, u32>,
    /// For parts of JSON and of grammars, where a text begins: found once a walk.
    pub(super) starts: HashMap<u32, (u32, u32)>,
    /// The threads of all configs, one after another, and where each config's are.
    pool: Vec<Thread>,
    pub(super) configs: Vec<(u32, u32)>,
    pub(super) ids: HashMap<Box<[Thread]>, u32>,
    pub(super) threads: Vec<Thread>,
    pub(super) frames: Frames,
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
    pub(super) depth: u32,
}

impl Frames {
    fn clear(&mut self) {
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

    /// A stack that was held.
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

/// A config's cursor: its number and one, so that 0 is dead.
fn cursor(id: u32) -> Cursor {
    Cursor(id + 1)
}

impl Scratch {
    pub(super) fn config(&self, cursor: Cursor) -> &[Thread] {
        match cursor.0.checked_sub(1) {
            Some(id) => {
                let (from, to) = self.configs[id as usize];
                &self.pool[from as usize..to as usize]
            }
            None => &[],
        }
    }

    pub(super) fn intern(&mut self, threads: &mut Vec<Thread>) -> Cursor {
        if threads.is_empty() {
            return Cursor::DEAD;
        }
        threads.sort_unstable();
        threads.dedup();
        if let Some(id) = self.ids.get(threads.as_slice()) {
            return cursor(*id);
        }
        let added = self.add(threads);
        self.ids.insert(threads.as_slice().into(), added.0 - 1);
        added
    }

    /// The cursor of a thread of JSON that stands alone and is met for the first time.
    pub(super) fn begin_alone(&mut self, thread: Thread) -> Cursor {
        let begun = self.add(&[thread]);
        let inner = Cursor(thread.inner);
        self.json.remember(thread.slot, inner, begun.0);
        begun
    }

    /// A config that is not there yet.
    fn add(&mut self, threads: &[Thread]) -> Cursor {
        let from = self.pool.len() as u32;
        self.pool.extend_from_slice(threads);
        self.configs.push((from, self.pool.len() as u32));
        cursor((self.configs.len() - 1) as u32)
    }

    /// Forgets the walk before.
    pub(super) fn clear(&mut self) {
        self.json.clear();
        self.grammars.clear();
        self.starts.clear();
        self.configs.clear();
        self.pool.clear();
        self.ids.clear();
        self.frames.clear();
    }
}

impl TagAutomaton {
    /// Adds the threads that begin at a junction. Recursion is as deep as rules are open, and
    /// as rules begin with each other.
    pub(super) fn begin(
        &self,
        junction: u32,
        stack: u32,
        x: &mut Scratch,
        threads: &mut Vec<Thread>,
    ) {
        let at = self.junction(junction);
        let depth = x.frames.depth(stack);
        for &part in &at.parts {
            let Part { body, after, .. } = self.part(part);
            if depth + self.junction(*after).needs > MAX_OPEN_RULES {
                continue;
            }
            let (slot, inner) = match body {
                Body::Json(json) => json.automaton.begin(&json.start, (part, stack), x),
                Body::Grammar(automaton) => automaton.begin(&automaton.start(), (part, stack), x),
                other => (0, other.begin()),
            };
            threads.push(Thread {
                part,
                guard: ROOT,
                slot,
                extra: 0,
                tokens: 0,
                stack,
                inner,
            });
        }
        for &(entry, after) in &at.calls {
            if depth + 1 + self.junction(entry).needs <= MAX_OPEN_RULES {
                let stack = x.frames.push(after, stack);
                self.begin(entry, stack, x, threads);
            }
        }
        if at.returns
            && let Some(frame) = x.frames.get(stack)
        {
            self.begin(frame.after, frame.below, x, threads);
        }
    }

    /// Tells whether the part may end at a thread of a walk.
    pub(super) fn may_end(&self, thread: Thread, x: &mut Scratch) -> bool {
        match &self.part(thread.part).body {
            Body::Json(json) => {
                let scratch = x.json.scratch(thread.slot);
                thread.extra == 0 && json.ends_at(Cursor(thread.inner), scratch)
            }
            Body::Grammar(automaton) => {
                let scratch = x.grammars.scratch(thread.slot);
                automaton.ends_at_cursor(Cursor(thread.inner), scratch)
            }
            other => other.may_end(thread.inner, thread.tokens),
        }
    }

    /// Adds where a byte leads a thread.
    pub(super) fn step_thread(
        &self,
        thread: Thread,
        byte: u8,
        x: &mut Scratch,
        out: &mut Vec<Thread>,
    ) {
        let body = &self.part(thread.part).body;
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
                self.begin(run.fires[usize::from(trigger)], thread.stack, x, out);
            }
            return;
        }
        if let Body::Grammar(automaton) = body {
            let scratch = x.grammars.scratch(thread.slot);
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
        let scratch = x.json.scratch(thread.slot);
        let mut step = |byte: u8| {
            let next = json.step(Cursor(thread.inner), byte, scratch);
            next.map(|next| next.0)
        };
        let guard = match &json.markers {
            None => Some(ROOT),
            Some(markers) => markers.step(thread.guard, byte),
        };
        let Some(guard) = guard else { return };
        if let Some(escape) = Escape::unpack(thread.extra) {
            match escape.step(byte) {
                Some(Some(more)) => out.push(Thread {
                    guard,
                    extra: Escape::pack(Some(more)),
                    ..thread
                }),
                Some(None) => {
                    if let Some(inner) = step(escape.byte) {
                        out.push(Thread {
                            guard,
                            extra: 0,
                            inner,
                            ..thread
                        });
                    }
                }
                None => {}
            }
            return;
        }
        if let Some(inner) = step(byte) {
            out.push(Thread {
                guard,
                inner,
                ..thread
            });
        }
        if byte == b'\\'
            && let Some(markers) = &json.markers
        {
            for &completing in markers.completing(thread.guard) {
                if step(completing).is_some() {
                    let escape = Escape {
                        at: 1,
                        byte: completing,
                    };
                    out.push(Thread {
                        guard,
                        extra: Escape::pack(Some(escape)),
                        ..thread
                    });
                }
            }
        }
    }

    /// Adds the threads that begin where others may end.
    pub(super) fn close(&self, x: &mut Scratch, threads: &mut Vec<Thread>) {
        let stepped = threads.len();
        for at in 0..stepped {
            let Thread { part, stack, .. } = threads[at];
            if self.may_end(threads[at], x) {
                self.begin(self.part(part).after, stack, x, threads);
            }
        }
    }

    /// The config of a free text outside of a marker, and of nothing else.
    pub(super) fn resting(&self, (part, stack): (u32, u32), count: u32, x: &mut Scratch) -> Cursor {
        let mut threads = std::mem::take(&mut x.threads);
        threads.clear();
        threads.push(Thread {
            part,
            guard: ROOT,
            slot: 0,
            extra: count,
            tokens: 0,
            stack,
            inner: self.part(part).body.begin(),
        });
        self.close(x, &mut threads);
        let cursor = x.intern(&mut threads);
        x.threads = threads;
        cursor
    }

    /// The free text of a config, if there is one.
    pub(super) fn free_thread(&self, config: &[Thread]) -> Option<Thread> {
        let mut free = config
            .iter()
            .filter(|t| matches!(self.part(t.part).body, Body::Free(_) | Body::Run(_)));
        let first = *free.next()?;
        // A free text that has just begun inside of another one's end.
        free.next().is_none().then_some(first)
    }

    /// The only thread of a config, if it is in JSON that is spelt so.
    pub(super) fn only_json<'s>(&'s self, config: &[Thread]) -> Option<(Thread, &'s Json)> {
        match config {
            [thread] => match &self.part(thread.part).body {
                Body::Json(json) if json.spelling == Spelling::Json => Some((*thread, json)),
                _ => None,
            },
            _ => None,
        }
    }
}

impl fmt::Debug for Scratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scratch({} configs)", self.configs.len())
    }
}
