//! Rewrites an index without some of its tables: no file of the new one has a row of them, not even a deleted one.

use std::path::Path;

use fjall::{PersistMode, Readable};
use store::StoreError;

use super::{
    EngineOptions, Group, View, commit_row,
    errors::{from_io_error, store_error},
    opened::Opened,
    reopening,
    watermark::Watermark,
};
use crate::keys::Table;

impl View {
    /// Writes the rows of some tables to a new data folder. They are sorted, so they become tables of the engine at once, and
    /// no journal has them. Returns the number of the last commit.
    pub(crate) fn copy_to(
        &self,
        into: &Path,
        options: &EngineOptions,
        is_copied: impl Fn(Table) -> bool,
    ) -> Result<u64, StoreError> {
        let (snapshot, from) = self.inner.as_ref().ok_or_else(reopening)?;
        std::fs::create_dir_all(into).map_err(from_io_error)?;
        let (to, _) = Opened::open(into, options)?;
        for group in Group::ALL {
            let mut writing = to.keyspace(group).start_ingestion().map_err(store_error)?;
            for row in snapshot.iter(from.keyspace(group)) {
                let (key, value) = row.into_inner().map_err(store_error)?;
                let table = key.first().and_then(|tag| Table::from_tag(*tag));
                if *key == *commit_row::key() || table.is_some_and(&is_copied) {
                    writing.write(key, value).map_err(store_error)?;
                }
            }
            writing.finish().map_err(store_error)?;
        }
        to.db.persist(PersistMode::SyncAll).map_err(store_error)?;
        let last = to.last_commit()?;
        drop(to);
        Watermark::create(into, last).map_err(from_io_error)?;
        // With all checks.
        Opened::open(into, options).map(|(_, last)| last)
    }
}
