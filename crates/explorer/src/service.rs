//! Wires the parts: node -> ingest -> store -> API, and store -> webhooks.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use anyhow::Context;
use api::{ApiParts, ApiState, KeyUses};
use domain::SyncStatus;
use enrichment::{Accounts, Failures, NftMetadataFetcher, NftMetadataParts, OperatorNames, TopAccounts};
use ingest::{OperatorRequests, Progress};
use node::NodeClient;
use store::{SharedJobs, SharedQuotas, Store, WebhookRecords};
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};
use tokio_util::sync::CancellationToken;
use web::{Names, PublicUrl, WebParts};

use crate::{
    admin::{Admin, Backups, Operated, Served, Sources},
    background::Background,
    config::{NftMetadata, ServiceConfig},
    following::Following,
    hooks::Hooks,
    logging::LogFilter,
    names::NameReloader,
    requests::Requests,
    sharing::{self, Turn},
    site,
    stores::{self, OlderIndex, OpenStore, Sender},
    supervisor::Supervisor,
    token_prefix,
};

/// Time for the parts to end at shutdown, which takes less than two seconds in total.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(1_400);
/// Time to pass the queues of webhooks on to other processes.
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
        let roles = config.roles;
        // Only the one that fills it again empties an index.
        let older_index = if roles.index { OlderIndex::Replace } else { OlderIndex::Refuse };
        let opened = cancel.run_until_cancelled(stores::open(&config.location, config.memory, older_index)).await;
        let OpenStore { store, shared } = opened.context("stopped before the database was reachable")??;
        let listener = if roles.serve { Some(listen(config.listen).await?) } else { None };
        let local_addr = listener.as_ref().map(TcpListener::local_addr).transpose()?;
        let (status, followed) = watch::channel(SyncStatus::starting());
        let progress = Arc::new(Progress::default());
        let supervisor = Supervisor::new(cancel.clone());
        let sync = match &shared {
            Some(shared) => {
                if roles.index {
                    sharing::compact(shared, followed.clone(), &supervisor);
                }
                sharing::share_status(shared, followed, &supervisor)
            }
            None => followed,
        };

        let token_prefix = config.token_prefix.unwrap_or_default();
        let page_prefix = token_prefix::find(config.token_prefix, &store, &cancel).await;
        let needs_hooks = roles.serve || roles.deliver;
        let hooks = if needs_hooks {
            let key = config.encryption_key.as_ref();
            Some(Hooks::new(&config.egress, config.webhook_limits, key, &config.data, store.as_ref()).await?)
        } else {
            None
        };
        let mut sender = None;
        let sending = match &hooks {
            Some(hooks) if roles.deliver => {
                let shares = match &shared {
                    Some(shared) => {
                        let turn = sharing::take_turns(shared, &supervisor);
                        let sender = sender.insert(sharing::share_queues(shared, hooks.wake(), &supervisor));
                        let queues = shared.webhook_records().with_limits(config.webhook_limits);
                        let queues: Arc<dyn WebhookRecords> = Arc::new(queues.with_sender(sender.clone()));
                        (turn, Some(queues))
                    }
                    None => (Turn::always(), None),
                };
                hooks.clone().start(store.reader(), &sync, token_prefix, &supervisor, shares)
            }
            _ => tokio::spawn(std::future::ready(())),
        };

        let names = Arc::new(OperatorNames::new(config.labels, config.dexes));
        let node = if roles.index || roles.serve { Some(NodeClient::new(config.node.clone())?) } else { None };
        if let (Some(node), false) = (&node, roles.index) {
            sharing::expect_indexed_chain(node, &sync, &supervisor);
        }
        let (mut serving, mut key_uses, mut served) = (None, None, None);
        if let (Some(listener), Some(node), Some(hooks)) = (listener, &node, &hooks) {
            let background = node.for_background();
            let node = node.for_users();
            let failures = Arc::new(Failures::new(node.clone(), store.failures()));
            let nft_metadata = (config.nft_metadata != NftMetadata::None).then(|| {
                Arc::new(NftMetadataFetcher::new(NftMetadataParts {
                    node: node.clone(),
                    egress: (config.nft_metadata == NftMetadata::Hosts).then(|| hooks.egress()),
                    ipfs_gateway: config.ipfs_gateway,
                    chain: store.reader(),
                    store: store.nft_metadata(),
                }))
            });
            let top_accounts = config.top_accounts.then(|| Arc::new(TopAccounts::new(background, store.reader())));
            if let Some(top_accounts) = &top_accounts {
                let (followed, sync) = (Arc::clone(top_accounts), sync.clone());
                supervisor
                    .spawn("top-accounts", move |cancel| Arc::clone(&followed).follow_until(sync.clone(), cancel));
            }
            let state = ApiState::new(ApiParts {
                chain: store.reader(),
                accounts: Arc::new(Accounts::new(node.clone(), store.accounts(), sync.clone())),
                failures: Arc::clone(&failures),
                nft_metadata: nft_metadata.clone(),
                top_accounts: top_accounts.clone(),
                records: store.user_records(),
                verified: store.verified_contracts(),
                verifier: config.verifier,
                webhooks: hooks.registry(),
                node: node.clone(),
                sync: sync.clone(),
                replica: shared.as_ref().and_then(|shared| shared.replica()),
                tasks: supervisor.tasks(),
                names: Arc::clone(&names),
                access: config.access,
                limits: config.limits,
                shared_quotas: shared.as_ref().map(|shared| Arc::new(shared.quotas()) as Arc<dyn SharedQuotas>),
                shared_jobs: shared.as_ref().map(|shared| Arc::new(shared.running_jobs()) as Arc<dyn SharedJobs>),
                proxies: config.proxies.clone(),
                token_prefix,
                response_cache_bytes: config.memory.response_cache(),
            });
            let services = state.services();
            let base_path = config.public_url.as_ref().map(PublicUrl::base_path).unwrap_or_default();
            let pages = web::router(WebParts {
                chain: services.chain.clone(),
                accounts: services.accounts.clone(),
                failures,
                nft_metadata,
                top_accounts: top_accounts.clone(),
                node: node.clone(),
                verified: services.verified.clone(),
                jobs: services.jobs.clone(),
                sync: sync.clone(),
                names: Names {
                    operator: Arc::clone(&names),
                    token_prefix: page_prefix.clone(),
                    chain: config.chain_name,
                    coin: config.coin,
                },
                tour: config.tour,
                branding: config.branding,
                public_url: config.public_url,
                pages_per_minute: config.pages_per_minute,
                proxies: config.proxies,
            });
            let uses = state.key_uses();
            let written = uses.clone();
            supervisor.spawn("key-uses", move |cancel| written.clone().persist_until(cancel));
            key_uses = Some(uses);
            let requests = Arc::new(Requests::of_site()?);
            served = Some(Served {
                requests: Arc::clone(&requests),
                api: state.metrics(),
                jobs: services.jobs.clone(),
                top_accounts,
            });
            let dialects = dialects::dialects(services);
            let router = site::router(api::router(state, dialects), pages, requests, base_path);
            let (connections, cancel) = (config.connections, cancel.clone());
            serving = Some(tokio::spawn(async move {
                api::serve(listener, router, connections, cancel).await.context("the API stopped serving")
            }));
        }

        let sources = Sources {
            roles,
            is_shared: shared.is_some(),
            memory: config.memory,
            sync: sync.clone(),
            progress: Arc::clone(&progress),
            store: Arc::clone(&store),
            replica: shared.as_ref().and_then(|shared| shared.replica()),
            node: node.clone(),
            tasks: supervisor.tasks(),
            webhooks: hooks.as_ref().map(Hooks::records),
            deliveries: hooks.as_ref().map(Hooks::metrics).unwrap_or_default(),
            served,
        };
        let names = NameReloader::new(config.name_files, names);
        let requests = Arc::<OperatorRequests>::default();
        let operated = Operated {
            store: Arc::clone(&store),
            node: node.as_ref().map(NodeClient::for_background),
            requests: roles.index.then(|| Arc::clone(&requests)),
            shared: shared.clone(),
            webhooks: store.webhook_records(config.webhook_limits),
            wake: hooks.as_ref().map(Hooks::wake),
            keys: key_uses.clone(),
            names: names.clone(),
            log,
        };
        let backups = Backups::new(Arc::clone(&store), config.data);
        let admin = Admin::start(config.admin, sources, operated, backups, &cancel).await?;

        let background = Background::start()?;
        let following = match node.filter(|_| roles.index) {
            Some(node) => {
                let following = Following {
                    node,
                    node_config: config.node,
                    on_new_chain: config.on_new_chain,
                    store: Arc::clone(&store),
                    is_shared: shared.is_some(),
                    location: config.location,
                    start_block: config.start_block,
                    traces: config.traces,
                    page_prefix,
                    waiting_blocks: config.memory.waiting_blocks(),
                    status,
                    progress: Arc::clone(&progress),
                    requests,
                };
                background.handle().spawn(following.run(cancel.clone()))
            }
            None => background.handle().spawn(idle(cancel.clone())),
        };
        let serving = serving.unwrap_or_else(|| tokio::spawn(idle(cancel.clone())));
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
    pub(crate) fn user_records(&self) -> Arc<dyn store::UserRecords> {
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
                "cannot reach the database: other processes take over the webhooks of this one after 8 seconds"
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

async fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).await.with_context(|| {
        format!(
            "cannot listen on {address}: choose another address with --listen, or stop the process that uses this one"
        )
    })
}

#[cfg(test)]
mod tests {
    use devchain::{DevChain, DevChainConfig};
    use domain::SyncPhase;
    use ingest::IngestError;

    use super::*;
    use crate::{cli::RunOptions, config};

    const TIMEOUT: Duration = Duration::from_secs(60);

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn a_process_whose_writer_was_replaced_ends_with_an_error() {
        let chain = DevChain::new(DevChainConfig::default());
        let rpc = chain.serve(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let options = RunOptions {
            rpc: vec![rpc.url().parse().unwrap()],
            data: Some(folder.path().to_owned()),
            listen: Some(SocketAddr::from(([127, 0, 0, 1], 0))),
            ..RunOptions::default()
        };
        let config = config::service_config(options).unwrap();
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
