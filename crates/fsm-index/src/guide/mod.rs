//! One text: the tokens that were taken, and what may come next. For example, after the token `{"`
//! a guide allows the beginnings of names, and `rollback(1)` goes back before it.

mod any;
mod batch;
mod commit;
mod forced;
mod history;
mod landings;
mod limit;
mod masks;
mod probabilities;
mod refusal;

use std::sync::Arc;

use crate::automaton::{AskParts, MAX_COMPLETION, Piece, pieces};
pub use any::{AnyGuide, AnyIndex};
pub use batch::{MaskWord, mask_batch};
use commit::{Ends, commit};
use forced::Forced;
use history::History;
pub use limit::Landing;
use limit::Limit;
use masks::Current;
pub use probabilities::{Distribution, ProbabilityLimits, ValueProbability, probabilities};

use crate::cache::Generation;
use crate::index::Ways;
use crate::plan::Work;
use crate::{ByteAutomaton, ByteDfa, Error, ErrorKind, Index, MaskBuffer, SpecialId, TokenId};

/// Leads one text through an [`Index`], token by token.
///
/// Cheap to clone: a clone is a fork, which shares what came before and goes on
/// independently. It remembers a state for each token taken, so that it can go
/// back.
///
/// ```
/// use std::sync::Arc;
///
/// use fsm_index::{Guide, Index, TokenId, Vocabulary};
///
/// # let tokens = ["yes", "no", "y"];
/// # let tokens = tokens.iter().zip(0..).map(|(s, id)| (s.as_bytes(), TokenId::new(id)));
/// # let vocabulary = Vocabulary::new(tokens, [TokenId::new(3)])?;
/// let index = Arc::new(Index::new("yes|no", &vocabulary)?);
/// let mut guide = Guide::new(index);
/// while !guide.is_finished() {
///     let first = guide.mask()?.iter().next().unwrap(); // a model would choose
///     guide.advance(first)?;
/// }
/// assert!(guide.is_accepting());
/// # Ok::<(), fsm_index::Error>(())
/// ```
pub struct Guide<A: ByteAutomaton = ByteDfa> {
    index: Arc<Index<A>>,
    state: A::State,
    /// The state before each token taken.
    history: History<A::State>,
    /// The number of tokens that were taken when an end token was, that one counted.
    ended_at: Option<usize>,
    ends: Ends,
    after_end: AfterEnd,
    /// The rows that the index remembers, as this guide last saw them.
    generation: Option<Arc<Generation>>,
    current: Current,
    work: Work<A>,
    /// For masks that are no row that could be lent.
    buffer: MaskBuffer,
    /// The tokens that the text may have.
    limit: Option<Limit>,
    ways: Ways,
}

/// The treatment of tokens by a [`Guide`] that come after an end token.
///
/// ```
/// use std::sync::Arc;
///
/// use fsm_index::{AfterEnd, Guide, Index, TokenId, Vocabulary};
///
/// # let tokens = ["a"];
/// # let tokens = tokens.iter().zip(0..).map(|(s, id)| (s.as_bytes(), TokenId::new(id)));
/// # let vocabulary = Vocabulary::new(tokens, [TokenId::new(1)])?;
/// let index = Arc::new(Index::new("a", &vocabulary)?);
/// let mut guide = Guide::new(index).with_after_end(AfterEnd::Ignore);
/// guide.advance(TokenId::new(0))?;
/// guide.advance(TokenId::new(1))?; // the end
/// guide.advance(TokenId::new(0))?; // padding
/// assert!(guide.has_ended());
/// # Ok::<(), fsm_index::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AfterEnd {
    /// They are an error, and are not taken.
    #[default]
    Refuse,
    /// They are taken and change nothing: engines that decode ahead send some. They count in
    /// [`Guide::len`] and for [`Guide::rollback`].
    Ignore,
}

impl<A: ByteAutomaton> Guide<A> {
    /// A guide at the start of a text.
    pub fn new(index: Arc<Index<A>>) -> Guide<A> {
        Guide {
            state: index.automaton().start(),
            history: History::new(),
            ended_at: None,
            ends: Ends::default(),
            after_end: AfterEnd::default(),
            generation: None,
            current: Current::default(),
            work: Work::new(index.automaton()),
            buffer: MaskBuffer::new(0),
            limit: None,
            ways: Ways::default(),
            index,
        }
    }

    /// A guide at a state of the index's automaton, as if the text began there: the state of
    /// another guide of the same index ([`Guide::state`]).
    pub fn at(index: Arc<Index<A>>, state: A::State) -> Guide<A> {
        Guide {
            state,
            ..Guide::new(index)
        }
    }

    /// Has these tokens end the text, in place of the vocabulary's end tokens: each is
    /// allowed where the text is complete, and nowhere else unless it is structure that may
    /// come there. The vocabulary's own end tokens end nothing then, unless they are named.
    /// Without any token, nothing ends the text.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use fsm_index::{Guide, Index, TokenId, Vocabulary};
    /// # let tokens = ["a", "b"].iter().zip(0..).map(|(s, id)| (s.as_bytes(), TokenId::new(id)));
    /// # let vocabulary = Vocabulary::new(tokens, [TokenId::new(3)])?;
    /// let index = Arc::new(Index::new("a", &vocabulary)?);
    /// let mut guide = Guide::new(index).with_end_tokens([TokenId::new(2), TokenId::new(3)])?;
    /// guide.advance(TokenId::new(0))?;
    /// assert!(guide.is_accepting() && !guide.has_ended());
    /// assert_eq!(guide.allowed_tokens()?, [TokenId::new(2), TokenId::new(3)]);
    /// guide.advance(TokenId::new(2))?;
    /// assert!(guide.has_ended());
    /// # Ok::<(), fsm_index::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A token is text, which the automaton may need for something else, or masks have no
    /// place for it ([`ErrorKind::Vocabulary`]).
    pub fn with_end_tokens(
        mut self,
        tokens: impl IntoIterator<Item = TokenId>,
    ) -> Result<Guide<A>, Error> {
        self.ends = Ends::new(tokens, self.index.vocabulary())?;
        self.current.hide();
        Ok(self)
    }

    /// Says what becomes of tokens that come after an end token.
    pub fn with_after_end(mut self, after_end: AfterEnd) -> Guide<A> {
        self.after_end = after_end;
        self
    }

    /// The index.
    pub fn index(&self) -> &Arc<Index<A>> {
        &self.index
    }

    /// The state of the automaton.
    pub fn state(&self) -> &A::State {
        &self.state
    }

    /// The bytes that may come next, in ascending order.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use fsm_index::{Guide, Index, TokenId, Vocabulary};
    ///
    /// # let tokens = ["a", "b", "c"];
    /// # let tokens = tokens.iter().zip(0..).map(|(s, id)| (s.as_bytes(), TokenId::new(id)));
    /// # let vocabulary = Vocabulary::new(tokens, [TokenId::new(3)])?;
    /// let guide = Guide::new(Arc::new(Index::new("a|cb", &vocabulary)?));
    /// assert_eq!(guide.allowed_bytes(), b"ac");
    /// # Ok::<(), fsm_index::Error>(())
    /// ```
    pub fn allowed_bytes(&self) -> Vec<u8> {
        if self.has_ended() {
            return Vec::new();
        }
        allowed_bytes(self.index.automaton(), &self.state)
    }

    /// Takes a token. O(bytes of the token). After an end token nothing may come, or it
    /// changes nothing: see [`AfterEnd`].
    ///
    /// # Errors
    ///
    /// The token may not come here; the message and
    /// [`Error::offset`] say at which of its bytes it leaves the language. The
    /// guide is unchanged.
    pub fn advance(&mut self, token: TokenId) -> Result<(), Error> {
        if self.has_ended() {
            if self.after_end == AfterEnd::Ignore {
                self.history.push(self.state.clone());
                return Ok(());
            }
            return Err(Error::new(
                ErrorKind::GuideState,
                format!("token {token} comes after the end token; start a new guide or roll back"),
            ));
        }
        let mut after = self.state.clone();
        let ends = commit(&self.index, &self.ends, &mut after, token, &mut self.work)?;
        let same = !ends && self.state == after;
        let before = std::mem::replace(&mut self.state, after);
        self.history.push(before);
        self.ended_at = ends.then(|| self.history.len());
        if !same {
            self.current.forget();
        }
        if let Some(limit) = &mut self.limit {
            if !same {
                limit.forget();
            }
            let bytes = self.index.vocabulary().token_bytes(token);
            limit.take(
                token,
                bytes
                    .and_then(|bytes| bytes.last().copied())
                    .unwrap_or_default(),
            );
            // Fewer tokens are left.
            self.current.hide();
        }
        Ok(())
    }

    /// Returns the number of `tokens` that could be taken one after another, as a draft model
    /// proposes them. The guide stays where it is.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use fsm_index::{Guide, Index, TokenId, Vocabulary};
    ///
    /// # let tokens = ["a", "b"];
    /// # let tokens = tokens.iter().zip(0..).map(|(s, id)| (s.as_bytes(), TokenId::new(id)));
    /// # let vocabulary = Vocabulary::new(tokens, [TokenId::new(2)])?;
    /// let mut guide = Guide::new(Arc::new(Index::new("aab", &vocabulary)?));
    /// // A draft model proposes three tokens, of which two may come.
    /// assert_eq!(guide.validate(&[0, 0, 0].map(TokenId::new)), 2);
    /// assert_eq!(guide.len(), 0);
    /// # Ok::<(), fsm_index::Error>(())
    /// ```
    pub fn validate(&mut self, tokens: &[TokenId]) -> usize {
        let mut state = self.state.clone();
        let mut ended = self.has_ended();
        let left = self.tokens_left();
        for (taken, &token) in tokens.iter().enumerate() {
            if ended {
                return match self.after_end {
                    AfterEnd::Refuse => taken,
                    AfterEnd::Ignore => tokens.len(),
                };
            }
            match commit(&self.index, &self.ends, &mut state, token, &mut self.work) {
                Ok(ends) => ended = ends,
                Err(_) => return taken,
            }
            // The mask at hand promises more of the first one than its state tells.
            let is_late = match taken {
                0 => left.is_some() && self.mask().is_ok_and(|mask| !mask.allows(token)),
                _ => self.limit.as_ref().is_some_and(|limit| {
                    let behind = self.history.len() + taken + 1;
                    let (ways, work) = (&mut self.ways, &mut self.work);
                    !ended && !limit.fits(&self.index, &state, behind, ways, work)
                }),
            };
            if is_late {
                return taken;
            }
        }
        tokens.len()
    }

    /// Takes back the last `n` tokens. Behind the end token that is among them, the text has
    /// not ended any more.
    ///
    /// # Errors
    ///
    /// Fewer than `n` tokens were taken; the guide is unchanged.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use fsm_index::{Guide, Index, TokenId, Vocabulary};
    ///
    /// # let tokens = ["a", "b"];
    /// # let tokens = tokens.iter().zip(0..).map(|(s, id)| (s.as_bytes(), TokenId::new(id)));
    /// # let vocabulary = Vocabulary::new(tokens, [TokenId::new(2)])?;
    /// let mut guide = Guide::new(Arc::new(Index::new("ab", &vocabulary)?));
    /// guide.advance(TokenId::new(0))?;
    /// guide.advance(TokenId::new(1))?;
    /// guide.rollback(1)?;
    /// assert_eq!(guide.allowed_tokens()?, [TokenId::new(1)]);
    /// # Ok::<(), fsm_index::Error>(())
    /// ```
    pub fn rollback(&mut self, n: usize) -> Result<(), Error> {
        let taken = self.history.len();
        if n > taken {
            return Err(Error::new(
                ErrorKind::GuideState,
                format!("cannot take back {n} tokens: only {taken} were taken"),
            ));
        }
        if let Some(state) = self.history.pop(n) {
            self.state = state;
            let taken = self.history.len();
            self.ended_at = self.ended_at.filter(|&at| at <= taken);
            if let Some(limit) = &mut self.limit {
                limit.go_back(taken);
                limit.forget();
            }
            self.current.forget();
        }
        Ok(())
    }

    /// Returns the number of tokens that were taken.
    pub fn len(&self) -> usize {
        self.history.len()
    }

    /// Tells whether no token was taken yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Tells whether the text is complete: it may end here. It stays so behind an end token.
    pub fn is_accepting(&self) -> bool {
        self.index.automaton().is_accepting(&self.state)
    }

    /// Tells whether nothing can follow but an end token, or one was taken: the caller may stop
    /// without asking the model again.
    pub fn is_finished(&self) -> bool {
        self.has_ended()
            || (self.is_accepting()
                && self.allowed_bytes().is_empty()
                && has_no_specials(&self.index, &self.state))
    }

    /// A shortest text, in bytes, that completes this one; nothing where it may end. Special tokens
    /// that it needs are spelt by their names. If the vocabulary lacks bytes that this text has,
    /// another one that its tokens spell.
    ///
    /// # Errors
    ///
    /// It has more than [`MAX_COMPLETION`](crate::MAX_COMPLETION) bytes, or the automaton
    /// did not find one in as many steps as it takes ([`ErrorKind::LimitExceeded`]).
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use fsm_index::{Guide, Index, TokenId, Vocabulary};
    ///
    /// # let tokens = ["a", "b"];
    /// # let tokens = tokens.iter().zip(0..).map(|(s, id)| (s.as_bytes(), TokenId::new(id)));
    /// # let vocabulary = Vocabulary::new(tokens, [TokenId::new(2)])?;
    /// let mut guide = Guide::new(Arc::new(Index::new("ab{2,9}", &vocabulary)?));
    /// guide.advance(TokenId::new(0))?;
    /// assert_eq!(guide.completion()?, b"bb");
    /// assert_eq!(guide.completion_within(1), None);
    /// # Ok::<(), fsm_index::Error>(())
    /// ```
    pub fn completion(&self) -> Result<Vec<u8>, Error> {
        self.completion_within(MAX_COMPLETION).ok_or_else(|| {
            Error::new(
                ErrorKind::LimitExceeded,
                format!(
                    "limit of {MAX_COMPLETION} bytes, or of the steps of a search, exceeded: no \
                     text so short was found that completes this one"
                ),
            )
        })
    }

    /// As [`Guide::completion`], if it has at most so many bytes. It costs no more than what
    /// fits.
    pub fn completion_within(&self, max_bytes: usize) -> Option<Vec<u8>> {
        if self.has_ended() {
            return Some(Vec::new());
        }
        let automaton = self.index.automaton();
        if self.index.spells_any_text() {
            let pieces = pieces(automaton, &self.state, max_bytes)?;
            return Some(pieces.into_iter().flat_map(Piece::into_bytes).collect());
        }
        let spelt = self.index.spelt_completion(&self.state)?;
        (spelt.len() <= max_bytes).then_some(spelt)
    }

    /// The longest run of bytes that must come next, whatever is chosen. It
    /// stops where the text may end, and before special tokens.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use fsm_index::{Guide, Index, TokenId, Vocabulary};
    ///
    /// # let tokens = ["a", "b", "c"];
    /// # let tokens = tokens.iter().zip(0..).map(|(s, id)| (s.as_bytes(), TokenId::new(id)));
    /// # let vocabulary = Vocabulary::new(tokens, [TokenId::new(3)])?;
    /// let guide = Guide::new(Arc::new(Index::new("ab(c|a)", &vocabulary)?));
    /// assert_eq!(guide.forced_bytes(), b"ab");
    /// # Ok::<(), fsm_index::Error>(())
    /// ```
    pub fn forced_bytes(&self) -> Vec<u8> {
        match self.has_ended() {
            true => Vec::new(),
            false => Forced::new(self.index.automaton(), &self.state).into_bytes(),
        }
    }

    /// The tokens for the bytes that must come next, as the tokenizer itself
    /// would cut them.
    ///
    /// `encode` is the tokenizer: it gets the forced bytes and returns their
    /// tokens. Tokens are kept only up to where no allowed token could span
    /// the end of the forced run (as it would if the text that follows merged
    /// with it), and only if they spell the forced bytes; otherwise nothing is
    /// forced. The tokens are not taken yet: pass them to [`Guide::advance`].
    ///
    /// The forced *bytes* are certain. A model may have cut them into other
    /// tokens, so texts generated with and without forced tokens can differ
    /// after them.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use fsm_index::{Guide, Index, TokenId, Vocabulary};
    ///
    /// # let tokens = ["a", "b", "c", "ab"];
    /// # let tokens = tokens.iter().zip(0..).map(|(s, id)| (s.as_bytes(), TokenId::new(id)));
    /// # let vocabulary = Vocabulary::new(tokens, [TokenId::new(4)])?;
    /// let guide = Guide::new(Arc::new(Index::new("ab(c|a)", &vocabulary)?));
    /// // The tokenizer says how it cuts the bytes.
    /// let forced = guide.forced_tokens(|bytes| match bytes {
    ///     b"ab" => vec![TokenId::new(3)],
    ///     _ => Vec::new(),
    /// });
    /// assert!(forced.iter().all(|token| *token == TokenId::new(3)));
    /// # Ok::<(), fsm_index::Error>(())
    /// ```
    pub fn forced_tokens(&self, encode: impl FnOnce(&[u8]) -> Vec<TokenId>) -> Vec<TokenId> {
        match self.has_ended() {
            true => Vec::new(),
            false => Forced::new(self.index.automaton(), &self.state).tokens(&self.index, encode),
        }
    }

    /// Tells whether the text has ended: an end token was taken, and not taken back.
    pub fn has_ended(&self) -> bool {
        self.ended_at.is_some()
    }
}

impl<A: ByteAutomaton> Clone for Guide<A> {
    fn clone(&self) -> Self {
        Guide {
            index: self.index.clone(),
            state: self.state.clone(),
            history: self.history.clone(),
            ended_at: self.ended_at,
            ends: self.ends.clone(),
            after_end: self.after_end,
            generation: self.generation.clone(),
            current: self.current.of_clone(),
            work: Work::new(self.index.automaton()),
            buffer: MaskBuffer::new(0),
            limit: self.limit.clone(),
            ways: Ways::default(),
        }
    }
}

impl<A: ByteAutomaton> std::fmt::Debug for Guide<A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let end = if self.has_ended() { ", ended" } else { "" };
        write!(f, "Guide({} tokens{end}, {:?})", self.len(), self.index)
    }
}

/// The bytes that may come at a state, in ascending order.
pub(crate) fn allowed_bytes<A: ByteAutomaton>(automaton: &A, state: &A::State) -> Vec<u8> {
    let mut scratch = automaton.scratch();
    let cursor = automaton.enter(state, &mut scratch);
    (0..=255u8)
        .filter(|&byte| !automaton.step(cursor, byte, &mut scratch).is_dead())
        .collect()
}

/// Tells whether no special token may come at a state.
fn has_no_specials<A: ByteAutomaton>(index: &Index<A>, state: &A::State) -> bool {
    let mut specials: Vec<SpecialId> = Vec::new();
    if !index.specials().is_empty() {
        index.automaton().allowed_specials(state, &mut specials);
    }
    specials.is_empty()
}
