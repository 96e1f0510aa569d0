//! Attention of a text's new tokens over all that it has seen. For example, with 5 tokens in the
//! cache and 2 new ones, the first of them sees 6 and the second 7, or fewer within a window.

use candle_core::{D, Device, Result, Tensor};
use candle_nn::ops::softmax_last_dim;

use super::cache::KvCache;
use super::config::ModelConfig;
use super::matrix::Norm;
use super::rotary::Rotary;

/// The range that the tokens of one call see, in layers of one kind.
#[derive(Debug)]
pub(super) struct Sight {
    cos: Tensor,
    sin: Tensor,
    mask: Option<Tensor>,
}

impl Sight {
    /// Returns the range of `count` tokens from `position` on.
    pub(super) fn new(
        rotary: &mut Rotary,
        position: usize,
        count: usize,
        window: Option<usize>,
    ) -> Result<Sight> {
        let (cos, sin) = rotary.angles(position, count)?;
        let mask = match count == 1 && window.is_none_or(|window| position < window) {
            true => None,
            false => Some(causal_mask(count, position, window, cos.device())?),
        };
        Ok(Sight { cos, sin, mask })
    }
}

/// The norms of queries and keys, head by head, where there are any.
pub(super) type HeadNorms<'a> = (Option<&'a Norm>, Option<&'a Norm>);

/// Gathers for one text's new tokens the values of those it has seen and their own: queries, keys
/// and values are `[tokens, heads * width]` each, and so is the result. Keys and values are kept in
/// the cache.
///
/// Heads that share keys are laid side by side as rows of one product, so that
/// keys are never repeated.
pub(super) fn attend(
    [query, key, value]: [Tensor; 3],
    (query_norm, key_norm): HeadNorms<'_>,
    config: &ModelConfig,
    (rotary, sight): (&Rotary, &Sight),
    cache: &mut KvCache,
) -> Result<Tensor> {
    let (tokens, _) = query.dims2()?;
    let (heads, groups, width) = (config.heads, config.key_value_heads, config.head_dim);
    let split = |x: Tensor, heads: usize, norm: Option<&Norm>| {
        let x = x.reshape((tokens, heads, width))?;
        let x = match norm {
            Some(norm) => norm.forward(&x)?,
            None => x,
        };
        x.transpose(0, 1)?.contiguous()
    };
    let query = split(query, heads, query_norm)?;
    let key = split(key, groups, key_norm)?;
    let value = split(value, groups, None)?;
    let query = rotary.turn(&query, (&sight.cos, &sight.sin))?;
    let key = rotary.turn(&key, (&sight.cos, &sight.sin))?;
    let (keys, values) = cache.append(&key, &value)?;
    let seen = keys.dim(1)?;

    let query = query.reshape((groups, heads / groups * tokens, width))?;
    let scores = (query.matmul(&keys.transpose(1, 2)?)? * config.attention_scale.powf(-0.5))?;
    let scores = capped(scores, config.attention_cap)?;
    let scores = match &sight.mask {
        Some(mask) => scores
            .reshape((heads, tokens, seen))?
            .broadcast_add(mask)?
            .reshape((groups, heads / groups * tokens, seen))?,
        None => scores,
    };
    let mixed = softmax_last_dim(&scores)?.matmul(&values)?;
    mixed
        .reshape((heads, tokens, width))?
        .transpose(0, 1)?
        .contiguous()?
        .flatten_from(D::Minus2)
}

/// Presses values between minus `cap` and `cap`.
pub(super) fn capped(x: Tensor, cap: Option<f64>) -> Result<Tensor> {
    match cap {
        None => Ok(x),
        Some(cap) => (x / cap)?.tanh()? * cap,
    }
}

/// `[tokens, position + tokens]`, minus infinity where a token would look ahead,
/// or further back than its window.
fn causal_mask(
    tokens: usize,
    position: usize,
    window: Option<usize>,
    device: &Device,
) -> Result<Tensor> {
    let seen = position + tokens;
    let mut mask = vec![0_f32; tokens * seen];
    for (i, row) in mask.chunks_exact_mut(seen).enumerate() {
        let next = position + i + 1;
        row[next..].fill(f32::NEG_INFINITY);
        if let Some(window) = window {
            row[..next.saturating_sub(window)].fill(f32::NEG_INFINITY);
        }
    }
    Tensor::from_vec(mask, (tokens, seen), device)
}
