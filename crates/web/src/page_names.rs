//! Looks up the names of the addresses on a page.

mod cache;

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use askama::Template;
use axum::response::Response;
use domain::{Address, AddressFacts};
use store::StoreError;

pub(crate) use self::cache::{CachedName, name_cache};
use crate::{
    error::PageError,
    frame,
    state::WebState,
    view::{Kind, Known, PageNames, sanitize_name},
};

/// Short, since tokens get names and contracts are verified.
const CACHED_FOR: Duration = Duration::from_secs(30);

impl WebState {
    pub(crate) fn page_names(&self) -> PageNames {
        PageNames::new(self.names.clone())
    }

    /// Renders a page after its addresses were looked up.
    pub(crate) async fn page(&self, names: &PageNames, template: &impl Template) -> Result<Response, PageError> {
        names.set_known(self.known_addresses(names.take_noted()).await?);
        frame::page(template)
    }

    async fn known_addresses(&self, addresses: Vec<Address>) -> Result<HashMap<Address, Known>, StoreError> {
        let verifications = self.interfaces.count_verifications().await?;
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
