use std::time::Duration;

use domain::{AttemptEffect, AttemptReport, NextStep};
use metrics::{Counter, Histogram};

/// How attempts to deliver messages ended since the start.
#[derive(Debug)]
pub struct DeliveryMetrics {
    pub delivered: Counter,
    /// Failed, and tried again later.
    pub retried: Counter,
    /// Failed for the last time.
    pub given_up: Counter,
    /// The receiver responded with 410 Gone.
    pub gone: Counter,
    /// From connecting to the end of the response.
    pub times: Histogram,
}

impl Default for DeliveryMetrics {
    fn default() -> Self {
        Self {
            delivered: Counter::new(),
            retried: Counter::new(),
            given_up: Counter::new(),
            gone: Counter::new(),
            times: Histogram::of_latencies(),
        }
    }
}

impl DeliveryMetrics {
    pub(super) fn record(&self, report: &AttemptReport) {
        let counter = match (report.effect, report.next) {
            (AttemptEffect::Succeeded, _) => &self.delivered,
            (AttemptEffect::Gone, _) => &self.gone,
            (AttemptEffect::Failed, NextStep::GiveUp) => &self.given_up,
            (AttemptEffect::Failed, NextStep::RetryAt(_) | NextStep::Done) => &self.retried,
        };
        counter.increment();
        self.times.record_duration(Duration::from_millis(report.attempt.millis.into()));
    }
}
