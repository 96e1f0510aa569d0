//! Sampling against its definition, by a slow sampler that spells it out.

#![cfg(feature = "models")]

use proptest::prelude::*;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use tokenmold::ErrorKind;
use tokenmold::sampling::{Sampler, SamplingConfig, top_probabilities};

/// The probability of each token, step by step as the module describes.
fn oracle(
    config: &SamplingConfig,
    logits: &[f32],
    mask: Option<&[u32]>,
    history: &[u32],
) -> Vec<f64> {
    let allowed =
        |t: usize| mask.is_none_or(|m| m.get(t / 32).is_some_and(|w| w >> (t % 32) & 1 == 1));
    let window = match config.repetition_window {
        0 => history.len(),
        n => n.min(history.len()),
    };
    let seen = &history[history.len() - window..];
    let mut tokens: Vec<(usize, f64)> = Vec::new();
    for (t, logit) in logits.iter().enumerate() {
        let mut value = *logit;
        if !allowed(t) || value.is_nan() || value == f32::NEG_INFINITY {
            continue;
        }
        if seen.contains(&(t as u32)) {
            let penalty = config.repetition_penalty;
            value = if value > 0.0 {
                value / penalty
            } else {
                value * penalty
            };
        }
        let said = history.iter().filter(|said| **said == t as u32).count();
        if said > 0 {
            value -= config.frequency_penalty * said as f32 + config.presence_penalty;
        }
        tokens.push((t, f64::from(value)));
    }
    let most = tokens.iter().map(|t| t.1).fold(f64::NEG_INFINITY, f64::max);
    let mut probabilities = vec![0.0; logits.len()];
    if config.temperature == 0.0 {
        probabilities[tokens.iter().find(|t| t.1 == most).unwrap().0] = 1.0;
        return probabilities;
    }
    tokens.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    if config.top_k > 0 {
        tokens.truncate(config.top_k);
    }
    for token in &mut tokens {
        token.1 = ((token.1 - most) / f64::from(config.temperature)).exp();
    }
    let total: f64 = tokens.iter().map(|t| t.1).sum();
    if config.top_p < 1.0 {
        let mut sum = 0.0;
        let kept = tokens.iter().position(|t| {
            sum += t.1;
            sum >= total * f64::from(config.top_p)
        });
        tokens.truncate(kept.unwrap_or(tokens.len()) + 1);
    }
    let floor = f64::from(config.min_p) * tokens[0].1;
    tokens.retain(|t| t.1 >= floor);
    let total: f64 = tokens.iter().map(|t| t.1).sum();
    for (t, weight) in tokens {
        probabilities[t] = weight / total;
    }
    probabilities
}

fn mask_of(allowed: &[usize], width: usize) -> Vec<u32> {
    let mut words = vec![0; width.div_ceil(32)];
    for token in allowed {
        words[token / 32] |= 1 << (token % 32);
    }
    words
}

const DRAWS: usize = 20_000;

/// Draws often and compares with the oracle: each count within five standard
/// deviations, and nothing drawn that has no probability.
fn assert_distribution(
    config: &SamplingConfig,
    logits: &[f32],
    mask: Option<&[u32]>,
    history: &[u32],
) {
    let wanted = oracle(config, logits, mask, history);
    let mut sampler = Sampler::new(config.clone()).unwrap();
    let mut counts = vec![0_usize; logits.len()];
    for _ in 0..DRAWS {
        counts[sampler.sample(logits, mask, history).unwrap() as usize] += 1;
    }
    for (token, (count, p)) in counts.iter().zip(&wanted).enumerate() {
        let expected = p * DRAWS as f64;
        let spread = 5.0 * (expected * (1.0 - p)).sqrt() + 1e-9;
        assert!(
            (*count as f64 - expected).abs() <= spread,
            "token {token}: drawn {count} times, expected {expected} under {config:?}"
        );
    }
}

fn configured(change: impl FnOnce(&mut SamplingConfig)) -> SamplingConfig {
    let mut config = SamplingConfig::with_temperature(1.0, 11);
    change(&mut config);
    config
}

const LOGITS: [f32; 8] = [1.0, 0.5, -0.5, 2.0, 2.0, -3.0, 0.0, 1.5];

#[test]
fn draws_follow_the_distribution() {
    let all = |config: SamplingConfig| assert_distribution(&config, &LOGITS, None, &[3, 0, 5, 3]);
    all(configured(|_| {}));
    all(configured(|c| c.temperature = 0.5));
    all(configured(|c| c.temperature = 3.0));
    all(configured(|c| c.top_k = 3));
    all(configured(|c| c.top_k = 100));
    all(configured(|c| c.top_p = 0.6));
    all(configured(|c| c.top_p = 0.01));
    all(configured(|c| c.min_p = 0.3));
    all(configured(|c| c.repetition_penalty = 2.0));
    all(configured(|c| c.frequency_penalty = 0.7));
    all(configured(|c| {
        c.repetition_penalty = 1.5;
        c.repetition_window = 1;
        c.frequency_penalty = -0.4;
        c.presence_penalty = 1.1;
    }));
    all(configured(|c| {
        c.repetition_penalty = 2.0;
        c.repetition_window = 1;
    }));
    all(configured(|c| {
        c.temperature = 0.8;
        c.top_k = 6;
        c.top_p = 0.9;
        c.min_p = 0.05;
        c.repetition_penalty = 1.3;
    }));
    let mask = mask_of(&[1, 2, 5, 6], 8);
    assert_distribution(&configured(|_| {}), &LOGITS, Some(&mask), &[]);
    assert_distribution(&configured(|c| c.top_k = 2), &LOGITS, Some(&mask), &[]);
}

#[test]
fn the_same_seed_draws_the_same() {
    let draw = |seed: u64| -> Vec<u32> {
        let mut sampler = Sampler::new(SamplingConfig::with_temperature(1.0, seed)).unwrap();
        (0..12)
            .map(|_| sampler.sample(&LOGITS, None, &[]).unwrap())
            .collect()
    };
    assert_eq!(draw(5), draw(5));
    assert_ne!(draw(5), draw(6));
    // The draws themselves are part of what a seed promises.
    insta::assert_snapshot!(format!("{:?}", draw(5)));
}

#[test]
fn greedy_takes_the_first_of_the_largest() {
    let mut greedy = Sampler::new(SamplingConfig::greedy()).unwrap();
    assert_eq!(greedy.sample(&LOGITS, None, &[]).unwrap(), 3);
    let mask = mask_of(&[0, 4, 7], 8);
    assert_eq!(greedy.sample(&LOGITS, Some(&mask), &[]).unwrap(), 4);
    // Logits wider than the mask: what lies beyond is forbidden.
    let mut wide = vec![0.0; 40];
    wide[39] = 9.0;
    let narrow = mask_of(&[2, 30], 32);
    assert_eq!(greedy.sample(&wide, Some(&narrow), &[]).unwrap(), 2);
    // A mask wider than the logits: the extra bits mean nothing.
    let wide = mask_of(&[5, 39], 64);
    assert_eq!(greedy.sample(&LOGITS, Some(&wide), &[]).unwrap(), 5);
}

#[test]
fn odd_logits_give_tokens_or_errors_but_never_panics() {
    for temperature in [0.0, 0.7] {
        let mut sampler = Sampler::new(configured(|c| {
            c.temperature = temperature;
            c.top_p = 0.9;
        }))
        .unwrap();
        let nan = f32::NAN;
        let (up, down) = (f32::INFINITY, f32::NEG_INFINITY);
        assert_eq!(sampler.sample(&[nan, 1.0, nan], None, &[]).unwrap(), 1);
        assert_eq!(sampler.sample(&[down, -5.0, down], None, &[]).unwrap(), 1);
        assert_eq!(sampler.sample(&[1e30, up, 0.0], None, &[]).unwrap(), 1);
        assert_eq!(sampler.sample(&[-1e38, 3e38, 1e38], None, &[]).unwrap(), 1);
        let mut message = |logits: &[f32], mask: Option<&[u32]>| {
            let error = sampler.sample(logits, mask, &[]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Sampling);
            error.to_string()
        };
        assert_eq!(message(&[1.0, 2.0], Some(&[0])), "the mask allows no token");
        assert_eq!(message(&[1.0, 2.0], Some(&[])), "the mask allows no token");
        assert_eq!(message(&[], None), "the mask allows no token");
        assert_eq!(
            message(&[nan, down, 4.0], Some(&[0b011])),
            "none of the 2 allowed tokens has a logit above minus infinity"
        );
    }
}

#[test]
fn parameters_out_of_range_are_named() {
    let mut lines = Vec::new();
    let mut refused = |change: &dyn Fn(&mut SamplingConfig)| {
        let error = Sampler::new(configured(change)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidParameter);
        lines.push(error.to_string());
    };
    refused(&|c| c.temperature = -0.1);
    refused(&|c| c.temperature = f32::NAN);
    refused(&|c| c.top_p = 0.0);
    refused(&|c| c.top_p = 1.5);
    refused(&|c| c.min_p = -1.0);
    refused(&|c| c.repetition_penalty = 0.0);
    refused(&|c| c.frequency_penalty = 2.1);
    refused(&|c| c.presence_penalty = f32::NAN);
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn top_probabilities_are_shares_of_the_softmax() {
    let top = top_probabilities(&LOGITS, None, 3);
    assert_eq!(top.iter().map(|p| p.token).collect::<Vec<_>>(), [3, 4, 7]);
    let total: f32 = LOGITS.iter().map(|l| l.exp()).sum();
    assert!((top[0].probability - 2.0_f32.exp() / total).abs() < 1e-6);
    let mask = mask_of(&[0, 5], 8);
    let top = top_probabilities(&LOGITS, Some(&mask), 10);
    assert_eq!(top.len(), 2);
    assert!((top[0].probability + top[1].probability - 1.0).abs() < 1e-6);
    assert_eq!(top_probabilities(&LOGITS, Some(&[0]), 3), []);
    assert_eq!(top_probabilities(&[f32::NAN], None, 3), []);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// The first of the largest allowed ones, by a plain search; runs of tokens that are
    /// allowed in full, in part and nearly not.
    #[test]
    fn greedy_is_a_plain_search(
        logits in prop::collection::vec(
            prop_oneof![8 => -2_i8..3, 1 => Just(100_i8), 1 => Just(-100_i8)], 1..300,
        ),
        words in prop::collection::vec(
            prop_oneof![Just(u32::MAX), Just(u32::MAX >> 1), any::<u32>(), 0..3_u32], 1..10,
        ),
    ) {
        let odd = |logit: i8| match logit {
            100 => f32::NAN,
            -100 => f32::NEG_INFINITY,
            logit => f32::from(logit),
        };
        let logits: Vec<f32> = logits.into_iter().map(odd).collect();
        let allowed = |t: &usize| words.get(t / 32).is_some_and(|w| w >> (t % 32) & 1 == 1);
        let mut best: Option<usize> = None;
        for token in (0..logits.len()).filter(allowed) {
            let most = best.map_or(f32::NEG_INFINITY, |best| logits[best]);
            if logits[token] > most {
                best = Some(token);
            }
        }
        let mut greedy = Sampler::new(SamplingConfig::greedy()).unwrap();
        let drawn = greedy.sample(&logits, Some(&words), &[]).ok();
        prop_assert_eq!(drawn, best.map(|best| best as u32));
    }

    /// Whatever the logits and the configuration, a token that is drawn is one
    /// that the oracle gives a probability.
    #[test]
    fn no_token_is_drawn_that_the_oracle_forbids(
        logits in prop::collection::vec(prop_oneof![
            -4.0_f32..4.0, Just(0.0_f32), Just(f32::NAN), Just(f32::NEG_INFINITY),
        ], 1..70),
        words in prop::option::of(prop::collection::vec(any::<u32>(), 0..4)),
        history in prop::collection::vec(0_u32..70, 0..10),
        temperature in prop_oneof![Just(0.0_f32), 0.1_f32..3.0],
        top_k in 0_usize..20,
        top_p in 0.01_f32..=1.0,
        min_p in prop_oneof![Just(0.0_f32), 0.0_f32..=1.0],
        repetition_penalty in 0.5_f32..2.0,
        repetition_window in 0_usize..6,
        seed in any::<u64>(),
    ) {
        let mut config = SamplingConfig::with_temperature(temperature, seed);
        config.top_k = top_k;
        config.top_p = top_p;
        config.min_p = min_p;
        config.repetition_penalty = repetition_penalty;
        config.repetition_window = repetition_window;
        let mask = words.as_deref();
        let possible = (0..logits.len()).any(|t| {
            logits[t] > f32::NEG_INFINITY
                && mask.is_none_or(|m| m.get(t / 32).is_some_and(|w| w >> (t % 32) & 1 == 1))
        });
        let mut sampler = Sampler::new(config.clone()).unwrap();
        let drawn = sampler.sample(&logits, mask, &history);
        prop_assert_eq!(drawn.is_ok(), possible);
        if let Ok(token) = drawn {
            // Sums in other orders and widths may differ at the very edge.
            let mut loose = config;
            loose.top_p = (loose.top_p + 1e-4).min(1.0);
            loose.min_p = (loose.min_p - 1e-4).max(0.0);
            prop_assert!(oracle(&loose, &logits, mask, &history)[token as usize] > 0.0);
        }
    }
}

/// The sampler as its module describes it, one step after the other over a
/// list of all tokens. Slow, and the same tokens.
struct Simple {
    config: SamplingConfig,
    rng: ChaCha8Rng,
}

impl Simple {
    fn new(config: &SamplingConfig) -> Simple {
        Simple {
            rng: ChaCha8Rng::seed_from_u64(config.seed),
            config: config.clone(),
        }
    }

    fn sample(&mut self, logits: &[f32], mask: Option<&[u32]>, history: &[u32]) -> Option<u32> {
        let config = &self.config;
        let seen = match config.repetition_window {
            0 => history,
            n => &history[history.len().saturating_sub(n)..],
        };
        let mut tokens: Vec<(u32, f32)> = (0..).zip(logits.iter().copied()).collect();
        tokens.retain(|(t, _)| {
            let word = |m: &[u32]| m.get(*t as usize / 32).copied().unwrap_or(0);
            mask.is_none_or(|m| word(m) >> (t % 32) & 1 == 1)
        });
        for (token, logit) in &mut tokens {
            if config.repetition_penalty != 1.0 && seen.contains(token) {
                let penalty = config.repetition_penalty;
                *logit = match *logit > 0.0 {
                    true => *logit / penalty,
                    false => *logit * penalty,
                };
            }
        }
        tokens.retain(|(_, logit)| !logit.is_nan() && *logit > f32::NEG_INFINITY);
        let most = tokens.iter().map(|t| t.1).fold(f32::NEG_INFINITY, f32::max);
        if config.temperature == 0.0 {
            return tokens.iter().find(|t| t.1 == most).map(|t| t.0);
        }
        let by_value = |a: &(u32, f32), b: &(u32, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        if config.top_k > 0 {
            tokens.sort_by(by_value);
            tokens.truncate(config.top_k);
            tokens.sort_by_key(|t| t.0);
        }
        for (_, value) in &mut tokens {
            *value = match most == f32::INFINITY {
                true => f32::from(u8::from(*value == most)),
                false => ((*value - most) / config.temperature).exp(),
            };
        }
        tokens.retain(|t| t.1 > 0.0);
        if config.top_p < 1.0 {
            let total: f64 = tokens.iter().map(|t| f64::from(t.1)).sum();
            tokens.sort_by(by_value);
            let mut sum = 0.0;
            let enough = tokens.iter().position(|t| {
                sum += f64::from(t.1);
                sum >= total * f64::from(config.top_p)
            });
            tokens.truncate(enough.map_or(tokens.len(), |at| at + 1));
        }
        tokens.retain(|t| t.1 >= config.min_p);
        let total: f64 = tokens.iter().map(|t| f64::from(t.1)).sum();
        let mut left = match tokens.is_empty() {
            true => return None,
            false => self.rng.random::<f64>() * total,
        };
        let drawn = tokens.iter().find(|t| {
            left -= f64::from(t.1);
            left < 0.0
        });
        drawn.or(tokens.last()).map(|t| t.0)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Token for token, with the same seed: whatever the logits, the mask and
    /// the cuts.
    #[test]
    fn the_fused_sampler_equals_the_simple_one(
        seed in any::<u64>(),
        width in 1usize..700,
        mask in prop::sample::select(vec!["none", "dense", "half", "few", "short", "empty"]),
        levels in prop::sample::select(vec![2u32, 30, 100_000]),
        temperature in prop::sample::select(vec![0.0f32, 1e-6, 0.3, 1.0, 7.0]),
        top_k in prop::sample::select(vec![0usize, 1, 5, 40, 1000]),
        top_p in prop::sample::select(vec![1.0f32, 0.999, 0.7, 0.1]),
        min_p in prop::sample::select(vec![0.0f32, 0.02, 0.5, 1.0]),
        penalty in prop::sample::select(vec![1.0f32, 1.3, 0.5]),
        odd in any::<bool>(),
    ) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut logits: Vec<f32> = (0..width)
            .map(|_| rng.random_range(0..levels) as f32 / levels as f32 * 40.0 - 20.0)
            .collect();
        if odd {
            let values = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, f32::MIN, f32::MAX];
            for value in values {
                let at = rng.random_range(0..width);
                logits[at] = value;
            }
        }
        let share = match mask { "dense" => 31, "half" => 16, _ => 1 };
        let words: Vec<u32> = (0..width.div_ceil(32))
            .map(|_| match mask {
                "empty" => 0,
                "dense" if rng.random_range(0..4) > 0 => u32::MAX,
                _ => (0..32).filter(|_| rng.random_range(0..32) < share).map(|bit| 1 << bit).sum(),
            })
            .collect();
        let words = match mask { "short" => &words[..words.len() / 2], _ => &words };
        let mask = (mask != "none").then_some(words);
        let mut config = SamplingConfig::with_temperature(temperature, seed);
        config.top_k = top_k;
        config.top_p = top_p;
        config.min_p = min_p;
        config.repetition_penalty = penalty;
        config.repetition_window = 3;
        let mut fused = Sampler::new(config.clone()).unwrap();
        let mut simple = Simple::new(&config);
        let mut history: Vec<u32> = Vec::new();
        for _ in 0..12 {
            let drawn = fused.sample(&logits, mask, &history).ok();
            prop_assert_eq!(drawn, simple.sample(&logits, mask, &history));
            history.extend(drawn);
        }
    }
}
