//! Expensive work for readers: one job at a time, run once for all callers that wait for it, cancelled when none is
//! left.

use std::{
    collections::HashMap,
    fmt,
    hash::Hash,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use futures::{
    FutureExt,
    future::{BoxFuture, Shared, WeakShared},
};
use store::{BoxError, StoreError};
use tokio::sync::Semaphore;

type Outcome = Result<(), Arc<StoreError>>;
type Work = BoxFuture<'static, Outcome>;

/// Set when no caller waits for the work any longer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cancelled(Arc<AtomicBool>);

impl Cancelled {
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

struct CancelOnDrop(Cancelled);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

pub(crate) struct SharedWork<K> {
    running: Mutex<HashMap<K, WeakShared<Work>>>,
    slot: Arc<Semaphore>,
}

impl<K> Default for SharedWork<K> {
    fn default() -> Self {
        Self { running: Mutex::default(), slot: Arc::new(Semaphore::new(1)) }
    }
}

impl<K> fmt::Debug for SharedWork<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedWork").field("free", &self.slot.available_permits()).finish_non_exhaustive()
    }
}

impl<K: Clone + Eq + Hash> SharedWork<K> {
    /// Waits for the work of this key. It runs on the blocking pool, and must check regularly whether it is cancelled.
    pub(crate) async fn run(
        &self,
        key: &K,
        work: impl FnOnce(&Cancelled) -> Result<(), StoreError> + Send + 'static,
    ) -> Result<(), StoreError> {
        let shared = self.join(key, work);
        shared.await.map_err(|error| StoreError::Backend(BoxError::from(error)))
    }

    fn join(&self, key: &K, work: impl FnOnce(&Cancelled) -> Result<(), StoreError> + Send + 'static) -> Shared<Work> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shared) = running.get(key).and_then(WeakShared::upgrade) {
            return shared;
        }
        running.retain(|_, other| other.upgrade().is_some());
        let slot = Arc::clone(&self.slot);
        let future = async move {
            let cancelled = Cancelled::default();
            let _cancel = CancelOnDrop(cancelled.clone());
            // Released by the thread: cancelled work occupies its slot until it has stopped.
            let permit = slot.acquire_owned().await;
            let blocking = tokio::task::spawn_blocking(move || {
                let _permit = permit;
                work(&cancelled)
            });
            let done = blocking.await.unwrap_or_else(|stopped| Err(StoreError::Backend(BoxError::from(stopped))));
            done.map_err(Arc::new)
        };
        let shared = future.boxed().shared();
        if let Some(weak) = shared.downgrade() {
            running.insert(key.clone(), weak);
        }
        shared
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::atomic::AtomicUsize, time::Duration};

    use super::*;

    fn wait_until(condition: impl Fn() -> bool) {
        while !condition() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[tokio::test]
    async fn equal_work_runs_once_for_all_callers() {
        let (works, runs) = (SharedWork::<u8>::default(), Arc::new(AtomicUsize::new(0)));
        let work = || {
            let runs = Arc::clone(&runs);
            move |_: &Cancelled| {
                runs.fetch_add(1, Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(20));
                Ok(())
            }
        };
        let all = futures::future::join_all((0..10).map(|_| works.run(&1, work()))).await;
        assert!(all.iter().all(Result::is_ok));
        assert_eq!(runs.load(Ordering::SeqCst), 1);
        works.run(&1, work()).await.unwrap();
        assert_eq!(runs.load(Ordering::SeqCst), 2, "later callers start it again");
    }

    #[tokio::test]
    async fn only_one_job_runs_at_a_time() {
        let works = Arc::new(SharedWork::<u8>::default());
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let all = (0..8).map(|key| {
            let (works, now, most) = (Arc::clone(&works), Arc::clone(&now), Arc::clone(&most));
            async move {
                let work = move |_: &Cancelled| {
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    std::thread::sleep(Duration::from_millis(5));
                    now.fetch_sub(1, Ordering::SeqCst);
                    Ok(())
                };
                works.run(&key, work).await
            }
        });
        assert!(futures::future::join_all(all).await.iter().all(Result::is_ok));
        assert_eq!(most.load(Ordering::SeqCst), 1);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn work_is_cancelled_when_its_last_caller_leaves() {
        let works = SharedWork::<u8>::default();
        let (started, stopped) = (Cancelled::default(), Cancelled::default());
        let (begin, end) = (started.clone(), stopped.clone());
        let first = works.join(&1, move |cancelled| {
            begin.0.store(true, Ordering::SeqCst);
            wait_until(|| cancelled.is_set());
            end.0.store(true, Ordering::SeqCst);
            Ok(())
        });
        let second = works.join(&1, |_| panic!("it runs already"));
        let first = tokio::spawn(first);
        tokio::task::spawn_blocking(move || wait_until(|| started.is_set())).await.unwrap();
        first.abort();
        let _ = first.await;
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(!stopped.is_set(), "a caller is still waiting");
        drop(second);
        tokio::task::spawn_blocking(move || wait_until(|| stopped.is_set())).await.unwrap();
    }

    #[tokio::test]
    async fn every_caller_gets_the_error() {
        let works = SharedWork::<u8>::default();
        let fails = |_: &Cancelled| Err(StoreError::Corrupt("a row is missing"));
        let (one, other) = futures::join!(works.run(&1, fails), works.run(&1, fails));
        for outcome in [one, other] {
            assert!(outcome.unwrap_err().to_string().contains("store failure"));
        }
    }
}
