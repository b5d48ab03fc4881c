//! Power loss between any two system calls. A real process writes a data folder under `strace`. From the recorded writes,
//! renames, truncations and syncs, the test builds images of the folder after a power loss: synced data is complete, the
//! rest is complete, missing or torn.
//!
//! Needs strace, hence ignored: `cargo test --release -p simulation --test power_loss -- --ignored --nocapture`.
//! `POWER_LOSS_IMAGES=10000` tests more images, `POWER_LOSS_SEED=7` other ones.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::print_stdout)]
#![cfg(target_os = "linux")]

mod image;
mod recording;
mod workload;

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    process::Command,
};

use rand::{Rng, SeedableRng, rngs::StdRng};
use store::StoreError;
use store_embedded::EmbeddedStore;

use crate::{
    image::write_image,
    recording::Recording,
    workload::{Workload, options},
};

const IMAGES: u64 = 200;
const DATA: &str = "POWER_LOSS_DATA";
const CALLS: &str = "trace=openat,creat,write,pwrite64,writev,lseek,fsync,fdatasync,ftruncate,fallocate,rename,renameat,\
                     renameat2,unlink,unlinkat,mkdir,mkdirat,rmdir,close,copy_file_range,sync_file_range,mmap";

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

/// Runs as the process under strace.
#[test]
#[ignore = "run by the test below"]
fn write_workload() {
    let Some(data) = std::env::var_os(DATA) else { return };
    let data = Path::new(&data);
    workload::runtime().block_on(Workload::run(&data.join("data"), Some(&data.join("acknowledged"))));
}

fn record(folder: &Path) -> Recording {
    let trace = folder.join("trace");
    let ended = Command::new("strace")
        .args(["-f", "-y", "-xx", "-s", "100000000", "-e", CALLS, "-o"])
        .arg(&trace)
        .arg(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "write_workload", "--test-threads=1"])
        .env(DATA, folder)
        .output()
        .expect("strace is needed: install it");
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stdout));
    let recording = Recording::parse(&std::fs::read_to_string(trace).unwrap(), folder);
    std::fs::remove_dir_all(folder.join("data")).unwrap();
    recording
}

#[test]
#[ignore = "needs strace and takes minutes"]
fn acknowledged_data_survives_a_power_loss_and_no_row_is_wrong() {
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let folder = tempfile::tempdir_in(parent).unwrap();
    let recording = record(folder.path());
    let expected = workload::runtime().block_on(Workload::run(&folder.path().join("expected"), None));
    println!("{}", recording.describe());
    let (images, seed) = (number("POWER_LOSS_IMAGES", IMAGES), number("POWER_LOSS_SEED", 0));
    let (mut opened, mut refused, mut failed) = (0_u64, BTreeMap::<String, Vec<u64>>::new(), Vec::new());
    for number in 0..images {
        let mut rng = StdRng::seed_from_u64(seed.wrapping_mul(1_000_003) + number);
        let cut = rng.random_range(1..=recording.operations.len());
        let data = folder.path().join("image");
        let what = write_image(&recording, cut, &mut rng, &data);
        let acknowledged = recording.acknowledged(cut);
        let outcome = catch_unwind(AssertUnwindSafe(|| match EmbeddedStore::open(&data, options()) {
            Ok(store) => {
                expected.check(&store, &acknowledged);
                None
            }
            Err(StoreError::Damaged { found }) => Some(found),
            Err(other) => panic!("{other:?}"),
        }));
        match outcome {
            Ok(None) => opened += 1,
            Ok(Some(found)) => refused.entry(found).or_default().push(number),
            Err(_) => {
                println!("image {number} (power lost before operation {cut}: {what}), acknowledged {acknowledged:?}");
                failed.push(number);
            }
        }
        std::fs::remove_dir_all(&data).unwrap();
    }
    println!(
        "{images} images: {opened} opened and correct, {} refused: {refused:#?}",
        images - opened - failed.len() as u64
    );
    assert!(failed.is_empty(), "images {failed:?} have wrong or missing data");
}
