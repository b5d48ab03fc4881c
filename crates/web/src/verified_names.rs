//! Verified contracts by parts of their names, and by their code.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use domain::{Address, B256, ChainIdentity, PageRequest, SyncStatus};
use services::Services;
use store::{StoreError, VerifiedContracts};
use tokio::sync::watch;

/// The newest ones are searched.
const MAX_CONTRACTS: usize = 10_000;
const PAGE: u32 = 500;
/// New verifications are found after this time, so that nobody can have the names read for each of their requests.
const CACHED_FOR: Duration = Duration::from_secs(10);

/// The names of verified contracts, read when somebody searches or looks at a contract.
pub(crate) struct VerifiedNames {
    verified: Arc<dyn VerifiedContracts>,
    sync: watch::Receiver<SyncStatus>,
    cached: Mutex<Option<Cached>>,
}

#[derive(Debug, Clone)]
struct Cached {
    names: Arc<[NamedContract]>,
    verifications: u64,
    chain: Option<ChainIdentity>,
    read_at: Instant,
}

#[derive(Debug, Clone)]
pub(crate) struct NamedContract {
    pub(crate) address: Address,
    pub(crate) name: String,
    lower: String,
    code_hash: B256,
}

/// Verified contracts with the same code.
pub(crate) struct SameCode {
    /// The first ones, those verified last come first.
    pub(crate) addresses: Vec<Address>,
    pub(crate) total: usize,
}

/// The names at one time.
pub(crate) struct NameList(Arc<[NamedContract]>);

impl NameList {
    /// Contracts whose names contain the text, those that begin with it first.
    pub(crate) fn search(&self, text: &str, limit: usize) -> Vec<NamedContract> {
        let text = text.to_lowercase();
        let (first, rest): (Vec<&NamedContract>, Vec<_>) =
            self.0.iter().filter(|named| named.lower.contains(&text)).partition(|named| named.lower.starts_with(&text));
        first.into_iter().chain(rest).take(limit).cloned().collect()
    }

    /// Other verified contracts with this code, among the newest ones. The index has no list of all contracts with some code.
    pub(crate) fn with_code(&self, code_hash: B256, except: Address, limit: usize) -> SameCode {
        let same = self.0.iter().filter(|named| named.code_hash == code_hash && named.address != except);
        let addresses: Vec<Address> = same.clone().take(limit).map(|named| named.address).collect();
        SameCode { total: same.count(), addresses }
    }
}

impl VerifiedNames {
    pub(crate) fn new(services: &Services) -> Self {
        Self { verified: Arc::clone(&services.verified), sync: services.sync.clone(), cached: Mutex::default() }
    }

    pub(crate) async fn list(&self) -> Result<NameList, StoreError> {
        let chain = self.sync.borrow().chain;
        let verifications = self.verified.count_verifications().await?;
        let cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let is_valid = |cached: &Cached| {
            // After a new start of the index, fewer contracts may be listed than before.
            let is_unchanged = cached.verifications == verifications && cached.chain == chain;
            is_unchanged || self.sync.borrow().is_fresh(cached.read_at, CACHED_FOR)
        };
        if let Some(cached) = cached.filter(is_valid) {
            return Ok(NameList(cached.names));
        }
        let mut names = Vec::new();
        while names.len() < MAX_CONTRACTS {
            let page = PageRequest { offset: names.len() as u64, ..PageRequest::newest(PAGE) };
            let found = self.verified.list_verified(page).await?.items;
            if found.is_empty() {
                break;
            }
            names.extend(found.into_iter().map(|summary| NamedContract {
                address: summary.address,
                code_hash: summary.code_hash,
                lower: summary.name.to_lowercase(),
                name: summary.name,
            }));
        }
        let names: Arc<[NamedContract]> = names.into();
        let cached = Cached { names: Arc::clone(&names), verifications, chain, read_at: Instant::now() };
        *self.cached.lock().unwrap_or_else(PoisonError::into_inner) = Some(cached);
        Ok(NameList(names))
    }
}
