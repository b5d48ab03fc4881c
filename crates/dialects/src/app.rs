use admission::Permit;
use api::dialect::Gate;
use client_address::Client;
use domain::{Address, BlockRef, VerifiedContract};
use node::NodeError;
use services::Services;

use crate::error::DialectError;

/// The services, and what the dialects share.
pub(crate) struct App {
    pub(crate) services: Services,
    /// Counts requests whose API key is not in a header.
    pub(crate) gate: Gate,
}

impl App {
    pub(crate) fn new(services: Services, gate: Gate) -> Self {
        Self { services, gate }
    }

    /// Permission to call the node. Not held while a client reads or writes.
    pub(crate) async fn node_call(&self, client: Client) -> Result<Permit<Client>, DialectError> {
        self.gate.node_call(client).await.map_err(|_| DialectError::Busy)
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
        Ok(self.services.verified_deployments.find(address, hash).await?)
    }
}
