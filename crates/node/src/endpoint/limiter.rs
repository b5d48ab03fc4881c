//! Adaptive concurrency limit (AIMD) per endpoint.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};

use crate::endpoint::{failure_share::FailureShare, lane::Lane};

const START: usize = 8;
/// Queued requests that compete for slots with the others. More than one, since responses arrive in bursts: waking the
/// queue one by one would leave slots empty.
const FRONT: usize = 16;
/// Above this multiple of the typical latency, the limit stops growing.
const RISING: f64 = 1.5;
/// Consecutive slow windows before the limit counts as found. One may be slow because this machine was busy, and growth
/// is slow from then on.
const RISING_WINDOWS: u32 = 2;
/// Above this multiple of the typical latency, the limit is halved.
const STEEP: f64 = 3.0;
/// The limit grows by 1/8 per window once the node has shown a limit. The slowness may have been this machine's, and
/// growing by one per window would take minutes on a distant node.
const GROWTH_SHARE: usize = 8;
/// Below this latency, a response always counts as fast.
const QUICK: Duration = Duration::from_millis(50);
/// Weight of a slower window in the typical latency. Blocks grow, so slower is not always overload.
const ADAPTATION: f64 = 0.1;
/// A response counts as at most this multiple of the typical latency: a single one that stalled does not make a slow window.
const STALLED: f64 = 4.0;
/// The share of failures that is no overload: some nodes fail now and then, busy or not.
const TOLERATED: f64 = 0.25;
/// Failures beyond the tolerated share that show an overload.
const MIN_EXCESS: f64 = 4.0;

/// Slow start: doubles until the node shows a limit. From then on the limit grows by an eighth per window, and is halved
/// on overload.
#[derive(Debug)]
pub(crate) struct Limiter {
    slots: Arc<Semaphore>,
    /// Held by requests for blocks ahead while they wait for a slot; the others skip it.
    queue: Semaphore,
    max: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    limit: usize,
    /// Slow start: the node has not shown a limit yet.
    exploring: bool,
    /// Slots to remove when they are released: the limit was cut below the number in flight.
    owed: usize,
    window: Window,
    /// Typical latency in seconds.
    usual: Option<f64>,
    /// Consecutive windows that were slower than usual.
    rising: u32,
    failures: FailureShare,
    last_cut: Option<Instant>,
}

#[derive(Debug, Default)]
struct Window {
    responses: usize,
    seconds: f64,
    /// Whether all slots were in use at some time: an unused limit need not grow.
    full: bool,
}

/// Permit for one request in flight.
#[derive(Debug)]
pub(crate) struct Slot<'a> {
    limiter: &'a Limiter,
    permit: Option<OwnedSemaphorePermit>,
    since: Instant,
    was_full: bool,
}

impl Limiter {
    pub(crate) fn new(max: usize) -> Self {
        let max = max.max(1);
        let limit = START.min(max);
        Self {
            slots: Arc::new(Semaphore::new(limit)),
            queue: Semaphore::new(FRONT),
            max,
            state: Mutex::new(State {
                limit,
                exploring: true,
                owed: 0,
                window: Window::default(),
                usual: None,
                rising: 0,
                failures: FailureShare::default(),
                last_cut: None,
            }),
        }
    }

    /// Waits for a slot; first come, first served, and blocks ahead last.
    pub(crate) async fn slot(&self, lane: Lane) -> Slot<'_> {
        let _queue_permit = match lane {
            Lane::Ahead => self.queue.acquire().await.ok(),
            Lane::User | Lane::Block | Lane::Background => None,
        };
        // The semaphore is never closed, so there is no error; without a permit the request would just be sent.
        let permit = Arc::clone(&self.slots).acquire_owned().await.ok();
        Slot { limiter: self, permit, since: Instant::now(), was_full: self.slots.available_permits() == 0 }
    }

    pub(crate) fn limit(&self) -> usize {
        self.state().limit
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answered(&self, took: Duration, was_full: bool) {
        let mut state = self.state();
        state.failures.succeeded(TOLERATED);
        let longest = state.usual.map_or(f64::MAX, |usual| usual.max(QUICK.as_secs_f64()) * STALLED);
        state.window.responses += 1;
        state.window.seconds += took.as_secs_f64().min(longest);
        state.window.full |= was_full;
        if state.window.responses < state.limit {
            return;
        }
        let window = std::mem::take(&mut state.window);
        #[allow(clippy::cast_precision_loss, reason = "a window has at most some hundred responses")]
        let mean = window.seconds / window.responses as f64;
        let usual = state.usual.unwrap_or(mean);
        state.usual = Some(if mean < usual { mean } else { usual + (mean - usual) * ADAPTATION });
        let slow = mean > QUICK.as_secs_f64();
        let is_rising = slow && mean > usual * RISING;
        state.rising = if is_rising { state.rising + 1 } else { 0 };
        if slow && mean > usual * STEEP {
            self.cut(&mut state);
        } else if is_rising {
            state.exploring &= state.rising < RISING_WINDOWS;
        } else if window.full {
            self.grow(&mut state);
        }
    }

    fn grow(&self, state: &mut State) {
        let wanted = if state.exploring { state.limit } else { (state.limit / GROWTH_SHARE).max(1) };
        let more = wanted.min(self.max - state.limit);
        state.limit += more;
        let repaid = state.owed.min(more);
        state.owed -= repaid;
        self.slots.add_permits(more - repaid);
    }

    /// A request that was sent at `since` failed as on an overloaded node.
    fn overloaded(&self, since: Instant) {
        let mut state = self.state();
        // Requests from before the last cut say nothing about the current limit.
        if state.last_cut.is_none_or(|cut| since >= cut) && state.failures.failed(MIN_EXCESS) {
            self.cut(&mut state);
        }
    }

    fn cut(&self, state: &mut State) {
        let limit = (state.limit / 2).max(1);
        let surplus = state.limit - limit;
        state.limit = limit;
        state.exploring = false;
        state.owed += surplus - self.slots.forget_permits(surplus);
        state.window = Window::default();
        state.last_cut = Some(Instant::now());
    }
}

impl Slot<'_> {
    /// The node answered in time.
    pub(crate) fn answered(self) {
        self.limiter.answered(self.since.elapsed(), self.was_full);
    }

    /// The node refused the request or did not respond in time. It is overloaded if many requests end so.
    pub(crate) fn overloaded(self) {
        self.limiter.overloaded(self.since);
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        let mut state = self.limiter.state();
        if let Some(owed) = state.owed.checked_sub(1) {
            state.owed = owed;
            if let Some(permit) = self.permit.take() {
                permit.forget();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn fill(limiter: &Limiter) -> Vec<Slot<'_>> {
        let mut slots = Vec::new();
        while limiter.slots.available_permits() > 0 {
            slots.push(limiter.slot(Lane::Block).await);
        }
        slots
    }

    async fn fail(limiter: &Limiter, requests: usize) {
        for _ in 0..requests {
            limiter.slot(Lane::Block).await.overloaded();
        }
    }

    #[tokio::test]
    async fn failures_now_and_then_do_not_lower_the_limit() {
        let limiter = Limiter::new(128);
        for request in 0..10_000 {
            let slot = limiter.slot(Lane::Block).await;
            if request % 5 == 0 { slot.overloaded() } else { slot.answered() }
        }
        assert_eq!(limiter.limit(), 8);
    }

    #[test]
    fn a_response_that_stalled_does_not_lower_the_limit() {
        let limiter = Limiter::new(128);
        for expected in [16, 32, 64] {
            for response in 0..limiter.limit() {
                let stalled = expected > 16 && response % 40 == 7;
                limiter.answered(if stalled { Duration::from_secs(15) } else { Duration::from_millis(60) }, true);
            }
            assert_eq!(limiter.limit(), expected);
        }
    }

    #[tokio::test]
    async fn the_limit_doubles_until_overload_and_then_grows_by_an_eighth_per_window() {
        let limiter = Limiter::new(128);
        assert_eq!(limiter.limit(), 8);
        for expected in [16, 32, 64] {
            fill(&limiter).await.into_iter().for_each(Slot::answered);
            assert_eq!(limiter.limit(), expected);
        }
        fail(&limiter, 4).await;
        for expected in [36, 40, 45, 50] {
            fill(&limiter).await.into_iter().for_each(Slot::answered);
            assert_eq!(limiter.limit(), expected);
        }
    }

    #[tokio::test]
    async fn high_priority_overtakes_all_queued_requests_but_the_first() {
        let limiter = Limiter::new(1);
        let sent = Mutex::new(Vec::new());
        let send = async |lane, name: usize| {
            let slot = limiter.slot(lane).await;
            sent.lock().unwrap().push(name);
            tokio::task::yield_now().await;
            slot.answered();
        };
        let queued = futures::future::join_all((0..100).map(|name| send(Lane::Ahead, name)));
        tokio::join!(queued, send(Lane::Block, 1_000));
        let sent = sent.into_inner().unwrap();
        // The request that already has the slot is no longer queued.
        assert_eq!(sent.iter().position(|name| *name == 1_000), Some(FRONT + 1), "{sent:?}");
        assert!(sent.iter().filter(|name| **name < 1_000).is_sorted(), "{sent:?}");
    }

    #[tokio::test]
    async fn the_limit_grows_neither_unused_nor_beyond_its_cap() {
        let limiter = Limiter::new(128);
        for _ in 0..100 {
            limiter.slot(Lane::Block).await.answered();
        }
        assert_eq!(limiter.limit(), 8);
        let capped = Limiter::new(3);
        for _ in 0..10 {
            fill(&capped).await.into_iter().for_each(Slot::answered);
        }
        assert_eq!(capped.limit(), 3);
    }

    #[tokio::test]
    async fn the_limit_is_halved_once_per_burst_and_never_below_one() {
        let limiter = Limiter::new(128);
        fill(&limiter).await.into_iter().for_each(Slot::overloaded);
        assert_eq!(limiter.limit(), 4);
        fail(&limiter, 20).await;
        assert_eq!(limiter.limit(), 1);
        assert_eq!(limiter.slots.available_permits(), 1);
    }

    #[tokio::test]
    async fn a_cut_takes_slots_from_requests_in_flight() {
        let limiter = Limiter::new(128);
        let mut slots = fill(&limiter).await;
        for _ in 0..4 {
            slots.pop().unwrap().overloaded();
        }
        assert_eq!(limiter.slots.available_permits(), 0);
        drop(slots);
        assert_eq!(limiter.slots.available_permits(), 4);
    }

    #[test]
    fn a_steep_rise_in_latency_halves_the_limit_and_a_mild_one_holds_it() {
        let limiter = Limiter::new(128);
        let window = |millis, limiter: &Limiter| {
            for _ in 0..limiter.limit() {
                limiter.answered(Duration::from_millis(millis), true);
            }
            limiter.limit()
        };
        assert_eq!(window(60, &limiter), 16);
        // One slow window is ignored.
        assert_eq!(window(100, &limiter), 16);
        assert_eq!(window(60, &limiter), 32);
        assert_eq!(window(100, &limiter), 32);
        assert_eq!(window(105, &limiter), 32);
        // Slow start is over.
        assert_eq!(window(60, &limiter), 36);
        assert_eq!(window(400, &limiter), 18);
    }

    #[tokio::test]
    async fn the_limit_recovers_after_a_cut() {
        let limiter = Limiter::new(16);
        fill(&limiter).await.into_iter().for_each(Slot::overloaded);
        for _ in 0..20 {
            fill(&limiter).await.into_iter().for_each(Slot::answered);
        }
        assert_eq!(limiter.limit(), 16);
        assert_eq!(limiter.slots.available_permits(), 16);
    }
}
