//! The probabilities of all values that a constraint accepts, by a model. For example, of `yes` and
//! `no` behind a question. The search is that of [`fsm_index::probabilities`].

use fsm_index::{AnyGuide, Distribution, ProbabilityLimits, TokenId};

use super::{Prompt, Session};
use crate::model::Model;
use crate::{Error, ErrorKind};

impl<M: Model + ?Sized> Session<'_, M> {
    /// Returns the model's probability of each value that a guide accepts, given that it is one of
    /// them, as [`fsm_index::probabilities`] says. The prompt is read once.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tokenmold::fsm_index::ProbabilityLimits;
    /// use tokenmold::prelude::*;
    ///
    /// let mut loaded = tokenmold::embedded::load()?;
    /// let index = Index::new("yes|no", loaded.tokenizer.vocabulary())?;
    /// let mut guide = Guide::new(Arc::new(index));
    /// let prompt = Prompt::Text("Is it so?".to_owned());
    /// let mut session = Session::new(&mut loaded.model, &loaded.tokenizer);
    /// let said = session.probabilities(&prompt, &mut guide, &ProbabilityLimits::default())?;
    /// let sum: f64 = said.values.iter().map(|value| value.probability).sum();
    /// assert!(said.values.len() == 2 && (sum - 1.0).abs() < 1e-9);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Constraint`]: as [`fsm_index::probabilities`]; the message names the limit.
    /// As [`Session::generate`] otherwise.
    pub fn probabilities(
        &mut self,
        prompt: &Prompt,
        guide: &mut dyn AnyGuide,
        limits: &ProbabilityLimits,
    ) -> Result<Distribution, Error> {
        let prompt = self.prompt(prompt)?;
        if guide.vocabulary().width() != self.model.vocabulary_width() {
            return Err(Error::new(
                ErrorKind::VocabularyMismatch,
                "the guide and the model speak of different numbers of tokens",
            ));
        }
        let mut tokens = prompt.clone();
        fsm_index::probabilities(
            guide,
            &mut |row| {
                tokens.truncate(prompt.len());
                tokens.extend(row.iter().copied().map(TokenId::get));
                self.read_all(&tokens)
            },
            limits,
        )
    }

    /// Reads what the model does not remember of some tokens.
    fn read_all(&mut self, tokens: &[u32]) -> Result<Vec<f32>, Error> {
        let shared = self.seen.iter().zip(tokens);
        let shared = shared.take_while(|(a, b)| a == b).count();
        let shared = shared.min(tokens.len() - 1);
        self.seen.truncate(shared);
        if tokens.len() > self.model.context_length() {
            return Err(Error::new(
                ErrorKind::ContextLength,
                "the prompt and a value are longer than the model's context",
            ));
        }
        let logits = self.model.forward(&tokens[shared..], shared)?;
        self.seen.extend_from_slice(&tokens[shared..]);
        Ok(logits)
    }
}
