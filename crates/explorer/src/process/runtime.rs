//! The threads that serve requests, and on which everything runs that has no threads of its own.

use tokio::runtime::{Builder, Runtime};

/// Threads in addition to one per core, since a read that waits for the disk blocks its thread.
const SPARE_THREADS: usize = 2;

/// Threads for reads that find no runtime thread free, and for other work that blocks. Each takes about a megabyte, and
/// more would not read faster: the rest waits for one.
const MAX_BLOCKING_THREADS: usize = 64;

/// Stack size of each thread; only used pages take memory. Deep trees of futures need far more than the default two
/// megabytes in unoptimised builds.
pub(crate) const STACK_BYTES: usize = 16 << 20;

pub(crate) fn start() -> anyhow::Result<Runtime> {
    let threads = std::thread::available_parallelism()?.get() + SPARE_THREADS;
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(threads).max_blocking_threads(MAX_BLOCKING_THREADS).thread_stack_size(STACK_BYTES);
    Ok(builder.enable_all().build()?)
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicUsize, Ordering},
        time::Duration,
    };

    use super::*;

    #[test]
    fn blocking_work_of_many_connections_takes_a_bounded_number_of_threads() {
        static RUNNING: AtomicUsize = AtomicUsize::new(0);
        static MOST: AtomicUsize = AtomicUsize::new(0);
        let work = || {
            MOST.fetch_max(RUNNING.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(20));
            RUNNING.fetch_sub(1, Ordering::SeqCst);
        };
        let runtime = start().unwrap();
        let tasks: Vec<_> = (0..4 * MAX_BLOCKING_THREADS).map(|_| runtime.spawn_blocking(work)).collect();
        for task in tasks {
            runtime.block_on(task).unwrap();
        }
        assert!(MOST.load(Ordering::SeqCst) <= MAX_BLOCKING_THREADS, "{MOST:?}");
    }
}
