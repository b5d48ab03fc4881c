//! The version counter of the index: every change that a response may show makes a new version.

use std::sync::{PoisonError, atomic::Ordering::SeqCst};

// Types of the standard library here, and of a thread scheduler in `tests/it/interleavings.rs`, which includes this file
// to test interleavings.
use crate::sync::{AtomicU64, Mutex};

/// Counts each change twice, at its begin and at its end. In between, the engine's sequence number tells whether the
/// change is visible.
#[derive(Debug, Default)]
pub(crate) struct States {
    /// Serializes changes.
    change: Mutex<()>,
    /// The engine's sequence number when the current change began.
    visible_before: AtomicU64,
    begun: AtomicU64,
    done: AtomicU64,
}

impl States {
    /// Makes a change; only one runs at a time. `visible` is the engine's sequence number: it never decreases, and
    /// increases with everything that becomes visible.
    pub(crate) fn change<T>(&self, visible: impl Fn() -> u64, make: impl FnOnce() -> T) -> T {
        let _guard = self.change.lock().unwrap_or_else(PoisonError::into_inner);
        self.visible_before.store(visible(), SeqCst);
        self.begun.fetch_add(1, SeqCst);
        // Also counted if the change fails or panics, since a part of it may be visible.
        let _done = Done(self);
        make()
    }

    /// The version that a snapshot taken now would have; None while a change is becoming visible.
    pub(crate) fn now(&self, visible: impl Fn() -> u64) -> Option<u64> {
        let done = self.done.load(SeqCst);
        if self.begun.load(SeqCst) == done {
            return Some(done);
        }
        let before = self.visible_before.load(SeqCst);
        let unchanged = visible() == before;
        // If a change ended in the meantime, `before` may belong to the next one.
        (unchanged && self.done.load(SeqCst) == done).then_some(done)
    }
}

/// Counts the end of a change.
struct Done<'a>(&'a States);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.done.fetch_add(1, SeqCst);
    }
}
