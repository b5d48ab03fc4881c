//! Wrong tokens: how fast a client can try others.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use client_address::Client;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// One wrong token is answered at a time, after this long.
const WRONG_TOKEN_DELAY: Duration = Duration::from_millis(500);
/// Wrong tokens of a client that wait for their answer. While there are more, none of its tokens is looked at, so that a client
/// that does not wait for the answer learns nothing either. Fewer than its connections.
const MAX_WAITING: usize = 8;

#[derive(Debug, Clone, Default)]
pub(super) struct Guesses {
    answers: Arc<tokio::sync::Mutex<()>>,
    clients: Arc<Mutex<HashMap<Client, Arc<Semaphore>>>>,
}

/// Permission to have one token compared.
pub(super) type Permit = OwnedSemaphorePermit;

impl Guesses {
    /// Waits while too many wrong tokens of the client are unanswered.
    pub(super) async fn acquire(&self, client: Client) -> Permit {
        loop {
            let permits = self.clients().entry(client).or_insert_with(|| Arc::new(Semaphore::new(MAX_WAITING))).clone();
            // A semaphore that is closed, as none is, would be replaced.
            if let Ok(permit) = permits.acquire_owned().await {
                return permit;
            }
            self.clients().remove(&client);
        }
    }

    /// Waits until a wrong token may be answered. The time also passes if the client does not wait for it.
    pub(super) async fn delay_answer(&self, permit: Permit) {
        let guesses = self.clone();
        let waiting = tokio::spawn(async move {
            let answer = guesses.answers.lock().await;
            tokio::time::sleep(WRONG_TOKEN_DELAY).await;
            drop((answer, permit));
            // Clients whose semaphore nobody else holds have no wrong token left.
            guesses.clients().retain(|_, permits| Arc::strong_count(permits) > 1);
        });
        // It ends early only with the process.
        let _ = waiting.await;
    }

    fn clients(&self) -> std::sync::MutexGuard<'_, HashMap<Client, Arc<Semaphore>>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, timeout};

    use super::*;

    fn client(last: u8) -> Client {
        Client::of([192, 0, 2, last].into())
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_wait_for_answers_guesses_no_faster() {
        let (guesses, started) = (Guesses::default(), Instant::now());
        let mut looked_at = 0;
        for _ in 0..500 {
            let guess = async {
                let permit = guesses.acquire(client(1)).await;
                looked_at += 1;
                guesses.delay_answer(permit).await;
            };
            assert!(timeout(Duration::from_millis(10), guess).await.is_err(), "a wrong token is answered at once");
        }
        // Some at once, and then two per second.
        assert!(started.elapsed() >= Duration::from_secs(5));
        assert!((MAX_WAITING..=MAX_WAITING + 11).contains(&looked_at), "{looked_at} tokens");
    }

    #[tokio::test(start_paused = true)]
    async fn the_token_of_another_client_is_looked_at_at_once_and_nothing_is_left() {
        let guesses = Guesses::default();
        for _ in 0..MAX_WAITING {
            let permit = guesses.acquire(client(1)).await;
            assert!(timeout(Duration::ZERO, guesses.delay_answer(permit)).await.is_err());
        }
        assert!(timeout(Duration::ZERO, guesses.acquire(client(1))).await.is_err());
        drop(timeout(Duration::ZERO, guesses.acquire(client(2))).await.expect("another client"));
        tokio::time::sleep(WRONG_TOKEN_DELAY * 2 * u32::try_from(MAX_WAITING).unwrap()).await;
        drop(timeout(Duration::ZERO, guesses.acquire(client(1))).await.expect("all were answered"));
        guesses.delay_answer(guesses.acquire(client(1)).await).await;
        assert!(guesses.clients().is_empty(), "{:?}", guesses.clients());
    }
}
