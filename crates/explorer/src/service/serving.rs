//! Serves the API, its dialects and the pages.

use std::{net::SocketAddr, sync::Arc};

use admission::PageBudget;
use anyhow::Context;
use api::{ApiParts, ApiState, KeyUses};
use domain::{ChainTokenPrefix, TokenPrefix};
use enrichment::{IpfsGateway, NftMetadataFetcher, NftMetadataParts, OperatorNames, TopAccounts};
use node::NodeClient;
use services::{Services, ServicesParts};
use store::{SharedJobs, SharedQuotas};
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;
use web::{ApiLimits, Names, PublicUrl, WebParts};

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
        let LimitsConfig { access, origins, requests, pages_per_minute, proxies, connections } = limits;
        let anonymous_requests = requests.anonymous;
        let (index, supervisor) = (parts.index, parts.supervisor);
        let shared = index.shared.as_ref();
        let services = start_services(&parts, services);
        let page_budget = Arc::new(PageBudget::new(pages_per_minute, proxies.clone()));
        let state = ApiState::new(ApiParts {
            services: services.clone(),
            records: index.store.user_records(),
            webhooks: parts.hooks.registry(),
            database: index.database.clone(),
            replica: shared.and_then(|shared| shared.replica()),
            tasks: supervisor.tasks(),
            access,
            origins,
            limits: requests,
            page_budget: Arc::clone(&page_budget),
            shared_quotas: shared.map(|shared| Arc::new(shared.quotas()) as Arc<dyn SharedQuotas>),
            proxies,
            token_prefix: parts.token_prefix,
            response_cache_bytes,
        });
        let base_path = pages.public_url.as_ref().map(PublicUrl::base_path).unwrap_or_default();
        let pages = web::router(WebParts {
            services: services.clone(),
            names: Names {
                operator: parts.names,
                token_prefix: parts.page_prefix,
                chain: pages.chain_name,
                coin: pages.coin,
            },
            tour: pages.tour,
            branding: pages.branding,
            public_url: pages.public_url,
            listens: parts.listener.local_addr()?,
            api_limits: ApiLimits { anonymous: anonymous_requests, with_key: api::REQUESTS_PER_MINUTE },
            budget: page_budget,
        });
        let key_uses = state.key_uses();
        let uses = key_uses.clone();
        supervisor.spawn("key-uses", move |cancel| uses.clone().persist_until(cancel));
        let http = Arc::new(HttpMetrics::of_site()?);
        let served = Served {
            http: Arc::clone(&http),
            api: state.metrics(),
            jobs: services.jobs.clone(),
            top_accounts: services.top_accounts.clone(),
        };
        let dialects = dialects::dialects(services, state.gate());
        let router = site::router(api::router(state, dialects), pages, http, base_path);
        let listener = parts.listener;
        let task = tokio::spawn(async move {
            api::serve(listener, router, connections, cancel).await.context("the API stopped serving")
        });
        Ok(Self { task, key_uses, served })
    }
}

/// The one place where services are made.
fn start_services(parts: &ServingParts<'_>, config: ServicesConfig) -> Services {
    let ServicesConfig { verifier, nft_metadata, ipfs_gateway, top_accounts } = config;
    let index = parts.index;
    let shared = index.shared.as_ref();
    Services::new(ServicesParts {
        store: &*index.store,
        node: parts.node.for_users(),
        sync: index.sync.clone(),
        operator_names: Arc::clone(&parts.names),
        verifier,
        shared_jobs: shared.map(|shared| Arc::new(shared.running_jobs()) as Arc<dyn SharedJobs>),
        nft_metadata: start_nft_metadata(parts, nft_metadata, ipfs_gateway),
        top_accounts: top_accounts.then(|| start_top_accounts(parts)),
    })
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
