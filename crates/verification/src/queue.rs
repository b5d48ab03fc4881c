//! The queue of verifications.

mod scheduler;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

pub use scheduler::{Allowance, QueueConfig, VerifyClient};
use scheduler::{QueueFull, Scheduler, Ticket};
use tokio::sync::Notify;

use crate::error::VerifyError;

#[derive(Debug)]
pub(crate) struct Queue {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    scheduler: Mutex<Scheduler>,
    /// Notified whenever an entry leaves or becomes ready.
    changed: Notify,
}

/// A waiting or running verification. It leaves the queue when this is dropped.
#[derive(Debug)]
pub(crate) struct QueueEntry {
    shared: Arc<Shared>,
    ticket: Ticket,
}

impl Queue {
    pub(crate) fn new(config: QueueConfig) -> Self {
        Self { shared: Arc::new(Shared { scheduler: Mutex::new(Scheduler::new(config)), changed: Notify::new() }) }
    }

    /// Joins the queue. The entry does not block others until it is ready.
    pub(crate) fn join(&self, client: VerifyClient) -> Result<QueueEntry, VerifyError> {
        let ticket = self.shared.scheduler().join(client).map_err(|full| match full {
            QueueFull::ClientLimit => VerifyError::ClientLimitReached,
            QueueFull::TotalLimit => VerifyError::Busy,
        })?;
        // It may have evicted a waiting one.
        self.shared.changed.notify_waiters();
        Ok(QueueEntry { shared: Arc::clone(&self.shared), ticket })
    }
}

impl Shared {
    fn scheduler(&self) -> MutexGuard<'_, Scheduler> {
        self.scheduler.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QueueEntry {
    /// Marks the entry as ready and waits until it is scheduled to run; an error if it was evicted for another client.
    pub(crate) async fn wait_until_running(&self) -> Result<(), VerifyError> {
        self.shared.scheduler().make_ready(self.ticket);
        loop {
            let changed = self.shared.changed.notified();
            tokio::pin!(changed);
            // Enabled before the check, so that no change after it is missed.
            changed.as_mut().enable();
            let next = {
                let mut scheduler = self.shared.scheduler();
                let running = scheduler.running();
                let next = scheduler.advance(Instant::now());
                if scheduler.running() != running {
                    self.shared.changed.notify_waiters();
                }
                if scheduler.is_running(self.ticket) {
                    return Ok(());
                }
                if scheduler.is_evicted(self.ticket) {
                    return Err(VerifyError::Busy);
                }
                next
            };
            match next {
                Some(next) => drop(tokio::time::timeout_at(next.into(), changed).await),
                None => changed.await,
            }
        }
    }
}

impl Drop for QueueEntry {
    fn drop(&mut self) {
        self.shared.scheduler().leave(self.ticket);
        self.shared.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::{net::IpAddr, time::Duration};

    use super::*;

    fn client(network: u8) -> VerifyClient {
        VerifyClient { network: IpAddr::from([192, 0, 2, network]), owner: None }
    }

    #[tokio::test]
    async fn the_next_entry_runs_when_another_ends_and_dropped_entries_make_room() {
        let config = QueueConfig { concurrent: 1, overtime: 0, waiting: 2, ..QueueConfig::default() };
        let queue = Queue::new(config);
        let first = queue.join(client(1)).unwrap();
        first.wait_until_running().await.unwrap();
        let (second, third) = (queue.join(client(2)).unwrap(), queue.join(client(3)).unwrap());
        assert!(matches!(queue.join(client(4)), Err(VerifyError::Busy)));
        let third = tokio::spawn(async move {
            third.wait_until_running().await.unwrap();
            third
        });
        drop(second);
        tokio::task::yield_now().await;
        assert!(!third.is_finished());
        drop(first);
        drop(third.await.unwrap());
        queue.join(client(4)).unwrap().wait_until_running().await.unwrap();
    }

    #[tokio::test]
    async fn an_entry_runs_after_the_time_slice_of_entries_that_never_end() {
        let queue = Queue::new(QueueConfig { time_slice: Duration::from_millis(200), ..QueueConfig::default() });
        let endless = [queue.join(client(1)).unwrap(), queue.join(client(2)).unwrap()];
        for one in &endless {
            one.wait_until_running().await.unwrap();
        }
        let honest = queue.join(client(3)).unwrap();
        let waited = tokio::time::timeout(Duration::from_secs(60), honest.wait_until_running()).await;
        assert!(waited.is_ok(), "it waits for two entries that never end");
    }
}
