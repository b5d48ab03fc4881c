//! The code on the chain that sources are compared with.

use std::time::Duration;

use alloy_primitives::{Address, B256, Bytes};
use domain::Code;
use node::{CallBlock, NodeClient};
use store::{ChainReader, StoreError};

use crate::{deployment::CreationCode, error::VerifyError, matching::DeployedCode};

pub(crate) struct FetchedCode {
    pub(crate) runtime: Bytes,
    pub(crate) creation: Option<CreationCode>,
}

impl FetchedCode {
    /// The runtime code at an address, and its creation code if both the index and the node know the creation.
    pub(crate) async fn read(
        node: &NodeClient,
        chain: &dyn ChainReader,
        address: Address,
    ) -> Result<Self, VerifyError> {
        let runtime = node.code(address, CallBlock::Latest).await?;
        if !Code::from_bytes(&runtime).is_contract() {
            return Err(VerifyError::NoCode);
        }
        // A contract that was created by another one and never called may be missing in the index.
        let metadata = chain.find_address(address).await?;
        let Some(creation) = metadata.and_then(|metadata| metadata.creation) else {
            return Ok(Self { runtime, creation: None });
        };
        let id = creation.id();
        let code = node.find_creation_code(address, id).await?;
        Ok(Self { runtime, creation: code.map(|code| CreationCode { id, code }) })
    }

    pub(crate) fn deployed_at(&self, address: Address) -> DeployedCode<'_> {
        let creation = self.creation.as_ref().map(|creation| creation.code.as_ref());
        DeployedCode { address, runtime: &self.runtime, creation }
    }
}

/// Waits until the index has the code of a contract, which it gets shortly after the block: lists show a verified contract
/// only then.
pub(crate) async fn wait_until_indexed(
    chain: &dyn ChainReader,
    address: Address,
    code_hash: B256,
) -> Result<(), StoreError> {
    const MAX_POLLS: u32 = 60;
    for _ in 0..MAX_POLLS {
        let is_known = chain.find_address(address).await?.is_some();
        if !is_known || chain.find_code_hash(address).await? == Some(code_hash) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}
