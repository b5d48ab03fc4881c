//! Interfaces (ABIs) of contracts: of the verified contract itself, of a twin with the same code, of a proxy's implementation, or
//! of a diamond's facets. Read from the index and the node, and cached.

mod known_diamond;
mod known_interface;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use alloy_primitives::{Address, B256, Bytes};
use domain::{Code, SyncStatus, VerifiedSummary};
use futures::future::BoxFuture;
use node::{CallBlock, NodeClient};
use quick_cache::{Weighter, sync::Cache};
use store::{ChainReader, StoreError, VerifiedContracts};
use tokio::sync::watch;

use self::known_interface::SizedDecoder;
pub use self::{known_diamond::KnownDiamond, known_interface::KnownInterface};
use crate::{
    Interface,
    calls::{ContractCalls, MAX_HOPS, can_route},
};

/// Contracts in each cache, verified or not, diamonds or not.
const CACHED_CONTRACTS: usize = 10_000;
/// Size of the cached interfaces, measured as JSON.
const CACHED_BYTES: u64 = 16 << 20;
/// Estimated memory of cached diamonds.
const CACHED_DIAMOND_BYTES: u64 = 16 << 20;
/// Short, since an address may get other code, a proxy another implementation, and a diamond other facets.
const CACHED_FOR: Duration = Duration::from_secs(30);

/// The limits within which somebody may call the node.
pub trait NodeAccess: Send + Sync {
    /// Runs an operation on the node, unless a limit is reached. It may end before the operation has.
    fn run<'a>(&'a self, operation: BoxFuture<'a, ()>) -> BoxFuture<'a, ()>;
}

/// The result of an operation on the node; None if it did not end within the limits.
async fn within<T: Send>(access: &dyn NodeAccess, operation: impl Future<Output = T> + Send) -> Option<T> {
    let mut result = None;
    let filled = &mut result;
    access.run(Box::pin(async move { *filled = Some(operation.await) })).await;
    result
}

/// Finds the interfaces of contracts.
pub struct Interfaces {
    node: NodeClient,
    chain: Arc<dyn ChainReader>,
    verified: Arc<dyn VerifiedContracts>,
    calls: Arc<ContractCalls>,
    sync: watch::Receiver<SyncStatus>,
    /// The verified source of the code at an address.
    sources: Cache<Address, KnownSource>,
    /// By build.
    decoders: Cache<B256, Arc<SizedDecoder>, ByBytes>,
    implementations: Cache<Address, (Instant, Option<Address>)>,
    diamonds: Cache<Address, CachedDiamond, ByBytes>,
}

/// What interfaces are found with.
#[expect(missing_debug_implementations, reason = "traits without Debug")]
pub struct InterfacesParts {
    pub node: NodeClient,
    pub chain: Arc<dyn ChainReader>,
    pub verified: Arc<dyn VerifiedContracts>,
    pub calls: Arc<ContractCalls>,
    pub sync: watch::Receiver<SyncStatus>,
}

#[derive(Debug, Clone)]
struct KnownSource {
    verified: Option<VerifiedSummary>,
    read_at: Instant,
    /// The number of verifications at that time: a newer verification may be the missing one.
    verifications: u64,
}

type CachedDiamond = (Instant, Option<Arc<KnownDiamond>>);

#[derive(Debug, Clone)]
struct ByBytes;

impl Weighter<B256, Arc<SizedDecoder>> for ByBytes {
    fn weight(&self, _: &B256, decoder: &Arc<SizedDecoder>) -> u64 {
        decoder.bytes
    }
}

impl Weighter<Address, CachedDiamond> for ByBytes {
    fn weight(&self, _: &Address, (_, diamond): &CachedDiamond) -> u64 {
        64 + diamond.as_ref().map_or(0, |diamond| diamond.bytes)
    }
}

impl Interfaces {
    #[must_use]
    pub fn new(parts: InterfacesParts) -> Self {
        let InterfacesParts { node, chain, verified, calls, sync } = parts;
        Self {
            node,
            chain,
            verified,
            calls,
            sync,
            sources: Cache::new(CACHED_CONTRACTS),
            decoders: Cache::with_weighter(CACHED_CONTRACTS / 100, CACHED_BYTES, ByBytes),
            implementations: Cache::new(CACHED_CONTRACTS),
            diamonds: Cache::with_weighter(CACHED_CONTRACTS, CACHED_DIAMOND_BYTES, ByBytes),
        }
    }

    /// The number of verifications. [`Self::own`] needs it; read once for all contracts of a page.
    pub fn count_verifications(&self) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(async move { self.verified.count_verifications().await })
    }

    /// The interface of the code at an address, verified there or at a twin. Makes no node calls, except on a chain for
    /// development.
    pub fn own<'a>(
        &'a self,
        address: Address,
        verifications: u64,
        access: &'a dyn NodeAccess,
    ) -> BoxFuture<'a, Result<Option<KnownInterface>, StoreError>> {
        Box::pin(async move {
            if verifications == 0 {
                return Ok(None);
            }
            let cached = self.sources.get(&address);
            let fresh = cached.filter(|cached| cached.verifications == verifications && self.is_fresh(cached.read_at));
            let source = match fresh {
                Some(source) => source,
                None => {
                    let found = self.find_source(address, access).await?;
                    let source = KnownSource { verified: found, read_at: Instant::now(), verifications };
                    self.sources.insert(address, source.clone());
                    source
                }
            };
            match source.verified {
                Some(summary) => self.interface(&summary).await,
                None => Ok(None),
            }
        })
    }

    /// The interfaces to decode calls of an address with: those of facets and implementations before its own.
    pub fn of<'a>(
        &'a self,
        address: Address,
        access: &'a dyn NodeAccess,
    ) -> BoxFuture<'a, Result<Vec<KnownInterface>, StoreError>> {
        Box::pin(async move {
            let verifications = self.count_verifications().await?;
            if verifications == 0 {
                return Ok(Vec::new());
            }
            let mut interfaces = Vec::new();
            let implementations = self.implementations(address, access).await?;
            let diamond = self.diamond(address, &implementations, access).await?;
            interfaces.extend(diamond.and_then(|diamond| diamond.interface.clone()));
            for implementation in &implementations {
                interfaces.extend(self.own(*implementation, verifications, access).await?);
            }
            interfaces.extend(self.own(address, verifications, access).await?);
            Ok(interfaces)
        })
    }

    /// The implementation of a proxy, the implementation of that one if it is a proxy too, and so on.
    pub fn implementations<'a>(
        &'a self,
        address: Address,
        access: &'a dyn NodeAccess,
    ) -> BoxFuture<'a, Result<Vec<Address>, StoreError>> {
        Box::pin(async move {
            let mut chain = Vec::new();
            while chain.len() < MAX_HOPS {
                let Some(target) = self.implementation(*chain.last().unwrap_or(&address), access).await? else { break };
                chain.push(target);
            }
            Ok(chain)
        })
    }

    /// The diamond at an address, if the contract or one of its implementations can route by selector.
    pub fn diamond<'a>(
        &'a self,
        address: Address,
        implementations: &'a [Address],
        access: &'a dyn NodeAccess,
    ) -> BoxFuture<'a, Result<Option<Arc<KnownDiamond>>, StoreError>> {
        Box::pin(async move {
            let cached = self.diamonds.get(&address);
            if let Some((_, diamond)) = cached.filter(|(read_at, _)| self.is_fresh(*read_at)) {
                return Ok(diamond);
            }
            let mut found = None;
            if self.can_any_route(address, implementations, access).await? {
                let result = within(access, self.calls.find_diamond(address, CallBlock::Latest)).await;
                let Some(Ok(diamond)) = result else { return Ok(None) };
                found = diamond.map(|diamond| Arc::new(KnownDiamond::new(diamond)));
            }
            self.diamonds.insert(address, (Instant::now(), found.clone()));
            Ok(found)
        })
    }

    /// The code at an address and its hash, as far as it is indexed. On a chain for development the node is asked, since there
    /// code also changes without a transaction (`anvil_setCode`).
    pub fn code_at<'a>(
        &'a self,
        address: Address,
        access: &'a dyn NodeAccess,
    ) -> BoxFuture<'a, Result<Option<(B256, Bytes)>, StoreError>> {
        Box::pin(async move {
            if self.is_dev_chain()
                && let Some(Ok(code)) = within(access, self.node.code(address, CallBlock::Latest)).await
            {
                return Ok(Code::from_bytes(&code).hash().map(|hash| (hash, code)));
            }
            let Some(hash) = self.chain.find_code_hash(address).await? else { return Ok(None) };
            // None after a reorg in between: code that is not known is not empty code.
            Ok(self.chain.find_code(hash).await?.map(|code| (hash, code)))
        })
    }

    /// The hash of the code at an address, as [`Self::code_at`].
    pub fn code_hash_at<'a>(
        &'a self,
        address: Address,
        access: &'a dyn NodeAccess,
    ) -> BoxFuture<'a, Result<Option<B256>, StoreError>> {
        Box::pin(async move {
            if self.is_dev_chain() {
                return Ok(self.code_at(address, access).await?.map(|(hash, _)| hash));
            }
            self.chain.find_code_hash(address).await
        })
    }

    async fn find_source(
        &self,
        address: Address,
        access: &dyn NodeAccess,
    ) -> Result<Option<VerifiedSummary>, StoreError> {
        let Some(code_hash) = self.code_hash_at(address, access).await? else { return Ok(None) };
        self.verified.find_verified_summary(address, code_hash).await
    }

    async fn interface(&self, summary: &VerifiedSummary) -> Result<Option<KnownInterface>, StoreError> {
        if let Some(decoder) = self.decoders.get(&summary.build) {
            return Ok(Some(KnownInterface(decoder)));
        }
        let found = self.verified.find_verified(summary.address, summary.code_hash).await?;
        let Some(code) = found.map(|found| found.code) else { return Ok(None) };
        let decoder = Arc::new(SizedDecoder::new(Interface::read(&code.abi), code.abi.len() as u64 + 1));
        self.decoders.insert(code.build(), Arc::clone(&decoder));
        Ok(Some(KnownInterface(decoder)))
    }

    /// The implementation of a proxy, read from the node. None if the node does not respond in time.
    async fn implementation(&self, address: Address, access: &dyn NodeAccess) -> Result<Option<Address>, StoreError> {
        let cached = self.implementations.get(&address);
        if let Some((_, implementation)) = cached.filter(|(read_at, _)| self.is_fresh(*read_at)) {
            return Ok(implementation);
        }
        let Some((_, code)) = self.code_at(address, access).await? else { return Ok(None) };
        let Some(Ok(proxy)) = within(access, self.calls.find_proxy(address, &code)).await else { return Ok(None) };
        let implementation = proxy.map(|proxy| proxy.implementation);
        self.implementations.insert(address, (Instant::now(), implementation));
        Ok(implementation)
    }

    async fn can_any_route(
        &self,
        address: Address,
        implementations: &[Address],
        access: &dyn NodeAccess,
    ) -> Result<bool, StoreError> {
        for contract in std::iter::once(address).chain(implementations.iter().copied()) {
            if self.code_at(contract, access).await?.is_some_and(|(_, code)| can_route(&code)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_fresh(&self, read_at: Instant) -> bool {
        self.sync.borrow().is_fresh(read_at, CACHED_FOR)
    }

    fn is_dev_chain(&self) -> bool {
        self.sync.borrow().is_dev_chain
    }
}

impl std::fmt::Debug for Interfaces {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Interfaces").field("node", &self.node).finish_non_exhaustive()
    }
}
