use fjall::{OwnedWriteBatch, PersistMode, UserKey, UserValue};
use store::StoreError;

use super::{Engine, commit_row, errors::store_error, group::Group, opened::Opened};
use crate::keys::{Key, Table};

/// A set of writes that is committed atomically.
pub(crate) struct Batch {
    /// None deletes the row.
    items: Vec<(Group, UserKey, Option<UserValue>)>,
    engine: Engine,
    /// Whether a response may depend on any of the rows.
    affects_responses: bool,
    /// Whether it reverts a block.
    reverts: bool,
}

impl Batch {
    pub(super) fn new(engine: Engine) -> Self {
        Self { items: Vec::new(), engine, affects_responses: false, reverts: false }
    }

    pub(crate) fn put(&mut self, table: Table, key: &Key, value: impl Into<UserValue>) {
        self.affects_responses |= table.affects_responses();
        self.items.push((table.group(), key.in_table(table).as_ref().into(), Some(value.into())));
    }

    pub(crate) fn delete(&mut self, table: Table, key: &Key) {
        self.affects_responses |= table.affects_responses();
        self.reverts |= table == Table::Block;
        self.items.push((table.group(), key.in_table(table).as_ref().into(), None));
    }

    /// Returns when the writes survive a crash of the process.
    pub(crate) fn commit(self) -> Result<(), StoreError> {
        self.commit_with(PersistMode::Buffer)
    }

    /// Returns when the writes survive a loss of power.
    pub(crate) fn commit_durably(self) -> Result<(), StoreError> {
        self.commit_with(PersistMode::SyncAll)
    }

    fn commit_with(self, durability: PersistMode) -> Result<(), StoreError> {
        let Self { items, engine, affects_responses, reverts } = self;
        if items.is_empty() {
            return Ok(());
        }
        let shared = &engine.shared;
        engine.writable(&mut shared.commits())?;
        engine.wait_for_capacity(items.len())?;
        let mut commits = shared.commits();
        let opened = engine.writable(&mut commits)?;
        let number = commits.last + 1;
        let batch = numbered(&opened, items, number).durability(Some(durability));
        let commit = || batch.commit().map_err(store_error);
        let commit = || if reverts { shared.reverts.change(commit) } else { commit() };
        let committed = if affects_responses { shared.states.change(commit) } else { commit() };
        if let Err(error) = committed {
            return Err(engine.fail(&mut commits, error));
        }
        commits.last = number;
        if durability == PersistMode::SyncAll
            && let Err(error) = commits.watermark.set(number)
        {
            tracing::warn!(%error, "cannot write the number of the last durable commit");
        }
        Ok(())
    }
}

/// The rows as an engine batch, with the commit number in every keyspace.
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
