//! Tells an endpoint that takes long from one that does not answer at all.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::{Instant, sleep_until};

/// An endpoint that answered nothing to anybody for so long, while a request waits, is asked whether it is there.
const SUSPICIOUS: Duration = Duration::from_secs(5);
/// For that answer.
pub(crate) const PROBE_TIMEOUT: Duration = Duration::from_secs(3);

#[derive(Debug)]
pub(crate) struct Silence {
    heard: Mutex<Instant>,
    /// When the last probe ended without an answer. Held during a probe, so that many who wait send one.
    probe: tokio::sync::Mutex<Option<Instant>>,
}

impl Silence {
    pub(crate) fn new() -> Self {
        Self { heard: Mutex::new(Instant::now()), probe: tokio::sync::Mutex::default() }
    }

    fn heard(&self) -> MutexGuard<'_, Instant> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The endpoint answered something.
    pub(crate) fn ended(&self) {
        *self.heard() = Instant::now();
    }

    pub(crate) fn heard_since(&self, then: Instant) -> bool {
        *self.heard() > then
    }

    /// Ends when the endpoint has not answered anything for too long, for a request that was sent at that time, and not
    /// the probe either. Never ends while it answers others.
    pub(crate) async fn is_certain<Probe>(&self, sent: Instant, probe: impl Fn() -> Probe)
    where
        Probe: Future<Output = bool>,
    {
        loop {
            let since = sent.max(*self.heard());
            sleep_until(since + SUSPICIOUS).await;
            if self.heard_since(since) {
                continue;
            }
            let waiting_since = Instant::now();
            let mut last_unanswered = self.probe.lock().await;
            if self.heard_since(since) {
                continue;
            }
            if last_unanswered.is_some_and(|ended| ended > waiting_since) {
                return;
            }
            if probe().await {
                self.ended();
            } else {
                *last_unanswered = Some(Instant::now());
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn many_who_wait_send_one_probe() {
        let (silence, probes) = (Silence::new(), AtomicUsize::new(0));
        let probe = || async {
            probes.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(PROBE_TIMEOUT).await;
            false
        };
        let sent = Instant::now();
        futures::future::join_all((0..50).map(|_| silence.is_certain(sent, probe))).await;
        assert_eq!(probes.load(Ordering::Relaxed), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn an_endpoint_that_answers_the_probe_is_slow_and_not_silent() {
        let silence = Silence::new();
        let certain = silence.is_certain(Instant::now(), || async { true });
        assert!(tokio::time::timeout(Duration::from_secs(60), certain).await.is_err());
    }
}
