//! The events of a generation, and its result. For example, a text that was cut off has the finish
//! `Length` and is not `complete`.

use std::time::Duration;

use fsm_index::{Place, TokenId, TokenKind, Vocabulary};

use super::speculative::Speculation;
use crate::sampling::Probability;

/// An event of a generation.
///
/// ```
/// use tokenmold::embedded;
/// use tokenmold::generate::{Event, Flow, Prompt, Request, Session};
///
/// let mut loaded = embedded::load()?;
/// let request = Request::new(Prompt::Text("Once".to_owned())).with_min_tokens(5).with_max_tokens(9);
/// let mut shown = String::new();
/// let generation = Session::new(&mut loaded.model, &loaded.tokenizer).generate(&request, None, &mut |event| {
///     match event {
///         Event::Token(token) => shown += token.text,
///         Event::Rest(text) => shown += text,
///         _ => {}
///     }
///     Flow::Continue
/// })?;
/// assert_eq!(shown, generation.text);
/// # Ok::<(), tokenmold::Error>(())
/// ```
#[derive(Clone, Debug, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event<'a> {
    /// The prompt was read.
    Prompt {
        /// Its tokens.
        tokens: &'a [u32],
        /// The number of them that the model still knew from before.
        reused: usize,
    },
    /// A token of the text.
    Token(TokenEvent<'a>),
    /// The end of the text, where some of it was held back: the beginning of a stop string that did
    /// not come, bytes of a character that is incomplete. The callback's answer to it does not
    /// matter.
    Rest(&'a str),
}

/// A token of the text.
#[derive(Clone, Debug, serde::Serialize)]
#[non_exhaustive]
pub struct TokenEvent<'a> {
    /// The token.
    pub token: u32,
    /// The text that it completes; empty while a character is not complete,
    /// and for tokens that are structure.
    pub text: &'a str,
    /// True if it was the only way on, and given to the model as such.
    pub forced: bool,
    /// Most probable tokens, if asked for and drawn.
    pub probabilities: Option<Probabilities>,
    /// The explanation of the step, if asked for and drawn.
    pub explanation: Option<Box<Explanation>>,
    /// The place of the constraint before the token, if explanations are asked for and it says so.
    pub place: Option<Place>,
    /// The token's own probability, if [`Request::log_probabilities`](super::Request::log_probabilities)
    /// asks for it.
    #[serde(skip)]
    pub own: Option<TokenProbability>,
    /// The time that the text waited for the token's mask, if it was drawn under one.
    #[serde(skip)]
    pub mask: Option<Duration>,
}

/// The explanation of a step.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct Explanation {
    /// The number of tokens that the constraint allowed; none without one.
    pub allowed: Option<usize>,
    /// The kinds of these tokens.
    pub kinds: AllowedKinds,
    /// The number of tokens.
    pub width: usize,
    /// The token that the model itself would have said.
    pub likeliest: Probability,
    /// Why the constraint refused that; none if it did not.
    pub refused: Option<String>,
    /// A shortest text, in bytes, that would have completed this one, where
    /// the constraint knows.
    pub completion: Option<Vec<u8>>,
}

/// The numbers of tokens of each kind that a constraint allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct AllowedKinds {
    /// Tokens that end the text.
    pub ends: usize,
    /// Special tokens that stand for structure.
    pub specials: usize,
    /// Letters alone, behind a blank or not.
    pub letters: usize,
    /// Digits alone, behind a blank or not.
    pub digits: usize,
    /// Marks of ASCII alone: quotes, brackets, commas.
    pub marks: usize,
    /// White space alone.
    pub blanks: usize,
    /// All others: several of these together, bytes that are no whole character.
    pub mixed: usize,
}

impl AllowedKinds {
    /// Counts the tokens of a mask over a vocabulary. O(tokens allowed + width / 32).
    pub(super) fn of(mask: &[u32], vocabulary: &Vocabulary) -> Self {
        let mut kinds = AllowedKinds::default();
        for (at, word) in mask.iter().enumerate() {
            let mut rest = *word;
            while rest != 0 {
                let token = at as u32 * 32 + rest.trailing_zeros();
                rest &= rest - 1;
                *kinds.place(TokenId::new(token), vocabulary) += 1;
            }
        }
        kinds
    }

    fn place(&mut self, token: TokenId, vocabulary: &Vocabulary) -> &mut usize {
        match vocabulary.kind(token) {
            TokenKind::End => return &mut self.ends,
            TokenKind::Text => {}
            _ => return &mut self.specials,
        }
        let bytes = vocabulary.token_bytes(token).unwrap_or_default();
        let Ok(text) = std::str::from_utf8(bytes) else {
            return &mut self.mixed;
        };
        let word = text.strip_prefix(' ').unwrap_or(text);
        match () {
            () if text.chars().all(char::is_whitespace) => &mut self.blanks,
            () if word.chars().all(char::is_alphabetic) => &mut self.letters,
            () if word.chars().all(|c| c.is_ascii_digit()) => &mut self.digits,
            () if text.chars().all(|c| c.is_ascii_punctuation()) => &mut self.marks,
            () => &mut self.mixed,
        }
    }
}

/// Most probable tokens at a step, the most probable first.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Probabilities {
    /// Among all tokens.
    pub before: Vec<Probability>,
    /// Among the tokens that the constraint allows.
    pub after: Vec<Probability>,
}

/// True if to go on, said by the callback after each event.
///
/// ```
/// use tokenmold::embedded;
/// use tokenmold::generate::{Event, Finish, Flow, Prompt, Request, Session};
///
/// let mut loaded = embedded::load()?;
/// let mut left = 3;
/// let request = Request::new(Prompt::Text("Once".to_owned())).with_min_tokens(9);
/// let generation = Session::new(&mut loaded.model, &loaded.tokenizer).generate(&request, None, &mut |event| {
///     left -= u32::from(matches!(event, Event::Token(_)));
///     if left == 0 { Flow::Stop } else { Flow::Continue }
/// })?;
/// assert_eq!((generation.finish, generation.tokens.len()), (Finish::Stopped, 3));
/// # Ok::<(), tokenmold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flow {
    /// Go on.
    Continue,
    /// End here.
    Stop,
}

/// Why generating ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Finish {
    /// The model chose an end token of its vocabulary.
    EndToken,
    /// The model chose one of the request's stop tokens.
    StopToken,
    /// The text came to one of the request's stop strings, by its place among
    /// them.
    StopString(usize),
    /// The constraint, or the token budget that was to be kept, left nothing
    /// but the end.
    Complete,
    /// `max_tokens` were generated.
    Length,
    /// The model's context is full.
    Context,
    /// The callback said so.
    Stopped,
}

/// The times that parts of a generation took. Without the callback's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct Timings {
    /// Reading the prompt.
    pub prefill: Duration,
    /// The model's steps after that.
    pub forward: Duration,
    /// Computing masks, as far as the loop waited for them: those that are computed
    /// while the model reads cost less time, or none.
    pub mask: Duration,
    /// Telling the constraint of tokens and asking it what is forced.
    pub advance: Duration,
    /// Choosing tokens.
    pub sampling: Duration,
    /// All of it, from the first token of the prompt to the last of the text.
    pub total: Duration,
}

/// The probability of a token of the text: natural logarithms.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct TokenProbability {
    /// Among all tokens; none for forced tokens, about which the model was not
    /// asked.
    pub free: Option<f32>,
    /// Among those that could be drawn: that the constraint allowed, and a token
    /// budget that is kept; 0, which is certainty, for forced tokens.
    pub allowed: f32,
}

impl TokenProbability {
    /// The share of the model's own probability, from 0 to 1, that lies on tokens that could be drawn; none for forced tokens.
    ///
    /// ```
    /// use tokenmold::embedded;
    /// use tokenmold::generate::{Flow, LogProbabilities, Prompt, Request, Session};
    ///
    /// let mut loaded = embedded::load()?;
    /// let request = Request::new(Prompt::Text("Vera".to_owned()))
    ///     .with_max_tokens(1)
    ///     .with_log_probabilities(LogProbabilities::Compute);
    /// let mut session = Session::new(&mut loaded.model, &loaded.tokenizer);
    /// let said = session.generate(&request, None, &mut |_| Flow::Continue)?;
    /// let share = said.log_probabilities[0].allowed_share();
    /// assert_eq!(share, Some(1.0), "nothing forbids a token");
    /// # Ok::<(), tokenmold::Error>(())
    /// ```
    #[must_use]
    pub fn allowed_share(self) -> Option<f64> {
        let share = f64::from(self.free? - self.allowed).exp();
        Some(share.min(1.0))
    }
}

/// The result of a generation.
///
/// ```
/// use tokenmold::embedded;
/// use tokenmold::generate::{Finish, Flow, Prompt, Request, Session};
///
/// let mut loaded = embedded::load()?;
/// let request = Request::new(Prompt::Text("Once".to_owned())).with_min_tokens(4).with_max_tokens(4);
/// let generation =
///     Session::new(&mut loaded.model, &loaded.tokenizer).generate(&request, None, &mut |_| Flow::Continue)?;
/// assert_eq!((generation.finish, generation.tokens.len()), (Finish::Length, 4));
/// assert!(serde_json::to_value(&generation).unwrap()["timings"].is_object());
/// # Ok::<(), tokenmold::Error>(())
/// ```
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct Generation {
    /// The text. Tokens that are structure have no part in it.
    pub text: String,
    /// Its tokens, without the one that ended it.
    pub tokens: Vec<u32>,
    /// Which of them were forced: as many as `tokens`.
    pub forced: Vec<bool>,
    /// Their probabilities, if asked for; biases are counted in, the sampling's temperature and
    /// cuts are not.
    pub log_probabilities: Vec<TokenProbability>,
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// Tokens of the prompt that the model remembered, and did not read again.
    pub reused_tokens: usize,
    /// Steps of the model after the prompt.
    pub steps: usize,
    /// Masks that were computed.
    pub masks: usize,
    /// The figures of speculative decoding; none without it.
    pub speculation: Option<Speculation>,
    /// Why it ended.
    pub finish: Finish,
    /// True if the text is one that the constraint accepts as a whole; always true without one.
    /// False when it was cut off.
    pub complete: bool,
    /// The times that its parts took.
    pub timings: Timings,
}

impl Generation {
    /// Tokens of the text a second, over everything but reading the prompt.
    pub fn tokens_per_second(&self) -> f64 {
        let time = self.timings.total.saturating_sub(self.timings.prefill);
        match time.is_zero() {
            true => 0.0,
            false => self.tokens.len() as f64 / time.as_secs_f64(),
        }
    }
}
