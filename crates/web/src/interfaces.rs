//! The interfaces that contracts are known to have: verified where they stand, of a twin, or of whom a proxy stands for.

use std::sync::Arc;
use std::time::{Duration, Instant};

use contracts::Interface;
use contracts::calls::MAX_HOPS;
use contracts::decode::Decoder;
use domain::{Address, B256, VerifiedSummary};
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use store::StoreError;

use crate::state::WebState;

/// Contracts of which it is remembered whose interface they have, if any.
const REMEMBERED: usize = 10_000;
/// Interfaces that are remembered, counted by the bytes of their JSON.
const REMEMBERED_BYTES: u64 = 16 << 20;
/// An address can get other code, and a proxy another contract behind it.
const GOOD_FOR: Duration = Duration::from_secs(30);

pub(crate) struct Interfaces {
    /// By address: the verified sources of its code.
    sources: Cache<Address, KnownSource>,
    /// By what was compiled.
    decoders: Cache<B256, Arc<SizedDecoder>, ByBytes>,
    implementations: Cache<Address, (Instant, Option<Address>)>,
}

#[derive(Debug, Clone)]
struct KnownSource {
    verified: Option<VerifiedSummary>,
    looked_at: Instant,
    /// How many contracts were verified by then: one more may be the one that was missing.
    among: u64,
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

/// What a contract's calls and logs are read with.
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
            sources: Cache::new(REMEMBERED),
            decoders: Cache::with_weighter(REMEMBERED / 100, REMEMBERED_BYTES, ByBytes),
            implementations: Cache::new(REMEMBERED),
        }
    }
}

impl WebState {
    /// How many contracts were verified: what [`Self::own_interface`] has to know, asked once for a page.
    pub(crate) async fn verified_count(&self) -> Result<u64, StoreError> {
        self.verified.count_verifications().await
    }

    /// The interface of the code at an address, verified there or of a twin. The node is not asked.
    pub(crate) async fn own_interface(
        &self,
        address: Address,
        verified: u64,
    ) -> Result<Option<KnownInterface>, StoreError> {
        if verified == 0 {
            return Ok(None);
        }
        let known = self.interfaces.sources.get(&address);
        let fresh = known.filter(|known| known.among == verified && known.looked_at.elapsed() < GOOD_FOR);
        let source = match fresh {
            Some(source) => source,
            None => {
                let found = self.find_source(address).await?;
                let source = KnownSource { verified: found, looked_at: Instant::now(), among: verified };
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
        let Some(code_hash) = self.chain.find_code_hash(address).await? else { return Ok(None) };
        self.verified.find_verified_summary(address, code_hash).await
    }

    async fn interface(&self, summary: &VerifiedSummary) -> Result<Option<KnownInterface>, StoreError> {
        if let Some(known) = self.interfaces.decoders.get(&summary.build) {
            return Ok(Some(KnownInterface(known)));
        }
        let found = self.verified.find_verified(summary.address, summary.code_hash).await?;
        let Some(code) = found.map(|found| found.code) else { return Ok(None) };
        let decoder = Decoder::new(Interface::read(&code.abi));
        let decoder = Arc::new(SizedDecoder { decoder, bytes: code.abi.len() as u64 + 1 });
        self.interfaces.decoders.insert(code.build(), Arc::clone(&decoder));
        Ok(Some(KnownInterface(decoder)))
    }

    /// The interfaces that calls to an address are read with: first those of whom it hands them on to, as a proxy or as
    /// a diamond.
    pub(crate) async fn interfaces_of(&self, address: Address) -> Result<Vec<KnownInterface>, StoreError> {
        let verified = self.verified_count().await?;
        if verified == 0 {
            return Ok(Vec::new());
        }
        let mut interfaces = Vec::new();
        let behind = self.behind(address).await?;
        let diamond = self.diamond(address, &behind).await?;
        interfaces.extend(diamond.and_then(|diamond| diamond.interface.clone()));
        for target in &behind {
            interfaces.extend(self.own_interface(*target, verified).await?);
        }
        interfaces.extend(self.own_interface(address, verified).await?);
        Ok(interfaces)
    }

    /// Who stands behind a proxy, one behind the other, the nearest first.
    pub(crate) async fn behind(&self, address: Address) -> Result<Vec<Address>, StoreError> {
        let mut behind = Vec::new();
        while behind.len() < MAX_HOPS {
            let Some(target) = self.implementation(*behind.last().unwrap_or(&address)).await? else { break };
            behind.push(target);
        }
        Ok(behind)
    }

    /// Whom a proxy stands for. That is the node's to tell, and worth waiting for only a moment.
    pub(crate) async fn implementation(&self, address: Address) -> Result<Option<Address>, StoreError> {
        let known = self.interfaces.implementations.get(&address);
        if let Some((_, implementation)) = known.filter(|(asked_at, _)| asked_at.elapsed() < GOOD_FOR) {
            return Ok(implementation);
        }
        let Some(code_hash) = self.chain.find_code_hash(address).await? else { return Ok(None) };
        let code = self.chain.find_code(code_hash).await?.unwrap_or_default();
        let Some(Ok(proxy)) = self.details.ask_node(self.calls.find_proxy(address, &code)).await else {
            return Ok(None);
        };
        let implementation = proxy.map(|proxy| proxy.implementation);
        self.interfaces.implementations.insert(address, (Instant::now(), implementation));
        Ok(implementation)
    }
}
