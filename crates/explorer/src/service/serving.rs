//! Serves the API, its dialects and the pages.

use std::{net::SocketAddr, sync::Arc};

use anyhow::Context;
use api::{ApiParts, ApiState, KeyUses};
use domain::{ChainTokenPrefix, TokenPrefix};
use enrichment::{Accounts, Failures, IpfsGateway, NftMetadataFetcher, NftMetadataParts, OperatorNames, TopAccounts};
use node::NodeClient;
use store::{SharedJobs, SharedQuotas};
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;
use web::{Names, PublicUrl, WebParts};

use super::{delivering::Hooks, site, store::Index, supervisor::Supervisor};
use crate::{
    admin::metrics::{Served, http::HttpMetrics},
    config::{
        limits::LimitsConfig,
        pages::PagesConfig,
        services::{NftMetadata, ServicesConfig},
    },
};

/// What a process that serves uses.
pub(super) struct ServingParts<'a> {
    pub(super) listener: TcpListener,
    pub(super) index: &'a Index,
    pub(super) node: &'a NodeClient,
    pub(super) hooks: &'a Hooks,
    pub(super) names: Arc<OperatorNames>,
    pub(super) token_prefix: TokenPrefix,
    pub(super) page_prefix: ChainTokenPrefix,
    pub(super) supervisor: &'a Supervisor,
}

pub(super) struct ServingConfig {
    pub(super) limits: LimitsConfig,
    pub(super) pages: PagesConfig,
    pub(super) services: ServicesConfig,
    pub(super) response_cache_bytes: u64,
}

/// A running API with pages.
pub(super) struct Serving {
    pub(super) task: JoinHandle<anyhow::Result<()>>,
    pub(super) key_uses: KeyUses,
    pub(super) served: Served,
}

/// What is read from the node, or put together from several sources, while it is served.
struct Enrichment {
    accounts: Arc<Accounts>,
    failures: Arc<Failures>,
    nft_metadata: Option<Arc<NftMetadataFetcher>>,
    top_accounts: Option<Arc<TopAccounts>>,
}

pub(super) async fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).await.with_context(|| {
        format!(
            "cannot listen on {address}: choose another address with --listen, or stop the process that uses this one"
        )
    })
}

impl Serving {
    pub(super) fn start(
        parts: ServingParts<'_>,
        config: ServingConfig,
        cancel: CancellationToken,
    ) -> anyhow::Result<Self> {
        let ServingConfig { limits, pages, services, response_cache_bytes } = config;
        let LimitsConfig { access, requests, pages_per_minute, proxies, connections } = limits;
        let (index, supervisor, node) = (parts.index, parts.supervisor, parts.node.for_users());
        let ServicesConfig { verifier, nft_metadata, ipfs_gateway, top_accounts } = services;
        let enrichment = Enrichment {
            accounts: Arc::new(Accounts::new(node.clone(), index.store.accounts(), index.sync.clone())),
            failures: Arc::new(Failures::new(node.clone(), index.store.failures())),
            nft_metadata: start_nft_metadata(&parts, nft_metadata, ipfs_gateway),
            top_accounts: top_accounts.then(|| start_top_accounts(&parts)),
        };
        let shared = index.shared.as_ref();
        let state = ApiState::new(ApiParts {
            chain: index.store.reader(),
            accounts: Arc::clone(&enrichment.accounts),
            failures: Arc::clone(&enrichment.failures),
            nft_metadata: enrichment.nft_metadata.clone(),
            top_accounts: enrichment.top_accounts.clone(),
            records: index.store.user_records(),
            verified: index.store.verified_contracts(),
            verifier,
            webhooks: parts.hooks.registry(),
            node: node.clone(),
            sync: index.sync.clone(),
            replica: shared.and_then(|shared| shared.replica()),
            tasks: supervisor.tasks(),
            names: Arc::clone(&parts.names),
            access,
            limits: requests,
            shared_quotas: shared.map(|shared| Arc::new(shared.quotas()) as Arc<dyn SharedQuotas>),
            shared_jobs: shared.map(|shared| Arc::new(shared.running_jobs()) as Arc<dyn SharedJobs>),
            proxies: proxies.clone(),
            token_prefix: parts.token_prefix,
            response_cache_bytes,
        });
        let services = state.services();
        let base_path = pages.public_url.as_ref().map(PublicUrl::base_path).unwrap_or_default();
        let pages = web::router(WebParts {
            chain: services.chain.clone(),
            accounts: services.accounts.clone(),
            failures: enrichment.failures,
            nft_metadata: enrichment.nft_metadata,
            top_accounts: enrichment.top_accounts.clone(),
            node,
            verified: services.verified.clone(),
            jobs: services.jobs.clone(),
            sync: index.sync.clone(),
            names: Names {
                operator: parts.names,
                token_prefix: parts.page_prefix,
                chain: pages.chain_name,
                coin: pages.coin,
            },
            tour: pages.tour,
            branding: pages.branding,
            public_url: pages.public_url,
            pages_per_minute,
            proxies,
        });
        let key_uses = state.key_uses();
        let uses = key_uses.clone();
        supervisor.spawn("key-uses", move |cancel| uses.clone().persist_until(cancel));
        let http = Arc::new(HttpMetrics::of_site()?);
        let served = Served {
            http: Arc::clone(&http),
            api: state.metrics(),
            jobs: services.jobs.clone(),
            top_accounts: enrichment.top_accounts,
        };
        let dialects = dialects::dialects(services);
        let router = site::router(api::router(state, dialects), pages, http, base_path);
        let listener = parts.listener;
        let task = tokio::spawn(async move {
            api::serve(listener, router, connections, cancel).await.context("the API stopped serving")
        });
        Ok(Self { task, key_uses, served })
    }
}

fn start_nft_metadata(
    parts: &ServingParts<'_>,
    shown: NftMetadata,
    ipfs_gateway: Option<IpfsGateway>,
) -> Option<Arc<NftMetadataFetcher>> {
    (shown != NftMetadata::None).then(|| {
        Arc::new(NftMetadataFetcher::new(NftMetadataParts {
            node: parts.node.for_users(),
            egress: (shown == NftMetadata::Hosts).then(|| parts.hooks.egress()),
            ipfs_gateway,
            chain: parts.index.store.reader(),
            store: parts.index.store.nft_metadata(),
        }))
    })
}

fn start_top_accounts(parts: &ServingParts<'_>) -> Arc<TopAccounts> {
    let top_accounts = Arc::new(TopAccounts::new(parts.node.for_background(), parts.index.store.reader()));
    let (followed, sync) = (Arc::clone(&top_accounts), parts.index.sync.clone());
    parts.supervisor.spawn("top-accounts", move |cancel| Arc::clone(&followed).follow_until(sync.clone(), cancel));
    top_accounts
}
