use std::{collections::VecDeque, time::Duration};

/// The period of all limits.
pub(crate) const WINDOW: Duration = Duration::from_secs(60);
const WINDOW_NANOS: u64 = 60 * 1_000_000_000;

/// A monotonic timestamp: nanoseconds since the limiter started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(pub(crate) u64);

impl Moment {
    /// When a request of this moment no longer counts: a window of 60 seconds, both ends included, cannot contain both
    /// moments.
    fn expires_at(self) -> u64 {
        self.0.saturating_add(WINDOW_NANOS + 1)
    }

    fn until(self, then: u64) -> Duration {
        Duration::from_nanos(then.saturating_sub(self.0))
    }
}

/// The allowed requests of the last 60 seconds, oldest first, each as often as it costs. Rejected requests are not counted.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestLog {
    allowed: VecDeque<Moment>,
}

/// How much of a limit is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QuotaState {
    pub(crate) limit: u32,
    /// The cost that is still allowed now.
    pub(crate) remaining: u32,
    /// Until a request that was rejected is allowed, otherwise until `remaining` grows by one; zero if no request counts.
    pub(crate) until_more: Duration,
}

impl RequestLog {
    /// Drops requests that no longer count.
    pub(crate) fn drop_expired(&mut self, now: Moment) {
        while self.allowed.front().is_some_and(|oldest| oldest.expires_at() <= now.0) {
            self.allowed.pop_front();
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.allowed.is_empty()
    }

    /// What is left for a request of this cost, which is not above the limit.
    pub(crate) fn state(&mut self, limit: u32, cost: u32, now: Moment) -> QuotaState {
        self.drop_expired(now);
        let counted = u32::try_from(self.allowed.len()).unwrap_or(u32::MAX);
        // For a dear request, and after a limit was lowered, several must expire before it is allowed.
        let missing = counted.saturating_add(cost).saturating_sub(limit);
        let expires_next = self.allowed.get(missing.saturating_sub(1) as usize);
        QuotaState {
            limit,
            remaining: limit.saturating_sub(counted),
            until_more: expires_next.map_or(Duration::ZERO, |oldest| now.until(oldest.expires_at())),
        }
    }

    /// Counts an allowed request.
    pub(crate) fn record(&mut self, cost: u32, now: Moment) {
        // Threads may get here in another order than they read the clock. Recording a later time than the real one makes
        // the limit stricter, never laxer.
        let now = self.allowed.back().map_or(now, |newest| now.max(*newest));
        self.allowed.extend(std::iter::repeat_n(now, cost as usize));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn allow(log: &mut RequestLog, limit: u32, now: u64) -> bool {
        let allowed = log.state(limit, 1, Moment(now)).remaining > 0;
        if allowed {
            log.record(1, Moment(now));
        }
        allowed
    }

    #[test]
    fn the_first_n_requests_are_allowed_and_the_next_is_rejected() {
        let mut log = RequestLog::default();
        assert!((0..10).all(|_| allow(&mut log, 10, 5)));
        assert!(!allow(&mut log, 10, 5));
        assert!(!allow(&mut log, 10, 5 + 60 * SECOND));
        assert!(allow(&mut log, 10, 6 + 60 * SECOND));
    }

    #[test]
    fn the_state_has_the_remaining_requests_and_the_time_until_more() {
        let mut log = RequestLog::default();
        let empty = QuotaState { limit: 2, remaining: 2, until_more: Duration::ZERO };
        assert_eq!(log.state(2, 1, Moment(0)), empty);
        log.record(1, Moment(0));
        log.record(1, Moment(10 * SECOND));
        let state = log.state(2, 1, Moment(15 * SECOND));
        assert_eq!((state.remaining, state.until_more), (0, Duration::from_nanos(45 * SECOND + 1)));
    }

    #[test]
    fn a_dear_request_waits_until_enough_has_expired() {
        let mut log = RequestLog::default();
        log.record(4, Moment(0));
        log.record(4, Moment(10 * SECOND));
        let now = Moment(15 * SECOND);
        assert_eq!(log.state(10, 2, now).remaining, 2);
        // Three more than are left: one of the first four must expire, and those expire together.
        assert_eq!(log.state(10, 5, now).until_more, Duration::from_nanos(45 * SECOND + 1));
        assert_eq!(log.state(10, 7, now).until_more, Duration::from_nanos(55 * SECOND + 1));
        assert_eq!(log.state(10, 10, now).until_more, Duration::from_nanos(55 * SECOND + 1));
    }

    #[test]
    fn a_lowered_limit_applies_at_once() {
        let mut log = RequestLog::default();
        assert!((0..5).all(|second| allow(&mut log, 5, second * SECOND)));
        let state = log.state(2, 1, Moment(5 * SECOND));
        assert_eq!(state.remaining, 0);
        // Four of the five requests must expire before another one is allowed.
        assert_eq!(state.until_more, Duration::from_nanos(58 * SECOND + 1));
    }

    #[test]
    fn timestamps_out_of_order_do_not_shorten_the_window() {
        let mut log = RequestLog::default();
        log.record(1, Moment(9));
        log.record(1, Moment(7));
        log.drop_expired(Moment(60 * SECOND + 8));
        assert_eq!(log.state(10, 1, Moment(60 * SECOND + 8)).remaining, 8);
    }
}
