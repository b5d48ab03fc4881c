//! Which state the answers are of: a number that every change which an answer may show makes another.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_lasts_until_a_change_is_visible_and_is_another_when_it_is_done() {
        let (states, engine) = (States::default(), AtomicU64::new(7));
        let visible = || engine.load(SeqCst);
        let first = states.now(visible);
        assert!(first.is_some());
        states.change(visible, || {
            assert_eq!(states.now(visible), first, "nothing is visible yet");
            engine.store(8, SeqCst);
            assert_eq!(states.now(visible), None, "visible, but not done");
        });
        assert!(states.now(visible).is_some_and(|second| Some(second) != first));
    }

    #[test]
    fn a_change_that_fails_makes_another_state_too() {
        let states = States::default();
        let first = states.now(|| 0);
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            states.change(|| 0, || panic!("the disk is full"));
        }));
        assert!(panicked.is_err());
        assert_ne!(states.now(|| 0), first);
        states.change(|| 0, || ());
        assert!(states.now(|| 0).is_some());
    }

    #[test]
    fn no_look_takes_one_state_for_another_while_changes_are_made() {
        // A look is right if what it finds visible belongs to the number that it was told before and after.
        let (states, engine) = (States::default(), AtomicU64::new(0));
        let visible = || engine.load(SeqCst);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..20_000 {
                    states.change(visible, || engine.fetch_add(1, SeqCst));
                }
            });
            for _ in 0..100_000 {
                let before = states.now(visible);
                let seen = visible();
                if before.is_some() && states.now(visible) == before {
                    assert_eq!(before, Some(seen));
                }
            }
        });
    }
}
