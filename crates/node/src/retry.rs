use std::time::Duration;

use crate::{NodeError, RetryPolicy, error::Remedy, jitter::Jitter, limiter::Turn, upstream::Upstream};

/// Tries for one of several calls that make an answer together.
const PART_TRIES: u32 = 3;
/// The longest pause between two of them.
const PART_PAUSE: Duration = Duration::from_millis(50);

/// Asks for a part of an answer, again where that may help: the other parts need not be asked for again. A retry does not
/// queue behind the requests for later blocks, all of which wait for this one.
pub(crate) async fn persist_part<T, Answer>(
    upstream: &Upstream,
    first_turn: Turn,
    ask: impl Fn(Turn) -> Answer,
) -> Result<T, NodeError>
where
    Answer: Future<Output = Result<T, NodeError>>,
{
    let mut turn = first_turn;
    for _ in 1..PART_TRIES {
        match ask(turn).await {
            Err(error) if is_of_this_request(&error) => {
                tracing::debug!(%error, "asking for a part again");
                upstream.count_retry();
                let pause = PART_PAUSE.mul_f64(upstream.jitter());
                tokio::time::sleep(pause).await;
                turn = Turn::Next;
            }
            outcome => return outcome,
        }
    }
    ask(turn).await
}

/// Whether it went wrong with this request rather than with the endpoint, so that the next may fare better.
fn is_of_this_request(error: &NodeError) -> bool {
    match error {
        NodeError::Dropped { .. } => true,
        NodeError::HttpStatus { .. } | NodeError::Rpc { .. } => error.remedy() == Remedy::AskAgain,
        _ => false,
    }
}

impl RetryPolicy {
    /// How long to wait after the try of that number, counted from 1, that ended with the error. Anywhere between
    /// nothing and the longest: callers that failed together must not come back together.
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
    fn pauses_grow_to_a_bound_and_are_jittered() {
        let (policy, jitter) = (RetryPolicy::default(), Jitter::new(None));
        let error = NodeError::bad_answer("eth_chainId", "");
        for tried in 1..40 {
            let bound = policy.first_pause.saturating_mul(1 << (tried - 1).min(16)).min(policy.longest_pause);
            assert!((0..50).all(|_| policy.pause_after(tried, &error, &jitter) <= bound), "try {tried}");
        }
        let pauses: Vec<_> = (0..50).map(|_| policy.pause_after(5, &error, &jitter)).collect();
        assert!(pauses.iter().any(|pause| *pause != pauses[0]));
    }

    #[test]
    fn the_node_is_given_the_time_it_asks_for_within_reason() {
        let (policy, jitter) = (RetryPolicy::default(), Jitter::new(None));
        assert!(policy.pause_after(1, &limited(2), &jitter) >= Duration::from_secs(2));
        assert!(policy.pause_after(1, &limited(86_400), &jitter) <= policy.longest_retry_after + policy.longest_pause);
    }
}
