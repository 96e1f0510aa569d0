//! The decode loop: a prompt goes in, tokens come out, under a constraint. For example, under the
//! schema `{"const": "a"}` each token of `"a"` is drawn from those that the mask allows, and the
//! text ends behind the second quotation mark.

#[cfg(feature = "tools")]
pub(crate) mod answers;
mod batch;
mod outcome;
mod overlap;
mod probabilities;
mod request;
mod run;
mod speculative;
mod stop;

pub use self::batch::{Batch, BatchRequest, Bound};
pub use self::outcome::{
    AllowedKinds, Event, Explanation, Finish, Flow, Generation, Probabilities, Timings, TokenEvent,
    TokenProbability,
};
pub use self::request::{
    Explanations, ForcedTokens, LogProbabilities, Prompt, Request, TokenBudget,
};
pub use self::speculative::{DraftModel, Drafter, MAX_PROPOSED, PromptLookup, Speculation};

use std::time::{Duration, Instant};

use self::run::{LEFT_CONTEXT, Run};
use self::speculative::Ahead;
use self::stop::StopStrings;
use crate::constraint::Constraint;
use crate::model::Model;
use crate::sampling::Sampler;
use crate::tokenizer::{Surround, Tokenizer};
use crate::{Error, ErrorKind};

/// A request that can be answered.
struct ReadyRequest {
    sampler: Sampler,
    prompt: Vec<u32>,
}

/// A model and tokenizer that generate one text after another; what the next
/// prompt shares with what the model has seen is not computed again.
///
/// ```
/// use std::sync::Arc;
/// use tokenmold::prelude::*;
///
/// let mut loaded = tokenmold::embedded::load()?;
/// let index = Index::new("yes|no", loaded.tokenizer.vocabulary())?;
/// let mut guide = Guide::new(Arc::new(index));
/// let request = Request::new(Prompt::Text("Is it so?".to_owned())).with_max_tokens(5);
/// let mut session = Session::new(&mut loaded.model, &loaded.tokenizer);
/// let said = session.generate(&request, Some(&mut guide), &mut |_| Flow::Continue)?;
/// assert!(said.complete && ["yes", "no"].contains(&said.text.as_str()));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct Session<'m, M: Model + ?Sized> {
    model: &'m mut M,
    tokenizer: &'m Tokenizer,
    /// The tokens that the model remembers.
    seen: Vec<u32>,
    ahead: Ahead<'m>,
}

impl<'m, M: Model + ?Sized> Session<'m, M> {
    /// A session that forgets what the model has seen before.
    pub fn new(model: &'m mut M, tokenizer: &'m Tokenizer) -> Self {
        model.truncate(0);
        Self {
            model,
            tokenizer,
            seen: Vec::new(),
            ahead: Ahead::default(),
        }
    }

    /// The same with speculative decoding: `drafter` proposes up to `count`
    /// tokens ([`MAX_PROPOSED`] at most) for each step of the model, which
    /// reads them together; see [`Generation::speculation`].
    ///
    /// The text is the same as without at temperature 0 and with
    /// [`PromptLookup`], and has the same distribution with [`DraftModel`] —
    /// up to the rounding of a model that computes several tokens at once.
    ///
    /// ```
    /// use tokenmold::embedded;
    /// use tokenmold::generate::{Flow, Prompt, PromptLookup, Request, Session};
    ///
    /// let mut loaded = embedded::load()?;
    /// let request = Request::new(Prompt::Text("one two one two one".to_owned())).with_max_tokens(12);
    /// let alone = Session::new(&mut loaded.model, &loaded.tokenizer).generate(&request, None, &mut |_| Flow::Continue)?;
    /// let mut drafter = PromptLookup::default();
    /// let mut session = Session::new(&mut loaded.model, &loaded.tokenizer).with_drafter(&mut drafter, 4);
    /// let drafted = session.generate(&request, None, &mut |_| Flow::Continue)?;
    /// assert_eq!(drafted.tokens, alone.tokens);
    /// assert!(drafted.speculation.is_some());
    /// # Ok::<(), tokenmold::Error>(())
    /// ```
    #[must_use]
    pub fn with_drafter(mut self, drafter: &'m mut dyn Drafter, count: usize) -> Self {
        self.ahead = Ahead::new(drafter, count);
        self
    }

    /// Returns the tokens that the model remembers: what a prompt shares with them at its beginning
    /// is not read again.
    pub fn seen(&self) -> &[u32] {
        &self.seen
    }

    /// Generates a text and tells `on_event` of each token.
    ///
    /// With a constraint the text is always a beginning of a text that it
    /// accepts; [`Generation::complete`] says whether it is a whole one.
    ///
    /// # Errors
    ///
    /// The prompt is empty, cannot be encoded or leaves no room in the
    /// context ([`ErrorKind::ContextLength`] with both numbers); the
    /// constraint is over another vocabulary; a sampling parameter is out of
    /// range; no token can be drawn; or the model fails.
    pub fn generate(
        &mut self,
        request: &Request,
        constraint: Option<&mut dyn Constraint>,
        on_event: &mut dyn FnMut(&Event<'_>) -> Flow,
    ) -> Result<Generation, Error> {
        let ready = self.prepare(request, constraint.as_deref().map(Constraint::width))?;
        let mut run = self.run(ready, request, constraint, on_event);
        run.set_budget()?;
        run.run()
    }

    /// Looks at everything that can be wrong with a request.
    fn prepare(&self, request: &Request, mask: Option<usize>) -> Result<ReadyRequest, Error> {
        let sampler = Sampler::new(request.sampling.clone())?;
        let logits = self.model.vocabulary_width();
        if let Some(mask) = mask
            && mask != logits
        {
            return Err(Error::new(
                ErrorKind::VocabularyMismatch,
                format!(
                    "the constraint speaks of {mask} tokens, the model of {logits}; \
                     build it over the loaded model's vocabulary"
                ),
            ));
        }
        check_bias(&request.logit_bias, logits)?;
        let prompt = self.prompt(&request.prompt)?;
        let sampler = sampler.behind(prompt.len());
        Ok(ReadyRequest { sampler, prompt })
    }

    /// A text at its beginning.
    fn run<'r, 'c, 's>(
        &'s mut self,
        ready: ReadyRequest,
        request: &'r Request,
        constraint: Option<&'c mut (dyn Constraint + 'c)>,
        on_event: &'r mut dyn FnMut(&Event<'_>) -> Flow,
    ) -> Run<'r, 'c, 's, 'm, M> {
        let ReadyRequest { sampler, prompt } = ready;
        let mut decoder = self.tokenizer.decoder();
        if constraint.is_some() {
            decoder.keep_leading_blank();
        }
        // Text that is forced at once is cut into tokens after the prompt's end.
        let tail = prompt.len().saturating_sub(LEFT_CONTEXT);
        Run {
            places: Vec::new(),
            stop_strings: StopStrings::new(&request.stop_strings),
            left: self.tokenizer.decode(&prompt[tail..]),
            session: self,
            request,
            constraint,
            sampler,
            decoder,
            reused: 0,
            began: Instant::now(),
            told: Duration::ZERO,
            generation: Generation {
                text: String::new(),
                tokens: Vec::new(),
                forced: Vec::new(),
                log_probabilities: Vec::new(),
                prompt_tokens: prompt.len(),
                reused_tokens: 0,
                steps: 0,
                masks: 0,
                speculation: None,
                finish: Finish::Length,
                complete: false,
                timings: Timings::default(),
            },
            prompt,
            on_event,
        }
    }

    /// The prompt's tokens.
    fn prompt(&self, prompt: &Prompt) -> Result<Vec<u32>, Error> {
        let tokens = match prompt {
            Prompt::Text(text) => self.tokenizer.encode(text, Surround::Add)?,
            Prompt::Chat(text) => self.tokenizer.encode(text, Surround::Omit)?,
            Prompt::Tokens(tokens) => tokens.clone(),
        };
        let context = self.model.context_length();
        if tokens.is_empty() {
            return Err(Error::new(
                ErrorKind::ContextLength,
                "the prompt has no tokens; the model needs at least one",
            ));
        }
        if tokens.len() >= context {
            return Err(Error::new(
                ErrorKind::ContextLength,
                format!(
                    "the prompt has {} tokens, and the model's context {context}, in which the answer \
                     must fit too; shorten the prompt",
                    tokens.len()
                ),
            ));
        }
        Ok(tokens)
    }
}

fn check_bias(bias: &[(u32, f32)], width: usize) -> Result<(), Error> {
    for (token, value) in bias {
        let wrong = match *token as usize >= width {
            true => format!("token {token} is outside the model's {width} logits"),
            false if value.is_nan() || *value == f32::INFINITY => {
                format!("the bias of token {token} is {value}; it must be below infinity")
            }
            false => continue,
        };
        return Err(Error::new(
            ErrorKind::InvalidParameter,
            format!("`logit_bias`: {wrong}"),
        ));
    }
    Ok(())
}
