//! Parts joined to one automaton.
//!
//! A text is read by *threads*, as in Thompson's simulation ("Regular
//! expression search algorithm", 1968): each stands in one part; where a part
//! may end, threads begin in those that may follow. All threads are alive, so
//! the text is: a part can always be finished, and behind each there is a way
//! to the end. Mostly there is one thread, or a free text's with those that
//! wait for the marker that ends it.
//!
//! For example, in `hi <` one thread reads free text, and one waits for the rest of `<call>`.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use fsm_index::{
    ByteAutomaton, ByteSet, ClassId, Completed, Cursor, Description, EachException, Ending,
    Exception, FreeText, Growth, Horizon, KeyLanguage, Lexicon, Nearer, Overlay, Parts, PlainText,
    Report, Scope, SpecialNames, Spot, Stack, Standing, TextAt, TextReader,
};
use schema_regex::automaton::SchemaAutomaton;

use super::ending;
use super::graph::Graph;
use super::held::{Held, InnerState, State, Threads};
use super::hints::{Hints, ask_alone};
use super::parts::Body;
use super::scratch::Scratch;
use super::walk::Walk;

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
pub struct TagAutomaton {
    pub(super) graph: Arc<Graph>,
    /// Working memory that is used for a moment.
    pool: Arc<Mutex<Vec<Scratch>>>,
}

impl TagAutomaton {
    pub(super) fn of(graph: Graph) -> TagAutomaton {
        TagAutomaton {
            graph: Arc::new(graph),
            pool: Arc::default(),
        }
    }

    /// Returns the number of parts: what memory is proportional to, the schemas' own aside.
    pub fn part_count(&self) -> usize {
        self.graph.parts().len()
    }

    /// Tells whether a text without special tokens is admitted as a whole.
    pub fn is_match(&self, text: &[u8]) -> bool {
        fsm_index::is_match(self, text)
    }

    #[inline]
    fn walk<'a, 'x>(&'a self, x: &'x mut Scratch) -> Walk<'a, 'x> {
        Walk::new(&self.graph, x)
    }

    /// Asks with working memory that is lent for a moment.
    pub(super) fn with_scratch<T>(&self, ask: impl FnOnce(&mut Scratch) -> T) -> T {
        let pool = || self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        let mut x = pool().pop().unwrap_or_default();
        let said = ask(&mut x);
        pool().push(x);
        said
    }
}

impl ByteAutomaton for TagAutomaton {
    type State = State;
    type Scratch = Scratch;

    fn scratch(&self) -> Scratch {
        Scratch::default()
    }

    fn start(&self) -> State {
        let mut threads = Threads::new(&self.graph, Vec::new());
        threads.begin(self.graph.start(), &None);
        threads.state()
    }

    fn is_accepting(&self, state: &State) -> bool {
        state.threads.iter().any(|held| {
            let graph = &*self.graph;
            let after = graph.part(held.part).after;
            held.may_end(graph)
                && graph.reach(after, &held.stack, &mut |at, _| graph.junction(at).end)
        })
    }

    fn advance(&self, state: &mut State, bytes: &[u8], x: &mut Scratch) -> Result<(), usize> {
        if !bytes.is_empty() {
            let mut threads = Threads::new(&self.graph, state.threads.clone());
            threads.read_token(bytes, x)?;
            *state = threads.state();
        }
        Ok(())
    }

    /// Ends the token in the grammars in which it stands.
    fn end_token(&self, state: &State, x: &mut Scratch) -> Option<State> {
        let mut next: Option<State> = None;
        for (at, held) in state.threads.iter().enumerate() {
            if let (Body::Grammar(automaton), InnerState::Grammar(inner)) =
                (&self.graph.part(held.part).body, &held.inner)
                && let scratch = x.grammars().scratch_of(held.part, automaton)
                && let Some(ended) = automaton.end_token(inner, scratch)
            {
                let next = next.get_or_insert_with(|| state.clone());
                next.threads[at].inner = InnerState::Grammar(ended);
            }
        }
        next
    }

    fn completion(&self, state: &State, max_bytes: usize, out: &mut Vec<u8>) -> Option<Completed> {
        let mut text = Vec::new();
        let completed = self.graph.complete(state, max_bytes, &mut text)?;
        (text.len() <= max_bytes).then(|| {
            out.extend(text);
            completed
        })
    }

    #[inline]
    fn parts(&self) -> Parts<'_, State, Scratch> {
        Parts {
            ending: Some(self),
            specials: (!self.graph.specials().is_empty()).then_some(self),
            overlay: Some(self),
            plain_text: Some(self),
            stack: Some(self),
            lexicon: Lexicon {
                tells_free: self.graph.has_grammars(),
                ..SchemaAutomaton::LEXICON
            },
            special_names: SpecialNames {
                names: self.graph.specials(),
                heads: self.graph.names().heads,
            },
            unsure_texts: self.graph.unsure(),
            report: Some(self),
            ..Parts::default()
        }
    }

    fn enter(&self, state: &State, x: &mut Scratch) -> Cursor {
        self.walk(x).enter(state.threads.iter())
    }

    fn step(&self, cursor: Cursor, byte: u8, x: &mut Scratch) -> Cursor {
        self.walk(x).step(cursor, byte)
    }

    fn describe(&self, cursor: Cursor, horizon: Horizon<'_>, x: &mut Scratch) -> Description {
        Hints::new(self.walk(x), horizon).describe(cursor)
    }

    fn next_bytes(&self, at: Spot, x: &mut Scratch) -> ByteSet {
        let mut walk = self.walk(x);
        let (cursor, bytes) = match at {
            Spot::Cursor(cursor) => {
                let bytes = ask_alone!(walk, cursor, text => text.next_bytes());
                (cursor, bytes)
            }
            Spot::Top(cursor) => {
                let bytes = ask_alone!(walk, cursor, text => text.next_bytes_on_top());
                (cursor, bytes)
            }
            Spot::Lexeme(_) => return ByteSet::ALL,
        };
        bytes.unwrap_or_else(|| walk.spelt_bytes(cursor))
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
        Hints::new(self.walk(x), horizon).key(cursor, scope, depth, out)
    }
}

impl Report<State> for TagAutomaton {
    /// Returns the place in the only part, or says that several may come.
    fn place(&self, state: &State) -> Option<fsm_index::Place> {
        let words = |held: &Held| match &self.graph.part(held.part).body {
            Body::Nothing => "between markers",
            Body::Literal(_) => "a marker",
            Body::Dfa(_) | Body::Quiet(_) => "a text of a regular expression",
            Body::Json(_) => "JSON",
            Body::Grammar(_) => "a text of a grammar",
            Body::Free(_) | Body::Run(_) => "free text",
            Body::Tokens(_) => "tokens",
        };
        match state.threads.as_slice() {
            [held] => match (&self.graph.part(held.part).body, &held.inner) {
                (Body::Json(json), InnerState::Json(inner)) => json.automaton.place(inner),
                (Body::Grammar(automaton), InnerState::Grammar(inner)) => automaton.place(inner),
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

    /// Returns the highest temperature of the grammars in which it stands.
    fn temperature(&self, state: &State) -> Option<f64> {
        let told = state.threads.iter().filter_map(|held| {
            match (&self.graph.part(held.part).body, &held.inner) {
                (Body::Grammar(automaton), InnerState::Grammar(inner)) => {
                    automaton.temperature(inner)
                }
                _ => None,
            }
        });
        told.max_by(f64::total_cmp)
    }
}

impl Overlay<State> for TagAutomaton {
    fn exceptions(&self, state: &State, each: &mut EachException<'_>) {
        // With other threads, what one may not read another might: then all
        // that is said is that a token must be tried.
        let alone = state.threads.len() == 1;
        for held in &state.threads {
            if let (Body::Json(json), InnerState::Json(inner)) =
                (&self.graph.part(held.part).body, &held.inner)
            {
                json.automaton.exceptions(
                    inner,
                    &mut |exception, can_be_refused| match exception {
                        Exception::Begins(text) if !alone => {
                            each(Exception::Contains(text), &|_| true);
                        }
                        other => each(other, can_be_refused),
                    },
                );
            }
        }
    }
}

impl PlainText<Scratch> for TagAutomaton {
    fn class(&self, class: ClassId) -> &[(u32, u32)] {
        let (part, inner) = class.split();
        let part = self.graph.part(part);
        match (&part.body, inner) {
            (Body::Json(json), None) => &json.text,
            (Body::Json(json), Some(class)) => json.automaton.class(class),
            (Body::Grammar(automaton), Some(class)) => PlainText::class(&**automaton, class),
            _ => &part.class,
        }
    }

    fn reader(
        &self,
        cursor: Cursor,
        horizon: Horizon<'_>,
        x: &mut Scratch,
    ) -> Option<TextReader<'_>> {
        let mut walk = self.walk(x);
        ask_alone!(walk, cursor, text => text.reader(horizon))?
    }

    fn cursor_at(&self, cursor: Cursor, at: TextAt, x: &mut Scratch) -> Cursor {
        let mut walk = self.walk(x);
        ask_alone!(walk, cursor, text => text.cursor_at(at)).unwrap_or(cursor)
    }

    fn free_text(&self, at: Spot, x: &mut Scratch) -> Option<FreeText> {
        match at {
            Spot::Cursor(cursor) | Spot::Top(cursor) => self.walk(x).free_text(cursor),
            Spot::Lexeme(_) => None,
        }
    }

    fn can_do_without(&self, chars: &[(u32, u32)]) -> bool {
        let mut parts = self.graph.parts().iter();
        parts.all(|part| part.body.is_fine_without(chars))
    }
}

impl Stack<Scratch> for TagAutomaton {
    fn depth_used(&self, x: &Scratch) -> usize {
        x.depth_used(&self.graph)
    }

    fn step_on_top(&self, cursor: Cursor, byte: u8, x: &mut Scratch) -> Option<Cursor> {
        let mut walk = self.walk(x);
        let next = ask_alone!(walk, cursor, text => text.step_on_top(byte));
        next.unwrap_or_else(|| Some(walk.step(cursor, byte)))
    }
}

impl Ending<Scratch> for TagAutomaton {
    /// Completions are asked for as a whole: pieces would have to pass special tokens, and escapes
    /// of markers.
    fn nearer(&self, _: Cursor, _: &mut Scratch, _: &mut Vec<u8>) -> Nearer {
        Nearer::Unknown
    }

    fn growth(&self, cost: &dyn Fn(&[u8]) -> usize) -> Growth {
        ending::bound(&self.graph, cost).unwrap_or(Growth::Unknown)
    }

    /// Tells the levels, and never that it stands in text.
    fn standing(&self, cursor: Cursor, x: &mut Scratch) -> Standing {
        let mut most = 0;
        for at in 0..x.config(cursor).len() {
            let thread = x.config(cursor)[at];
            if let Body::Json(json) = &self.graph.part(thread.part).body {
                let scratch = x.json().scratch(thread.slot);
                let standing = Ending::standing(&json.automaton, Cursor(thread.inner), scratch);
                most = most.max(standing.levels);
            }
        }
        Standing {
            levels: most,
            is_in_text: false,
        }
    }
}

impl fmt::Debug for TagAutomaton {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (parts, specials) = (self.part_count(), self.graph.specials());
        write!(f, "TagAutomaton({parts} parts, specials {specials:?})")
    }
}
