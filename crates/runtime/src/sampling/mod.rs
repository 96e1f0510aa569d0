//! Choosing the next token from logits, under a mask.
//!
//! The steps, in this order (the order of the `transformers` library):
//! 1. tokens that the mask forbids, or that lie beyond it, are left out; a
//!    logit that is not a number counts as minus infinity;
//! 2. the repetition penalty (Keskar et al., 2019,
//!    <https://arxiv.org/abs/1909.05858>), then the frequency and presence penalties as OpenAI's API
//!    defines them: a logit less the frequency penalty for each time that the token was generated, and less
//!    the presence penalty if it was at all;
//! 3. the temperature; at 0 the token with the largest logit is taken (the
//!    first of equals) and nothing below happens;
//! 4. top-k;
//! 5. top-p (Holtzman et al., 2019, <https://arxiv.org/abs/1904.09751>);
//! 6. min-p (Nguyen et al., 2024, <https://arxiv.org/abs/2407.01082>);
//! 7. a draw from what is left.
//!
//! The sampler is fused with the mask: it never writes masked logits down, and
//! looks at allowed tokens alone, once for the largest logit and once for the
//! weights. Words of the mask that allow all of their 32 tokens, and logits
//! without a mask, are gone through without looking at bits.
//!
//! For example, logits `[2.0, 5.0, 1.0]` under a mask of tokens 0 and 2 give token 0 at temperature
//! 0.

mod candidates;
mod probabilities;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use self::candidates::{Allowed, Candidate, Weigh, allowed, keep_top_k, keep_top_p};
use crate::{Error, ErrorKind};

pub use self::probabilities::{Probability, log_probability, top_probabilities};

/// The settings by which tokens are chosen.
///
/// ```
/// use tokenmold::sampling::SamplingConfig;
///
/// let config = SamplingConfig::with_temperature(0.7, 42).with_top_k(50).with_top_p(0.95);
/// let stored = serde_json::to_string(&config).unwrap();
/// assert_eq!(serde_json::from_str::<SamplingConfig>(&stored).unwrap(), config);
/// ```
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct SamplingConfig {
    /// Logits are divided by it; 0 takes the most probable token. At least 0.
    pub temperature: f32,
    /// Only this many most probable tokens stay; 0 keeps all. Among tokens with equal logits those
    /// with the smaller numbers stay.
    pub top_k: usize,
    /// Only the most probable tokens stay whose probabilities first sum to
    /// this; 1 keeps all. Above 0, at most 1.
    pub top_p: f32,
    /// Only tokens stay that are at least this times as probable as the most
    /// probable one; 0 keeps all. From 0 to 1.
    pub min_p: f32,
    /// Logits of tokens that came before are divided by it if positive,
    /// multiplied by it if negative; 1 changes nothing. Above 0.
    pub repetition_penalty: f32,
    /// The number of last tokens, the prompt's among them, that count as having come before;
    /// 0 means all.
    pub repetition_window: usize,
    /// Subtracted from a token's logit for each time that it stands behind the prompt
    /// ([`Sampler::behind`]). From -2 to 2; 0 changes nothing.
    pub frequency_penalty: f32,
    /// Subtracted from a token's logit if it stands behind the prompt. From -2 to 2; 0 changes nothing.
    pub presence_penalty: f32,
    /// Seed of the draws. The same seed, logits and masks give the same tokens
    /// on every machine.
    pub seed: u64,
}

impl Default for SamplingConfig {
    /// Greedy: temperature 0, and nothing else.
    fn default() -> Self {
        Self {
            temperature: 0.0,
            top_k: 0,
            top_p: 1.0,
            min_p: 0.0,
            repetition_penalty: 1.0,
            repetition_window: 0,
            frequency_penalty: 0.0,
            presence_penalty: 0.0,
            seed: 0,
        }
    }
}

impl SamplingConfig {
    /// Always the most probable token.
    pub fn greedy() -> Self {
        Self::default()
    }

    /// Draws at this temperature, with this seed.
    pub fn with_temperature(temperature: f32, seed: u64) -> Self {
        Self {
            temperature,
            seed,
            ..Self::default()
        }
    }

    /// The same, drawing from so many most probable tokens only; 0 keeps all.
    #[must_use]
    pub fn with_top_k(mut self, tokens: usize) -> Self {
        self.top_k = tokens;
        self
    }

    /// The same, drawing from the most probable tokens that together have this
    /// probability: above 0, at most 1.
    #[must_use]
    pub fn with_top_p(mut self, probability: f32) -> Self {
        self.top_p = probability;
        self
    }

    /// The same, drawing from tokens that are at least this times as probable as the most
    /// probable one: from 0 to 1.
    #[must_use]
    pub fn with_min_p(mut self, share: f32) -> Self {
        self.min_p = share;
        self
    }

    /// The same, making tokens less probable that are among the last `window` ones, or among
    /// all for 0. Above 0; 1 changes nothing.
    #[must_use]
    pub fn with_repetition_penalty(mut self, penalty: f32, window: usize) -> Self {
        self.repetition_penalty = penalty;
        self.repetition_window = window;
        self
    }

    /// The same, making tokens less probable that were generated before: by `frequency` for each time,
    /// and by `presence` once. Both from -2 to 2; 0 changes nothing.
    #[must_use]
    pub fn with_penalties(mut self, frequency: f32, presence: f32) -> Self {
        self.frequency_penalty = frequency;
        self.presence_penalty = presence;
        self
    }

    fn check(&self) -> Result<(), Error> {
        let wrong = |name: &str, value: f32, range: &str| {
            Err(Error::new(
                ErrorKind::InvalidParameter,
                format!("`{name}` is {value}; it must be {range}"),
            ))
        };
        if !(self.temperature >= 0.0 && self.temperature.is_finite()) {
            return wrong("temperature", self.temperature, "finite and at least 0");
        }
        if !(self.top_p > 0.0 && self.top_p <= 1.0) {
            return wrong("top_p", self.top_p, "above 0 and at most 1");
        }
        if !(0.0..=1.0).contains(&self.min_p) {
            return wrong("min_p", self.min_p, "from 0 to 1");
        }
        if !(self.repetition_penalty > 0.0 && self.repetition_penalty.is_finite()) {
            return wrong(
                "repetition_penalty",
                self.repetition_penalty,
                "finite and above 0",
            );
        }
        for (name, penalty) in [
            ("frequency_penalty", self.frequency_penalty),
            ("presence_penalty", self.presence_penalty),
        ] {
            if !(-2.0..=2.0).contains(&penalty) {
                return wrong(name, penalty, "from -2 to 2");
            }
        }
        Ok(())
    }
}

/// Draws tokens. Small; one for each text.
///
/// ```
/// use tokenmold::sampling::{Sampler, SamplingConfig};
///
/// let config = SamplingConfig::with_temperature(0.8, 7).with_top_p(0.9);
/// assert!(Sampler::new(config.clone()).is_ok());
/// let error = Sampler::new(config.with_top_p(1.5)).unwrap_err();
/// assert!(error.to_string().contains("`top_p` is 1.5"));
/// ```
#[derive(Clone, Debug)]
pub struct Sampler {
    config: SamplingConfig,
    /// The temperature of the next draws.
    temperature: f32,
    rng: ChaCha8Rng,
    /// The number of the prompt's tokens in a history.
    prompt: usize,
    candidates: Vec<Candidate>,
    /// Tokens that came before, with their penalised logits.
    penalised: Vec<Candidate>,
}

/// A token that a draft proposes, and how likely each was to be proposed.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    token: u32,
    /// In ascending order of tokens; none if there was no choice.
    odds: Option<Vec<(u32, f64)>>,
}

impl Proposal {
    /// A token that was not drawn: looked up, or the most probable one.
    ///
    /// ```
    /// use tokenmold::sampling::Proposal;
    ///
    /// assert_eq!(Proposal::certain(7).token(), 7);
    /// ```
    pub fn certain(token: u32) -> Self {
        Proposal { token, odds: None }
    }

    /// The token.
    pub fn token(&self) -> u32 {
        self.token
    }

    /// Returns the probability with which the token was proposed.
    pub(crate) fn odds_of(&self, token: u32) -> f64 {
        let Some(odds) = &self.odds else {
            return f64::from(u8::from(token == self.token));
        };
        odds.binary_search_by_key(&token, |odd| odd.0)
            .map_or(0.0, |at| odds[at].1)
    }
}

impl Sampler {
    /// A sampler at the start of its seed's draws.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidParameter`] names the parameter that is out of its
    /// range.
    pub fn new(config: SamplingConfig) -> Result<Self, Error> {
        config.check()?;
        Ok(Self {
            rng: ChaCha8Rng::seed_from_u64(config.seed),
            temperature: config.temperature,
            config,
            prompt: 0,
            candidates: Vec::new(),
            penalised: Vec::new(),
        })
    }

    /// The same, for histories that begin with so many tokens of a prompt: the frequency and presence
    /// penalties count what stands behind them.
    ///
    /// ```
    /// use tokenmold::sampling::{Sampler, SamplingConfig};
    ///
    /// let config = SamplingConfig::greedy().with_penalties(0.5, 0.1);
    /// let mut sampler = Sampler::new(config)?.behind(2);
    /// let logits = [1.0, 1.5, 0.0];
    /// assert_eq!(sampler.sample(&logits, None, &[1, 1])?, 1);
    /// assert_eq!(sampler.sample(&logits, None, &[1, 1, 1])?, 0);
    /// # Ok::<(), tokenmold::Error>(())
    /// ```
    #[must_use]
    pub fn behind(mut self, prompt: usize) -> Self {
        self.prompt = prompt;
        self
    }

    /// Draws at another temperature than the configuration's from now on, or at that again. One that is
    /// not finite or below 0 changes nothing.
    ///
    /// ```
    /// use tokenmold::sampling::{Sampler, SamplingConfig};
    ///
    /// let mut sampler = Sampler::new(SamplingConfig::with_temperature(100.0, 7))?;
    /// sampler.warm(Some(0.0));
    /// assert_eq!(sampler.sample(&[1.0, 1.5, 0.0], None, &[])?, 1);
    /// # Ok::<(), tokenmold::Error>(())
    /// ```
    pub fn warm(&mut self, temperature: Option<f32>) {
        let usable = temperature.filter(|given| given.is_finite() && *given >= 0.0);
        self.temperature = usable.unwrap_or(self.config.temperature);
    }

    /// The configuration.
    pub fn config(&self) -> &SamplingConfig {
        &self.config
    }

    /// Chooses a token. In `mask`, bit `t % 32` of word `t / 32` says whether
    /// token `t` is allowed; tokens beyond it are not. `history` is what came
    /// before, the latest token last.
    ///
    /// O(words of the mask + allowed tokens), or O(logits) without a mask;
    /// top-k and top-p select what they keep and sort nothing else.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Sampling`]: every token is masked, or no allowed one has a
    /// logit above minus infinity.
    ///
    /// ```
    /// use tokenmold::sampling::{Sampler, SamplingConfig};
    ///
    /// let mut sampler = Sampler::new(SamplingConfig::greedy())?;
    /// let logits = [0.1, 0.9, 0.5];
    /// assert_eq!(sampler.sample(&logits, None, &[])?, 1);
    /// assert_eq!(sampler.sample(&logits, Some(&[0b101]), &[])?, 2);
    /// # Ok::<(), tokenmold::Error>(())
    /// ```
    pub fn sample(
        &mut self,
        logits: &[f32],
        mask: Option<&[u32]>,
        history: &[u32],
    ) -> Result<u32, Error> {
        match self.gather(logits, mask, history)? {
            Some(token) => Ok(token),
            None => Ok(self.draw()),
        }
    }

    /// Chooses a token as [`Sampler::sample`] does, and tells how likely each
    /// was: for a draft.
    ///
    /// # Errors
    ///
    /// As [`Sampler::sample`].
    pub fn propose(
        &mut self,
        logits: &[f32],
        mask: Option<&[u32]>,
        history: &[u32],
    ) -> Result<Proposal, Error> {
        if let Some(token) = self.gather(logits, mask, history)? {
            return Ok(Proposal::certain(token));
        }
        let token = self.draw();
        let total = self.total();
        let odds = self
            .candidates
            .iter()
            .map(|c| (c.token, f64::from(c.value) / total));
        let mut odds: Vec<(u32, f64)> = odds.collect();
        odds.sort_unstable_by_key(|odd| odd.0);
        Ok(Proposal {
            token,
            odds: Some(odds),
        })
    }

    /// Chooses a token with the probabilities of [`Sampler::sample`], such that
    /// it is the proposed one as often as they allow: the rule of speculative
    /// sampling (Leviathan et al., 2023, <https://arxiv.org/abs/2211.17192>).
    /// The proposal must have been drawn with the odds that it tells.
    ///
    /// A proposal that is certain changes nothing: the token is that of
    /// [`Sampler::sample`].
    ///
    /// # Errors
    ///
    /// As [`Sampler::sample`].
    pub fn sample_beside(
        &mut self,
        logits: &[f32],
        mask: Option<&[u32]>,
        history: &[u32],
        proposal: &Proposal,
    ) -> Result<u32, Error> {
        if let Some(token) = self.gather(logits, mask, history)? {
            return Ok(token);
        }
        if proposal.odds.is_none() {
            return Ok(self.draw());
        }
        let total = self.total();
        let token = proposal.token;
        let own = self.candidates.iter().find(|c| c.token == token);
        let own = own.map_or(0.0, |c| f64::from(c.value) / total);
        if self.rng.random::<f64>() * proposal.odds_of(token) < own {
            return Ok(token);
        }
        // The candidates that the draft does not say often enough.
        for candidate in &mut self.candidates {
            let rest = f64::from(candidate.value) / total - proposal.odds_of(candidate.token);
            candidate.value = rest.max(0.0) as f32;
        }
        if self.total() <= 0.0 {
            // The two differ by rounding alone.
            return Ok(token);
        }
        Ok(self.draw())
    }

    fn total(&self) -> f64 {
        self.candidates.iter().map(|c| f64::from(c.value)).sum()
    }

    /// Works out the tokens that may be drawn and their weights; the token
    /// itself at temperature 0.
    fn gather(
        &mut self,
        logits: &[f32],
        mask: Option<&[u32]>,
        history: &[u32],
    ) -> Result<Option<u32>, Error> {
        self.penalise(logits, history);
        let allowed = Allowed {
            logits,
            mask,
            penalised: &self.penalised,
        };
        let (most, token) = allowed.largest();
        if most == f32::NEG_INFINITY {
            return Err(nothing_left(logits.len(), mask));
        }
        if self.temperature == 0.0 {
            return Ok(Some(token));
        }
        self.candidates.clear();
        let weigh = Weigh {
            most,
            temperature: self.temperature,
            // Behind top-p it is the other way round: see below.
            least: match self.config.top_p < 1.0 {
                true => 0.0,
                false => self.config.min_p,
            },
        };
        match self.config.top_k {
            0 => allowed.for_each(|token, logit| {
                let value = weigh.weight(logit);
                if value > 0.0 && value >= weigh.least {
                    self.candidates.push(Candidate { token, value });
                }
            }),
            k => {
                keep_top_k(&allowed, k, &mut self.candidates);
                for candidate in &mut self.candidates {
                    candidate.value = weigh.weight(candidate.value);
                }
                self.candidates
                    .retain(|c| c.value > 0.0 && c.value >= weigh.least);
            }
        }
        if self.config.top_p < 1.0 {
            keep_top_p(self.config.top_p, &mut self.candidates);
            let least = self.config.min_p;
            // The largest weight is 1.
            self.candidates.retain(|c| c.value >= least);
        }
        Ok(None)
    }

    /// Works out the penalised logits of the tokens that came before.
    fn penalise(&mut self, logits: &[f32], history: &[u32]) {
        self.penalised.clear();
        let SamplingConfig {
            repetition_penalty: repetition,
            frequency_penalty: frequency,
            presence_penalty: presence,
            ..
        } = self.config;
        let sorted = |from: usize| {
            let mut tokens = history[from.min(history.len())..].to_vec();
            tokens.sort_unstable();
            tokens
        };
        if repetition != 1.0 {
            let mut seen = sorted(match self.config.repetition_window {
                0 => 0,
                window => history.len().saturating_sub(window),
            });
            seen.dedup();
            for token in seen {
                let Some(&logit) = logits.get(token as usize) else {
                    break;
                };
                let value = match logit > 0.0 {
                    true => logit / repetition,
                    false => logit * repetition,
                };
                self.penalised.push(Candidate { token, value });
            }
        }
        if frequency == 0.0 && presence == 0.0 {
            return;
        }
        let said = sorted(self.prompt);
        let (mut at, repeated) = (0, self.penalised.len());
        for same in said.chunk_by(|one, other| one == other) {
            let token = same[0];
            let Some(&logit) = logits.get(token as usize) else {
                break;
            };
            let less = frequency * same.len() as f32 + presence;
            while at < repeated && self.penalised[at].token < token {
                at += 1;
            }
            match self.penalised[..repeated].get_mut(at) {
                Some(own) if own.token == token => own.value -= less,
                _ => {
                    let value = logit - less;
                    self.penalised.push(Candidate { token, value });
                }
            }
        }
        self.penalised.sort_unstable_by_key(|one| one.token);
    }

    fn draw(&mut self) -> u32 {
        let total = self.total();
        let mut left = self.rng.random::<f64>() * total;
        for candidate in &self.candidates {
            left -= f64::from(candidate.value);
            if left < 0.0 {
                return candidate.token;
            }
        }
        // Rounding can leave a crumb; it belongs to the last.
        self.candidates.last().map_or(0, |c| c.token)
    }
}

#[cold]
fn nothing_left(logits: usize, mask: Option<&[u32]>) -> Error {
    let allowed = mask.map_or(logits, |words| allowed(words, logits).count());
    let message = match allowed {
        0 => "the mask allows no token".to_owned(),
        _ => format!("none of the {allowed} allowed tokens has a logit above minus infinity"),
    };
    Error::new(ErrorKind::Sampling, message)
}
