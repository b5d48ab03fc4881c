//! Flipped bits and truncated files. Whatever happens to the files of a folder that was not closed, reads return what
//! was written or fail: never something else.

mod corrupt;
mod image;
mod repair;
mod written;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicU64, Ordering},
};

use rand::{SeedableRng, rngs::StdRng};
use store::{ChainReader, StoreError};
use store_conformance::WrittenData;
use store_embedded::EmbeddedStore;

use self::{
    corrupt::damage_one,
    image::Image,
    written::{block_on, check, options, write_folder},
};

/// More in the environment: `EXPLORER_DAMAGE_SEEDS=1000`.
const SEEDS: u64 = 40;
const THREADS: u64 = 4;

/// The result for a damaged folder, unless data was wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// Everything acknowledged is there, and indexing continues.
    Correct,
    RejectedAtOpen,
    /// An error was reported while reading or writing.
    Reported,
}

fn try_damaged(written: &WrittenData, image: &Image, seed: u64) -> (Outcome, String) {
    let folder = tempfile::tempdir().unwrap();
    image.write_to(folder.path());
    let mut rng = StdRng::seed_from_u64(seed);
    let what = damage_one(&mut rng, image, folder.path());
    let store = match EmbeddedStore::open(folder.path(), options()) {
        Ok(store) => store,
        // Any other error would mean that the damage was not recognized.
        Err(StoreError::Damaged { .. }) => return (Outcome::RejectedAtOpen, what),
        Err(other) => panic!("{what}: {other:?}"),
    };
    match check(written, &store, &written.all_records()) {
        Ok(()) => (Outcome::Correct, what),
        Err(_) => (Outcome::Reported, what),
    }
}

#[test]
fn a_damaged_folder_gives_correct_data_or_an_error() {
    let (written, image) = write_folder();
    let seeds = std::env::var("EXPLORER_DAMAGE_SEEDS").map_or(SEEDS, |seeds| seeds.parse().unwrap());
    let counts = [const { AtomicU64::new(0) }; 3];
    let (next, wrong) = (AtomicU64::new(0), std::sync::Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds {
                        return;
                    }
                    match catch_unwind(AssertUnwindSafe(|| try_damaged(&written, &image, seed))) {
                        Ok((outcome, _)) => _ = counts[outcome as usize].fetch_add(1, Ordering::Relaxed),
                        Err(_) => wrong.lock().unwrap().push(seed),
                    }
                }
            });
        }
    });
    let [correct, rejected, reported] = counts.map(AtomicU64::into_inner);
    let wrong = wrong.into_inner().unwrap();
    println!("{seeds} damaged folders: {correct} correct, {rejected} rejected, {reported} reported while in use");
    assert!(wrong.is_empty(), "{} of {seeds} wrong, such as seeds {:?}", wrong.len(), &wrong[..wrong.len().min(10)]);
    assert!(correct > 0 && rejected > 0, "both outcomes occurred");
}

#[test]
fn an_undamaged_folder_that_was_not_closed_is_complete() {
    let (written, image) = write_folder();
    let folder = tempfile::tempdir().unwrap();
    image.write_to(folder.path());
    let store = EmbeddedStore::open(folder.path(), options()).unwrap();
    let tip = block_on(store.reader().find_tip()).unwrap().map(|tip| tip.number);
    assert_eq!(tip, written.last_tip());
    check(&written, &store, &written.all_records()).unwrap();
}
