//! Threads of a text that was committed: they stand alone and outlive walks.

use std::sync::Arc;

use fsm_index::ByteAutomaton;
use schema_regex::automaton as schema;

use super::machine::{MAX_OPEN_RULES, TagAutomaton};
use super::markers::ROOT;
use super::parts::{Body, Escape, Part, Spelling};
use super::run::{At, Tokens};
use super::walk::Scratch;

/// Where a text under structural tags stands.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    pub(super) threads: Vec<Held>,
}

/// A thread that outlives walks.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Held {
    pub(super) part: u32,
    pub(super) guard: u16,
    pub(super) extra: u32,
    pub(super) tokens: u32,
    pub(super) stack: Stack,
    pub(super) inner: Inner,
}

/// The rules that are open.
pub(super) type Stack = Option<Arc<Frame>>;

/// A rule that is open: where the text goes on behind it, and the one around it. No chain is
/// longer than [`MAX_OPEN_RULES`].
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) after: u32,
    pub(super) below: Stack,
    depth: u32,
}

fn depth(stack: &Stack) -> u32 {
    stack.as_ref().map_or(0, |frame| frame.depth)
}

/// The shortest way to the end from somewhere: the junction that the text leads to, and the
/// rules that are open there.
pub(super) struct Way {
    pub(super) text: Vec<u8>,
    pub(super) junction: u32,
    pub(super) stack: Stack,
}

#[derive(Clone, Debug)]
pub(super) enum Inner {
    Number(u32),
    Json(Arc<schema::State>),
    Grammar(grammar::State),
}

/// A quick look, as that of the states of schemas.
impl PartialEq for Inner {
    fn eq(&self, other: &Inner) -> bool {
        match (self, other) {
            (Inner::Number(one), Inner::Number(other)) => one == other,
            (Inner::Json(one), Inner::Json(other)) => Arc::ptr_eq(one, other) || one == other,
            (Inner::Grammar(one), Inner::Grammar(other)) => one == other,
            _ => false,
        }
    }
}

impl TagAutomaton {
    /// Adds the threads that begin at a junction to a state.
    pub(super) fn begin_held(&self, junction: u32, stack: &Stack, threads: &mut Vec<Held>) {
        let at = self.junction(junction);
        for &part in &at.parts {
            let Part { body, after, .. } = self.part(part);
            if depth(stack) + self.junction(*after).needs > MAX_OPEN_RULES {
                continue;
            }
            let held = Held {
                part,
                guard: ROOT,
                extra: 0,
                tokens: 0,
                stack: stack.clone(),
                inner: match body {
                    Body::Json(json) => Inner::Json(json.start.clone()),
                    Body::Grammar(automaton) => Inner::Grammar(automaton.start()),
                    other => Inner::Number(other.begin()),
                },
            };
            self.add_held(held, threads);
        }
        for &(entry, after) in &at.calls {
            if depth(stack) + 1 + self.junction(entry).needs <= MAX_OPEN_RULES {
                let frame = Frame {
                    after,
                    below: stack.clone(),
                    depth: depth(stack) + 1,
                };
                self.begin_held(entry, &Some(Arc::new(frame)), threads);
            }
        }
        if at.returns
            && let Some(frame) = stack
        {
            self.begin_held(frame.after, &frame.below, threads);
        }
    }

    /// Adds a thread, if it is not there.
    fn add_held(&self, held: Held, threads: &mut Vec<Held>) {
        let same = |other: &Held| *other == held;
        if !threads.iter().any(same) {
            threads.push(held);
        }
    }

    /// Calls `each` with the junctions at which a text may go on from another one, rules that
    /// end there and rules that begin there looked through; `true` from it ends the search.
    pub(super) fn reach(
        &self,
        junction: u32,
        stack: &Stack,
        each: &mut dyn FnMut(u32, &Stack) -> bool,
    ) -> bool {
        if each(junction, stack) {
            return true;
        }
        let at = self.junction(junction);
        for &(entry, after) in &at.calls {
            if depth(stack) + 1 + self.junction(entry).needs <= MAX_OPEN_RULES {
                let frame = Frame {
                    after,
                    below: stack.clone(),
                    depth: depth(stack) + 1,
                };
                if self.reach(entry, &Some(Arc::new(frame)), each) {
                    return true;
                }
            }
        }
        match stack {
            Some(frame) if at.returns => self.reach(frame.after, &frame.below, each),
            _ => false,
        }
    }

    /// Where a token begins.
    pub(super) fn open_token(&self, threads: &mut [Held]) {
        for held in threads {
            if let Inner::Number(at) = &mut held.inner {
                *at = self.fresh(held.part, held.tokens, *at);
            }
        }
    }

    /// Where a thread stands as a token begins.
    pub(super) fn fresh(&self, part: u32, tokens: u32, inner: u32) -> u32 {
        match &self.part(part).body {
            Body::Run(_) => At::fresh(inner),
            Body::Tokens(count) if inner == Tokens::WAITS && count.may_take(tokens) => {
                Tokens::FRESH
            }
            _ => inner,
        }
    }

    /// Where a token ends.
    pub(super) fn close_token(&self, threads: &mut Vec<Held>) {
        let mut ended = Vec::new();
        for held in threads.iter_mut() {
            let (Body::Tokens(count), Inner::Number(at)) =
                (&self.part(held.part).body, &mut held.inner)
            else {
                continue;
            };
            if *at == Tokens::INSIDE {
                held.tokens = count.counted(held.tokens);
                if count.may_end(Tokens::WAITS, held.tokens) {
                    ended.push((self.part(held.part).after, held.stack.clone()));
                }
            }
            *at = Tokens::WAITS;
        }
        for (after, stack) in ended {
            self.begin_held(after, &stack, threads);
        }
    }

    pub(super) fn may_end_held(&self, held: &Held) -> bool {
        match (&self.part(held.part).body, &held.inner) {
            (Body::Json(json), Inner::Json(state)) => held.extra == 0 && json.may_end(state),
            (Body::Grammar(automaton), Inner::Grammar(state)) => automaton.is_accepting(state),
            (body, Inner::Number(at)) => body.may_end(*at, held.tokens),
            _ => false,
        }
    }

    pub(super) fn close_held(&self, threads: &mut Vec<Held>) {
        let mut begun: Vec<(u32, Stack)> = Vec::new();
        for at in 0..threads.len() {
            let after = self.part(threads[at].part).after;
            let stack = &threads[at].stack;
            let is_known = |known: &(u32, Stack)| known.0 == after && known.1 == *stack;
            if !begun.iter().any(is_known) && self.may_end_held(&threads[at]) {
                let stack = stack.clone();
                self.begin_held(after, &stack, threads);
                begun.push((after, stack));
            }
        }
    }

    pub(super) fn step_held(&self, held: &Held, byte: u8, x: &mut Scratch, out: &mut Vec<Held>) {
        let body = &self.part(held.part).body;
        let (json, state) = match (body, &held.inner) {
            (Body::Json(json), Inner::Json(state)) => (json, state),
            (Body::Grammar(automaton), Inner::Grammar(state)) => {
                let mut next = state.clone();
                let scratch = x.grammars.scratch_of(held.part, automaton);
                if automaton.advance(&mut next, &[byte], scratch).is_ok() {
                    let inner = Inner::Grammar(next);
                    self.add_held(
                        Held {
                            inner,
                            ..held.clone()
                        },
                        out,
                    );
                }
                return;
            }
            (body, Inner::Number(at)) => {
                if let Body::Run(run) = body {
                    let Some(step) = run.step(*at, held.extra, held.tokens, byte) else {
                        return;
                    };
                    if let Some((inner, extra, tokens)) = step.stay {
                        let next = Held {
                            extra,
                            tokens,
                            inner: Inner::Number(inner),
                            ..held.clone()
                        };
                        self.add_held(next, out);
                    }
                    for &trigger in step.fires {
                        self.begin_held(run.fires[usize::from(trigger)], &held.stack, out);
                    }
                } else if let Some((inner, extra)) = body.step(*at, held.extra, byte) {
                    let next = Held {
                        guard: ROOT,
                        extra,
                        inner: Inner::Number(inner),
                        ..held.clone()
                    };
                    self.add_held(next, out);
                }
                return;
            }
            _ => return,
        };
        let scratch = x.json.scratch_of(held.part, &json.automaton);
        let mut step = |byte: u8| json.commit(state, byte, scratch).map(Arc::new);
        let guard = match &json.markers {
            None => Some(ROOT),
            Some(markers) => markers.step(held.guard, byte),
        };
        let Some(guard) = guard else { return };
        let mut push = |extra: Option<Escape>, state: Arc<schema::State>| {
            let next = Held {
                guard,
                extra: Escape::pack(extra),
                inner: Inner::Json(state),
                ..held.clone()
            };
            self.add_held(next, out);
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
        let scratch = x.json.scratch_of(held.part, &json.automaton);
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

    /// The shortest way out of the part in which a state is nearest to the end, of those whose
    /// way out of JSON or a grammar has at most so many bytes.
    pub(super) fn nearest(&self, state: &State, most: usize) -> Option<Way> {
        let ways = state.threads.iter().filter_map(|held| {
            let mut text = Vec::new();
            let part = self.part(held.part);
            let mut junction = part.after;
            match (&part.body, &held.inner) {
                (Body::Json(json), Inner::Json(inner)) => {
                    let begun = (held.guard, Escape::unpack(held.extra));
                    let is_found = json.completion(inner, begun, most, &mut text);
                    is_found.then_some(())?;
                }
                (Body::Grammar(automaton), Inner::Grammar(inner)) => {
                    let is_found = automaton.completion(inner, most, &mut text);
                    is_found.then_some(())?;
                }
                (Body::Run(run), Inner::Number(at)) => {
                    let (rest, fired) = run.rest(*at);
                    text = rest;
                    junction = fired.unwrap_or(junction);
                }
                (body, Inner::Number(at)) => body.completion(*at, held.tokens, &mut text),
                _ => {}
            }
            let mut distance = self.junction(junction).distance;
            let mut open = &held.stack;
            while let Some(frame) = open {
                distance = distance.saturating_add(self.junction(frame.after).distance);
                open = &frame.below;
            }
            let way = Way {
                junction,
                stack: held.stack.clone(),
                text,
            };
            Some((distance.saturating_add(way.text.len() as u64), way))
        });
        ways.min_by_key(|(distance, _)| *distance)
            .map(|(_, way)| way)
    }
}
