//! How well the node can be reached.

use std::time::Duration;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Conditions {
    /// Every request waits this long for its answer.
    pub(crate) round_trip: Duration,
    /// The share of requests that fail.
    pub(crate) errors: f64,
    /// Calls in a batch at most.
    pub(crate) largest_batch: Option<usize>,
    /// Bytes of an answer at most.
    pub(crate) largest_answer: Option<usize>,
    /// Requests in any second at most; more are refused.
    pub(crate) per_second: Option<usize>,
}

/// The ways in which a far node fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    BadGateway,
    InternalError,
    HangUp,
}

impl Conditions {
    /// What befalls the request of that number: the same in every run, and without a pattern.
    pub(super) fn fault(&self, request: u64) -> Option<Fault> {
        let drawn = scatter(request);
        // The upper half decides whether, the lower half how.
        let share = (drawn >> 32) as f64 / f64::from(u32::MAX);
        (share < self.errors).then_some(match drawn % 3 {
            0 => Fault::BadGateway,
            1 => Fault::InternalError,
            _ => Fault::HangUp,
        })
    }
}

/// Spreads consecutive numbers over all of them.
fn scatter(number: u64) -> u64 {
    let mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 31)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    mixed ^ (mixed >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn about_the_wanted_share_of_requests_fails_in_every_way() {
        let conditions = Conditions { errors: 0.01, ..Conditions::default() };
        let faults: Vec<Fault> = (0..100_000).filter_map(|request| conditions.fault(request)).collect();
        assert!((900..1_100).contains(&faults.len()), "{}", faults.len());
        for fault in [Fault::BadGateway, Fault::InternalError, Fault::HangUp] {
            assert!(faults.iter().filter(|drawn| **drawn == fault).count() > 250, "{fault:?}");
        }
    }

    #[test]
    fn nothing_fails_unless_it_is_told_to() {
        assert!((0..100_000).all(|request| Conditions::default().fault(request).is_none()));
    }
}
