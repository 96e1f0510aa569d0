//! One text being generated, step by step. For example, a step writes the mask, draws `{"` and
//! tells the caller, and appends `name": ` without the model because nothing else may come.

use std::time::{Duration, Instant};

use fsm_index::Place;

use super::overlap::Overlap;
use super::stop::StopStrings;
use super::{
    AllowedKinds, Event, Explanation, Explanations, Finish, Flow, ForcedTokens, Generation,
    LogProbabilities, Probabilities, Request, Session, TokenBudget, TokenEvent, TokenProbability,
};
use crate::constraint::Constraint;
use crate::model::Model;
use crate::sampling::{Sampler, log_probability, top_probabilities};
use crate::tokenizer::Decoder;
use crate::{Error, ErrorKind};

/// The longest completion in an explanation, in bytes: people read explanations, so that more than
/// a few pages is of no use.
const MAX_EXPLAINED: usize = 1 << 12;

/// The number of tokens before a forced piece that its encoding looks at: a few, because tokenizers
/// cut texts into words, and a word has seldom more tokens.
pub(super) const LEFT_CONTEXT: usize = 8;

/// One text being generated.
pub(super) struct Run<'r, 'c, 's, 'm, M: Model + ?Sized> {
    pub(super) session: &'s mut Session<'m, M>,
    pub(super) request: &'r Request,
    pub(super) constraint: Option<&'c mut (dyn Constraint + 'c)>,
    pub(super) sampler: Sampler,
    pub(super) decoder: Decoder<'m>,
    pub(super) stop_strings: StopStrings,
    /// The places of the constraint before each of the tokens that were forced last, if asked for.
    pub(super) places: Vec<Option<Place>>,
    /// The end of the prompt's text.
    pub(super) left: String,
    /// The prompt; empty once it was read.
    pub(super) prompt: Vec<u32>,
    /// The number of its tokens that the model still knew.
    pub(super) reused: usize,
    pub(super) began: Instant,
    /// Time that the caller's own doings took.
    pub(super) told: Duration,
    pub(super) generation: Generation,
    pub(super) on_event: &'r mut dyn FnMut(&Event<'_>) -> Flow,
}

impl<'c, 's, 'm, M: Model + ?Sized> Run<'_, 'c, 's, 'm, M> {
    pub(super) fn run(self) -> Result<Generation, Error> {
        std::thread::scope(|scope| self.run_beside(&mut Overlap::new(scope)))
    }

    /// All steps, with masks computed beside the model.
    fn run_beside<'x>(mut self, overlap: &mut Overlap<'x, '_, 'c>) -> Result<Generation, Error>
    where
        'c: 'x,
    {
        let unread = self.begin();
        let mut logits = self.read(&unread, overlap)?;
        self.session.ahead.steps = 0;
        let waited = overlap.take_waited();
        self.generation.timings.mask += waited;
        self.generation.timings.prefill = self.began.elapsed().saturating_sub(waited);
        let mut step = self.begun(&logits)?;
        loop {
            let tokens = match step {
                Step::Finish(finish) => return Ok(self.end(finish).0),
                Step::Read(tokens) => tokens,
            };
            let began = Instant::now();
            logits = self.read(&tokens, overlap)?;
            let waited = overlap.take_waited();
            let timings = &mut self.generation.timings;
            timings.mask += waited;
            timings.forward += began.elapsed().saturating_sub(waited);
            self.generation.steps += std::mem::take(&mut self.session.ahead.steps);
            step = self.step(&logits)?;
        }
    }

    /// The part of the prompt that the model has to read.
    pub(super) fn begin(&mut self) -> Vec<u32> {
        self.began = Instant::now();
        let seen = &mut self.session.seen;
        let prompt = &self.prompt;
        let shared = seen.iter().zip(prompt).take_while(|(a, b)| a == b).count();
        // The last token is read in any case: its logits are wanted.
        self.reused = shared.min(prompt.len() - 1);
        self.generation.reused_tokens = self.reused;
        seen.truncate(self.reused);
        self.session.ahead.begin();
        prompt[self.reused..].to_vec()
    }

    /// The first step, after the prompt was read.
    pub(super) fn begun(&mut self, logits: &[f32]) -> Result<Step, Error> {
        let prompt = std::mem::take(&mut self.prompt);
        let event = Event::Prompt {
            tokens: &prompt,
            reused: self.reused,
        };
        match self.tell(&event) {
            Flow::Stop => Ok(Step::Finish(Finish::Stopped)),
            Flow::Continue => match self.append_forced(Vec::new())? {
                Step::Read(tokens) if tokens.is_empty() => self.step(logits),
                step => Ok(step),
            },
        }
    }

    /// Returns the result, and the session, which can generate again.
    pub(super) fn end(mut self, finish: Finish) -> (Generation, &'s mut Session<'m, M>) {
        self.generation.finish = finish;
        if let Some(constraint) = &mut self.constraint {
            // Nothing is refused without a budget.
            let _ = constraint.set_budget(None);
        }
        let ahead = &self.session.ahead;
        self.generation.speculation = ahead.is_on().then_some(ahead.speculation);
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
                self.tell(&Event::Rest(&rest));
            }
        }
        self.generation.timings.total = self.began.elapsed().saturating_sub(self.told);
        (self.generation, self.session)
    }

    /// Lets the model read, and adds the biases. The mask that will be asked for
    /// is computed meanwhile.
    fn read<'x>(
        &mut self,
        mut tokens: &[u32],
        overlap: &mut Overlap<'x, '_, 'c>,
    ) -> Result<Vec<f32>, Error>
    where
        'c: 'x,
    {
        let Session {
            model, seen, ahead, ..
        } = &mut *self.session;
        if let Some(logits) = ahead.known(seen, &mut tokens) {
            return Ok(self.biased(logits));
        }
        let room = model.context_length();
        let constraint = self.constraint.as_deref_mut();
        let sampling = &self.request.sampling;
        let proposals = ahead.propose(
            room,
            seen,
            tokens,
            constraint.map(|constraint| constraint as _),
            sampling,
        )?;
        let logits = overlap.during(&mut self.constraint, || {
            ahead.forward(&mut **model, seen, tokens, proposals)
        })?;
        Ok(self.biased(logits))
    }

    /// Logits with the biases of the request.
    pub(super) fn biased(&self, mut logits: Vec<f32>) -> Vec<f32> {
        for (token, bias) in &self.request.logit_bias {
            if let Some(logit) = logits.get_mut(*token as usize) {
                *logit += bias;
            }
        }
        logits
    }

    fn tell(&mut self, event: &Event<'_>) -> Flow {
        let began = Instant::now();
        let flow = (self.on_event)(event);
        self.told += began.elapsed();
        flow
    }

    /// Returns the number of tokens that may still be added.
    pub(super) fn room(&self) -> (usize, Finish) {
        let asked =
            self.request.max_tokens - self.generation.tokens.len().min(self.request.max_tokens);
        let context = self.session.model.context_length()
            - self.generation.prompt_tokens
            - self.generation.tokens.len();
        match asked <= context {
            true => (asked, Finish::Length),
            false => (context, Finish::Context),
        }
    }

    /// Decides on the next token, and on those that must come behind it: the
    /// model reads them together.
    pub(super) fn step(&mut self, logits: &[f32]) -> Result<Step, Error> {
        let place = self.place();
        let (token, origin) = match self.draw(logits)? {
            Drawn::Token(token, origin) => (token, origin),
            Drawn::Finish(finish) => return Ok(Step::Finish(finish)),
        };
        match self.add(token, origin, place) {
            Some(finish) => Ok(Step::Finish(finish)),
            None => self.append_forced(vec![token]),
        }
    }

    /// Appends what must come next to tokens that the model is to read.
    fn append_forced(&mut self, mut tokens: Vec<u32>) -> Result<Step, Error> {
        loop {
            if self.constraint.as_ref().is_some_and(|c| c.is_finished()) {
                return Ok(Step::Finish(Finish::Complete));
            }
            let (room, full) = self.room();
            if room == 0 {
                return Ok(Step::Finish(full));
            }
            let forced = self.forced(room)?;
            if forced.is_empty() {
                return Ok(Step::Read(tokens));
            }
            for (taken, token) in forced.iter().enumerate() {
                let place = self.places.get_mut(taken).and_then(Option::take);
                if let Some(finish) = self.add(*token, Origin::Forced, place) {
                    self.rollback(forced.len() - taken - 1)?;
                    return Ok(Step::Finish(finish));
                }
            }
            tokens.extend(forced);
        }
    }

    /// Draws the next token and tells the constraint.
    fn draw(&mut self, logits: &[f32]) -> Result<Drawn, Error> {
        let request = self.request;
        let began = Instant::now();
        let own = match self.generation.tokens.len() < request.min_tokens {
            // Unless nothing but the end is left.
            true => self.without_ends(logits.len())?,
            false => None,
        };
        self.generation.timings.mask += began.elapsed();
        let began = Instant::now();
        let temperature = self.constraint.as_ref().and_then(|own| own.temperature());
        self.sampler.warm(temperature);
        let mask = match (&own, &mut self.constraint) {
            (Some(own), _) => Some(own.as_slice()),
            (None, Some(constraint)) => {
                self.generation.masks += 1;
                Some(constraint.mask()?)
            }
            (None, None) => None,
        };
        let masked = Instant::now();
        let seen = &self.session.seen;
        let token = match self.session.ahead.proposal() {
            Some(proposal) => self.sampler.sample_beside(logits, mask, seen, proposal),
            None => self.sampler.sample(logits, mask, seen),
        };
        let waited = mask.is_some().then_some(masked - began);
        self.generation.timings.mask += masked - began;
        self.generation.timings.sampling += masked.elapsed();
        let token = match (token, request.budget) {
            (Ok(token), _) => token,
            // No allowed token has a logit that can be drawn: any of them leads to the end in time.
            (Err(_), TokenBudget::Complete) if mask.is_some() => {
                if self.constraint.as_ref().is_some_and(|c| c.is_accepting()) {
                    return Ok(Drawn::Finish(Finish::Complete));
                }
                first_of(mask_of(&own, &mut self.constraint)).ok_or_else(|| {
                    Error::new(
                        ErrorKind::Sampling,
                        "no allowed token leads to an end in time",
                    )
                })?
            }
            (Err(error), _) => return Err(error),
        };
        let count = request.show_probabilities;
        let probabilities = (count > 0).then(|| Probabilities {
            before: top_probabilities(logits, None, count),
            after: top_probabilities(logits, mask_of(&own, &mut self.constraint), count),
        });
        let explanation = match request.explanations {
            Explanations::Omit => None,
            Explanations::Give => self.explain(logits)?,
        };
        let own_probability = match request.log_probabilities {
            LogProbabilities::Omit => None,
            LogProbabilities::Compute => Some(TokenProbability {
                free: Some(log_probability(logits, None, token)),
                allowed: log_probability(logits, mask_of(&own, &mut self.constraint), token),
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
        let origin = Origin::Drawn {
            probabilities,
            explanation,
            own: own_probability,
            waited,
        };
        Ok(Drawn::Token(token, origin))
    }

    /// Explains the step, before a token is taken.
    fn explain(&mut self, logits: &[f32]) -> Result<Option<Box<Explanation>>, Error> {
        let Some(likeliest) = top_probabilities(logits, None, 1).pop() else {
            return Ok(None);
        };
        let mut explanation = Explanation {
            allowed: None,
            kinds: AllowedKinds::default(),
            width: logits.len(),
            likeliest,
            refused: None,
            completion: None,
        };
        if let Some(constraint) = &mut self.constraint {
            let mask = constraint.mask()?;
            explanation.allowed = Some(count(mask));
            explanation.kinds = AllowedKinds::of(mask, self.session.tokenizer.vocabulary());
            explanation.completion = constraint.completion_within(MAX_EXPLAINED);
            match constraint.advance(likeliest.token) {
                Ok(()) => constraint.rollback(1)?,
                Err(error) => explanation.refused = Some(error.to_string()),
            }
        }
        Ok(Some(Box::new(explanation)))
    }

    /// The mask without tokens that end the text; none if nothing else is allowed.
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

    /// Returns the place of the constraint, if explanations are asked for.
    fn place(&self) -> Option<Place> {
        match self.request.explanations {
            Explanations::Omit => None,
            Explanations::Give => self.constraint.as_ref()?.place(),
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

    /// Returns the tokens of bytes that come next.
    fn encode_here(&self, bytes: &[u8]) -> Vec<u32> {
        let tokenizer = self.session.tokenizer;
        let (text, left) = (&self.generation.text, &self.left);
        // The end of what stands before, whole characters only.
        let from = text.ceil_char_boundary(text.len().saturating_sub(4 * LEFT_CONTEXT));
        let mut before = match from {
            0 => format!("{left}{text}"),
            _ => text[from..].to_owned(),
        };
        before.push_str(self.stop_strings.held());
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
        let mut forced = constraint.forced_tokens(&mut |bytes| self.encode_here(bytes));
        self.constraint = Some(constraint);
        forced.truncate(room);
        if self.request.budget == TokenBudget::Complete {
            // As the tokenizer cuts them, they may take more tokens than are left.
            let fitting = self.constraint.as_mut().map_or(0, |c| c.validate(&forced));
            forced.truncate(fitting);
        }
        self.places.clear();
        for token in &forced {
            let place = self.place();
            self.places.push(place);
            self.advance(*token)?;
        }
        self.generation.timings.advance += began.elapsed();
        Ok(forced)
    }

    /// Tells the constraint how many tokens the text may have.
    pub(super) fn set_budget(&mut self) -> Result<(), Error> {
        let (room, limit) = self.room();
        let tokens = (self.request.budget == TokenBudget::Complete).then_some(room);
        let Some(constraint) = &mut self.constraint else {
            return Ok(());
        };
        let what = match limit {
            Finish::Context => "what the context has room for",
            _ => "`max_tokens`",
        };
        constraint
            .set_budget(tokens)
            .map_err(|error| Error::new(error.kind(), format!("{what} is too little: {error}")))?;
        constraint.set_landing(self.request.landing);
        Ok(())
    }

    /// Adds a token to the text and tells of it; why the text ends with it, if
    /// it does.
    fn add(&mut self, token: u32, origin: Origin, place: Option<Place>) -> Option<Finish> {
        let decoded = self.decoder.push(token);
        self.generation.tokens.push(token);
        let forced = matches!(origin, Origin::Forced);
        self.generation.forced.push(forced);
        let (probabilities, explanation, own, mask) = match origin {
            Origin::Forced => (
                None,
                None,
                (self.request.log_probabilities == LogProbabilities::Compute).then_some(
                    TokenProbability {
                        free: None,
                        allowed: 0.0,
                    },
                ),
                None,
            ),
            Origin::Drawn {
                probabilities,
                explanation,
                own,
                waited,
            } => (probabilities, explanation, own, waited),
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
            explanation,
            place,
            own,
            mask,
        });
        let flow = self.tell(&event);
        match (stopped, flow) {
            (Some(at), _) => Some(Finish::StopString(at)),
            (None, Flow::Stop) => Some(Finish::Stopped),
            (None, Flow::Continue) => None,
        }
    }
}

/// The first token that a mask allows.
fn first_of(mask: Option<&[u32]>) -> Option<u32> {
    let words = mask?.iter().zip((0..).step_by(32));
    let (word, first) = words.into_iter().find(|(word, _)| **word != 0)?;
    Some(first + word.trailing_zeros())
}

/// Returns the number of tokens that a mask allows.
fn count(mask: &[u32]) -> usize {
    mask.iter().map(|word| word.count_ones() as usize).sum()
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

/// The origin of a token.
enum Origin {
    Forced,
    Drawn {
        probabilities: Option<Probabilities>,
        explanation: Option<Box<Explanation>>,
        own: Option<TokenProbability>,
        waited: Option<Duration>,
    },
}

/// The result of a draw.
enum Drawn {
    Token(u32, Origin),
    Finish(Finish),
}

pub(super) enum Step {
    Read(Vec<u32>),
    Finish(Finish),
}
