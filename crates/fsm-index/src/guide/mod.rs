//! One text: the tokens that were taken, and what may come next. For example, after the token `{"`
//! a guide allows the beginnings of names, and `rollback(1)` goes back before it.

mod any;
mod batch;
mod forced;
mod history;
mod landings;
mod limit;
mod masks;
mod refusal;

use std::sync::Arc;

use crate::automaton::{MAX_COMPLETION, Parts, Piece, pieces};
pub use any::{AnyGuide, AnyIndex};
pub use batch::{MaskWord, mask_batch};
use history::History;
pub use limit::Landing;
use limit::Limit;
use masks::Shown;
use refusal::{refused, refused_byte};

use crate::cache::Generation;
use crate::index::Lent;
use crate::index::Ways;
use crate::plan::Work;
use crate::rows::Specials;
use crate::{
    ByteAutomaton, ByteDfa, Error, ErrorKind, Index, MaskBuffer, SpecialId, TokenId, TokenKind,
};

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
    /// The tokens that end this text, ascending, where they are not the vocabulary's.
    end_tokens: Option<Arc<[TokenId]>>,
    after_end: AfterEnd,
    /// The rows that the index remembers, as this guide last saw them.
    generation: Option<Arc<Generation>>,
    /// The row of this state, if it was asked for.
    row: Option<Lent>,
    work: Work<A>,
    /// For masks that are no row that could be lent.
    buffer: MaskBuffer,
    /// The place of the mask of this state, if it was asked for.
    shown: Option<Shown>,
    /// The special tokens that may come at this state, if its row was asked for.
    specials: Specials,
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
            end_tokens: None,
            after_end: AfterEnd::default(),
            generation: None,
            row: None,
            work: Work::new(index.automaton()),
            buffer: MaskBuffer::new(0),
            shown: None,
            specials: Specials::default(),
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
        let vocabulary = self.index.vocabulary();
        let mut tokens: Vec<TokenId> = tokens.into_iter().collect();
        tokens.sort_unstable();
        tokens.dedup();
        for &token in &tokens {
            let why = match vocabulary.kind(token) {
                TokenKind::Text => "is text: only a token that spells nothing can end a text",
                _ if token.get() as usize >= vocabulary.width() => "is beyond the vocabulary",
                _ => continue,
            };
            return Err(Error::new(
                ErrorKind::Vocabulary,
                format!("end token {token} {why}"),
            ));
        }
        self.end_tokens = (tokens != vocabulary.ends()).then(|| tokens.into());
        self.shown = None;
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
        let ends = self.step(&mut after, token)?;
        let same = !ends && self.state == after;
        let before = std::mem::replace(&mut self.state, after);
        self.history.push(before);
        self.ended_at = ends.then(|| self.history.len());
        if !same {
            self.forget();
        }
        if let Some(limit) = &mut self.limit {
            let bytes = self.index.vocabulary().token_bytes(token);
            limit.take(
                token,
                bytes
                    .and_then(|bytes| bytes.last().copied())
                    .unwrap_or_default(),
            );
            // Fewer tokens are left.
            self.shown = None;
        }
        Ok(())
    }

    /// The state is another one.
    fn forget(&mut self) {
        if let Some(limit) = &mut self.limit {
            limit.forget();
        }
        self.row = None;
        self.shown = None;
        self.specials.forget();
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
            match self.step(&mut state, token) {
                Ok(ends) => ended = ends,
                Err(_) => return taken,
            }
            // The mask at hand promises more of the first one than its state tells.
            let is_late = match taken {
                0 => left.is_some() && self.mask().is_ok_and(|mask| !mask.allows(token)),
                _ => left.is_some_and(|left| !ended && !self.fits(&state, left, taken + 1)),
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
            }
            self.forget();
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
                && self.allowed_specials().is_empty())
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

    /// Commits text that is no token's.
    pub(crate) fn begin(&mut self, text: &[u8]) -> Result<(), String> {
        let automaton = self.index.automaton();
        automaton
            .advance(&mut self.state, text, &mut self.work.scratch)
            .map_err(|at| {
                format!(
                    "byte {at} of the beginning {:?} is refused",
                    String::from_utf8_lossy(text)
                )
            })
    }

    /// Tells whether the text has ended: an end token was taken, and not taken back.
    pub fn has_ended(&self) -> bool {
        self.ended_at.is_some()
    }

    /// Returns the kind of a token to this text.
    fn kind(&self, token: TokenId) -> TokenKind {
        let kind = self.index.vocabulary().kind(token);
        match &self.end_tokens {
            Some(ends) if ends.binary_search(&token).is_ok() => TokenKind::End,
            Some(_) if kind == TokenKind::End => TokenKind::Special,
            _ => kind,
        }
    }

    fn allowed_specials(&self) -> Vec<SpecialId> {
        let mut specials = Vec::new();
        if self.index.specials().is_empty() {
            return specials;
        }
        self.index
            .automaton()
            .allowed_specials(&self.state, &mut specials);
        specials
    }

    /// Commits a token to a state; whether it ends the text.
    fn step(&mut self, state: &mut A::State, token: TokenId) -> Result<bool, Error> {
        let vocabulary = self.index.vocabulary();
        let automaton = self.index.automaton();
        let kind = self.kind(token);
        match kind {
            TokenKind::Text => {
                let bytes = vocabulary.token_bytes(token).unwrap_or_default();
                if bytes.is_empty() {
                    return Err(refused(token, 0, "has no bytes and is never allowed"));
                }
                automaton
                    .advance(state, bytes, &mut self.work.scratch)
                    .map_err(|offset| refused_byte(automaton, state, token, bytes, offset))?;
                match self.index.is_spellable(state, &mut self.work) {
                    true => Ok(false),
                    false => Err(refused(
                        token,
                        bytes.len(),
                        "leads to where the vocabulary cannot spell any way on",
                    )),
                }
            }
            TokenKind::End if automaton.is_accepting(state) => Ok(true),
            TokenKind::End | TokenKind::Special => {
                let mut specials = self.index.specials().iter();
                match specials.position(|&special| special == token) {
                    Some(at)
                        if automaton.advance_special(state, SpecialId(at as u32))
                            && self.index.is_spellable(state, &mut self.work) =>
                    {
                        Ok(false)
                    }
                    Some(_) => Err(refused(token, 0, "may not come here")),
                    None if kind == TokenKind::End => Err(refused(
                        token,
                        0,
                        "ends the text, which is not complete yet",
                    )),
                    None => Err(refused(token, 0, "is structure, not text")),
                }
            }
            TokenKind::Absent => Err(refused(token, 0, "is not in the vocabulary")),
        }
    }
}

impl<A: ByteAutomaton> Clone for Guide<A> {
    fn clone(&self) -> Self {
        Guide {
            index: self.index.clone(),
            state: self.state.clone(),
            history: self.history.clone(),
            ended_at: self.ended_at,
            end_tokens: self.end_tokens.clone(),
            after_end: self.after_end,
            generation: self.generation.clone(),
            row: None,
            work: Work::new(self.index.automaton()),
            buffer: MaskBuffer::new(0),
            shown: None,
            specials: self.specials.clone(),
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
