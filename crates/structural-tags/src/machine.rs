//! Parts joined to one automaton.
//!
//! A text is read by *threads*, as in Thompson's simulation ("Regular
//! expression search algorithm", 1968): each stands in one part; where a part
//! may end, threads begin in those that may follow. All threads are alive, so
//! the text is: a part can always be finished, and behind each there is a way
//! to the end. Mostly there is one thread, or a free text's with those that
//! wait for the marker that ends it.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use fsm_index::{
    ByteAutomaton, ByteSet, ClassId, Cursor, Description, Ending, Exception, Horizon, JSON_TEXT,
    KeyLanguage, Met, Overlay, PlainText, Scope, Stack, TextLoop,
};

use super::free::Place;
use super::held::{Held, Inner, State};
use super::hints::{Inside as _, ask_alone};
use super::markers::ROOT;
use super::parts::{Body, Json, Part, Thread};
use super::run::Run;
use super::walk::Scratch;

/// Structural tags as a [`ByteAutomaton`]: free text, marked parts that are
/// bound, and free text again.
///
/// Made by [`Tags`](super::Tags) and
/// [`ResponseFormat`](super::ResponseFormat). Clones share everything.
///
/// ```
/// use std::sync::Arc;
///
/// use fsm_index::{Guide, Index, IndexConfig, TokenId};
/// use structural_tags::{Content, Tags};
///
/// # let mut vocabulary = fsm_index::VocabularyBuilder::new();
/// # for byte in 0..=255u8 {
/// #     vocabulary.text(fsm_index::TokenId::new(byte.into()), [byte])?;
/// # }
/// # let vocabulary = vocabulary.build()?;
/// let automaton = Tags::new().with_answer(Content::choice(["ab", "ac"])?).compile(&vocabulary)?;
/// let index = Index::lazy(automaton, &vocabulary, &IndexConfig::default())?;
/// let mut guide = Guide::new(Arc::new(index));
/// guide.advance(TokenId::new(b'a'.into()))?;
/// assert_eq!(guide.allowed_tokens()?, [b'b', b'c'].map(|byte| TokenId::new(byte.into())));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct TagAutomaton(pub(super) Arc<Graph>);

#[derive(Debug)]
pub(super) struct Graph {
    pub(super) parts: Vec<Part>,
    pub(super) junctions: Vec<Junction>,
    pub(super) start: u32,
    pub(super) specials: Vec<Box<str>>,
    /// True if it matters where tokens begin and end.
    pub(super) has_borders: bool,
    /// The special tokens whose names may stand as text, by name, ascending.
    pub(super) names: Vec<Name>,
    pub(super) name_bytes: Vec<NameByte>,
    pub(super) longest_name: usize,
    /// The characters that they have.
    pub(super) name_chars: Vec<u32>,
    /// True if those of a string of JSON are among them alone.
    pub(super) names_are_json_text: bool,
    /// True if one begins like JSON outside of strings.
    pub(super) names_look_like_json: bool,
    /// See [`SpecialTokens::heads`].
    pub(super) special_heads: Option<ByteSet>,
    /// True if a part is of a grammar.
    pub(super) has_grammars: bool,
    /// See [`Overlay::unsure_texts`].
    pub(super) unsure: Vec<Box<[u8]>>,
    /// Working memory for looking them up.
    pub(super) pool: Mutex<Vec<Scratch>>,
}

/// The name of a special token, which may stand as text.
#[derive(Debug)]
pub(super) struct Name {
    pub(super) text: Box<[u8]>,
    pub(super) special: u32,
}

/// A byte of names, in a trie in the order of its texts.
#[derive(Debug)]
pub(super) struct NameByte {
    pub(super) byte: u8,
    /// How many bytes are before it.
    pub(super) depth: u32,
    /// The special token whose name ends here.
    pub(super) special: Option<u32>,
    /// The first byte that is not behind this one.
    pub(super) skip: u32,
}

/// Most rules that are open inside of each other.
pub(super) const MAX_OPEN_RULES: u32 = 128;

/// What may follow: reached through empty parts too.
#[derive(Clone, Debug, Default)]
pub(super) struct Junction {
    pub(super) parts: Vec<u32>,
    /// A special token, and the junction behind it.
    pub(super) specials: Vec<(u32, u32)>,
    /// A rule that begins here, and the junction behind it.
    pub(super) calls: Vec<(u32, u32)>,
    /// True if the rule may end here.
    pub(super) returns: bool,
    /// The number of rules that must be opened from here on, inside of each other, at least.
    pub(super) needs: u32,
    /// What follows in words that mean the same in every automaton, where that is one text and
    /// then the end.
    pub(super) tail: Option<Box<[u32]>>,
    /// True if the text may end here.
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
    Call(u32),
    Return,
}

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
    /// or the end, and says which; `None` where JSON or a grammar on its way takes more than `most` bytes.
    pub(super) fn complete(
        &self,
        state: &State,
        most: usize,
        out: &mut Vec<u8>,
    ) -> Option<Option<u32>> {
        let way = self.nearest(state, most)?;
        out.extend_from_slice(&way.text);
        let (mut junction, mut stack) = (way.junction, way.stack);
        // Where the rules go on that were opened on the way.
        let mut opened = Vec::new();
        loop {
            let at = self.junction(junction);
            match at.best {
                Best::End => return Some(None),
                Best::Special(special) => return Some(Some(special)),
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
                    (None, None) => return Some(None),
                },
            }
        }
    }

    /// The state of a text that was committed, where only this could come.
    fn advance_within(
        &self,
        state: &mut State,
        bytes: &[u8],
        x: &mut Scratch,
    ) -> Result<(), usize> {
        let mut threads = state.threads.clone();
        if self.0.has_borders {
            self.open_token(&mut threads);
        }
        self.read(&mut threads, bytes, x)?;
        if self.0.has_borders {
            self.close_token(&mut threads);
        }
        state.threads = threads;
        Ok(())
    }

    /// Reads text of one token.
    pub(super) fn read(
        &self,
        threads: &mut Vec<Held>,
        bytes: &[u8],
        x: &mut Scratch,
    ) -> Result<(), usize> {
        let mut at = 0;
        while at < bytes.len() {
            at += self.advance_json(threads, &bytes[at..], x);
            let Some(&byte) = bytes.get(at) else { break };
            let mut next = Vec::new();
            for held in &*threads {
                self.step_held(held, byte, x, &mut next);
            }
            if next.is_empty() {
                return Err(at);
            }
            self.close_held(&mut next);
            *threads = next;
            at += 1;
        }
        Ok(())
    }

    /// Begins a walk at some threads.
    pub(super) fn enter_threads<'h>(
        &self,
        held: impl Iterator<Item = &'h Held>,
        x: &mut Scratch,
    ) -> Cursor {
        x.clear();
        let mut threads = std::mem::take(&mut x.threads);
        threads.clear();
        for held in held {
            let stack = x.frames.enter(&held.stack);
            let (slot, inner) = match (&self.part(held.part).body, &held.inner) {
                (Body::Json(json), Inner::Json(state)) => {
                    json.automaton
                        .meet(state, (held.part, stack), Met::Within, x)
                }
                (Body::Grammar(automaton), Inner::Grammar(state)) => {
                    automaton.meet(state, (held.part, stack), Met::Within, x)
                }
                (_, Inner::Number(at)) => (0, self.fresh(held.part, held.tokens, *at)),
                _ => continue,
            };
            threads.push(Thread {
                part: held.part,
                guard: held.guard,
                slot,
                extra: held.extra,
                tokens: held.tokens,
                stack,
                inner,
            });
        }
        let cursor = match self.solo_of(&threads) {
            // The slot remembers it: it need not be found by what it is.
            Some((thread, Body::Json(_))) => x.begin_alone(thread),
            _ => x.intern(&mut threads),
        };
        x.threads = threads;
        cursor
    }

    /// Working memory that is used for a moment.
    pub(super) fn lend(&self) -> Scratch {
        let mut pool = self.0.pool.lock().unwrap_or_else(PoisonError::into_inner);
        pool.pop().unwrap_or_default()
    }

    pub(super) fn take_back(&self, x: Scratch) {
        let mut pool = self.0.pool.lock().unwrap_or_else(PoisonError::into_inner);
        pool.push(x);
    }

    /// Tells whether a text without special tokens is admitted as a whole.
    pub fn is_match(&self, text: &[u8]) -> bool {
        fsm_index::is_match(self, text)
    }
}

impl TagAutomaton {
    /// Where text of a class is read in a loop in JSON that is not spelt as it is.
    fn quoted_loop(
        &self,
        thread: Thread,
        json: &Json,
        horizon: Horizon<'_>,
        x: &mut Scratch,
    ) -> Option<TextLoop> {
        if thread.extra != 0 || thread.guard != ROOT {
            return None;
        }
        let scratch = x.json.scratch(thread.slot);
        let inner = json
            .automaton
            .describe(Cursor(thread.inner), horizon, scratch);
        // Of the classes only that of free strings is known without the
        // characters that begin markers.
        let inner = inner
            .text()
            .filter(|text| json.automaton.class(text.class) == JSON_TEXT)?;
        let mut next = vec![Thread {
            inner: inner.next.0,
            ..thread
        }];
        Some(TextLoop {
            class: ClassId::own(thread.part)?,
            next: x.intern(&mut next),
            steady: inner.steady,
            alike: false,
        })
    }

    /// What such JSON resembles: where no marker has begun, and no name or word that single
    /// texts reach.
    fn quoted_like(&self, thread: Thread, json: &Json, x: &mut Scratch) -> Option<Cursor> {
        if thread.extra != 0 {
            return None;
        }
        let scratch = x.json.scratch(thread.slot);
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
            return Some(self.alone(like, &json.automaton, x).to(inner));
        }
        let mut like = vec![Thread {
            inner: inner.0,
            ..like
        }];
        Some(x.intern(&mut like))
    }

    /// Where free text is read in a loop.
    fn free_loop(&self, cursor: Cursor, horizon: Horizon<'_>, x: &mut Scratch) -> Option<TextLoop> {
        let thread = self.free_thread(x.config(cursor))?;
        let body = &self.part(thread.part).body;
        let limit = match body {
            Body::Free(free) => free.limit,
            Body::Run(run) if run.max_tokens.is_none() && !run.patterns.is_blocked() => {
                run.max_chars
            }
            _ => return None,
        };
        let at = (thread.part, thread.stack);
        if thread.inner != body.begin() || self.resting(at, thread.extra, x) != cursor {
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
        let horizon = u32::try_from(horizon.bytes()).unwrap_or(u32::MAX);
        Some(TextLoop {
            class,
            next: self.resting(at, thread.extra + 1, x),
            steady: (limit - thread.extra).saturating_sub(horizon),
            alike: false,
        })
    }

    /// Where no marker has begun in free text.
    fn free_like(&self, cursor: Cursor, x: &mut Scratch) -> Option<Cursor> {
        let thread = self.free_thread(x.config(cursor))?;
        let is_between = match &self.part(thread.part).body {
            Body::Run(run) => run.max_tokens.is_none() && Run::may_end(thread.inner),
            _ => Place::unpack(thread.inner).is_between(),
        };
        if !is_between {
            return None;
        }
        let like = self.resting((thread.part, thread.stack), thread.extra, x);
        (like != cursor).then_some(like)
    }

    /// Appends a key of the threads at a cursor.
    fn own_key(
        &self,
        cursor: Cursor,
        depth: usize,
        horizon: Horizon<'_>,
        x: &mut Scratch,
        out: &mut Vec<u32>,
    ) -> bool {
        let before = out.len();
        out.push(x.config(cursor).len() as u32);
        let reach = u32::try_from(horizon.bytes()).unwrap_or(u32::MAX);
        let left = |limit: u32, used: u32| limit.saturating_sub(used).min(reach);
        for at in 0..x.config(cursor).len() {
            let thread = x.config(cursor)[at];
            let part = self.part(thread.part);
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
            while let Some(frame) = x.frames.get(stack) {
                out.push(frame.after + 1);
                stack = frame.below;
            }
            out.push(0);
            let from = out.len();
            let scope = Scope::Index;
            let language = match &part.body {
                Body::Json(json) => {
                    let mut text = self.alone(thread, &json.automaton, x);
                    text.key(scope, depth, horizon, out)
                }
                Body::Grammar(automaton) => {
                    let mut text = self.alone(thread, automaton, x);
                    text.key(scope, depth, horizon, out)
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
}

/// What is known where all that is known is another cursor.
fn like(cursor: Option<Cursor>) -> Description {
    cursor.map_or(Description::Unknown, |cursor| Description::Like {
        cursor,
        apart: None,
    })
}

impl ByteAutomaton for TagAutomaton {
    type State = State;
    type Scratch = Scratch;

    fn scratch(&self) -> Scratch {
        Scratch::default()
    }

    fn start(&self) -> State {
        let mut threads = Vec::new();
        self.begin_held(self.0.start, &None, &mut threads);
        State { threads }
    }

    fn is_accepting(&self, state: &State) -> bool {
        state.threads.iter().any(|held| {
            let after = self.part(held.part).after;
            self.may_end_held(held)
                && self.reach(after, &held.stack, &mut |at, _| self.junction(at).end)
        })
    }

    fn advance(&self, state: &mut State, bytes: &[u8], x: &mut Scratch) -> Result<(), usize> {
        match bytes.is_empty() {
            true => Ok(()),
            false => self.advance_within(state, bytes, x),
        }
    }

    fn completion(&self, state: &State, max_bytes: usize, out: &mut Vec<u8>) -> bool {
        let mut text = Vec::new();
        let is_found = self.complete(state, max_bytes, &mut text).is_some();
        let fits = is_found && text.len() <= max_bytes;
        if fits {
            out.extend(text);
        }
        fits
    }

    fn ending(&self) -> Option<&dyn Ending<Scratch>> {
        Some(self)
    }

    fn specials(&self) -> Option<&dyn fsm_index::SpecialTokens<State, Scratch>> {
        (!self.0.specials.is_empty()).then_some(self)
    }

    /// That of the only part, or that several may come.
    fn place(&self, state: &State) -> Option<fsm_index::Place> {
        let words = |held: &Held| match &self.part(held.part).body {
            Body::Nothing => "between markers",
            Body::Literal(_) => "a marker",
            Body::Dfa(_) | Body::Quiet(_) => "a text of a regular expression",
            Body::Json(_) => "JSON",
            Body::Grammar(_) => "a text of a grammar",
            Body::Free(_) | Body::Run(_) => "free text",
            Body::Tokens(_) => "tokens",
        };
        match state.threads.as_slice() {
            [held] => match (&self.part(held.part).body, &held.inner) {
                (Body::Json(json), Inner::Json(inner)) => json.automaton.place(inner),
                (Body::Grammar(automaton), Inner::Grammar(inner)) => automaton.place(inner),
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
        self.enter_threads(state.threads.iter(), x)
    }

    fn step(&self, cursor: Cursor, byte: u8, x: &mut Scratch) -> Cursor {
        if cursor.is_dead() {
            return Cursor::DEAD;
        }
        if let Some(next) = self.step_solo(cursor, byte, x) {
            return next;
        }
        let mut next = std::mem::take(&mut x.threads);
        next.clear();
        for at in 0..x.config(cursor).len() {
            let thread = x.config(cursor)[at];
            self.step_thread(thread, byte, x, &mut next);
        }
        self.close(x, &mut next);
        let cursor = self.cursor_of(&mut next, x);
        x.threads = next;
        cursor
    }

    fn describe(&self, cursor: Cursor, horizon: Horizon<'_>, x: &mut Scratch) -> Description {
        if let Some(description) = ask_alone!(self, cursor, x, text => text.describe(horizon)) {
            return description;
        }
        if let Some((thread, json)) = self.only_json(x.config(cursor)) {
            let text = self.quoted_loop(thread, json, horizon, x);
            return match text {
                Some(text) => Description::Text(text),
                None => like(self.quoted_like(thread, json, x)),
            };
        }
        match self.free_loop(cursor, horizon, x) {
            Some(text) => Description::Text(text),
            None => like(self.free_like(cursor, x)),
        }
    }

    fn next_bytes(&self, cursor: Cursor, x: &mut Scratch) -> ByteSet {
        let bytes = ask_alone!(self, cursor, x, text => text.next_bytes());
        bytes.unwrap_or_else(|| self.spelt_bytes(x.config(cursor)))
    }

    fn key(
        &self,
        cursor: Cursor,
        scope: Scope,
        depth: usize,
        horizon: Horizon<'_>,
        x: &mut Scratch,
        out: &mut Vec<u32>,
    ) -> Option<KeyLanguage> {
        match scope {
            Scope::Index => self
                .own_key(cursor, depth, horizon, x, out)
                .then_some(KeyLanguage::OWN),
            Scope::Vocabulary => self.common_key(cursor, depth, horizon, x, out),
        }
    }

    fn overlay(&self) -> Option<&dyn Overlay<State>> {
        Some(self)
    }

    fn plain_text(&self) -> Option<&dyn PlainText<Scratch>> {
        Some(self)
    }

    fn stack(&self) -> Option<&dyn Stack<Scratch>> {
        Some(self)
    }
}

impl Overlay<State> for TagAutomaton {
    fn exceptions(&self, state: &State, each: &mut dyn FnMut(Exception<'_>)) {
        // With other threads, what one may not read another might: then all
        // that is said is that a token must be tried.
        let alone = state.threads.len() == 1;
        for held in &state.threads {
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
        match state.threads.as_slice() {
            [held] => match (&self.part(held.part).body, &held.inner) {
                (Body::Json(json), Inner::Json(inner)) => json.automaton.is_suspect(inner, token),
                _ => true,
            },
            _ => true,
        }
    }

    fn unsure_texts(&self) -> &[Box<[u8]>] {
        &self.0.unsure
    }
}

impl fmt::Debug for TagAutomaton {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (parts, specials) = (self.parts(), &self.0.specials);
        write!(f, "TagAutomaton({parts} parts, specials {specials:?})")
    }
}
