//! Hedged requests: sent again because their response takes unusually long.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

/// How many hedges of one request wait at once besides the first.
pub(super) const MAX_HEDGES: usize = 4;
/// Before a response of the method was measured, and at least.
pub(super) const FIRST_DELAY: Duration = Duration::from_secs(1);
const MIN_DELAY: Duration = Duration::from_millis(200);
/// A response is late after this multiple of the usual latency.
const LATE_FACTOR: u32 = 3;
/// A request may be repeated for every so many that ended: a node that is slow as a whole must not get more load.
const ENDED_PER_HEDGE: u32 = 8;
/// Hedges at most after a time without any.
const BURST: u32 = 20;

/// How long to wait for a response before the request is repeated.
pub(super) fn delay(usual_latency: Duration) -> Duration {
    (usual_latency * LATE_FACTOR).max(MIN_DELAY)
}

/// A budget, in requests that ended.
#[derive(Debug)]
pub(super) struct HedgeBudget(AtomicU32);

impl Default for HedgeBudget {
    fn default() -> Self {
        Self(AtomicU32::new(BURST * ENDED_PER_HEDGE))
    }
}

impl HedgeBudget {
    pub(super) fn record_end(&self) {
        let add = |budget: u32| (budget < BURST * ENDED_PER_HEDGE).then_some(budget + 1);
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
    }

    pub(super) fn take(&self) -> bool {
        let take = |budget: u32| budget.checked_sub(ENDED_PER_HEDGE);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_requests_are_repeated_at_a_node_that_does_not_respond() {
        let budget = HedgeBudget::default();
        assert_eq!((0..1_000).filter(|_| budget.take()).count(), BURST as usize);
        (0..ENDED_PER_HEDGE).for_each(|_| budget.record_end());
        assert_eq!((0..1_000).filter(|_| budget.take()).count(), 1);
    }
}
