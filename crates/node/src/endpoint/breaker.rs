//! Circuit breaker for an optional RPC method of one endpoint.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::watch, time::Instant};

/// Weighted consecutive failures, while other methods work, after which the method is disabled for a while.
const FAILURE_THRESHOLD: u32 = 6;
/// A timeout weighs more than an error response.
const TIMEOUT_WEIGHT: u32 = 2;
const FIRST_BACKOFF: Duration = Duration::from_secs(15);
const MAX_BACKOFF: Duration = Duration::from_secs(15 * 60);
/// Timeout before any response was measured, and the lower bound afterwards.
const INITIAL_TIMEOUT: Duration = Duration::from_secs(5);
const MIN_TIMEOUT: Duration = Duration::from_secs(3);
/// The timeout is this multiple of the typical response time.
const TIMEOUT_FACTOR: u32 = 8;

#[derive(Debug)]
pub(crate) struct MethodBreaker {
    state: Mutex<State>,
    opened: watch::Sender<bool>,
}

impl Default for MethodBreaker {
    fn default() -> Self {
        let (opened, _) = watch::channel(false);
        Self { state: Mutex::default(), opened }
    }
}

#[derive(Debug, Default)]
struct State {
    failures: u32,
    open_until: Option<Instant>,
    /// A probe is in flight.
    probing: bool,
    backoff: Option<Duration>,
    typical: Option<Duration>,
}

/// Whether to call the method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    Use,
    /// Skip the method, and probe it in the background: returned to one caller after each backoff.
    Probe,
    Skip,
}

/// How a call of the method failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The node does not offer the method.
    Missing,
    /// A transient failure.
    Failed,
    /// No response within the timeout.
    TimedOut,
}

impl MethodBreaker {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn choice(&self) -> Choice {
        let (mut state, now) = (self.state(), Instant::now());
        match state.open_until {
            None => Choice::Use,
            Some(until) if until > now => Choice::Skip,
            Some(_) => {
                // If the probe never completes, another one starts after this time.
                state.open_until = Some(now + FIRST_BACKOFF);
                state.probing = true;
                Choice::Probe
            }
        }
    }

    /// Whether the method is currently enabled.
    pub(crate) fn is_closed(&self) -> bool {
        self.state().open_until.is_none()
    }

    /// Completes when the method is disabled, so that callers waiting for it continue without.
    pub(crate) async fn opened(&self) {
        let mut opened = self.opened.subscribe();
        // The sender lives as long as `self`.
        let _ = opened.wait_for(|opened| *opened).await;
    }

    /// How long to wait for a response.
    pub(crate) fn timeout(&self) -> Duration {
        self.state().typical.map_or(INITIAL_TIMEOUT, |typical| (typical * TIMEOUT_FACTOR).max(MIN_TIMEOUT))
    }

    pub(crate) fn succeeded(&self, took: Duration) {
        let mut state = self.state();
        let typical =
            state.typical.map_or(took, |typical| if took > typical { took } else { (typical * 7 + took) / 8 });
        *state = State { typical: Some(typical), ..State::default() };
        self.opened.send_replace(false);
    }

    /// Returns whether the method is disabled from now on.
    pub(crate) fn failed(&self, failure: Failure) -> bool {
        let mut state = self.state();
        state.failures += match failure {
            Failure::Missing => FAILURE_THRESHOLD,
            Failure::Failed => 1,
            // A method that has never responded gets one timeout: near the head, blocks are fetched one at a time, and each
            // further timeout would delay the next one.
            Failure::TimedOut if state.typical.is_none() => FAILURE_THRESHOLD,
            Failure::TimedOut => TIMEOUT_WEIGHT,
        };
        let opens = state.failures >= FAILURE_THRESHOLD;
        if opens {
            let backoff = match failure {
                Failure::Missing => MAX_BACKOFF,
                _ => state.backoff.map_or(FIRST_BACKOFF, |last| (last * 2).min(MAX_BACKOFF)),
            };
            // Calls that were in flight when the backoff began carry no new information.
            if state.open_until.is_none() || state.probing {
                state.open_until = Some(Instant::now() + backoff);
                state.backoff = Some(backoff);
                state.probing = false;
            }
            self.opened.send_replace(true);
        }
        opens
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_that_keeps_failing_is_disabled_and_one_that_fails_sometimes_is_not() {
        let breaker = MethodBreaker::default();
        for _ in 0..10 {
            for _ in 1..FAILURE_THRESHOLD {
                assert!(!breaker.failed(Failure::Failed));
            }
            breaker.succeeded(Duration::from_millis(5));
        }
        assert_eq!(breaker.choice(), Choice::Use);
        for _ in 1..FAILURE_THRESHOLD {
            breaker.failed(Failure::Failed);
        }
        assert!(breaker.failed(Failure::Failed));
        assert_eq!(breaker.choice(), Choice::Skip);
    }

    #[tokio::test]
    async fn callers_waiting_for_a_method_continue_when_it_is_disabled() {
        let breaker = MethodBreaker::default();
        let soon = Duration::from_millis(20);
        assert!(tokio::time::timeout(soon, breaker.opened()).await.is_err());
        breaker.failed(Failure::Missing);
        breaker.opened().await;
        breaker.succeeded(soon);
        assert!(tokio::time::timeout(soon, breaker.opened()).await.is_err());
    }

    #[test]
    fn a_missing_method_is_disabled_immediately() {
        let breaker = MethodBreaker::default();
        assert!(breaker.failed(Failure::Missing));
        assert_eq!(breaker.choice(), Choice::Skip);
    }

    #[test]
    fn one_timeout_disables_a_method_that_never_responded_and_several_one_that_did() {
        let breaker = MethodBreaker::default();
        assert!(breaker.failed(Failure::TimedOut));
        let breaker = MethodBreaker::default();
        breaker.succeeded(Duration::from_millis(5));
        assert_eq!([(); 3].map(|()| breaker.failed(Failure::TimedOut)), [false, false, true]);
    }

    #[test]
    fn one_caller_probes_after_the_backoff() {
        let breaker = MethodBreaker::default();
        breaker.failed(Failure::Missing);
        breaker.state().open_until = Some(Instant::now());
        assert_eq!([breaker.choice(), breaker.choice()], [Choice::Probe, Choice::Skip]);
        breaker.succeeded(Duration::from_millis(5));
        assert_eq!(breaker.choice(), Choice::Use);
    }

    #[test]
    fn the_timeout_grows_with_the_response_time() {
        let breaker = MethodBreaker::default();
        assert_eq!(breaker.timeout(), INITIAL_TIMEOUT);
        breaker.succeeded(Duration::from_millis(10));
        assert_eq!(breaker.timeout(), MIN_TIMEOUT);
        breaker.succeeded(Duration::from_secs(2));
        assert_eq!(breaker.timeout(), Duration::from_secs(16));
    }
}
