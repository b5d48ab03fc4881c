//! Verified contracts as they are shown: the sources of the code, with what belongs to the deployment that stands.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use alloy_primitives::{Address, B256};
use domain::{CreationId, VerifiedContract};
use node::NodeClient;
use quick_cache::sync::Cache;
use store::{ChainReader, StoreError, VerifiedContracts};
use tokio::{sync::Semaphore, time::timeout};

use crate::deployment::{KnownCreation, work_out};

/// Somebody waits for the page; the sources are worth showing without.
const PATIENCE: Duration = Duration::from_secs(3);
/// Creations that the node is asked about at once.
const AT_ONCE: usize = 4;
/// Creations of which it is remembered that nobody tells their code, and for how long.
const REMEMBERED: usize = 10_000;
const ASKED_AGAIN_AFTER: Duration = Duration::from_secs(60);

/// Finds verified contracts.
pub struct KnownContracts {
    node: NodeClient,
    chain: Arc<dyn ChainReader>,
    records: Arc<dyn VerifiedContracts>,
    unknown: Cache<(Address, CreationId), Instant>,
    asking: Semaphore,
}

impl KnownContracts {
    #[must_use]
    pub fn new(node: NodeClient, chain: Arc<dyn ChainReader>, records: Arc<dyn VerifiedContracts>) -> Self {
        Self { node, chain, records, unknown: Cache::new(REMEMBERED), asking: Semaphore::new(AT_ONCE) }
    }

    /// The sources of the code at an address, and what is proven of its deployment there. That is worked out where it is not
    /// known, at the first time that somebody asks after a deployment or a reorganisation.
    pub async fn find(&self, address: Address, code_hash: B256) -> Result<Option<VerifiedContract>, StoreError> {
        let Some(mut contract) = self.records.find_verified(address, code_hash).await? else { return Ok(None) };
        if contract.deployment.is_none()
            && let Some(creation) = self.find_creation(address).await?
        {
            let deployment = work_out(&contract.code, &creation);
            self.records.keep_deployment(address, code_hash, deployment.clone()).await?;
            contract.deployment = Some(deployment);
        }
        Ok(Some(contract))
    }

    /// The creation that the index names, with its code; None where nobody tells it.
    async fn find_creation(&self, address: Address) -> Result<Option<KnownCreation>, StoreError> {
        let facts = self.chain.find_address(address).await?;
        let Some(id) = facts.and_then(|facts| facts.creation).map(|creation| creation.id()) else { return Ok(None) };
        let key = (address, id);
        if self.unknown.get(&key).is_some_and(|since| since.elapsed() < ASKED_AGAIN_AFTER) {
            return Ok(None);
        }
        let ask = async {
            let _place = self.asking.acquire().await.ok()?;
            let found = self.node.find_creation_code(address, id).await;
            found.inspect_err(|error| tracing::debug!(%error, %address, "no creation code")).ok().flatten()
        };
        let code = timeout(PATIENCE, ask).await.ok().flatten();
        if code.is_none() {
            self.unknown.insert(key, Instant::now());
        }
        Ok(code.map(|code| KnownCreation { id, code }))
    }
}

impl std::fmt::Debug for KnownContracts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KnownContracts").field("node", &self.node).finish_non_exhaustive()
    }
}
