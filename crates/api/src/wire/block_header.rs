use alloy_primitives::hex;
use serde::Serialize;
use utoipa::ToSchema;

use super::{Decimal, Hash};

/// What the header has beside the fields of the block. Null where it has no such field.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BlockHeader {
    pub number: u64,
    pub hash: Hash,
    #[schema(required = true, pattern = "^0x([0-9a-f]{2})*$")]
    pub extra_data: Option<String>,
    /// "0" since blocks are not found by work.
    #[schema(required = true)]
    pub difficulty: Option<Decimal>,
    #[schema(required = true, pattern = "^0x([0-9a-f]{2})*$")]
    pub nonce: Option<String>,
    #[schema(required = true)]
    pub mix_hash: Option<Hash>,
    #[schema(required = true)]
    pub state_root: Option<Hash>,
    #[schema(required = true)]
    pub transactions_root: Option<Hash>,
    #[schema(required = true)]
    pub receipts_root: Option<Hash>,
    #[schema(required = true)]
    pub withdrawals_root: Option<Hash>,
    #[schema(required = true)]
    pub requests_hash: Option<Hash>,
    #[schema(required = true)]
    pub block_access_list_hash: Option<Hash>,
    #[schema(required = true)]
    pub parent_beacon_block_root: Option<Hash>,
    pub uncles: Vec<Hash>,
    #[schema(required = true)]
    pub blob_gas_used: Option<Decimal>,
    #[schema(required = true)]
    pub excess_blob_gas: Option<Decimal>,
    pub blob_count: usize,
    /// In the order of the transactions.
    pub blob_versioned_hashes: Vec<Hash>,
    /// What all blobs cost, in wei.
    pub blob_fees: Decimal,
}

impl BlockHeader {
    /// `blob_fees` is what the transactions of the block paid for blobs.
    #[must_use]
    pub fn new(block: domain::BlockRef, header: domain::BlockHeader, blob_fees: domain::U256) -> Self {
        let bytes = |bytes: Option<domain::Bytes>| bytes.map(hex::encode_prefixed);
        let hashes = |list: Vec<domain::B256>| list.into_iter().map(Hash::from).collect();
        Self {
            number: block.number,
            hash: block.hash.into(),
            extra_data: bytes(header.extra_data),
            difficulty: header.difficulty.map(Decimal::from),
            nonce: bytes(header.nonce),
            mix_hash: header.mix_hash.map(Hash::from),
            state_root: header.state_root.map(Hash::from),
            transactions_root: header.transactions_root.map(Hash::from),
            receipts_root: header.receipts_root.map(Hash::from),
            withdrawals_root: header.withdrawals_root.map(Hash::from),
            requests_hash: header.requests_hash.map(Hash::from),
            block_access_list_hash: header.block_access_list_hash.map(Hash::from),
            parent_beacon_block_root: header.parent_beacon_block_root.map(Hash::from),
            uncles: hashes(header.uncles),
            blob_gas_used: header.blob_gas_used.map(Decimal::from),
            excess_blob_gas: header.excess_blob_gas.map(Decimal::from),
            blob_count: header.blob_hashes.len(),
            blob_versioned_hashes: hashes(header.blob_hashes),
            blob_fees: blob_fees.into(),
        }
    }
}
