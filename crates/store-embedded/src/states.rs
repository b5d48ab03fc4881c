//! Which state the answers are of: a number that every change which an answer may show makes another.

use std::sync::{PoisonError, atomic::Ordering::SeqCst};

// Standard types here, and a scheduler's in `tests/states.rs`, which includes this file to try out interleavings.
use crate::sync::{AtomicU64, Mutex};

/// Counts changes twice, where they begin and where they are done. Between the two a change may be visible or not yet;
/// the engine's own count of what is visible tells which.
#[derive(Debug, Default)]
pub(crate) struct States {
    turn: Mutex<()>,
    /// What the engine had made visible when the change under way began.
    visible_before: AtomicU64,
    begun: AtomicU64,
    done: AtomicU64,
}

impl States {
    /// Makes a change, alone. `visible` is the engine's count, which never falls and rises with all that it makes visible.
    pub(crate) fn change<T>(&self, visible: impl Fn() -> u64, make: impl FnOnce() -> T) -> T {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.visible_before.store(visible(), SeqCst);
        self.begun.fetch_add(1, SeqCst);
        // Counted also where the change fails or panics: then nobody knows how much of it is visible.
        let _done = Done(self);
        make()
    }

    /// The number of the state that a look at the engine would find now; None where a change is just becoming visible.
    pub(crate) fn now(&self, visible: impl Fn() -> u64) -> Option<u64> {
        let done = self.done.load(SeqCst);
        if self.begun.load(SeqCst) == done {
            return Some(done);
        }
        let before = self.visible_before.load(SeqCst);
        let unchanged = visible() == before;
        // Where another change has been done meanwhile, `before` may be of a later one.
        (unchanged && self.done.load(SeqCst) == done).then_some(done)
    }
}

struct Done<'a>(&'a States);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.done.fetch_add(1, SeqCst);
    }
}
