//! Distinguishes a slow endpoint from one that does not respond at all.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

/// An endpoint without any response for this long, while a request waits, is probed.
const PROBE_AFTER: Duration = Duration::from_secs(5);
/// Timeout of the probe.
pub(crate) const PROBE_TIMEOUT: Duration = Duration::from_secs(3);

#[derive(Debug)]
pub(crate) struct Silence {
    last_response: Mutex<Instant>,
    /// Held during a probe, so that concurrent waiters send only one.
    probe: tokio::sync::Mutex<()>,
    /// How often the endpoint was found silent.
    found: watch::Sender<u64>,
}

/// Notifies of silence found after the subscription.
#[derive(Debug)]
pub(crate) struct SilenceAlerts(watch::Receiver<u64>);

impl SilenceAlerts {
    /// Completes when the endpoint is found silent, so that all waiting requests fail together.
    pub(crate) async fn found_silent(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending().await
        }
    }
}

impl Silence {
    pub(crate) fn new() -> Self {
        Self {
            last_response: Mutex::new(Instant::now()),
            probe: tokio::sync::Mutex::default(),
            found: watch::Sender::new(0),
        }
    }

    fn last_response(&self) -> MutexGuard<'_, Instant> {
        self.last_response.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn alerts(&self) -> SilenceAlerts {
        SilenceAlerts(self.found.subscribe())
    }

    /// Records a response of the endpoint.
    pub(crate) fn record_response(&self) {
        *self.last_response() = Instant::now();
    }

    pub(crate) fn responded_since(&self, then: Instant) -> bool {
        *self.last_response() > then
    }

    /// Completes when the endpoint has answered neither any request since `sent` for too long, nor the probe; other requests
    /// are notified by their [`SilenceAlerts`]. Never completes while the endpoint answers other requests, nor if another
    /// request found the silence first.
    pub(crate) async fn confirmed<Probe>(&self, sent: Instant, probe: impl Fn() -> Probe)
    where
        Probe: Future<Output = bool>,
    {
        loop {
            let since = sent.max(*self.last_response());
            sleep_until(since + PROBE_AFTER).await;
            if self.responded_since(since) {
                continue;
            }
            let found_before = *self.found.borrow();
            let probing = self.probe.lock().await;
            if *self.found.borrow() != found_before {
                // Another request found the silence meanwhile and its alert ends this one: no second probe.
                drop(probing);
                return std::future::pending().await;
            }
            if self.responded_since(since) {
                continue;
            }
            if probe().await {
                self.record_response();
            } else {
                self.found.send_modify(|found| *found += 1);
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
    async fn concurrent_waiters_send_one_probe() {
        let (silence, probes) = (Silence::new(), AtomicUsize::new(0));
        let probe = || async {
            probes.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(PROBE_TIMEOUT).await;
            false
        };
        let begun = Instant::now();
        let wait = |index: u32| {
            let (silence, mut alerts) = (&silence, silence.alerts());
            async move {
                // Requests are sent at different times.
                let sent = begun + Duration::from_millis(150) * index;
                sleep_until(sent).await;
                tokio::select! {
                    biased;
                    () = silence.confirmed(sent, probe) => {}
                    () = alerts.found_silent() => {}
                }
            }
        };
        futures::future::join_all((0..50).map(wait)).await;
        assert_eq!(probes.load(Ordering::Relaxed), 1);
        assert_eq!(begun.elapsed(), PROBE_AFTER + PROBE_TIMEOUT);
    }

    #[tokio::test(start_paused = true)]
    async fn earlier_silence_does_not_affect_a_later_request() {
        let silence = Silence::new();
        silence.confirmed(Instant::now(), || async { false }).await;
        let mut alerts = silence.alerts();
        assert!(tokio::time::timeout(Duration::from_secs(60), alerts.found_silent()).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn an_endpoint_that_answers_the_probe_is_not_silent() {
        let silence = Silence::new();
        let confirmed = silence.confirmed(Instant::now(), || async { true });
        assert!(tokio::time::timeout(Duration::from_secs(60), confirmed).await.is_err());
    }
}
