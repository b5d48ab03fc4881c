//! The rate of calls to an endpoint: the operator's limit, and a rate of requests that is learned from rate-limit errors.

mod state;
#[cfg(test)]
mod tests;

use std::{
    pin::pin,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{Notify, Semaphore},
    time::{Instant, sleep_until},
};

use self::state::{RatePermit, State};
use crate::endpoint::lane::Lane;

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

/// The first request of a lane.
struct WaitingLane<'a> {
    gate: &'a RateGate,
    lane: Lane,
}

impl<'a> WaitingLane<'a> {
    fn enter(gate: &'a RateGate, lane: Lane) -> Self {
        gate.state().enter(lane);
        Self { gate, lane }
    }
}

impl Drop for WaitingLane<'_> {
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

    /// The learned rate in requests per second; None before the first rate limit.
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
        let _waiting = WaitingLane::enter(self, lane);
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
