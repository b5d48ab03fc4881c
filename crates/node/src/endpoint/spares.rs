//! Requests that are sent again because their response takes unusually long.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

/// How many repeated requests wait at once besides the first.
pub(super) const MAX_SPARES: usize = 4;
/// Before a response of the method was measured, and at least.
pub(super) const PATIENCE: Duration = Duration::from_secs(1);
const MIN_PATIENCE: Duration = Duration::from_millis(400);
/// A response is late after this multiple of the usual latency.
const LATE: u32 = 3;
/// A request may be repeated for every so many that ended: a node that is slow as a whole must not get more load.
const ENDED_PER_SPARE: u32 = 8;
/// Repeated requests at most after a time without any.
const BURST: u32 = 20;

/// How long to wait for a response before the request is repeated.
pub(super) fn patience(usual_latency: Duration) -> Duration {
    (usual_latency * LATE).max(MIN_PATIENCE)
}

/// A budget, in requests that ended.
#[derive(Debug)]
pub(super) struct Spares(AtomicU32);

impl Default for Spares {
    fn default() -> Self {
        Self(AtomicU32::new(BURST * ENDED_PER_SPARE))
    }
}

impl Spares {
    pub(super) fn earn(&self) {
        let earn = |budget: u32| (budget < BURST * ENDED_PER_SPARE).then_some(budget + 1);
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, earn);
    }

    pub(super) fn take(&self) -> bool {
        let take = |budget: u32| budget.checked_sub(ENDED_PER_SPARE);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_requests_are_repeated_at_a_node_that_does_not_respond() {
        let spares = Spares::default();
        assert_eq!((0..1_000).filter(|_| spares.take()).count(), BURST as usize);
        (0..ENDED_PER_SPARE).for_each(|_| spares.earn());
        assert_eq!((0..1_000).filter(|_| spares.take()).count(), 1);
    }
}
