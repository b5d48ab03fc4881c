use std::{
    num::NonZeroU32,
    sync::Arc,
    time::{Duration, Instant},
};

use client_address::TrustedProxies;
use contracts::calls::ContractCalls;
use domain::{Address, B256, Bytes, Code, SyncStatus};
use enrichment::{Accounts, Allowances, Failures, NftMetadataFetcher, TopAccounts};
use node::{CallBlock, NodeClient};
use quick_cache::sync::Cache;
use store::{ChainReader, StoreError, VerifiedContracts};
use tokio::sync::watch;
use verification::{KnownContracts, VerificationJobs};

use crate::{
    base_path::BasePath,
    branding::Branding,
    budget::PageBudget,
    details::Details,
    diamonds::Diamonds,
    interfaces::Interfaces,
    names::Names,
    page_names::{self, CachedName},
    public_url::PublicUrl,
    recent_days::RecentDays,
    tour::TourStop,
    verified_names::VerifiedNames,
};

/// How long something is cached on a chain for development.
const DEV_CHAIN_CACHED_FOR: Duration = Duration::from_millis(400);

/// The dependencies of the pages.
#[expect(missing_debug_implementations, reason = "traits without Debug")]
pub struct WebParts {
    pub chain: Arc<dyn ChainReader>,
    pub accounts: Arc<Accounts>,
    pub failures: Arc<Failures>,
    /// None if metadata of NFTs is not fetched.
    pub nft_metadata: Option<Arc<NftMetadataFetcher>>,
    /// None if top accounts are not listed.
    pub top_accounts: Option<Arc<TopAccounts>>,
    pub node: NodeClient,
    pub verified: Arc<dyn VerifiedContracts>,
    pub jobs: VerificationJobs,
    pub sync: watch::Receiver<SyncStatus>,
    pub names: Names,
    /// Links of the first page to what a newcomer may want to see; without any, there is no such panel.
    pub tour: Vec<TourStop>,
    pub branding: Branding,
    /// With one, there is a sitemap, and pages name their canonical URLs.
    pub public_url: Option<PublicUrl>,
    /// Pages per minute and client; None means unlimited.
    pub pages_per_minute: Option<NonZeroU32>,
    pub proxies: TrustedProxies,
}

/// The state as handlers extract it.
pub(crate) type App = Arc<WebState>;

/// The state that handlers share.
pub(crate) struct WebState {
    pub(crate) chain: Arc<dyn ChainReader>,
    pub(crate) accounts: Arc<Accounts>,
    pub(crate) failures: Arc<Failures>,
    pub(crate) nft_metadata: Option<Arc<NftMetadataFetcher>>,
    pub(crate) top_accounts: Option<Arc<TopAccounts>>,
    pub(crate) allowances: Allowances,
    pub(crate) details: Details,
    pub(crate) verified: Arc<dyn VerifiedContracts>,
    pub(crate) jobs: VerificationJobs,
    pub(crate) known: KnownContracts,
    pub(crate) calls: ContractCalls,
    pub(crate) interfaces: Interfaces,
    pub(crate) diamonds: Diamonds,
    pub(crate) sync: watch::Receiver<SyncStatus>,
    pub(crate) names: Names,
    pub(crate) tour: Vec<TourStop>,
    pub(crate) base_path: BasePath,
    pub(crate) branding: Branding,
    /// The public URL, without a slash at the end.
    pub(crate) site_url: Option<Arc<str>>,
    pub(crate) known_names: Cache<Address, CachedName>,
    pub(crate) verified_names: VerifiedNames,
    pub(crate) days: RecentDays,
    pub(crate) budget: Arc<PageBudget>,
    node: NodeClient,
}

impl WebState {
    pub(crate) fn new(parts: WebParts) -> Self {
        let base_path = parts.public_url.as_ref().map(PublicUrl::base_path).unwrap_or_default();
        let site_url = parts.public_url.map(|url| url.to_string().into());
        let budget = Arc::new(PageBudget::new(parts.pages_per_minute, parts.proxies));
        Self {
            verified_names: VerifiedNames::new(Arc::clone(&parts.verified)),
            days: RecentDays::new(Arc::clone(&parts.chain)),
            known: KnownContracts::new(parts.node.clone(), Arc::clone(&parts.chain), Arc::clone(&parts.verified)),
            chain: parts.chain,
            accounts: parts.accounts,
            failures: parts.failures,
            nft_metadata: parts.nft_metadata,
            top_accounts: parts.top_accounts,
            calls: ContractCalls::new(parts.node.clone(), Arc::clone(&parts.verified)),
            verified: parts.verified,
            interfaces: Interfaces::new(),
            diamonds: Diamonds::new(),
            jobs: parts.jobs,
            allowances: Allowances::new(parts.node.clone()),
            node: parts.node.clone(),
            details: Details::new(parts.node, Arc::clone(&budget)),
            budget,
            sync: parts.sync,
            names: parts.names,
            tour: parts.tour,
            known_names: page_names::cache(),
            base_path,
            branding: parts.branding,
            site_url,
        }
    }

    /// None before the node has responded for the first time.
    pub(crate) fn chain_id(&self) -> Option<u64> {
        self.sync.borrow().chain.map(|chain| chain.chain_id)
    }

    /// Whether something that was read at this time is fresh enough. On a chain for development, whose state also changes without
    /// a block, that is only for a moment.
    pub(crate) fn is_fresh(&self, read_at: Instant, cached_for: Duration) -> bool {
        read_at.elapsed() < if self.is_dev_chain() { DEV_CHAIN_CACHED_FOR } else { cached_for }
    }

    fn is_dev_chain(&self) -> bool {
        self.sync.borrow().is_dev_chain
    }

    /// The code at an address and its hash, as far as it is indexed. On a chain for development the node is asked, since there
    /// code also changes without a transaction (`anvil_setCode`).
    pub(crate) async fn code_at(&self, address: Address) -> Result<Option<(B256, Bytes)>, StoreError> {
        if self.is_dev_chain()
            && let Some(Ok(code)) = self.details.call_node(self.node.code(address, CallBlock::Latest)).await
        {
            return Ok(Code::from_bytes(&code).hash().map(|hash| (hash, code)));
        }
        let Some(hash) = self.chain.find_code_hash(address).await? else { return Ok(None) };
        Ok(Some((hash, self.chain.find_code(hash).await?.unwrap_or_default())))
    }

    /// The hash of the code at an address, as [`Self::code_at`].
    pub(crate) async fn code_hash_at(&self, address: Address) -> Result<Option<B256>, StoreError> {
        if self.is_dev_chain() {
            return Ok(self.code_at(address).await?.map(|(hash, _)| hash));
        }
        self.chain.find_code_hash(address).await
    }
}
