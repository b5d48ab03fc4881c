//! Proxies and diamonds, found at most once a block.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use alloy_primitives::Address;
use domain::{BlockRef, SyncStatus};
use futures::future::BoxFuture;
use quick_cache::sync::Cache;
use store::{StateVersion, VerifiedContracts};
use tokio::sync::watch;

use crate::calls::{CallError, ContractCalls, Delegation, Proxy};

/// Contracts in each cache.
const CACHED_CONTRACTS: usize = 2_000;
/// On a chain for development, whose state also changes without a block.
const DEV_CHAIN_CACHED_FOR: Duration = Duration::from_millis(400);
/// Before the first block is indexed, and if blocks do not come.
const CACHED_FOR: Duration = Duration::from_secs(30);

/// Finds the contracts that an address delegates calls to.
pub struct Delegations {
    calls: Arc<ContractCalls>,
    verified: Arc<dyn VerifiedContracts>,
    sync: watch::Receiver<SyncStatus>,
    proxies: Cache<Address, Cached<Option<Proxy>>>,
    delegations: Cache<Address, Cached<Arc<Delegation>>>,
}

/// What an answer depends on: the block, and the verified contracts, whose facets are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Version {
    tip: Option<BlockRef>,
    verified: StateVersion,
}

#[derive(Debug, Clone)]
struct Cached<T> {
    version: Version,
    read_at: Instant,
    found: T,
}

impl Delegations {
    #[must_use]
    pub fn new(
        calls: Arc<ContractCalls>,
        verified: Arc<dyn VerifiedContracts>,
        sync: watch::Receiver<SyncStatus>,
    ) -> Self {
        let (proxies, delegations) = (Cache::new(CACHED_CONTRACTS), Cache::new(CACHED_CONTRACTS));
        Self { calls, verified, sync, proxies, delegations }
    }

    /// Whether the contract at an address is a proxy at the newest block.
    pub fn find_proxy(&self, address: Address) -> BoxFuture<'_, Result<Option<Proxy>, CallError>> {
        Box::pin(async move { self.find(&self.proxies, address, self.calls.find_first_proxy(address)).await })
    }

    /// The contracts that an address delegates calls to at the newest block.
    pub fn find_delegation(&self, address: Address) -> BoxFuture<'_, Result<Arc<Delegation>, CallError>> {
        let find = async move { self.calls.find_delegation(address).await.map(Arc::new) };
        Box::pin(async move { self.find(&self.delegations, address, find).await })
    }

    async fn find<T: Clone>(
        &self,
        cache: &Cache<Address, Cached<T>>,
        address: Address,
        find: impl Future<Output = Result<T, CallError>>,
    ) -> Result<T, CallError> {
        // The state before the call: what changes meanwhile is not missed.
        let (version, lasts, read_at) = (self.version(), self.cached_for(), Instant::now());
        let known = cache.get(&address).filter(|known| known.read_at.elapsed() < lasts);
        if let Some(known) = known.filter(|known| Some(known.version) == version) {
            return Ok(known.found);
        }
        let found = find.await?;
        if let Some(version) = version {
            cache.insert(address, Cached { version, read_at, found: found.clone() });
        }
        Ok(found)
    }

    /// None while something changes.
    fn version(&self) -> Option<Version> {
        Some(Version { tip: self.sync.borrow().tip, verified: self.verified.state()? })
    }

    fn cached_for(&self) -> Duration {
        if self.sync.borrow().is_dev_chain { DEV_CHAIN_CACHED_FOR } else { CACHED_FOR }
    }
}

impl std::fmt::Debug for Delegations {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Delegations").finish_non_exhaustive()
    }
}
