//! The one seam to the key-value engine: get, range, atomic batch, snapshot. Nothing outside this folder knows fjall.

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

use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use fjall::{AbstractTree, Iter, Keyspace, OwnedWriteBatch, PersistMode, Readable, Snapshot, UserKey, UserValue};
use store::{StateVersion, StoreError};

use self::failure::{of_io, store_error};
pub(crate) use self::group::Group;
use self::mark::Mark;
pub(crate) use self::opened::EngineOptions;
use self::opened::Opened;
pub(crate) use self::repair::repair;
pub use self::repair::{LostRecords, Repair};
use crate::keys::{Key, Table};
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
pub(super) struct Shared {
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
        Batch { items: Vec::new(), engine: self.clone(), shown: false, reverts: false }
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
        if let Some(trouble) = &commits.trouble {
            let error = trouble.error();
            if error.is_transient() {
                self.begin_reopening(commits);
            }
            return Err(error);
        }
        self.shared.opened().ok_or_else(reopening)
    }

    /// Notes that the engine writes no more, and starts to open it again.
    fn fail(&self, commits: &mut Commits, error: StoreError) -> StoreError {
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
            commits.is_reopening = true;
            reopen::begin(&self.shared);
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

/// One consistent state of all tables.
pub(crate) struct View {
    /// None where it was taken while the engine was being opened again.
    of: Option<(Snapshot, Arc<Opened>)>,
}

impl View {
    pub(crate) fn get(&self, table: Table, key: &Key) -> Result<Option<UserValue>, StoreError> {
        let (snapshot, opened) = self.of.as_ref().ok_or_else(reopening)?;
        snapshot.get(opened.keyspace(table.group()), key.in_table(table)).map_err(store_error)
    }

    /// The rows from one key to another, the second excluded, in ascending order; may be read from both ends.
    pub(crate) fn range(&self, table: Table, from: &Key, to: &Key) -> Rows {
        let bounds = (Bound::Included(from.in_table(table)), Bound::Excluded(to.in_table(table)));
        self.rows(table, |snapshot, keyspace| snapshot.range(keyspace, bounds))
    }

    /// The rows from a key on, as long as keys begin like the second one, in ascending order.
    pub(crate) fn range_from(&self, table: Table, from: &Key, within: &Key) -> Rows {
        let from = Bound::Included(from.in_table(table));
        let end = within.in_table(table).after_all_that_begin_so();
        let end = end.map_or(Bound::Unbounded, Bound::Excluded);
        self.rows(table, |snapshot, keyspace| snapshot.range(keyspace, (from, end)))
    }

    /// Every row whose key begins so, in ascending order.
    pub(crate) fn prefix(&self, table: Table, prefix: &Key) -> Rows {
        self.rows(table, |snapshot, keyspace| snapshot.prefix(keyspace, prefix.in_table(table)))
    }

    fn rows(&self, table: Table, begin: impl FnOnce(&Snapshot, &Keyspace) -> Iter) -> Rows {
        let of = self.of.as_ref();
        let begun = of.map(|(snapshot, opened)| (begin(snapshot, opened.keyspace(table.group())), Arc::clone(opened)));
        begun.map_or(Rows::Unavailable { is_told: false }, |(rows, opened)| Rows::Of { rows, _opened: opened })
    }
}

impl crate::standing::Rows for &View {
    fn row(&mut self, table: Table, key: &Key) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.get(table, key)?.map(|row| row.to_vec()))
    }
}

/// Rows of one table. A key comes without the mark of its table.
pub(crate) enum Rows {
    Of { rows: Iter, _opened: Arc<Opened> },
    Unavailable { is_told: bool },
}

impl Rows {
    fn read(&mut self, next: impl FnOnce(&mut Iter) -> Option<fjall::Guard>) -> Option<<Self as Iterator>::Item> {
        match self {
            Self::Of { rows, .. } => next(rows).map(Self::open),
            Self::Unavailable { is_told: true } => None,
            Self::Unavailable { is_told } => {
                *is_told = true;
                Some(Err(reopening()))
            }
        }
    }

    fn open(guard: fjall::Guard) -> Result<(Vec<u8>, UserValue), StoreError> {
        let (key, value) = guard.into_inner().map_err(store_error)?;
        Ok((key.get(1..).unwrap_or_default().to_vec(), value))
    }
}

impl Iterator for Rows {
    type Item = Result<(Vec<u8>, UserValue), StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read(Iter::next)
    }
}

impl DoubleEndedIterator for Rows {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.read(Iter::next_back)
    }
}

/// Writes that take effect together.
pub(crate) struct Batch {
    /// None: a row to be deleted.
    items: Vec<(Group, UserKey, Option<UserValue>)>,
    engine: Engine,
    /// Whether an answer may show any of it.
    shown: bool,
    /// Whether it takes a block back.
    reverts: bool,
}

impl Batch {
    pub(crate) fn put(&mut self, table: Table, key: &Key, value: impl Into<UserValue>) {
        self.shown |= table.is_shown();
        self.items.push((table.group(), key.in_table(table).as_ref().into(), Some(value.into())));
    }

    pub(crate) fn delete(&mut self, table: Table, key: &Key) {
        self.shown |= table.is_shown();
        self.reverts |= table == Table::Block;
        self.items.push((table.group(), key.in_table(table).as_ref().into(), None));
    }

    /// Returns once the writes would survive the end of the process, whatever its manner.
    pub(crate) fn commit(self) -> Result<(), StoreError> {
        self.commit_with(PersistMode::Buffer)
    }

    /// Returns once the writes would survive a loss of power.
    pub(crate) fn commit_durably(self) -> Result<(), StoreError> {
        self.commit_with(PersistMode::SyncAll)
    }

    fn commit_with(self, durability: PersistMode) -> Result<(), StoreError> {
        let Self { items, engine, shown, reverts } = self;
        if items.is_empty() {
            return Ok(());
        }
        engine.wait_for_room(items.len())?;
        let shared = &engine.shared;
        let mut commits = shared.commits();
        let opened = engine.writable(&mut commits)?;
        let number = commits.last + 1;
        let batch = numbered(&opened, items, number).durability(Some(durability));
        let visible = || opened.db.visible_seqno();
        let commit = || batch.commit().map_err(store_error);
        let commit = || if reverts { shared.reverts.change(visible, commit) } else { commit() };
        let committed = if shown { shared.states.change(visible, commit) } else { commit() };
        if let Err(error) = committed {
            return Err(engine.fail(&mut commits, error));
        }
        commits.last = number;
        if durability == PersistMode::SyncAll
            && let Err(error) = commits.mark.set(number)
        {
            tracing::warn!(%error, "the number of the last durable commit cannot be written");
        }
        Ok(())
    }
}

/// The rows as a batch of the engine, with the commit's number in every keyspace.
fn numbered(opened: &Opened, items: Vec<(Group, UserKey, Option<UserValue>)>, number: u64) -> OwnedWriteBatch {
    let mut batch = OwnedWriteBatch::with_capacity(opened.db.clone(), items.len() + Group::ALL.len());
    for (group, key, value) in items {
        match value {
            Some(value) => batch.insert(opened.keyspace(group), key, value),
            None => batch.remove(opened.keyspace(group), key),
        }
    }
    let (key, value) = commit_row::row(number);
    for group in Group::ALL {
        batch.insert(opened.keyspace(group), key, value);
    }
    batch
}
