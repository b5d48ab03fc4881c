//! Power loss between any two system calls. A real process writes a data folder under `strace`. From the recorded writes,
//! renames, truncations and syncs, the test builds images of the folder after a power loss: synced data is complete, the
//! rest is complete, missing or torn.
//!
//! Needs strace, which `./test` installs. `POWER_LOSS_IMAGES=10000` tests more images, `POWER_LOSS_SEED=7` other ones:
//! `POWER_LOSS_IMAGES=10000 ./test -p simulation -- --nocapture power_loss`.

mod image;
mod recording;

use std::{
    collections::BTreeMap,
    fs::OpenOptions,
    io::Write,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    process::Command,
};

use rand::{Rng, SeedableRng, rngs::StdRng};
use store::StoreError;
use store_conformance::{Durable, WrittenData};
use store_embedded::{EmbeddedStore, StoreOptions};

use self::{image::write_image, recording::Recording};

const IMAGES: u64 = 40;
/// Commits between two syncs of the index.
const SYNC_EVERY: u8 = 10;
const DATA: &str = "POWER_LOSS_DATA";
const CALLS: &str = "trace=openat,creat,write,pwrite64,writev,lseek,fsync,fdatasync,ftruncate,fallocate,rename,renameat,\
                     renameat2,unlink,unlinkat,mkdir,mkdirat,rmdir,close,copy_file_range,sync_file_range,mmap";

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

/// Small buffers, so that tables are written and merged.
fn options() -> StoreOptions {
    StoreOptions { write_buffer_bytes: 100 << 10, cache_bytes: 4 << 20, ..StoreOptions::default() }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

/// What the process under strace does: it writes a data folder, and to a file what has become durable.
#[test]
#[ignore = "run by the test below"]
fn writes_a_folder() {
    let Some(data) = std::env::var_os(DATA) else { return };
    let data = Path::new(&data);
    let mut log = OpenOptions::new().create(true).append(true).open(data.join("acknowledged")).unwrap();
    let store = EmbeddedStore::open(&data.join("data"), options()).unwrap();
    let acknowledge = |durable| {
        let line = match durable {
            Durable::Key => "key\n".to_owned(),
            Durable::Webhook => "webhook\n".to_owned(),
            Durable::Tip(tip) => format!("tip {tip}\n"),
        };
        log.write_all(line.as_bytes()).unwrap();
    };
    block_on(WrittenData::write(&store, None, Some(SYNC_EVERY), acknowledge)).unwrap();
}

fn record(folder: &Path) -> Recording {
    let trace = folder.join("trace");
    let ended = Command::new("strace")
        .args(["-f", "-y", "-xx", "-s", "100000000", "-e", CALLS, "-o"])
        .arg(&trace)
        .arg(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "power_loss::writes_a_folder", "--test-threads=1"])
        .env(DATA, folder)
        .output()
        .expect("strace is needed: run ./test, which installs it");
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stdout));
    let recording = Recording::parse(&std::fs::read_to_string(trace).unwrap(), folder);
    std::fs::remove_dir_all(folder.join("data")).unwrap();
    recording
}

#[test]
fn acknowledged_data_survives_a_power_loss_and_no_row_is_wrong() {
    if std::env::var("EXPLORER_TESTS_WITHOUT")
        .is_ok_and(|missing| missing.split_whitespace().any(|one| one == "strace"))
    {
        return println!("left out: this system does not permit strace");
    }
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let folder = tempfile::tempdir_in(parent).unwrap();
    let recording = record(folder.path());
    let expected = {
        let store = EmbeddedStore::open(&folder.path().join("expected"), options()).unwrap();
        let fingerprint = || store.reader().fingerprint();
        block_on(WrittenData::write(&store, Some(&fingerprint), Some(SYNC_EVERY), |_| {})).unwrap()
    };
    println!("{}", recording.describe());
    let (images, seed) = (number("POWER_LOSS_IMAGES", IMAGES), number("POWER_LOSS_SEED", 0));
    let (mut opened, mut refused, mut failed) = (0_u64, BTreeMap::<String, Vec<u64>>::new(), Vec::new());
    for number in 0..images {
        let mut rng = StdRng::seed_from_u64(seed.wrapping_mul(1_000_003) + number);
        let cut = rng.random_range(1..=recording.operations.len());
        let data = folder.path().join("image");
        let what = write_image(&recording, cut, &mut rng, &data);
        let acknowledged = recording.acknowledged(cut);
        // The journals of every second image become tables.
        let replayed_bytes = if number % 2 == 0 { 0 } else { u64::MAX };
        let options = StoreOptions { replayed_bytes, ..options() };
        let outcome = catch_unwind(AssertUnwindSafe(|| match EmbeddedStore::open(&data, options) {
            Ok(store) => {
                block_on(expected.check(&store, &|| store.reader().fingerprint(), &acknowledged)).unwrap();
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
