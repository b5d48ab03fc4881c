use std::time::Duration;

use crate::{NodeError, RetryPolicy, error::Recovery, jitter::Jitter, limiter::Priority, upstream::Upstream};

/// Attempts for one of several requests that make up a result. Five: if a fifth of the requests fail, one result in a
/// thousand still needs more.
const PART_TRIES: u32 = 5;
/// Upper bound of the first pause between attempts; it doubles with each attempt.
const PART_PAUSE: Duration = Duration::from_millis(20);

/// An error of a request.
pub(crate) trait RequestError: std::fmt::Display {
    /// Whether the request failed rather than the endpoint, so that a retry may succeed.
    fn is_request_failure(&self) -> bool;
}

impl RequestError for NodeError {
    fn is_request_failure(&self) -> bool {
        match self {
            Self::Dropped { .. } => true,
            Self::HttpStatus { .. } | Self::Rpc { .. } => self.recovery() == Recovery::Retry,
            _ => false,
        }
    }
}

/// Retries one of several requests that make up a result, so that the others need not be repeated. A retry skips the queue,
/// since later blocks wait for this one.
pub(crate) async fn retry_request<T, E: RequestError, Response>(
    upstream: &Upstream,
    first_priority: Priority,
    request: impl Fn(Priority) -> Response,
) -> Result<T, E>
where
    Response: Future<Output = Result<T, E>>,
{
    let (mut priority, mut longest_pause) = (first_priority, PART_PAUSE);
    for _ in 1..PART_TRIES {
        match request(priority).await {
            Err(error) if error.is_request_failure() => {
                tracing::debug!(%error, "retrying a request");
                upstream.count_retry();
                tokio::time::sleep(longest_pause.mul_f64(upstream.jitter())).await;
                longest_pause *= 2;
                priority = Priority::High;
            }
            outcome => return outcome,
        }
    }
    request(priority).await
}

impl RetryPolicy {
    /// The pause after an attempt, counted from 1, that failed with `error`. Full jitter, so that callers that failed
    /// together do not retry together.
    pub(crate) fn pause_after(&self, tried: u32, error: &NodeError, jitter: &Jitter) -> Duration {
        let longest = self.first_pause.saturating_mul(1 << tried.saturating_sub(1).min(16)).min(self.longest_pause);
        let pause = longest.mul_f64(jitter.fraction());
        match error {
            NodeError::Limited { retry_after: Some(wanted), .. } => pause + (*wanted).min(self.longest_retry_after),
            _ => pause,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limited(seconds: u64) -> NodeError {
        NodeError::Limited {
            endpoint: String::new(),
            method: "eth_chainId",
            message: String::new(),
            retry_after: Some(Duration::from_secs(seconds)),
        }
    }

    #[test]
    fn pauses_grow_to_a_bound_with_jitter() {
        let (policy, jitter) = (RetryPolicy::default(), Jitter::new(None));
        let error = NodeError::invalid_response("eth_chainId", "");
        for tried in 1..40 {
            let bound = policy.first_pause.saturating_mul(1 << (tried - 1).min(16)).min(policy.longest_pause);
            assert!((0..50).all(|_| policy.pause_after(tried, &error, &jitter) <= bound), "try {tried}");
        }
        let pauses: Vec<_> = (0..50).map(|_| policy.pause_after(5, &error, &jitter)).collect();
        assert!(pauses.iter().any(|pause| *pause != pauses[0]));
    }

    #[test]
    fn retry_after_is_respected_up_to_a_bound() {
        let (policy, jitter) = (RetryPolicy::default(), Jitter::new(None));
        assert!(policy.pause_after(1, &limited(2), &jitter) >= Duration::from_secs(2));
        assert!(policy.pause_after(1, &limited(86_400), &jitter) <= policy.longest_retry_after + policy.longest_pause);
    }
}
