//! The processors, shared between clients.

use std::{
    task::{Context, Poll},
    time::Duration,
};

use client_address::Client;

use crate::fair_permits::{FairPermits, Permit, PermitBounds, Place};

/// Longer than any work that does not wait: then a disk hangs.
const STUCK_AFTER: Duration = Duration::from_secs(1);

/// The work on requests that needs a processor, as much at a time as there are processors. Who used them least lately is next, so
/// that clients who ask for little do not wait for those who ask for much, however many requests these send.
#[derive(Debug, Clone)]
pub struct Turns(FairPermits<Client>);

/// The turns of one request: it takes one whenever it goes on, and gives it back when it waits for something else.
pub struct Turn {
    permits: FairPermits<Client>,
    client: Client,
    place: Option<Place<Client>>,
}

impl Turns {
    #[must_use]
    pub fn new(processors: usize) -> Self {
        Self(FairPermits::new(PermitBounds {
            total: processors,
            per_client: processors,
            waiting_per_client: usize::MAX,
            stuck_after: Some(STUCK_AFTER),
        }))
    }

    #[must_use]
    pub fn of(&self, client: Client) -> Turn {
        Turn { permits: self.0.clone(), client, place: None }
    }
}

impl Turn {
    /// A permit to go on until it is dropped. None if there is no way to wait for one.
    pub fn poll_permit(&mut self, context: &mut Context<'_>) -> Poll<Option<Permit<Client>>> {
        self.permits.poll_acquire(self.client, &mut self.place, context).map(Result::ok)
    }
}

impl std::fmt::Debug for Turn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Turn").field("client", &self.client).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::{future::poll_fn, net::Ipv4Addr, sync::Arc, time::Instant};

    use tokio::sync::Mutex;

    use super::*;

    /// Work of several pieces, each of which takes a processor for this long. Says when it is done.
    async fn work(turns: &Turns, client: u8, pieces: usize, each: Duration) {
        let mut turn = turns.of(Client::of(Ipv4Addr::new(192, 0, 2, client).into()));
        for _ in 0..pieces {
            let permit = poll_fn(|context| turn.poll_permit(context)).await;
            let started = Instant::now();
            while started.elapsed() < each {
                std::hint::spin_loop();
            }
            drop(permit);
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn who_asks_for_little_does_not_wait_for_who_asks_for_much() {
        let (turns, done) = (Turns::new(1), Arc::new(Mutex::new(Vec::new())));
        let start = |client: u8, pieces: usize| {
            let (turns, done) = (turns.clone(), Arc::clone(&done));
            tokio::spawn(async move {
                work(&turns, client, pieces, Duration::from_millis(1)).await;
                done.lock().await.push(client);
            })
        };
        let mut all: Vec<_> = (0..20).map(|request| start(1 + request % 2, 50)).collect();
        tokio::time::sleep(Duration::from_millis(20)).await;
        all.push(start(3, 5));
        futures::future::join_all(all).await;
        let done = done.lock().await;
        assert_eq!(done.first(), Some(&3), "{done:?}");
        assert_eq!(done.len(), 21);
    }

    #[tokio::test]
    async fn nobody_waits_for_those_who_are_stuck() {
        let turns = Turns(FairPermits::new(PermitBounds {
            total: 1,
            per_client: 1,
            waiting_per_client: usize::MAX,
            stuck_after: Some(Duration::from_millis(20)),
        }));
        let mut stuck = turns.of(Client::of(Ipv4Addr::new(192, 0, 2, 1).into()));
        let stuck = poll_fn(|context| stuck.poll_permit(context)).await;
        std::thread::sleep(Duration::from_millis(40));
        for client in 2..5 {
            work(&turns, client, 1, Duration::ZERO).await;
        }
        drop(stuck);
        work(&turns, 1, 1, Duration::ZERO).await;
    }
}
