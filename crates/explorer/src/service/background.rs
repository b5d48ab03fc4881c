//! Low-priority threads for indexing: when the CPU is saturated, request threads run first.

use tokio::runtime::{Builder, Handle, Runtime};

use crate::process::runtime::STACK_BYTES;

/// Nice value of these threads (19 is the lowest priority). They still get about a tenth of a saturated CPU.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// A separate runtime, shut down when dropped.
pub(crate) struct Background {
    runtime: Option<Runtime>,
}

impl Background {
    pub(crate) fn start() -> anyhow::Result<Self> {
        let threads = std::thread::available_parallelism()?.get();
        let runtime = Builder::new_multi_thread()
            .thread_name("background")
            .worker_threads(threads)
            .thread_stack_size(STACK_BYTES)
            .on_thread_start(lower_priority)
            .enable_all()
            .build()?;
        Ok(Self { runtime: Some(runtime) })
    }

    #[expect(clippy::expect_used, reason = "taken only in drop")]
    pub(crate) fn handle(&self) -> &Handle {
        self.runtime.as_ref().map(Runtime::handle).expect("taken only in drop")
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // Dropping a runtime blocks until its threads end, which is not allowed on an async thread.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

#[cfg(target_os = "linux")]
fn lower_priority() {
    // On Linux this applies to the calling thread only. If it fails, all threads have equal priority.
    let _ = rustix::process::setpriority_process(None, NICENESS);
}

#[cfg(not(target_os = "linux"))]
fn lower_priority() {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::process::getpriority_process;

    use super::*;

    #[tokio::test]
    async fn background_threads_have_a_lower_priority_and_others_keep_theirs() {
        let before = getpriority_process(None).unwrap();
        let background = Background::start().unwrap();
        let priority = || getpriority_process(None).unwrap();
        assert_eq!(background.handle().spawn(async move { priority() }).await.unwrap(), NICENESS.max(before));
        assert_eq!(background.handle().spawn_blocking(priority).await.unwrap(), NICENESS.max(before));
        assert_eq!(getpriority_process(None).unwrap(), before);
    }
}
