use std::time::{Duration, Instant};

/// Generous: a busy machine must not fail a test. What takes this long has gone wrong.
const TIMEOUT: Duration = Duration::from_secs(90);
const PAUSE: Duration = Duration::from_millis(20);

/// Asks again and again until there is an answer; panics where none comes.
pub(crate) async fn eventually<T>(what: &str, mut poll: impl AsyncFnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(answer) = poll().await {
            return answer;
        }
        assert!(started.elapsed() < TIMEOUT, "waited {TIMEOUT:?} in vain: {what}");
        tokio::time::sleep(PAUSE).await;
    }
}
