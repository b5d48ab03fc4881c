use std::{fmt, sync::Arc};

use client_address::TrustedProxies;
use contracts::calls::ContractCalls;
use domain::{BlockNumber, ReplicaStatus, SyncStatus, TaskStatus, TokenPrefix};
use enrichment::{Accounts, Allowances, Failures, NftMetadataFetcher, OperatorNames, TopAccounts, TransactionTraces};
use node::NodeClient;
use store::{ChainReader, SharedJobs, SharedQuotas, UserRecords, VerifiedContracts};
use tokio::sync::watch;
use verification::{KnownContracts, VerificationJobs, Verifier, VerifierConfig, VerifierParts};
use webhooks::Registry;

use crate::{
    ApiMetrics, LimitConfig, OwnerAccess,
    dialect::{Gate, Services},
    json_response::Freshness,
    keys::{KeyIssuer, KeyRing, KeyUses},
    layers::{Admission, IndexResources, IndexedBlock},
    limits::RateLimits,
    response_cache::{IndexVersion, ResponseCache},
    streams::Streams,
};

/// The dependencies of the API.
#[expect(missing_debug_implementations, reason = "traits without Debug")]
pub struct ApiParts {
    pub chain: Arc<dyn ChainReader>,
    pub accounts: Arc<Accounts>,
    pub failures: Arc<Failures>,
    /// None if metadata of NFTs is not fetched.
    pub nft_metadata: Option<Arc<NftMetadataFetcher>>,
    /// None if top accounts are not listed.
    pub top_accounts: Option<Arc<TopAccounts>>,
    pub records: Arc<dyn UserRecords>,
    pub verified: Arc<dyn VerifiedContracts>,
    pub verifier: VerifierConfig,
    pub webhooks: Registry,
    pub node: NodeClient,
    pub sync: watch::Receiver<SyncStatus>,
    /// Set if reads use a standby of the database.
    pub replica: Option<watch::Receiver<ReplicaStatus>>,
    /// Status of the background tasks, for `/health`.
    pub tasks: watch::Receiver<Vec<TaskStatus>>,
    /// Of addresses and exchanges.
    pub names: Arc<OperatorNames>,
    pub token_prefix: TokenPrefix,
    pub access: OwnerAccess,
    pub limits: LimitConfig,
    /// Set if other processes serve from the same store, too.
    pub shared_quotas: Option<Arc<dyn SharedQuotas>>,
    /// Set if other processes verify contracts, too.
    pub shared_jobs: Option<Arc<dyn SharedJobs>>,
    pub proxies: TrustedProxies,
    /// Size of the response cache; 0 disables it.
    pub response_cache_bytes: u64,
}

/// The state as handlers extract it.
pub(crate) type App = Arc<ApiState>;

/// The state that handlers share.
pub struct ApiState {
    pub(crate) chain: Arc<dyn ChainReader>,
    pub(crate) accounts: Arc<Accounts>,
    pub(crate) failures: Arc<Failures>,
    pub(crate) nft_metadata: Option<Arc<NftMetadataFetcher>>,
    pub(crate) top_accounts: Option<Arc<TopAccounts>>,
    pub(crate) allowances: Allowances,
    pub(crate) traces: TransactionTraces,
    pub(crate) sync: watch::Receiver<SyncStatus>,
    pub(crate) replica: Option<watch::Receiver<ReplicaStatus>>,
    pub(crate) tasks: watch::Receiver<Vec<TaskStatus>>,
    pub(crate) node: NodeClient,
    pub(crate) names: Arc<OperatorNames>,
    token_prefix: TokenPrefix,
    pub(crate) records: Arc<dyn UserRecords>,
    pub(crate) verified: Arc<dyn VerifiedContracts>,
    pub(crate) jobs: VerificationJobs,
    pub(crate) known: Arc<KnownContracts>,
    pub(crate) calls: Arc<ContractCalls>,
    pub(crate) webhooks: Registry,
    pub(crate) keys: Arc<KeyRing>,
    pub(crate) issuer: KeyIssuer,
    pub(crate) access: OwnerAccess,
    pub(crate) admission: Arc<Admission>,
    pub(crate) streams: Streams,
    metrics: Arc<ApiMetrics>,
    response_cache_bytes: u64,
}

impl ApiState {
    #[must_use]
    pub fn new(parts: ApiParts) -> Self {
        let keys = Arc::new(KeyRing::new(Arc::clone(&parts.records)));
        let limits = RateLimits::new(parts.limits).shared_by(parts.shared_quotas);
        let metrics = Arc::<ApiMetrics>::default();
        let admission =
            Admission { keys: Arc::clone(&keys), limits, proxies: parts.proxies, metrics: Arc::clone(&metrics) };
        let verifier = Verifier::new(VerifierParts {
            node: parts.node.clone(),
            chain: Arc::clone(&parts.chain),
            records: Arc::clone(&parts.verified),
            config: parts.verifier,
        });
        Self {
            known: Arc::new(KnownContracts::new(
                parts.node.clone(),
                Arc::clone(&parts.chain),
                Arc::clone(&parts.verified),
            )),
            calls: Arc::new(ContractCalls::new(parts.node.clone(), Arc::clone(&parts.verified))),
            jobs: VerificationJobs::new(verifier, Arc::clone(&parts.verified), parts.shared_jobs),
            verified: parts.verified,
            chain: parts.chain,
            accounts: parts.accounts,
            failures: parts.failures,
            nft_metadata: parts.nft_metadata,
            top_accounts: parts.top_accounts,
            allowances: Allowances::new(parts.node.clone()),
            traces: TransactionTraces::new(parts.node.clone()),
            sync: parts.sync,
            replica: parts.replica,
            tasks: parts.tasks,
            node: parts.node.clone(),
            names: parts.names,
            token_prefix: parts.token_prefix,
            issuer: KeyIssuer::new(Arc::clone(&parts.records), parts.node),
            records: parts.records,
            webhooks: parts.webhooks,
            keys,
            access: parts.access,
            admission: Arc::new(admission),
            streams: Streams::default(),
            metrics,
            response_cache_bytes: parts.response_cache_bytes,
        }
    }

    pub(crate) fn token_prefix(&self) -> TokenPrefix {
        self.token_prefix
    }

    /// The services behind the API, for its dialects.
    #[must_use]
    pub fn services(&self) -> Services {
        Services {
            chain: Arc::clone(&self.chain),
            accounts: Arc::clone(&self.accounts),
            verified: Arc::clone(&self.verified),
            known: Arc::clone(&self.known),
            calls: Arc::clone(&self.calls),
            jobs: self.jobs.clone(),
            node: self.node.clone(),
            gate: Gate::new(Arc::clone(&self.admission)),
        }
    }

    pub(crate) fn response_cache(&self) -> ResponseCache {
        let version = IndexVersion::source(
            Arc::clone(&self.chain),
            Arc::clone(&self.verified),
            Arc::clone(&self.names),
            self.sync.clone(),
        );
        ResponseCache::new(self.response_cache_bytes, version, Arc::clone(&self.metrics))
    }

    #[must_use]
    pub fn metrics(&self) -> Arc<ApiMetrics> {
        Arc::clone(&self.metrics)
    }

    pub(crate) fn indexed_block(&self, resources: IndexResources) -> IndexedBlock {
        IndexedBlock::new(Arc::clone(&self.chain), resources)
    }

    /// Persists the use counts of keys; run it as a background task.
    #[must_use]
    pub fn key_uses(&self) -> KeyUses {
        KeyUses(Arc::clone(&self.keys))
    }

    /// How long a response about one block may be cached.
    pub(crate) fn freshness_of(&self, number: BlockNumber) -> Freshness {
        let sync = self.sync.borrow();
        match sync.settled {
            // A dev chain may be reset, and clients would show the old one for an hour.
            Some(settled) if number <= settled && !sync.is_dev_chain => Freshness::Settled,
            _ => Freshness::UntilNextBlock,
        }
    }
}

impl fmt::Debug for ApiState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiState").field("sync", &*self.sync.borrow()).finish_non_exhaustive()
    }
}
