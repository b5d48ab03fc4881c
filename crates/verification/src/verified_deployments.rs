//! Verified contracts as shown to users: the sources of the code, and the proof of the current deployment.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use alloy_primitives::{Address, B256, Bytes};
use domain::{CreationId, VerifiedContract};
use futures::future::BoxFuture;
use node::NodeClient;
use quick_cache::{Weighter, sync::Cache};
use store::{ChainReader, StoreError, VerifiedContracts};
use tokio::{sync::Semaphore, time::timeout};

use crate::deployment::{CreationCode, prove_deployment};

/// A user waits for the page, and the sources can be shown without the creation code.
const TIMEOUT: Duration = Duration::from_secs(3);
/// Concurrent requests for creation code.
const MAX_CONCURRENT: usize = 4;
/// Creations whose code is cached.
const CACHED_CREATIONS: usize = 1_000;
const CACHED_BYTES: u64 = 16 << 20;
/// Missing creation code is requested again after this time: the node may have been busy.
const RETRY_DELAY: Duration = Duration::from_secs(60);

/// Finds verified contracts together with the proof of their deployment.
pub struct VerifiedDeployments {
    node: NodeClient,
    chain: Arc<dyn ChainReader>,
    records: Arc<dyn VerifiedContracts>,
    cache: Cache<(Address, CreationId), CachedCreation, ByBytes>,
    requests: Semaphore,
}

/// The node's answer for a creation; None if it has no code.
#[derive(Debug, Clone)]
struct CachedCreation {
    code: Option<Bytes>,
    at: Instant,
}

#[derive(Debug, Clone)]
struct ByBytes;

impl Weighter<(Address, CreationId), CachedCreation> for ByBytes {
    fn weight(&self, _: &(Address, CreationId), cached: &CachedCreation) -> u64 {
        const ENTRY_BYTES: u64 = 256;
        ENTRY_BYTES + cached.code.as_ref().map_or(0, |code| code.len() as u64)
    }
}

impl VerifiedDeployments {
    #[must_use]
    pub fn new(node: NodeClient, chain: Arc<dyn ChainReader>, records: Arc<dyn VerifiedContracts>) -> Self {
        Self {
            node,
            chain,
            records,
            cache: Cache::with_weighter(CACHED_CREATIONS, CACHED_BYTES, ByBytes),
            requests: Semaphore::new(MAX_CONCURRENT),
        }
    }

    /// The sources of the code at an address, with the proof of its deployment. The proof is computed at the first lookup after
    /// a deployment or a reorg.
    pub fn find(
        &self,
        address: Address,
        code_hash: B256,
    ) -> BoxFuture<'_, Result<Option<VerifiedContract>, StoreError>> {
        Box::pin(async move {
            let Some(mut contract) = self.records.find_verified(address, code_hash).await? else { return Ok(None) };
            if contract.deployment.is_none()
                && let Some(creation) = self.find_creation(address).await?
            {
                let deployment = prove_deployment(&contract.code, &creation);
                // Stored for the lists. Contracts with the same code are not listed, and there may be very many.
                if contract.twin_of.is_none() {
                    self.records.save_deployment(address, code_hash, deployment.clone()).await?;
                }
                contract.deployment = Some(deployment);
            }
            Ok(Some(contract))
        })
    }

    /// The creation in the index, with its code from the node; None if the node has none.
    async fn find_creation(&self, address: Address) -> Result<Option<CreationCode>, StoreError> {
        let metadata = self.chain.find_address(address).await?;
        let Some(id) = metadata.and_then(|metadata| metadata.creation).map(|creation| creation.id()) else {
            return Ok(None);
        };
        let key = (address, id);
        match self.cache.get(&key) {
            Some(CachedCreation { code: Some(code), .. }) => return Ok(Some(CreationCode { id, code })),
            Some(CachedCreation { code: None, at }) if at.elapsed() < RETRY_DELAY => return Ok(None),
            _ => {}
        }
        let request = async {
            let _permit = self.requests.acquire().await.ok()?;
            let found = self.node.find_creation_code(address, id).await;
            found.inspect_err(|error| tracing::debug!(%error, %address, "cannot get the creation code")).ok().flatten()
        };
        let code = timeout(TIMEOUT, request).await.ok().flatten();
        self.cache.insert(key, CachedCreation { code: code.clone(), at: Instant::now() });
        Ok(code.map(|code| CreationCode { id, code }))
    }
}

impl std::fmt::Debug for VerifiedDeployments {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VerifiedDeployments").field("node", &self.node).finish_non_exhaustive()
    }
}
