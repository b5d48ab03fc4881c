use std::time::Duration;

use super::Stopwatch;

/// Long enough for a machine on which many tests run.
const TIMEOUT: Duration = Duration::from_secs(180);
/// The longest that a test waits on a machine that is busy all the time.
const LONGEST: u32 = 4;
const PAUSE: Duration = Duration::from_millis(20);

/// Polls until there is a result; panics after the timeout.
pub(crate) async fn eventually<T>(what: &str, poll: impl AsyncFnMut() -> Option<T>) -> T {
    eventually_within(TIMEOUT, what, poll).await
}

/// The same with a timeout of its own.
pub(crate) async fn eventually_within<T>(timeout: Duration, what: &str, mut poll: impl AsyncFnMut() -> Option<T>) -> T {
    let watch = Stopwatch::start();
    loop {
        if let Some(answer) = poll().await {
            return answer;
        }
        let is_over = watch.elapsed() >= timeout || watch.whole() >= timeout * LONGEST;
        assert!(!is_over, "timed out after {:?}: {what}", watch.whole());
        tokio::time::sleep(PAUSE).await;
    }
}
