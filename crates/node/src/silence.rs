//! Tells an endpoint that takes long from one that does not answer at all.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

/// An endpoint that answered nothing to anybody for so long, while a request waits, is asked whether it is there.
const SUSPICIOUS: Duration = Duration::from_secs(5);
/// For that answer.
pub(crate) const PROBE_TIMEOUT: Duration = Duration::from_secs(3);

#[derive(Debug)]
pub(crate) struct Silence {
    heard: Mutex<Instant>,
    /// Held during a probe, so that many who wait send one.
    probe: tokio::sync::Mutex<()>,
    /// How often the endpoint was found to be silent.
    found: watch::Sender<u64>,
}

/// What is found out about an endpoint from some moment on.
#[derive(Debug)]
pub(crate) struct Verdicts(watch::Receiver<u64>);

impl Verdicts {
    /// Ends when the endpoint is found to be silent: all requests that wait for it, or for their turn, end together.
    pub(crate) async fn found_silent(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending().await
        }
    }
}

impl Silence {
    pub(crate) fn new() -> Self {
        Self { heard: Mutex::new(Instant::now()), probe: tokio::sync::Mutex::default(), found: watch::Sender::new(0) }
    }

    fn heard(&self) -> MutexGuard<'_, Instant> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on.
    pub(crate) fn verdicts(&self) -> Verdicts {
        Verdicts(self.found.subscribe())
    }

    /// The endpoint answered something.
    pub(crate) fn ended(&self) {
        *self.heard() = Instant::now();
    }

    pub(crate) fn heard_since(&self, then: Instant) -> bool {
        *self.heard() > then
    }

    /// Ends when the endpoint has not answered anything for too long, for a request that was sent at that time, and not
    /// the probe either; everybody else learns it from their [`Verdicts`]. Never ends while it answers others, and not
    /// for those whom another request told.
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
            let found_before = *self.found.borrow();
            let probing = self.probe.lock().await;
            if *self.found.borrow() != found_before {
                // Another request found it out meanwhile, and that ends this one: it sends no probe of its own.
                drop(probing);
                return std::future::pending().await;
            }
            if self.heard_since(since) {
                continue;
            }
            if probe().await {
                self.ended();
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
    async fn many_who_wait_send_one_probe() {
        let (silence, probes) = (Silence::new(), AtomicUsize::new(0));
        let probe = || async {
            probes.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(PROBE_TIMEOUT).await;
            false
        };
        let begun = Instant::now();
        let wait = |index: u32| {
            let (silence, mut verdicts) = (&silence, silence.verdicts());
            async move {
                // Some are sent long after the others.
                let sent = begun + Duration::from_millis(150) * index;
                sleep_until(sent).await;
                tokio::select! {
                    biased;
                    () = silence.is_certain(sent, probe) => {}
                    () = verdicts.found_silent() => {}
                }
            }
        };
        futures::future::join_all((0..50).map(wait)).await;
        assert_eq!(probes.load(Ordering::Relaxed), 1);
        assert_eq!(begun.elapsed(), SUSPICIOUS + PROBE_TIMEOUT);
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_found_out_before_says_nothing_about_a_later_request() {
        let silence = Silence::new();
        silence.is_certain(Instant::now(), || async { false }).await;
        let mut verdicts = silence.verdicts();
        assert!(tokio::time::timeout(Duration::from_secs(60), verdicts.found_silent()).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn an_endpoint_that_answers_the_probe_is_slow_and_not_silent() {
        let silence = Silence::new();
        let certain = silence.is_certain(Instant::now(), || async { true });
        assert!(tokio::time::timeout(Duration::from_secs(60), certain).await.is_err());
    }
}
