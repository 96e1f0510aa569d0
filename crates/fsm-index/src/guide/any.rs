//! Guides and indexes whose automaton is not named: what a server holds that has constraints of
//! several kinds side by side.
//!
//! For example, a batch of requests, one bound by a schema and one by a regular expression, is a
//! `Vec<Box<dyn AnyGuide>>`.

use std::sync::Arc;

use super::{AfterEnd, Guide, Landing};
use crate::{
    Budget, ByteAutomaton, Error, Index, IndexStats, Place, TokenId, TokenMask, Vocabulary,
    is_match,
};

/// An [`Index`] over any automaton.
///
/// ```
/// use std::sync::Arc;
/// use fsm_index::{AnyIndex, Index, TokenId, Vocabulary};
///
/// let tokens = ["a", "b"].iter().zip(0..).map(|(s, id)| (s.as_bytes(), TokenId::new(id)));
/// let vocabulary = Vocabulary::new(tokens, [TokenId::new(2)])?;
/// let index: Arc<dyn AnyIndex> = Arc::new(Index::new("a*b", &vocabulary)?);
/// assert!(index.is_match(b"aab"));
/// let mut guide = index.guide();
/// assert_eq!(guide.mask()?.count(), 2);
/// # Ok::<(), fsm_index::Error>(())
/// ```
pub trait AnyIndex: Send + Sync {
    /// See [`Index::vocabulary`].
    fn vocabulary(&self) -> &Vocabulary;

    /// See [`Index::stats`].
    fn stats(&self) -> IndexStats;

    /// Returns a guide at the start of a text.
    fn guide(self: Arc<Self>) -> Box<dyn AnyGuide>;

    /// Tells whether the automaton takes a text as a whole. O(bytes) steps.
    fn is_match(&self, text: &[u8]) -> bool;
}

impl<A: ByteAutomaton + 'static> AnyIndex for Index<A> {
    fn vocabulary(&self) -> &Vocabulary {
        Index::vocabulary(self)
    }

    fn stats(&self) -> IndexStats {
        Index::stats(self)
    }

    fn guide(self: Arc<Self>) -> Box<dyn AnyGuide> {
        Box::new(Guide::new(self))
    }

    fn is_match(&self, text: &[u8]) -> bool {
        is_match(self.automaton(), text)
    }
}

/// A [`Guide`] over any automaton. Each method is that of the guide.
pub trait AnyGuide: Send {
    /// Returns the vocabulary that its masks are about.
    fn vocabulary(&self) -> &Vocabulary;

    /// See [`Guide::mask`].
    ///
    /// # Errors
    ///
    /// As [`Guide::mask`].
    fn mask(&mut self) -> Result<&TokenMask, Error>;

    /// See [`Guide::mask_within`].
    ///
    /// # Errors
    ///
    /// As [`Guide::mask_within`].
    fn mask_within(&mut self, budget: &Budget) -> Result<&TokenMask, Error>;

    /// See [`Guide::allowed_tokens`].
    ///
    /// # Errors
    ///
    /// As [`Guide::allowed_tokens`].
    fn allowed_tokens(&self) -> Result<Vec<TokenId>, Error>;

    /// See [`Guide::allowed_bytes`].
    fn allowed_bytes(&self) -> Vec<u8>;

    /// See [`Guide::advance`].
    ///
    /// # Errors
    ///
    /// As [`Guide::advance`].
    fn advance(&mut self, token: TokenId) -> Result<(), Error>;

    /// See [`Guide::validate`].
    fn validate(&mut self, tokens: &[TokenId]) -> usize;

    /// See [`Guide::rollback`].
    ///
    /// # Errors
    ///
    /// As [`Guide::rollback`].
    fn rollback(&mut self, n: usize) -> Result<(), Error>;

    /// See [`Guide::len`].
    fn len(&self) -> usize;

    /// See [`Guide::is_empty`].
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// See [`Guide::is_accepting`].
    fn is_accepting(&self) -> bool;

    /// See [`Guide::is_finished`].
    fn is_finished(&self) -> bool;

    /// See [`Guide::has_ended`].
    fn has_ended(&self) -> bool;

    /// See [`Guide::completion`].
    ///
    /// # Errors
    ///
    /// As [`Guide::completion`].
    fn completion(&self) -> Result<Vec<u8>, Error>;

    /// See [`Guide::completion_within`].
    fn completion_within(&self, max_bytes: usize) -> Option<Vec<u8>>;

    /// Returns the temperature at which the grammar wants the next token drawn, if it says one. See
    /// [`Report::temperature`](crate::Report::temperature).
    fn temperature(&self) -> Option<f64>;

    /// See [`Guide::forced_bytes`].
    fn forced_bytes(&self) -> Vec<u8>;

    /// See [`Guide::forced_tokens`].
    fn forced_tokens(&self, encode: &mut dyn FnMut(&[u8]) -> Vec<TokenId>) -> Vec<TokenId>;

    /// See [`Guide::with_end_tokens`].
    ///
    /// # Errors
    ///
    /// As [`Guide::with_end_tokens`]; then nothing has changed.
    fn set_end_tokens(&mut self, tokens: &[TokenId]) -> Result<(), Error>;

    /// See [`Guide::with_after_end`].
    fn set_after_end(&mut self, after_end: AfterEnd);

    /// See [`Guide::set_budget`].
    ///
    /// # Errors
    ///
    /// As [`Guide::set_budget`].
    fn set_budget(&mut self, tokens: Option<usize>) -> Result<(), Error>;

    /// See [`Guide::set_landing`].
    fn set_landing(&mut self, landing: Landing);

    /// See [`Guide::tokens_left`].
    fn tokens_left(&self) -> Option<usize>;

    /// See [`Guide::set_tokens_left`].
    fn set_tokens_left(&mut self, tokens: usize);

    /// See [`Guide::tokens_needed`].
    fn tokens_needed(&mut self) -> Option<usize>;

    /// Returns where the text stands, for people; see [`Report::place`](crate::Report::place).
    fn place(&self) -> Option<Place>;

    /// Returns a guide at the same place, which goes on by itself.
    fn fork(&self) -> Box<dyn AnyGuide>;
}

impl<A: ByteAutomaton + 'static> AnyGuide for Guide<A> {
    fn vocabulary(&self) -> &Vocabulary {
        self.index().vocabulary()
    }

    fn mask(&mut self) -> Result<&TokenMask, Error> {
        Guide::mask(self)
    }

    fn mask_within(&mut self, budget: &Budget) -> Result<&TokenMask, Error> {
        Guide::mask_within(self, budget)
    }

    fn allowed_tokens(&self) -> Result<Vec<TokenId>, Error> {
        Guide::allowed_tokens(self)
    }

    fn allowed_bytes(&self) -> Vec<u8> {
        Guide::allowed_bytes(self)
    }

    fn advance(&mut self, token: TokenId) -> Result<(), Error> {
        Guide::advance(self, token)
    }

    fn validate(&mut self, tokens: &[TokenId]) -> usize {
        Guide::validate(self, tokens)
    }

    fn rollback(&mut self, n: usize) -> Result<(), Error> {
        Guide::rollback(self, n)
    }

    fn len(&self) -> usize {
        Guide::len(self)
    }

    fn is_accepting(&self) -> bool {
        Guide::is_accepting(self)
    }

    fn is_finished(&self) -> bool {
        Guide::is_finished(self)
    }

    fn has_ended(&self) -> bool {
        Guide::has_ended(self)
    }

    fn completion(&self) -> Result<Vec<u8>, Error> {
        Guide::completion(self)
    }

    fn completion_within(&self, max_bytes: usize) -> Option<Vec<u8>> {
        Guide::completion_within(self, max_bytes)
    }

    fn temperature(&self) -> Option<f64> {
        let report = self.index().automaton().parts().report?;
        report.temperature(self.state())
    }

    fn forced_bytes(&self) -> Vec<u8> {
        Guide::forced_bytes(self)
    }

    fn forced_tokens(&self, encode: &mut dyn FnMut(&[u8]) -> Vec<TokenId>) -> Vec<TokenId> {
        Guide::forced_tokens(self, encode)
    }

    fn set_end_tokens(&mut self, tokens: &[TokenId]) -> Result<(), Error> {
        *self = self.clone().with_end_tokens(tokens.iter().copied())?;
        Ok(())
    }

    fn set_after_end(&mut self, after_end: AfterEnd) {
        self.after_end = after_end;
    }

    fn set_budget(&mut self, tokens: Option<usize>) -> Result<(), Error> {
        Guide::set_budget(self, tokens)
    }

    fn set_landing(&mut self, landing: Landing) {
        Guide::set_landing(self, landing);
    }

    fn tokens_left(&self) -> Option<usize> {
        Guide::tokens_left(self)
    }

    fn set_tokens_left(&mut self, tokens: usize) {
        Guide::set_tokens_left(self, tokens);
    }

    fn tokens_needed(&mut self) -> Option<usize> {
        Guide::tokens_needed(self)
    }

    fn place(&self) -> Option<Place> {
        let report = self.index().automaton().parts().report?;
        report.place(self.state())
    }

    fn fork(&self) -> Box<dyn AnyGuide> {
        Box::new(self.clone())
    }
}

impl<A: ByteAutomaton + 'static> AsRef<dyn AnyGuide> for Guide<A> {
    fn as_ref(&self) -> &(dyn AnyGuide + 'static) {
        self
    }
}

impl<A: ByteAutomaton + 'static> AsMut<dyn AnyGuide> for Guide<A> {
    fn as_mut(&mut self) -> &mut (dyn AnyGuide + 'static) {
        self
    }
}
