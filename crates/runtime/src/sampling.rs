//! Choosing the next token from logits, under a mask.
//!
//! The steps, in this order (the order of the `transformers` library):
//! 1. tokens that the mask forbids, or that lie beyond it, are left out; a
//!    logit that is not a number counts as minus infinity;
//! 2. the repetition penalty (Keskar et al., 2019,
//!    <https://arxiv.org/abs/1909.05858>);
//! 3. the temperature; at 0 the token with the largest logit is taken (the
//!    first of equals) and nothing below happens;
//! 4. top-k;
//! 5. top-p (Holtzman et al., 2019, <https://arxiv.org/abs/1904.09751>);
//! 6. min-p (Nguyen et al., 2024, <https://arxiv.org/abs/2407.01082>);
//! 7. a draw from what is left.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use crate::{Error, ErrorKind};

/// How tokens are chosen.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SamplingConfig {
    /// Logits are divided by it; 0 takes the most probable token. At least 0.
    pub temperature: f32,
    /// Only this many most probable tokens stay; 0 keeps all. Of tokens with
    /// equal logits those with the smaller numbers stay.
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
    /// How many of the last tokens, the prompt's among them, count as having
    /// come before; 0 means all.
    pub repetition_window: usize,
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
        Ok(())
    }
}

/// Draws tokens. Small; one for each text.
#[derive(Clone, Debug)]
pub struct Sampler {
    config: SamplingConfig,
    rng: ChaCha8Rng,
    candidates: Vec<Candidate>,
}

/// A token that may be chosen, with its logit or, later, its weight.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    token: u32,
    value: f32,
}

/// A token with its logit and probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Probability {
    /// The token.
    pub token: u32,
    /// Its logit, as the model gave it.
    pub logit: f32,
    /// Its share of the softmax over the tokens asked about.
    pub probability: f32,
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
            config,
            candidates: Vec::new(),
        })
    }

    /// The configuration.
    pub fn config(&self) -> &SamplingConfig {
        &self.config
    }

    /// Chooses a token. In `mask`, bit `t % 32` of word `t / 32` says whether
    /// token `t` is allowed; tokens beyond it are not. `history` is what came
    /// before, the latest token last.
    ///
    /// O(logits), or O(words of the mask + allowed tokens) with a mask; top-p
    /// sorts what is left when it comes to it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Sampling`]: every token is masked, or no allowed one has a
    /// logit above minus infinity.
    pub fn sample(
        &mut self,
        logits: &[f32],
        mask: Option<&[u32]>,
        history: &[u32],
    ) -> Result<u32, Error> {
        self.gather(logits, mask);
        self.penalise(history);
        let most = self
            .candidates
            .iter()
            .fold(f32::NEG_INFINITY, |most, c| most.max(c.value));
        if most == f32::NEG_INFINITY {
            return Err(self.nothing_left(logits.len(), mask));
        }
        if self.config.temperature == 0.0 {
            let first = self.candidates.iter().find(|c| c.value == most);
            return first
                .map(|c| c.token)
                .ok_or_else(|| self.nothing_left(logits.len(), mask));
        }
        if most == f32::INFINITY {
            // An infinite logit leaves no room for finite ones.
            self.candidates.retain(|c| c.value == f32::INFINITY);
            self.candidates.iter_mut().for_each(|c| c.value = 0.0);
        } else {
            self.candidates.retain(|c| c.value > f32::NEG_INFINITY);
            let temperature = self.config.temperature;
            // Logits over a tiny temperature overflow; distances from the
            // largest do not.
            let scale = |c: &mut Candidate| c.value = (c.value - most) / temperature;
            self.candidates.iter_mut().for_each(scale);
        }
        self.keep_top_k();
        for candidate in &mut self.candidates {
            candidate.value = candidate.value.exp();
        }
        self.keep_top_p();
        self.keep_min_p();
        Ok(self.draw())
    }

    /// Collects the allowed tokens, in ascending order.
    fn gather(&mut self, logits: &[f32], mask: Option<&[u32]>) {
        self.candidates.clear();
        let candidate = |token: usize, logit: f32| Candidate {
            token: token as u32,
            value: if logit.is_nan() {
                f32::NEG_INFINITY
            } else {
                logit
            },
        };
        match mask {
            None => {
                let all = logits.iter().enumerate();
                self.candidates
                    .extend(all.map(|(token, logit)| candidate(token, *logit)));
            }
            Some(words) => {
                for token in allowed(words, logits.len()) {
                    self.candidates.push(candidate(token, logits[token]));
                }
            }
        }
    }

    fn penalise(&mut self, history: &[u32]) {
        let penalty = self.config.repetition_penalty;
        if penalty == 1.0 {
            return;
        }
        let from = match self.config.repetition_window {
            0 => 0,
            window => history.len().saturating_sub(window),
        };
        let mut seen: Vec<u32> = history[from..].to_vec();
        seen.sort_unstable();
        seen.dedup();
        for token in seen {
            // Candidates are in ascending order.
            if let Ok(at) = self.candidates.binary_search_by_key(&token, |c| c.token) {
                let value = &mut self.candidates[at].value;
                *value = if *value > 0.0 {
                    *value / penalty
                } else {
                    *value * penalty
                };
            }
        }
    }

    fn keep_top_k(&mut self) {
        let k = self.config.top_k;
        if k == 0 || k >= self.candidates.len() {
            return;
        }
        self.candidates.select_nth_unstable_by(k - 1, better);
        self.candidates.truncate(k);
        // The draw must not depend on how the selection left them.
        self.candidates.sort_unstable_by_key(|c| c.token);
    }

    fn keep_top_p(&mut self) {
        if self.config.top_p >= 1.0 {
            return;
        }
        self.candidates.sort_unstable_by(better);
        let total: f64 = self.candidates.iter().map(|c| f64::from(c.value)).sum();
        let wanted = total * f64::from(self.config.top_p);
        let mut sum = 0.0;
        let enough = self.candidates.iter().position(|c| {
            sum += f64::from(c.value);
            sum >= wanted
        });
        if let Some(last) = enough {
            self.candidates.truncate(last + 1);
        }
    }

    fn keep_min_p(&mut self) {
        if self.config.min_p == 0.0 {
            return;
        }
        let most = self
            .candidates
            .iter()
            .fold(0.0_f32, |most, c| most.max(c.value));
        let least = most * self.config.min_p;
        self.candidates.retain(|c| c.value >= least);
    }

    fn draw(&mut self) -> u32 {
        let total: f64 = self.candidates.iter().map(|c| f64::from(c.value)).sum();
        let mut left = self.rng.random::<f64>() * total;
        for candidate in &self.candidates {
            left -= f64::from(candidate.value);
            if left < 0.0 {
                return candidate.token;
            }
        }
        // Rounding can leave a crumb; it belongs to the last that has weight.
        let last = self.candidates.iter().rev().find(|c| c.value > 0.0);
        last.map_or(0, |c| c.token)
    }

    #[cold]
    fn nothing_left(&self, logits: usize, mask: Option<&[u32]>) -> Error {
        let allowed = mask.map_or(logits, |words| allowed(words, logits).count());
        let message = match allowed {
            0 => "the mask allows no token".to_owned(),
            _ => format!("none of the {allowed} allowed tokens has a logit above minus infinity"),
        };
        Error::new(ErrorKind::Sampling, message)
    }
}

/// The larger value first; of equals the smaller token.
fn better(a: &Candidate, b: &Candidate) -> std::cmp::Ordering {
    b.value.total_cmp(&a.value).then(a.token.cmp(&b.token))
}

/// The tokens that a mask allows among `width`, in ascending order.
fn allowed(words: &[u32], width: usize) -> impl Iterator<Item = usize> {
    let bits = words.iter().enumerate().flat_map(|(index, word)| {
        let mut word = *word;
        std::iter::from_fn(move || {
            let bit = word.trailing_zeros();
            (word != 0).then(|| {
                word &= word - 1;
                index * 32 + bit as usize
            })
        })
    });
    bits.take_while(move |token| *token < width)
}

/// The natural logarithm of a token's probability under a mask (or among all
/// tokens), by the plain softmax of the logits; minus infinity if it is masked.
///
/// O(allowed tokens).
pub fn log_probability(logits: &[f32], mask: Option<&[u32]>, token: u32) -> f32 {
    let values: Vec<(usize, f32)> = match mask {
        Some(words) => allowed(words, logits.len())
            .map(|token| (token, logits[token]))
            .collect(),
        None => logits.iter().copied().enumerate().collect(),
    };
    let most = values
        .iter()
        .fold(f32::NEG_INFINITY, |most, (_, value)| most.max(*value));
    let own = values.iter().find(|(at, _)| *at == token as usize);
    let Some((_, own)) = own.filter(|(_, own)| *own > f32::NEG_INFINITY) else {
        return f32::NEG_INFINITY;
    };
    if most == f32::INFINITY {
        // Tokens with an infinite logit share everything.
        let sharing = values.iter().filter(|(_, value)| *value == most).count();
        return match *own == most {
            true => -(sharing as f32).ln(),
            false => f32::NEG_INFINITY,
        };
    }
    let total: f64 = values
        .iter()
        .filter(|(_, value)| *value > f32::NEG_INFINITY)
        .map(|(_, value)| f64::from(value - most).exp())
        .sum();
    (f64::from(own - most) - total.ln()) as f32
}

/// The `count` most probable tokens under a mask (or all of them), by the
/// plain softmax of their logits, the most probable first.
///
/// O(allowed tokens).
pub fn top_probabilities(logits: &[f32], mask: Option<&[u32]>, count: usize) -> Vec<Probability> {
    let mut all: Vec<Candidate> = match mask {
        Some(words) => allowed(words, logits.len())
            .map(|token| Candidate {
                token: token as u32,
                value: logits[token],
            })
            .collect(),
        None => (0..)
            .zip(logits)
            .map(|(token, value)| Candidate {
                token,
                value: *value,
            })
            .collect(),
    };
    all.retain(|c| c.value > f32::NEG_INFINITY);
    let most = all
        .iter()
        .fold(f32::NEG_INFINITY, |most, c| most.max(c.value));
    // With an infinite logit the finite ones have no share.
    let weight = |value: f32| match most == f32::INFINITY {
        true => f64::from(u8::from(value == most)),
        false => f64::from(value - most).exp(),
    };
    let total: f64 = all.iter().map(|c| weight(c.value)).sum();
    if count < all.len() {
        if count == 0 {
            return Vec::new();
        }
        all.select_nth_unstable_by(count - 1, better);
        all.truncate(count);
    }
    all.sort_unstable_by(better);
    let share = |c: Candidate| Probability {
        token: c.token,
        logit: c.value,
        probability: (weight(c.value) / total) as f32,
    };
    all.into_iter().map(share).collect()
}
