//! Probabilities under a mask, by the plain softmax of the logits.
//!
//! For example, of two allowed tokens with the same logit each has one half.

use super::candidates::{Candidate, allowed, better};

/// A token with its logit and probability.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Probability {
    /// The token.
    pub token: u32,
    /// Its logit, as the model gave it.
    pub logit: f32,
    /// Its share of the softmax over the tokens asked about.
    pub probability: f32,
}

/// The natural logarithm of a token's probability under a mask (or among all
/// tokens), by the plain softmax of the logits; minus infinity if it is masked.
///
/// O(allowed tokens).
///
/// ```
/// use tokenmold::sampling::log_probability;
///
/// assert!((log_probability(&[1.0, 1.0], None, 0) - 0.5_f32.ln()).abs() < 1e-6);
/// ```
pub fn log_probability(logits: &[f32], mask: Option<&[u32]>, token: u32) -> f32 {
    let all = finite(logits, mask);
    let Some(own) = all.iter().find(|c| c.token == token) else {
        return f32::NEG_INFINITY;
    };
    let most = largest(&all);
    if most == f32::INFINITY {
        // Tokens with an infinite logit share everything.
        let sharing = all.iter().filter(|c| c.value == most).count();
        return match own.value == most {
            true => -(sharing as f32).ln(),
            false => f32::NEG_INFINITY,
        };
    }
    let total: f64 = all.iter().map(|c| f64::from(c.value - most).exp()).sum();
    (f64::from(own.value - most) - total.ln()) as f32
}

/// The tokens that a mask allows (or all) whose logits are above minus infinity, in ascending order.
fn finite(logits: &[f32], mask: Option<&[u32]>) -> Vec<Candidate> {
    let candidate = |at: usize| Candidate {
        token: at as u32,
        value: logits[at],
    };
    let mut all: Vec<Candidate> = match mask {
        Some(words) => allowed(words, logits.len()).map(candidate).collect(),
        None => (0..logits.len()).map(candidate).collect(),
    };
    all.retain(|c| c.value > f32::NEG_INFINITY);
    all
}

fn largest(all: &[Candidate]) -> f32 {
    let values = all.iter().map(|c| c.value);
    values.fold(f32::NEG_INFINITY, f32::max)
}

/// The `count` most probable tokens under a mask (or all of them), by the
/// plain softmax of their logits, the most probable first.
///
/// O(allowed tokens).
///
/// ```
/// use tokenmold::sampling::top_probabilities;
///
/// let top = top_probabilities(&[0.0, 2.0, 1.0], None, 2);
/// assert_eq!(top.iter().map(|one| one.token).collect::<Vec<_>>(), [1, 2]);
/// ```
pub fn top_probabilities(logits: &[f32], mask: Option<&[u32]>, count: usize) -> Vec<Probability> {
    let mut all = finite(logits, mask);
    let most = largest(&all);
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
