use std::{fmt, num::NonZeroU32, ops::Deref, sync::Arc};

use admission::{LimitConfig, PageBudget, RateLimits};
use client_address::TrustedProxies;
use domain::{BlockNumber, DatabaseStatus, ReplicaStatus, TaskStatus, TokenPrefix};
use services::Services;
use store::{SharedQuotas, UserRecords};
use tokio::sync::watch;
use webhooks::Registry;

use crate::{
    ApiMetrics, OwnerAccess,
    dialect::Gate,
    json_response::Freshness,
    keys::{KeyIssuer, KeyRing, KeyUses},
    layers::{Admission, AllowedOrigins, IndexResources, IndexedBlock},
    response_cache::{IndexVersion, ResponseCache},
    streams::Streams,
};

/// The dependencies of the API.
#[expect(missing_debug_implementations, reason = "traits without Debug")]
pub struct ApiParts {
    pub services: Services,
    pub records: Arc<dyn UserRecords>,
    pub webhooks: Registry,
    /// Set if other processes share the index in a database.
    pub database: Option<watch::Receiver<DatabaseStatus>>,
    /// Set if reads use a standby of the database.
    pub replica: Option<watch::Receiver<ReplicaStatus>>,
    /// Status of the background tasks, for `/health`.
    pub tasks: watch::Receiver<Vec<TaskStatus>>,
    pub token_prefix: TokenPrefix,
    pub access: OwnerAccess,
    pub origins: AllowedOrigins,
    pub limits: LimitConfig,
    /// Shared with the pages: for what is not counted against the limits.
    pub page_budget: Arc<PageBudget>,
    /// Set if other processes serve from the same store, too.
    pub shared_quotas: Option<Arc<dyn SharedQuotas>>,
    pub proxies: TrustedProxies,
    /// Size of the response cache; 0 disables it.
    pub response_cache_bytes: u64,
}

/// The state as handlers extract it.
pub(crate) type App = Arc<ApiState>;

/// The state that handlers share.
pub struct ApiState {
    services: Services,
    pub(crate) database: Option<watch::Receiver<DatabaseStatus>>,
    pub(crate) replica: Option<watch::Receiver<ReplicaStatus>>,
    pub(crate) tasks: watch::Receiver<Vec<TaskStatus>>,
    token_prefix: TokenPrefix,
    pub(crate) records: Arc<dyn UserRecords>,
    pub(crate) webhooks: Registry,
    pub(crate) keys: Arc<KeyRing>,
    pub(crate) issuer: KeyIssuer,
    pub(crate) access: OwnerAccess,
    pub(crate) origins: AllowedOrigins,
    /// In any 60 seconds, without a key; None means without a limit.
    pub(crate) anonymous_requests: Option<NonZeroU32>,
    pub(crate) admission: Arc<Admission>,
    pub(crate) streams: Streams,
    metrics: Arc<ApiMetrics>,
    response_cache_bytes: u64,
}

/// Handlers use the services as parts of the state.
impl Deref for ApiState {
    type Target = Services;

    fn deref(&self) -> &Services {
        &self.services
    }
}

impl ApiState {
    #[must_use]
    pub fn new(parts: ApiParts) -> Self {
        let keys = Arc::new(KeyRing::new(Arc::clone(&parts.records)));
        let anonymous_requests = parts.limits.anonymous;
        let limits = Arc::new(RateLimits::new(parts.limits).shared_by(parts.shared_quotas));
        let metrics = Arc::<ApiMetrics>::default();
        let admission = Admission {
            keys: Arc::clone(&keys),
            limits,
            page_budget: parts.page_budget,
            proxies: parts.proxies,
            metrics: Arc::clone(&metrics),
        };
        Self {
            database: parts.database,
            replica: parts.replica,
            tasks: parts.tasks,
            token_prefix: parts.token_prefix,
            issuer: KeyIssuer::new(Arc::clone(&parts.records), parts.services.node.clone()),
            services: parts.services,
            records: parts.records,
            webhooks: parts.webhooks,
            keys,
            access: parts.access,
            origins: parts.origins,
            anonymous_requests,
            admission: Arc::new(admission),
            streams: Streams::default(),
            metrics,
            response_cache_bytes: parts.response_cache_bytes,
        }
    }

    pub(crate) fn token_prefix(&self) -> TokenPrefix {
        self.token_prefix
    }

    /// Identifies and counts requests of dialects.
    #[must_use]
    pub fn gate(&self) -> Gate {
        Gate::new(Arc::clone(&self.admission))
    }

    pub(crate) fn response_cache(&self) -> ResponseCache {
        let version = IndexVersion::source(
            Arc::clone(&self.chain),
            Arc::clone(&self.verified),
            Arc::clone(&self.operator_names),
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
        KeyUses { keys: Arc::clone(&self.keys), limits: Arc::clone(&self.admission.limits) }
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
