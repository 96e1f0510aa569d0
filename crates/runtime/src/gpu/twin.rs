//! The twin of the sampling kernels (`kernels/common.cuh`, `sample.cuh`): the
//! same tokens from the same seeds, written down plainly.
//!
//! It sorts where the kernels search, and is what decodes on a CPU device. All
//! sums are of integers and each floating-point step is one rounding, so that
//! twin and kernels agree to the bit, in whatever order they add.
//!
//! For example, logits of `[1.0, 3.0, 2.0]` at temperature 0 give token 1, here as on a GPU.

use super::parameters::Parameters;

/// Tokens of a tile, within which a token is drawn from the tile's own sum. A warp adds up one
/// tile, so that the sum of a vocabulary takes two levels.
pub(crate) const TILE: usize = 1024;

/// A weight is 2^38 times `exp((logit - most) / temperature)`: 38 bits, so that the sum of a tile's
/// 1,024 weights has less than 51, which [`scaled_sum`] multiplies within 64.
const WEIGHT_BITS: u32 = 38;

/// A number that orders logits as they are; the two zeros are one.
fn key_of(logit: f32) -> u32 {
    let bits = match logit.to_bits() {
        0x8000_0000 => 0,
        bits => bits,
    };
    match bits >> 31 {
        1 => !bits,
        _ => bits | 1 << 31,
    }
}

fn logit_of(key: u32) -> f32 {
    f32::from_bits(match key >> 31 {
        1 => key & 0x7FFF_FFFF,
        _ => !key,
    })
}

/// Orders tokens: the larger logit first, of equals the smaller token; 0 for a
/// logit that is no number or minus infinity.
fn rank_of(logit: f32, token: u32) -> u64 {
    match logit > f32::NEG_INFINITY {
        true => u64::from(key_of(logit)) << 32 | u64::from(!token),
        false => 0,
    }
}

fn token_of(rank: u64) -> u32 {
    !(rank as u32)
}

fn logit_of_rank(rank: u64) -> f32 {
    logit_of((rank >> 32) as u32)
}

fn weight_of(logit: f32, most: f32, temperature: f32) -> u64 {
    if most == f32::INFINITY {
        return u64::from(logit == most) << WEIGHT_BITS;
    }
    let scaled = (logit - most) / temperature;
    if scaled.is_nan() || scaled <= -30.0 {
        return 0;
    }
    #[allow(clippy::approx_constant, clippy::excessive_precision)]
    let power = scaled * 1.442_695_04_f32;
    let whole = (power + 0.5).floor();
    let part = power - whole;
    #[allow(clippy::approx_constant, clippy::excessive_precision)]
    let coefficients: [f32; 6] = [
        1.339_887_4e-3,
        9.618_437_3e-3,
        5.550_332_4e-2,
        2.402_264_8e-1,
        6.931_472_0e-1,
        1.0,
    ];
    let p = coefficients
        .into_iter()
        .fold(1.535_336_2e-4_f32, |p, c| p.mul_add(part, c));
    let mantissa = (p * 16_777_216.0) as u64;
    let shift = WEIGHT_BITS as i32 - 24 + whole as i32;
    match shift {
        0.. => mantissa << shift,
        -26..0 => (mantissa + (1 << (-shift - 1))) >> -shift,
        _ => 0,
    }
}

/// The smallest key whose weight is at least `least`; `top` has it.
fn first_key(least: u64, top: u32, most: f32, temperature: f32) -> u32 {
    let (mut low, mut high) = (0, top);
    while low < high {
        let middle = low + (high - low) / 2;
        match weight_of(logit_of(middle), most, temperature) >= least {
            true => high = middle,
            false => low = middle + 1,
        }
    }
    high
}

fn high_product(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> 64) as u64
}

fn scaled_sum(sum: u64, weight: u64) -> u64 {
    high_product(sum << 13, weight << (64 - 13 - WEIGHT_BITS))
}

/// Philox 4x32-10 (Salmon et al., 2011): two numbers from the seed and how many
/// draws came before.
fn random_of(seed: u64, draw: u64) -> (u64, u64) {
    let [mut a, mut b, mut c, mut d] = [draw as u32, (draw >> 32) as u32, 0, 0];
    let (mut k0, mut k1) = (seed as u32, (seed >> 32) as u32);
    for _ in 0..10 {
        let x = 0xD251_1F53 * u64::from(a);
        let y = 0xCD9E_8D57 * u64::from(c);
        (a, b, c, d) = (
            (y >> 32) as u32 ^ b ^ k0,
            y as u32,
            (x >> 32) as u32 ^ d ^ k1,
            x as u32,
        );
        k0 = k0.wrapping_add(0x9E37_79B9);
        k1 = k1.wrapping_add(0xBB67_AE85);
    }
    let wide = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
    (wide(a, b), wide(c, d))
}

/// Which of some weights holds the number `wanted` below their sum.
fn locate(weights: impl IntoIterator<Item = u64>, mut wanted: u64) -> Option<usize> {
    weights.into_iter().position(|weight| {
        let here = wanted < weight;
        wanted = wanted.wrapping_sub(weight);
        here
    })
}

/// Draws one text's token, and counts the draw; none where nothing can be
/// drawn. `logits` has a value for each token of the vocabulary.
pub(crate) fn draw(
    logits: &[f32],
    mask: Option<&[u32]>,
    parameters: &mut Parameters,
) -> Option<u32> {
    let allowed =
        |token: usize| mask.is_none_or(|words| words[token / 32] >> (token % 32) & 1 == 1);
    let ranks = logits
        .iter()
        .enumerate()
        .map(|(token, &logit)| match allowed(token) {
            true => rank_of(logit, token as u32),
            false => 0,
        });
    let ranks: Vec<u64> = ranks.collect();
    let best = ranks.iter().copied().max().filter(|best| *best > 0)?;
    let token = match parameters.temperature > 0.0 {
        true => drawn(&ranks, best, parameters),
        false => token_of(best),
    };
    parameters.draws = parameters.draws.wrapping_add(1);
    Some(token)
}

fn drawn(ranks: &[u64], best: u64, parameters: &Parameters) -> u32 {
    let temperature = parameters.temperature;
    let most = logit_of_rank(best);
    let weight = |rank: u64| weight_of(logit_of_rank(rank), most, temperature);
    let cut = cut_of(ranks, best, parameters, weight);
    let stays = |rank: u64| rank > 0 && rank >= cut;

    // A tile's tokens are weighed as seen from its best one.
    let best_of = |tile: &[u64]| tile.iter().copied().max().unwrap_or(0);
    let weights_of = |tile: &[u64]| -> Vec<u64> {
        let most = logit_of_rank(best_of(tile));
        let weights = tile.iter().map(|&rank| match stays(rank) {
            true => weight_of(logit_of_rank(rank), most, temperature),
            false => 0,
        });
        weights.collect()
    };
    let masses = ranks.chunks(TILE).map(|tile| match stays(best_of(tile)) {
        true => scaled_sum(weights_of(tile).iter().sum(), weight(best_of(tile))),
        false => 0,
    });
    let masses: Vec<u64> = masses.collect();
    let (first, second) = random_of(parameters.seed, parameters.draws);
    let wanted = high_product(first, masses.iter().sum());
    let Some(number) = locate(masses, wanted) else {
        return token_of(best);
    };
    let tile = &ranks[number * TILE..ranks.len().min((number + 1) * TILE)];
    let weights = weights_of(tile);
    let wanted = high_product(second, weights.iter().sum());
    match locate(weights, wanted) {
        Some(at) => (number * TILE + at) as u32,
        None => token_of(best_of(tile)),
    }
}

/// The rank at and above which tokens stay; 0 if all do.
fn cut_of(ranks: &[u64], best: u64, parameters: &Parameters, weight: impl Fn(u64) -> u64) -> u64 {
    let filtered = parameters.top_k > 0 || parameters.top_p < 1.0 || parameters.min_p > 0.0;
    if !filtered {
        return 0;
    }
    let mut sorted: Vec<u64> = ranks.iter().copied().filter(|&rank| rank > 0).collect();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    let mut cut = 0;
    if let Some(&last) = (parameters.top_k as usize)
        .checked_sub(1)
        .filter(|last| last + 1 < sorted.len())
        .and_then(|last| sorted.get(last))
    {
        cut = last;
        sorted.truncate(parameters.top_k as usize);
    }
    if parameters.top_p < 1.0 {
        let sum: u64 = sorted.iter().map(|&rank| weight(rank)).sum();
        let wanted = (sum as f64 * f64::from(parameters.top_p)) as u64;
        let mut left = wanted.max(1);
        for &rank in &sorted {
            cut = rank;
            match left.checked_sub(weight(rank)) {
                None | Some(0) => break,
                Some(rest) => left = rest,
            }
        }
    }
    if parameters.min_p > 0.0 {
        let light = (f64::from(parameters.min_p) * (1u64 << WEIGHT_BITS) as f64) as u64;
        let (most, top) = (logit_of_rank(best), (best >> 32) as u32);
        let bound = first_key(light, top, most, parameters.temperature);
        cut = cut.max(u64::from(bound) << 32);
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known answers that come with the paper's library (Random123).
    #[test]
    fn random_numbers_are_the_published_ones() {
        assert_eq!(
            random_of(0, 0),
            (0xE169_C58D_6627_E8D5, 0x9B00_DBD8_BC57_AC4C)
        );
    }

    #[test]
    fn weights_are_those_of_the_exponential_function() {
        for (most, temperature) in [(3.0f32, 0.7f32), (-2.0, 1.0), (0.0, 4.5)] {
            for step in 0..4000 {
                let logit = most - step as f32 / 171.0;
                let exact = (f64::from(logit - most) / f64::from(temperature)).exp();
                let found =
                    weight_of(logit, most, temperature) as f64 / (1u64 << WEIGHT_BITS) as f64;
                assert!(
                    (found - exact).abs() <= 3e-6 * exact + 1e-11,
                    "{logit} {found} {exact}"
                );
            }
            assert_eq!(weight_of(most, most, temperature), 1 << WEIGHT_BITS);
        }
        assert_eq!(weight_of(f32::NEG_INFINITY, 1.0, 1.0), 0);
        assert_eq!(weight_of(5.0, f32::INFINITY, 1.0), 0);
        assert_eq!(weight_of(-1.0, 1.0, f32::MIN_POSITIVE), 0);
    }

    #[test]
    fn ranks_order_logits_and_then_tokens() {
        let logits = [
            f32::NEG_INFINITY,
            f32::MIN,
            -1.0,
            -f32::MIN_POSITIVE,
            0.0,
            1e-40,
            2.5,
            f32::INFINITY,
        ];
        let ranks: Vec<u64> = logits.iter().map(|&logit| rank_of(logit, 7)).collect();
        assert!(ranks.is_sorted_by(|a, b| a < b));
        for (rank, logit) in ranks.iter().zip(logits).skip(1) {
            assert_eq!((token_of(*rank), logit_of_rank(*rank)), (7, logit));
        }
        assert!(rank_of(1.0, 3) > rank_of(1.0, 4));
        assert_eq!(rank_of(-0.0, 3), rank_of(0.0, 3));
        assert_eq!(rank_of(f32::NAN, 0), 0);
    }
}
