//! Bits that flip in tables on the disk: a check says which rows and blocks are affected.

use std::{
    fs,
    path::{Path, PathBuf},
};

use store::{Store, StoreCheck, StoreError, StorePart};
use store_conformance::leave_records;
use store_embedded::{EmbeddedStore, StoreOptions};

fn open(folder: &Path) -> Result<EmbeddedStore, StoreError> {
    EmbeddedStore::open(folder, StoreOptions { cache_bytes: 4 << 20, ..StoreOptions::default() })
}

async fn check(store: &EmbeddedStore) -> StoreCheck {
    Store::check(store).await.unwrap()
}

/// A folder with all rows in tables.
async fn written() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).unwrap();
    leave_records(&store).await;
    store.compacted_bytes().unwrap();
    store.sync().unwrap();
    assert_eq!(check(&store).await.faults, []);
    folder
}

/// The largest table file of each keyspace.
fn tables(folder: &Path) -> Vec<PathBuf> {
    let files = |folder: &Path| fs::read_dir(folder).map(|files| files.map(|file| file.unwrap().path()).collect());
    let keyspaces: Vec<PathBuf> = files(&folder.join("index/keyspaces")).unwrap();
    let tables = keyspaces.iter().filter_map(|keyspace| {
        let tables: Vec<PathBuf> = files(&keyspace.join("tables")).ok()?;
        tables.into_iter().max_by_key(|table| table.metadata().unwrap().len())
    });
    tables.filter(|table| table.metadata().unwrap().len() > 4_096).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flipped_bit_in_a_table_is_found_with_its_rows() {
    let folder = written().await;
    let tables = tables(folder.path());
    assert!(tables.len() >= 3, "{tables:?}");
    let (mut with_blocks, mut found) = (0, 0);
    for table in &tables {
        let bytes = fs::read(table).unwrap();
        for part in [2, 5, 7] {
            let mut damaged = bytes.clone();
            damaged[bytes.len() * part / 10] ^= 0x10;
            fs::write(table, damaged).unwrap();
            let store = match open(folder.path()) {
                Ok(store) => store,
                Err(StoreError::Damaged { .. }) => continue,
                Err(other) => panic!("{other:?}"),
            };
            let checked = check(&store).await;
            assert!(!checked.faults.is_empty(), "{} part {part}", table.display());
            let unreadable = checked.faults.iter().filter(|fault| fault.found.contains("cannot be read"));
            assert!(unreadable.clone().count() > 0, "{:?}", checked.faults);
            with_blocks += unreadable.filter(|fault| fault.part == StorePart::Index && fault.blocks.is_some()).count();
            found += 1;
        }
        fs::write(table, bytes).unwrap();
    }
    assert!(found > 5, "most bits are in rows: {found}");
    assert!(with_blocks > 0, "{with_blocks} of {found} name blocks");
    assert_eq!(check(&open(folder.path()).unwrap()).await.faults, [], "nothing else has changed");
}
