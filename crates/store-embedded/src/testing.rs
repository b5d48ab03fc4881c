//! For tests of upgrades, and for measurements.

use std::path::Path;

use store::StoreError;

use crate::{
    StoreOptions,
    engine::Engine,
    keys::{Key, Table},
    meta::{self, RECORDS, SCHEMA, Versions},
};

/// Rows written at once.
const ROWS_AT_ONCE: usize = 100_000;

/// What a table takes.
#[derive(Debug)]
pub struct TableSize {
    pub table: String,
    pub rows: u64,
    /// Keys and values as the store writes them.
    pub plain_bytes: u64,
    /// In an index that has nothing else.
    pub disk_bytes: u64,
}

/// The sizes of all tables with rows of a folder. Each is written alone to a folder below an empty one, and compacted.
///
/// # Errors
/// If a folder cannot be opened, or if the disk fails.
pub fn table_sizes(data: &Path, empty: &Path) -> Result<Vec<TableSize>, StoreError> {
    let engine = |folder: &Path| Engine::open(folder, StoreOptions::default().engine());
    let view = engine(data)?.view();
    let mut sizes = Vec::new();
    for table in Table::ALL {
        let mut rows = view.prefix(*table, &Key::EMPTY).peekable();
        if rows.peek().is_none() {
            continue;
        }
        let name = format!("{table:?}");
        let copy = engine(&empty.join(&name))?;
        let mut size = TableSize { table: name, rows: 0, plain_bytes: 0, disk_bytes: 0 };
        while rows.peek().is_some() {
            let mut batch = copy.batch();
            for row in rows.by_ref().take(ROWS_AT_ONCE) {
                let (key, value) = row?;
                size.rows += 1;
                size.plain_bytes += (key.len() + value.len()) as u64;
                let key = Key::from_slice(&key).ok_or(StoreError::Corrupt("a key longer than any"))?;
                batch.put(*table, &key, value);
            }
            batch.commit()?;
        }
        copy.compact()?;
        size.disk_bytes = copy.table_bytes();
        sizes.push(size);
    }
    Ok(sizes)
}

/// Makes the index of a folder look as if the version before had written it.
///
/// # Errors
/// If the folder cannot be opened.
pub fn age_index(data: &Path) -> Result<(), StoreError> {
    let engine = Engine::open(data, StoreOptions::default().engine())?;
    let mut batch = engine.batch();
    meta::put_versions(&mut batch, Versions { index: SCHEMA - 1, records: RECORDS });
    batch.commit_durably()
}
