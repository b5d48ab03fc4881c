use std::time::Duration;

use domain::JobVerdict;
use metrics::Histogram;

/// Times of verifications from their submission to the verdict, since the start.
#[derive(Debug)]
pub struct VerificationMetrics {
    pub verified: Histogram,
    /// The source does not match.
    pub refused: Histogram,
    /// There is no verdict.
    pub failed: Histogram,
}

impl Default for VerificationMetrics {
    fn default() -> Self {
        Self {
            verified: Histogram::of_latencies(),
            refused: Histogram::of_latencies(),
            failed: Histogram::of_latencies(),
        }
    }
}

impl VerificationMetrics {
    pub(super) fn record(&self, verdict: &JobVerdict, time: Duration) {
        let times = match verdict {
            JobVerdict::Verified { .. } => &self.verified,
            JobVerdict::Refused { .. } => &self.refused,
            JobVerdict::Failed(_) => &self.failed,
        };
        times.record_duration(time);
    }
}
