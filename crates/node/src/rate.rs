//! The rate of calls to an endpoint: the operator's limit, and a rate of requests that is learned from rate-limit errors.

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

/// Spaces requests evenly. The operator's limit counts calls, also those of a batch. The learned rate is AIMD on requests: before
/// the first rate-limit error there is none. Without either, only concurrency is bounded.
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
    /// The endpoint had not rejected any.
    Unlimited,
    /// Under the learned rate.
    Throttled,
}

#[derive(Debug, Default)]
struct State {
    /// Between two calls, by the operator's limit; zero without one.
    interval: Duration,
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
    /// No limit is given by None or 0. `longest_pause` bounds the endpoint's `Retry-After`.
    pub(crate) fn new(calls_per_second: Option<u32>, longest_pause: Duration) -> Self {
        let interval = calls_per_second.filter(|calls| *calls > 0).map(|calls| Duration::from_secs(1) / calls);
        let state = State { interval: interval.unwrap_or_default(), ..State::default() };
        Self { state: Mutex::new(state), queue: Semaphore::new(1), longest_pause }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The learned rate in requests per second; None while there is none.
    pub(crate) fn rate(&self) -> Option<f64> {
        self.state().rate
    }

    /// Waits until a request with this many calls may be sent.
    pub(crate) async fn admit(&self, calls: usize, priority: Priority) -> Admitted {
        if self.state().is_unlimited() {
            return Admitted::Unlimited;
        }
        let _queue_permit = match priority {
            Priority::High => None,
            Priority::Queued => self.queue.acquire().await.ok(),
        };
        let mut calls = u32::try_from(calls).unwrap_or(u32::MAX);
        loop {
            let (at, admitted) = self.state().reserve(calls, Instant::now());
            tokio::time::sleep_until(at).await;
            // The endpoint may have requested a pause meanwhile. Waiters leave it one by one.
            if !self.state().is_paused(Instant::now()) {
                return admitted;
            }
            calls = 0;
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
    fn is_unlimited(&self) -> bool {
        self.rate.is_none() && self.interval.is_zero()
    }

    /// When a request may be sent, after those before it.
    fn reserve(&mut self, calls: u32, now: Instant) -> (Instant, Admitted) {
        let learned = self.rate.map_or(Duration::ZERO, |rate| Duration::from_secs_f64(1.0 / rate));
        let limited = self.interval * calls;
        let free = self.next.unwrap_or(now).max(self.paused_until.unwrap_or(now));
        // A rate that is not what requests wait for need not grow.
        self.used |= free > now && learned >= limited;
        let at = free.max(now);
        self.next = Some(at + learned.max(limited));
        (at, if self.rate.is_some() { Admitted::Throttled } else { Admitted::Unlimited })
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
            now = state.reserve(1, now).0.max(now + Duration::from_millis(1));
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
        assert!(state.reserve(1, now + Duration::from_millis(300)).0 >= now + WINDOW);
    }

    #[test]
    fn a_lifted_limit_is_dropped() {
        let (mut state, mut now) = (State::default(), Instant::now());
        state.answered(now);
        state.refused(now, None, now);
        assert!(state.rate.is_some());
        let cut = now;
        while state.rate.is_some() && now.duration_since(cut) < Duration::from_secs(300) {
            now = state.reserve(1, now).0;
            state.answered(now);
        }
        assert_eq!(state.rate, None);
    }

    #[test]
    fn retry_after_is_respected() {
        let (mut state, now) = (State::default(), Instant::now());
        state.refused(now, Some(Duration::from_secs(7)), now);
        assert!(state.reserve(1, now).0 >= now + Duration::from_secs(7));
    }

    #[tokio::test]
    async fn a_request_admitted_before_a_rejection_must_be_admitted_again() {
        let gate = RateGate::new(None, WINDOW);
        let admitted = gate.admit(1, Priority::Queued).await;
        assert!(gate.still_admits(admitted));
        gate.refused(Instant::now(), None);
        assert!(!gate.still_admits(admitted), "no limit was known then");
        let admitted = gate.admit(1, Priority::Queued).await;
        assert!(gate.still_admits(admitted));
        gate.refused(Instant::now(), Some(WINDOW));
        assert!(!gate.still_admits(admitted), "the endpoint sent Retry-After");
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_rejection_no_request_waits() {
        for gate in [RateGate::new(None, WINDOW), RateGate::new(Some(0), WINDOW)] {
            let begun = Instant::now();
            for _ in 0..10_000 {
                assert_eq!(gate.admit(1_000, Priority::Queued).await, Admitted::Unlimited);
                gate.answered();
            }
            assert_eq!(begun.elapsed(), Duration::ZERO);
            assert_eq!(gate.rate(), None);
        }
    }
    #[tokio::test(start_paused = true)]
    async fn a_limit_of_the_operator_spaces_calls_also_those_of_a_batch() {
        let (gate, begun) = (RateGate::new(Some(10), WINDOW), Instant::now());
        for (calls, sent_after) in [(1, 0), (5, 100), (1, 600), (1, 700)] {
            assert_eq!(gate.admit(calls, Priority::High).await, Admitted::Unlimited);
            assert_eq!(begun.elapsed(), Duration::from_millis(sent_after));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_lower_of_both_limits_holds() {
        let (gate, begun) = (RateGate::new(Some(10), WINDOW), Instant::now());
        gate.refused(begun, None);
        for _ in 0..5 {
            assert_eq!(gate.admit(1, Priority::Queued).await, Admitted::Throttled);
        }
        let learned = begun.elapsed();
        assert!(learned > Duration::from_secs(4), "one request per second was learned: {learned:?}");
        for _ in 0..5 {
            let _ = gate.admit(100, Priority::Queued).await;
        }
        let limited = begun.elapsed() - learned;
        assert!(limited > Duration::from_secs(40), "100 calls take 10 seconds: {limited:?}");
    }

    #[test]
    fn a_rate_does_not_grow_while_the_limit_of_the_operator_is_lower() {
        let mut state = State { interval: Duration::from_secs(1), ..State::default() };
        let begun = Instant::now();
        (0..100).for_each(|_| state.answered(begun));
        state.refused(begun, None, begun);
        let (rate, mut now) = (state.rate, begun);
        while now.duration_since(begun) < Duration::from_secs(300) {
            now = state.reserve(1, now).0.max(now + Duration::from_millis(1));
            state.answered(now);
        }
        assert_eq!(state.rate, rate);
    }

    #[tokio::test(start_paused = true)]
    async fn requests_of_users_do_not_wait_behind_a_backfill() {
        let (gate, begun) = (RateGate::new(Some(10), WINDOW), Instant::now());
        let backfill = futures::future::join_all((0..100).map(|_| gate.admit(1, Priority::Queued)));
        let user = async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            let _ = gate.admit(1, Priority::High).await;
            begun.elapsed()
        };
        let (_, waited) = tokio::join!(backfill, user);
        assert!(waited <= Duration::from_millis(300), "{waited:?}");
    }
}
