//! The header of one block, with what its transactions say of blobs.

use alloy_primitives::B256;
use domain::{BlockHeader, BlockRef};
use futures::future::BoxFuture;
use serde::Deserialize;

use crate::{
    client::NodeClient,
    decode::{Hash, LooseBytes, Quantity, Wide},
    endpoint::{call::Call, health::Operation, upstream::Upstream},
    error::NodeError,
    rpc_method::RpcMethod,
    verify::hash,
};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawBlockHeader {
    hash: Hash,
    extra_data: Option<LooseBytes>,
    difficulty: Option<Wide>,
    nonce: Option<LooseBytes>,
    mix_hash: Option<LooseBytes>,
    state_root: Option<LooseBytes>,
    transactions_root: Option<LooseBytes>,
    receipts_root: Option<LooseBytes>,
    withdrawals_root: Option<LooseBytes>,
    requests_hash: Option<LooseBytes>,
    block_access_list_hash: Option<LooseBytes>,
    parent_beacon_block_root: Option<LooseBytes>,
    #[serde(rename = "sha3Uncles")]
    uncles_hash: Option<LooseBytes>,
    uncles: Option<Vec<Hash>>,
    blob_gas_used: Option<Quantity>,
    excess_blob_gas: Option<Quantity>,
    transactions: Vec<RawBlobs>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawBlobs {
    blob_versioned_hashes: Option<Vec<Hash>>,
}

impl NodeClient {
    /// None: the node has another block at this height.
    pub fn find_block_header(&self, block: BlockRef) -> BoxFuture<'_, Result<Option<BlockHeader>, NodeError>> {
        Box::pin(async move {
            let request = |_, upstream: Upstream| async move { fetch(&upstream, block).await };
            self.with_retries(Operation::Header, self.tries(), request).await
        })
    }
}

async fn fetch(upstream: &Upstream, block: BlockRef) -> Result<Option<BlockHeader>, NodeError> {
    let call = Call::new(RpcMethod::GetBlockByNumber, format!(r#"["{:#x}",true]"#, block.number));
    let found = upstream.call::<RawBlockHeader>(&call).await?.filter(|found| found.hash.0 == block.hash);
    Ok(found.map(BlockHeader::from))
}

impl From<RawBlockHeader> for BlockHeader {
    fn from(raw: RawBlockHeader) -> Self {
        let bytes = |field: &Option<LooseBytes>| field.as_ref().and_then(|field| field.get().cloned());
        let hashes = |list: Vec<Hash>| list.into_iter().map(|hash| hash.0).collect::<Vec<B256>>();
        Self {
            extra_data: bytes(&raw.extra_data),
            difficulty: raw.difficulty.map(|difficulty| difficulty.0),
            nonce: bytes(&raw.nonce),
            mix_hash: hash(&raw.mix_hash),
            state_root: hash(&raw.state_root),
            transactions_root: hash(&raw.transactions_root),
            receipts_root: hash(&raw.receipts_root),
            withdrawals_root: hash(&raw.withdrawals_root),
            requests_hash: hash(&raw.requests_hash),
            block_access_list_hash: hash(&raw.block_access_list_hash),
            parent_beacon_block_root: hash(&raw.parent_beacon_block_root),
            uncles_hash: hash(&raw.uncles_hash),
            uncles: hashes(raw.uncles.unwrap_or_default()),
            blob_gas_used: raw.blob_gas_used.map(|gas| gas.0),
            excess_blob_gas: raw.excess_blob_gas.map(|gas| gas.0),
            blob_hashes: raw
                .transactions
                .into_iter()
                .filter_map(|tx| tx.blob_versioned_hashes)
                .flat_map(hashes)
                .collect(),
        }
    }
}
