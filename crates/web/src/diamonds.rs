//! Diamonds (EIP-2535): contracts whose functions are those of their facets. The node is asked, and its answer cached.

use std::sync::Arc;
use std::time::{Duration, Instant};

use contracts::calls::{Diamond, can_route};
use domain::Address;
use node::CallBlock;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use store::StoreError;

use crate::interfaces::KnownInterface;
use crate::state::WebState;

/// Contracts of which is cached whether they are diamonds.
const CACHED: usize = 10_000;
/// Memory for those that are, roughly.
const CACHED_BYTES: u64 = 16 << 20;
/// A diamond can get other facets.
const GOOD_FOR: Duration = Duration::from_secs(30);
/// Roughly what a function or an event takes in memory, in an interface and in the decoder made from it.
const ENTRY_BYTES: usize = 2_048;

pub(crate) struct Diamonds {
    known: Cache<Address, (Instant, Option<Arc<KnownDiamond>>), ByBytes>,
}

/// A diamond, and what its calls and logs are read with.
#[derive(Debug)]
pub(crate) struct KnownDiamond {
    pub(crate) diamond: Diamond,
    /// None where no facet is verified.
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
        Self { known: Cache::with_weighter(CACHED, CACHED_BYTES, ByBytes) }
    }
}

impl KnownDiamond {
    fn new(diamond: Diamond) -> Self {
        let whole = diamond.interface();
        let entries = whole.as_ref().map_or(0, |whole| whole.functions.len() + whole.events.len() + whole.errors.len());
        let selectors: usize = diamond.facets.iter().map(|facet| facet.selectors.len()).sum();
        let bytes = (entries * ENTRY_BYTES + selectors * 4) as u64;
        Self { interface: whole.map(|whole| KnownInterface::new(whole, bytes)), diamond, bytes }
    }
}

impl WebState {
    /// The diamond that an address is, or that the contracts behind it make of it.
    pub(crate) async fn diamond(
        &self,
        address: Address,
        behind: &[Address],
    ) -> Result<Option<Arc<KnownDiamond>>, StoreError> {
        let known = self.diamonds.known.get(&address);
        if let Some((_, diamond)) = known.filter(|(asked_at, _)| asked_at.elapsed() < GOOD_FOR) {
            return Ok(diamond);
        }
        let mut found = None;
        if self.can_any_route(address, behind).await? {
            // Boxed, as many questions to the node are made inside of it: the stack of a worker is not for all of them.
            let asked = self.details.ask_node(Box::pin(self.calls.find_diamond(address, CallBlock::Latest))).await;
            let Some(Ok(diamond)) = asked else { return Ok(None) };
            found = diamond.map(|diamond| Arc::new(KnownDiamond::new(diamond)));
        }
        self.diamonds.known.insert(address, (Instant::now(), found.clone()));
        Ok(found)
    }

    async fn can_any_route(&self, address: Address, behind: &[Address]) -> Result<bool, StoreError> {
        for contract in std::iter::once(address).chain(behind.iter().copied()) {
            let Some(code_hash) = self.chain.find_code_hash(contract).await? else { continue };
            if self.chain.find_code(code_hash).await?.is_some_and(|code| can_route(&code)) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
