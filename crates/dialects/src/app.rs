use admission::{FairPermits, Permit, PermitBounds};
use api::dialect::Gate;
use client_address::Client;
use domain::{Address, BlockRef, VerifiedContract};
use node::NodeError;
use services::Services;

use crate::error::DialectError;

/// Parts of lists that are read at a time, calls that are passed to the node, and forms that are parsed.
const WORK: PermitBounds = PermitBounds { total: 8, per_client: 2, waiting_per_client: 32 };

/// The services, and what the dialects share.
pub(crate) struct App {
    pub(crate) services: Services,
    /// Counts requests whose API key is not in a header.
    pub(crate) gate: Gate,
    permits: FairPermits<Client>,
}

impl App {
    pub(crate) fn new(services: Services, gate: Gate) -> Self {
        Self { services, gate, permits: FairPermits::new(WORK) }
    }

    /// Permission for one unit of work. Not held while a client reads or writes.
    pub(crate) async fn permit(&self, client: Client) -> Result<Permit<Client>, DialectError> {
        self.permits.acquire(client).await.map_err(|_| DialectError::Busy)
    }

    pub(crate) async fn chain_id(&self) -> Result<u64, NodeError> {
        let node = &self.services.node;
        Ok(match node.expected_chain() {
            Some(chain) => chain.chain_id,
            None => node.identity().await?.chain_id,
        })
    }

    pub(crate) async fn tip(&self) -> Result<BlockRef, DialectError> {
        self.services.chain.find_tip().await?.ok_or(DialectError::NothingIndexed)
    }

    /// The verified contract at an address, by its current code.
    pub(crate) async fn find_contract(&self, address: Address) -> Result<Option<VerifiedContract>, DialectError> {
        let tip = self.tip().await?;
        let Some(hash) = self.services.accounts.get(tip, address).await?.code.hash() else { return Ok(None) };
        Ok(self.services.known.find(address, hash).await?)
    }
}
