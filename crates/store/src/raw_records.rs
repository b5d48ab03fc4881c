use std::sync::Arc;

use async_trait::async_trait;
use domain::UnixMillis;
use serde::{Deserialize, Serialize};

use crate::{Record, RecordKind, RecordPosition, StoreError};

/// Reads and writes records as they are, to bring them to another store. Nothing else may use the store meanwhile, unless they are
/// [pinned](RawRecords::pinned).
#[async_trait]
pub trait RawRecords: Send + Sync {
    /// The import whose records the store has, if it was used for nothing else since.
    async fn find_import(&self) -> Result<Option<RecordImport>, StoreError>;

    async fn save_import(&self, import: Option<RecordImport>) -> Result<(), StoreError>;

    /// Whether users have left anything: keys, webhooks, verified contracts.
    async fn has_records(&self) -> Result<bool, StoreError>;

    /// The number of records, about: for the progress of an export.
    async fn count_records(&self) -> Result<u64, StoreError>;

    /// Records of a kind after a position, in order; none if there are no more. May return fewer than `limit`.
    async fn read_records(
        &self,
        kind: RecordKind,
        after: Option<RecordPosition>,
        limit: usize,
        now: UnixMillis,
    ) -> Result<Vec<Record>, StoreError>;

    /// For reading the records as they are now, while others change them; None if nothing else may use the store meanwhile. A
    /// write that fails is not retried until it is dropped.
    fn pinned(&self) -> Option<Arc<dyn RawRecords>>;

    /// Writes records in place of those at the same positions, atomically. After the record of matching, webhooks wait until the
    /// index has reached its cursor.
    async fn write_records(&self, records: Vec<Record>) -> Result<(), StoreError>;

    /// Deletes all records except failures.
    async fn delete_records(&self) -> Result<(), StoreError>;
}

/// An import of records from a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordImport {
    /// Of the export.
    pub id: String,
    /// The name of the file, for messages.
    pub source: String,
    /// Until then, the store has only a part of the records.
    pub is_complete: bool,
}

impl RecordImport {
    /// As a row.
    ///
    /// # Errors
    /// If it cannot be written as JSON.
    pub fn to_row(&self) -> Result<Vec<u8>, StoreError> {
        serde_json::to_vec(self).map_err(|error| StoreError::Backend(error.into()))
    }

    /// # Errors
    /// If the row was not written by this version.
    pub fn from_row(row: &[u8]) -> Result<Self, StoreError> {
        serde_json::from_slice(row).map_err(|_| StoreError::Corrupt("the state of an import that cannot be read"))
    }
}
