//! The request of a generation. For example,
//! `Request::new(Prompt::Text("Ada".to_owned())).with_max_tokens(64)`.

use fsm_index::Landing;

use crate::sampling::SamplingConfig;

/// The text that the model continues.
///
/// ```
/// use serde_json::json;
/// use tokenmold::embedded;
/// use tokenmold::generate::{Prompt, Request};
///
/// let loaded = embedded::load()?;
/// let turns = [json!({"role": "user", "content": "Hi"})];
/// let chat = Prompt::Chat(loaded.chat.prompt(None, &[], &turns)?);
/// assert_ne!(Request::new(chat).prompt, Prompt::Text("Hi".to_owned()));
/// # Ok::<(), tokenmold::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Prompt {
    /// A text, with the tokens around it that the tokenizer says.
    Text(String),
    /// A chat, written out by its template, which already has such tokens.
    Chat(String),
    /// Tokens.
    Tokens(Vec<u32>),
}

/// True if text that must come next is given to the model in one piece, or drawn token by token
/// like any other.
///
/// The bytes are the same; their tokens, and so what the model says after
/// them, may not be.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum ForcedTokens {
    /// In one piece, in one step of the model with the token drawn before them.
    #[default]
    Append,
    /// Drawn.
    Draw,
}

/// The end of a constrained text that comes to its most number of tokens.
///
/// ```
/// use std::sync::Arc;
///
/// use tokenmold::embedded;
/// use tokenmold::fsm_index::{Guide, Index};
/// use tokenmold::generate::{Flow, Prompt, Request, Session, TokenBudget};
///
/// let mut loaded = embedded::load()?;
/// let index = Arc::new(Index::new("\\[([0-9],)*[0-9]\\]", loaded.tokenizer.vocabulary()).unwrap());
/// let request = Request::new(Prompt::Text("Digits: ".to_owned()))
///     .with_max_tokens(6)
///     .with_budget(TokenBudget::Complete);
/// let mut guide = Guide::new(index);
/// let generation = Session::new(&mut loaded.model, &loaded.tokenizer)
///     .generate(&request, Some(&mut guide), &mut |_| Flow::Continue)?;
/// assert!(generation.complete && generation.text.ends_with(']'));
/// # Ok::<(), tokenmold::Error>(())
/// ```
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum TokenBudget {
    /// It is cut off. A constraint that keeps no budget has nothing else.
    Cut,
    /// It is complete by then:
    /// [`Constraint::set_budget`](crate::constraint::Constraint::set_budget), which
    /// [`Guide::with_budget`](fsm_index::Guide::with_budget) describes. Far from the end the mask
    /// is untouched; near it only those tokens stay behind which the text can be completed in the
    /// tokens that are left, and the text lands softly. The text that the constraint demands after
    /// free text counts too, so that reasoning leaves room for the answer. If even a shortest text
    /// does not fit, generating fails before it begins.
    #[default]
    Complete,
}

/// True if the probabilities of the text's tokens are computed.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum LogProbabilities {
    /// Not.
    #[default]
    Omit,
    /// They are. Takes a pass over the logits.
    Compute,
}

/// True if each drawn token's event explains the step.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Explanations {
    /// It does not.
    #[default]
    Omit,
    /// It does. Takes a pass over the logits and one over the mask, and asks
    /// the constraint about the likeliest token.
    Give,
}

/// A request to generate a text.
///
/// ```
/// use tokenmold::prelude::*;
///
/// let request = Request::new(Prompt::Text("Once".to_owned()))
///     .with_max_tokens(64)
///     .with_sampling(SamplingConfig::with_temperature(0.7, 42))
///     .with_stop_strings(["The end"])
///     .with_budget(TokenBudget::Complete);
/// assert_eq!(request.sampling.seed, 42);
/// ```
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct Request {
    /// The text that the model continues.
    pub prompt: Prompt,
    /// Most tokens to generate, end tokens not counted.
    pub max_tokens: usize,
    /// The settings by which tokens are chosen.
    pub sampling: SamplingConfig,
    /// Tokens that end the text besides the model's end tokens. Under a
    /// constraint they count only where it allows them.
    pub stop_tokens: Vec<u32>,
    /// Texts that end the text where they begin; they are no part of it. Under
    /// a constraint a text that was ended so counts as incomplete.
    pub stop_strings: Vec<String>,
    /// Least tokens to generate: before that end tokens and stop tokens are
    /// not drawn, unless a constraint leaves nothing else, and stop strings do
    /// not count.
    pub min_tokens: usize,
    /// The summands of the logits of tokens, before everything else; minus infinity bans a token.
    /// Biases of the same token add up.
    pub logit_bias: Vec<(u32, f32)>,
    /// True if a constrained text is complete when its tokens are used up.
    pub budget: TokenBudget,
    /// The way in which a text with a budget comes to its end.
    pub landing: Landing,
    /// True if [`Generation::log_probabilities`](super::Generation::log_probabilities) is filled.
    pub log_probabilities: LogProbabilities,
    /// The treatment of text that must come next.
    pub forced: ForcedTokens,
    /// True if each drawn token's event explains the step.
    pub explanations: Explanations,
    /// The number of most probable tokens that each drawn token's event lists, before and after the
    /// mask; 0 for none. Takes a pass over the logits.
    pub show_probabilities: usize,
}

impl Request {
    /// A request with the defaults: 256 tokens, by which a constrained text is complete; greedy; forced tokens
    /// appended.
    pub fn new(prompt: Prompt) -> Self {
        Self {
            prompt,
            max_tokens: 256,
            sampling: SamplingConfig::default(),
            stop_tokens: Vec::new(),
            stop_strings: Vec::new(),
            min_tokens: 0,
            logit_bias: Vec::new(),
            budget: TokenBudget::default(),
            landing: Landing::default(),
            log_probabilities: LogProbabilities::default(),
            forced: ForcedTokens::default(),
            explanations: Explanations::default(),
            show_probabilities: 0,
        }
    }

    /// The same with another most number of tokens.
    pub fn with_max_tokens(mut self, max_tokens: usize) -> Self {
        self.max_tokens = max_tokens;
        self
    }

    /// The same with another way of choosing.
    pub fn with_sampling(mut self, sampling: SamplingConfig) -> Self {
        self.sampling = sampling;
        self
    }

    /// The same with other stop tokens.
    pub fn with_stop_tokens(mut self, stop_tokens: Vec<u32>) -> Self {
        self.stop_tokens = stop_tokens;
        self
    }

    /// The same with other stop strings.
    ///
    /// ```
    /// use tokenmold::generate::{Prompt, Request};
    ///
    /// let request = Request::new(Prompt::Text("A list:".to_owned())).with_stop_strings(["\n\n", "###"]);
    /// assert_eq!(request.stop_strings.len(), 2);
    /// ```
    pub fn with_stop_strings<S: Into<String>>(
        mut self,
        strings: impl IntoIterator<Item = S>,
    ) -> Self {
        self.stop_strings = strings.into_iter().map(Into::into).collect();
        self
    }

    /// The same with another least number of tokens.
    pub fn with_min_tokens(mut self, min_tokens: usize) -> Self {
        self.min_tokens = min_tokens;
        self
    }

    /// The same with other biases.
    ///
    /// ```
    /// use tokenmold::embedded;
    /// use tokenmold::generate::{Flow, Prompt, Request, Session};
    ///
    /// let mut loaded = embedded::load()?;
    /// let request = Request::new(Prompt::Text("Once".to_owned())).with_min_tokens(1).with_max_tokens(1);
    /// let mut session = Session::new(&mut loaded.model, &loaded.tokenizer);
    /// let usual = session.generate(&request, None, &mut |_| Flow::Continue)?.tokens[0];
    /// let banned = request.with_logit_bias(vec![(usual, f32::NEG_INFINITY)]);
    /// let other = session.generate(&banned, None, &mut |_| Flow::Continue)?;
    /// assert!(!other.tokens.contains(&usual));
    /// # Ok::<(), tokenmold::Error>(())
    /// ```
    pub fn with_logit_bias(mut self, bias: Vec<(u32, f32)>) -> Self {
        self.logit_bias = bias;
        self
    }

    /// The same with another way of coming to the end.
    pub fn with_budget(mut self, budget: TokenBudget) -> Self {
        self.budget = budget;
        self
    }

    /// The same with another landing, which [`TokenBudget::Complete`] has.
    pub fn with_landing(mut self, landing: Landing) -> Self {
        self.landing = landing;
        self
    }

    /// The same with or without probabilities of its tokens.
    pub fn with_log_probabilities(mut self, wanted: LogProbabilities) -> Self {
        self.log_probabilities = wanted;
        self
    }

    /// The same with another way for forced text.
    pub fn with_forced(mut self, forced: ForcedTokens) -> Self {
        self.forced = forced;
        self
    }

    /// The same with or without explanations in its events.
    pub fn with_explanations(mut self, explanations: Explanations) -> Self {
        self.explanations = explanations;
        self
    }

    /// The same with probabilities in its events.
    pub fn with_show_probabilities(mut self, count: usize) -> Self {
        self.show_probabilities = count;
        self
    }
}
