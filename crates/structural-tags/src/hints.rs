//! The hints that make masks fast: if a text of an inner automaton stands alone, the hints of that
//! automaton hold. Markers that are kept out of JSON change nothing where none has begun,
//! tokens aside that have one in them: those are [unsure](fsm_index::Facts::unsure_texts).
//!
//! For example, inside of a string of `<call>{"city": "Ulm"}</call>` the mask is that of any JSON
//! string.

use fsm_index::{
    ByteAutomaton as _, ByteSet, ClassId, Cursor, Description, FreeText, Horizon, JSON_TEXT,
    KeyLanguage, PlainText, Scope, TextLoop,
};

use super::free::Place;
use super::markers::ROOT;
use super::parts::{Body, Json, Spelling, Thread};
use super::run::Run;
use super::walk::Walk;

/// Asks the text of an inner automaton that stands alone at a cursor; `None` where none does.
macro_rules! ask_alone {
    ($walk:expr, $cursor:expr, $solo:ident => $ask:expr) => {
        match $walk.solo($cursor) {
            Some((thread, Body::Json(json))) => {
                let $solo = &mut $walk.alone(thread, &json.automaton);
                Some($ask)
            }
            Some((thread, Body::Grammar(automaton))) => {
                let $solo = &mut $walk.alone(thread, &**automaton);
                Some($ask)
            }
            _ => None,
        }
    };
}

pub(super) use ask_alone;

/// A reader of what may come at cursors, for walks over tokens of some length.
pub(super) struct Hints<'a, 'x> {
    walk: Walk<'a, 'x>,
    horizon: Horizon<'x>,
}

impl<'a, 'x> Hints<'a, 'x> {
    pub(super) fn new(walk: Walk<'a, 'x>, horizon: Horizon<'x>) -> Self {
        Hints { walk, horizon }
    }

    /// Returns what is known of the texts at a cursor.
    pub(super) fn describe(&mut self, cursor: Cursor) -> Description {
        let horizon = self.horizon;
        if let Some(description) = ask_alone!(self.walk, cursor, text => text.describe(horizon)) {
            return description;
        }
        let (text, like) = match self.only_json(cursor) {
            Some((thread, json)) => match self.quoted_loop(thread, json) {
                None => (None, self.quoted_like(thread, json)),
                text => (text, None),
            },
            None => match self.free_loop(cursor) {
                None => (None, self.free_like(cursor)),
                text => (text, None),
            },
        };
        match (text, like) {
            (Some(text), _) => Description::Text(text),
            (None, Some(cursor)) => Description::Like {
                cursor,
                apart: None,
            },
            (None, None) => Description::Unknown,
        }
    }

    /// Returns the only thread at a cursor, if it is in JSON that is spelt so.
    fn only_json(&self, cursor: Cursor) -> Option<(Thread, &'a Json)> {
        match self.walk.x.config(cursor) {
            [thread] => match &self.walk.graph.part(thread.part).body {
                Body::Json(json) if json.spelling == Spelling::Json => Some((*thread, json)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns the free text at a cursor, if there is one.
    fn free_thread(&self, cursor: Cursor) -> Option<Thread> {
        let graph = self.walk.graph;
        let is_free = |t: &&Thread| matches!(graph.part(t.part).body, Body::Free(_) | Body::Run(_));
        let mut free = self.walk.x.config(cursor).iter().filter(is_free);
        let first = *free.next()?;
        // A free text that has just begun inside of another one's end.
        free.next().is_none().then_some(first)
    }

    /// Appends a key of the threads at a cursor.
    pub(super) fn key(
        &mut self,
        cursor: Cursor,
        scope: Scope,
        depth: usize,
        out: &mut Vec<u32>,
    ) -> Option<KeyLanguage> {
        match scope {
            Scope::Index => self.own_key(cursor, depth, out).then_some(KeyLanguage::OWN),
            Scope::Vocabulary => self.common_key(cursor, depth, out),
        }
    }

    /// Returns the text of a class that is read in a loop in JSON that is not spelt as it is.
    fn quoted_loop(&mut self, thread: Thread, json: &Json) -> Option<TextLoop> {
        if thread.extra != 0 || thread.guard != ROOT {
            return None;
        }
        let scratch = self.walk.x.json().scratch(thread.slot);
        let inner = json
            .automaton
            .describe(Cursor(thread.inner), self.horizon, scratch);
        // Only the class of free strings is known without the characters that begin markers.
        let inner = inner
            .text()
            .filter(|text| json.automaton.class(text.class) == JSON_TEXT)?;
        let mut next = vec![Thread {
            inner: inner.next.0,
            ..thread
        }];
        Some(TextLoop {
            class: ClassId::own(thread.part)?,
            next: self.walk.intern(&mut next),
            steady: inner.steady,
            alike: false,
        })
    }

    /// Returns what such JSON resembles: where no marker has begun, and no name or word that single
    /// texts reach.
    fn quoted_like(&mut self, thread: Thread, json: &'a Json) -> Option<Cursor> {
        if thread.extra != 0 {
            return None;
        }
        let scratch = self.walk.x.json().scratch(thread.slot);
        let inner = json.automaton.resembled(Cursor(thread.inner), scratch);
        if inner.is_none() && thread.guard == ROOT {
            return None;
        }
        let like = Thread {
            guard: ROOT,
            ..thread
        };
        let inner = inner.unwrap_or(Cursor(thread.inner));
        if json.is_plain() {
            return Some(self.walk.alone(like, &json.automaton).to(inner));
        }
        let mut like = vec![Thread {
            inner: inner.0,
            ..like
        }];
        Some(self.walk.intern(&mut like))
    }

    /// Returns free text that is read in a loop.
    fn free_loop(&mut self, cursor: Cursor) -> Option<TextLoop> {
        let thread = self.free_thread(cursor)?;
        let body = &self.walk.graph.part(thread.part).body;
        let limit = match body {
            Body::Free(free) => free.limit,
            Body::Run(run) if run.max_tokens.is_none() && !run.patterns.is_blocked() => {
                run.max_chars
            }
            _ => return None,
        };
        if thread.inner != body.begin() || self.walk.resting(thread, thread.extra) != cursor {
            return None;
        }
        let class = ClassId::own(thread.part)?;
        let Some(limit) = limit else {
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
        let reach = u32::try_from(self.horizon.bytes()).unwrap_or(u32::MAX);
        Some(TextLoop {
            class,
            next: self.walk.resting(thread, thread.extra + 1),
            steady: (limit - thread.extra).saturating_sub(reach),
            alike: false,
        })
    }

    /// Returns the cursor at which no marker has begun in free text.
    fn free_like(&mut self, cursor: Cursor) -> Option<Cursor> {
        let thread = self.free_thread(cursor)?;
        let is_between = match &self.walk.graph.part(thread.part).body {
            Body::Run(run) => run.max_tokens.is_none() && Run::may_end(thread.inner),
            _ => Place::unpack(thread.inner).is_between(),
        };
        if !is_between {
            return None;
        }
        let like = self.walk.resting(thread, thread.extra);
        (like != cursor).then_some(like)
    }

    /// Appends a key of the threads at a cursor.
    fn own_key(&mut self, cursor: Cursor, depth: usize, out: &mut Vec<u32>) -> bool {
        let before = out.len();
        out.push(self.walk.x.config(cursor).len() as u32);
        let reach = u32::try_from(self.horizon.bytes()).unwrap_or(u32::MAX);
        let left = |limit: u32, used: u32| limit.saturating_sub(used).min(reach);
        for at in 0..self.walk.x.config(cursor).len() {
            let thread = self.walk.x.config(cursor)[at];
            let part = self.walk.graph.part(thread.part);
            let extra = match &part.body {
                Body::Free(free) => free.limit.map_or(0, |limit| left(limit, thread.extra)),
                Body::Run(run) => run.max_chars.map_or(0, |limit| left(limit, thread.extra)),
                _ => thread.extra,
            };
            // A walk is over one token.
            let tokens = match &part.body {
                Body::Run(run) => run
                    .max_tokens
                    .map_or(0, |most| most.saturating_sub(thread.tokens).min(1)),
                _ => thread.tokens,
            };
            out.extend([thread.part, u32::from(thread.guard), extra, tokens]);
            let mut stack = thread.stack;
            while let Some(frame) = self.walk.x.frames().get(stack) {
                out.push(frame.after + 1);
                stack = frame.below;
            }
            out.push(0);
            let from = out.len();
            let scope = Scope::Index;
            let language = match &part.body {
                Body::Json(json) => {
                    let mut text = self.walk.alone(thread, &json.automaton);
                    text.key(scope, depth, self.horizon, out)
                }
                Body::Grammar(automaton) => {
                    let mut text = self.walk.alone(thread, &**automaton);
                    text.key(scope, depth, self.horizon, out)
                }
                _ => {
                    out.push(thread.inner);
                    Some(KeyLanguage::OWN)
                }
            };
            if language.is_none() {
                out.truncate(before);
                return false;
            }
            out.push((out.len() - from) as u32);
        }
        !cursor.is_dead()
    }

    /// Appends a key in common words. These tell what follows a value as if that were the whole
    /// text: where they tell more than what is inside of it, what follows here is said beside them.
    fn common_key(
        &mut self,
        cursor: Cursor,
        depth: usize,
        out: &mut Vec<u32>,
    ) -> Option<KeyLanguage> {
        let graph = self.walk.graph;
        let (thread, _) = self.walk.solo(cursor)?;
        let is_within = ask_alone!(self.walk, cursor, text => text.has_levels(depth))?;
        let tail = graph.junction(graph.part(thread.part).after).tail.as_ref();
        let tail = tail.filter(|_| thread.stack == 0);
        if !is_within && tail.is_none() {
            return None;
        }
        let before = out.len();
        let scope = Scope::Vocabulary;
        let language =
            ask_alone!(self.walk, cursor, text => text.key(scope, depth, self.horizon, out))??;
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
}

impl Walk<'_, '_> {
    /// Returns the bytes that may come where threads that do not stand alone spell something.
    pub(super) fn spelt_bytes(&self, cursor: Cursor) -> ByteSet {
        let mut set = ByteSet::NONE;
        for thread in self.x.config(cursor) {
            match &self.graph.part(thread.part).body {
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

    /// Returns text that is free in a grammar, whatever else may come beside it, or in JSON alone.
    pub(super) fn free_text(&mut self, cursor: Cursor) -> Option<FreeText> {
        let of_grammar = (0..self.x.config(cursor).len()).find_map(|at| {
            let thread = self.x.config(cursor)[at];
            match &self.graph.part(thread.part).body {
                Body::Grammar(automaton) => self.alone(thread, &**automaton).free_text(),
                _ => None,
            }
        });
        of_grammar.or_else(|| ask_alone!(self, cursor, text => text.free_text())?)
    }
}
