//! Interfaces (ABIs) of contracts: of the verified contract itself, of a twin with the same code, or of a proxy's implementation.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use contracts::{Interface, calls::MAX_HOPS, decode::Decoder};
use domain::{Address, B256, VerifiedSummary};
use quick_cache::{Weighter, sync::Cache};
use store::StoreError;

use crate::state::WebState;

/// Contracts in the cache, verified or not.
const CACHED_CONTRACTS: usize = 10_000;
/// Size of the cached interfaces, measured as JSON.
const CACHED_BYTES: u64 = 16 << 20;
/// Short, since an address may get other code, and a proxy another implementation.
const CACHED_FOR: Duration = Duration::from_secs(30);

pub(crate) struct Interfaces {
    /// The verified source of the code at an address.
    sources: Cache<Address, KnownSource>,
    /// By build.
    decoders: Cache<B256, Arc<SizedDecoder>, ByBytes>,
    implementations: Cache<Address, (Instant, Option<Address>)>,
}

#[derive(Debug, Clone)]
struct KnownSource {
    verified: Option<VerifiedSummary>,
    read_at: Instant,
    /// The number of verifications at that time: a newer verification may be the missing one.
    verifications: u64,
}

#[derive(Debug)]
struct SizedDecoder {
    decoder: Decoder,
    bytes: u64,
}

#[derive(Debug, Clone)]
struct ByBytes;

impl Weighter<B256, Arc<SizedDecoder>> for ByBytes {
    fn weight(&self, _: &B256, decoder: &Arc<SizedDecoder>) -> u64 {
        decoder.bytes
    }
}

/// An interface to decode calls and logs with.
#[derive(Debug, Clone)]
pub(crate) struct KnownInterface(Arc<SizedDecoder>);

impl KnownInterface {
    pub(crate) fn new(interface: Interface, bytes: u64) -> Self {
        Self(Arc::new(SizedDecoder { decoder: Decoder::new(interface), bytes }))
    }
}

impl std::ops::Deref for KnownInterface {
    type Target = Decoder;

    fn deref(&self) -> &Decoder {
        &self.0.decoder
    }
}

impl Interfaces {
    pub(crate) fn new() -> Self {
        Self {
            sources: Cache::new(CACHED_CONTRACTS),
            decoders: Cache::with_weighter(CACHED_CONTRACTS / 100, CACHED_BYTES, ByBytes),
            implementations: Cache::new(CACHED_CONTRACTS),
        }
    }
}

impl WebState {
    /// The number of verifications. [`Self::own_interface`] needs it; read once per page.
    pub(crate) async fn verified_count(&self) -> Result<u64, StoreError> {
        self.verified.count_verifications().await
    }

    /// The interface of the code at an address, verified there or at a twin. Makes no node calls.
    pub(crate) async fn own_interface(
        &self,
        address: Address,
        verifications: u64,
    ) -> Result<Option<KnownInterface>, StoreError> {
        if verifications == 0 {
            return Ok(None);
        }
        let cached = self.interfaces.sources.get(&address);
        let fresh =
            cached.filter(|cached| cached.verifications == verifications && self.is_fresh(cached.read_at, CACHED_FOR));
        let source = match fresh {
            Some(source) => source,
            None => {
                let found = self.find_source(address).await?;
                let source = KnownSource { verified: found, read_at: Instant::now(), verifications };
                self.interfaces.sources.insert(address, source.clone());
                source
            }
        };
        match source.verified {
            Some(summary) => self.interface(&summary).await,
            None => Ok(None),
        }
    }

    async fn find_source(&self, address: Address) -> Result<Option<VerifiedSummary>, StoreError> {
        let Some(code_hash) = self.code_hash_at(address).await? else { return Ok(None) };
        self.verified.find_verified_summary(address, code_hash).await
    }

    async fn interface(&self, summary: &VerifiedSummary) -> Result<Option<KnownInterface>, StoreError> {
        if let Some(decoder) = self.interfaces.decoders.get(&summary.build) {
            return Ok(Some(KnownInterface(decoder)));
        }
        let found = self.verified.find_verified(summary.address, summary.code_hash).await?;
        let Some(code) = found.map(|found| found.code) else { return Ok(None) };
        let decoder = Decoder::new(Interface::read(&code.abi));
        let decoder = Arc::new(SizedDecoder { decoder, bytes: code.abi.len() as u64 + 1 });
        self.interfaces.decoders.insert(code.build(), Arc::clone(&decoder));
        Ok(Some(KnownInterface(decoder)))
    }

    /// The interfaces to decode calls of an address with: those of facets and implementations before its own.
    pub(crate) async fn interfaces_of(&self, address: Address) -> Result<Vec<KnownInterface>, StoreError> {
        let verifications = self.verified_count().await?;
        if verifications == 0 {
            return Ok(Vec::new());
        }
        let mut interfaces = Vec::new();
        let implementations = self.implementations(address).await?;
        let diamond = self.diamond(address, &implementations).await?;
        interfaces.extend(diamond.and_then(|diamond| diamond.interface.clone()));
        for implementation in &implementations {
            interfaces.extend(self.own_interface(*implementation, verifications).await?);
        }
        interfaces.extend(self.own_interface(address, verifications).await?);
        Ok(interfaces)
    }

    /// The implementation of a proxy, the implementation of that one if it is a proxy too, and so on.
    pub(crate) async fn implementations(&self, address: Address) -> Result<Vec<Address>, StoreError> {
        let mut chain = Vec::new();
        while chain.len() < MAX_HOPS {
            let Some(target) = self.implementation(*chain.last().unwrap_or(&address)).await? else { break };
            chain.push(target);
        }
        Ok(chain)
    }

    /// The implementation of a proxy, read from the node. None if the node does not respond in time.
    pub(crate) async fn implementation(&self, address: Address) -> Result<Option<Address>, StoreError> {
        let cached = self.interfaces.implementations.get(&address);
        if let Some((_, implementation)) = cached.filter(|(read_at, _)| self.is_fresh(*read_at, CACHED_FOR)) {
            return Ok(implementation);
        }
        let Some((_, code)) = self.code_at(address).await? else { return Ok(None) };
        let Some(Ok(proxy)) = self.node_calls.run(self.calls.find_proxy(address, &code)).await else {
            return Ok(None);
        };
        let implementation = proxy.map(|proxy| proxy.implementation);
        self.interfaces.implementations.insert(address, (Instant::now(), implementation));
        Ok(implementation)
    }
}
