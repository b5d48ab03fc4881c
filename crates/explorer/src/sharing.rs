//! What processes on one database share: the status of following, and the work on webhooks.

use std::{
    future::Future,
    sync::Arc,
    time::{Duration, Instant},
};

use domain::{SyncPhase, SyncStatus, WebhookId};
use node::NodeClient;
use store::{ChainReader, StoreError};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use webhooks::Wake;

use crate::{
    stores::{Compacted, QueueNews, Sender, SharedStore},
    supervisor::Supervisor,
};

/// How often a process that does not follow looks for a new version of the index, which takes no query.
const CHECK: Duration = Duration::from_millis(50);
/// How often it reads the status, and how often the process that follows reports it, without a change.
const HEARTBEAT: Duration = Duration::from_secs(1);
/// At most one report in this time.
const REPORT_PAUSE: Duration = Duration::from_millis(200);
/// How often a process that sends webhooks reads which of them were changed elsewhere.
const CHANGES: Duration = Duration::from_millis(500);
/// How often rows of lists are merged, and between steps if there are more.
const COMPACTION: Duration = Duration::from_secs(30);
const COMPACTION_STEP: Duration = Duration::from_millis(500);
/// Notifications that are passed on at once.
const MOST_NEWS: usize = 1_000;

/// The status of following: that of this process while it has the writer, else that of the process that has it.
pub(crate) fn share_status(
    store: &Arc<SharedStore>,
    followed: watch::Receiver<SyncStatus>,
    supervisor: &Supervisor,
) -> watch::Receiver<SyncStatus> {
    let (shown, receiver) = watch::channel(SyncStatus::starting());
    let store = Arc::clone(store);
    supervisor.spawn("shared-status", move |cancel| {
        let sharing = Sharing { store: Arc::clone(&store), followed: followed.clone(), shown: shown.clone() };
        async move {
            cancel.run_until_cancelled(sharing.run()).await;
        }
    });
    receiver
}

struct Sharing {
    store: Arc<SharedStore>,
    followed: watch::Receiver<SyncStatus>,
    shown: watch::Sender<SyncStatus>,
}

impl Sharing {
    async fn run(mut self) {
        let mut reported_at: Option<Instant> = None;
        loop {
            if self.store.is_writer() {
                let status = self.followed.borrow_and_update().clone();
                let is_changed = self.show(status.clone());
                let pause = if is_changed { REPORT_PAUSE } else { HEARTBEAT };
                if reported_at.is_none_or(|at| at.elapsed() >= pause) {
                    reported_at = Some(Instant::now());
                    if let Err(error) = self.store.report_sync(&status).await {
                        tracing::debug!(%error, "cannot report the status of following");
                    }
                }
                let _ = tokio::time::timeout(REPORT_PAUSE, self.followed.changed()).await;
                // Without a sender, nothing changes.
                tokio::time::sleep(Duration::from_millis(1)).await;
            } else {
                match self.store.read_sync().await {
                    Ok(status) => self.show(status),
                    Err(error) => self.show_failure(&error),
                };
                self.wait_for_change().await;
            }
        }
    }

    /// Returns whether it differs from what was shown before.
    fn show(&self, mut status: SyncStatus) -> bool {
        self.shown.send_if_modified(|shown| {
            // Known only by the second.
            if let (Some(before), Some(now)) = (shown.quiet_from, status.quiet_from)
                && before.max(now) - before.min(now) < Duration::from_secs(1)
            {
                status.quiet_from = shown.quiet_from;
            }
            let is_changed = *shown != status;
            *shown = status;
            is_changed
        })
    }

    fn show_failure(&self, error: &StoreError) -> bool {
        let reason = match error {
            StoreError::Unavailable { reason } => reason.clone(),
            other => other.to_string(),
        };
        let status = SyncStatus { phase: SyncPhase::Waiting { reason }, ..self.shown.borrow().clone() };
        self.show(status)
    }

    async fn wait_for_change(&self) {
        let reader = self.store.reader();
        let before = reader.state();
        let started = Instant::now();
        while started.elapsed() < HEARTBEAT && (before.is_none() || reader.state() == before) && !self.store.is_writer()
        {
            tokio::time::sleep(CHECK).await;
        }
    }
}

/// Uses only nodes that serve the chain that another process indexes, also after that one has started over with a new chain.
pub(crate) fn expect_indexed_chain(node: &NodeClient, sync: &watch::Receiver<SyncStatus>, supervisor: &Supervisor) {
    let (node, sync) = (node.clone(), sync.clone());
    supervisor.spawn("expected-chain", move |cancel| {
        let (node, sync) = (node.clone(), sync.clone());
        async move {
            cancel.run_until_cancelled(keep_expecting(&node, sync)).await;
        }
    });
}

/// Never returns.
async fn keep_expecting(node: &NodeClient, mut sync: watch::Receiver<SyncStatus>) {
    loop {
        let chain = sync.borrow_and_update().chain;
        if let Some(chain) = chain {
            node.expect_chain(chain);
        }
        if sync.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Merges rows of lists while this process writes the index and has caught up.
pub(crate) fn compact(store: &Arc<SharedStore>, sync: watch::Receiver<SyncStatus>, supervisor: &Supervisor) {
    let store = Arc::clone(store);
    supervisor.spawn("compaction", move |cancel| {
        let (store, sync) = (Arc::clone(&store), sync.clone());
        async move {
            cancel.run_until_cancelled(keep_compact(&store, &sync)).await;
        }
    });
}

async fn keep_compact(store: &SharedStore, sync: &watch::Receiver<SyncStatus>) {
    loop {
        let is_following = sync.borrow().phase == SyncPhase::Following;
        let mut pause = COMPACTION;
        if is_following && store.is_writer() {
            match store.compact(false).await {
                Ok(Compacted { runs_before, runs_after, has_more }) => {
                    if runs_before > 0 {
                        tracing::debug!(runs_before, runs_after, "merged rows of lists");
                    }
                    pause = if has_more { COMPACTION_STEP } else { COMPACTION };
                }
                Err(error) => tracing::warn!(%error, "cannot merge rows of lists; retrying"),
            }
        }
        tokio::time::sleep(pause).await;
    }
}

/// Whether it is this process that matches blocks with webhooks.
#[derive(Clone)]
pub(crate) struct Turn(watch::Receiver<bool>);

impl Turn {
    /// No other process can.
    pub(crate) fn always() -> Self {
        Self(watch::channel(true).1)
    }

    /// Runs a task whenever it is this process's turn, until cancelled.
    pub(crate) async fn run<F: Future<Output = ()>>(
        mut self,
        cancel: CancellationToken,
        start: impl Fn(CancellationToken) -> F,
    ) {
        while !cancel.is_cancelled() {
            let begun = cancel.run_until_cancelled(self.0.wait_for(|is_ours| *is_ours)).await;
            // Without a sender, it stays as it is.
            if begun.is_none_or(|begun| begun.is_err()) {
                return cancel.cancelled().await;
            }
            let current = cancel.child_token();
            let running = start(current.clone());
            tokio::pin!(running);
            tokio::select! {
                () = &mut running => return,
                () = lost(&mut self.0) => {
                    current.cancel();
                    running.await;
                }
            }
        }
    }
}

/// Returns when it is no longer this process's turn.
async fn lost(turn: &mut watch::Receiver<bool>) {
    if turn.wait_for(|is_ours| !*is_ours).await.is_err() {
        std::future::pending().await
    }
}

/// Waits for the right to match blocks with webhooks, and again whenever it is lost.
pub(crate) fn take_turns(store: &Arc<SharedStore>, supervisor: &Supervisor) -> Turn {
    let (turn, receiver) = watch::channel(false);
    let store = Arc::clone(store);
    supervisor.spawn("webhook-turns", move |cancel| {
        let (store, turn) = (Arc::clone(&store), turn.clone());
        async move {
            cancel.run_until_cancelled(keep_turn(&store, &turn)).await;
        }
    });
    Turn(receiver)
}

async fn keep_turn(store: &SharedStore, turn: &watch::Sender<bool>) {
    let mut is_standby = false;
    loop {
        match store.lock_matching().await {
            Ok(Some(mut lock)) => {
                tracing::info!("this process matches blocks with webhooks");
                turn.send_replace(true);
                lock.lost().await;
                tracing::warn!("lost the database, matching of blocks with webhooks stops");
                turn.send_replace(false);
                is_standby = false;
            }
            Ok(None) if is_standby => {}
            Ok(None) => {
                tracing::info!("another process matches blocks with webhooks, standing by");
                is_standby = true;
            }
            Err(error) => tracing::warn!(%error, "waiting for the database to match blocks with webhooks"),
        }
        tokio::time::sleep(HEARTBEAT).await;
    }
}

/// Shares the queues of webhooks with other processes that send. What others change or queue wakes the dispatcher.
pub(crate) fn share_queues(store: &Arc<SharedStore>, wake: Wake, supervisor: &Supervisor) -> Sender {
    let sender = store.webhook_records().new_sender();
    let (store, taking_part) = (Arc::clone(store), sender.clone());
    supervisor.spawn("webhook-queues", move |cancel| {
        let (store, wake, sender) = (Arc::clone(&store), wake.clone(), taking_part.clone());
        async move {
            let (queued, news) = mpsc::unbounded_channel();
            let sharing = async {
                tokio::join!(take_part(&sender, &wake, &queued), pass_on(&store, &wake, news));
            };
            cancel.run_until_cancelled(sharing).await;
        }
    });
    sender
}

/// Never returns.
async fn take_part(sender: &Sender, wake: &Wake, queued: &mpsc::UnboundedSender<Vec<WebhookId>>) {
    loop {
        let news = |news| match news {
            QueueNews::Queued(webhooks) => drop(queued.send(webhooks)),
            QueueNews::Reassigned => wake.reassigned(),
            QueueNews::ClockAhead(ahead) => webhooks::correct_clock(ahead),
        };
        if let Err(error) = sender.take_part(&news).await {
            tracing::warn!(%error, "waiting for the database to send webhooks");
        }
        tokio::time::sleep(HEARTBEAT).await;
    }
}

/// Passes changes of webhooks and new messages on to the dispatcher, in this order: what an owner changed before a message was
/// queued applies to it. Never returns.
async fn pass_on(store: &SharedStore, wake: &Wake, mut queued: mpsc::UnboundedReceiver<Vec<WebhookId>>) {
    let (records, mut last) = (store.webhook_records(), None);
    let mut waiting = Vec::new();
    loop {
        match records.list_changes(last.unwrap_or_default()).await {
            Ok((changed, newest)) => {
                // At first, the dispatcher reads everything by itself.
                if last.is_some() {
                    changed.into_iter().for_each(|webhook| wake.changed(webhook));
                }
                last = Some(newest);
                wake.queued(waiting.drain(..).flatten());
            }
            Err(error) => {
                tracing::debug!(%error, "cannot read which webhooks were changed");
                tokio::time::sleep(CHANGES).await;
            }
        }
        let _ = tokio::time::timeout(CHANGES, queued.recv_many(&mut waiting, MOST_NEWS)).await;
    }
}
