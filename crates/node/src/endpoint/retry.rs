use std::time::Duration;

use crate::{
    config::RetryPolicy,
    endpoint::{jitter::Jitter, lane::Lane, upstream::Upstream},
    error::{NodeError, Recovery},
};

/// Attempts for one of several requests that make up a result. Five: if a fifth of the requests fail, one result in a
/// thousand still needs more.
const PART_TRIES: u32 = 5;
/// Upper bound of the first pause between attempts; it doubles with each attempt.
const PART_PAUSE: Duration = Duration::from_millis(20);

/// An error of a request.
pub(crate) trait RequestError: std::fmt::Display {
    /// Whether the request failed rather than the endpoint, so that a retry may succeed.
    fn is_request_failure(&self) -> bool;

    /// Whether there was a response that cannot be right.
    fn is_invalid_response(&self) -> bool;
}

impl RequestError for NodeError {
    fn is_request_failure(&self) -> bool {
        match self {
            Self::Dropped { .. } => true,
            Self::HttpStatus { .. } | Self::Rpc { .. } => self.recovery() == Recovery::Retry,
            _ => false,
        }
    }

    fn is_invalid_response(&self) -> bool {
        matches!(self, Self::InvalidResponse { .. })
    }
}

/// Retries one of several requests that make up a result, so that the others need not be repeated. A retry of a block goes before those
/// ahead, since they wait for it. An invalid response is requested again once: it may have been cut on its way, but an endpoint that
/// returns another one is given up.
pub(crate) async fn retry_request<T, E: RequestError, Response>(
    upstream: &Upstream,
    first_lane: Lane,
    request: impl Fn(Lane) -> Response,
) -> Result<T, E>
where
    Response: Future<Output = Result<T, E>>,
{
    let (mut lane, mut longest_pause) = (first_lane, PART_PAUSE);
    let mut was_valid = true;
    for _ in 1..PART_TRIES {
        match request(lane).await {
            Err(error)
                if error.is_request_failure()
                    || error.is_invalid_response() && std::mem::replace(&mut was_valid, false) =>
            {
                tracing::debug!(%error, "retrying a request");
                upstream.count_retry();
                tokio::time::sleep(longest_pause.mul_f64(upstream.jitter())).await;
                longest_pause *= 2;
                lane = lane.of_retry();
            }
            outcome => return outcome,
        }
    }
    request(lane).await
}

impl RetryPolicy {
    /// The pause after an attempt, counted from 1. Full jitter, so that callers that failed together do not retry together.
    /// `Retry-After` is up to the rate of the endpoint.
    pub(crate) fn pause_after(&self, tried: u32, jitter: &Jitter) -> Duration {
        let longest = self.first_pause.saturating_mul(1 << tried.saturating_sub(1).min(16)).min(self.longest_pause);
        longest.mul_f64(jitter.fraction())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_bound_with_jitter() {
        let (policy, jitter) = (RetryPolicy::default(), Jitter::new(None));
        for tried in 1..40 {
            let bound = policy.first_pause.saturating_mul(1 << (tried - 1).min(16)).min(policy.longest_pause);
            assert!((0..50).all(|_| policy.pause_after(tried, &jitter) <= bound), "try {tried}");
        }
        let pauses: Vec<_> = (0..50).map(|_| policy.pause_after(5, &jitter)).collect();
        assert!(pauses.iter().any(|pause| *pause != pauses[0]));
    }
}
