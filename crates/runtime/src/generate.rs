//! The decode loop: a prompt goes in, tokens come out, under a constraint.

use std::time::{Duration, Instant};

use crate::constraint::Constraint;
use crate::model::Model;
use crate::sampling::{Probability, Sampler, SamplingConfig, top_probabilities};
use crate::tokenizer::{Decoder, Surround, Tokenizer};
use crate::{Error, ErrorKind};

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
    /// The constraint left nothing but the end.
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
        let prompt = self.prompt(&request.prompt)?;
        let mut decoder = self.tokenizer.decoder();
        if constraint.is_some() {
            decoder.keep_leading_blank();
        }
        // Text that is forced at once is cut into tokens after the prompt's end.
        let tail = prompt.len().saturating_sub(LEFT_CONTEXT);
        let run = Run {
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
                prompt_tokens: prompt.len(),
                steps: 0,
                masks: 0,
                finish: Finish::Length,
                complete: false,
                timings: Timings::default(),
            },
            on_event,
        };
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

/// How many tokens before a forced piece its encoding looks at.
const LEFT_CONTEXT: usize = 8;

/// One text being generated.
struct Run<'r, 'c, 's, 'm, M: Model + ?Sized> {
    session: &'s mut Session<'m, M>,
    request: &'r Request,
    constraint: Option<&'c mut (dyn Constraint + 'c)>,
    sampler: Sampler,
    decoder: Decoder<'m>,
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
        let mut logits = self.session.read(&prompt[reused..])?;
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
                        logits = self.session.read(&tokens)?;
                        self.generation.timings.forward += began.elapsed();
                        self.generation.steps += 1;
                    }
                }
            }
        };
        self.generation.finish = finish;
        self.generation.complete = self.constraint.as_ref().is_none_or(|c| c.is_accepting());
        let rest = self.decoder.finish();
        self.generation.text.push_str(&rest);
        self.generation.timings.total = began.elapsed().saturating_sub(told);
        Ok(self.generation)
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
        let mut forced = self.forced();
        if !forced.is_empty() {
            forced.truncate(room);
            let mut stop = false;
            for token in &forced {
                self.advance(*token)?;
                stop = self.add(*token, true, None, told) == Flow::Stop;
                if stop {
                    break;
                }
            }
            return Ok(match stop {
                true => Step::Finish(Finish::Stopped),
                false => self.unless_over(forced),
            });
        }

        let began = Instant::now();
        let mask = match &mut self.constraint {
            Some(constraint) => {
                self.generation.masks += 1;
                Some(constraint.mask()?)
            }
            None => None,
        };
        let masked = Instant::now();
        let token = self.sampler.sample(logits, mask, &self.session.seen)?;
        self.generation.timings.mask += masked - began;
        self.generation.timings.sampling += masked.elapsed();
        let count = self.request.show_probabilities;
        let probabilities = (count > 0).then(|| Probabilities {
            before: top_probabilities(logits, None, count),
            after: top_probabilities(logits, mask, count),
        });

        let ends = self.session.tokenizer.vocabulary().ends();
        if ends.iter().any(|end| end.get() == token) {
            self.advance(token)?;
            return Ok(Step::Finish(Finish::EndToken));
        }
        if self.request.stop_tokens.contains(&token) {
            return Ok(Step::Finish(Finish::StopToken));
        }
        self.advance(token)?;
        Ok(match self.add(token, false, probabilities, told) {
            Flow::Stop => Step::Finish(Finish::Stopped),
            Flow::Continue => self.unless_over(vec![token]),
        })
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

    fn forced(&mut self) -> Vec<u32> {
        let Some(constraint) = &self.constraint else {
            return Vec::new();
        };
        if self.request.forced == ForcedTokens::Draw {
            return Vec::new();
        }
        let began = Instant::now();
        let tokenizer = self.session.tokenizer;
        let (text, left) = (&self.generation.text, &self.left);
        let forced = constraint.forced_tokens(&mut |bytes| {
            // The end of what stands before, whole characters only.
            let from = text.ceil_char_boundary(text.len().saturating_sub(4 * LEFT_CONTEXT));
            match from {
                0 => tokenizer.encode_after(&format!("{left}{text}"), bytes),
                _ => tokenizer.encode_after(&text[from..], bytes),
            }
        });
        self.generation.timings.advance += began.elapsed();
        forced
    }

    /// Adds a token to the text and tells of it.
    fn add(
        &mut self,
        token: u32,
        forced: bool,
        probabilities: Option<Probabilities>,
        told: &mut Duration,
    ) -> Flow {
        let text = self.decoder.push(token);
        self.generation.text.push_str(&text);
        self.generation.tokens.push(token);
        self.generation.forced.push(forced);
        let event = Event::Token(TokenEvent {
            token,
            text: &text,
            forced,
            probabilities,
        });
        self.tell(&event, told)
    }
}

enum Step {
    Read(Vec<u32>),
    Finish(Finish),
}
