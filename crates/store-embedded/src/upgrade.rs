//! Brings data of earlier versions up to date. Records are migrated, one version at a time. An index is not: a new one takes
//! over the records, and is filled from the node.

use std::path::Path;

use store::{OlderIndex, StoreError};

use crate::{
    engine::{Engine, EngineOptions, View},
    keys::{Key, Table},
    meta::{self, RECORDS, SCHEMA, Versions},
    record_transfer::delete_rows,
    reindex::{Reindex, Served},
    replacement::{Replacement, folder_of_next},
    verified_contracts, webhook_records,
};

/// The oldest schema whose records can be read. They are the same up to schema 7.
const OLDEST_RECORDS: u32 = 4;
/// Bytes of the rows that one commit takes over.
const BATCH_BYTES: usize = 4 << 20;

/// Brings an open folder up to date. Returns the engine to use from now on.
pub(crate) fn upgrade(
    engine: Engine,
    data: &Path,
    options: &EngineOptions,
    older: OlderIndex,
) -> Result<Engine, StoreError> {
    let current = Versions { index: SCHEMA, records: RECORDS };
    let found = match meta::find_versions(&engine.view())? {
        Some(found) => found,
        None => {
            let mut batch = engine.batch();
            meta::put_versions(&mut batch, current);
            batch.commit()?;
            current
        }
    };
    if found.index > SCHEMA {
        return Err(StoreError::NewerSchema { stored: found.index, known: SCHEMA });
    }
    if found.records > RECORDS {
        return Err(StoreError::NewerRecords { stored: found.records, known: RECORDS });
    }
    if found.records == 0 && found.index < OLDEST_RECORDS {
        return Err(StoreError::OlderRecords { stored: found.index, oldest: OLDEST_RECORDS });
    }
    if found.index < SCHEMA && older == OlderIndex::Refuse {
        return Err(StoreError::OlderSchema { stored: found.index, known: SCHEMA });
    }
    migrate_records(&engine, found)?;
    if older != OlderIndex::Replace {
        return Ok(engine);
    }
    let served = if found.index < SCHEMA { Served::Older } else { Served::Readable };
    let engine = Reindex::of(data).take_place(data, engine, served, options)?;
    match meta::find_versions(&engine.view())? {
        Some(Versions { index, .. }) if index < SCHEMA => replace_index(engine, data, options, index),
        _ => Ok(engine),
    }
}

/// Each step is one commit with the new version, so that one that was interrupted is repeated as a whole.
fn migrate_records(engine: &Engine, found: Versions) -> Result<(), StoreError> {
    for records in found.records..RECORDS {
        let mut batch = engine.batch();
        match records {
            // Only the version is new.
            0 => {}
            _ => return Err(StoreError::Corrupt("records of an unknown version")),
        }
        meta::put_versions(&mut batch, Versions { records: records + 1, ..found });
        batch.commit_durably()?;
        tracing::info!(version = records + 1, "migrated the records of users");
    }
    Ok(())
}

fn replace_index(old: Engine, data: &Path, options: &EngineOptions, schema: u32) -> Result<Engine, StoreError> {
    let view = old.view();
    tracing::warn!(
        schema,
        "an earlier version has written this index: the chain is indexed again; keys, webhooks, messages and verified \
         contracts are kept"
    );
    let replacement = Replacement::begin(data)?;
    let next = Engine::open(&folder_of_next(data), options.clone())?;
    let rows = take_over(&view, &next)?;
    drop((view, old, next));
    replacement.complete()?;
    tracing::info!(rows, "took over the records of users");
    Engine::open(data, options.clone())
}

/// Copies all records to another index, in place of those that an interrupted copy has left there. Returns the number of rows.
pub(crate) fn take_over(from: &View, to: &Engine) -> Result<u64, StoreError> {
    let records = || Table::ALL.iter().copied().filter(|table| table.is_record());
    delete_rows(to, records().chain(verified_contracts::LISTED))?;
    let (mut batch, mut bytes, mut rows) = (to.batch(), 0, 0);
    for table in records() {
        for row in from.prefix(table, &Key::EMPTY) {
            let (key, value) = row?;
            bytes += key.len() + value.len();
            rows += 1;
            let key = Key::from_slice(&key).ok_or(StoreError::Corrupt("a key that is too long"))?;
            batch.put(table, &key, value);
            if bytes >= BATCH_BYTES {
                std::mem::replace(&mut batch, to.batch()).commit()?;
                bytes = 0;
            }
        }
    }
    // An index that has blocks begins at its own first block.
    if let (Some(binding), None) = (meta::find_binding(from)?, meta::find_binding(&to.view())?) {
        meta::put_binding(&mut batch, &binding);
    }
    webhook_records::wait_for_index(from, &mut batch)?;
    meta::put_versions(&mut batch, Versions { index: SCHEMA, records: RECORDS });
    batch.commit()?;
    verified_contracts::list_all(to)?;
    to.sync()?;
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EmbeddedStore, StoreOptions};

    fn folder_with(versions: Versions) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        drop(EmbeddedStore::open(folder.path(), StoreOptions::default()).unwrap());
        let engine = Engine::open(folder.path(), StoreOptions::default().engine()).unwrap();
        let mut batch = engine.batch();
        meta::put_versions(&mut batch, versions);
        batch.commit().unwrap();
        folder
    }

    fn open(folder: &tempfile::TempDir, older_index: OlderIndex) -> Result<EmbeddedStore, StoreError> {
        EmbeddedStore::open(folder.path(), StoreOptions { older_index, ..StoreOptions::default() })
    }

    #[test]
    fn data_of_a_newer_version_is_rejected_and_not_changed() {
        const ALL: [OlderIndex; 3] = [OlderIndex::Refuse, OlderIndex::Replace, OlderIndex::Leave];
        let newer = folder_with(Versions { index: SCHEMA + 1, records: RECORDS });
        for older in ALL {
            let opened = open(&newer, older);
            let Err(StoreError::NewerSchema { stored, known }) = opened else { panic!("{opened:?}") };
            assert_eq!((stored, known), (SCHEMA + 1, SCHEMA));
        }
        for index in [SCHEMA, SCHEMA - 1] {
            let newer = folder_with(Versions { index, records: RECORDS + 1 });
            for older in ALL {
                let opened = open(&newer, older);
                let Err(StoreError::NewerRecords { stored, known }) = opened else { panic!("{opened:?}") };
                assert_eq!((stored, known), (RECORDS + 1, RECORDS));
            }
        }
    }

    #[test]
    fn an_older_index_is_replaced_only_if_that_is_wanted() {
        let folder = folder_with(Versions { index: SCHEMA - 1, records: RECORDS });
        let opened = open(&folder, OlderIndex::Refuse);
        assert!(matches!(opened, Err(StoreError::OlderSchema { .. })), "{opened:?}");
        let versions = |store: EmbeddedStore| meta::find_versions(&store.reader().engine().view()).unwrap().unwrap();
        assert_eq!(versions(open(&folder, OlderIndex::Leave).unwrap()).index, SCHEMA - 1);
        assert_eq!(versions(open(&folder, OlderIndex::Replace).unwrap()).index, SCHEMA);
        assert_eq!(versions(open(&folder, OlderIndex::Refuse).unwrap()).index, SCHEMA);
    }

    #[test]
    fn records_that_cannot_be_read_are_not_thrown_away() {
        let folder = folder_with(Versions { index: OLDEST_RECORDS - 1, records: 0 });
        for older in [OlderIndex::Refuse, OlderIndex::Replace, OlderIndex::Leave] {
            let opened = open(&folder, older);
            assert!(matches!(opened, Err(StoreError::OlderRecords { stored: 3, oldest: 4 })), "{opened:?}");
        }
    }
}
