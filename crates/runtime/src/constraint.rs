//! The questions that the decode loop asks of a constraint. For example, under `[0-9]+` the first
//! mask allows tokens of digits alone, and after `4` the end of the text as well.

use fsm_index::{AnyGuide, Budget, Landing, Place, TokenId};

use crate::{Error, ErrorKind};

/// Says at each step which tokens may come next.
///
/// While the model reads, a constraint may be asked for its next mask on another
/// thread; see [`Constraint::is_mask_known`].
///
/// ```
/// use std::sync::Arc;
///
/// use tokenmold::constraint::Constraint;
/// use tokenmold::embedded;
/// use tokenmold::fsm_index::{Guide, Index};
///
/// let loaded = embedded::load()?;
/// let index = Arc::new(Index::new("yes|no", loaded.tokenizer.vocabulary()).unwrap());
/// // Constraints of several kinds side by side.
/// let mut constraints: Vec<Box<dyn Constraint>> = vec![Box::new(Guide::new(index))];
/// assert!(constraints[0].mask().is_ok());
/// # Ok::<(), tokenmold::Error>(())
/// ```
pub trait Constraint: Send {
    /// The tokens that may come next: bit `t % 32` of word `t / 32`. End
    /// tokens are among them where the text may end.
    ///
    /// # Errors
    ///
    /// The mask cannot be computed.
    fn mask(&mut self) -> Result<&[u32], Error>;

    /// Tells whether [`Constraint::mask`] costs next to nothing here. Asked before each step of the
    /// model: where it says `false`, the mask is asked for on another thread while the model reads,
    /// and again after that, so the constraint should remember it. The default says `true`.
    fn is_mask_known(&mut self) -> bool {
        true
    }

    /// Returns the number of tokens that the mask speaks of.
    fn width(&self) -> usize;

    /// Takes a token.
    ///
    /// # Errors
    ///
    /// It may not come here; nothing is changed.
    fn advance(&mut self, token: u32) -> Result<(), Error>;

    /// Takes back the last `count` tokens.
    ///
    /// # Errors
    ///
    /// Fewer were taken; nothing is changed.
    fn rollback(&mut self, count: usize) -> Result<(), Error>;

    /// Returns the number of `tokens` that could be taken one after another. The constraint
    /// stays where it is.
    fn validate(&mut self, tokens: &[u32]) -> usize {
        let taken = tokens
            .iter()
            .take_while(|token| self.advance(**token).is_ok())
            .count();
        match self.rollback(taken) {
            Ok(()) => taken,
            // Cannot happen: so many were just taken.
            Err(_) => 0,
        }
    }

    /// Tells whether the text may end here.
    fn is_accepting(&self) -> bool;

    /// A shortest text, in bytes, that leads to where the text may end; empty
    /// where it may end. None, which is the default, if that is not known.
    fn completion(&self) -> Option<Vec<u8>> {
        None
    }

    /// As [`Constraint::completion`], if that has at most so many bytes. A constraint that can
    /// should take no longer than what fits.
    fn completion_within(&self, max_bytes: usize) -> Option<Vec<u8>> {
        self.completion().filter(|text| text.len() <= max_bytes)
    }

    /// Lets at most so many more tokens come, tokens that end the text not counted, or any
    /// number: from now on the mask allows only tokens behind which the text can be completed
    /// in time, and [`Constraint::validate`] counts no others.
    ///
    /// # Errors
    ///
    /// The shortest text takes more tokens, or, as the default says, this constraint keeps no
    /// budget ([`ErrorKind::TokenBudget`]).
    fn set_budget(&mut self, tokens: Option<usize>) -> Result<(), Error> {
        match tokens {
            None => Ok(()),
            Some(_) => Err(Error::new(
                ErrorKind::TokenBudget,
                "this constraint keeps no budget of tokens; use `TokenBudget::Cut`",
            )),
        }
    }

    /// Says how the text comes to its end, where it has a budget: see
    /// [`Guide::with_landing`](fsm_index::Guide::with_landing). The default keeps no budget, and does nothing.
    fn set_landing(&mut self, _landing: Landing) {}

    /// Returns the place at which the constraint stands, for people. None, which is the default, if
    /// it does not say.
    fn place(&self) -> Option<Place> {
        None
    }

    /// Returns the temperature at which the next token is drawn, where the constraint says one: it
    /// counts in place of the request's. None by default.
    fn temperature(&self) -> Option<f32> {
        None
    }

    /// Tells whether nothing but the end can come.
    fn is_finished(&self) -> bool;

    /// The tokens that must come next, whatever is chosen, as `encode` cuts
    /// their bytes; none where nothing is certain. They are not taken yet.
    fn forced_tokens(&self, encode: &mut dyn FnMut(&[u8]) -> Vec<u32>) -> Vec<u32>;
}

/// A mask of a guide counts as known that takes a visit to no more nodes of
/// the vocabulary's trie than this: some ten microseconds, as much as it costs to
/// wake another thread.
const KNOWN_NODES: u64 = 200;

/// A guide over any automaton, `Guide<A>` or `Box<dyn AnyGuide>`.
impl<G> Constraint for G
where
    G: AsRef<dyn AnyGuide> + AsMut<dyn AnyGuide> + Send,
{
    fn mask(&mut self) -> Result<&[u32], Error> {
        Ok(self.as_mut().mask()?.words())
    }

    fn is_mask_known(&mut self) -> bool {
        // After an end token there is none to compute.
        let budget = Budget::steps(KNOWN_NODES);
        self.as_mut().mask_within(&budget).is_ok()
    }

    fn width(&self) -> usize {
        self.as_ref().vocabulary().width()
    }

    fn advance(&mut self, token: u32) -> Result<(), Error> {
        Ok(self.as_mut().advance(TokenId::new(token))?)
    }

    fn rollback(&mut self, count: usize) -> Result<(), Error> {
        Ok(self.as_mut().rollback(count)?)
    }

    fn validate(&mut self, tokens: &[u32]) -> usize {
        let tokens: Vec<TokenId> = tokens.iter().copied().map(TokenId::new).collect();
        self.as_mut().validate(&tokens)
    }

    fn is_accepting(&self) -> bool {
        self.as_ref().is_accepting()
    }

    fn completion(&self) -> Option<Vec<u8>> {
        self.as_ref().completion().ok()
    }

    fn temperature(&self) -> Option<f32> {
        self.as_ref()
            .temperature()
            .map(|temperature| temperature as f32)
    }

    fn completion_within(&self, max_bytes: usize) -> Option<Vec<u8>> {
        self.as_ref().completion_within(max_bytes)
    }

    fn set_budget(&mut self, tokens: Option<usize>) -> Result<(), Error> {
        Ok(self.as_mut().set_budget(tokens)?)
    }

    fn set_landing(&mut self, landing: Landing) {
        self.as_mut().set_landing(landing);
    }

    fn place(&self) -> Option<Place> {
        self.as_ref().place()
    }

    fn is_finished(&self) -> bool {
        self.as_ref().is_finished()
    }

    fn forced_tokens(&self, encode: &mut dyn FnMut(&[u8]) -> Vec<u32>) -> Vec<u32> {
        let tokens = self
            .as_ref()
            .forced_tokens(&mut |bytes| encode(bytes).into_iter().map(TokenId::new).collect());
        tokens.into_iter().map(TokenId::get).collect()
    }
}
