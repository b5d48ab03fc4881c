use std::sync::Arc;

use async_trait::async_trait;
use domain::UnixMillis;
use serde::{Deserialize, Serialize};

use crate::{Record, RecordKind, RecordPosition, StoreError};

/// Records of one write.
const BATCH: usize = 1_000;

/// Reads and writes records as they are, to copy them to another store. Nothing else may use the store meanwhile, unless they are
/// [pinned](RecordTransfer::pinned).
#[async_trait]
pub trait RecordTransfer: Send + Sync {
    /// Whether the store is the source or the target of a copy, since it was last used for anything else.
    async fn find_transfer(&self) -> Result<Option<Transfer>, StoreError>;

    async fn save_transfer(&self, transfer: Option<Transfer>) -> Result<(), StoreError>;

    /// Whether users have left anything: keys, webhooks, verified contracts.
    async fn has_records(&self) -> Result<bool, StoreError>;

    /// The number of records, about: for the progress of a copy.
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
    fn pinned(&self) -> Option<Arc<dyn RecordTransfer>>;

    /// Writes records in place of those at the same positions, and the state of the copy, atomically. After the record of
    /// matching, webhooks wait until the index has reached its cursor.
    async fn write_records(&self, records: Vec<Record>, transfer: Transfer) -> Result<(), StoreError>;

    /// Deletes all records except failures.
    async fn delete_records(&self) -> Result<(), StoreError>;
}

/// Identifies a copy in both stores.
pub type TransferId = String;

/// What a store remembers about a copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transfer {
    Source { id: TransferId },
    Target(TransferTarget),
}

/// How far a copy has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransferTarget {
    pub id: TransferId,
    /// The name of the source, for messages.
    pub source: String,
    /// The last record that was written.
    pub position: Option<RecordPosition>,
    pub copied: u64,
    pub is_complete: bool,
}

impl Transfer {
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
        serde_json::from_slice(row).map_err(|_| StoreError::Corrupt("the state of a copy that cannot be read"))
    }
}

/// Why a copy cannot begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    #[error("both are the same store")]
    SameStore,
    #[error("the target has records of its own")]
    HasRecords,
    #[error("the target has an unfinished copy from {source_name}")]
    OtherSource { source_name: String },
    #[error("the source was used during the copy")]
    SourceUsed,
    #[error("the source is the target of an unfinished copy")]
    IncompleteSource,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A copy of all records from one store to another.
#[expect(missing_debug_implementations, reason = "traits without Debug")]
pub struct RecordCopy<'a> {
    source: &'a dyn RecordTransfer,
    target: &'a dyn RecordTransfer,
    state: TransferTarget,
}

impl<'a> RecordCopy<'a> {
    /// Begins a copy with a new id, or goes on with the one that was interrupted. If the source was used since, the copy
    /// starts over.
    ///
    /// # Errors
    /// If the target has other records, or a store fails.
    pub async fn begin(
        source: &'a dyn RecordTransfer,
        target: &'a dyn RecordTransfer,
        source_name: &str,
        new_id: TransferId,
    ) -> Result<Self, TransferError> {
        let source_id = match source.find_transfer().await? {
            Some(Transfer::Source { id }) => Some(id),
            Some(Transfer::Target(state)) if !state.is_complete => return Err(TransferError::IncompleteSource),
            _ => None,
        };
        match target.find_transfer().await? {
            Some(Transfer::Target(state)) if Some(&state.id) == source_id.as_ref() => {
                return Ok(Self { source, target, state });
            }
            Some(Transfer::Target(state)) if !state.is_complete && state.source != source_name => {
                return Err(TransferError::OtherSource { source_name: state.source });
            }
            // The source was used since the copy began.
            Some(Transfer::Target(state)) if !state.is_complete => {}
            _ if target.has_records().await? => {
                source.save_transfer(Some(Transfer::Source { id: new_id.clone() })).await?;
                let is_same = target.find_transfer().await? == Some(Transfer::Source { id: new_id });
                source.save_transfer(source_id.map(|id| Transfer::Source { id })).await?;
                return Err(if is_same { TransferError::SameStore } else { TransferError::HasRecords });
            }
            _ => {}
        }
        let mark = Transfer::Source { id: new_id.clone() };
        source.save_transfer(Some(mark.clone())).await?;
        if target.find_transfer().await? == Some(mark) {
            source.save_transfer(None).await?;
            return Err(TransferError::SameStore);
        }
        let source_name = source_name.to_owned();
        let state = TransferTarget { id: new_id, source: source_name, position: None, copied: 0, is_complete: false };
        target.save_transfer(Some(Transfer::Target(state.clone()))).await?;
        target.delete_records().await?;
        Ok(Self { source, target, state })
    }

    #[must_use]
    pub fn copied(&self) -> u64 {
        self.state.copied
    }

    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.state.is_complete
    }

    /// Copies the next records. Interrupted at any moment, the copy goes on after the last records that were written.
    ///
    /// # Errors
    /// If a store fails, or if the source was used by something else since the copy began.
    pub async fn step(&mut self, now: UnixMillis) -> Result<(), TransferError> {
        let (mut kind, mut after) =
            (self.state.position.map_or(RecordKind::ApiKey, |last| last.kind()), self.state.position);
        loop {
            let records = self.source.read_records(kind, after, BATCH, now).await?;
            if let Some(last) = records.last() {
                let mut state = self.state.clone();
                state.position = Some(last.position());
                state.copied += records.len() as u64;
                self.target.write_records(records, Transfer::Target(state.clone())).await?;
                self.state = state;
                return Ok(());
            }
            match kind.next() {
                Some(next) => (kind, after) = (next, None),
                None => return self.complete().await,
            }
        }
    }

    async fn complete(&mut self) -> Result<(), TransferError> {
        if self.source.find_transfer().await? != Some(Transfer::Source { id: self.state.id.clone() }) {
            return Err(TransferError::SourceUsed);
        }
        let state = TransferTarget { is_complete: true, ..self.state.clone() };
        self.target.save_transfer(Some(Transfer::Target(state.clone()))).await?;
        self.state = state;
        Ok(())
    }
}
