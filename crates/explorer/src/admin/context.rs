use std::sync::Arc;

use anyhow::Context as _;
use api::KeyUses;
use ingest::OperatorRequests;
use node::NodeClient;
use store::{Store, WebhookRecords};
use webhooks::Wake;

use super::names::NameReloader;
use crate::{logging::LogFilter, stores::SharedStore};

/// What commands for a running service read and change.
pub(crate) struct AdminContext {
    pub(crate) store: Arc<dyn Store>,
    /// None if this process neither indexes nor serves.
    pub(crate) node: Option<NodeClient>,
    /// None if this process does not index.
    pub(crate) requests: Option<Arc<OperatorRequests>>,
    /// Set if other processes may have the store open, too.
    pub(crate) shared: Option<Arc<SharedStore>>,
    pub(crate) webhooks: Arc<dyn WebhookRecords>,
    /// None if this process sends no webhooks: the ones that do notice changes by themselves.
    pub(crate) wake: Option<Wake>,
    /// None if this process does not serve.
    pub(crate) keys: Option<KeyUses>,
    pub(crate) names: NameReloader,
    pub(crate) log: LogFilter,
}

impl AdminContext {
    pub(super) fn node(&self) -> anyhow::Result<&NodeClient> {
        self.node.as_ref().context("this process has no node: send the command to one that indexes or serves")
    }

    /// None if this process does not write the index.
    pub(super) fn requests(&self) -> Option<&OperatorRequests> {
        let stands_by = self.shared.as_ref().is_some_and(|shared| !shared.is_writer());
        self.requests.as_deref().filter(|_| !stands_by)
    }
}
