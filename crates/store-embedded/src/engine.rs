//! The only module that uses the key-value engine (fjall): get, range, atomic batch, snapshot.

mod batch;
mod commit_row;
mod copied;
mod errors;
mod group;
mod journal;
mod journals;
mod manifest;
mod opened;
mod packed;
mod reopen;
mod repair;
mod replay;
mod snapshot;
mod view;
mod watermark;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
    time::{Duration, Instant},
};

use fjall::{AbstractTree, Keyspace, PersistMode};
use store::{StateVersion, StoreError};

pub use self::repair::{LostRecords, Repair};
pub(crate) use self::{
    batch::Batch,
    errors::from_io_error,
    group::Group,
    opened::{EngineOptions, INDEX_FOLDER, lock as lock_index, lock_folder},
    repair::repair,
    view::{Row, Rows, View},
    watermark::{FILE as WATERMARK_FILE, sync_folder},
};
use self::{errors::store_error, opened::Opened, watermark::Watermark};
use crate::states::States;

/// Larger batches wait earlier for pending flushes.
const SMALL_BATCH: usize = 256;
/// The engine blocks forever, even if its own threads died after a failure, when a keyspace has four memtables to flush
/// or thirty runs to merge. A batch can add two, or one if it is small; waiting here, below these limits, can end with
/// an error.
const MAX_SEALED: usize = 2;
const MAX_SEALED_FOR_SMALL: usize = 3;
const MAX_UNMERGED: usize = 28;
const CAPACITY_POLL: Duration = Duration::from_millis(20);

#[derive(Clone)]
pub(crate) struct Engine {
    shared: Arc<Shared>,
}

/// A period without reverts. Within one epoch, the rows of blocks, of their contents and of lists do not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Epoch(u64);

/// State shared by all handles of an open store.
struct Shared {
    data: PathBuf,
    options: EngineOptions,
    /// None while the engine is being reopened.
    opened: RwLock<Option<Arc<Opened>>>,
    commits: Mutex<Commits>,
    states: States,
    /// Counts reverts only: apart from them, chain data is only appended.
    reverts: States,
}

/// Commits are serialized and numbered.
struct Commits {
    last: u64,
    watermark: Watermark,
    failure: Option<WriteFailure>,
    is_reopening: bool,
    reopened_at: Option<Instant>,
    backoff: Duration,
}

/// Why writes are failing.
#[derive(Debug, PartialEq, Eq)]
enum WriteFailure {
    /// Retried until it succeeds.
    Transient {
        reason: String,
    },
    Fatal {
        found: String,
    },
}

impl WriteFailure {
    fn transient(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable { reason } => Self::Transient { reason },
            other => Self::Transient { reason: other.to_string() },
        }
    }

    fn reason(&self) -> &str {
        match self {
            Self::Transient { reason } => reason,
            Self::Fatal { found } => found,
        }
    }

    fn error(&self) -> StoreError {
        match self {
            Self::Transient { reason } => StoreError::Unavailable { reason: reason.clone() },
            Self::Fatal { found } => StoreError::Damaged { found: found.clone() },
        }
    }
}

impl Shared {
    fn commits(&self) -> MutexGuard<'_, Commits> {
        self.commits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn opened(&self) -> Option<Arc<Opened>> {
        self.opened.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn replace_opened(&self, opened: Option<Arc<Opened>>) -> Option<Arc<Opened>> {
        std::mem::replace(&mut *self.opened.write().unwrap_or_else(PoisonError::into_inner), opened)
    }
}

fn reopening() -> StoreError {
    StoreError::Unavailable { reason: "the index is being reopened".to_owned() }
}

impl Engine {
    /// Opens the index in a data folder, or creates one.
    pub(crate) fn open(data: &Path, options: EngineOptions) -> Result<Self, StoreError> {
        let (opened, last) = Opened::open(data, &options)?;
        let watermark = Watermark::open(data, last)?;
        let commits =
            Commits { last, watermark, failure: None, is_reopening: false, reopened_at: None, backoff: Duration::ZERO };
        let shared = Shared {
            data: data.to_owned(),
            options,
            opened: RwLock::new(Some(Arc::new(opened))),
            commits: Mutex::new(commits),
            states: States::default(),
            reverts: States::default(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// A snapshot of the current state.
    pub(crate) fn view(&self) -> View {
        View { inner: self.shared.opened().map(|opened| (opened.snapshot(), opened)) }
    }

    pub(crate) fn batch(&self) -> Batch {
        Batch::new(self.clone())
    }

    /// A snapshot and its epoch; the epoch is None while a revert is being committed.
    pub(crate) fn view_of_epoch(&self) -> (View, Option<Epoch>) {
        let before = self.shared.reverts.now();
        let view = self.view();
        (view, before.filter(|_| self.shared.reverts.now() == before).map(Epoch))
    }

    /// The version that a view taken now would have; None while a change is being committed.
    pub(crate) fn state(&self) -> Option<StateVersion> {
        self.shared.states.now().map(StateVersion)
    }

    /// Returns when everything committed so far is durable, also after a loss of power.
    pub(crate) fn sync(&self) -> Result<(), StoreError> {
        let mut commits = self.shared.commits();
        let opened = self.writable(&mut commits)?;
        if let Err(error) = opened.db.persist(PersistMode::SyncAll) {
            return Err(self.fail(&mut commits, store_error(error)));
        }
        let last = commits.last;
        commits.watermark.set(last).and_then(|()| commits.watermark.sync()).map_err(from_io_error)
    }

    /// The number of the last commit.
    pub(crate) fn last_commit(&self) -> u64 {
        self.shared.commits().last
    }

    /// Compacts all tables fully.
    pub(crate) fn compact(&self) -> Result<(), StoreError> {
        let opened = self.shared.opened().ok_or_else(reopening)?;
        for keyspace in &opened.groups {
            keyspace.rotate_memtable_and_wait().map_err(store_error)?;
            keyspace.major_compact().map_err(store_error)?;
        }
        Ok(())
    }

    pub(crate) fn table_bytes(&self) -> u64 {
        self.shared.opened().map_or(0, |opened| opened.groups.iter().map(Keyspace::disk_space).sum())
    }

    /// The engine, if it accepts writes.
    fn writable(&self, commits: &mut Commits) -> Result<Arc<Opened>, StoreError> {
        match &commits.failure {
            Some(WriteFailure::Fatal { found }) => return Err(StoreError::Damaged { found: found.clone() }),
            Some(WriteFailure::Transient { reason }) => {
                let reason = reason.clone();
                self.begin_reopening(commits);
                return Err(StoreError::Unavailable { reason });
            }
            None => {}
        }
        self.shared.opened().ok_or_else(reopening)
    }

    /// Records that writes fail, and starts to reopen the engine.
    fn fail(&self, commits: &mut Commits, error: StoreError) -> StoreError {
        if let Some(failure) = &commits.failure {
            return failure.error();
        }
        if error.is_transient() {
            tracing::warn!(%error, "a write failed: reads continue, writes are retried");
            commits.failure = Some(WriteFailure::transient(error));
            self.begin_reopening(commits);
        } else {
            commits.failure = Some(WriteFailure::Fatal { found: error.to_string() });
        }
        commits.failure.as_ref().map_or_else(reopening, WriteFailure::error)
    }

    fn begin_reopening(&self, commits: &mut Commits) {
        if !commits.is_reopening {
            commits.is_reopening = reopen::begin(&self.shared);
        }
    }

    /// Waits until the engine has room for the batch.
    fn wait_for_capacity(&self, rows: usize) -> Result<(), StoreError> {
        let max_sealed = if rows <= SMALL_BATCH { MAX_SEALED_FOR_SMALL } else { MAX_SEALED };
        loop {
            let Some(opened) = self.shared.opened() else { return Err(reopening()) };
            let is_full = opened.groups.iter().any(|keyspace| {
                keyspace.tree.sealed_memtable_count() >= max_sealed || keyspace.tree.l0_run_count() >= MAX_UNMERGED
            });
            if !is_full {
                return Ok(());
            }
            if let Err(error) = opened.check_writable() {
                drop(opened);
                return Err(self.fail(&mut self.shared.commits(), error));
            }
            drop(opened);
            std::thread::sleep(CAPACITY_POLL);
        }
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").finish_non_exhaustive()
    }
}
