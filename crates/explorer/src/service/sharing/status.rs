//! The status of following, which the process that follows reports to the others.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use domain::{DatabaseStatus, ReportAge, SyncPhase, SyncStatus};
use store::{ChainReader, StoreError};
use tokio::sync::watch;

use crate::{service::supervisor::Supervisor, stores::SharedStore};

/// How often a process that does not follow looks for a new version of the index, which takes no query.
const CHECK: Duration = Duration::from_millis(50);
/// How often it reads the status, and how often the process that follows reports it, without a change.
const HEARTBEAT: Duration = Duration::from_secs(1);
/// At most one report in this time.
const REPORT_PAUSE: Duration = Duration::from_millis(200);

/// What a process knows of an index that it shares.
pub(in crate::service) struct Shared {
    /// That of this process while it has the writer, else that of the process that has it.
    pub(in crate::service) sync: watch::Receiver<SyncStatus>,
    /// How old that is.
    pub(in crate::service) database: watch::Receiver<DatabaseStatus>,
}

/// Shares the status of following with other processes.
pub(in crate::service) fn share(
    store: &Arc<SharedStore>,
    followed: watch::Receiver<SyncStatus>,
    supervisor: &Supervisor,
) -> Shared {
    let (shown, sync) = watch::channel(SyncStatus::starting());
    let (known, database) = watch::channel(DatabaseStatus::default());
    let store = Arc::clone(store);
    supervisor.spawn("shared-status", move |cancel| {
        let (shown, known) = (shown.clone(), known.clone());
        let sharing = Sharing { store: Arc::clone(&store), followed: followed.clone(), shown, known };
        async move {
            cancel.run_until_cancelled(sharing.run()).await;
        }
    });
    Shared { sync, database }
}

struct Sharing {
    store: Arc<SharedStore>,
    followed: watch::Receiver<SyncStatus>,
    shown: watch::Sender<SyncStatus>,
    known: watch::Sender<DatabaseStatus>,
}

impl Sharing {
    async fn run(mut self) {
        let mut reported_at: Option<Instant> = None;
        let mut counted_at: Option<Instant> = None;
        loop {
            if !self.known.borrow().has_failed && counted_at.is_none_or(|at| at.elapsed() >= HEARTBEAT) {
                counted_at = Some(Instant::now());
                if let Err(error) = self.store.webhook_records().read_totals().await {
                    tracing::debug!(%error, "cannot count the webhooks");
                }
            }
            if self.store.is_writer() {
                let status = self.followed.borrow_and_update().clone();
                let is_changed = self.show(status.clone());
                let pause = if is_changed { REPORT_PAUSE } else { HEARTBEAT };
                if reported_at.is_none_or(|at| at.elapsed() >= pause) {
                    reported_at = Some(Instant::now());
                    match self.store.report_sync(&status).await {
                        Ok(()) => self.note_answer(Some(ReportAge { age: Duration::ZERO, read_at: Instant::now() })),
                        Err(error) => {
                            tracing::debug!(%error, "cannot report the status of following");
                            self.note_failure();
                        }
                    }
                }
                let _ = tokio::time::timeout(REPORT_PAUSE, self.followed.changed()).await;
                // Without a sender, nothing changes.
                tokio::time::sleep(Duration::from_millis(1)).await;
            } else {
                match self.store.read_sync().await {
                    Ok(report) => {
                        self.note_answer(report.age);
                        self.show(report.status);
                    }
                    Err(error) => {
                        self.note_failure();
                        self.show_standby(&error).await;
                    }
                }
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

    fn note_answer(&self, report: Option<ReportAge>) {
        let has_old_primary = self.store.has_old_primary();
        let status = DatabaseStatus { answered_at: Some(Instant::now()), has_failed: false, report, has_old_primary };
        self.known.send_replace(status);
    }

    fn note_failure(&self) {
        let has_old_primary = self.store.has_old_primary();
        self.known.send_modify(|known| (known.has_failed, known.has_old_primary) = (true, has_old_primary));
    }

    /// A standby that answers reads knows the index without the database, too.
    async fn show_standby(&self, error: &StoreError) {
        match self.store.read_sync_of_standby().await {
            Ok(Some(report)) => {
                self.known.send_modify(|known| known.report = report.age);
                self.show(report.status);
            }
            Ok(None) | Err(_) => self.show_failure(error),
        }
    }

    fn show_failure(&self, error: &StoreError) {
        let reason = match error {
            StoreError::Unavailable { reason } => reason.clone(),
            other => other.to_string(),
        };
        let shown = self.shown.borrow().clone();
        self.show(SyncStatus { phase: SyncPhase::Waiting { reason }, ..shown.without_node() });
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
