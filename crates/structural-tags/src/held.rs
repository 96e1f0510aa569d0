//! Threads of a text that was committed: they stand alone and outlive walks.

use std::sync::Arc;

use fsm_index::ByteAutomaton;
use schema_regex::automaton as schema;

use super::machine::TagAutomaton;
use super::markers::ROOT;
use super::parts::{Body, Escape, Spelling};
use super::walk::Scratch;

/// Where a text under structural tags stands.
#[derive(Clone, Debug)]
pub struct State(pub(super) Vec<Held>);

/// A thread that outlives walks.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) part: u32,
    pub(super) guard: u16,
    pub(super) extra: u32,
    pub(super) inner: Inner,
}

#[derive(Clone, Debug)]
pub(super) enum Inner {
    Number(u32),
    Json(Arc<schema::State>),
}

impl TagAutomaton {
    /// Adds the threads that begin at a junction to a state.
    pub(super) fn begin_held(&self, junction: u32, threads: &mut Vec<Held>) {
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

    pub(super) fn may_end_held(&self, held: &Held) -> bool {
        match (&self.part(held.part).body, &held.inner) {
            (Body::Json(json), Inner::Json(state)) => held.extra == 0 && json.may_end(state),
            (body, Inner::Number(at)) => body.may_end(*at),
            _ => false,
        }
    }

    pub(super) fn close_held(&self, threads: &mut Vec<Held>) {
        let mut begun: Vec<u32> = Vec::new();
        for at in 0..threads.len() {
            let after = self.part(threads[at].part).after;
            if !begun.contains(&after) && self.may_end_held(&threads[at]) {
                begun.push(after);
                self.begin_held(after, threads);
            }
        }
    }

    pub(super) fn step_held(&self, held: &Held, byte: u8, x: &mut Scratch, out: &mut Vec<Held>) {
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
        let mut step = |byte: u8| json.commit(state, byte, scratch).map(Arc::new);
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
    pub(super) fn advance_json(
        &self,
        threads: &mut Vec<Held>,
        bytes: &[u8],
        x: &mut Scratch,
    ) -> usize {
        let [held] = threads.as_mut_slice() else {
            return 0;
        };
        let (Body::Json(json), Inner::Json(state)) =
            (&self.0.parts[held.part as usize].body, &held.inner)
        else {
            return 0;
        };
        if json.goes_on || held.extra != 0 || json.spelling == Spelling::Raw {
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
    /// its part, of those whose way out of JSON has at most so many bytes.
    pub(super) fn nearest(&self, state: &State, most: usize) -> Option<(u32, Vec<u8>)> {
        let ways = state.0.iter().filter_map(|held| {
            let mut text = Vec::new();
            let part = self.part(held.part);
            match (&part.body, &held.inner) {
                (Body::Json(json), Inner::Json(inner)) => {
                    let begun = (held.guard, Escape::unpack(held.extra));
                    let is_found = json.completion(inner, begun, most, &mut text);
                    is_found.then_some(())?;
                }
                (body, Inner::Number(at)) => body.completion(*at, &mut text),
                _ => {}
            }
            Some((part.after, text))
        });
        ways.min_by_key(|(after, text)| {
            self.junction(*after)
                .distance
                .saturating_add(text.len() as u64)
        })
    }
}
