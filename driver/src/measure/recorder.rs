//! The record of a slice. Its memory is allocated when a session opens and reused for each slice.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

use super::pacing::{Nanosecond, SECOND};
use crate::protocol::event::Latency;

/// The upper bound of response times, 137 s; bounds are fixed, so that histograms of any two slices
/// can be added.
const LONGEST: Nanosecond = 1 << 37;
const SIGNIFICANT_DIGITS: u8 = 2;
const EXPECTED_SECONDS: usize = 64;

pub const WRONG_ROW_COUNT: &str = "wrong-row-count";

pub struct Recorder {
    histogram: Histogram<u64>,
    latency_sum: u128,
    latency_max: Nanosecond,
    pub per_second: Vec<Second>,
    pub operations: u64,
    pub statements: u64,
    pub rows: u64,
    pub retries: u64,
    pub errors: BTreeMap<String, u64>,
    /// The text of the first error of each key.
    pub error_texts: BTreeMap<String, String>,
    pub lag: Lag,
}

/// The record of one second of the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Second {
    /// Operations that finished in it.
    pub operations: u64,
    pub rows: u64,
    /// Their longest response time.
    pub max: Nanosecond,
    /// The longest lag of the operations that began in it, relative to the schedule.
    pub lag: Nanosecond,
}

/// The lag of the operations of an open loop, relative to the schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lag {
    pub operations: u64,
    pub late: u64,
    pub sum: u128,
    pub max: Nanosecond,
}

impl Recorder {
    pub fn new() -> Self {
        Self {
            histogram: Histogram::new_with_bounds(1, LONGEST, SIGNIFICANT_DIGITS)
                .expect("the bounds are valid"),
            latency_sum: 0,
            latency_max: 0,
            per_second: Vec::with_capacity(EXPECTED_SECONDS),
            operations: 0,
            statements: 0,
            rows: 0,
            retries: 0,
            errors: BTreeMap::new(),
            error_texts: BTreeMap::new(),
            lag: Lag::default(),
        }
    }

    pub fn reset(&mut self) {
        self.histogram.reset();
        self.latency_sum = 0;
        self.latency_max = 0;
        self.per_second.clear();
        self.operations = 0;
        self.statements = 0;
        self.rows = 0;
        self.retries = 0;
        self.errors.clear();
        self.error_texts.clear();
        self.lag = Lag::default();
    }

    /// Record that an operation begins `now` and was due at `due`; its predecessor ended at
    /// `finished`.
    pub fn began(&mut self, now: Nanosecond, due: Nanosecond, finished: Nanosecond) {
        let lag = now.saturating_sub(due);
        self.lag.record(lag);
        self.lag.late += u64::from(due < finished);
        let second = self.second(now);
        second.lag = second.lag.max(lag);
    }

    /// Record that an operation ended at `finished`, `latency` after it began or was due.
    #[inline(always)] // called for every operation
    pub fn completed(&mut self, finished: Nanosecond, latency: Nanosecond, rows: u64) {
        self.operations += 1;
        self.rows += rows;
        self.histogram.saturating_record(latency);
        self.latency_sum += u128::from(latency);
        self.latency_max = self.latency_max.max(latency);
        let second = self.second(finished);
        second.operations += 1;
        second.rows += rows;
        second.max = second.max.max(latency);
    }

    fn second(&mut self, time: Nanosecond) -> &mut Second {
        let second = (time / SECOND) as usize;
        if second >= self.per_second.len() {
            self.per_second.resize(second + 1, Second::default());
        }
        &mut self.per_second[second]
    }

    /// Count an error by its key; `text` returns the text of the first one.
    pub fn error(&mut self, key: &str, text: impl FnOnce() -> String) {
        match self.errors.get_mut(key) {
            Some(count) => *count += 1,
            None => {
                self.errors.insert(key.to_owned(), 1);
                self.error_texts.insert(key.to_owned(), text());
            }
        }
    }

    pub fn merge(&mut self, other: &Self) {
        self.histogram
            .add(&other.histogram)
            .expect("the bounds are equal");
        self.latency_sum += other.latency_sum;
        self.latency_max = self.latency_max.max(other.latency_max);
        if self.per_second.len() < other.per_second.len() {
            self.per_second
                .resize(other.per_second.len(), Second::default());
        }
        for (sum, second) in self.per_second.iter_mut().zip(&other.per_second) {
            sum.operations += second.operations;
            sum.rows += second.rows;
            sum.max = sum.max.max(second.max);
            sum.lag = sum.lag.max(second.lag);
        }
        self.operations += other.operations;
        self.statements += other.statements;
        self.rows += other.rows;
        self.retries += other.retries;
        for (key, count) in &other.errors {
            *self.errors.entry(key.clone()).or_default() += count;
        }
        for (key, text) in &other.error_texts {
            let texts = self.error_texts.entry(key.clone());
            texts.or_insert_with(|| text.clone());
        }
        self.lag.merge(other.lag);
    }

    pub fn latency(&self) -> Latency {
        let (values_ns, counts) = self
            .histogram
            .iter_recorded()
            .map(|bucket| {
                let value = self.histogram.median_equivalent(bucket.value_iterated_to());
                (value, bucket.count_at_value())
            })
            .unzip();
        Latency {
            values_ns,
            counts,
            max_ns: self.latency_max,
            mean_ns: self.latency_sum as f64 / self.operations.max(1) as f64,
        }
    }
}

impl Lag {
    pub fn record(&mut self, lag: Nanosecond) {
        self.operations += 1;
        self.sum += u128::from(lag);
        self.max = self.max.max(lag);
    }

    fn merge(&mut self, other: Self) {
        self.operations += other.operations;
        self.late += other.late;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }

    pub fn mean(&self) -> f64 {
        self.sum as f64 / self.operations.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_keep_two_digits_and_the_exact_maximum() {
        let mut recorder = Recorder::new();
        let exact: [Nanosecond; 3] = [1_234, 56_789, 98_765_432_101];
        exact
            .iter()
            .for_each(|&latency| recorder.completed(0, latency, 1));
        let latency = recorder.latency();
        assert_eq!(latency.max_ns, 98_765_432_101);
        assert_eq!(latency.counts, [1, 1, 1]);
        let exact = exact.map(|latency| latency as f64);
        assert_eq!(latency.mean_ns, exact.iter().sum::<f64>() / 3.0);
        for (value, exact) in latency.values_ns.iter().zip(exact) {
            assert!((*value as f64 / exact - 1.0).abs() < 0.005);
        }
    }

    #[test]
    fn latencies_beyond_the_bounds_are_kept_in_the_last_bucket() {
        let mut recorder = Recorder::new();
        recorder.completed(0, 1 << 45, 1);
        assert_eq!(recorder.latency().counts, [1]);
        assert_eq!(recorder.latency().max_ns, 1 << 45);
    }

    #[test]
    fn seconds_hold_what_finished_in_them() {
        let mut recorder = Recorder::new();
        recorder.completed(999_999_999, 5, 1);
        recorder.completed(2_000_000_000, 7, 1);
        recorder.completed(2_000_000_001, 6, 1);
        recorder.began(2_000_000_002, 1_999_999_993, 2_000_000_001);
        let second = |operations, max, lag| Second {
            operations,
            rows: operations,
            max,
            lag,
        };
        assert_eq!(
            recorder.per_second,
            [second(1, 5, 0), second(0, 0, 0), second(2, 7, 9)]
        );
        assert_eq!((recorder.lag.late, recorder.lag.max), (1, 9));
    }

    #[test]
    fn merging_is_recording_together() {
        let (mut first, mut second, mut both) = (Recorder::new(), Recorder::new(), Recorder::new());
        for (time, latency) in [(1, 10), (2 * SECOND, 1000)] {
            first.completed(time, latency, 1);
            both.completed(time, latency, 1);
        }
        for (time, latency) in [(SECOND, 77), (3 * SECOND, 5)] {
            second.completed(time, latency, 1);
            both.completed(time, latency, 1);
        }
        first.error("40001", || "first".to_owned());
        second.error("40001", || "second".to_owned());
        first.merge(&second);
        assert_eq!(first.per_second, both.per_second);
        assert_eq!(first.latency().values_ns, both.latency().values_ns);
        assert_eq!(first.latency().mean_ns, both.latency().mean_ns);
        assert_eq!(first.errors["40001"], 2);
        assert_eq!(first.error_texts["40001"], "first");
    }

    #[test]
    fn a_reset_recorder_is_as_new() {
        let mut recorder = Recorder::new();
        recorder.completed(1, 10, 1);
        recorder.error("40001", String::new);
        recorder.lag.record(5);
        recorder.reset();
        assert!(recorder.latency().counts.is_empty());
        assert!(recorder.per_second.is_empty() && recorder.errors.is_empty());
        assert!(recorder.error_texts.is_empty());
        assert_eq!((recorder.operations, recorder.lag), (0, Lag::default()));
    }
}
