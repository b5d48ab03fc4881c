//! The one seam to the key-value engine: get, range, atomic batch, snapshot. Nothing outside this folder knows fjall.

mod batch;
mod commit_row;
mod failure;
mod group;
mod journal;
mod journals;
mod manifest;
mod mark;
mod opened;
mod reopen;
mod repair;
mod view;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use fjall::{AbstractTree, Keyspace, PersistMode};
use store::{StateVersion, StoreError};

pub(crate) use self::batch::Batch;
use self::failure::{of_io, store_error};
pub(crate) use self::group::Group;
use self::mark::Mark;
pub(crate) use self::opened::EngineOptions;
use self::opened::Opened;
pub(crate) use self::repair::repair;
pub use self::repair::{LostRecords, Repair};
pub(crate) use self::view::{Rows, View};
use crate::states::States;

/// Larger batches wait earlier for tables that are still to be written.
const SMALL_BATCH: usize = 256;
/// The engine waits without end, also for threads of its own that have ended after a failure, where a keyspace has four
/// tables in memory that are to be written, or thirty on the disk that are to be merged. A batch can add two, or one if it
/// is small: waiting here, before, ends with an error.
const MOST_SEALED: usize = 2;
const MOST_SEALED_FOR_SMALL: usize = 3;
const MOST_UNMERGED: usize = 28;
const ROOM_POLL: Duration = Duration::from_millis(20);

#[derive(Clone)]
pub(crate) struct Engine {
    shared: Arc<Shared>,
}

/// A time in which no block was taken back. Within it a row of a block, of what stands in it, and of a list keeps what it
/// says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Epoch(u64);

/// What all handles of an open store share.
struct Shared {
    data: PathBuf,
    options: EngineOptions,
    /// None while the engine is being opened again.
    opened: RwLock<Option<Arc<Opened>>>,
    commits: Mutex<Commits>,
    states: States,
    /// What blocks leave behind is only ever added to, but for reverts.
    reverts: States,
}

/// Commits are made one after the other, and numbered.
struct Commits {
    last: u64,
    mark: Mark,
    trouble: Option<Trouble>,
    is_reopening: bool,
    reopened_at: Option<Instant>,
    pause: Duration,
}

/// Why nothing is written.
#[derive(Debug, PartialEq, Eq)]
enum Trouble {
    /// Tried again until it works.
    Passing {
        reason: String,
    },
    Broken {
        found: String,
    },
}

impl Trouble {
    fn passing(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable { reason } => Self::Passing { reason },
            other => Self::Passing { reason: other.to_string() },
        }
    }

    fn reason(&self) -> &str {
        match self {
            Self::Passing { reason } => reason,
            Self::Broken { found } => found,
        }
    }

    fn error(&self) -> StoreError {
        match self {
            Self::Passing { reason } => StoreError::Unavailable { reason: reason.clone() },
            Self::Broken { found } => StoreError::Damaged { found: found.clone() },
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

    fn exchange(&self, opened: Option<Arc<Opened>>) -> Option<Arc<Opened>> {
        std::mem::replace(&mut *self.opened.write().unwrap_or_else(PoisonError::into_inner), opened)
    }

    /// The engine's count of what is visible. Meaningless while it is being opened again, but then nothing changes.
    fn visible(&self) -> u64 {
        self.opened().map_or(0, |opened| opened.db.visible_seqno())
    }
}

fn reopening() -> StoreError {
    StoreError::Unavailable { reason: "the index is being opened again".to_owned() }
}

impl Engine {
    /// Opens the index in a data folder, or makes a new one.
    pub(crate) fn open(data: &Path, options: EngineOptions) -> Result<Self, StoreError> {
        let (opened, last) = Opened::open(data, &options)?;
        let mark = Mark::open(data, last)?;
        let commits =
            Commits { last, mark, trouble: None, is_reopening: false, reopened_at: None, pause: Duration::ZERO };
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

    /// The state as it is now, whatever is written later.
    pub(crate) fn view(&self) -> View {
        View { of: self.shared.opened().map(|opened| (opened.snapshot(), opened)) }
    }

    pub(crate) fn batch(&self) -> Batch {
        Batch::new(self.clone())
    }

    /// The state as it is now, and the epoch that it is of; None where a revert is just becoming visible.
    pub(crate) fn view_of_epoch(&self) -> (View, Option<Epoch>) {
        let epoch = || self.shared.reverts.now(|| self.shared.visible());
        let before = epoch();
        let view = self.view();
        (view, before.filter(|_| epoch() == before).map(Epoch))
    }

    /// The state that a view taken now would show; None where a change is just becoming visible.
    pub(crate) fn state(&self) -> Option<StateVersion> {
        self.shared.states.now(|| self.shared.visible()).map(StateVersion)
    }

    /// Returns once everything committed so far would survive a loss of power.
    pub(crate) fn sync(&self) -> Result<(), StoreError> {
        let mut commits = self.shared.commits();
        let opened = self.writable(&mut commits)?;
        if let Err(error) = opened.db.persist(PersistMode::SyncAll) {
            return Err(self.fail(&mut commits, store_error(error)));
        }
        let last = commits.last;
        commits.mark.set(last).and_then(|()| commits.mark.sync()).map_err(of_io)
    }

    /// Merges the tables fully, for a measure of what the data really takes.
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

    /// The engine, where it takes writes.
    fn writable(&self, commits: &mut Commits) -> Result<Arc<Opened>, StoreError> {
        match &commits.trouble {
            Some(Trouble::Broken { found }) => return Err(StoreError::Damaged { found: found.clone() }),
            Some(Trouble::Passing { reason }) => {
                let reason = reason.clone();
                self.begin_reopening(commits);
                return Err(StoreError::Unavailable { reason });
            }
            None => {}
        }
        self.shared.opened().ok_or_else(reopening)
    }

    /// Notes that the engine writes no more, and starts to open it again.
    fn fail(&self, commits: &mut Commits, error: StoreError) -> StoreError {
        if let Some(trouble) = &commits.trouble {
            return trouble.error();
        }
        if error.is_transient() {
            tracing::warn!(%error, "a write failed: readers go on, writing is tried again");
            commits.trouble = Some(Trouble::passing(error));
            self.begin_reopening(commits);
        } else {
            commits.trouble = Some(Trouble::Broken { found: error.to_string() });
        }
        commits.trouble.as_ref().map_or_else(reopening, Trouble::error)
    }

    fn begin_reopening(&self, commits: &mut Commits) {
        if !commits.is_reopening {
            commits.is_reopening = reopen::begin(&self.shared);
        }
    }

    /// Waits until the engine keeps up.
    fn wait_for_room(&self, rows: usize) -> Result<(), StoreError> {
        let most_sealed = if rows <= SMALL_BATCH { MOST_SEALED_FOR_SMALL } else { MOST_SEALED };
        loop {
            let Some(opened) = self.shared.opened() else { return Err(reopening()) };
            let is_full = opened.groups.iter().any(|keyspace| {
                keyspace.tree.sealed_memtable_count() >= most_sealed || keyspace.tree.l0_run_count() >= MOST_UNMERGED
            });
            if !is_full {
                return Ok(());
            }
            if let Err(error) = opened.check_writable() {
                drop(opened);
                return Err(self.fail(&mut self.shared.commits(), error));
            }
            drop(opened);
            std::thread::sleep(ROOM_POLL);
        }
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").finish_non_exhaustive()
    }
}
