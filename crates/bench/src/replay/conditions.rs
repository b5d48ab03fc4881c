//! Latency, errors and limits of the served node.

use std::time::Duration;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Conditions {
    /// The delay of every response.
    pub(crate) round_trip: Duration,
    /// The share of requests that fail.
    pub(crate) errors: f64,
    /// Maximum calls per batch.
    pub(crate) largest_batch: Option<usize>,
    /// Maximum bytes per response.
    pub(crate) largest_response: Option<usize>,
    /// Maximum requests per second; more are rejected.
    pub(crate) per_second: Option<usize>,
    /// Whether it traces. Blocks are recorded, but traces are computed while the index is measured.
    pub(crate) traces: bool,
    /// What it says it is, on a public chain; by default a dev chain, which the explorer polls often.
    pub(crate) client_version: Option<&'static str>,
}

/// The injected faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    BadGateway,
    InternalError,
    HangUp,
}

impl Conditions {
    /// The fault of a request by its number: pseudo-random, but the same in every run.
    pub(super) fn fault(&self, request: u64) -> Option<Fault> {
        let random = mix(request);
        // The upper half decides whether it fails, the lower half how.
        let share = (random >> 32) as f64 / f64::from(u32::MAX);
        (share < self.errors).then_some(match random % 3 {
            0 => Fault::BadGateway,
            1 => Fault::InternalError,
            _ => Fault::HangUp,
        })
    }
}

/// A hash of consecutive numbers.
fn mix(number: u64) -> u64 {
    let mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 31)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    mixed ^ (mixed >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn about_the_configured_share_of_requests_fails_in_every_way() {
        let conditions = Conditions { errors: 0.01, ..Conditions::default() };
        let faults: Vec<Fault> = (0..100_000).filter_map(|request| conditions.fault(request)).collect();
        assert!((900..1_100).contains(&faults.len()), "{}", faults.len());
        for fault in [Fault::BadGateway, Fault::InternalError, Fault::HangUp] {
            assert!(faults.iter().filter(|random| **random == fault).count() > 250, "{fault:?}");
        }
    }

    #[test]
    fn nothing_fails_by_default() {
        assert!((0..100_000).all(|request| Conditions::default().fault(request).is_none()));
    }
}
