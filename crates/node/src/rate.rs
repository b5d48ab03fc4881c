//! How many requests a second an endpoint takes, learned from its refusals.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::limiter::Turn;

/// Limits are stated per second, and that is over which answers are counted.
const WINDOW: Duration = Duration::from_secs(1);
/// The share of the rate at which requests were refused that is used from then on.
const HEADROOM: f64 = 0.95;
/// The rate is cut at most once in this time: what was sent before a cut says nothing about the rate since.
const BETWEEN_CUTS: Duration = WINDOW;
/// For so long after a cut the rate stays below the one that was refused.
const HOLD: Duration = Duration::from_secs(20);
/// After the hold, each second adds this much more of the rate than the one before ...
const GROWTH: f64 = 0.01;
/// ... and this much at most.
const STEEPEST_GROWTH: f64 = 0.2;
const LOWEST: f64 = 0.2;
/// Beyond, there is no limit worth keeping.
const HIGHEST: f64 = 5_000.0;

/// Additive-increase, multiplicative-decrease on the request rate. Without a refusal there is no limit: then requests
/// pass at once, and only the concurrency is bounded.
#[derive(Debug)]
pub(crate) struct RateGate {
    state: Mutex<State>,
    /// Held by the one of those in line that waits for its time; whoever is not in line passes all others.
    line: Semaphore,
    longest_pause: Duration,
}

/// How a request passed the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Admitted {
    /// No limit was known.
    Unlimited,
    /// At its time under the limit.
    InTurn,
}

#[derive(Debug, Default)]
struct State {
    /// Requests a second; None: the endpoint has not refused any.
    rate: Option<f64>,
    /// When the next request may be sent.
    next: Option<Instant>,
    /// The endpoint asked to be left alone until then.
    paused_until: Option<Instant>,
    answers: VecDeque<Instant>,
    last_cut: Option<Instant>,
    /// Until then, the first estimate grows with the answers that were in flight when it was made.
    estimating_until: Option<Instant>,
    last_growth: Option<Instant>,
    /// Whether a request had to wait since the last growth: a rate that is not used need not grow.
    used: bool,
}

impl RateGate {
    /// `longest_pause` bounds what an endpoint may ask for by `Retry-After`.
    pub(crate) fn new(longest_pause: Duration) -> Self {
        Self { state: Mutex::default(), line: Semaphore::new(1), longest_pause }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Requests a second; None while there is no limit.
    pub(crate) fn rate(&self) -> Option<f64> {
        self.state().rate
    }

    /// Waits until one more request may be sent.
    pub(crate) async fn admit(&self, turn: Turn) -> Admitted {
        if self.state().rate.is_none() {
            return Admitted::Unlimited;
        }
        let _first_in_line = match turn {
            Turn::Next => None,
            Turn::InLine => self.line.acquire().await.ok(),
        };
        loop {
            let at = self.state().reserve(Instant::now());
            tokio::time::sleep_until(at).await;
            // The endpoint may have asked for a pause in the meantime. All who wait for its end leave it one by one.
            if !self.state().is_paused(Instant::now()) {
                return Admitted::InTurn;
            }
        }
    }

    /// Whether a request that was admitted may still be sent: hundreds may have been waiting for a slot when the endpoint
    /// refused one for the first time, or asked for a pause.
    pub(crate) fn still_admits(&self, admitted: Admitted) -> bool {
        let state = self.state();
        match admitted {
            Admitted::Unlimited => state.rate.is_none(),
            Admitted::InTurn => !state.is_paused(Instant::now()),
        }
    }

    /// The endpoint answered a request.
    pub(crate) fn answered(&self) {
        self.state().answered(Instant::now());
    }

    /// The endpoint refused a request that was sent at that time, since there were too many.
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
        self.answers.push_back(now);
        self.forget_old_answers(now);
        if let (Some(rate), Some(until)) = (self.rate, self.estimating_until)
            && now < until
        {
            self.rate = Some(rate.max(self.answered_in_window() * HEADROOM));
        }
        self.grow(now);
    }

    fn answered_in_window(&self) -> f64 {
        #[allow(clippy::cast_precision_loss, reason = "the answers of one second")]
        let answers = self.answers.len() as f64;
        answers.max(1.0)
    }

    fn forget_old_answers(&mut self, now: Instant) {
        while self.answers.front().is_some_and(|then| now.duration_since(*then) >= WINDOW) {
            self.answers.pop_front();
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
            self.forget_old_answers(now);
            let measured = self.answered_in_window();
            let first = self.rate.is_none();
            let refused_at = self.rate.map_or(measured, |rate| rate.min(measured.max(rate / 2.0)));
            self.rate = Some((refused_at * HEADROOM).max(LOWEST));
            self.last_cut = Some(now);
            self.last_growth = None;
            if first {
                // What was sent in a burst has used up the second in which it was sent. A refusal comes quicker than
                // the answers to what was sent with it.
                self.pause_until(self.answers.front().map_or(now, |oldest| *oldest) + WINDOW);
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

    /// An endpoint that takes so many requests in any second, asked as fast as the gate permits; gives how many it took
    /// and how many it refused.
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
    fn a_limit_is_used_up_with_few_refusals() {
        for (limit, retry_after) in [(20, None), (20, Some(WINDOW)), (3, None), (200, Some(WINDOW))] {
            let (served, refused) = run(limit, 60, retry_after);
            assert!(served >= limit * 60 * 85 / 100, "{served} of {}", limit * 60);
            assert!(refused * 20 <= served.max(200), "{refused} refused, {served} served");
        }
    }

    #[test]
    fn answers_that_come_after_the_first_refusal_count_as_well() {
        let (mut state, now) = (State::default(), Instant::now());
        state.refused(now, None, now);
        for answer in 1..=20 {
            state.answered(now + Duration::from_millis(answer * 10));
        }
        assert!(state.rate.is_some_and(|rate| rate > 18.9), "{:?}", state.rate);
        // The second that the burst has used up is over before more is sent.
        assert!(state.reserve(now + Duration::from_millis(300)) >= now + WINDOW);
    }

    #[test]
    fn a_limit_that_is_lifted_is_forgotten() {
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
    fn what_the_endpoint_asks_for_is_kept() {
        let (mut state, now) = (State::default(), Instant::now());
        state.refused(now, Some(Duration::from_secs(7)), now);
        assert!(state.reserve(now) >= now + Duration::from_secs(7));
    }

    #[tokio::test]
    async fn who_passed_before_a_refusal_has_to_pass_again() {
        let gate = RateGate::new(WINDOW);
        let admitted = gate.admit(Turn::InLine).await;
        assert!(gate.still_admits(admitted));
        gate.refused(Instant::now(), None);
        assert!(!gate.still_admits(admitted), "no limit was known then");
        let admitted = gate.admit(Turn::InLine).await;
        assert!(gate.still_admits(admitted));
        gate.refused(Instant::now(), Some(WINDOW));
        assert!(!gate.still_admits(admitted), "the endpoint asked for a pause");
    }

    #[tokio::test]
    async fn without_a_refusal_nobody_waits() {
        let gate = RateGate::new(WINDOW);
        let begun = Instant::now();
        for _ in 0..10_000 {
            assert_eq!(gate.admit(Turn::InLine).await, Admitted::Unlimited);
            gate.answered();
        }
        assert!(begun.elapsed() < WINDOW);
        assert_eq!(gate.rate(), None);
    }
}
