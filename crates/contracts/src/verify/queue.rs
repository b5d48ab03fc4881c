//! Verifications wait here until it is their turn.

mod rota;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use tokio::sync::Notify;

pub use rota::{Allowance, QueueConfig, VerifyClient};
use rota::{Full, Rota, Ticket};

use super::VerifyError;

#[derive(Debug)]
pub(super) struct Queue {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    rota: Mutex<Rota>,
    /// Rings whenever somebody leaves or gets ready.
    changed: Notify,
}

/// A place in the queue, then a turn. It is given up when this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    shared: Arc<Shared>,
    ticket: Ticket,
}

impl Queue {
    pub(super) fn new(config: QueueConfig) -> Self {
        Self { shared: Arc::new(Shared { rota: Mutex::new(Rota::new(config)), changed: Notify::new() }) }
    }

    /// Takes a place. It holds nobody up until its turn is asked for.
    pub(super) fn join(&self, client: VerifyClient) -> Result<Place, VerifyError> {
        let ticket = self.shared.rota().join(client).map_err(|full| match full {
            Full::OfOneClient => VerifyError::TooManyOfOneClient,
            Full::OfAll => VerifyError::Busy,
        })?;
        Ok(Place { shared: Arc::clone(&self.shared), ticket })
    }
}

impl Shared {
    fn rota(&self) -> MutexGuard<'_, Rota> {
        self.rota.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Waits until it is this one's turn.
    pub(super) async fn turn(&self) {
        self.shared.rota().make_ready(self.ticket);
        loop {
            let changed = self.shared.changed.notified();
            tokio::pin!(changed);
            // Before the look: what changes after it must be heard.
            changed.as_mut().enable();
            let next = {
                let mut rota = self.shared.rota();
                let running = rota.running();
                let next = rota.advance(Instant::now());
                if rota.running() != running {
                    self.shared.changed.notify_waiters();
                }
                if rota.is_running(self.ticket) {
                    return;
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

impl Drop for Place {
    fn drop(&mut self) {
        self.shared.rota().leave(self.ticket);
        self.shared.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::{net::IpAddr, time::Duration};

    use super::*;

    fn client(site: u8) -> VerifyClient {
        VerifyClient { site: IpAddr::from([192, 0, 2, site]), owner: None }
    }

    #[tokio::test]
    async fn a_turn_comes_when_another_ends_and_those_who_leave_make_room() {
        let config = QueueConfig { at_once: 1, beside: 0, waiting: 2, ..QueueConfig::default() };
        let queue = Queue::new(config);
        let first = queue.join(client(1)).unwrap();
        first.turn().await;
        let (second, third) = (queue.join(client(2)).unwrap(), queue.join(client(3)).unwrap());
        assert!(matches!(queue.join(client(4)), Err(VerifyError::Busy)));
        let third = tokio::spawn(async move {
            third.turn().await;
            third
        });
        drop(second);
        tokio::task::yield_now().await;
        assert!(!third.is_finished());
        drop(first);
        drop(third.await.unwrap());
        queue.join(client(4)).unwrap().turn().await;
    }

    #[tokio::test]
    async fn a_turn_comes_by_time_alone_behind_those_that_never_end() {
        let queue = Queue::new(QueueConfig { turn: Duration::from_millis(200), ..QueueConfig::default() });
        let endless = [queue.join(client(1)).unwrap(), queue.join(client(2)).unwrap()];
        for one in &endless {
            one.turn().await;
        }
        let honest = queue.join(client(3)).unwrap();
        let waited = tokio::time::timeout(Duration::from_secs(60), honest.turn()).await;
        assert!(waited.is_ok(), "it waits for two that never end");
    }
}
