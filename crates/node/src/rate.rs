//! Adaptive request rate per endpoint, learned from rate-limit errors.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::Semaphore, time::Instant};

use crate::limiter::Priority;

/// Providers state limits per second, so responses are counted over one second.
const WINDOW: Duration = Duration::from_secs(1);
/// Share of the rejected rate that is used from then on.
const HEADROOM: f64 = 0.95;
/// Minimum time between cuts: requests from before a cut say nothing about the current rate.
const BETWEEN_CUTS: Duration = WINDOW;
/// How long the rate stays below the rejected one after a cut.
const HOLD: Duration = Duration::from_secs(20);
/// After the hold, growth per second accelerates by this share of the rate ...
const GROWTH: f64 = 0.01;
/// ... up to this share.
const STEEPEST_GROWTH: f64 = 0.2;
const LOWEST: f64 = 0.2;
/// Above this rate, the limit is dropped.
const HIGHEST: f64 = 5_000.0;

/// AIMD on the request rate. Before the first rate-limit error there is no limit, and only concurrency is bounded.
#[derive(Debug)]
pub(crate) struct RateGate {
    state: Mutex<State>,
    /// Held by the queued request that waits for its time; requests of high priority skip it.
    queue: Semaphore,
    longest_pause: Duration,
}

/// How a request was admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Admitted {
    /// No limit was known.
    Unlimited,
    /// Under the rate limit.
    Throttled,
}

#[derive(Debug, Default)]
struct State {
    /// Requests per second; None: the endpoint has not rejected any.
    rate: Option<f64>,
    /// When the next request may be sent.
    next: Option<Instant>,
    /// `Retry-After` of the endpoint.
    paused_until: Option<Instant>,
    responses: VecDeque<Instant>,
    last_cut: Option<Instant>,
    /// Until then, the first estimate grows with responses to requests that were in flight when it was made.
    estimating_until: Option<Instant>,
    last_growth: Option<Instant>,
    /// Whether a request had to wait since the last growth: an unused rate need not grow.
    used: bool,
}

impl RateGate {
    /// `longest_pause` bounds the endpoint's `Retry-After`.
    pub(crate) fn new(longest_pause: Duration) -> Self {
        Self { state: Mutex::default(), queue: Semaphore::new(1), longest_pause }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Requests per second; None while there is no limit.
    pub(crate) fn rate(&self) -> Option<f64> {
        self.state().rate
    }

    /// Waits until one more request may be sent.
    pub(crate) async fn admit(&self, priority: Priority) -> Admitted {
        if self.state().rate.is_none() {
            return Admitted::Unlimited;
        }
        let _queue_permit = match priority {
            Priority::High => None,
            Priority::Queued => self.queue.acquire().await.ok(),
        };
        loop {
            let at = self.state().reserve(Instant::now());
            tokio::time::sleep_until(at).await;
            // The endpoint may have requested a pause meanwhile. Waiters leave it one by one.
            if !self.state().is_paused(Instant::now()) {
                return Admitted::Throttled;
            }
        }
    }

    /// Whether an admitted request may still be sent: hundreds may have been waiting for a slot when the first rate-limit
    /// error or `Retry-After` arrived.
    pub(crate) fn still_admits(&self, admitted: Admitted) -> bool {
        let state = self.state();
        match admitted {
            Admitted::Unlimited => state.rate.is_none(),
            Admitted::Throttled => !state.is_paused(Instant::now()),
        }
    }

    /// The endpoint answered a request.
    pub(crate) fn answered(&self) {
        self.state().answered(Instant::now());
    }

    /// The endpoint rate-limited a request that was sent at `sent`.
    pub(crate) fn refused(&self, sent: Instant, retry_after: Option<Duration>) {
        let pause = retry_after.map(|wanted| wanted.min(self.longest_pause));
        self.state().refused(sent, pause, Instant::now());
    }
}

impl State {
    fn reserve(&mut self, now: Instant) -> Instant {
        let Some(rate) = self.rate else { return now };
        let free = self.next.unwrap_or(now).max(self.paused_until.unwrap_or(now));
        self.used |= free > now;
        let at = free.max(now);
        self.next = Some(at + Duration::from_secs_f64(1.0 / rate));
        at
    }

    fn answered(&mut self, now: Instant) {
        self.responses.push_back(now);
        self.drop_old_responses(now);
        if let (Some(rate), Some(until)) = (self.rate, self.estimating_until)
            && now < until
        {
            self.rate = Some(rate.max(self.answered_in_window() * HEADROOM));
        }
        self.grow(now);
    }

    fn answered_in_window(&self) -> f64 {
        #[allow(clippy::cast_precision_loss, reason = "the responses of one second")]
        let responses = self.responses.len() as f64;
        responses.max(1.0)
    }

    fn drop_old_responses(&mut self, now: Instant) {
        while self.responses.front().is_some_and(|then| now.duration_since(*then) >= WINDOW) {
            self.responses.pop_front();
        }
    }

    fn grow(&mut self, now: Instant) {
        let (Some(rate), Some(cut)) = (self.rate, self.last_cut) else { return };
        let held = now.duration_since(cut).saturating_sub(HOLD);
        let since = self.last_growth.map_or(held, |last| now.duration_since(last));
        if held.is_zero() || since < WINDOW || !self.used {
            return;
        }
        let rate = rate * (1.0 + (GROWTH * held.as_secs_f64()).min(STEEPEST_GROWTH));
        self.rate = (rate < HIGHEST).then_some(rate);
        self.last_growth = Some(now);
        self.used = false;
    }

    fn refused(&mut self, sent: Instant, pause: Option<Duration>, now: Instant) {
        if self.last_cut.is_none_or(|cut| sent >= cut + BETWEEN_CUTS) {
            self.drop_old_responses(now);
            let measured = self.answered_in_window();
            let first = self.rate.is_none();
            let refused_at = self.rate.map_or(measured, |rate| rate.min(measured.max(rate / 2.0)));
            self.rate = Some((refused_at * HEADROOM).max(LOWEST));
            self.last_cut = Some(now);
            self.last_growth = None;
            if first {
                // The burst has used up the second in which it was sent. A rate-limit error arrives sooner than the responses
                // to the requests sent with it.
                self.pause_until(self.responses.front().map_or(now, |oldest| *oldest) + WINDOW);
                self.estimating_until = Some(now + WINDOW);
            }
        }
        if let Some(pause) = pause {
            self.pause_until(now + pause);
        }
    }

    fn is_paused(&self, now: Instant) -> bool {
        self.paused_until.is_some_and(|until| until > now)
    }

    fn pause_until(&mut self, until: Instant) {
        self.paused_until = Some(self.paused_until.map_or(until, |before| before.max(until)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates an endpoint with a limit per second, called as fast as the gate permits; returns how many requests it
    /// served and rejected.
    fn run(limit: usize, seconds: u64, retry_after: Option<Duration>) -> (usize, usize) {
        let (mut state, begun) = (State::default(), Instant::now());
        let (mut now, mut taken, mut refused) = (begun, VecDeque::new(), 0);
        let mut served = 0;
        while now.duration_since(begun) < Duration::from_secs(seconds) {
            now = state.reserve(now).max(now + Duration::from_millis(1));
            while taken.front().is_some_and(|then| now.duration_since(*then) >= WINDOW) {
                taken.pop_front();
            }
            if taken.len() < limit {
                taken.push_back(now);
                served += 1;
                state.answered(now);
            } else {
                refused += 1;
                state.refused(now, retry_after, now);
            }
        }
        (served, refused)
    }

    #[test]
    fn a_limit_is_fully_used_with_few_rejections() {
        for (limit, retry_after) in [(20, None), (20, Some(WINDOW)), (3, None), (200, Some(WINDOW))] {
            let (served, refused) = run(limit, 60, retry_after);
            assert!(served >= limit * 60 * 85 / 100, "{served} of {}", limit * 60);
            assert!(refused * 20 <= served.max(200), "{refused} rejected, {served} served");
        }
    }

    #[test]
    fn responses_after_the_first_rejection_count_as_well() {
        let (mut state, now) = (State::default(), Instant::now());
        state.refused(now, None, now);
        for response in 1..=20 {
            state.answered(now + Duration::from_millis(response * 10));
        }
        assert!(state.rate.is_some_and(|rate| rate > 18.9), "{:?}", state.rate);
        // Nothing is sent until the second used up by the burst is over.
        assert!(state.reserve(now + Duration::from_millis(300)) >= now + WINDOW);
    }

    #[test]
    fn a_lifted_limit_is_dropped() {
        let (mut state, mut now) = (State::default(), Instant::now());
        state.answered(now);
        state.refused(now, None, now);
        assert!(state.rate.is_some());
        let cut = now;
        while state.rate.is_some() && now.duration_since(cut) < Duration::from_secs(300) {
            now = state.reserve(now);
            state.answered(now);
        }
        assert_eq!(state.rate, None);
    }

    #[test]
    fn retry_after_is_respected() {
        let (mut state, now) = (State::default(), Instant::now());
        state.refused(now, Some(Duration::from_secs(7)), now);
        assert!(state.reserve(now) >= now + Duration::from_secs(7));
    }

    #[tokio::test]
    async fn a_request_admitted_before_a_rejection_must_be_admitted_again() {
        let gate = RateGate::new(WINDOW);
        let admitted = gate.admit(Priority::Queued).await;
        assert!(gate.still_admits(admitted));
        gate.refused(Instant::now(), None);
        assert!(!gate.still_admits(admitted), "no limit was known then");
        let admitted = gate.admit(Priority::Queued).await;
        assert!(gate.still_admits(admitted));
        gate.refused(Instant::now(), Some(WINDOW));
        assert!(!gate.still_admits(admitted), "the endpoint sent Retry-After");
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_rejection_no_request_waits() {
        let gate = RateGate::new(WINDOW);
        let begun = Instant::now();
        for _ in 0..10_000 {
            assert_eq!(gate.admit(Priority::Queued).await, Admitted::Unlimited);
            gate.answered();
        }
        assert_eq!(begun.elapsed(), Duration::ZERO);
        assert_eq!(gate.rate(), None);
    }
}
