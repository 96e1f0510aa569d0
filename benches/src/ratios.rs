//! Computes how many times faster one engine was than another on the same cases, and how sure that
//! is: 95% intervals by resampling the cases (the percentile bootstrap of Efron, "Bootstrap
//! Methods: Another Look at the Jackknife", 1979). For example, masks of 3 us against 9 us in every
//! case are a ratio of 3.0, from 3.0 to 3.0.

use std::collections::BTreeMap;

use rand::{RngExt as _, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use crate::stats::{percentile, place_of};

/// The number of times that cases are drawn anew: the ends of a 95% interval need some hundreds,
/// because 2.5% of 300 are only 7.
const ROUNDS: usize = 300;

/// The times of one case, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CaseTimes {
    /// Masks in the shared pass.
    pub mask: Vec<u64>,
    /// Steps in the shared pass.
    pub advance: Vec<u64>,
    /// Masks of a schema compiled for one text.
    pub cold_mask: Vec<u64>,
    /// Masks that were asked for before.
    pub warm_mask: Vec<u64>,
    /// Compiling and the first mask.
    pub first_mask: Vec<u64>,
}

/// By the names of cases.
pub type Cases = BTreeMap<String, CaseTimes>;

/// A figure of the other engine over the same of ours.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ratio {
    /// The name of the figure.
    pub what: String,
    /// Over all cases.
    pub ratio: f64,
    /// 95% of the ratios over cases drawn anew lie above this,
    pub low: f64,
    /// and below this.
    pub high: f64,
}

/// A figure of many times.
#[derive(Clone, Copy, Debug)]
enum Figure {
    Average,
    Percentile(f64),
}

impl Figure {
    fn name(self) -> String {
        match self {
            Figure::Average => "avg".to_owned(),
            Figure::Percentile(p) => format!("p{p}"),
        }
    }

    /// O(n): percentiles by selection, not by sorting.
    fn of(self, times: &mut [u64]) -> f64 {
        match self {
            Figure::Average => times.iter().sum::<u64>() as f64 / times.len().max(1) as f64,
            Figure::Percentile(_) if times.is_empty() => 0.0,
            Figure::Percentile(p) => {
                let place = place_of(p, times.len());
                *times.select_nth_unstable(place).1 as f64
            }
        }
    }
}

type Times = fn(&CaseTimes) -> &[u64];

/// The ratios on the cases that both engines took, `theirs` over `ours`: above 1 ours is faster.
/// The same seed gives the same intervals.
pub fn ratios(ours: &Cases, theirs: &Cases, seed: u64) -> Vec<Ratio> {
    let both: Vec<(&CaseTimes, &CaseTimes)> = ours
        .iter()
        .filter_map(|(name, case)| Some((case, theirs.get(name)?)))
        .collect();
    if both.is_empty() {
        return Vec::new();
    }
    let most = [50.0, 90.0, 99.0, 99.9].map(Figure::Percentile);
    let tail = [Figure::Percentile(99.0), Figure::Percentile(99.9)];
    let first = [Figure::Percentile(50.0), Figure::Percentile(99.0)];
    let parts: [(&str, Times, &[Figure]); 5] = [
        ("mask", |c| &c.mask, &most),
        ("cold mask", |c| &c.cold_mask, &tail),
        ("warm mask", |c| &c.warm_mask, &tail),
        ("advance", |c| &c.advance, &tail),
        ("compile + first mask", |c| &c.first_mask, &first),
    ];
    let mut out = Vec::new();
    for (name, times, figures) in parts {
        for &figure in [Figure::Average].iter().chain(figures) {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let everything: Vec<usize> = (0..both.len()).collect();
            let ratio = over(&both, &everything, times, figure);
            let mut drawn: Vec<f64> = (0..ROUNDS)
                .map(|_| {
                    let draw = || rng.random_range(0..both.len());
                    let chosen: Vec<usize> =
                        std::iter::repeat_with(draw).take(both.len()).collect();
                    over(&both, &chosen, times, figure)
                })
                .collect();
            drawn.sort_by(f64::total_cmp);
            out.push(Ratio {
                what: format!("{name} {}", figure.name()),
                ratio,
                low: percentile(&drawn, 2.5).unwrap_or_default(),
                high: percentile(&drawn, 97.5).unwrap_or_default(),
            });
        }
    }
    out
}

fn over(both: &[(&CaseTimes, &CaseTimes)], chosen: &[usize], times: Times, figure: Figure) -> f64 {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for &at in chosen {
        ours.extend(times(both[at].0));
        theirs.extend(times(both[at].1));
    }
    figure.of(&mut theirs) / figure.of(&mut ours).max(f64::MIN_POSITIVE)
}

/// The table: a line a ratio.
pub fn table(ours: &str, theirs: &str, ratios: &[Ratio]) -> String {
    let mut out = format!("{theirs} / {ours}, on the cases that both take (95% interval)\n");
    for Ratio {
        what,
        ratio,
        low,
        high,
    } in ratios
    {
        out += &format!("{what:<30} {ratio:>8.2}   ({low:.2} to {high:.2})\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cases(factor: u64) -> Cases {
        (1..=40u64)
            .map(|n| {
                let times: Vec<u64> = (1..=n).map(|t| t * 100 * factor).collect();
                let case = CaseTimes {
                    mask: times.clone(),
                    advance: times.clone(),
                    cold_mask: times.clone(),
                    warm_mask: times.clone(),
                    first_mask: times,
                };
                (format!("case {n}"), case)
            })
            .collect()
    }

    #[test]
    fn a_constant_factor_is_certain() {
        for ratio in ratios(&cases(1), &cases(3), 7) {
            assert!((ratio.ratio - 3.0).abs() < 1e-9, "{ratio:?}");
            assert!((ratio.low - 3.0).abs() < 1e-9 && (ratio.high - 3.0).abs() < 1e-9);
        }
    }

    #[test]
    fn one_case_that_differs_makes_it_uncertain() {
        let mut theirs = cases(1);
        theirs.get_mut("case 40").unwrap().mask = vec![1_000_000; 40];
        let all = ratios(&cases(1), &theirs, 7);
        let average = &all[0];
        assert_eq!(average.what, "mask avg");
        assert!(
            average.low < average.ratio && average.ratio < average.high,
            "{average:?}"
        );
        assert_eq!(ratios(&cases(1), &theirs, 7), all);
    }

    #[test]
    fn only_common_cases_count() {
        let mut theirs = cases(2);
        theirs.retain(|name, _| name == "case 3");
        assert!((ratios(&cases(1), &theirs, 1)[0].ratio - 2.0).abs() < 1e-9);
        assert!(ratios(&cases(1), &Cases::new(), 1).is_empty());
    }
}
