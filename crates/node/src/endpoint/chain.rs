//! Calls that every node supports: identity, client version and headers.

use std::time::Duration;

use domain::{BlockNumber, BlockRef, ChainIdentity};

use crate::{
    decode::{Quantity, RawGenesis, RawHeader},
    endpoint::{call::Call, retry::retry_request, upstream::Upstream},
    error::NodeError,
    rpc_method::RpcMethod,
};

/// Short, since the version is only informational.
const VERSION_TIMEOUT: Duration = Duration::from_secs(3);

impl Upstream {
    /// Which chain this endpoint serves.
    pub(crate) async fn identity(&self) -> Result<ChainIdentity, NodeError> {
        let chain_id = Call::new(RpcMethod::ChainId, "[]");
        let genesis = Call::new(RpcMethod::GetBlockByNumber, r#"["0x0",false]"#);
        // Every other call waits for both, so each is retried on its own.
        let (chain_id, genesis) = tokio::join!(
            retry_request(self, self.lane(), |_| self.call::<Quantity>(&chain_id)),
            retry_request(self, self.lane(), |_| self.call::<RawGenesis>(&genesis))
        );
        let chain_id = chain_id?.ok_or_else(|| NodeError::invalid_response(RpcMethod::ChainId, "null"))?.0;
        let genesis = genesis?.ok_or_else(|| NodeError::invalid_response(RpcMethod::GetBlockByNumber, "no block 0"))?;
        if genesis.header.number.0 != 0 {
            return Err(NodeError::invalid_response(
                RpcMethod::GetBlockByNumber,
                "requested block 0, got another block",
            ));
        }
        if let Some(block) = &genesis.block {
            self.verifier().see_genesis(block);
        }
        Ok(ChainIdentity { chain_id, genesis_hash: genesis.header.hash.0 })
    }

    pub(crate) async fn client_version(&self) -> Result<String, NodeError> {
        let call = Call::new(RpcMethod::ClientVersion, "[]").within(VERSION_TIMEOUT);
        Ok(self.call::<String>(&call).await?.unwrap_or_default())
    }

    /// The header of a block number or tag, given as JSON text.
    pub(crate) async fn header(&self, block: &str) -> Result<Option<BlockRef>, NodeError> {
        let call = Call::new(RpcMethod::GetBlockByNumber, format!(r#"["{block}",false]"#));
        let header = self.call::<RawHeader>(&call).await?;
        Ok(header.map(|header| BlockRef { number: header.number.0, hash: header.hash.0 }))
    }

    pub(crate) async fn head_number(&self) -> Result<BlockNumber, NodeError> {
        let number = self.call::<Quantity>(&Call::new(RpcMethod::BlockNumber, "[]")).await?;
        let number = number.ok_or_else(|| NodeError::invalid_response(RpcMethod::BlockNumber, "null"))?.0;
        self.verifier().evidence().see_head(number);
        Ok(number)
    }

    pub(crate) async fn head(&self) -> Result<BlockRef, NodeError> {
        let head = self.header("latest").await?;
        let head = head.ok_or_else(|| NodeError::invalid_response(RpcMethod::GetBlockByNumber, "no latest block"))?;
        self.verifier().evidence().see_head(head.number);
        Ok(head)
    }
}
