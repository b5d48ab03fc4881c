//! The rate of calls to an endpoint: the operator's limit, and a rate of requests that is learned from rate-limit errors.

use std::{
    collections::VecDeque,
    pin::pin,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{Notify, Semaphore},
    time::{Instant, sleep_until},
};

use crate::endpoint::{failure_share::FailureShare, lane::Lane};

/// Providers state limits per second, so responses are counted over one second.
const WINDOW: Duration = Duration::from_secs(1);
/// Share of the rejected rate that is used from then on.
const HEADROOM: f64 = 0.95;
/// Minimum time between cuts: requests from before a cut say nothing about the current rate.
const BETWEEN_CUTS: Duration = WINDOW;
/// How long the rate stays below the rejected one after a cut.
const HOLD: Duration = Duration::from_secs(5);
/// After the hold, growth per second accelerates by this share of the rate ...
const GROWTH: f64 = 0.01;
/// ... up to this share.
const STEEPEST_GROWTH: f64 = 0.2;
const MIN_RATE: f64 = 1.0;
/// Above this rate, the limit is dropped.
const MAX_RATE: f64 = 5_000.0;
/// The share of rejections that is no limit: some nodes reject requests now and then.
const TOLERATED: f64 = 0.2;
/// The same once a rate was learned: it is exceeded by little at a time.
const TOLERATED_AT_RATE: f64 = 0.1;
/// Rejections beyond the tolerated share that make a limit.
const ENOUGH: f64 = 4.0;
/// The pause after rejections without any response: it doubles, up to the second value.
const FIRST_BACKOFF: Duration = Duration::from_millis(100);
const MAX_BACKOFF: Duration = Duration::from_secs(1);
/// Between requests after such a pause, until one is answered.
const PROBE_SPACING: Duration = Duration::from_millis(50);
/// How long a lane waits for another one whose turn it is, in case that gives up unnoticed.
const TURN: Duration = Duration::from_millis(5);

/// Spaces requests evenly, and divides them among lanes by weight. The operator's limit counts calls, also those of a batch. The
/// learned rate is AIMD on requests: before the first rate limit is found there is none. Without either, only concurrency is bounded.
#[derive(Debug)]
pub(crate) struct RateGate {
    state: Mutex<State>,
    /// The first request of each lane competes with those of the others; the rest of the lane waits behind it.
    fronts: [Semaphore; Lane::ALL.len()],
    /// A request got its permit, or gave up.
    changed: Notify,
    longest_pause: Duration,
}

/// Permission to send a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum RatePermit {
    /// The endpoint had not rejected any.
    Unlimited,
    /// Under the learned rate.
    Throttled,
}

#[derive(Debug, Default)]
struct State {
    /// Between two calls, by the operator's limit; zero without one.
    interval: Duration,
    /// Requests per second; None: no limit of the endpoint is known.
    rate: Option<f64>,
    /// When the next request may be sent.
    next: Option<Instant>,
    /// By `Retry-After` of the endpoint, or since it answers nothing.
    paused_until: Option<Instant>,
    responses: VecDeque<Instant>,
    rejections: FailureShare,
    /// Requests sent before say nothing about the current rate.
    counts_from: Option<Instant>,
    last_cut: Option<Instant>,
    /// Until then, the first estimate grows with responses to requests that were in flight when it was made.
    estimating_until: Option<Instant>,
    last_growth: Option<Instant>,
    /// Whether a request had to wait since the last growth: an unused rate need not grow.
    used: bool,
    /// The last pause, while nothing is answered.
    backoff: Duration,
    lanes: [LaneState; Lane::ALL.len()],
    /// The account of the lane that was served last.
    served: f64,
}

#[derive(Debug, Default)]
struct LaneState {
    is_waiting: bool,
    /// What it was served, divided by its weight (stride scheduling): the lane with the lowest account is next.
    account: f64,
}

/// The first request of a lane.
struct Contender<'a> {
    gate: &'a RateGate,
    lane: Lane,
}

impl<'a> Contender<'a> {
    fn enter(gate: &'a RateGate, lane: Lane) -> Self {
        gate.state().enter(lane);
        Self { gate, lane }
    }
}

impl Drop for Contender<'_> {
    fn drop(&mut self) {
        self.gate.state().lane(self.lane).is_waiting = false;
        self.gate.changed.notify_waiters();
    }
}

impl RateGate {
    /// No limit is given by None or 0. `longest_pause` bounds the endpoint's `Retry-After`.
    pub(crate) fn new(calls_per_second: Option<u32>, longest_pause: Duration) -> Self {
        let interval = calls_per_second.filter(|calls| *calls > 0).map(|calls| Duration::from_secs(1) / calls);
        let state = State { interval: interval.unwrap_or_default(), ..State::default() };
        let fronts = Lane::ALL.map(|_| Semaphore::new(1));
        Self { state: Mutex::new(state), fronts, changed: Notify::new(), longest_pause }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The learned rate in requests per second; None while there is none.
    pub(crate) fn rate(&self) -> Option<f64> {
        self.state().rate
    }

    /// Waits until a request with this many calls may be sent.
    pub(crate) async fn acquire(&self, calls: usize, lane: Lane) -> RatePermit {
        if self.state().is_unlimited() {
            return RatePermit::Unlimited;
        }
        #[expect(clippy::indexing_slicing, reason = "there is one for each lane")]
        let _front = self.fronts[lane as usize].acquire().await.ok();
        let _contender = Contender::enter(self, lane);
        let calls = u32::try_from(calls).unwrap_or(u32::MAX);
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            let granted = self.state().grant(calls, lane, Instant::now());
            let at = match granted {
                Ok(permit) => return permit,
                Err(at) => at,
            };
            tokio::select! {
                () = sleep_until(at) => {}
                () = changed => {}
            }
        }
    }

    /// Whether the permit is still valid: hundreds may have been waiting for a slot when the limit was found.
    pub(crate) fn is_valid(&self, permit: RatePermit) -> bool {
        let state = self.state();
        let is_known = permit == RatePermit::Throttled || state.rate.is_none();
        is_known && !state.is_paused(Instant::now())
    }

    /// The endpoint answered a request.
    pub(crate) fn answered(&self) {
        self.state().answered(Instant::now());
    }

    /// A request failed for another reason than a rate limit.
    pub(crate) fn failed(&self) {
        self.state().not_rejected();
    }

    /// The endpoint rate-limited a request that was sent at `sent`. One of many is retried by itself; if they are many, the endpoint has a
    /// limit.
    pub(crate) fn refused(&self, sent: Instant, retry_after: Option<Duration>) {
        let pause = retry_after.map(|wanted| wanted.min(self.longest_pause));
        self.state().refused(sent, pause, Instant::now());
    }
}

impl State {
    fn is_unlimited(&self) -> bool {
        self.rate.is_none() && self.interval.is_zero() && self.backoff.is_zero()
    }

    #[expect(clippy::indexing_slicing, reason = "there is one for each lane")]
    fn lane(&mut self, lane: Lane) -> &mut LaneState {
        &mut self.lanes[lane as usize]
    }

    /// A lane begins to wait. It has no claim to what it did not use before.
    fn enter(&mut self, lane: Lane) {
        let served = self.served;
        let state = self.lane(lane);
        *state = LaneState { is_waiting: true, account: state.account.max(served) };
    }

    /// Sends a request of a lane; else when to try again.
    fn grant(&mut self, calls: u32, lane: Lane, now: Instant) -> Result<RatePermit, Instant> {
        let learned = self.rate.map_or(Duration::ZERO, |rate| Duration::from_secs_f64(1.0 / rate));
        let limited = self.interval * calls;
        let free = self.next.unwrap_or(now).max(self.paused_until.unwrap_or(now));
        if free > now {
            // A rate that is not what requests wait for need not grow.
            self.used |= learned >= limited;
            return Err(free);
        }
        let account = self.lane(lane).account;
        if self.lanes.iter().any(|other| other.is_waiting && other.account < account) {
            return Err(now + TURN);
        }
        self.served = account;
        self.lane(lane).account = account + f64::from(calls.max(1)) / lane.weight();
        let probing = if self.backoff.is_zero() { Duration::ZERO } else { PROBE_SPACING };
        self.next = Some(now + learned.max(limited).max(probing));
        Ok(if self.rate.is_some() { RatePermit::Throttled } else { RatePermit::Unlimited })
    }

    fn answered(&mut self, now: Instant) {
        self.responses.push_back(now);
        self.drop_old_responses(now);
        self.backoff = Duration::ZERO;
        self.not_rejected();
        if let (Some(rate), Some(until)) = (self.rate, self.estimating_until)
            && now < until
        {
            self.rate = Some(rate.max(self.answered_in_window() * HEADROOM));
        }
        self.grow(now);
    }

    fn not_rejected(&mut self) {
        self.rejections.succeeded(if self.rate.is_some() { TOLERATED_AT_RATE } else { TOLERATED });
    }

    fn answered_in_window(&self) -> f64 {
        #[allow(clippy::cast_precision_loss, reason = "the responses of one second")]
        let responses = self.responses.len() as f64;
        responses
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
        self.rate = (rate < MAX_RATE).then_some(rate);
        self.last_growth = Some(now);
        self.used = false;
    }

    fn refused(&mut self, sent: Instant, pause: Option<Duration>, now: Instant) {
        if self.counts_from.is_some_and(|from| sent < from) {
            return;
        }
        // At a low rate there are few requests to count.
        let enough = if self.backoff.is_zero() {
            self.rate.map_or(ENOUGH, |rate| (rate / 10.0).clamp(1.0, ENOUGH))
        } else {
            1.0
        };
        if !self.rejections.failed(enough) {
            return;
        }
        if let Some(pause) = pause {
            self.pause_until(now + pause);
        }
        self.drop_old_responses(now);
        if self.responses.is_empty() {
            // That nothing is answered says nothing about the rate.
            self.backoff = (self.backoff * 2).clamp(FIRST_BACKOFF, MAX_BACKOFF);
            self.pause_until(now + self.backoff);
            self.counts_from = Some(now);
            return;
        }
        let measured = self.answered_in_window();
        let first = self.rate.is_none();
        let refused_at = self.rate.map_or(measured, |rate| rate.min(measured.max(rate / 2.0)));
        self.rate = Some((refused_at * HEADROOM).max(MIN_RATE));
        self.counts_from = Some(now + BETWEEN_CUTS);
        self.last_cut = Some(now);
        self.last_growth = None;
        if first {
            // The burst has used up the second in which it was sent. A rate-limit error arrives sooner than the responses to the
            // requests sent with it.
            self.pause_until(self.responses.front().map_or(now, |oldest| *oldest) + WINDOW);
            self.estimating_until = Some(now + WINDOW);
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

    /// Sends a request as soon as the gate permits; returns when that was.
    fn send(state: &mut State, mut now: Instant) -> Instant {
        state.enter(Lane::Block);
        while let Err(at) = state.grant(1, Lane::Block, now) {
            now = at;
        }
        state.lane(Lane::Block).is_waiting = false;
        now
    }

    /// Simulates an endpoint with a limit per second that also rejects one in so many requests for no reason, called as fast as the gate
    /// permits; returns how many requests it served and rejected.
    fn run(limit: usize, one_in: usize, seconds: u64, retry_after: Option<Duration>) -> (usize, usize) {
        let (mut state, begun) = (State::default(), Instant::now());
        let (mut now, mut taken) = (begun, VecDeque::new());
        let (mut served, mut refused) = (0, 0);
        while now.duration_since(begun) < Duration::from_secs(seconds) {
            now = send(&mut state, now);
            while taken.front().is_some_and(|then| now.duration_since(*then) >= WINDOW) {
                taken.pop_front();
            }
            if taken.len() < limit && (served + refused + 1) % one_in != 0 {
                taken.push_back(now);
                served += 1;
                state.answered(now);
            } else {
                refused += 1;
                state.refused(now, retry_after, now);
            }
            now += Duration::from_millis(1);
        }
        (served, refused)
    }

    #[test]
    fn a_limit_is_fully_used_with_few_rejections() {
        for (limit, retry_after) in [(20, None), (20, Some(WINDOW)), (3, None), (200, Some(WINDOW))] {
            let (served, refused) = run(limit, usize::MAX, 60, retry_after);
            assert!(served >= limit * 60 * 85 / 100, "{served} of {}", limit * 60);
            assert!(refused * 20 <= served.max(200), "{refused} rejected, {served} served");
        }
    }

    #[test]
    fn rejections_now_and_then_are_no_limit() {
        for one_in in [20, 40] {
            let (served, refused) = run(usize::MAX, one_in, 60, Some(Duration::from_secs(30)));
            assert_eq!(served + refused, 60_000, "all are sent at once");
            let (served, _) = run(200, one_in, 60, None);
            assert!(served >= 200 * 60 * 75 / 100, "a limit is still used: {served}");
        }
    }

    fn reject(state: &mut State, times: usize, retry_after: Option<Duration>, now: Instant) {
        (0..times).for_each(|_| state.refused(now, retry_after, now));
    }

    #[test]
    fn responses_after_the_first_rejections_count_as_well() {
        let (mut state, now) = (State::default(), Instant::now());
        state.answered(now);
        reject(&mut state, 5, None, now);
        for response in 1..=20 {
            state.answered(now + Duration::from_millis(response * 10));
        }
        assert!(state.rate.is_some_and(|rate| rate > 18.9), "{:?}", state.rate);
        // Nothing is sent until the second used up by the burst is over.
        assert!(send(&mut state, now + Duration::from_millis(300)) >= now + WINDOW);
    }

    #[test]
    fn an_endpoint_that_rejects_everything_is_probed_and_used_again_once_it_answers() {
        let (mut state, begun) = (State::default(), Instant::now());
        let (mut now, mut probes) = (begun, 0);
        while now.duration_since(begun) < Duration::from_secs(60) {
            now = send(&mut state, now);
            state.refused(now, None, now);
            probes += 1;
        }
        assert!((60..80).contains(&probes), "{probes}");
        let waited = send(&mut state, now).duration_since(now);
        assert!(waited <= MAX_BACKOFF, "{waited:?}");
        now += waited;
        state.answered(now);
        assert!(state.is_unlimited(), "it never answered fewer requests than were sent");
    }

    #[test]
    fn a_lifted_limit_is_dropped() {
        let (mut state, mut now) = (State::default(), Instant::now());
        state.answered(now);
        reject(&mut state, 4, None, now);
        assert!(state.rate.is_some());
        let cut = now;
        while state.rate.is_some() && now.duration_since(cut) < Duration::from_secs(300) {
            now = send(&mut state, now);
            state.answered(now);
        }
        assert_eq!(state.rate, None);
    }

    #[test]
    fn retry_after_is_respected_if_there_is_a_limit() {
        let (mut state, now) = (State::default(), Instant::now());
        let seven = Duration::from_secs(7);
        reject(&mut state, 3, Some(seven), now);
        assert_eq!(send(&mut state, now), now);
        reject(&mut state, 1, Some(seven), now);
        assert!(send(&mut state, now) >= now + seven);
    }

    fn reject_all(gate: &RateGate, retry_after: Option<Duration>) {
        let now = Instant::now();
        gate.state().counts_from = None;
        (0..4).for_each(|_| gate.refused(now, retry_after));
    }

    #[tokio::test]
    async fn a_permit_from_before_a_limit_was_found_is_no_longer_valid() {
        let gate = RateGate::new(None, WINDOW / 10);
        let permit = gate.acquire(1, Lane::Ahead).await;
        gate.answered();
        assert!(gate.is_valid(permit));
        reject_all(&gate, None);
        assert!(!gate.is_valid(permit), "no limit was known then");
        let permit = gate.acquire(1, Lane::Ahead).await;
        assert!(gate.is_valid(permit));
        reject_all(&gate, Some(WINDOW));
        assert!(!gate.is_valid(permit), "the endpoint sent Retry-After");
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_limit_no_request_waits() {
        for gate in [RateGate::new(None, WINDOW), RateGate::new(Some(0), WINDOW)] {
            let begun = Instant::now();
            for _ in 0..10_000 {
                assert_eq!(gate.acquire(1_000, Lane::Ahead).await, RatePermit::Unlimited);
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
            assert_eq!(gate.acquire(calls, Lane::Block).await, RatePermit::Unlimited);
            assert_eq!(begun.elapsed(), Duration::from_millis(sent_after));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_lower_of_both_limits_holds() {
        let (gate, begun) = (RateGate::new(Some(10), WINDOW), Instant::now());
        gate.answered();
        reject_all(&gate, None);
        for _ in 0..5 {
            assert_eq!(gate.acquire(1, Lane::Ahead).await, RatePermit::Throttled);
        }
        let learned = begun.elapsed();
        assert!(learned > Duration::from_secs(4), "one request per second was learned: {learned:?}");
        for _ in 0..5 {
            let _ = gate.acquire(100, Lane::Ahead).await;
        }
        let limited = begun.elapsed() - learned;
        assert!(limited > Duration::from_secs(40), "100 calls take 10 seconds: {limited:?}");
    }

    #[test]
    fn a_rate_does_not_grow_while_the_limit_of_the_operator_is_lower() {
        let mut state = State { interval: Duration::from_secs(1), ..State::default() };
        let begun = Instant::now();
        (0..100).for_each(|_| state.answered(begun));
        reject(&mut state, 4, None, begun);
        let (rate, mut now) = (state.rate, begun);
        assert!(rate.is_some());
        while now.duration_since(begun) < Duration::from_secs(300) {
            now = send(&mut state, now).max(now + Duration::from_millis(1));
            state.answered(now);
        }
        assert_eq!(state.rate, rate);
    }

    /// When each of many requests of a lane is sent.
    async fn sent(gate: &RateGate, lane: Lane, requests: usize) -> Vec<Duration> {
        let begun = Instant::now();
        let send = async |_| {
            let _ = gate.acquire(1, lane).await;
            begun.elapsed()
        };
        futures::future::join_all((0..requests).map(send)).await
    }

    #[tokio::test(start_paused = true)]
    async fn lanes_share_a_rate_by_weight_and_none_starves() {
        let gate = RateGate::new(Some(100), WINDOW);
        let (users, blocks, ahead, background) = tokio::join!(
            sent(&gate, Lane::User, 1_000),
            sent(&gate, Lane::Block, 1_000),
            sent(&gate, Lane::Ahead, 1_000),
            sent(&gate, Lane::Background, 1_000),
        );
        let soon = Duration::from_millis(2_099);
        let share = |times: &[Duration]| times.iter().filter(|time| **time <= soon).count();
        assert_eq!([&users, &blocks, &ahead, &background].map(|times| share(times)), [80, 80, 40, 10]);
        assert_eq!(background.last(), Some(&Duration::from_millis(39_990)), "no call is lost");
    }

    #[tokio::test(start_paused = true)]
    async fn requests_of_users_wait_for_one_call_of_a_backfill() {
        let gate = RateGate::new(Some(10), WINDOW);
        let backfill = futures::future::join(sent(&gate, Lane::Ahead, 100), sent(&gate, Lane::Background, 100));
        let user = async {
            tokio::time::sleep(Duration::from_millis(5_001)).await;
            let begun = Instant::now();
            let _ = gate.acquire(1, Lane::User).await;
            begun.elapsed()
        };
        let (_, waited) = tokio::join!(backfill, user);
        assert!(waited <= Duration::from_millis(100), "{waited:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_gives_up_takes_no_call() {
        let (gate, begun) = (RateGate::new(Some(10), WINDOW), Instant::now());
        let _ = gate.acquire(1, Lane::User).await;
        let impatient = tokio::time::timeout(Duration::from_millis(50), sent(&gate, Lane::User, 100));
        let (gave_up, _) = tokio::join!(impatient, gate.acquire(1, Lane::Background));
        assert!(gave_up.is_err());
        assert!(begun.elapsed() <= Duration::from_millis(110), "{:?}", begun.elapsed());
    }
}
