//! Parts joined to one automaton.
//!
//! A text is read by *threads*, as in Thompson's simulation ("Regular
//! expression search algorithm", 1968): each stands in one part; where a part
//! may end, threads begin in those that may follow. All threads are alive, so
//! the text is: a part can always be finished, and behind each there is a way
//! to the end. Mostly there is one thread, or a free text's with those that
//! wait for the marker that ends it.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use fsm_index::{
    ByteAutomaton, ClassId, Cursor, Exception, Horizon, JSON_TEXT, SpecialId, TextLoop,
};
use schema_regex::automaton as schema;

use super::free::Place;
use super::markers::ROOT;
use super::parts::{Body, Escape, Json, Part, Thread};

/// Structural tags as a [`ByteAutomaton`]: free text, marked parts that are
/// bound, and free text again.
///
/// Made by [`Tags`](super::Tags) and
/// [`ResponseFormat`](super::ResponseFormat). Clones share everything.
#[derive(Clone)]
pub struct TagAutomaton(pub(super) Arc<Graph>);

#[derive(Debug)]
pub(super) struct Graph {
    pub(super) parts: Vec<Part>,
    pub(super) junctions: Vec<Junction>,
    pub(super) start: u32,
    pub(super) specials: Vec<Box<str>>,
}

/// What may follow: reached through empty parts too.
#[derive(Clone, Debug, Default)]
pub(super) struct Junction {
    pub(super) parts: Vec<u32>,
    /// A special token, and the junction behind it.
    pub(super) specials: Vec<(u32, u32)>,
    /// Whether the text may end here.
    pub(super) end: bool,
    /// Bytes and special tokens of a shortest text from here.
    pub(super) distance: u64,
    pub(super) best: Best,
}

/// The first step of a shortest text.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Best {
    #[default]
    End,
    Part(u32),
    Special(u32),
}

/// Where a text under structural tags stands.
#[derive(Clone, Debug)]
pub struct State(Vec<Held>);

/// A thread that outlives walks.
#[derive(Clone, Debug)]
struct Held {
    part: u32,
    guard: u16,
    extra: u32,
    inner: Inner,
}

#[derive(Clone, Debug)]
enum Inner {
    Number(u32),
    Json(Arc<schema::State>),
}

/// Working memory of one walk.
#[derive(Default)]
pub struct Scratch {
    slots: Vec<Slot>,
    /// For parts of JSON, where a value begins: found once a walk.
    starts: HashMap<u32, (u16, u32)>,
    configs: Vec<Box<[Thread]>>,
    ids: HashMap<Box<[Thread]>, u32>,
    /// For committing.
    commits: HashMap<u32, schema::Scratch>,
    threads: Vec<Thread>,
}

/// Working memory of one value of JSON in a walk.
struct Slot {
    part: u32,
    scratch: schema::Scratch,
    /// Whether this walk uses it.
    used: bool,
    /// Whether the walk began inside of the value.
    begun_before: bool,
}

/// Classes of one automaton of JSON that are told apart in a [`ClassId`].
const CLASSES: u32 = 1 << 20;

/// A config's cursor: its number and one, so that 0 is dead.
fn cursor(id: u32) -> Cursor {
    Cursor(id + 1)
}

impl Scratch {
    fn config(&self, cursor: Cursor) -> &[Thread] {
        match cursor.0.checked_sub(1) {
            Some(id) => &self.configs[id as usize],
            None => &[],
        }
    }

    fn intern(&mut self, threads: &mut Vec<Thread>) -> Cursor {
        if threads.is_empty() {
            return Cursor::DEAD;
        }
        threads.sort_unstable();
        threads.dedup();
        if let Some(id) = self.ids.get(threads.as_slice()) {
            return cursor(*id);
        }
        let id = self.configs.len() as u32;
        let config: Box<[Thread]> = threads.as_slice().into();
        self.configs.push(config.clone());
        self.ids.insert(config, id);
        cursor(id)
    }

    /// A slot for a value of that part.
    fn slot(&mut self, part: u32, json: &Json, begun_before: bool) -> u16 {
        let free = self.slots.iter().position(|s| s.part == part && !s.used);
        let at = free.unwrap_or_else(|| {
            self.slots.push(Slot {
                part,
                scratch: json.automaton.scratch(),
                used: false,
                begun_before,
            });
            self.slots.len() - 1
        });
        self.slots[at].used = true;
        self.slots[at].begun_before = begun_before;
        at as u16
    }
}

impl TagAutomaton {
    fn part(&self, part: u32) -> &Part {
        &self.0.parts[part as usize]
    }

    fn junction(&self, junction: u32) -> &Junction {
        &self.0.junctions[junction as usize]
    }

    /// How many parts there are: what memory is proportional to, the schemas'
    /// own aside.
    pub fn parts(&self) -> usize {
        self.0.parts.len()
    }

    /// Whether a text without special tokens is admitted as a whole.
    pub fn is_match(&self, text: &[u8]) -> bool {
        let mut state = self.start();
        self.advance(&mut state, text, &mut self.scratch()).is_ok() && self.is_accepting(&state)
    }

    /// Adds the threads that begin at a junction.
    fn begin(&self, junction: u32, x: &mut Scratch, threads: &mut Vec<Thread>) {
        for &part in &self.junction(junction).parts {
            let body = &self.part(part).body;
            let (slot, inner) = match body {
                Body::Json(json) => self.begin_json(part, json, x),
                other => (0, other.begin()),
            };
            threads.push(Thread {
                part,
                guard: ROOT,
                slot,
                extra: 0,
                inner,
            });
        }
    }

    fn begin_json(&self, part: u32, json: &Json, x: &mut Scratch) -> (u16, u32) {
        if let Some(start) = x.starts.get(&part) {
            return *start;
        }
        let slot = x.slot(part, json, false);
        let scratch = &mut x.slots[usize::from(slot)].scratch;
        let inner = json.automaton.enter(&json.start, scratch).0;
        x.starts.insert(part, (slot, inner));
        (slot, inner)
    }

    /// Whether the part may end at a thread of a walk.
    fn may_end(&self, thread: Thread, x: &mut Scratch) -> bool {
        match &self.part(thread.part).body {
            Body::Json(json) => {
                let scratch = &mut x.slots[usize::from(thread.slot)].scratch;
                thread.extra == 0 && json.automaton.ends_at_cursor(Cursor(thread.inner), scratch)
            }
            other => other.may_end(thread.inner),
        }
    }

    /// Adds where a byte leads a thread.
    fn step_thread(&self, thread: Thread, byte: u8, x: &mut Scratch, out: &mut Vec<Thread>) {
        let body = &self.part(thread.part).body;
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
        let scratch = &mut x.slots[usize::from(thread.slot)].scratch;
        let mut step = |byte: u8| {
            let next = json.automaton.step(Cursor(thread.inner), byte, scratch);
            (!next.is_dead()).then_some(next.0)
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
    fn close(&self, x: &mut Scratch, threads: &mut Vec<Thread>) {
        let stepped = threads.len();
        for at in 0..stepped {
            if self.may_end(threads[at], x) {
                self.begin(self.part(threads[at].part).after, x, threads);
            }
        }
    }

    /// The config of a free text outside of a marker, and of nothing else.
    fn resting(&self, part: u32, count: u32, x: &mut Scratch) -> Cursor {
        let mut threads = std::mem::take(&mut x.threads);
        threads.clear();
        threads.push(Thread {
            part,
            guard: ROOT,
            slot: 0,
            extra: count,
            inner: Place::START.pack(),
        });
        self.close(x, &mut threads);
        let cursor = x.intern(&mut threads);
        x.threads = threads;
        cursor
    }

    /// The free text of a config, if there is one.
    fn free_thread(&self, config: &[Thread]) -> Option<Thread> {
        let mut free = config
            .iter()
            .filter(|t| matches!(self.part(t.part).body, Body::Free(_)));
        let first = *free.next()?;
        // A free text that has just begun inside of another one's end.
        free.next().is_none().then_some(first)
    }

    /// The only thread of a config, if it is in JSON.
    fn only_json<'s>(&'s self, config: &[Thread]) -> Option<(Thread, &'s Json)> {
        match config {
            [thread] => match &self.part(thread.part).body {
                Body::Json(json) => Some((*thread, json)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Adds the threads that begin at a junction to a state.
    fn begin_held(&self, junction: u32, threads: &mut Vec<Held>) {
        for &part in &self.junction(junction).parts {
            let body = &self.part(part).body;
            let known = |held: &Held| {
                held.part == part
                    && held.guard == ROOT
                    && held.extra == 0
                    && match (&held.inner, body) {
                        (Inner::Number(at), _) => *at == body.begin(),
                        // The same beginning, not only the same place.
                        (Inner::Json(_), _) => false,
                    }
            };
            if threads.iter().any(known) {
                continue;
            }
            threads.push(Held {
                part,
                guard: ROOT,
                extra: 0,
                inner: match body {
                    Body::Json(json) => Inner::Json(Arc::new(json.start.clone())),
                    other => Inner::Number(other.begin()),
                },
            });
        }
    }

    fn may_end_held(&self, held: &Held) -> bool {
        match (&self.part(held.part).body, &held.inner) {
            (Body::Json(json), Inner::Json(state)) => {
                held.extra == 0 && json.automaton.is_accepting(state)
            }
            (body, Inner::Number(at)) => body.may_end(*at),
            _ => false,
        }
    }

    fn close_held(&self, threads: &mut Vec<Held>) {
        let mut begun: Vec<u32> = Vec::new();
        for at in 0..threads.len() {
            let after = self.part(threads[at].part).after;
            if !begun.contains(&after) && self.may_end_held(&threads[at]) {
                begun.push(after);
                self.begin_held(after, threads);
            }
        }
    }

    fn step_held(&self, held: &Held, byte: u8, x: &mut Scratch, out: &mut Vec<Held>) {
        let body = &self.part(held.part).body;
        let (json, state) = match (body, &held.inner) {
            (Body::Json(json), Inner::Json(state)) => (json, state),
            (body, Inner::Number(at)) => {
                if let Some((inner, extra)) = body.step(*at, held.extra, byte) {
                    let next = Held {
                        part: held.part,
                        guard: ROOT,
                        extra,
                        inner: Inner::Number(inner),
                    };
                    let same = |other: &Held| {
                        other.part == next.part
                            && other.extra == extra
                            && matches!(other.inner, Inner::Number(n) if n == inner)
                    };
                    if !out.iter().any(same) {
                        out.push(next);
                    }
                }
                return;
            }
            _ => return,
        };
        let scratch = x
            .commits
            .entry(held.part)
            .or_insert_with(|| json.automaton.scratch());
        let mut step = |byte: u8| {
            let mut next = schema::State::clone(state);
            let done = json.automaton.advance(&mut next, &[byte], scratch);
            done.is_ok().then(|| Arc::new(next))
        };
        let guard = match &json.markers {
            None => Some(ROOT),
            Some(markers) => markers.step(held.guard, byte),
        };
        let Some(guard) = guard else { return };
        let mut push = |extra: Option<Escape>, state: Arc<schema::State>| {
            out.push(Held {
                part: held.part,
                guard,
                extra: Escape::pack(extra),
                inner: Inner::Json(state),
            });
        };
        if let Some(escape) = Escape::unpack(held.extra) {
            match escape.step(byte) {
                Some(Some(more)) => push(Some(more), state.clone()),
                Some(None) => {
                    if let Some(next) = step(escape.byte) {
                        push(None, next);
                    }
                }
                None => {}
            }
            return;
        }
        if let Some(next) = step(byte) {
            push(None, next);
        }
        if byte == b'\\'
            && let Some(markers) = &json.markers
        {
            for &completing in markers.completing(held.guard) {
                if step(completing).is_some() {
                    let escape = Escape {
                        at: 1,
                        byte: completing,
                    };
                    push(Some(escape), state.clone());
                }
            }
        }
    }

    /// Commits as many bytes at once as a single value of JSON takes; how many
    /// those are.
    fn advance_json(&self, threads: &mut Vec<Held>, bytes: &[u8], x: &mut Scratch) -> usize {
        let [held] = threads.as_mut_slice() else {
            return 0;
        };
        let (Body::Json(json), Inner::Json(state)) =
            (&self.0.parts[held.part as usize].body, &held.inner)
        else {
            return 0;
        };
        if json.goes_on || held.extra != 0 {
            return 0;
        }
        let mut guard = held.guard;
        let mut most = bytes.len();
        let mut guards = Vec::new();
        if let Some(markers) = &json.markers {
            for (at, &byte) in bytes.iter().enumerate() {
                match markers.step(guard, byte) {
                    // Here the escape of a character may begin that need not
                    // be escaped.
                    Some(_) if byte == b'\\' && !markers.completing(guard).is_empty() => {
                        most = at;
                        break;
                    }
                    Some(next) => guard = next,
                    None => {
                        most = at;
                        break;
                    }
                }
                guards.push(guard);
            }
        }
        let scratch = x
            .commits
            .entry(held.part)
            .or_insert_with(|| json.automaton.scratch());
        let mut next = schema::State::clone(state);
        let taken = match json.automaton.advance(&mut next, &bytes[..most], scratch) {
            Ok(()) => most,
            Err(at) => match json.automaton.advance(&mut next, &bytes[..at], scratch) {
                Ok(()) => at,
                Err(_) => return 0,
            },
        };
        if taken == 0 {
            return 0;
        }
        held.guard = guards.get(taken - 1).copied().unwrap_or(ROOT);
        held.inner = Inner::Json(Arc::new(next));
        self.close_held(threads);
        taken
    }

    /// The thread of a state that is nearest to the end, with its way out of
    /// its part.
    fn nearest(&self, state: &State) -> Option<(u32, Vec<u8>)> {
        let ways = state.0.iter().map(|held| {
            let mut text = Vec::new();
            let part = self.part(held.part);
            match (&part.body, &held.inner) {
                (Body::Json(json), Inner::Json(inner)) => {
                    json.completion(inner, held.guard, Escape::unpack(held.extra), &mut text);
                }
                (body, Inner::Number(at)) => body.completion(*at, &mut text),
                _ => {}
            }
            (part.after, text)
        });
        ways.min_by_key(|(after, text)| {
            self.junction(*after)
                .distance
                .saturating_add(text.len() as u64)
        })
    }
}

impl ByteAutomaton for TagAutomaton {
    type State = State;
    type Scratch = Scratch;

    fn scratch(&self) -> Scratch {
        Scratch::default()
    }

    fn start(&self) -> State {
        let mut threads = Vec::new();
        self.begin_held(self.0.start, &mut threads);
        State(threads)
    }

    fn is_accepting(&self, state: &State) -> bool {
        state
            .0
            .iter()
            .any(|held| self.junction(self.part(held.part).after).end && self.may_end_held(held))
    }

    fn advance(&self, state: &mut State, bytes: &[u8], x: &mut Scratch) -> Result<(), usize> {
        let mut threads = state.0.clone();
        let mut at = 0;
        while at < bytes.len() {
            at += self.advance_json(&mut threads, &bytes[at..], x);
            let Some(&byte) = bytes.get(at) else { break };
            let mut next = Vec::new();
            for held in &threads {
                self.step_held(held, byte, x, &mut next);
            }
            if next.is_empty() {
                return Err(at);
            }
            self.close_held(&mut next);
            threads = next;
            at += 1;
        }
        state.0 = threads;
        Ok(())
    }

    fn completion(&self, state: &State, out: &mut Vec<u8>) {
        let Some((after, text)) = self.nearest(state) else {
            return;
        };
        out.extend_from_slice(&text);
        let mut junction = after;
        loop {
            match self.junction(junction).best {
                Best::End | Best::Special(_) => return,
                Best::Part(part) => {
                    let part = self.part(part);
                    match &part.body {
                        Body::Json(json) => json.completion(&json.start, ROOT, None, out),
                        body => body.completion(body.begin(), out),
                    }
                    junction = part.after;
                }
            }
        }
    }

    fn completion_special(&self, state: &State) -> Option<SpecialId> {
        let (after, text) = self.nearest(state)?;
        if !text.is_empty() {
            return None;
        }
        let mut junction = after;
        loop {
            match self.junction(junction).best {
                Best::Special(special) => return Some(SpecialId(special)),
                Best::Part(part) if self.part(part).body.is_nullable() => {
                    junction = self.part(part).after;
                }
                Best::Part(_) | Best::End => return None,
            }
        }
    }

    /// The bytes of UTF-8.
    fn uses_byte(&self, byte: u8) -> bool {
        !matches!(byte, 0xC0 | 0xC1 | 0xF5..)
    }

    fn specials(&self) -> &[Box<str>] {
        &self.0.specials
    }

    fn allowed_specials(&self, state: &State, out: &mut Vec<SpecialId>) {
        for held in &state.0 {
            let specials = &self.junction(self.part(held.part).after).specials;
            if !specials.is_empty() && self.may_end_held(held) {
                out.extend(specials.iter().map(|(special, _)| SpecialId(*special)));
            }
        }
        out.sort_unstable();
        out.dedup();
    }

    fn advance_special(&self, state: &mut State, special: SpecialId) -> bool {
        let mut next = Vec::new();
        for held in &state.0 {
            for &(read, junction) in &self.junction(self.part(held.part).after).specials {
                if read == special.0 && self.may_end_held(held) {
                    self.begin_held(junction, &mut next);
                }
            }
        }
        let taken = !next.is_empty();
        if taken {
            state.0 = next;
        }
        taken
    }

    /// That of the only part, or that several may come.
    fn place(&self, state: &State) -> Option<fsm_index::Place> {
        let words = |held: &Held| match &self.part(held.part).body {
            Body::Nothing => "between markers",
            Body::Literal(_) => "a marker",
            Body::Dfa(_) | Body::Quiet(_) => "a text of a regular expression",
            Body::Json(_) => "JSON",
            Body::Free(_) => "free text",
        };
        match state.0.as_slice() {
            [held] => match (&self.part(held.part).body, &held.inner) {
                (Body::Json(json), Inner::Json(inner)) => json.automaton.place(inner),
                _ => Some(fsm_index::Place {
                    state: words(held).to_owned(),
                    locations: Vec::new(),
                }),
            },
            several => {
                let mut all: Vec<&str> = several.iter().map(words).collect();
                all.sort_unstable();
                all.dedup();
                Some(fsm_index::Place {
                    state: all.join(" or "),
                    locations: Vec::new(),
                })
            }
        }
    }

    fn enter(&self, state: &State, x: &mut Scratch) -> Cursor {
        for slot in &mut x.slots {
            slot.used = false;
        }
        x.starts.clear();
        x.configs.clear();
        x.ids.clear();
        let mut threads = std::mem::take(&mut x.threads);
        threads.clear();
        for held in &state.0 {
            let (slot, inner) = match (&self.part(held.part).body, &held.inner) {
                (Body::Json(json), Inner::Json(state)) => {
                    let slot = x.slot(held.part, json, true);
                    let scratch = &mut x.slots[usize::from(slot)].scratch;
                    (slot, json.automaton.enter(state, scratch).0)
                }
                (_, Inner::Number(at)) => (0, *at),
                _ => continue,
            };
            threads.push(Thread {
                part: held.part,
                guard: held.guard,
                slot,
                extra: held.extra,
                inner,
            });
        }
        let cursor = x.intern(&mut threads);
        x.threads = threads;
        cursor
    }

    fn step(&self, cursor: Cursor, byte: u8, x: &mut Scratch) -> Cursor {
        if cursor.is_dead() {
            return Cursor::DEAD;
        }
        let mut next = std::mem::take(&mut x.threads);
        next.clear();
        for at in 0..x.config(cursor).len() {
            let thread = x.config(cursor)[at];
            self.step_thread(thread, byte, x, &mut next);
        }
        self.close(x, &mut next);
        let cursor = x.intern(&mut next);
        x.threads = next;
        cursor
    }

    fn text_loop(&self, cursor: Cursor, horizon: Horizon<'_>, x: &mut Scratch) -> Option<TextLoop> {
        if let Some((thread, json)) = self.only_json(x.config(cursor)) {
            if thread.extra != 0 || thread.guard != ROOT {
                return None;
            }
            let scratch = &mut x.slots[usize::from(thread.slot)].scratch;
            let inner = json
                .automaton
                .text_loop(Cursor(thread.inner), horizon, scratch)?;
            // Of the classes only that of free strings is known without the
            // characters that begin markers.
            if inner.class.0 >= CLASSES
                || json.markers.is_some() && json.automaton.text_class(inner.class) != JSON_TEXT
            {
                return None;
            }
            let mut next = vec![Thread {
                inner: inner.next.0,
                ..thread
            }];
            return Some(TextLoop {
                class: ClassId(thread.part * CLASSES + inner.class.0),
                next: x.intern(&mut next),
                steady: inner.steady,
            });
        }
        let thread = self.free_thread(x.config(cursor))?;
        let Body::Free(free) = &self.part(thread.part).body else {
            return None;
        };
        if thread.inner != Place::START.pack()
            || self.resting(thread.part, thread.extra, x) != cursor
        {
            return None;
        }
        let class = ClassId(thread.part * CLASSES);
        let Some(limit) = free.limit else {
            return Some(TextLoop {
                class,
                next: cursor,
                steady: u32::MAX,
            });
        };
        if thread.extra >= limit {
            return None;
        }
        let horizon = u32::try_from(horizon.bytes()).unwrap_or(u32::MAX);
        Some(TextLoop {
            class,
            next: self.resting(thread.part, thread.extra + 1, x),
            steady: (limit - thread.extra).saturating_sub(horizon),
        })
    }

    fn text_class(&self, class: ClassId) -> &[(u32, u32)] {
        let part = self.part(class.0 / CLASSES);
        match &part.body {
            Body::Json(json) if json.markers.is_some() => &json.text,
            Body::Json(json) => json.automaton.text_class(ClassId(class.0 % CLASSES)),
            _ => &part.class,
        }
    }

    fn resembles(&self, cursor: Cursor, x: &mut Scratch) -> Option<Cursor> {
        if let Some((thread, json)) = self.only_json(x.config(cursor)) {
            if thread.extra != 0 {
                return None;
            }
            let scratch = &mut x.slots[usize::from(thread.slot)].scratch;
            let inner = json.automaton.resembles(Cursor(thread.inner), scratch);
            if inner.is_none() && thread.guard == ROOT {
                return None;
            }
            let mut like = vec![Thread {
                guard: ROOT,
                inner: inner.map_or(thread.inner, |inner| inner.0),
                ..thread
            }];
            return Some(x.intern(&mut like));
        }
        let thread = self.free_thread(x.config(cursor))?;
        if !Place::unpack(thread.inner).is_between() {
            return None;
        }
        let like = self.resting(thread.part, thread.extra, x);
        (like != cursor).then_some(like)
    }

    fn exceptions(&self, state: &State, each: &mut dyn FnMut(Exception<'_>)) {
        // With other threads, what one may not read another might: then all
        // that is said is that a token must be tried.
        let alone = state.0.len() == 1;
        for held in &state.0 {
            if let (Body::Json(json), Inner::Json(inner)) =
                (&self.part(held.part).body, &held.inner)
            {
                json.automaton.exceptions(inner, &mut |exception| {
                    each(match exception {
                        Exception::Begins(text) if !alone => Exception::Contains(text),
                        other => other,
                    });
                });
            }
        }
    }

    fn is_suspect(&self, state: &State, token: &[u8]) -> bool {
        match state.0.as_slice() {
            [held] => match (&self.part(held.part).body, &held.inner) {
                (Body::Json(json), Inner::Json(inner)) => json.automaton.is_suspect(inner, token),
                _ => true,
            },
            _ => true,
        }
    }

    fn mask_key(
        &self,
        cursor: Cursor,
        depth: usize,
        horizon: Horizon<'_>,
        x: &mut Scratch,
        out: &mut Vec<u32>,
    ) -> bool {
        let before = out.len();
        for at in 0..x.config(cursor).len() {
            let thread = x.config(cursor)[at];
            let part = self.part(thread.part);
            let extra = match &part.body {
                Body::Free(free) => free.limit.map_or(0, |limit| {
                    limit
                        .saturating_sub(thread.extra)
                        .min(u32::try_from(horizon.bytes()).unwrap_or(u32::MAX))
                }),
                _ => thread.extra,
            };
            out.extend([thread.part, u32::from(thread.guard), extra]);
            let from = out.len();
            match &part.body {
                Body::Json(json) => {
                    let scratch = &mut x.slots[usize::from(thread.slot)].scratch;
                    let inner = Cursor(thread.inner);
                    if !json.automaton.mask_key(inner, depth, horizon, scratch, out) {
                        out.truncate(before);
                        return false;
                    }
                }
                _ => out.push(thread.inner),
            }
            out.push((out.len() - from) as u32);
        }
        !cursor.is_dead()
    }

    fn depth_used(&self, x: &Scratch) -> usize {
        let begun = x.slots.iter().filter(|s| s.used && s.begun_before);
        let depths = begun.map(|slot| match &self.part(slot.part).body {
            Body::Json(json) => json.automaton.depth_used(&slot.scratch),
            _ => 1,
        });
        depths.max().unwrap_or(1)
    }
}

impl fmt::Debug for TagAutomaton {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (parts, specials) = (self.parts(), &self.0.specials);
        write!(f, "TagAutomaton({parts} parts, specials {specials:?})")
    }
}

impl fmt::Debug for Scratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scratch({} configs)", self.configs.len())
    }
}
