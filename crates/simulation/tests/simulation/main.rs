//! One explorer with its node, disk, clock and receivers, simulated by seed: see decision 51.
//!
//! `SIMULATION_SEEDS=from..to` runs other seeds than the default ones.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::print_stdout)]

mod chance;
mod compare;
mod disk;
mod gate;
mod plan;
#[cfg(target_os = "linux")]
mod power_loss;
mod process;
mod receivers;
mod scripted_node;
mod spot_check;
mod world;

use std::{
    collections::BTreeMap,
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use tempfile::TempDir;
use tracing_subscriber::{filter::Targets, layer::SubscriberExt, util::SubscriberInitExt};

use crate::{
    plan::Plan,
    process::{End, run_process},
    world::{World, lock},
};

const SEEDS: Range<u64> = 0..40;
const STACK_BYTES: usize = 256 << 20;

/// The result of a seed.
#[derive(Debug)]
struct Run {
    trace: Vec<(u64, String)>,
    crashes: u64,
    deliveries: usize,
}

/// In memory if possible, so that thousands of runs do not wear out a disk.
fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    tempfile::Builder::new().prefix("simulation").tempdir_in(folder).unwrap()
}

fn run(seed: u64) -> Run {
    let world = Arc::new(World::new(Plan::new(seed)));
    let folder = folder();
    let path = |name: &str| -> PathBuf { folder.path().join(name) };
    let mut data = path("process-0");
    let mut crashes = 0;
    for process in 0.. {
        let image = path(&format!("process-{}", process + 1));
        let crash = world.plan.crashes.get(process).copied();
        match run_process(&world, &data, &image, crash, process) {
            End::Finished => break,
            End::Crashed => {
                crashes += 1;
                std::fs::remove_dir_all(&data).unwrap();
                data = image;
            }
        }
    }
    let results = compare::query_folder(&world, &data);
    let (fresh, expected) = compare::index_from_scratch(&world, &path("fresh"));
    results.assert_equals(&fresh);
    let known = compare::known_blocks(&world, &data, &expected);
    let deliveries = compare::check_deliveries(&world, &expected, &known);
    Run { trace: world.trace(), crashes, deliveries }
}

/// Threads with a large stack, since futures are large in unoptimised builds.
fn on_threads<T: Send>(threads: usize, work: impl Fn() -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let start = |_| std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, &work).unwrap();
        let handles: Vec<_> = (0..threads).map(start).collect();
        handles.into_iter().map(|handle| handle.join().unwrap()).collect()
    })
}

fn seeds() -> Range<u64> {
    let Ok(text) = std::env::var("SIMULATION_SEEDS") else { return SEEDS };
    let (from, to) = text.split_once("..").expect("SIMULATION_SEEDS=from..to");
    from.parse().unwrap()..to.parse().unwrap()
}

#[test]
fn index_and_deliveries_match_the_chain_despite_faults() {
    if let Ok(levels) = std::env::var("RUST_LOG") {
        let levels: Targets = levels.parse().expect("RUST_LOG=part=level,level");
        tracing_subscriber::registry().with(levels).with(tracing_subscriber::fmt::layer()).init();
    }
    let seeds = seeds();
    let (next, failed) = (AtomicU64::new(seeds.start), Mutex::new(BTreeMap::new()));
    let (crashes, deliveries) = (AtomicU64::new(0), AtomicU64::new(0));
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    on_threads(threads, || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return;
            }
            match catch_unwind(AssertUnwindSafe(|| run(seed))) {
                Ok(run) => {
                    crashes.fetch_add(run.crashes, Ordering::Relaxed);
                    deliveries.fetch_add(run.deliveries as u64, Ordering::Relaxed);
                }
                Err(panic) => {
                    let text = panic.downcast_ref::<String>().map(String::as_str);
                    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
                    lock(&failed).insert(seed, text.to_owned());
                }
            }
        }
    });
    let failed = lock(&failed).clone();
    let (crashes, deliveries, count) = (crashes.into_inner(), deliveries.into_inner(), seeds.end - seeds.start);
    println!("seeds {seeds:?}: {crashes} crashes, {deliveries} deliveries compared, {} seeds failed", failed.len());
    for (seed, text) in failed.iter().take(10) {
        println!("\nseed {seed}: {text}\nto reproduce it: SIMULATION_SEEDS={seed}..{} ./test -p simulation", seed + 1);
    }
    assert!(failed.is_empty(), "seeds {:?} failed", failed.keys().collect::<Vec<_>>());
    // A plan has one crash on average. A few seeds may have none.
    if count >= SEEDS.end {
        assert!(crashes >= count / 4, "only {crashes} crashes");
        assert!(deliveries >= count, "only {deliveries} deliveries");
    }
}

/// The chain is identical, but the requests of the explorer are not: see decision 51.
#[test]
fn the_same_seed_gives_the_same_chain() {
    let chain = |seed| -> Vec<String> {
        let trace = run(seed).trace.into_iter().map(|(_, what)| what);
        trace.filter(|what| what.starts_with("block ") || what.starts_with("reorg ")).collect()
    };
    let mut runs = on_threads(2, || (0..3).map(chain).collect::<Vec<_>>());
    let (first, second) = (runs.pop().unwrap(), runs.pop().unwrap());
    assert!(first.iter().all(|chain| chain.len() > 10), "{first:?}");
    assert_eq!(first, second);
}
