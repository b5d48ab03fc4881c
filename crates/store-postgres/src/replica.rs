//! A standby that answers reads.
//!
//! A process never shows an older state than it showed before: the standby is read only while it has at least the newest
//! version that this process has read from the primary. Its own replay only goes forward.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use domain::ReplicaStatus;
use store::StoreError;
use tokio::{sync::watch, task::AbortHandle};

use crate::{
    database::{Database, Object, ReadConnection, get},
    rows::RowExt,
    versions::Versions,
};

/// How often the version of the standby is read. A cached response is that much older than a read at most.
const POLL: Duration = Duration::from_millis(50);
/// Reads use the primary once the standby is further behind.
const MAX_LAG: Duration = Duration::from_secs(5);
/// Pause after a failure.
const RETRY: Duration = Duration::from_secs(1);
const VERSION: &str = "select number from state_version";

#[derive(Debug)]
pub(crate) struct Replica {
    database: Database,
    known: Mutex<Known>,
    /// The newest version that this process has read from the primary.
    shown: AtomicU64,
    status: watch::Sender<ReplicaStatus>,
}

#[derive(Debug, Default)]
struct Known {
    /// None while the standby cannot be read.
    version: Option<u64>,
    /// Since when it lacks a version that the primary has.
    behind_since: Option<Instant>,
}

/// Reads the version of the standby until it is dropped.
#[derive(Debug)]
pub(crate) struct Polling(AbortHandle);

impl Drop for Polling {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Replica {
    pub(crate) fn start(database: Database, primary: Arc<Versions>) -> (Arc<Self>, Polling) {
        let replica = Arc::new(Self {
            database,
            known: Mutex::default(),
            shown: AtomicU64::new(0),
            status: watch::channel(ReplicaStatus::default()).0,
        });
        let polled = Arc::clone(&replica);
        let task = tokio::spawn(async move {
            loop {
                let Err(error) = polled.poll(&primary).await;
                polled.report_failure(&error);
                tokio::time::sleep(RETRY).await;
            }
        });
        (replica, Polling(task.abort_handle()))
    }

    pub(crate) fn status(&self) -> watch::Receiver<ReplicaStatus> {
        self.status.subscribe()
    }

    /// The version that a read of the standby sees at least; None if the standby must not be read now.
    pub(crate) fn usable_version(&self) -> Option<u64> {
        let known = self.known();
        let is_recent = known.behind_since.is_none_or(|since| since.elapsed() < MAX_LAG);
        known.version.filter(|version| is_recent && *version >= self.shown.load(Ordering::Acquire))
    }

    pub(crate) async fn connection(&self) -> Result<Object, StoreError> {
        self.database.connection().await
    }

    pub(crate) async fn reading(&self) -> Result<ReadConnection, StoreError> {
        self.database.reading().await
    }

    /// The primary is read until the standby responds again.
    pub(crate) fn report_failure(&self, error: &StoreError) {
        self.known().version = None;
        let failure = match error {
            StoreError::Unavailable { reason } => reason.clone(),
            other => other.to_string(),
        };
        let is_new = self.status.send_if_modified(|status| {
            let is_new = status.failure.is_none();
            (status.is_used, status.failure) = (false, Some(failure.clone()));
            is_new
        });
        if is_new {
            tracing::warn!(failure, "the database for reads fails, reading the primary");
        }
    }

    /// Records what the primary has shown, so that the standby is read only when it has the same.
    pub(crate) fn note_shown(&self, version: u64) {
        self.shown.fetch_max(version, Ordering::AcqRel);
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn poll(&self, primary: &Versions) -> Result<std::convert::Infallible, StoreError> {
        let client = self.connection().await?;
        let check = &self.database.url().check;
        let mut checked = None;
        loop {
            // The connection may be older than what is known of the chain now.
            let chain = check.expected.chain();
            if checked != Some(chain) {
                check.check(&client).await.map_err(StoreError::from)?;
                checked = Some(chain);
            }
            let version = get(&client, VERSION, &[]).await?.u64(0)?;
            self.learn(version, primary.latest());
            tokio::time::sleep(POLL).await;
        }
    }

    fn learn(&self, version: u64, primary: Option<u64>) {
        let behind = {
            let mut known = self.known();
            known.version = Some(version);
            let is_behind = primary.is_some_and(|primary| primary > version);
            known.behind_since = if is_behind { known.behind_since.or_else(|| Some(Instant::now())) } else { None };
            known.behind_since.map_or(Duration::ZERO, |since| since.elapsed())
        };
        let status = ReplicaStatus { is_used: self.usable_version().is_some(), behind, failure: None };
        let recovered = self.status.borrow().failure.is_some();
        self.status.send_replace(status);
        if recovered {
            tracing::info!("the database for reads responds again");
        }
    }
}
