//! Starts the admin interface with what it shows and changes.

use std::{path::PathBuf, sync::Arc};

use api::KeyUses;
use domain::TaskStatus;
use ingest::{OperatorRequests, Progress};
use node::NodeClient;
use store::WebhookLimits;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{delivering::Hooks, store::Index};
use crate::{
    admin::{
        Admin, Backups,
        context::AdminContext,
        metrics::{Served, Sources},
        names::NameReloader,
    },
    config::{admin::AdminConfig, memory::MemoryBudget, roles::Roles},
    logging::LogFilter,
};

/// What an operator sees and changes. What this process does not have is None.
pub(super) struct AdminParts<'a> {
    pub(super) roles: Roles,
    pub(super) memory: MemoryBudget,
    pub(super) index: &'a Index,
    pub(super) progress: &'a Arc<Progress>,
    pub(super) node: Option<&'a NodeClient>,
    pub(super) hooks: Option<&'a Hooks>,
    pub(super) webhook_limits: WebhookLimits,
    pub(super) key_uses: Option<&'a KeyUses>,
    pub(super) served: Option<Served>,
    pub(super) names: &'a NameReloader,
    pub(super) data: PathBuf,
    pub(super) log: LogFilter,
}

impl AdminParts<'_> {
    /// Returns also what the operator requests from the process that indexes.
    pub(super) async fn start(
        self,
        config: AdminConfig,
        tasks: watch::Receiver<Vec<TaskStatus>>,
        cancel: &CancellationToken,
    ) -> anyhow::Result<(Admin, Arc<OperatorRequests>)> {
        let Index { store, shared, sync, .. } = self.index;
        let requests = Arc::<OperatorRequests>::default();
        let sources = Sources {
            roles: self.roles,
            is_shared: shared.is_some(),
            memory: self.memory,
            sync: sync.clone(),
            progress: Arc::clone(self.progress),
            store: Arc::clone(store),
            replica: shared.as_ref().and_then(|shared| shared.replica()),
            node: self.node.cloned(),
            tasks,
            webhooks: self.hooks.map(Hooks::records),
            deliveries: self.hooks.map(Hooks::metrics).unwrap_or_default(),
            served: self.served,
        };
        let context = AdminContext {
            store: Arc::clone(store),
            node: self.node.map(NodeClient::for_background),
            requests: self.roles.index.then(|| Arc::clone(&requests)),
            shared: shared.clone(),
            webhooks: store.webhook_records(self.webhook_limits),
            wake: self.hooks.map(Hooks::wake),
            keys: self.key_uses.cloned(),
            names: self.names.clone(),
            log: self.log,
        };
        let backups = Backups::new(Arc::clone(store), self.data);
        Ok((Admin::start(config, sources, context, backups, cancel).await?, requests))
    }
}
