//! The one seam to the key-value engine: get, range, atomic batch, snapshot. Nothing outside this file knows fjall.

use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

use fjall::config::BlockSizePolicy;
use fjall::{
    Database, Iter, Keyspace, KeyspaceCreateOptions, OwnedWriteBatch, PersistMode, Readable, Snapshot, UserValue,
};
use store::{BoxError, StateVersion, StoreError};

use crate::keys::{Key, Table};
use crate::states::States;

/// Journals above this size are flushed, so that reopening after a crash has little to replay. The engine goes no lower.
const JOURNAL_BYTES: u64 = 64 << 20;

const LIST_BLOCK_BYTES: u32 = 16 << 10;

#[derive(Clone)]
pub(crate) struct Engine {
    db: Database,
    groups: Arc<[Keyspace; Group::ALL.len()]>,
    states: Arc<States>,
    /// What blocks leave behind is only ever added to, but for reverts.
    reverts: Arc<States>,
}

/// A time in which no block was taken back. Within it a row of a block, of what stands in it, and of a list keeps what it
/// says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Epoch(u64);

/// Tables that are written in the same manner share a keyspace: each commit touches all of them, so none sits idle and
/// pins old journals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    /// Ascending keys, never overwritten.
    Dense,
    /// Keys in no order, never overwritten.
    Lookup,
    /// Lists: the ends are overwritten, the rest is not.
    Lists,
    /// Little, and overwritten all the time.
    State,
}

impl Group {
    pub(crate) const ALL: [Self; 4] = [Self::Dense, Self::Lookup, Self::Lists, Self::State];

    fn name(self) -> &'static str {
        match self {
            Self::Dense => "dense",
            Self::Lookup => "lookup",
            Self::Lists => "lists",
            Self::State => "state",
        }
    }

    fn options(self, write_buffer_bytes: u64) -> KeyspaceCreateOptions {
        let options = KeyspaceCreateOptions::default().max_memtable_size(write_buffer_bytes);
        match self {
            // Chunks of long lists are a kilobyte and more, and are read in runs.
            Self::Lists => options.data_block_size_policy(BlockSizePolicy::all(LIST_BLOCK_BYTES)),
            Self::Dense | Self::Lookup | Self::State => options,
        }
    }
}

impl Engine {
    pub(crate) fn open(path: &Path, cache_bytes: u64, write_buffer_bytes: u64) -> Result<Self, StoreError> {
        let db = Database::builder(path).cache_size(cache_bytes).max_journaling_size(JOURNAL_BYTES).open().map_err(
            |error| match error {
                fjall::Error::Locked => StoreError::InUse,
                other => backend(other),
            },
        )?;
        let open = |group: Group| db.keyspace(group.name(), || group.options(write_buffer_bytes)).map_err(backend);
        let groups = Arc::new([open(Group::Dense)?, open(Group::Lookup)?, open(Group::Lists)?, open(Group::State)?]);
        Ok(Self { db, groups, states: Arc::default(), reverts: Arc::default() })
    }

    fn keyspace(&self, table: Table) -> &Keyspace {
        &self.groups[table.group() as usize]
    }

    /// The state as it is now, whatever is written later.
    pub(crate) fn view(&self) -> View {
        View { snapshot: self.db.snapshot(), engine: self.clone() }
    }

    pub(crate) fn batch(&self) -> Batch {
        Batch { batch: self.db.batch(), engine: self.clone(), shown: false, reverts: false }
    }

    /// The state as it is now, and the epoch that it is of; None where a revert is just becoming visible.
    pub(crate) fn view_of_epoch(&self) -> (View, Option<Epoch>) {
        let epoch = || self.reverts.now(|| self.db.visible_seqno());
        let before = epoch();
        let view = self.view();
        (view, before.filter(|_| epoch() == before).map(Epoch))
    }

    /// The state that a view taken now would show; None where a change is just becoming visible.
    pub(crate) fn state(&self) -> Option<StateVersion> {
        self.states.now(|| self.db.visible_seqno()).map(StateVersion)
    }

    /// Returns once everything committed so far would survive a loss of power.
    pub(crate) fn sync(&self) -> Result<(), StoreError> {
        self.db.persist(PersistMode::SyncAll).map_err(backend)
    }

    /// Merges the tables fully, for a measure of what the data really takes.
    pub(crate) fn compact(&self) -> Result<(), StoreError> {
        for keyspace in self.groups.iter() {
            keyspace.rotate_memtable_and_wait().map_err(backend)?;
            keyspace.major_compact().map_err(backend)?;
        }
        Ok(())
    }

    pub(crate) fn table_bytes(&self) -> u64 {
        self.groups.iter().map(Keyspace::disk_space).sum()
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").finish_non_exhaustive()
    }
}

/// One consistent state of all tables.
pub(crate) struct View {
    snapshot: Snapshot,
    engine: Engine,
}

impl View {
    pub(crate) fn get(&self, table: Table, key: &Key) -> Result<Option<UserValue>, StoreError> {
        self.snapshot.get(self.engine.keyspace(table), key.in_table(table)).map_err(backend)
    }

    /// The rows from one key to another, the second excluded, in ascending order; may be read from both ends.
    pub(crate) fn range(&self, table: Table, from: &Key, to: &Key) -> Rows {
        let bounds = (Bound::Included(from.in_table(table)), Bound::Excluded(to.in_table(table)));
        Rows(self.snapshot.range(self.engine.keyspace(table), bounds))
    }

    /// The rows from a key on, as long as keys begin like the second one, in ascending order.
    pub(crate) fn range_from(&self, table: Table, from: &Key, within: &Key) -> Rows {
        let from = Bound::Included(from.in_table(table));
        let end = within.in_table(table).after_all_that_begin_so();
        let end = end.map_or(Bound::Unbounded, Bound::Excluded);
        Rows(self.snapshot.range(self.engine.keyspace(table), (from, end)))
    }

    /// Every row whose key begins so, in ascending order.
    pub(crate) fn prefix(&self, table: Table, prefix: &Key) -> Rows {
        Rows(self.snapshot.prefix(self.engine.keyspace(table), prefix.in_table(table)))
    }
}

impl crate::standing::Rows for &View {
    fn row(&mut self, table: Table, key: &Key) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.get(table, key)?.map(|row| row.to_vec()))
    }
}

/// Rows of one table. A key comes without the mark of its table.
pub(crate) struct Rows(Iter);

impl Rows {
    fn open(guard: fjall::Guard) -> Result<(Vec<u8>, UserValue), StoreError> {
        let (key, value) = guard.into_inner().map_err(backend)?;
        Ok((key.get(1..).unwrap_or_default().to_vec(), value))
    }
}

impl Iterator for Rows {
    type Item = Result<(Vec<u8>, UserValue), StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(Self::open)
    }
}

impl DoubleEndedIterator for Rows {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back().map(Self::open)
    }
}

/// Writes that take effect together.
pub(crate) struct Batch {
    batch: OwnedWriteBatch,
    engine: Engine,
    /// Whether an answer may show any of it.
    shown: bool,
    /// Whether it takes a block back.
    reverts: bool,
}

impl Batch {
    pub(crate) fn put(&mut self, table: Table, key: &Key, value: impl Into<UserValue>) {
        self.shown |= table.is_shown();
        self.batch.insert(self.engine.keyspace(table), key.in_table(table).as_ref(), value);
    }

    pub(crate) fn delete(&mut self, table: Table, key: &Key) {
        self.shown |= table.is_shown();
        self.reverts |= table == Table::Block;
        self.batch.remove(self.engine.keyspace(table), key.in_table(table).as_ref());
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
        let Self { batch, engine, shown, reverts } = self;
        let visible = || engine.db.visible_seqno();
        let commit = || batch.durability(Some(durability)).commit().map_err(backend);
        let commit = || if reverts { engine.reverts.change(visible, commit) } else { commit() };
        if shown { engine.states.change(visible, commit) } else { commit() }
    }
}

fn backend(error: fjall::Error) -> StoreError {
    StoreError::Backend(BoxError::from(error))
}
