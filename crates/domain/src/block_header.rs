use alloy_primitives::{B256, Bytes, U256};

/// Fields of a block's header that are not in the index. None where the header has no such field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockHeader {
    pub extra_data: Option<Bytes>,
    /// Zero since blocks are not found by work.
    pub difficulty: Option<U256>,
    pub nonce: Option<Bytes>,
    pub mix_hash: Option<B256>,
    pub state_root: Option<B256>,
    pub transactions_root: Option<B256>,
    pub receipts_root: Option<B256>,
    pub withdrawals_root: Option<B256>,
    pub requests_hash: Option<B256>,
    pub block_access_list_hash: Option<B256>,
    pub parent_beacon_block_root: Option<B256>,
    /// Of the list of the headers of uncles, also of an empty one.
    pub uncles_hash: Option<B256>,
    /// Hashes of the headers of uncles.
    pub uncles: Vec<B256>,
    pub blob_gas_used: Option<u64>,
    pub excess_blob_gas: Option<u64>,
    /// The versioned hashes of all blobs, in the order of the transactions.
    pub blob_hashes: Vec<B256>,
}
