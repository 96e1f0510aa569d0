//! Parts joined to one automaton.
//!
//! A text is read by *threads*, as in Thompson's simulation ("Regular
//! expression search algorithm", 1968): each stands in one part; where a part
//! may end, threads begin in those that may follow. All threads are alive, so
//! the text is: a part can always be finished, and behind each there is a way
//! to the end. Mostly there is one thread, or a free text's with those that
//! wait for the marker that ends it.

use std::fmt;
use std::sync::Arc;

use fsm_index::{
    ByteAutomaton, ClassId, Cursor, Exception, Horizon, JSON_TEXT, MAX_COMPLETION, SpecialId,
    TextLoop,
};

use super::free::Place;
use super::held::{Held, Inner, State};
use super::markers::ROOT;
use super::parts::{Body, Part, Thread};
use super::walk::Scratch;

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

/// Classes of one automaton of JSON that are told apart in a [`ClassId`].
const CLASSES: u32 = 1 << 20;

impl TagAutomaton {
    pub(super) fn part(&self, part: u32) -> &Part {
        &self.0.parts[part as usize]
    }

    pub(super) fn junction(&self, junction: u32) -> &Junction {
        &self.0.junctions[junction as usize]
    }

    /// How many parts there are: what memory is proportional to, the schemas'
    /// own aside.
    pub fn parts(&self) -> usize {
        self.0.parts.len()
    }

    /// Writes what leads out of a state and through the parts behind it, up to a special token
    /// or the end; `None` where JSON on its way takes more than `most` bytes.
    fn complete(&self, state: &State, most: usize, out: &mut Vec<u8>) -> Option<()> {
        let (mut junction, text) = self.nearest(state, most)?;
        out.extend_from_slice(&text);
        loop {
            match self.junction(junction).best {
                Best::End | Best::Special(_) => return Some(()),
                Best::Part(part) => {
                    let part = self.part(part);
                    match &part.body {
                        Body::Json(json) => json
                            .completion(&json.start, (ROOT, None), most, out)
                            .then_some(())?,
                        body => body.completion(body.begin(), out),
                    }
                    junction = part.after;
                }
            }
        }
    }

    /// Whether a text without special tokens is admitted as a whole.
    pub fn is_match(&self, text: &[u8]) -> bool {
        let mut state = self.start();
        self.advance(&mut state, text, &mut self.scratch()).is_ok() && self.is_accepting(&state)
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
        let _ = self.completion_within(state, MAX_COMPLETION, out);
    }

    fn completion_within(&self, state: &State, max_bytes: usize, out: &mut Vec<u8>) -> bool {
        let mut text = Vec::new();
        let is_found = self.complete(state, max_bytes, &mut text).is_some();
        let fits = is_found && text.len() <= max_bytes;
        if fits {
            out.extend(text);
        }
        fits
    }

    fn completion_special(&self, state: &State) -> Option<SpecialId> {
        let (after, text) = self.nearest(state, MAX_COMPLETION)?;
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

    fn can_do_without(&self, chars: &[(u32, u32)]) -> bool {
        self.0
            .parts
            .iter()
            .all(|part| part.body.is_fine_without(chars))
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
                alike: false,
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
                alike: false,
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
            alike: false,
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
