//! Latency, errors and limits of the served node.

use std::time::Duration;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Conditions {
    /// The delay of every response.
    pub(crate) round_trip: Duration,
    /// The share of requests that fail.
    pub(crate) errors: f64,
    /// The share of further requests that are spoiled in all ways that occur with real nodes, stalls and false blocks among them.
    pub(crate) spoiled: f64,
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
    Unavailable,
    Limited,
    /// Answers late.
    Stall(Duration),
    /// Answers with half of the JSON.
    Cut,
    /// Answers with null where a block is requested.
    NoBlock,
    /// Answers with a block that has another parent.
    WrongParent,
    /// Answers with another block.
    AnotherNumber,
}

impl Conditions {
    /// The fault of a request by its number: pseudo-random, but the same in every run.
    pub(super) fn fault(&self, request: u64) -> Option<Fault> {
        let random = mix(request);
        // The upper half decides whether it fails, the lower half how.
        let share = (random >> 32) as f64 / f64::from(u32::MAX);
        if share < self.errors {
            return Some(match random % 3 {
                0 => Fault::BadGateway,
                1 => Fault::InternalError,
                _ => Fault::HangUp,
            });
        }
        (share < self.errors + self.spoiled).then_some(match random % 8 {
            0 => Fault::Unavailable,
            1 => Fault::Limited,
            2 => Fault::HangUp,
            3 => Fault::Stall(Duration::from_secs(3 + (random >> 3) % 13)),
            4 => Fault::Cut,
            5 => Fault::NoBlock,
            6 => Fault::WrongParent,
            _ => Fault::AnotherNumber,
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
    fn requests_are_spoiled_in_eight_ways() {
        let conditions = Conditions { spoiled: 0.2, ..Conditions::default() };
        let faults: Vec<Fault> = (0..10_000).filter_map(|request| conditions.fault(request)).collect();
        assert!((1_900..2_100).contains(&faults.len()), "{}", faults.len());
        let kinds: Vec<_> = faults.iter().map(std::mem::discriminant).collect();
        for kind in &kinds {
            assert!(kinds.iter().filter(|other| *other == kind).count() > 200);
        }
    }

    #[test]
    fn nothing_fails_by_default() {
        assert!((0..100_000).all(|request| Conditions::default().fault(request).is_none()));
    }
}
