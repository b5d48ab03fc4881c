//! What the entries of a page have to satisfy, and why a query has no result yet.

use store::StoreError;

use super::settled::Generation;
use crate::{engine::Epoch, keys::ListKey, lists::Role};

/// An entry must be in this list, in this role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Condition {
    pub(super) list: ListKey,
    pub(super) role: Role,
}

/// How long checkpoints are valid.
#[derive(Debug, Clone, Copy)]
pub(super) struct Validity {
    /// Lists can still change from here on ...
    pub(super) settled: u64,
    /// ... but not within this epoch.
    pub(super) epoch: Option<Epoch>,
    pub(super) generation: Generation,
}

/// A walk along lists to their end, required before the query is retried.
#[derive(Debug)]
pub(crate) struct LongWalk {
    pub(crate) conditions: Vec<Condition>,
    /// Entries with an id from here on can still be reverted.
    pub(crate) settled: u64,
    /// For which that holds.
    pub(crate) generation: Generation,
}

/// Why a query has no result yet.
#[derive(Debug)]
pub(crate) enum ReadError {
    Store(StoreError),
    NeedsWalk(LongWalk),
}

impl From<StoreError> for ReadError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
