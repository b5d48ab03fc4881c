//! Threads for what may wait. Where the machine has not enough for all, those that serve requests go first.

use tokio::runtime::{Builder, Handle, Runtime};

/// How far behind the system puts these threads, out of 19. They still get about a tenth of a machine that is all taken.
#[cfg(target_os = "linux")]
const BEHIND: i32 = 10;

/// A runtime of its own, which ends with its owner.
pub(crate) struct Background {
    runtime: Option<Runtime>,
}

impl Background {
    pub(crate) fn start() -> anyhow::Result<Self> {
        let threads = std::thread::available_parallelism()?.get();
        let runtime = Builder::new_multi_thread()
            .thread_name("background")
            .worker_threads(threads)
            .thread_stack_size(crate::STACK_BYTES)
            .on_thread_start(step_back)
            .enable_all()
            .build()?;
        Ok(Self { runtime: Some(runtime) })
    }

    pub(crate) fn handle(&self) -> &Handle {
        self.runtime.as_ref().map(Runtime::handle).expect("it is taken only when this is dropped")
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // Dropped as it is, a runtime waits for its threads, which a thread that serves must not do.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

#[cfg(target_os = "linux")]
fn step_back() {
    // Here the system takes "this process" to be the calling thread. Without it all are equal, which is no harm.
    let _ = rustix::process::setpriority_process(None, BEHIND);
}

#[cfg(not(target_os = "linux"))]
fn step_back() {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::process::getpriority_process;

    use super::*;

    #[tokio::test]
    async fn its_threads_stand_behind_and_the_others_stay_where_they_are() {
        let before = getpriority_process(None).unwrap();
        let background = Background::start().unwrap();
        let priority = || getpriority_process(None).unwrap();
        assert_eq!(background.handle().spawn(async move { priority() }).await.unwrap(), BEHIND.max(before));
        assert_eq!(background.handle().spawn_blocking(priority).await.unwrap(), BEHIND.max(before));
        assert_eq!(getpriority_process(None).unwrap(), before);
    }
}
