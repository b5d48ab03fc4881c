use std::time::{Duration, Instant};

/// Long enough for a machine on which many tests run.
const TIMEOUT: Duration = Duration::from_secs(180);
const PAUSE: Duration = Duration::from_millis(20);

/// Polls until there is a result; panics after the timeout.
pub(crate) async fn eventually<T>(what: &str, poll: impl AsyncFnMut() -> Option<T>) -> T {
    eventually_within(TIMEOUT, what, poll).await
}

/// The same with a timeout of its own.
pub(crate) async fn eventually_within<T>(timeout: Duration, what: &str, mut poll: impl AsyncFnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(answer) = poll().await {
            return answer;
        }
        assert!(started.elapsed() < timeout, "timed out after {timeout:?}: {what}");
        tokio::time::sleep(PAUSE).await;
    }
}
