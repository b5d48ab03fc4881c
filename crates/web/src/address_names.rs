//! What is known about addresses: their names, what they are, and whom they imitate.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use contracts::Interfaces;
use domain::{Address, AddressFacts, SyncStatus};
use enrichment::Imitations;
use quick_cache::sync::Cache;
use services::Services;
use store::{ChainReader, StoreError, VerifiedContracts};
use tokio::sync::watch;

use crate::view::{Kind, Known, sanitize_name};

/// Short, since tokens get names and contracts are verified.
const CACHED_FOR: Duration = Duration::from_secs(30);
const CACHED_ADDRESSES: usize = 20_000;

pub(crate) struct AddressNames {
    chain: Arc<dyn ChainReader>,
    verified: Arc<dyn VerifiedContracts>,
    interfaces: Arc<Interfaces>,
    imitations: Arc<Imitations>,
    sync: watch::Receiver<SyncStatus>,
    cache: Cache<Address, Cached>,
}

/// What was known about an address, and when.
#[derive(Debug, Clone)]
struct Cached {
    known: Known,
    read_at: Instant,
    /// The number of verifications at that time: a newer one may be of this address.
    verifications: u64,
}

impl AddressNames {
    pub(crate) fn new(services: &Services) -> Self {
        Self {
            chain: Arc::clone(&services.chain),
            verified: Arc::clone(&services.verified),
            interfaces: Arc::clone(&services.interfaces),
            imitations: Arc::clone(&services.imitations),
            sync: services.sync.clone(),
            cache: Cache::new(CACHED_ADDRESSES),
        }
    }

    pub(crate) async fn find(&self, addresses: Vec<Address>) -> Result<HashMap<Address, Known>, StoreError> {
        let verifications = self.interfaces.count_verifications().await?;
        let is_fresh = |cached: &Cached| {
            cached.verifications == verifications && self.sync.borrow().is_fresh(cached.read_at, CACHED_FOR)
        };
        let mut known = HashMap::with_capacity(addresses.len());
        let mut missing = Vec::new();
        for address in addresses {
            match self.cache.get(&address).filter(is_fresh) {
                Some(cached) => {
                    known.insert(address, cached.known);
                }
                None => missing.push(address),
            }
        }
        if missing.is_empty() {
            return Ok(known);
        }
        for (address, facts) in missing.iter().zip(self.chain.describe_addresses(&missing).await?) {
            let found = self.look_up(*address, facts, verifications).await?;
            self.cache.insert(*address, Cached { known: found.clone(), read_at: Instant::now(), verifications });
            known.insert(*address, found);
        }
        Ok(known)
    }

    async fn look_up(&self, address: Address, facts: AddressFacts, verifications: u64) -> Result<Known, StoreError> {
        let verified = match facts.code_hash.filter(|_| verifications > 0) {
            Some(hash) => self.verified.find_verified_summary(address, hash).await?,
            None => None,
        };
        let is_verified = verified.as_ref().is_some_and(|verified| verified.twin_of.is_none());
        let imitates = match &facts.token {
            Some(token) => self.imitations.find(address, &token.symbol, &token.name).await?,
            None => None,
        };
        let token = facts.token.into_iter().flat_map(|token| [token.symbol, token.name]);
        let names = token.chain(verified.map(|verified| verified.name)).map(|name| sanitize_name(&name));
        Ok(Known {
            name: names.into_iter().find(|name| !name.is_empty()),
            kind: match facts.code_hash {
                _ if is_verified => Kind::VerifiedContract,
                Some(_) => Kind::Contract,
                None => Kind::Account,
            },
            has_no_code: facts.has_no_code,
            imitates,
        })
    }
}
