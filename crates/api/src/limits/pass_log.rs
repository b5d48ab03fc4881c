use std::{collections::VecDeque, time::Duration};

/// The span that a limit speaks of.
pub(crate) const WINDOW: Duration = Duration::from_secs(60);
const WINDOW_NANOS: u64 = 60 * 1_000_000_000;

/// A reading of a clock that never goes back: nanoseconds since some beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(pub(crate) u64);

impl Moment {
    /// From here on, a request that passed at `self` no longer counts: a span of 60 seconds, both its ends included,
    /// cannot hold this moment and that one.
    fn forgotten_at(self) -> u64 {
        self.0.saturating_add(WINDOW_NANOS + 1)
    }

    fn until(self, then: u64) -> Duration {
        Duration::from_nanos(then.saturating_sub(self.0))
    }
}

/// The requests that passed within the window, oldest first. Those that were refused leave no trace.
#[derive(Debug, Clone, Default)]
pub(crate) struct PassLog {
    passed: VecDeque<Moment>,
}

/// How a limit stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) limit: u32,
    /// Requests that may still pass now.
    pub(crate) remaining: u32,
    /// Until one more may pass than may now; nought where nothing counts against the limit.
    pub(crate) until_more: Duration,
}

impl PassLog {
    /// Drops what no longer counts.
    pub(crate) fn forget_old(&mut self, now: Moment) {
        while self.passed.front().is_some_and(|oldest| oldest.forgotten_at() <= now.0) {
            self.passed.pop_front();
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.passed.is_empty()
    }

    pub(crate) fn standing(&mut self, limit: u32, now: Moment) -> Standing {
        self.forget_old(now);
        let counted = u32::try_from(self.passed.len()).unwrap_or(u32::MAX);
        // After a limit was lowered, more than one has to be forgotten before the next may pass.
        let leaves_next = self.passed.get(counted.saturating_sub(limit) as usize);
        Standing {
            limit,
            remaining: limit.saturating_sub(counted),
            until_more: leaves_next.map_or(Duration::ZERO, |oldest| now.until(oldest.forgotten_at())),
        }
    }

    /// Counts a request that passes.
    pub(crate) fn record(&mut self, now: Moment) {
        // Whoever read the clock first need not be the first to get here. Taken later than it was, a request counts for
        // longer, never for shorter.
        let now = self.passed.back().map_or(now, |newest| now.max(*newest));
        self.passed.push_back(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn pass(log: &mut PassLog, limit: u32, now: u64) -> bool {
        let free = log.standing(limit, Moment(now)).remaining > 0;
        if free {
            log.record(Moment(now));
        }
        free
    }

    #[test]
    fn the_first_n_of_a_quiet_client_all_pass_and_the_next_does_not() {
        let mut log = PassLog::default();
        assert!((0..10).all(|_| pass(&mut log, 10, 5)));
        assert!(!pass(&mut log, 10, 5));
        assert!(!pass(&mut log, 10, 5 + 60 * SECOND));
        assert!(pass(&mut log, 10, 6 + 60 * SECOND));
    }

    #[test]
    fn what_is_left_and_when_there_will_be_more_is_told() {
        let mut log = PassLog::default();
        let empty = Standing { limit: 2, remaining: 2, until_more: Duration::ZERO };
        assert_eq!(log.standing(2, Moment(0)), empty);
        log.record(Moment(0));
        log.record(Moment(10 * SECOND));
        let standing = log.standing(2, Moment(15 * SECOND));
        assert_eq!((standing.remaining, standing.until_more), (0, Duration::from_nanos(45 * SECOND + 1)));
    }

    #[test]
    fn a_limit_that_was_lowered_is_kept_at_once() {
        let mut log = PassLog::default();
        assert!((0..5).all(|second| pass(&mut log, 5, second * SECOND)));
        let standing = log.standing(2, Moment(5 * SECOND));
        assert_eq!(standing.remaining, 0);
        // Four of the five must be forgotten before the second of two may pass.
        assert_eq!(standing.until_more, Duration::from_nanos(58 * SECOND + 1));
    }

    #[test]
    fn clocks_read_out_of_turn_do_not_shorten_the_window() {
        let mut log = PassLog::default();
        log.record(Moment(9));
        log.record(Moment(7));
        log.forget_old(Moment(60 * SECOND + 8));
        assert_eq!(log.standing(10, Moment(60 * SECOND + 8)).remaining, 8);
    }
}
