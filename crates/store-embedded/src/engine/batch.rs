use std::collections::BTreeMap;

use fjall::{OwnedWriteBatch, PersistMode, UserValue};
use store::StoreError;

use super::{
    Engine, commit_row,
    errors::store_error,
    group::Group,
    opened::Opened,
    packed::{Item, pack},
};
use crate::keys::{Key, Table};

/// A set of writes that is committed atomically.
pub(crate) struct Batch {
    items: BTreeMap<Table, Vec<Item>>,
    engine: Engine,
    /// Whether a response may depend on any of the rows.
    affects_responses: bool,
    /// Whether it reverts a block.
    reverts: bool,
}

impl Batch {
    pub(super) fn new(engine: Engine) -> Self {
        Self { items: BTreeMap::new(), engine, affects_responses: false, reverts: false }
    }

    pub(crate) fn put(&mut self, table: Table, key: &Key, value: impl Into<UserValue>) {
        self.affects_responses |= table.affects_responses();
        self.push(table, key, Some(value.into()));
    }

    pub(crate) fn delete(&mut self, table: Table, key: &Key) {
        self.affects_responses |= table.affects_responses();
        self.reverts |= table == Table::Block;
        self.push(table, key, None);
    }

    fn push(&mut self, table: Table, key: &Key, value: Option<UserValue>) {
        self.items.entry(table).or_default().push((key.in_table(table).as_ref().into(), value));
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
        let items = in_order(items);
        let shared = &engine.shared;
        engine.writable(&mut shared.commits())?;
        engine.wait_for_capacity(items.iter().map(|(_, items)| items.len()).sum())?;
        let mut commits = shared.commits();
        let opened = engine.writable(&mut commits)?;
        let number = commits.last + 1;
        let batch = numbered(&opened, entries(&opened, items)?, number).durability(Some(durability));
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

/// Sorted by key, with the last change of each row: the engine finds the place of a row faster near that of the one before, now
/// and when it replays the batch.
fn in_order(items: BTreeMap<Table, Vec<Item>>) -> Vec<(Table, Vec<Item>)> {
    let sorted = |(table, mut items): (Table, Vec<Item>)| {
        items.sort_by(|(one, _), (other, _)| one.cmp(other));
        items.dedup_by(|later, kept| {
            let is_same = later.0 == kept.0;
            if is_same {
                kept.1 = later.1.take();
            }
            is_same
        });
        (table, items)
    };
    items.into_iter().map(sorted).collect()
}

/// The rows as entries of the engine. No other commit may run meanwhile, since rows that share an entry are read and written.
fn entries(opened: &Opened, items: Vec<(Table, Vec<Item>)>) -> Result<Vec<(Group, Vec<Item>)>, StoreError> {
    let as_entries = |(table, items): (Table, Vec<Item>)| -> Result<_, StoreError> {
        let keyspace = opened.keyspace(table.group());
        let entries = match table.is_packed() {
            true => pack(&items, |key| keyspace.get(key).map_err(store_error))?,
            false => items,
        };
        Ok((table.group(), entries))
    };
    items.into_iter().map(as_entries).collect()
}

/// The rows as an engine batch, with the commit number in every keyspace.
fn numbered(opened: &Opened, items: Vec<(Group, Vec<Item>)>, number: u64) -> OwnedWriteBatch {
    let rows: usize = items.iter().map(|(_, items)| items.len()).sum();
    let mut batch = OwnedWriteBatch::with_capacity(opened.db.clone(), rows + Group::ALL.len());
    for (group, items) in items {
        let keyspace = opened.keyspace(group);
        for (key, value) in items {
            match value {
                Some(value) => batch.insert(keyspace, key, value),
                None => batch.remove(keyspace, key),
            }
        }
    }
    let (key, value) = commit_row::row(number);
    for group in Group::ALL {
        batch.insert(opened.keyspace(group), key, value);
    }
    batch
}

#[cfg(test)]
mod tests {
    use fjall::UserKey;

    use super::*;

    #[test]
    fn rows_are_in_the_order_of_their_keys_and_the_last_change_of_one_stays() {
        let item = |key: u8, value: Option<&[u8]>| (UserKey::from([key]), value.map(UserValue::from));
        let tokens = vec![item(2, Some(b"first")), item(1, None), item(2, None), item(1, Some(b"last"))];
        let items = BTreeMap::from([(Table::Token, tokens), (Table::Block, vec![item(7, Some(b"block"))])]);
        let expected = [
            (Table::Block, vec![item(7, Some(b"block"))]),
            (Table::Token, vec![item(1, Some(b"last")), item(2, None)]),
        ];
        assert_eq!(in_order(items), expected);
    }
}
