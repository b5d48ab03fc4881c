//! How much of the service's sending an endpoint gets, by how it has behaved.

use std::time::Duration;

/// After so many failures in a row nothing is sent but a probe now and then.
const FAILURES_TO_OPEN: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// What is known of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Trust {
    /// It answered well the last time.
    Proven,
    /// It has never answered well, nor failed.
    Unknown,
    /// It has answered well before, and failed a few times since.
    Shaken,
    /// It has failed often, or always.
    Suspect,
}

impl Trust {
    pub(crate) const ALL: [Self; 4] = [Self::Proven, Self::Unknown, Self::Shaken, Self::Suspect];

    pub(crate) fn of(failures: u32, proven: bool) -> Self {
        match (failures, proven) {
            (0, true) => Self::Proven,
            (0, false) => Self::Unknown,
            (1..FAILURES_TO_OPEN, true) => Self::Shaken,
            _ => Self::Suspect,
        }
    }

    /// Messages under way to one such endpoint at once.
    pub(crate) fn per_endpoint(self) -> usize {
        match self {
            Self::Proven => 4,
            Self::Unknown | Self::Shaken | Self::Suspect => 1,
        }
    }

    /// Young messages under way to all such endpoints at once. Those that may hang are never given all places.
    pub(crate) fn young_in_all(self) -> usize {
        match self {
            Self::Proven => IN_ALL,
            Self::Unknown => 160,
            Self::Shaken | Self::Suspect => 32,
        }
    }

    /// How long a message holds its place before it is set aside. Who is known to answer is given more time for it.
    pub(crate) fn young_for(self) -> Duration {
        match self {
            Self::Proven => Duration::from_millis(250),
            Self::Unknown | Self::Shaken | Self::Suspect => Duration::from_millis(100),
        }
    }
}

/// Young messages under way at once.
pub(crate) const IN_ALL: usize = 256;

/// How long to leave an endpoint alone that has failed so often in a row. `chance` lies between 0 and 1.
pub(crate) fn pause(failures: u32, chance: f64) -> Duration {
    let Some(beyond) = failures.checked_sub(FAILURES_TO_OPEN) else { return Duration::ZERO };
    let pause = FIRST_PAUSE.saturating_mul(1 << beyond.min(10)).min(LONGEST_PAUSE);
    pause.mul_f64(0.8 + 0.4 * chance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_failures_cost_no_pause_and_more_cost_ever_longer_ones() {
        let pauses: Vec<u64> = (0..14).map(|failures| pause(failures, 0.5).as_secs()).collect();
        assert_eq!(pauses, [0, 0, 0, 0, 0, 5, 10, 20, 40, 80, 160, 300, 300, 300]);
        assert_eq!(pause(u32::MAX, 0.5).as_secs(), 300);
    }

    #[test]
    fn places_are_kept_free_for_those_that_answer() {
        let doubtful = [Trust::Unknown, Trust::Shaken, Trust::Suspect].map(Trust::young_in_all);
        assert_eq!(IN_ALL - doubtful.iter().sum::<usize>(), 32);
        assert_eq!(Trust::of(0, true), Trust::Proven);
        assert_eq!(Trust::of(0, false), Trust::Unknown);
        assert_eq!(Trust::of(1, true), Trust::Shaken);
        assert_eq!(Trust::of(1, false), Trust::Suspect);
        assert_eq!(Trust::of(5, true), Trust::Suspect);
    }
}
