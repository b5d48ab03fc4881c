//! Diamonds (EIP-2535): contracts that delegate functions to facets. Read from the node and cached.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use contracts::calls::{Diamond, can_route};
use domain::Address;
use node::CallBlock;
use quick_cache::{Weighter, sync::Cache};
use store::StoreError;

use crate::{interfaces::KnownInterface, state::WebState};

/// Contracts in the cache, whether they are diamonds or not.
const CACHED_CONTRACTS: usize = 10_000;
/// Estimated memory of cached diamonds.
const CACHED_BYTES: u64 = 16 << 20;
/// Short, since a diamond may change its facets.
const CACHED_FOR: Duration = Duration::from_secs(30);
/// Estimated memory of a function or event in an interface and its decoder.
const ENTRY_BYTES: usize = 2_048;

pub(crate) struct Diamonds {
    cache: Cache<Address, (Instant, Option<Arc<KnownDiamond>>), ByBytes>,
}

/// A diamond with the interface to decode its calls and logs.
#[derive(Debug)]
pub(crate) struct KnownDiamond {
    pub(crate) diamond: Diamond,
    /// None if no facet is verified.
    pub(crate) interface: Option<KnownInterface>,
    bytes: u64,
}

#[derive(Debug, Clone)]
struct ByBytes;

impl Weighter<Address, (Instant, Option<Arc<KnownDiamond>>)> for ByBytes {
    fn weight(&self, _: &Address, (_, diamond): &(Instant, Option<Arc<KnownDiamond>>)) -> u64 {
        64 + diamond.as_ref().map_or(0, |diamond| diamond.bytes)
    }
}

impl Diamonds {
    pub(crate) fn new() -> Self {
        Self { cache: Cache::with_weighter(CACHED_CONTRACTS, CACHED_BYTES, ByBytes) }
    }
}

impl KnownDiamond {
    fn new(diamond: Diamond) -> Self {
        let interface = diamond.interface();
        let entries = interface
            .as_ref()
            .map_or(0, |interface| interface.functions.len() + interface.events.len() + interface.errors.len());
        let selectors: usize = diamond.facets.iter().map(|facet| facet.selectors.len()).sum();
        let bytes = (entries * ENTRY_BYTES + selectors * 4) as u64;
        Self { interface: interface.map(|interface| KnownInterface::new(interface, bytes)), diamond, bytes }
    }
}

impl WebState {
    /// The diamond at an address, if the contract or one of its implementations can route by selector.
    pub(crate) async fn diamond(
        &self,
        address: Address,
        implementations: &[Address],
    ) -> Result<Option<Arc<KnownDiamond>>, StoreError> {
        let cached = self.diamonds.cache.get(&address);
        if let Some((_, diamond)) = cached.filter(|(read_at, _)| self.is_fresh(*read_at, CACHED_FOR)) {
            return Ok(diamond);
        }
        let mut found = None;
        if self.can_any_route(address, implementations).await? {
            // Boxed to keep the future small: it contains many node calls.
            let result = self.node_calls.run(self.calls.find_diamond(address, CallBlock::Latest)).await;
            let Some(Ok(diamond)) = result else { return Ok(None) };
            found = diamond.map(|diamond| Arc::new(KnownDiamond::new(diamond)));
        }
        self.diamonds.cache.insert(address, (Instant::now(), found.clone()));
        Ok(found)
    }

    async fn can_any_route(&self, address: Address, implementations: &[Address]) -> Result<bool, StoreError> {
        for contract in std::iter::once(address).chain(implementations.iter().copied()) {
            if self.code_at(contract).await?.is_some_and(|(_, code)| can_route(&code)) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
