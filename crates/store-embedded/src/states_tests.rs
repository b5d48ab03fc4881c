use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use crate::states::States;

#[test]
fn a_version_is_valid_until_a_change_is_visible_and_new_when_it_is_done() {
    let (states, engine) = (States::default(), AtomicU64::new(7));
    let visible = || engine.load(SeqCst);
    let first = states.now(visible);
    assert!(first.is_some());
    states.change(visible, || {
        assert_eq!(states.now(visible), first, "before it is visible");
        engine.store(8, SeqCst);
        assert_eq!(states.now(visible), None, "visible, before its end");
    });
    assert!(states.now(visible).is_some_and(|second| Some(second) != first));
}

#[test]
fn a_failed_change_makes_a_new_version_too() {
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
