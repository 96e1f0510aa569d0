//! The decode loop: a prompt goes in, tokens come out, under a constraint.

mod budget;
mod stop;

use std::time::{Duration, Instant};

use crate::constraint::Constraint;
use crate::model::Model;
use crate::sampling::{Probability, Sampler, SamplingConfig, log_probability, top_probabilities};
use crate::tokenizer::{Decoder, Surround, Tokenizer};
use crate::{Error, ErrorKind};

use self::budget::{Completion, Witnesses};
use self::stop::StopStrings;

/// What the model continues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prompt {
    /// A text, with the tokens around it that the tokenizer says.
    Text(String),
    /// A chat, written out by its template, which already has such tokens.
    Chat(String),
    /// Tokens.
    Tokens(Vec<u32>),
}

/// Whether text that must come next is given to the model in one piece, or
/// drawn token by token like any other.
///
/// The bytes are the same; their tokens, and so what the model says after
/// them, may not be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ForcedTokens {
    /// In one piece: one step of the model for all of them.
    #[default]
    Append,
    /// Drawn.
    Draw,
}

/// What happens when a constrained text comes to its most number of tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TokenBudget {
    /// It is cut off.
    #[default]
    Cut,
    /// It is complete by then: only such tokens are drawn after which there is
    /// a way to complete it in the tokens that are left. Where the room is
    /// ample nothing changes. If even a shortest text does not fit, generating
    /// fails before it begins.
    Complete,
}

/// Whether the probabilities of the text's tokens are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LogProbabilities {
    /// Not.
    #[default]
    Omit,
    /// They are. Takes a pass over the logits.
    Compute,
}

/// What to generate.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Request {
    /// What the model continues.
    pub prompt: Prompt,
    /// Most tokens to generate, end tokens not counted.
    pub max_tokens: usize,
    /// How tokens are chosen.
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
    /// What is added to the logits of tokens, before everything else; minus
    /// infinity bans a token. Biases of the same token add up.
    pub logit_bias: Vec<(u32, f32)>,
    /// Whether a constrained text is complete when its tokens are used up.
    pub budget: TokenBudget,
    /// Whether [`Generation::log_probabilities`] is filled.
    pub log_probabilities: LogProbabilities,
    /// What to do about text that must come next.
    pub forced: ForcedTokens,
    /// How many most probable tokens each drawn token's event lists, before
    /// and after the mask; 0 for none. Takes a pass over the logits.
    pub show_probabilities: usize,
}

impl Request {
    /// A request with the defaults: 256 tokens, greedy, forced tokens
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
            log_probabilities: LogProbabilities::default(),
            forced: ForcedTokens::default(),
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
    pub fn with_logit_bias(mut self, bias: Vec<(u32, f32)>) -> Self {
        self.logit_bias = bias;
        self
    }

    /// The same with another way of coming to the end.
    pub fn with_budget(mut self, budget: TokenBudget) -> Self {
        self.budget = budget;
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

    /// The same with probabilities in its events.
    pub fn with_show_probabilities(mut self, count: usize) -> Self {
        self.show_probabilities = count;
        self
    }
}

/// What happens while generating.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The prompt was read.
    Prompt {
        /// Its tokens.
        tokens: &'a [u32],
        /// How many of them the model still knew from before.
        reused: usize,
    },
    /// A token of the text.
    Token(TokenEvent<'a>),
    /// The end of the text, where some of it was held back: the beginning of a
    /// stop string that did not come, bytes of a character that is incomplete.
    /// What the callback says to it does not matter.
    Rest(&'a str),
}

/// A token of the text.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TokenEvent<'a> {
    /// The token.
    pub token: u32,
    /// The text that it completes; empty while a character is not complete,
    /// and for tokens that are structure.
    pub text: &'a str,
    /// Whether it was the only way on, and given to the model as such.
    pub forced: bool,
    /// Most probable tokens, if asked for and drawn.
    pub probabilities: Option<Probabilities>,
}

/// Most probable tokens at a step, the most probable first.
#[derive(Clone, Debug, PartialEq)]
pub struct Probabilities {
    /// Among all tokens.
    pub before: Vec<Probability>,
    /// Among the tokens that the constraint allows.
    pub after: Vec<Probability>,
}

/// Whether to go on, said by the callback after each event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flow {
    /// Go on.
    Continue,
    /// End here.
    Stop,
}

/// Why generating ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

/// Where the time went. Without the callback's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timings {
    /// Reading the prompt.
    pub prefill: Duration,
    /// The model's steps after that.
    pub forward: Duration,
    /// Computing masks.
    pub mask: Duration,
    /// Telling the constraint of tokens and asking it what is forced.
    pub advance: Duration,
    /// Choosing tokens.
    pub sampling: Duration,
    /// All of it, from the first token of the prompt to the last of the text.
    pub total: Duration,
}

/// How probable a token of the text was: natural logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct TokenProbability {
    /// Among all tokens; none for forced tokens, about which the model was not
    /// asked.
    pub free: Option<f32>,
    /// Among those that the constraint allowed; 0, which is certainty, for
    /// forced tokens.
    pub allowed: f32,
}

/// What was generated.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Generation {
    /// The text. Tokens that are structure have no part in it.
    pub text: String,
    /// Its tokens, without the one that ended it.
    pub tokens: Vec<u32>,
    /// Which of them were forced: as many as `tokens`.
    pub forced: Vec<bool>,
    /// How probable they were, if asked for; biases are counted in, the
    /// sampling's temperature and cuts are not.
    pub log_probabilities: Vec<TokenProbability>,
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// Steps of the model after the prompt.
    pub steps: usize,
    /// Masks that were computed.
    pub masks: usize,
    /// Why it ended.
    pub finish: Finish,
    /// Whether the text is one that the constraint accepts as a whole; always
    /// true without one. False when it was cut off.
    pub complete: bool,
    /// Where the time went.
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

/// A model and tokenizer that generate one text after another; what the next
/// prompt shares with what the model has seen is not computed again.
#[derive(Debug)]
pub struct Session<'m, M: Model + ?Sized> {
    model: &'m mut M,
    tokenizer: &'m Tokenizer,
    /// The tokens that the model remembers.
    seen: Vec<u32>,
}

impl<'m, M: Model + ?Sized> Session<'m, M> {
    /// A session that forgets what the model has seen before.
    pub fn new(model: &'m mut M, tokenizer: &'m Tokenizer) -> Self {
        model.truncate(0);
        Self {
            model,
            tokenizer,
            seen: Vec::new(),
        }
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
        let sampler = Sampler::new(request.sampling.clone())?;
        if let Some(constraint) = &constraint {
            let (mask, logits) = (constraint.width(), self.model.vocabulary_width());
            if mask != logits {
                return Err(Error::new(
                    ErrorKind::VocabularyMismatch,
                    format!(
                        "the constraint speaks of {mask} tokens, the model of {logits}; \
                         build it over the loaded model's vocabulary"
                    ),
                ));
            }
        }
        check_bias(&request.logit_bias, self.model.vocabulary_width())?;
        let prompt = self.prompt(&request.prompt)?;
        let mut decoder = self.tokenizer.decoder();
        if constraint.is_some() {
            decoder.keep_leading_blank();
        }
        // Text that is forced at once is cut into tokens after the prompt's end.
        let tail = prompt.len().saturating_sub(LEFT_CONTEXT);
        let witnesses = match (request.budget, &constraint) {
            (TokenBudget::Complete, Some(_)) => Some(Witnesses::new(self.tokenizer.vocabulary())),
            _ => None,
        };
        let mut run = Run {
            witnesses,
            witness: None,
            stop_strings: StopStrings::new(&request.stop_strings),
            left: self.tokenizer.decode(&prompt[tail..]),
            session: self,
            request,
            constraint,
            sampler,
            decoder,
            prompt_tokens: prompt.len(),
            generation: Generation {
                text: String::new(),
                tokens: Vec::new(),
                forced: Vec::new(),
                log_probabilities: Vec::new(),
                prompt_tokens: prompt.len(),
                steps: 0,
                masks: 0,
                finish: Finish::Length,
                complete: false,
                timings: Timings::default(),
            },
            on_event,
        };
        run.check_budget()?;
        run.run(&prompt)
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

    /// Lets the model read tokens at the end of what it has seen.
    fn read(&mut self, tokens: &[u32]) -> Result<Vec<f32>, Error> {
        let logits = self.model.forward(tokens, self.seen.len())?;
        self.seen.extend_from_slice(tokens);
        Ok(logits)
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

/// Most tokens that are drawn again at one step before the witness is followed.
const MAX_REDRAWS: usize = 32;

/// How many tokens before a forced piece its encoding looks at.
const LEFT_CONTEXT: usize = 8;

/// One text being generated.
struct Run<'r, 'c, 's, 'm, M: Model + ?Sized> {
    session: &'s mut Session<'m, M>,
    request: &'r Request,
    constraint: Option<&'c mut (dyn Constraint + 'c)>,
    sampler: Sampler,
    decoder: Decoder<'m>,
    /// Set if the text must be complete in time.
    witnesses: Option<Witnesses>,
    /// How it can be completed from here.
    witness: Option<Completion>,
    stop_strings: StopStrings,
    /// The end of the prompt's text.
    left: String,
    prompt_tokens: usize,
    generation: Generation,
    on_event: &'r mut dyn FnMut(&Event<'_>) -> Flow,
}

impl<M: Model + ?Sized> Run<'_, '_, '_, '_, M> {
    fn run(mut self, prompt: &[u32]) -> Result<Generation, Error> {
        let began = Instant::now();
        let seen = &mut self.session.seen;
        let shared = seen.iter().zip(prompt).take_while(|(a, b)| a == b).count();
        // The last token is read in any case: its logits are wanted.
        let reused = shared.min(prompt.len() - 1);
        seen.truncate(reused);
        let mut logits = self.read(&prompt[reused..])?;
        self.generation.timings.prefill = began.elapsed();

        let mut told = Duration::ZERO;
        let event = Event::Prompt {
            tokens: prompt,
            reused,
        };
        let finish = if self.tell(&event, &mut told) == Flow::Stop {
            Finish::Stopped
        } else {
            loop {
                match self.step(&logits, &mut told)? {
                    Step::Finish(finish) => break finish,
                    Step::Read(tokens) => {
                        let began = Instant::now();
                        logits = self.read(&tokens)?;
                        self.generation.timings.forward += began.elapsed();
                        self.generation.steps += 1;
                    }
                }
            }
        };
        self.generation.finish = finish;
        let accepting = self.constraint.as_ref().map(|c| c.is_accepting());
        self.generation.complete = match (accepting, finish) {
            (None, _) => true,
            (Some(_), Finish::StopString(_)) => false,
            (Some(accepting), _) => accepting,
        };
        if !matches!(finish, Finish::StopString(_)) {
            let mut rest = self.stop_strings.finish();
            rest.push_str(
                &std::mem::replace(&mut self.decoder, self.session.tokenizer.decoder()).finish(),
            );
            self.generation.text.push_str(&rest);
            if !rest.is_empty() {
                self.tell(&Event::Rest(&rest), &mut told);
            }
        }
        self.generation.timings.total = began.elapsed().saturating_sub(told);
        Ok(self.generation)
    }

    /// Lets the model read, and adds the biases.
    fn read(&mut self, tokens: &[u32]) -> Result<Vec<f32>, Error> {
        let mut logits = self.session.read(tokens)?;
        for (token, bias) in &self.request.logit_bias {
            if let Some(logit) = logits.get_mut(*token as usize) {
                *logit += bias;
            }
        }
        Ok(logits)
    }

    fn tell(&mut self, event: &Event<'_>, told: &mut Duration) -> Flow {
        let began = Instant::now();
        let flow = (self.on_event)(event);
        *told += began.elapsed();
        flow
    }

    /// How many tokens may still be added.
    fn room(&self) -> (usize, Finish) {
        let asked =
            self.request.max_tokens - self.generation.tokens.len().min(self.request.max_tokens);
        let context =
            self.session.model.context_length() - self.prompt_tokens - self.generation.tokens.len();
        match asked <= context {
            true => (asked, Finish::Length),
            false => (context, Finish::Context),
        }
    }

    /// Decides on the next token or tokens.
    fn step(&mut self, logits: &[f32], told: &mut Duration) -> Result<Step, Error> {
        if self.constraint.as_ref().is_some_and(|c| c.is_finished()) {
            return Ok(Step::Finish(Finish::Complete));
        }
        let (room, full) = self.room();
        if room == 0 {
            return Ok(Step::Finish(full));
        }
        let forced = self.forced(room)?;
        if !forced.is_empty() {
            let mut finish = None;
            for (taken, token) in forced.iter().enumerate() {
                finish = self.add(*token, Origin::Forced, told);
                if finish.is_some() {
                    self.rollback(forced.len() - taken - 1)?;
                    break;
                }
            }
            return Ok(match finish {
                Some(finish) => Step::Finish(finish),
                None => self.unless_over(forced),
            });
        }
        let (token, origin) = match self.draw(logits, room)? {
            Drawn::Token(token, origin) => (token, origin),
            Drawn::Finish(finish) => return Ok(Step::Finish(finish)),
        };
        Ok(match self.add(token, origin, told) {
            Some(finish) => Step::Finish(finish),
            None => self.unless_over(vec![token]),
        })
    }

    /// Draws the next token and tells the constraint.
    fn draw(&mut self, logits: &[f32], room: usize) -> Result<Drawn, Error> {
        let request = self.request;
        let mut early = self.generation.tokens.len() < request.min_tokens;
        let mut own: Option<Vec<u32>> = None;
        if early {
            own = self.without_ends(logits.len())?;
        }
        for attempt in 0.. {
            let began = Instant::now();
            let mask = match (&own, &mut self.constraint) {
                (Some(own), _) => Some(own.as_slice()),
                (None, Some(constraint)) => {
                    self.generation.masks += 1;
                    Some(constraint.mask()?)
                }
                (None, None) => None,
            };
            let masked = Instant::now();
            let token = match attempt < MAX_REDRAWS {
                true => self.sampler.sample(logits, mask, &self.session.seen),
                // The witness is good, and drawing does not come to an end.
                false => Ok(u32::MAX),
            };
            self.generation.timings.mask += masked - began;
            self.generation.timings.sampling += masked.elapsed();
            if early && token.is_err() {
                // Nothing but the end is left after all.
                early = false;
                own = None;
                continue;
            }
            let token = match (token, &self.witnesses) {
                (Ok(token), None) => token,
                (Ok(token), Some(_)) if token != u32::MAX => token,
                // Every token that the mask allows was drawn in vain.
                (_, Some(_)) if self.witness.as_ref().is_some_and(|w| w.len() == 0) => {
                    return Ok(Drawn::Finish(Finish::Complete));
                }
                (_, Some(_)) => self.first_of_witness(room)?,
                (Err(error), None) => return Err(error),
            };
            let count = request.show_probabilities;
            let probabilities = (count > 0).then(|| Probabilities {
                before: top_probabilities(logits, None, count),
                after: top_probabilities(logits, mask_of(&own, &mut self.constraint), count),
            });
            let own_probability = match request.log_probabilities {
                LogProbabilities::Omit => None,
                LogProbabilities::Compute => Some(TokenProbability {
                    free: Some(log_probability(logits, None, token)),
                    allowed: log_probability(logits, mask_of(&None, &mut self.constraint), token),
                }),
            };
            let ends = self.session.tokenizer.vocabulary().ends();
            if ends.iter().any(|end| end.get() == token) {
                self.advance(token)?;
                return Ok(Drawn::Finish(Finish::EndToken));
            }
            if request.stop_tokens.contains(&token) {
                return Ok(Drawn::Finish(Finish::StopToken));
            }
            self.advance(token)?;
            if self.fits(Some(token), room - 1) {
                let origin = Origin::Drawn(probabilities, own_probability);
                return Ok(Drawn::Token(token, origin));
            }
            self.rollback(1)?;
            let mut words = match own.take() {
                Some(words) => words,
                None => mask_of(&None, &mut self.constraint)
                    .unwrap_or_default()
                    .to_vec(),
            };
            if let Some(word) = words.get_mut(token as usize / 32) {
                *word &= !(1 << (token % 32));
            }
            own = Some(words);
        }
        Err(Error::new(ErrorKind::Sampling, "no token was drawn"))
    }

    /// The mask without tokens that end the text; none if nothing else is
    /// allowed.
    fn without_ends(&mut self, width: usize) -> Result<Option<Vec<u32>>, Error> {
        let mut words = match &mut self.constraint {
            Some(constraint) => constraint.mask()?.to_vec(),
            None => vec![u32::MAX; width.div_ceil(32)],
        };
        let ends = self.session.tokenizer.vocabulary().ends().iter();
        let ends = ends.map(|end| end.get());
        for token in ends.chain(self.request.stop_tokens.iter().copied()) {
            if let Some(word) = words.get_mut(token as usize / 32) {
                *word &= !(1 << (token % 32));
            }
        }
        Ok(words.iter().any(|word| *word != 0).then_some(words))
    }

    /// Whether the text can be completed in `left` tokens after `token`, if
    /// that is asked for. Keeps how.
    fn fits(&mut self, token: Option<u32>, left: usize) -> bool {
        let Some(witnesses) = self.witnesses.take() else {
            return true;
        };
        let mut constraint = self.constraint.take();
        // What is left of the witness after its own first token needs no proof.
        let rest = match (&self.witness, token) {
            (Some(Completion::Tokens(tokens)), Some(token)) => tokens
                .split_first()
                .filter(|(first, _)| **first == token)
                .map(|(_, rest)| Completion::Tokens(rest.to_vec())),
            _ => None,
        };
        let found = constraint.as_mut().and_then(|constraint| {
            let encode = |bytes: &[u8]| self.encode_here(bytes, token);
            witnesses.within(*constraint, left, &encode)
        });
        self.constraint = constraint;
        self.witnesses = Some(witnesses);
        let found = found.or(rest.filter(|rest| rest.len() <= left));
        let fits = found.is_some();
        if fits {
            self.witness = found;
        }
        fits
    }

    /// The first token of the witness at hand.
    fn first_of_witness(&mut self, room: usize) -> Result<u32, Error> {
        let lost = || {
            Error::new(
                ErrorKind::Sampling,
                "no allowed token leads to an end in time",
            )
        };
        let witnesses = self.witnesses.take().ok_or_else(lost)?;
        let witness = self.witness.clone().ok_or_else(lost)?;
        let mut constraint = self.constraint.take();
        let tokens = constraint.as_mut().and_then(|constraint| {
            let encode = |bytes: &[u8]| self.encode_here(bytes, None);
            let cut = witnesses.cut(*constraint, &witness, &encode);
            // Bytes fit one by one, even if the tokenizer cuts them worse.
            cut.filter(|tokens| tokens.len() <= room)
                .or_else(|| match &witness {
                    Completion::Bytes(bytes) => {
                        witnesses.tokens(*constraint, bytes, &|_| Vec::new())
                    }
                    Completion::Tokens(_) => None,
                })
        });
        self.constraint = constraint;
        self.witnesses = Some(witnesses);
        let tokens = tokens.ok_or_else(lost)?;
        let first = tokens.first().copied().ok_or_else(lost)?;
        self.witness = Some(Completion::Tokens(tokens));
        Ok(first)
    }

    /// Refuses a budget that even a shortest text does not fit.
    fn check_budget(&mut self) -> Result<(), Error> {
        let Some(witnesses) = &self.witnesses else {
            return Ok(());
        };
        let Some(constraint) = &mut self.constraint else {
            return Ok(());
        };
        let Some(shortest) = constraint.completion() else {
            return Err(Error::new(
                ErrorKind::TokenBudget,
                "the constraint does not know how its texts can be completed, so that no text can \
                 be promised to be complete in time; use `TokenBudget::Cut`",
            ));
        };
        let tokenizer = self.session.tokenizer;
        let left = &self.left;
        let encode = |bytes: &[u8]| tokenizer.encode_after(left, bytes);
        let tokens = witnesses.tokens(*constraint, &shortest, &encode);
        let (room, limit) = self.room();
        match tokens {
            Some(tokens) if tokens.len() <= room => {
                self.witness = Some(Completion::Tokens(tokens));
                Ok(())
            }
            Some(tokens) => {
                let what = match limit {
                    Finish::Context => "what the context has room for",
                    _ => "`max_tokens`",
                };
                let shortest: String = String::from_utf8_lossy(&shortest)
                    .chars()
                    .take(120)
                    .collect();
                Err(Error::new(
                    ErrorKind::TokenBudget,
                    format!(
                        "a shortest text that the constraint accepts has {} tokens, and {what} is \
                         {room}; the text is {shortest}",
                        tokens.len()
                    ),
                ))
            }
            None => Err(Error::new(
                ErrorKind::TokenBudget,
                "the vocabulary cannot spell a shortest text that the constraint accepts; use \
                 `TokenBudget::Cut`",
            )),
        }
    }

    /// Has the model read `tokens`, unless nothing would come of it.
    fn unless_over(&self, tokens: Vec<u32>) -> Step {
        if self.constraint.as_ref().is_some_and(|c| c.is_finished()) {
            return Step::Finish(Finish::Complete);
        }
        match self.room() {
            (0, full) => Step::Finish(full),
            _ => Step::Read(tokens),
        }
    }

    fn advance(&mut self, token: u32) -> Result<(), Error> {
        let began = Instant::now();
        if let Some(constraint) = &mut self.constraint {
            constraint.advance(token)?;
        }
        self.generation.timings.advance += began.elapsed();
        Ok(())
    }

    fn rollback(&mut self, count: usize) -> Result<(), Error> {
        match &mut self.constraint {
            Some(constraint) => constraint.rollback(count),
            None => Ok(()),
        }
    }

    /// How bytes that come next are cut, after `token` if one is drawn but not
    /// yet added.
    fn encode_here(&self, bytes: &[u8], token: Option<u32>) -> Vec<u32> {
        let tokenizer = self.session.tokenizer;
        let (text, left) = (&self.generation.text, &self.left);
        // The end of what stands before, whole characters only.
        let from = text.ceil_char_boundary(text.len().saturating_sub(4 * LEFT_CONTEXT));
        let mut before = match from {
            0 => format!("{left}{text}"),
            _ => text[from..].to_owned(),
        };
        before.push_str(self.stop_strings.held());
        if let Some(token) = token {
            before.push_str(&tokenizer.decode(&[token]));
        }
        tokenizer.encode_after(&before, bytes)
    }

    /// Tokens that must come next, told to the constraint.
    fn forced(&mut self, room: usize) -> Result<Vec<u32>, Error> {
        if self.request.forced == ForcedTokens::Draw {
            return Ok(Vec::new());
        }
        let began = Instant::now();
        let Some(constraint) = self.constraint.take() else {
            return Ok(Vec::new());
        };
        let mut forced = constraint.forced_tokens(&mut |bytes| self.encode_here(bytes, None));
        self.constraint = Some(constraint);
        forced.truncate(room);
        for token in &forced {
            self.advance(*token)?;
        }
        self.generation.timings.advance += began.elapsed();
        if !forced.is_empty() && !self.fits(None, room - forced.len()) {
            // Cut otherwise than the witness, they would take too many tokens.
            self.rollback(forced.len())?;
            let first = self.first_of_witness(room)?;
            self.advance(first)?;
            if !self.fits(Some(first), room - 1) {
                return Err(Error::new(ErrorKind::Sampling, "the witness leads nowhere"));
            }
            return Ok(vec![first]);
        }
        Ok(forced)
    }

    /// Adds a token to the text and tells of it; why the text ends with it, if
    /// it does.
    fn add(&mut self, token: u32, origin: Origin, told: &mut Duration) -> Option<Finish> {
        let decoded = self.decoder.push(token);
        self.generation.tokens.push(token);
        let forced = matches!(origin, Origin::Forced);
        self.generation.forced.push(forced);
        let (probabilities, own) = match origin {
            Origin::Forced => (
                None,
                (self.request.log_probabilities == LogProbabilities::Compute).then_some(
                    TokenProbability {
                        free: None,
                        allowed: 0.0,
                    },
                ),
            ),
            Origin::Drawn(probabilities, own) => (probabilities, own),
        };
        self.generation.log_probabilities.extend(own);
        let (text, stopped) = match self.generation.tokens.len() < self.request.min_tokens {
            true => {
                // Whatever was held back is no beginning any more.
                let mut text = self.stop_strings.finish();
                text.push_str(&decoded);
                (text, None)
            }
            false => {
                let shown = self.stop_strings.push(&decoded);
                (shown.text, shown.stopped)
            }
        };
        self.generation.text.push_str(&text);
        let event = Event::Token(TokenEvent {
            token,
            text: &text,
            forced,
            probabilities,
        });
        let flow = self.tell(&event, told);
        match (stopped, flow) {
            (Some(at), _) => Some(Finish::StopString(at)),
            (None, Flow::Stop) => Some(Finish::Stopped),
            (None, Flow::Continue) => None,
        }
    }
}

/// The mask to look at: an own one, or the constraint's.
fn mask_of<'m>(
    own: &'m Option<Vec<u32>>,
    constraint: &'m mut Option<&mut (dyn Constraint + '_)>,
) -> Option<&'m [u32]> {
    match (own, constraint) {
        (Some(own), _) => Some(own),
        (None, Some(constraint)) => constraint.mask().ok(),
        (None, None) => None,
    }
}

/// Where a token comes from.
enum Origin {
    Forced,
    Drawn(Option<Probabilities>, Option<TokenProbability>),
}

/// What a draw came to.
enum Drawn {
    Token(u32, Origin),
    Finish(Finish),
}

enum Step {
    Read(Vec<u32>),
    Finish(Finish),
}
