//! A running explorer. Each role of the process has a file, which starts it: the index is followed, served, and matched with
//! webhooks, which are delivered.

mod administration;
pub(crate) mod background;
mod delivering;
pub(crate) mod following;
mod serving;
mod sharing;
mod site;
mod store;
mod supervisor;
mod token_prefix;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use ::store::Store;
#[cfg(feature = "demo")]
use ::store::UserRecords;
use anyhow::Context;
use api::KeyUses;
use domain::SyncStatus;
use enrichment::OperatorNames;
use ingest::Progress;
use node::NodeClient;
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use self::{
    administration::AdminParts,
    background::Background,
    delivering::{Delivering, Hooks},
    following::Following,
    serving::{Serving, ServingConfig, ServingParts},
    sharing::chain,
    store::Index,
    supervisor::Supervisor,
};
use crate::{
    admin::{Admin, names::NameReloader},
    config::service_config::ServiceConfig,
    logging::LogFilter,
    stores::Sender,
};

/// Time for the parts to end at shutdown, which takes less than two seconds in total.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(1_400);
/// Time to hand over the queues of webhooks to other processes.
const LEAVE_TIMEOUT: Duration = Duration::from_millis(300);

/// A running explorer.
pub(crate) struct Service {
    /// None if it does not serve.
    local_addr: Option<SocketAddr>,
    sync: watch::Receiver<SyncStatus>,
    progress: Arc<Progress>,
    store: Arc<dyn Store>,
    following: JoinHandle<anyhow::Result<()>>,
    serving: JoinHandle<anyhow::Result<()>>,
    sending: JoinHandle<()>,
    /// Set if this process shares the sending of webhooks with others.
    sender: Option<Sender>,
    key_uses: Option<KeyUses>,
    /// Listens until it is dropped.
    _admin: Admin,
    names: NameReloader,
    cancel: CancellationToken,
    /// Runs indexing.
    background: Background,
}

impl Service {
    /// Opens the store, and does what the roles of this process are: follows the node, serves the index, sends webhooks. If
    /// the node or the database is down, indexing waits for it.
    pub(crate) async fn start(
        config: ServiceConfig,
        log: LogFilter,
        cancel: CancellationToken,
    ) -> anyhow::Result<Self> {
        let (roles, memory) = (config.roles, config.memory);
        let opened = store::open(&config.location, memory, roles, &cancel).await?;
        let listener = if roles.serve { Some(serving::listen(config.listen).await?) } else { None };
        let local_addr = listener.as_ref().map(TcpListener::local_addr).transpose()?;
        let (status, followed) = watch::channel(SyncStatus::starting());
        let progress = Arc::new(Progress::default());
        let supervisor = Supervisor::new(cancel.clone());
        let index = Index::start(opened, roles, followed, &supervisor);
        let token_prefix = config.pages.token_prefix.unwrap_or_default();
        let page_prefix = token_prefix::find(config.pages.token_prefix, &index.store, &cancel).await;

        let node = if roles.index || roles.serve { Some(NodeClient::new(config.node.clone())?) } else { None };
        if let (Some(node), Some(shared), false) = (&node, &index.shared, roles.index) {
            let compared = chain::compare_at_start(node, shared, config.indexing.on_new_chain);
            cancel.run_until_cancelled(compared).await.transpose()?;
            chain::expect_indexed(node, &index.store.reader(), &index.sync, &supervisor);
        }

        let hooks = if roles.serve || roles.deliver {
            Some(Hooks::new(&config.webhooks, &config.data, index.store.as_ref()).await?)
        } else {
            None
        };
        let Delivering { dispatcher: sending, sender } = match hooks.as_ref().filter(|_| roles.deliver) {
            Some(hooks) => Delivering::start(hooks, &index, config.webhooks.limits, token_prefix, &supervisor),
            None => Delivering::none(),
        };
        let names = Arc::new(OperatorNames::new(config.names.labels, config.names.dexes));
        let serving = match (listener, &node, &hooks) {
            (Some(listener), Some(node), Some(hooks)) => {
                let (names, page_prefix) = (Arc::clone(&names), page_prefix.clone());
                let (index, supervisor) = (&index, &supervisor);
                let parts = ServingParts { listener, index, node, hooks, names, token_prefix, page_prefix, supervisor };
                let serving = ServingConfig {
                    limits: config.limits,
                    pages: config.pages,
                    services: config.services,
                    response_cache_bytes: memory.response_cache(),
                };
                Some(Serving::start(parts, serving, cancel.clone())?)
            }
            _ => None,
        };
        let (serving, key_uses, served) = match serving {
            Some(Serving { task, key_uses, served }) => (task, Some(key_uses), Some(served)),
            None => (tokio::spawn(idle(cancel.clone())), None, None),
        };

        let names = NameReloader::new(config.names.files, names);
        let admin = AdminParts {
            roles,
            memory,
            index: &index,
            progress: &progress,
            node: node.as_ref(),
            hooks: hooks.as_ref(),
            webhook_limits: config.webhooks.limits,
            key_uses: key_uses.as_ref(),
            served,
            names: &names,
            data: config.data,
            log,
        };
        let (admin, requests) = admin.start(config.admin, supervisor.tasks(), &cancel).await?;

        let background = Background::start()?;
        let following = match node.filter(|_| roles.index) {
            Some(node) => {
                let following = Following {
                    node,
                    node_config: config.node,
                    indexing: config.indexing,
                    store: Arc::clone(&index.store),
                    is_shared: index.shared.is_some(),
                    location: config.location,
                    page_prefix,
                    waiting_blocks: memory.waiting_blocks(),
                    status,
                    progress: Arc::clone(&progress),
                    requests,
                };
                background.handle().spawn(following.run(cancel.clone()))
            }
            None => background.handle().spawn(idle(cancel.clone())),
        };
        let Index { store, sync, .. } = index;
        Ok(Self {
            local_addr,
            sync,
            progress,
            store,
            following,
            serving,
            sending,
            sender,
            key_uses,
            _admin: admin,
            names,
            cancel,
            background,
        })
    }

    /// API keys and other records of users.
    #[cfg(feature = "demo")]
    pub(crate) fn user_records(&self) -> Arc<dyn UserRecords> {
        self.store.user_records()
    }

    /// For records of verified contracts.
    #[cfg(feature = "demo")]
    pub(crate) fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.store)
    }

    /// Where the API listens; None if this process does not serve.
    pub(crate) fn local_addr(&self) -> Option<SocketAddr> {
        self.local_addr
    }

    pub(crate) fn names(&self) -> NameReloader {
        self.names.clone()
    }

    pub(crate) fn sync(&self) -> watch::Receiver<SyncStatus> {
        self.sync.clone()
    }

    pub(crate) fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.progress)
    }

    /// Waits for shutdown, or for a fatal error such as data of another chain. If the store can no longer be written, only
    /// indexing stops: the index is still served.
    pub(crate) async fn finish(mut self) -> anyhow::Result<()> {
        let ended = tokio::select! {
            () = self.cancel.cancelled() => Ok(()),
            ended = &mut self.serving => ended.map_err(anyhow::Error::from).flatten(),
            ended = &mut self.following => match ended.map_err(anyhow::Error::from).flatten() {
                Ok(()) => {
                    self.cancel.cancelled().await;
                    Ok(())
                }
                Err(error) => Err(error),
            },
        };
        self.cancel.cancel();
        let parts = async {
            if !self.following.is_finished() {
                let _ = (&mut self.following).await;
            }
            if !self.serving.is_finished() {
                let _ = (&mut self.serving).await;
            }
            let _ = (&mut self.sending).await;
        };
        if tokio::time::timeout(SHUTDOWN_TIMEOUT, parts).await.is_err() {
            tracing::warn!("some tasks did not end in time and were aborted; no committed data is lost");
        }
        drop(self.background);
        if let Some(sender) = &self.sender
            && !tokio::time::timeout(LEAVE_TIMEOUT, sender.leave()).await.is_ok_and(|left| left.is_ok())
        {
            tracing::warn!(
                "cannot reach the database: other processes take over the webhooks of this one after {} seconds",
                Sender::TIMEOUT.as_secs()
            );
        }
        if let Some(key_uses) = &self.key_uses {
            key_uses.finish().await;
        }
        self.store.sync().await.context("cannot sync the last writes to disk")?;
        ended
    }
}

/// In place of a part that this process does not have.
async fn idle(cancel: CancellationToken) -> anyhow::Result<()> {
    cancel.cancelled().await;
    Ok(())
}

#[cfg(test)]
mod tests {
    use devchain::{DevChain, DevChainConfig};
    use domain::SyncPhase;
    use ingest::IngestError;

    use super::*;
    use crate::config::{location::LocationOptions, node::NodeOptions, roles::RoleOptions, run_options::RunOptions};

    const TIMEOUT: Duration = Duration::from_secs(60);

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn a_process_whose_writer_was_replaced_ends_with_an_error() {
        let chain = DevChain::new(DevChainConfig::default());
        let rpc = chain.serve(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let options = RunOptions {
            node: NodeOptions { rpc: vec![rpc.url().parse().unwrap()] },
            location: LocationOptions { data: Some(folder.path().to_owned()), ..LocationOptions::default() },
            roles: RoleOptions { listen: Some(SocketAddr::from(([127, 0, 0, 1], 0))), ..RoleOptions::default() },
            ..RunOptions::default()
        };
        let config = ServiceConfig::new(options).unwrap();
        let service =
            Service::start(config, LogFilter::new("info").unwrap().0, CancellationToken::new()).await.unwrap();
        let mut sync = service.sync();
        let followed = sync.wait_for(|status| status.phase == SyncPhase::Following);
        drop(tokio::time::timeout(TIMEOUT, followed).await.unwrap().unwrap());

        let writer = service.store.writer();
        let ended = tokio::time::timeout(TIMEOUT, service.finish()).await.unwrap().unwrap_err();
        assert!(matches!(ended.downcast_ref(), Some(IngestError::WriterReplaced)), "{ended:?}");
        let SyncPhase::Halted { reason } = sync.borrow().phase.clone() else { panic!("{:?}", sync.borrow()) };
        assert_eq!(reason, "another writer has taken over the index");
        assert!(writer.tip().await.unwrap().is_some(), "the new writer can continue");
        rpc.shutdown().await;
    }
}
