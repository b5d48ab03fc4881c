//! Supervises background tasks: one that ends or panics is logged, counted, shown in `/health`, and restarted.

use std::{fmt, future::Future, time::Duration};

use domain::{TaskState, TaskStatus};
use futures::future::BoxFuture;
use tokio::{
    sync::watch,
    task::{JoinError, JoinHandle},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(60);
/// A task that ran for this long before it failed restarts with the shortest pause.
const STABLE_AFTER: Duration = Duration::from_secs(300);

/// Starts tasks and restarts them until cancelled.
#[derive(Clone)]
pub(crate) struct Supervisor {
    cancel: CancellationToken,
    statuses: watch::Sender<Vec<TaskStatus>>,
}

impl Supervisor {
    pub(crate) fn new(cancel: CancellationToken) -> Self {
        Self { cancel, statuses: watch::Sender::new(Vec::new()) }
    }

    /// Task statuses, sorted by name.
    pub(crate) fn tasks(&self) -> watch::Receiver<Vec<TaskStatus>> {
        self.statuses.subscribe()
    }

    /// Runs a task until shutdown. `start` is called for each start; the task must end soon after the token is cancelled,
    /// and not before. The handle completes when the task has ended.
    pub(crate) fn spawn<F>(
        &self,
        name: &'static str,
        start: impl Fn(CancellationToken) -> F + Send + 'static,
    ) -> JoinHandle<()>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        set(&self.statuses, TaskStatus { name, state: TaskState::Running, restarts: 0 });
        let start: Box<Start> = Box::new(move |cancel| Box::pin(start(cancel)));
        tokio::spawn(supervise(name, start, self.clone()))
    }
}

type Start = dyn Fn(CancellationToken) -> BoxFuture<'static, ()> + Send;

/// Not generic, so that it is compiled once.
async fn supervise(name: &'static str, start: Box<Start>, supervisor: Supervisor) {
    let Supervisor { cancel, statuses } = supervisor;
    let (mut restarts, mut pause) = (0_u32, FIRST_PAUSE);
    loop {
        let started = Instant::now();
        // Spawned separately, so that a panic ends only this task.
        let ended = tokio::spawn(start(cancel.clone())).await;
        if cancel.is_cancelled() {
            return;
        }
        if started.elapsed() >= STABLE_AFTER {
            pause = FIRST_PAUSE;
        }
        restarts = restarts.saturating_add(1);
        let (reason, seconds) = (Ended(&ended), pause.as_secs());
        tracing::error!(task = name, %reason, restarts, seconds, "a background task ended; restarting it");
        set(&statuses, TaskStatus { name, state: TaskState::Restarting, restarts });
        if cancel.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
            return;
        }
        pause = (pause * 2).min(MAX_PAUSE);
        set(&statuses, TaskStatus { name, state: TaskState::Running, restarts });
    }
}

fn set(statuses: &watch::Sender<Vec<TaskStatus>>, task: TaskStatus) {
    statuses.send_modify(|tasks| {
        tasks.retain(|known| known.name != task.name);
        let index = tasks.partition_point(|known| known.name < task.name);
        tasks.insert(index, task);
    });
}

/// Why a task ended.
struct Ended<'a>(&'a Result<(), JoinError>);

impl fmt::Display for Ended<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Ok(()) => f.write_str("it returned"),
            Err(error) => error.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    };

    use super::*;

    async fn until(statuses: &mut watch::Receiver<Vec<TaskStatus>>, state: TaskState, restarts: u32) {
        let seen = |tasks: &Vec<TaskStatus>| tasks.iter().any(|task| (task.state, task.restarts) == (state, restarts));
        statuses.wait_for(seen).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_that_panics_or_returns_is_restarted_and_shown() {
        let cancel = CancellationToken::new();
        let supervisor = Supervisor::new(cancel.clone());
        let starts = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&starts);
        let started = Instant::now();
        let handle = supervisor.spawn("brittle", move |cancel| {
            let start = counted.fetch_add(1, Ordering::SeqCst);
            async move {
                match start {
                    0 => panic!("on purpose"),
                    1 => {}
                    _ => cancel.cancelled().await,
                }
            }
        });
        let mut statuses = supervisor.tasks();
        until(&mut statuses, TaskState::Restarting, 1).await;
        until(&mut statuses, TaskState::Restarting, 2).await;
        until(&mut statuses, TaskState::Running, 2).await;
        assert_eq!(started.elapsed().as_secs(), 3, "a second, then two");
        tokio::time::sleep(Duration::from_secs(3_600)).await;
        assert_eq!(starts.load(Ordering::SeqCst), 3);
        cancel.cancel();
        handle.await.unwrap();
        assert_eq!(statuses.borrow()[0].restarts, 2, "a requested end does not count as a restart");
    }

    #[tokio::test(start_paused = true)]
    async fn tasks_are_sorted_by_name_and_shutdown_ends_a_pause() {
        let cancel = CancellationToken::new();
        let supervisor = Supervisor::new(cancel.clone());
        let quick = supervisor.spawn("b", |_| async {});
        let steady = supervisor.spawn("a", |cancel| async move { cancel.cancelled().await });
        until(&mut supervisor.tasks(), TaskState::Restarting, 1).await;
        assert_eq!(supervisor.tasks().borrow().iter().map(|task| task.name).collect::<Vec<_>>(), ["a", "b"]);
        cancel.cancel();
        quick.await.unwrap();
        steady.await.unwrap();
    }
}
