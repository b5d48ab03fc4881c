//! Names of the addresses on one page.
//!
//! While a page is put together, its links only note their addresses. All of them are looked up at once before the page is
//! rendered, so that a page costs the same few queries however many links it has.

use std::{
    collections::{BTreeSet, HashMap},
    ops::Deref,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::{Duration, Instant},
};

use askama::Template;
use axum::response::Response;
use domain::{Address, AddressFacts};
use quick_cache::sync::Cache;
use store::StoreError;

use crate::{
    error::PageError,
    frame,
    names::Names,
    state::WebState,
    view::{AddressLink, Direction, TokenLink, sanitize_name},
};

const CACHED_ADDRESSES: usize = 20_000;
/// Short, since tokens get names and contracts are verified.
const CACHED_FOR: Duration = Duration::from_secs(30);

/// What the index knows about an address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Known {
    /// That the contract gives itself: the symbol of a token, or the name in a verified source. Anyone can choose it.
    pub(crate) name: Option<String>,
    pub(crate) kind: Kind,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An account, or an address that is not indexed.
    #[default]
    Account,
    Contract,
    VerifiedContract,
}

/// Filled before the page is rendered.
pub(crate) type KnownAddresses = Arc<OnceLock<HashMap<Address, Known>>>;

/// The names of one page.
pub(crate) struct PageNames {
    names: Names,
    /// The address that the page is about.
    subject: Option<Address>,
    noted: Mutex<BTreeSet<Address>>,
    known: KnownAddresses,
}

impl Deref for PageNames {
    type Target = Names;

    fn deref(&self) -> &Names {
        &self.names
    }
}

impl PageNames {
    fn new(names: Names) -> Self {
        Self { names, subject: None, noted: Mutex::default(), known: KnownAddresses::default() }
    }

    pub(crate) fn address(&self, address: Address) -> AddressLink {
        let link = AddressLink::new(address, self.names.label(&address).as_deref(), self.note(address));
        if self.subject == Some(address) { link.here() } else { link }
    }

    /// For the page of an address.
    pub(crate) fn about(self, address: Address) -> Self {
        Self { subject: Some(address), ..self }
    }

    pub(crate) fn direction(&self, from: Address, to: Option<Address>) -> Option<Direction> {
        let subject = self.subject?;
        Some(match (from == subject, to == Some(subject)) {
            (true, true) => Direction::ToSelf,
            (true, false) => Direction::Out,
            (false, _) => Direction::In,
        })
    }

    pub(crate) fn token(&self, address: Address, symbol: &str, name: &str) -> TokenLink {
        TokenLink::new(address, symbol, name, self.note(address))
    }

    /// Without names that were read from the contract, a link shows the address.
    pub(crate) fn token_if_read(&self, address: Address, symbol: Option<&str>, name: Option<&str>) -> TokenLink {
        self.token(address, symbol.unwrap_or_default(), name.unwrap_or_default())
    }

    fn note(&self, address: Address) -> KnownAddresses {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner).insert(address);
        Arc::clone(&self.known)
    }
}

/// What was known about an address, and when.
#[derive(Debug, Clone)]
pub(crate) struct CachedName {
    known: Known,
    read_at: Instant,
    /// The number of verifications at that time: a newer one may be of this address.
    verifications: u64,
}

pub(crate) fn cache() -> Cache<Address, CachedName> {
    Cache::new(CACHED_ADDRESSES)
}

impl WebState {
    pub(crate) fn page_names(&self) -> PageNames {
        PageNames::new(self.names.clone())
    }

    /// Renders a page after its addresses were looked up.
    pub(crate) async fn page(&self, names: &PageNames, template: &impl Template) -> Result<Response, PageError> {
        let noted = std::mem::take(&mut *names.noted.lock().unwrap_or_else(PoisonError::into_inner));
        // Filled only here.
        let _ = names.known.set(self.known_addresses(noted.into_iter().collect()).await?);
        frame::page(template)
    }

    async fn known_addresses(&self, addresses: Vec<Address>) -> Result<HashMap<Address, Known>, StoreError> {
        let verifications = self.verified_count().await?;
        let is_fresh =
            |cached: &CachedName| cached.verifications == verifications && self.is_fresh(cached.read_at, CACHED_FOR);
        let mut known = HashMap::with_capacity(addresses.len());
        let mut missing = Vec::new();
        for address in addresses {
            match self.known_names.get(&address).filter(is_fresh) {
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
            let found = self.known_address(*address, facts, verifications).await?;
            let cached = CachedName { known: found.clone(), read_at: Instant::now(), verifications };
            self.known_names.insert(*address, cached);
            known.insert(*address, found);
        }
        Ok(known)
    }

    async fn known_address(
        &self,
        address: Address,
        facts: AddressFacts,
        verifications: u64,
    ) -> Result<Known, StoreError> {
        let verified = match facts.code_hash.filter(|_| verifications > 0) {
            Some(hash) => self.verified.find_verified_summary(address, hash).await?,
            None => None,
        };
        let is_verified = verified.as_ref().is_some_and(|verified| verified.twin_of.is_none());
        let token = facts.token.into_iter().flat_map(|token| [token.symbol, token.name]);
        let names = token.chain(verified.map(|verified| verified.name)).map(|name| sanitize_name(&name));
        Ok(Known {
            name: names.into_iter().find(|name| !name.is_empty()),
            kind: match facts.code_hash {
                _ if is_verified => Kind::VerifiedContract,
                Some(_) => Kind::Contract,
                None => Kind::Account,
            },
        })
    }
}
