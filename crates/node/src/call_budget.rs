//! A limit of the operator on calls per second, for nodes that are paid by the call.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::{sync::Semaphore, time::Instant};

use crate::limiter::Priority;

/// Spaces calls evenly. Without a limit it admits all of them at once.
#[derive(Debug)]
pub(crate) struct CallBudget {
    /// Between two calls.
    interval: Option<Duration>,
    next: Mutex<Option<Instant>>,
    /// Held by the queued request that waits for its time; requests of high priority skip it.
    queue: Semaphore,
}

impl CallBudget {
    pub(crate) fn new(per_second: Option<u32>) -> Self {
        let interval = per_second.filter(|calls| *calls > 0).map(|calls| Duration::from_secs(1) / calls);
        Self { interval, next: Mutex::default(), queue: Semaphore::new(1) }
    }

    /// Waits until this many calls may be sent.
    pub(crate) async fn admit(&self, calls: usize, priority: Priority) {
        let Some(interval) = self.interval else { return };
        let _queue_permit = match priority {
            Priority::High => None,
            Priority::Queued => self.queue.acquire().await.ok(),
        };
        let at = self.reserve(interval * u32::try_from(calls).unwrap_or(u32::MAX));
        tokio::time::sleep_until(at).await;
    }

    fn reserve(&self, time: Duration) -> Instant {
        let (mut next, now) = (self.next.lock().unwrap_or_else(PoisonError::into_inner), Instant::now());
        let at = next.unwrap_or(now).max(now);
        *next = Some(at + time);
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn calls_are_spaced_also_those_of_a_batch() {
        let (budget, begun) = (CallBudget::new(Some(10)), Instant::now());
        for (calls, sent_after) in [(1, 0), (5, 100), (1, 600), (1, 700)] {
            budget.admit(calls, Priority::High).await;
            assert_eq!(begun.elapsed(), Duration::from_millis(sent_after));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn requests_of_users_do_not_wait_behind_a_backfill() {
        let (budget, begun) = (CallBudget::new(Some(10)), Instant::now());
        let backfill = futures::future::join_all((0..100).map(|_| budget.admit(1, Priority::Queued)));
        let user = async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            budget.admit(1, Priority::High).await;
            begun.elapsed()
        };
        let (_, waited) = tokio::join!(backfill, user);
        assert!(waited <= Duration::from_millis(300), "{waited:?}");
    }

    #[tokio::test]
    async fn without_a_limit_nothing_waits() {
        for budget in [CallBudget::new(None), CallBudget::new(Some(0))] {
            budget.admit(1_000_000, Priority::Queued).await;
        }
    }
}
