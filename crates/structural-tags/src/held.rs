//! Threads of a text that was committed: they stand alone and outlive walks.
//!
//! For example, behind `<call>{"a"` a guide keeps one thread, with the state of the schema's
//! automaton.

use std::sync::Arc;

use foldhash::HashMap;
use fsm_index::{ByteAutomaton, Completed, SpecialId};
use schema_regex::automaton as schema;

use super::graph::{Best, Graph, MAX_OPEN_RULES};
use super::markers::ROOT;
use super::parts::{Body, Part, Spelling, Spelt};
use super::run::{At, Tokens};
use super::scratch::Scratch;
use super::stack::{self, Stack};

/// The place of a text under structural tags.
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
    pub(super) inner: InnerState,
}

/// The shortest way to the end from somewhere: the junction that the text leads to, and the
/// rules that are open there.
struct Way {
    text: Vec<u8>,
    junction: u32,
    stack: Stack,
}

/// The place of a thread inside of its part.
#[derive(Clone, Debug)]
pub(super) enum InnerState {
    Number(u32),
    Json(Arc<schema::State>),
    Grammar(grammar::State),
}

/// A quick look, as that of the states of schemas.
impl PartialEq for InnerState {
    fn eq(&self, other: &InnerState) -> bool {
        match (self, other) {
            (InnerState::Number(one), InnerState::Number(other)) => one == other,
            (InnerState::Json(one), InnerState::Json(other)) => {
                Arc::ptr_eq(one, other) || one == other
            }
            (InnerState::Grammar(one), InnerState::Grammar(other)) => one == other,
            _ => false,
        }
    }
}

impl Held {
    /// Tells whether the part may end.
    pub(super) fn may_end(&self, graph: &Graph) -> bool {
        match (&graph.part(self.part).body, &self.inner) {
            (Body::Json(json), InnerState::Json(state)) => self.extra == 0 && json.may_end(state),
            (Body::Grammar(automaton), InnerState::Grammar(state)) => automaton.is_accepting(state),
            (body, InnerState::Number(at)) => body.may_end(*at, self.tokens),
            _ => false,
        }
    }

    /// Returns a shortest way out of the part, and the bytes and special tokens from there to the
    /// end; `None` where JSON or a grammar takes more than `most` bytes.
    fn way(&self, graph: &Graph, most: usize) -> Option<(u64, Way)> {
        let mut text = Vec::new();
        let part = graph.part(self.part);
        let mut junction = part.after;
        match (&part.body, &self.inner) {
            (Body::Json(json), InnerState::Json(inner)) => {
                let begun = Spelt {
                    guard: self.guard,
                    extra: self.extra,
                };
                let is_found = json.completion(inner, begun, most, &mut text);
                is_found.then_some(())?;
            }
            (Body::Grammar(automaton), InnerState::Grammar(inner)) => {
                automaton.completion(inner, most, &mut text)?;
            }
            (Body::Run(run), InnerState::Number(at)) => {
                let (rest, fired) = run.rest(*at);
                text = rest;
                junction = fired.unwrap_or(junction);
            }
            (body, InnerState::Number(at)) => body.completion(*at, self.tokens, &mut text),
            _ => {}
        }
        let mut distance = graph.junction(junction).distance;
        let mut open = &self.stack;
        while let Some(frame) = open {
            distance = distance.saturating_add(graph.junction(frame.after).distance);
            open = &frame.below;
        }
        let distance = distance.saturating_add(text.len() as u64);
        let stack = self.stack.clone();
        let way = Way {
            text,
            junction,
            stack,
        };
        Some((distance, way))
    }
}

impl Graph {
    /// Returns the place of a thread as a token begins.
    pub(super) fn fresh(&self, part: u32, tokens: u32, inner: u32) -> u32 {
        match &self.part(part).body {
            Body::Run(_) => At::fresh(inner),
            Body::Tokens(count) if inner == Tokens::WAITS && count.may_take(tokens) => {
                Tokens::FRESH
            }
            _ => inner,
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
            if stack::depth(stack) + 1 + self.junction(entry).needs <= MAX_OPEN_RULES
                && self.reach(entry, &stack::opened(after, stack), each)
            {
                return true;
            }
        }
        match stack {
            Some(frame) if at.returns => self.reach(frame.after, &frame.below, each),
            _ => false,
        }
    }

    /// Writes what leads out of a state and through the parts behind it, as
    /// [`ByteAutomaton::completion`] does; `None` where JSON or a grammar on its way takes more than
    /// `most` bytes. The way is the shortest one of those threads that have one.
    pub(super) fn complete(
        &self,
        state: &State,
        most: usize,
        out: &mut Vec<u8>,
    ) -> Option<Completed> {
        let ways = state.threads.iter().filter_map(|held| held.way(self, most));
        let (_, way) = ways.min_by_key(|(distance, _)| *distance)?;
        out.extend_from_slice(&way.text);
        let (mut junction, mut stack) = (way.junction, way.stack);
        // The junctions at which the rules go on that were opened on the way.
        let mut opened = Vec::new();
        loop {
            let at = self.junction(junction);
            match at.best {
                Best::End => return Some(Completed::Whole),
                Best::Special(special) => {
                    return Some(Completed::Before(SpecialId(special)));
                }
                Best::Part(part) => {
                    let part = self.part(part);
                    part.body.shortest(most, out).then_some(())?;
                    junction = part.after;
                }
                Best::Call(call) => {
                    let (entry, after) = at.calls[call as usize];
                    opened.push(after);
                    junction = entry;
                }
                Best::Return => match (opened.pop(), stack.clone()) {
                    (Some(after), _) => junction = after,
                    (None, Some(frame)) => {
                        junction = frame.after;
                        stack = frame.below.clone();
                    }
                    (None, None) => return Some(Completed::Whole),
                },
            }
        }
    }
}

/// Threads that are put together.
pub(super) struct Threads<'a> {
    graph: &'a Graph,
    all: Vec<Held>,
}

impl<'a> Threads<'a> {
    pub(super) fn new(graph: &'a Graph, all: Vec<Held>) -> Self {
        Threads { graph, all }
    }

    /// Returns the state that was put together.
    pub(super) fn state(mut self) -> State {
        self.settle();
        State { threads: self.all }
    }

    /// Adds the threads that begin at a junction.
    pub(super) fn begin(&mut self, junction: u32, stack: &Stack) {
        let graph = self.graph;
        let at = graph.junction(junction);
        for &part in &at.parts {
            let Part { body, after, .. } = graph.part(part);
            if stack::depth(stack) + graph.junction(*after).needs > MAX_OPEN_RULES {
                continue;
            }
            self.add(Held {
                part,
                guard: ROOT,
                extra: 0,
                tokens: 0,
                stack: stack.clone(),
                inner: match body {
                    Body::Json(json) => InnerState::Json(json.start.clone()),
                    Body::Grammar(automaton) => InnerState::Grammar(automaton.start()),
                    other => InnerState::Number(other.begin()),
                },
            });
        }
        for &(entry, after) in &at.calls {
            if stack::depth(stack) + 1 + graph.junction(entry).needs <= MAX_OPEN_RULES {
                self.begin(entry, &stack::opened(after, stack));
            }
        }
        if at.returns
            && let Some(frame) = stack
        {
            self.begin(frame.after, &frame.below);
        }
    }

    /// Adds a thread. One that is there already is left out when all are settled.
    fn add(&mut self, held: Held) {
        self.all.push(held);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Adds threads as they are.
    pub(super) fn extend(&mut self, other: Threads<'_>) {
        self.all.extend(other.all);
    }

    /// Adds a thread that reads whole tokens and stands inside of one.
    pub(super) fn begin_token(&mut self, held: &Held) {
        self.all.push(Held {
            inner: InnerState::Number(Tokens::INSIDE),
            ..held.clone()
        });
    }

    /// Reads the text of one token. Fails by the number of bytes that may come.
    pub(super) fn read_token(&mut self, bytes: &[u8], x: &mut Scratch) -> Result<(), usize> {
        if self.graph.has_borders() {
            self.open_token();
        }
        self.read(bytes, x)?;
        if self.graph.has_borders() {
            self.close_token();
        }
        Ok(())
    }

    /// Begins a token.
    pub(super) fn open_token(&mut self) {
        for held in &mut self.all {
            if let InnerState::Number(at) = &mut held.inner {
                *at = self.graph.fresh(held.part, held.tokens, *at);
            }
        }
    }

    /// Ends a token.
    pub(super) fn close_token(&mut self) {
        let mut ended = Vec::new();
        for held in &mut self.all {
            let (Body::Tokens(count), InnerState::Number(at)) =
                (&self.graph.part(held.part).body, &mut held.inner)
            else {
                continue;
            };
            if *at == Tokens::INSIDE {
                held.tokens = count.counted(held.tokens);
                if count.may_end(Tokens::WAITS, held.tokens) {
                    ended.push((self.graph.part(held.part).after, held.stack.clone()));
                }
            }
            *at = Tokens::WAITS;
        }
        for (after, stack) in ended {
            self.begin(after, &stack);
        }
    }

    /// Reads text of one token. Fails by the number of bytes that may come.
    pub(super) fn read(&mut self, bytes: &[u8], x: &mut Scratch) -> Result<(), usize> {
        let mut at = 0;
        while at < bytes.len() {
            at += self.read_json(&bytes[at..], x);
            let Some(&byte) = bytes.get(at) else { break };
            let before = std::mem::take(&mut self.all);
            before.iter().for_each(|held| self.step(held, byte, x));
            if self.all.is_empty() {
                return Err(at);
            }
            self.close();
            at += 1;
        }
        Ok(())
    }

    /// Adds the threads that begin where others may end, and settles all.
    fn close(&mut self) {
        let mut begun: HashMap<u32, Vec<Stack>> = HashMap::default();
        for at in 0..self.all.len() {
            let held = &self.all[at];
            let after = self.graph.part(held.part).after;
            if !held.may_end(self.graph) {
                continue;
            }
            let stack = held.stack.clone();
            let known = begun.entry(after).or_default();
            if !known.contains(&stack) {
                self.begin(after, &stack);
                known.push(stack);
            }
        }
        self.settle();
    }

    /// Puts threads in order, and leaves out those that are there twice or that others cover.
    fn settle(&mut self) {
        if self.all.len() < 2 {
            return;
        }
        let graph = self.graph;
        let covers = graph.covers();
        let place = |held: &Held| {
            let inner = match held.inner {
                InnerState::Number(at) => at,
                InnerState::Json(_) | InnerState::Grammar(_) => 0,
            };
            let kind = graph.part(held.part).kind;
            (kind, held.guard, held.extra, held.tokens, inner)
        };
        self.all.sort_by_key(|held| (place(held), held.part));
        let mut kept: Vec<Held> = Vec::with_capacity(self.all.len());
        // The first that is kept of those at one place.
        let mut begin = 0;
        for held in self.all.drain(..) {
            if kept
                .get(begin)
                .is_some_and(|first| place(first) != place(&held))
            {
                begin = kept.len();
            }
            let is_same = |by: &Held| held.stack == by.stack && held.inner == by.inner;
            let here = kept[begin..].iter();
            let is_out = match covers.is_in(held.part) {
                true => here.rev().any(|by| {
                    (by.part == held.part || covers.can_drop(held.part, by.part)) && is_same(by)
                }),
                // Equal parts follow each other.
                false => here
                    .rev()
                    .take_while(|by| by.part == held.part)
                    .any(is_same),
            };
            if is_out {
                continue;
            }
            if covers.is_in(held.part) && begin < kept.len() {
                let mut at = 0;
                kept.retain(|other| {
                    at += 1;
                    at <= begin
                        || !(covers.can_drop(other.part, held.part)
                            && held.stack == other.stack
                            && held.inner == other.inner)
                });
            }
            kept.push(held);
        }
        self.all = kept;
    }

    /// Adds the threads that a byte leads one to.
    fn step(&mut self, held: &Held, byte: u8, x: &mut Scratch) {
        let at = |guard, extra, tokens, inner| Held {
            part: held.part,
            guard,
            extra,
            tokens,
            stack: held.stack.clone(),
            inner,
        };
        match (&self.graph.part(held.part).body, &held.inner) {
            (Body::Json(json), InnerState::Json(state)) => {
                let scratch = x.json().scratch_of(held.part, &json.automaton);
                let step = |byte: u8| json.commit(state, byte, scratch).map(Arc::new);
                json.spell(held.guard, held.extra, byte, step, |spelt, next| {
                    let inner = InnerState::Json(next.unwrap_or_else(|| state.clone()));
                    self.add(at(spelt.guard, spelt.extra, held.tokens, inner));
                });
            }
            (Body::Grammar(automaton), InnerState::Grammar(state)) => {
                let mut next = state.clone();
                let scratch = x.grammars().scratch_of(held.part, automaton);
                if automaton.advance(&mut next, &[byte], scratch).is_ok() {
                    let inner = InnerState::Grammar(next);
                    self.add(at(held.guard, held.extra, held.tokens, inner));
                }
            }
            (Body::Run(run), InnerState::Number(inner)) => {
                let Some(step) = run.step(*inner, held.extra, held.tokens, byte) else {
                    return;
                };
                if let Some((inner, extra, tokens)) = step.stay {
                    self.add(at(held.guard, extra, tokens, InnerState::Number(inner)));
                }
                for &trigger in step.fires {
                    self.begin(run.fires[usize::from(trigger)], &held.stack);
                }
            }
            (body, InnerState::Number(inner)) => {
                if let Some((inner, extra)) = body.step(*inner, held.extra, byte) {
                    self.add(at(ROOT, extra, held.tokens, InnerState::Number(inner)));
                }
            }
            _ => {}
        }
    }

    /// Commits as many bytes at once as a single value of JSON takes. Returns their number.
    fn read_json(&mut self, bytes: &[u8], x: &mut Scratch) -> usize {
        let [held] = self.all.as_mut_slice() else {
            return 0;
        };
        let (Body::Json(json), InnerState::Json(state)) =
            (&self.graph.part(held.part).body, &held.inner)
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
        let scratch = x.json().scratch_of(held.part, &json.automaton);
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
        held.inner = InnerState::Json(Arc::new(next));
        self.close();
        taken
    }
}
