//! Circuit breaker: how many slots an endpoint gets, based on its past responses.

use std::{
    ops::{Index, IndexMut},
    time::Duration,
};

/// After this many consecutive failures the circuit opens: only occasional probes are sent.
const FAILURES_TO_OPEN: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const MAX_PAUSE: Duration = Duration::from_secs(300);

domain::all_variants! {
    /// Trust level of an endpoint.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub(crate) enum Trust {
        /// The last attempt succeeded.
        Proven,
        /// No attempt has succeeded or failed yet.
        Unknown,
        /// An attempt has succeeded before, and a few have failed since.
        Degraded,
        /// Many attempts have failed in a row, or none has ever succeeded.
        Suspect,
    }
}

/// A value for each trust level.
#[derive(Debug, Default)]
pub(crate) struct PerTrust<T> {
    proven: T,
    unknown: T,
    degraded: T,
    suspect: T,
}

impl<T> PerTrust<T> {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        Trust::ALL.into_iter().map(|trust| &self[trust])
    }
}

impl<T> Index<Trust> for PerTrust<T> {
    type Output = T;

    fn index(&self, trust: Trust) -> &T {
        match trust {
            Trust::Proven => &self.proven,
            Trust::Unknown => &self.unknown,
            Trust::Degraded => &self.degraded,
            Trust::Suspect => &self.suspect,
        }
    }
}

impl<T> IndexMut<Trust> for PerTrust<T> {
    fn index_mut(&mut self, trust: Trust) -> &mut T {
        match trust {
            Trust::Proven => &mut self.proven,
            Trust::Unknown => &mut self.unknown,
            Trust::Degraded => &mut self.degraded,
            Trust::Suspect => &mut self.suspect,
        }
    }
}

impl Trust {
    pub(crate) fn of(failures: u32, proven: bool) -> Self {
        match (failures, proven) {
            (0, true) => Self::Proven,
            (0, false) => Self::Unknown,
            (1..FAILURES_TO_OPEN, true) => Self::Degraded,
            _ => Self::Suspect,
        }
    }

    /// Maximum messages in flight to one such endpoint.
    pub(crate) const fn per_endpoint(self) -> usize {
        match self {
            Self::Proven => 4,
            Self::Unknown | Self::Degraded | Self::Suspect => 1,
        }
    }

    /// Maximum starting messages to all such endpoints together. Endpoints that may hang never get all slots.
    pub(crate) fn max_starting(self) -> usize {
        match self {
            Self::Proven => MAX_STARTING,
            Self::Unknown => 160,
            Self::Degraded | Self::Suspect => 32,
        }
    }

    /// How long a message holds its starting slot before it is parked; longer for proven endpoints.
    pub(crate) fn park_after(self) -> Duration {
        match self {
            Self::Proven => Duration::from_millis(250),
            Self::Unknown | Self::Degraded | Self::Suspect => Duration::from_millis(100),
        }
    }
}

/// Maximum starting messages over all endpoints.
pub(crate) const MAX_STARTING: usize = 256;

/// Backoff before the next probe after this many consecutive failures. `chance` is between 0 and 1.
pub(crate) fn pause(failures: u32, chance: f64) -> Duration {
    let Some(beyond) = failures.checked_sub(FAILURES_TO_OPEN) else { return Duration::ZERO };
    let pause = FIRST_PAUSE.saturating_mul(1 << beyond.min(10)).min(MAX_PAUSE);
    pause.mul_f64(0.8 + 0.4 * chance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_failures_cause_no_pause_and_more_cause_growing_ones() {
        let pauses: Vec<u64> = (0..14).map(|failures| pause(failures, 0.5).as_secs()).collect();
        assert_eq!(pauses, [0, 0, 0, 0, 0, 5, 10, 20, 40, 80, 160, 300, 300, 300]);
        assert_eq!(pause(u32::MAX, 0.5).as_secs(), 300);
    }

    #[test]
    fn some_slots_are_reserved_for_proven_endpoints() {
        let unproven = [Trust::Unknown, Trust::Degraded, Trust::Suspect].map(Trust::max_starting);
        assert_eq!(MAX_STARTING - unproven.iter().sum::<usize>(), 32);
        assert_eq!(Trust::of(0, true), Trust::Proven);
        assert_eq!(Trust::of(0, false), Trust::Unknown);
        assert_eq!(Trust::of(1, true), Trust::Degraded);
        assert_eq!(Trust::of(1, false), Trust::Suspect);
        assert_eq!(Trust::of(5, true), Trust::Suspect);
    }
}
