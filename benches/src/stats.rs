//! Summaries of many measurements. For example, a [`Summary`] of a thousand masks has their average
//! and their median.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// Average, percentiles and maximum of a set of measurements, in their unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The number of measurements; with none, everything is zero.
    pub count: usize,
    /// The arithmetic mean.
    pub avg: f64,
    /// The first quartile.
    pub p25: f64,
    /// The median.
    pub p50: f64,
    /// The third quartile.
    pub p75: f64,
    /// The 90th percentile.
    pub p90: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The 99.9th percentile.
    pub p999: f64,
    /// The largest.
    pub max: f64,
}

impl Summary {
    /// Summarises `values`. O(n log n).
    pub fn new(mut values: Vec<f64>) -> Summary {
        values.sort_by(f64::total_cmp);
        let Some(&max) = values.last() else {
            return Summary::default();
        };
        let at = |percent| percentile(&values, percent).unwrap_or_default();
        Summary {
            count: values.len(),
            avg: values.iter().sum::<f64>() / values.len() as f64,
            p25: at(25.0),
            p50: at(50.0),
            p75: at(75.0),
            p90: at(90.0),
            p99: at(99.0),
            p999: at(99.9),
            max,
        }
    }

    /// Summarises nanoseconds in microseconds.
    pub fn of_nanoseconds(values: &[u64]) -> Summary {
        Summary::new(values.iter().map(|&ns| ns as f64 / 1000.0).collect())
    }
}

/// The smallest of the sorted `values` that at least `percent` % of them do not exceed (the
/// nearest-rank definition).
pub fn percentile(values: &[f64], percent: f64) -> Option<f64> {
    values.get(place_of(percent, values.len())).copied()
}

/// The place of that value among so many sorted ones.
pub fn place_of(percent: f64, values: usize) -> usize {
    // Rounded to a millionth of a rank, so that 99.9 % of 1000 is rank 999 and not 1000.
    let rank = (percent * values as f64 / 100.0 - 1e-6).ceil() as usize;
    rank.max(1) - 1
}

/// Tells how long this thread was busy with something: the shorter of the time that went by and
/// of the thread's own, which the system does not count while something else runs.
#[derive(Debug)]
pub struct Stopwatch {
    thread: Duration,
    start: Instant,
}

impl Stopwatch {
    /// Begins now.
    pub fn start() -> Stopwatch {
        Stopwatch {
            thread: own_time(),
            start: Instant::now(),
        }
    }

    /// The time until now.
    pub fn elapsed(&self) -> Duration {
        let went_by = self.start.elapsed();
        went_by.min(own_time().saturating_sub(self.thread))
    }
}

fn own_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(
        time.tv_sec.try_into().unwrap_or_default(),
        time.tv_nsec.try_into().unwrap_or_default(),
    )
}

/// The things that took longest, of all that are offered.
#[derive(Debug)]
pub struct Longest<T> {
    most: usize,
    list: Vec<(Duration, T)>,
    /// The least time that is kept: a shorter one is not among the longest.
    least: Duration,
}

impl<T> Longest<T> {
    /// At most so many.
    pub fn new(most: usize) -> Longest<T> {
        Longest {
            most,
            list: Vec::new(),
            least: Duration::ZERO,
        }
    }

    /// Makes a thing that took so long, if it is among them now.
    pub fn offer(&mut self, time: Duration, make: impl FnOnce() -> T) {
        if self.most == 0 || time <= self.least {
            return;
        }
        self.list.push((time, make()));
        // Sorted once for as many as are kept, so that an offer costs little on average.
        if self.list.len() >= 2 * self.most {
            self.tidy();
            self.least = self.list.last().map_or(Duration::ZERO, |last| last.0);
        }
    }

    fn tidy(&mut self) {
        self.list.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
        self.list.truncate(self.most);
    }

    /// They, the longest first.
    pub fn into_sorted(mut self) -> Vec<(Duration, T)> {
        self.tidy();
        self.list
    }
}

/// The geometric mean of positive `values`; 0 of none.
pub fn geometric_mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), v| (sum + v.ln(), count + 1));
    match count {
        0 => 0.0,
        _ => (sum / f64::from(count)).exp(),
    }
}

/// The slope of the line of least squares through points; 0 where there is none.
pub fn slope(points: &[(f64, f64)]) -> f64 {
    let n = points.len().max(1) as f64;
    let (mx, my) = points
        .iter()
        .fold((0.0, 0.0), |(a, b), (x, y)| (a + x / n, b + y / n));
    let (above, below) = points.iter().fold((0.0, 0.0), |(a, b), (x, y)| {
        (a + (x - mx) * (y - my), b + (x - mx).powi(2))
    });
    above / below.max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_by_nearest_rank() {
        let ten: Vec<f64> = (1..=10).map(f64::from).collect();
        assert_eq!(percentile(&ten, 50.0), Some(5.0));
        assert_eq!(percentile(&ten, 25.0), Some(3.0));
        assert_eq!(percentile(&ten, 90.0), Some(9.0));
        assert_eq!(percentile(&ten, 99.0), Some(10.0));
        assert_eq!(percentile(&ten, 0.0), Some(1.0));
        assert_eq!(percentile(&[7.0], 99.9), Some(7.0));
        assert_eq!(percentile(&[], 50.0), None);
        let thousand: Vec<f64> = (1..=1000).map(f64::from).collect();
        assert_eq!(percentile(&thousand, 99.9), Some(999.0));
    }

    #[test]
    fn the_longest_are_kept() {
        let mut longest = Longest::new(3);
        for n in [5, 1, 9, 2, 8, 7, 3, 6, 4, 0u64] {
            longest.offer(Duration::from_secs(n), || n);
        }
        let kept: Vec<u64> = longest.into_sorted().into_iter().map(|(_, n)| n).collect();
        assert_eq!(kept, [9, 8, 7]);
        let mut none = Longest::new(0);
        none.offer(Duration::MAX, || unreachable!("nothing is kept"));
        assert!(none.into_sorted().is_empty());
    }

    #[test]
    fn a_slope_is_that_of_the_line() {
        let line = [(1.0, 5.0), (2.0, 7.0), (4.0, 11.0)];
        assert!((slope(&line) - 2.0).abs() < 1e-9);
        assert!((slope(&[(0.0, 0.0), (1.0, 1.0), (2.0, 0.0)])).abs() < 1e-9);
        assert_eq!((slope(&[]), slope(&[(3.0, 4.0)])), (0.0, 0.0));
    }

    #[test]
    fn a_geometric_mean_balances_ratios() {
        assert!((geometric_mean([2.0, 8.0].into_iter()) - 4.0).abs() < 1e-9);
        assert_eq!(geometric_mean(std::iter::empty()), 0.0);
    }

    #[test]
    fn a_summary_does_not_depend_on_the_order() {
        let summary = Summary::new(vec![3.0, 1.0, 2.0]);
        assert_eq!(
            (summary.count, summary.avg, summary.p50, summary.max),
            (3, 2.0, 2.0, 3.0)
        );
        assert_eq!(Summary::new(Vec::new()), Summary::default());
        assert_eq!(Summary::of_nanoseconds(&[1500]).max, 1.5);
    }
}
