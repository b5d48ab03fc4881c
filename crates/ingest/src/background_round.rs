//! A round of requests to the node that runs beside following, and its outcome.

use std::future::Future;

use tokio_util::task::AbortOnDropHandle;

/// At most one round at a time. Dropping it ends the round.
pub(crate) struct BackgroundRound<T> {
    running: Option<AbortOnDropHandle<T>>,
    finished: Option<T>,
}

impl<T: Send + 'static> BackgroundRound<T> {
    pub(crate) fn none() -> Self {
        Self { running: None, finished: None }
    }

    pub(crate) fn start(&mut self, round: impl Future<Output = T> + Send + 'static) {
        self.running = Some(AbortOnDropHandle::new(tokio::spawn(round)));
    }

    pub(crate) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Waits until the round has ended; without one, forever. Cancel safe.
    pub(crate) async fn ended(&mut self) {
        let Some(running) = &mut self.running else { return std::future::pending().await };
        let outcome = running.await;
        self.running = None;
        match outcome {
            Ok(outcome) => self.finished = Some(outcome),
            Err(stopped) if stopped.is_panic() => std::panic::resume_unwind(stopped.into_panic()),
            // The runtime is shutting down.
            Err(_) => {}
        }
    }

    /// The outcome, once the round has ended.
    pub(crate) async fn take(&mut self) -> Option<T> {
        if self.running.as_ref().is_some_and(AbortOnDropHandle::is_finished) {
            self.ended().await;
        }
        self.finished.take()
    }

    /// Drops the round and its outcome, which belong to an abandoned branch.
    pub(crate) fn forget(&mut self) {
        *self = Self::none();
    }
}
