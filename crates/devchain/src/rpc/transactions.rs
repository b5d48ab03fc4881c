//! Mined and pending transactions, and receipts.

use alloy_eips::{BlockId, BlockNumberOrTag};
use alloy_primitives::{B256, Bytes, U64};

use super::{
    error::RpcError,
    handler::{Methods, typed},
    params::Params,
    wire,
};
use crate::DevChain;

pub(super) fn register(methods: &mut Methods) {
    methods.insert("eth_sendRawTransaction", typed(send_raw_transaction));
    methods.insert("eth_getTransactionByHash", typed(get_transaction_by_hash));
    methods.insert("eth_getTransactionReceipt", typed(get_transaction_receipt));
    methods.insert("eth_getTransactionByBlockNumberAndIndex", typed(get_by_number_and_index));
    methods.insert("eth_getTransactionByBlockHashAndIndex", typed(get_by_hash_and_index));
}

fn send_raw_transaction(chain: &DevChain, mut params: Params) -> Result<B256, RpcError> {
    let bytes: Bytes = params.required(0, "signed transaction")?;
    Ok(chain.submit_raw(&bytes)?)
}

fn get_transaction_by_hash(chain: &DevChain, mut params: Params) -> Result<Option<wire::Transaction>, RpcError> {
    let hash: B256 = params.required(0, "transaction hash")?;
    if let Some(found) = chain.find_receipt(hash)? {
        return Ok(Some(wire::transaction(&found.block, found.index)));
    }
    Ok(chain.pending(hash).map(wire::pending_transaction))
}

fn get_transaction_receipt(chain: &DevChain, mut params: Params) -> Result<Option<wire::Receipt>, RpcError> {
    let hash: B256 = params.required(0, "transaction hash")?;
    let found = chain.find_receipt(hash)?;
    Ok(found.map(|found| wire::receipt(&found.block, found.index)))
}

fn get_by_number_and_index(chain: &DevChain, mut params: Params) -> Result<Option<wire::Transaction>, RpcError> {
    let tag: BlockNumberOrTag = params.required(0, "block number")?;
    let index: U64 = params.required(1, "transaction index")?;
    at(chain, tag, index)
}

fn get_by_hash_and_index(chain: &DevChain, mut params: Params) -> Result<Option<wire::Transaction>, RpcError> {
    let hash: B256 = params.required(0, "block hash")?;
    let index: U64 = params.required(1, "transaction index")?;
    at(chain, hash, index)
}

fn at(chain: &DevChain, id: impl Into<BlockId>, index: U64) -> Result<Option<wire::Transaction>, RpcError> {
    let (Some(block), Ok(index)) = (chain.find_block(id)?, usize::try_from(index)) else { return Ok(None) };
    Ok((index < block.transactions.len()).then(|| wire::transaction(&block, index)))
}
