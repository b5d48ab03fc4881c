//! The index of this process, which its roles share.

use std::sync::Arc;

use anyhow::Context;
use domain::{DatabaseStatus, SyncStatus};
use store::Store;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{
    sharing::{compaction, status},
    supervisor::Supervisor,
};
use crate::{
    config::{location::Location, memory::MemoryBudget, roles::Roles},
    stores::{Create, OlderIndex, OpenStore, Opening, Purpose, SharedStore},
};

#[derive(Clone)]
pub(super) struct Index {
    pub(super) store: Arc<dyn Store>,
    /// Set if other processes may have the store open, too.
    pub(super) shared: Option<Arc<SharedStore>>,
    /// How far the index is: followed by this process or by another one.
    pub(super) sync: watch::Receiver<SyncStatus>,
    /// Set with `shared`.
    pub(super) database: Option<watch::Receiver<DatabaseStatus>>,
}

/// Opens the store, or creates it. Waits for a database that is not reachable.
pub(super) async fn open(
    location: &Location,
    memory: MemoryBudget,
    roles: Roles,
    cancel: &CancellationToken,
) -> anyhow::Result<OpenStore> {
    // Only the one that fills it again empties an index.
    let older_index = if roles.index { OlderIndex::Replace } else { OlderIndex::Refuse };
    let opening = Opening { location, create: Create::IfMissing, older_index, purpose: Purpose::Service(memory) };
    cancel.run_until_cancelled(opening.open()).await.context("stopped before the database was reachable")?
}

impl Index {
    /// Starts what keeps a shared index in step with the processes that share it.
    pub(super) fn start(
        opened: OpenStore,
        roles: Roles,
        followed: watch::Receiver<SyncStatus>,
        supervisor: &Supervisor,
    ) -> Self {
        let OpenStore { store, shared } = opened;
        let (sync, database) = match &shared {
            Some(shared) => {
                if roles.index {
                    compaction::start(shared, followed.clone(), supervisor);
                }
                let status::Shared { sync, database } = status::share(shared, followed, supervisor);
                (sync, Some(database))
            }
            None => (followed, None),
        };
        Self { store, shared, sync, database }
    }
}
