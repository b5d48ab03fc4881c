use std::time::{Duration, Instant};

use crate::Counter;

/// Nanoseconds.
pub const SECOND: u64 = 1_000_000_000;
const MILLISECOND: u64 = SECOND / 1_000;

/// Upper bounds of buckets for durations from a read in memory to a slow node, in nanoseconds.
const LATENCIES: &[u64] = &[
    MILLISECOND / 4,
    MILLISECOND,
    5 * MILLISECOND / 2,
    5 * MILLISECOND,
    10 * MILLISECOND,
    25 * MILLISECOND,
    50 * MILLISECOND,
    100 * MILLISECOND,
    250 * MILLISECOND,
    500 * MILLISECOND,
    SECOND,
    5 * SECOND / 2,
    5 * SECOND,
    10 * SECOND,
    30 * SECOND,
];

/// Counts values by size.
#[derive(Debug)]
pub struct Histogram {
    bounds: &'static [u64],
    /// Values in one unit as it is written: durations are measured in nanoseconds and written in seconds.
    unit: u64,
    /// One more than bounds.
    buckets: Box<[Counter]>,
    sum: Counter,
}

impl Histogram {
    /// Of whole numbers, with ascending upper bounds.
    #[must_use]
    pub fn new(bounds: &'static [u64]) -> Self {
        Self::with_unit(bounds, 1)
    }

    /// Of durations, with ascending upper bounds in nanoseconds.
    #[must_use]
    pub(crate) fn of_durations(bounds: &'static [u64]) -> Self {
        Self::with_unit(bounds, SECOND)
    }

    /// Of durations of requests.
    #[must_use]
    pub fn of_latencies() -> Self {
        Self::of_durations(LATENCIES)
    }

    fn with_unit(bounds: &'static [u64], unit: u64) -> Self {
        Self { bounds, unit, buckets: (0..=bounds.len()).map(|_| Counter::new()).collect(), sum: Counter::new() }
    }

    pub fn record(&self, value: u64) {
        let bucket = self.bounds.partition_point(|bound| *bound < value);
        if let Some(bucket) = self.buckets.get(bucket) {
            bucket.increment();
        }
        self.sum.add(value);
    }

    pub fn record_duration(&self, duration: Duration) {
        // Overflows after 584 years.
        self.record(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Records the time until the timer is dropped.
    #[must_use]
    pub fn start_timer(&self) -> Timer<'_> {
        Timer { histogram: self, started: Instant::now() }
    }

    /// How many values were recorded.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(Counter::get).sum()
    }

    /// The sum of all values, in the unit as it is written.
    pub(crate) fn sum(&self) -> f64 {
        in_unit(self.sum.get(), self.unit)
    }

    /// The upper bound of each bucket but the last, with the number of values up to it.
    pub(crate) fn cumulated(&self) -> impl Iterator<Item = (f64, u64)> {
        let mut count = 0;
        self.bounds.iter().zip(&self.buckets).map(move |(bound, bucket)| {
            count += bucket.get();
            (in_unit(*bound, self.unit), count)
        })
    }
}

fn in_unit(value: u64, unit: u64) -> f64 {
    if unit == 1 { value as f64 } else { value as f64 / unit as f64 }
}

/// Measures a duration until it is dropped.
#[derive(Debug)]
pub struct Timer<'a> {
    histogram: &'a Histogram,
    started: Instant,
}

impl Drop for Timer<'_> {
    fn drop(&mut self) {
        self.histogram.record_duration(self.started.elapsed());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_counted_in_the_first_bucket_that_holds_it() {
        let depths = Histogram::new(&[1, 3, 10]);
        for depth in [1, 2, 3, 4, 10, 11, 1_000] {
            depths.record(depth);
        }
        assert_eq!(depths.cumulated().collect::<Vec<_>>(), [(1.0, 1), (3.0, 3), (10.0, 5)]);
        assert_eq!((depths.count(), depths.sum()), (7, 1_031.0));
    }

    #[test]
    fn durations_are_written_in_seconds() {
        let latencies = Histogram::of_durations(&[SECOND / 2, 5 * SECOND]);
        latencies.record_duration(Duration::from_millis(250));
        latencies.record_duration(Duration::from_millis(1_500));
        drop(latencies.start_timer());
        assert_eq!(latencies.cumulated().collect::<Vec<_>>(), [(0.5, 2), (5.0, 3)]);
        assert!((1.75..1.8).contains(&latencies.sum()), "{}", latencies.sum());
    }

    #[test]
    fn bounds_of_latencies_are_ascending() {
        assert!(LATENCIES.is_sorted_by(|one, next| one < next));
    }
}
