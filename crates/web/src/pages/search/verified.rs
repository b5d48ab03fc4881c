//! Verified contracts by parts of their names, and by their code.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use domain::{Address, B256, ChainIdentity, PageRequest};
use store::StoreError;

use crate::state::WebState;

/// The newest ones are searched.
const MAX_CONTRACTS: usize = 10_000;
const PAGE: u32 = 500;
/// New verifications are found after this time, so that nobody can have the names read for each of their requests.
const CACHED_FOR: Duration = Duration::from_secs(10);

/// The names of verified contracts, read when somebody searches or looks at a contract.
#[derive(Debug, Default)]
pub(crate) struct VerifiedNames {
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
pub(super) struct NamedContract {
    pub(super) address: Address,
    pub(super) name: String,
    lower: String,
    code_hash: B256,
}

/// Verified contracts with the same code.
pub(in crate::pages) struct SameCode {
    /// The first ones, those verified last come first.
    pub(in crate::pages) addresses: Vec<Address>,
    pub(in crate::pages) total: usize,
}

impl WebState {
    /// Contracts whose names contain the text, those that begin with it first.
    pub(super) async fn search_verified(&self, text: &str, limit: usize) -> Result<Vec<NamedContract>, StoreError> {
        let text = text.to_lowercase();
        let names = self.verified_names().await?;
        let (first, rest): (Vec<&NamedContract>, Vec<_>) =
            names.iter().filter(|named| named.lower.contains(&text)).partition(|named| named.lower.starts_with(&text));
        Ok(first.into_iter().chain(rest).take(limit).cloned().collect())
    }

    /// Other verified contracts with this code, among the newest ones. The index has no list of all contracts with some code.
    pub(in crate::pages) async fn verified_with_code(
        &self,
        code_hash: B256,
        except: Address,
        limit: usize,
    ) -> Result<SameCode, StoreError> {
        let names = self.verified_names().await?;
        let same = names.iter().filter(|named| named.code_hash == code_hash && named.address != except);
        let addresses: Vec<Address> = same.clone().take(limit).map(|named| named.address).collect();
        Ok(SameCode { total: same.count(), addresses })
    }

    async fn verified_names(&self) -> Result<Arc<[NamedContract]>, StoreError> {
        let (verifications, chain) = (self.verified_count().await?, self.sync.borrow().chain);
        let cached = self.verified_names.cached.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let is_valid = |cached: &Cached| {
            // After a new start of the index, fewer contracts may be listed than before.
            let is_unchanged = cached.verifications == verifications && cached.chain == chain;
            is_unchanged || self.is_fresh(cached.read_at, CACHED_FOR)
        };
        if let Some(cached) = cached.filter(is_valid) {
            return Ok(cached.names);
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
        *self.verified_names.cached.lock().unwrap_or_else(PoisonError::into_inner) = Some(cached);
        Ok(names)
    }
}
