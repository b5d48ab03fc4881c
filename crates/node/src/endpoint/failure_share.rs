//! Tells failures that have a cause, such as overload, from those that occur now and then.

/// A score that a failure raises by one, and a success lowers by as much as a tolerated share of failures balances (CUSUM). A single
/// failure among successes leaves no trace after a few of them; consecutive ones add up.
#[derive(Debug, Default)]
pub(crate) struct FailureShare(f64);

impl FailureShare {
    pub(crate) fn succeeded(&mut self, tolerated: f64) {
        self.0 = (self.0 - tolerated / (1.0 - tolerated)).max(0.0);
    }

    /// Returns whether this many more failures than tolerated have occurred, which then begin to be counted again.
    pub(crate) fn failed(&mut self, enough: f64) -> bool {
        self.0 += 1.0;
        let is_enough = self.0 >= enough;
        if is_enough {
            self.0 = 0.0;
        }
        is_enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOLERATED: f64 = 0.2;
    const MIN_EXCESS: f64 = 4.0;

    /// How often failures were enough, for one failure in `every` calls.
    fn found(every: usize, calls: usize) -> usize {
        let mut share = FailureShare::default();
        let mut failed = |call: usize| {
            if call.is_multiple_of(every) {
                return share.failed(MIN_EXCESS);
            }
            share.succeeded(TOLERATED);
            false
        };
        (0..calls).filter(|call| failed(*call)).count()
    }

    #[test]
    fn a_tolerated_share_of_failures_is_never_enough() {
        assert_eq!([found(5, 100_000), found(40, 100_000)], [0, 0]);
    }

    #[test]
    fn more_failures_than_tolerated_are_enough_soon() {
        assert_eq!(found(1, 8), 2, "all fail");
        assert!(found(2, 100) > 5);
        assert!(found(4, 100) > 0);
    }
}
