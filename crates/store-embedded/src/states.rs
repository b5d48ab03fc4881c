//! The version counter of the index: every change that a response may show makes a new version.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// Counts each change twice, at its begin and at its end: the number is odd while one is being made.
#[derive(Debug, Default)]
pub(crate) struct States(AtomicU64);

impl States {
    /// Makes a change. Only one may run at a time.
    pub(crate) fn change<T>(&self, make: impl FnOnce() -> T) -> T {
        self.0.fetch_add(1, SeqCst);
        // Also counted if the change fails or panics, since a part of it may be visible.
        let _done = Done(self);
        make()
    }

    /// The version that a snapshot taken now would have; None while a change is being made.
    pub(crate) fn now(&self) -> Option<u64> {
        let count = self.0.load(SeqCst);
        count.is_multiple_of(2).then_some(count / 2)
    }
}

/// Counts the end of a change.
struct Done<'a>(&'a States);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_add(1, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_no_version_during_a_change_and_a_new_one_after_it() {
        let states = States::default();
        let first = states.now();
        assert!(first.is_some());
        states.change(|| assert_eq!(states.now(), None));
        assert!(states.now().is_some_and(|second| Some(second) != first));
    }

    #[test]
    fn a_failed_change_makes_a_new_version_too() {
        let states = States::default();
        let first = states.now();
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            states.change(|| panic!("the disk is full"));
        }));
        assert!(panicked.is_err());
        assert!(states.now().is_some_and(|second| Some(second) != first));
    }
}
