//! Verified contracts as they are shown: the sources of the code, with what belongs to the deployment that stands.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use alloy_primitives::{Address, B256, Bytes};
use domain::{CreationId, VerifiedContract};
use node::NodeClient;
use quick_cache::{Weighter, sync::Cache};
use store::{ChainReader, StoreError, VerifiedContracts};
use tokio::{sync::Semaphore, time::timeout};

use crate::deployment::{KnownCreation, work_out};

/// Somebody waits for the page; the sources are worth showing without.
const PATIENCE: Duration = Duration::from_secs(3);
/// Creations that the node is asked about at once.
const AT_ONCE: usize = 4;
/// Creations whose code is cached.
const REMEMBERED: usize = 1_000;
const REMEMBERED_BYTES: u64 = 16 << 20;
/// Where nobody told the code, the node is asked again later: it may have been busy.
const ASKED_AGAIN_AFTER: Duration = Duration::from_secs(60);

/// Finds verified contracts.
pub struct KnownContracts {
    node: NodeClient,
    chain: Arc<dyn ChainReader>,
    records: Arc<dyn VerifiedContracts>,
    asked: Cache<(Address, CreationId), Asked, ByBytes>,
    asking: Semaphore,
}

/// What the node told of a creation.
#[derive(Debug, Clone)]
struct Asked {
    code: Option<Bytes>,
    at: Instant,
}

#[derive(Debug, Clone)]
struct ByBytes;

impl Weighter<(Address, CreationId), Asked> for ByBytes {
    fn weight(&self, _: &(Address, CreationId), asked: &Asked) -> u64 {
        const ITSELF: u64 = 256;
        ITSELF + asked.code.as_ref().map_or(0, |code| code.len() as u64)
    }
}

impl KnownContracts {
    #[must_use]
    pub fn new(node: NodeClient, chain: Arc<dyn ChainReader>, records: Arc<dyn VerifiedContracts>) -> Self {
        Self {
            node,
            chain,
            records,
            asked: Cache::with_weighter(REMEMBERED, REMEMBERED_BYTES, ByBytes),
            asking: Semaphore::new(AT_ONCE),
        }
    }

    /// The sources of the code at an address, and what is proven of its deployment there. That is worked out where it is not
    /// known, at the first time that somebody asks after a deployment or a reorganisation.
    pub async fn find(&self, address: Address, code_hash: B256) -> Result<Option<VerifiedContract>, StoreError> {
        let Some(mut contract) = self.records.find_verified(address, code_hash).await? else { return Ok(None) };
        if contract.deployment.is_none()
            && let Some(creation) = self.find_creation(address).await?
        {
            let deployment = work_out(&contract.code, &creation);
            // Lists show it. Twins are not listed, and there may be very many.
            if contract.twin_of.is_none() {
                self.records.keep_deployment(address, code_hash, deployment.clone()).await?;
            }
            contract.deployment = Some(deployment);
        }
        Ok(Some(contract))
    }

    /// The creation that the index names, with its code; None where nobody tells it.
    async fn find_creation(&self, address: Address) -> Result<Option<KnownCreation>, StoreError> {
        let facts = self.chain.find_address(address).await?;
        let Some(id) = facts.and_then(|facts| facts.creation).map(|creation| creation.id()) else { return Ok(None) };
        let key = (address, id);
        match self.asked.get(&key) {
            Some(Asked { code: Some(code), .. }) => return Ok(Some(KnownCreation { id, code })),
            Some(Asked { code: None, at }) if at.elapsed() < ASKED_AGAIN_AFTER => return Ok(None),
            _ => {}
        }
        let ask = async {
            let _place = self.asking.acquire().await.ok()?;
            let found = self.node.find_creation_code(address, id).await;
            found.inspect_err(|error| tracing::debug!(%error, %address, "no creation code")).ok().flatten()
        };
        let code = timeout(PATIENCE, ask).await.ok().flatten();
        self.asked.insert(key, Asked { code: code.clone(), at: Instant::now() });
        Ok(code.map(|code| KnownCreation { id, code }))
    }
}

impl std::fmt::Debug for KnownContracts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KnownContracts").field("node", &self.node).finish_non_exhaustive()
    }
}
