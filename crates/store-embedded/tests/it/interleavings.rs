//! The version counter of the index under random thread interleavings.

#[path = "../../src/states.rs"]
mod states;

use std::sync::{Arc, atomic::Ordering::SeqCst};

use self::states::States;
use crate::sync::AtomicU64;

const SCHEDULES: usize = 3_000;

/// If the version is the same before and after a read, it is the version of what was read.
#[test]
fn equal_versions_mean_equal_data() {
    shuttle::check_random(
        || {
            let (states, engine) = (Arc::new(States::default()), Arc::new(AtomicU64::new(0)));
            let writers: Vec<_> = (0..2)
                .map(|_| {
                    let (states, engine) = (Arc::clone(&states), Arc::clone(&engine));
                    shuttle::thread::spawn(move || {
                        for _ in 0..2 {
                            states.change(|| engine.load(SeqCst), || engine.fetch_add(1, SeqCst));
                        }
                    })
                })
                .collect();
            let visible = || engine.load(SeqCst);
            for _ in 0..3 {
                let before = states.now(visible);
                let seen = visible();
                if before.is_some() && states.now(visible) == before {
                    assert_eq!(before, Some(seen));
                }
            }
            writers.into_iter().for_each(|writer| writer.join().unwrap());
            assert_eq!(states.now(visible), Some(4));
        },
        SCHEDULES,
    );
}

/// A change that becomes visible in two steps is never taken for a complete one.
#[test]
fn a_change_in_progress_has_no_version_once_it_is_visible() {
    shuttle::check_random(
        || {
            let (states, engine) = (Arc::new(States::default()), Arc::new([AtomicU64::new(0), AtomicU64::new(0)]));
            let (changed, written) = (Arc::clone(&states), Arc::clone(&engine));
            let writer = shuttle::thread::spawn(move || {
                for _ in 0..2 {
                    changed.change(
                        || written[0].load(SeqCst),
                        || {
                            for part in written.iter() {
                                part.fetch_add(1, SeqCst);
                            }
                        },
                    );
                }
            });
            let visible = || engine[0].load(SeqCst);
            for _ in 0..3 {
                let before = states.now(visible);
                let seen = [engine[0].load(SeqCst), engine[1].load(SeqCst)];
                if before.is_some() && states.now(visible) == before {
                    assert_eq!(seen[0], seen[1], "a partial change was read under one version");
                }
            }
            writer.join().unwrap();
        },
        SCHEDULES,
    );
}
